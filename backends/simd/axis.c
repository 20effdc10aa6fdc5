/* Along one axis: linear recurrences and their gradients, cumulative sums and products, the largest
 * elements of rows. */
#include "backends/simd/internal.h"
#include "wengert/ops/cumulative.h"
#include "wengert/ops/scan.h"
#include "wengert/ops/select.h"

/* ---- linear recurrences ---------------------------------------------------------------------- */

/* The operands and results that forward and backward share. */
static simd_scan scan_of(const wg_call *c)
{
    const wg_linear_scan_attrs *attrs = c->node->attrs;
    wgi_axis of = wgi_axis_of(&c->node->in[0]->shape, attrs->axis);
    return (simd_scan){.outer = of.outer,
                       .size = of.size,
                       .inner = of.inner,
                       .reverse = attrs->reverse,
                       .threads = c->threads};
}

/* a x initial? -> y */
static void run_scan(wg_call *c)
{
    simd_scan s = scan_of(c);
    s.a = c->in[0];
    s.x = c->in[1];
    s.initial = c->node->n_in > 2 ? c->in[2] : NULL;
    s.y = c->out[0];
    simd_kernels(c)->scan_forward(&s);
}

/* dy a y initial? -> da dx dinitial */
static void run_scan_grad(wg_call *c)
{
    simd_scan s = scan_of(c);
    s.dy = c->in[0];
    s.a = c->in[1];
    s.y = (float *)(uintptr_t)c->in[2]; /* read only in this direction */
    s.initial = c->node->n_in > 3 ? c->in[3] : NULL;
    s.da = c->out[0];
    s.dx = c->out[1];
    s.dinitial = c->out[2];
    simd_kernels(c)->scan_backward(&s);
}

/* ---- cumulative ------------------------------------------------------------------------------ */

static void run_cumulate(wg_call *c)
{
    const wg_cumsum_attrs *attrs = c->node->attrs;
    wgi_axis of = wgi_axis_of(&c->node->in[0]->shape, attrs->axis);
    simd_cumulate a = {.x = c->in[0],
                       .y = c->out[0],
                       .outer = of.outer,
                       .size = of.size,
                       .inner = of.inner,
                       .products = c->node->op == &wg_op_cumprod,
                       .reverse = attrs->reverse,
                       .exclusive = attrs->exclusive,
                       .threads = c->threads};
    simd_floats(c)->cumulate(&a);
}

/* ---- the largest of rows --------------------------------------------------------------------- */

static const char *refuses_select(const wg_node *n)
{
    const wg_shape *x = &n->in[0]->shape;
    const wg_topk_attrs *attrs = n->attrs;
    const char *why = wgi_simd_refuses_empty(n);
    if (why)
        return why;
    if (attrs->k == 0)
        return "none wanted";
    return wg_normalize_axis(attrs->axis, x->rank) == x->rank - 1 ? NULL
                                                                  : "not along the last axis";
}

static void run_select(wg_call *c)
{
    wgi_axis of = wgi_axis_of(&c->node->in[0]->shape, -1);
    simd_select a = {.x = c->in[0],
                     .values = c->out[0],
                     .ids = c->out[1],
                     .rows = of.outer,
                     .width = of.size,
                     .k = ((const wg_topk_attrs *)c->node->attrs)->k,
                     .threads = c->threads};
    simd_kernels(c)->select_rows(&a);
}

const simd_kernel wgi_simd_axis[] = {
    {&wg_op_linear_scan, "axis", wgi_simd_refuses_empty, NULL, run_scan},
    {&wg_op_linear_scan_grad, "axis", wgi_simd_refuses_empty, NULL, run_scan_grad},
    {&wg_op_cumsum, "axis", wgi_simd_refuses_empty_floats, NULL, run_cumulate},
    {&wg_op_cumprod, "axis", wgi_simd_refuses_empty_floats, NULL, run_cumulate},
    {&wg_op_topk, "axis", refuses_select, NULL, run_select},
    {.op = NULL},
};
