/* Functions of each element and derivatives of activations. */

#include "backends/simd/internal.h"
#include "wengert/ops/activation.h"

static const char *refuses(const wg_node *n)
{
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    if (n->n_in > 1 && !wg_shape_equal(&n->in[0]->shape, &n->in[1]->shape))
        return "operands of several shapes";
    return wg_value_count(n->in[0]) ? NULL : "an empty operand";
}

static simd_function gelu_of(const wg_node *n, simd_function erf, simd_function tanh)
{
    return ((const wg_gelu_attrs *)n->attrs)->kind == WG_GELU_TANH ? tanh : erf;
}

static const struct {
    const wg_op *op;
    simd_function f;
} functions[] = {
    {&wg_op_exp, SIMD_EXP},         {&wg_op_log, SIMD_LOG},
    {&wg_op_log1p, SIMD_LOG1P},     {&wg_op_expm1, SIMD_EXPM1},
    {&wg_op_atan, SIMD_ATAN},       {&wg_op_tanh, SIMD_TANH},
    {&wg_op_sigmoid, SIMD_SIGMOID}, {&wg_op_softplus, SIMD_SOFTPLUS},
    {&wg_op_silu, SIMD_SILU},       {&wg_op_silu_grad, SIMD_SILU_GRAD},
};

static simd_function function_of(const wg_node *n)
{
    if (n->op == &wg_op_gelu)
        return gelu_of(n, SIMD_GELU_ERF, SIMD_GELU_TANH);
    if (n->op == &wg_op_gelu_grad)
        return gelu_of(n, SIMD_GELU_ERF_GRAD, SIMD_GELU_TANH_GRAD);
    int i = 0;
    while (functions[i].op != n->op)
        i++;
    return functions[i].f;
}

static void run(wg_call *c)
{
    const wg_node *n = c->node;
    simd_elementwise a = {.x = c->in[0],
                          .dy = n->n_in > 1 ? c->in[1] : NULL,
                          .y = c->out[0],
                          .count = wg_value_count(n->out[0]),
                          .f = function_of(n),
                          .threads = c->threads};
    simd_kernels(c)->elementwise(&a);
}

const simd_kernel wgi_simd_elementwise[] = {
    {&wg_op_exp, "elementwise", refuses, NULL, run},
    {&wg_op_log, "elementwise", refuses, NULL, run},
    {&wg_op_log1p, "elementwise", refuses, NULL, run},
    {&wg_op_expm1, "elementwise", refuses, NULL, run},
    {&wg_op_atan, "elementwise", refuses, NULL, run},
    {&wg_op_tanh, "elementwise", refuses, NULL, run},
    {&wg_op_sigmoid, "elementwise", refuses, NULL, run},
    {&wg_op_softplus, "elementwise", refuses, NULL, run},
    {&wg_op_silu, "elementwise", refuses, NULL, run},
    {&wg_op_gelu, "elementwise", refuses, NULL, run},
    {&wg_op_silu_grad, "elementwise", refuses, NULL, run},
    {&wg_op_gelu_grad, "elementwise", refuses, NULL, run},
    {.op = NULL},
};
