/* Linear recurrences and their gradients. */
#include "backends/simd/internal.h"
#include "wengert/ops/scan.h"

/* The operands and results that forward and backward share. */
static simd_scan scan_of(const wg_call *c)
{
    const wg_linear_scan_attrs *attrs = c->node->attrs;
    const wg_shape *x = &c->node->in[0]->shape;
    int axis = wg_normalize_axis(attrs->axis, x->rank);
    simd_scan s = {.outer = 1,
                   .size = x->dim[axis],
                   .inner = 1,
                   .reverse = attrs->reverse,
                   .threads = c->threads};
    for (int i = 0; i < axis; i++)
        s.outer *= x->dim[i];
    for (int i = axis + 1; i < x->rank; i++)
        s.inner *= x->dim[i];
    return s;
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

const simd_kernel wgi_simd_scan[] = {
    {&wg_op_linear_scan, "scan", wgi_simd_refuses_empty, NULL, run_scan},
    {&wg_op_linear_scan_grad, "scan", wgi_simd_refuses_empty, NULL, run_scan_grad},
    {.op = NULL},
};
