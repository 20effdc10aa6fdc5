/* Elementwise functions by own kernels: those that oneDNN lacks. */
#include "backends/simd/kernels/kernels.h"
#include "backends/onednn/internal.h"
#include "wengert/ops/activation.h"

static const char *refuses(const wg_node *n)
{
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    if (n->n_in > 1 && !wg_shape_equal(&n->in[0]->shape, &n->in[1]->shape))
        return "operands of several shapes";
    return wg_value_count(n->in[0]) ? NULL : "an empty operand";
}

static simd_function function_of(const wg_node *n)
{
    if (n->op == &wg_op_gelu_grad)
        return ((const wg_gelu_attrs *)n->attrs)->kind == WG_GELU_TANH ? SIMD_GELU_TANH_GRAD
                                                                       : SIMD_GELU_ERF_GRAD;
    return n->op == &wg_op_silu_grad  ? SIMD_SILU_GRAD
           : n->op == &wg_op_softplus ? SIMD_SOFTPLUS
                                      : SIMD_LOG;
}

static void run(wg_call *c)
{
    const wg_node *n = c->node;
    simd_map a = {.x = c->in[0],
                  .dy = n->n_in > 1 ? c->in[1] : NULL,
                  .y = c->out[0],
                  .count = wg_value_count(n->out[0]),
                  .f = function_of(n),
                  .threads = c->threads};
    wgi_simd_kernels()->map(&a);
}

const od_own wgi_od_own_map[] = {
    {&wg_op_log, "map", refuses, NULL, run},
    {&wg_op_softplus, "map", refuses, NULL, run},
    {&wg_op_silu_grad, "map", refuses, NULL, run},
    {&wg_op_gelu_grad, "map", refuses, NULL, run},
    {.op = NULL},
};
