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
    wgi_axis of = simd_axis_of(&c->node->in[0]->shape, attrs->axis);
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
    wgi_axis of = simd_axis_of(&c->node->in[0]->shape, attrs->axis);
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
    const wg_topk_attrs *attrs = n->attrs;
    const char *why = wgi_simd_refuses_empty(n);
    if (why)
        return why;
    if (attrs->k == 0)
        return "none wanted";
    return wgi_axis_of(&n->in[0]->shape, attrs->axis).inner == 1 ? NULL : "not along the last axis";
}

static void run_select(wg_call *c)
{
    const wg_topk_attrs *attrs = c->node->attrs;
    wgi_axis of = wgi_axis_of(&c->node->in[0]->shape, attrs->axis);
    simd_select a = {.x = c->in[0],
                     .values = c->out[0],
                     .ids = c->out[1],
                     .rows = of.outer,
                     .width = of.size,
                     .k = attrs->k,
                     .threads = c->threads};
    simd_kernels(c)->select_rows(&a);
}

/* ---- lines in order -------------------------------------------------------------------------- */

/* The kinds of numbers; -1: another. */
static int kind_of(wg_dtype dtype)
{
    return dtype == WG_F32   ? (int)SIMD_SORT_F32
           : dtype == WG_F64 ? (int)SIMD_SORT_F64
           : dtype == WG_I32 ? (int)SIMD_SORT_I32
           : dtype == WG_I64 ? (int)SIMD_SORT_I64
                             : -1;
}

static wgi_axis lines_of(const wg_node *n)
{
    return wgi_axis_of(&n->in[0]->shape, ((const wg_sort_attrs *)n->attrs)->axis);
}

static const char *refuses_sort(const wg_node *n)
{
    enum { FEW = 64 };
    if (kind_of(n->in[0]->dtype) < 0)
        return "another dtype";
    if (wg_value_count(n->in[0]) == 0)
        return "an empty operand";
    int64_t size = lines_of(n).size;
    return size < FEW ? "short lines" : size > UINT32_MAX ? "long lines" : NULL;
}

static size_t sort_scratch(const wg_node *n, int threads)
{
    return 2 * sizeof(uint64_t) * (size_t)lines_of(n).size * (size_t)threads;
}

static void run_sort(wg_call *c)
{
    const wg_node *n = c->node;
    const wgi_axis of = lines_of(n);
    const simd_sort a = {.x = c->in[0],
                         .y = c->out[0],
                         .index = c->out[1],
                         .outer = of.outer,
                         .size = of.size,
                         .inner = of.inner,
                         .kind = (simd_sort_kind)kind_of(n->in[0]->dtype),
                         .descending = ((const wg_sort_attrs *)n->attrs)->order == WG_DESCENDING,
                         .threads = c->threads,
                         .scratch = c->scratch};
    simd_kernels(c)->sort(&a);
}

const simd_kernel wgi_simd_axis[] = {
    {&wg_op_linear_scan, "axis", wgi_simd_refuses_empty, NULL, run_scan},
    {&wg_op_linear_scan_grad, "axis", wgi_simd_refuses_empty, NULL, run_scan_grad},
    {&wg_op_cumsum, "axis", wgi_simd_refuses_empty_floats, NULL, run_cumulate},
    {&wg_op_cumprod, "axis", wgi_simd_refuses_empty_floats, NULL, run_cumulate},
    {&wg_op_topk, "axis", refuses_select, NULL, run_select},
    {&wg_op_sort, "axis", refuses_sort, sort_scratch, run_sort},
    {.op = NULL},
};
