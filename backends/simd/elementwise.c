/* Arithmetic, functions of each element and derivatives of activations. */

#include "backends/simd/internal.h"
#include "wengert/ops/activation.h"
#include "wengert/ops/elementwise.h"

static const char *refuses_other_floats(const wg_node *n)
{
    for (int k = 1; k < n->n_in; k++)
        if (n->in[k]->dtype != n->in[0]->dtype)
            return "operands of several dtypes";
    return wg_value_count(n->out[0]) ? wgi_simd_refuses_other_floats(n) : "an empty result";
}

static bool broadcasts(const wg_node *n)
{
    return n->n_in > 1 && !wg_shape_equal(&n->in[0]->shape, &n->in[1]->shape);
}

static const char *refuses(const wg_node *n)
{
    return broadcasts(n) ? "operands of several shapes" : refuses_other_floats(n);
}

static const char *refuses_pow(const wg_node *n)
{
    if (wg_value_count(n->in[1]) != 1 || wg_value_count(n->in[0]) < 2)
        return "exponents of several elements, or one element";
    return refuses_other_floats(n);
}

static const struct {
    const wg_op *op;
    simd_function f;
} functions[] = {
    {&wg_op_exp, SIMD_EXP},
    {&wg_op_log, SIMD_LOG},
    {&wg_op_log1p, SIMD_LOG1P},
    {&wg_op_expm1, SIMD_EXPM1},
    {&wg_op_atan, SIMD_ATAN},
    {&wg_op_asin, SIMD_ASIN},
    {&wg_op_acos, SIMD_ACOS},
    {&wg_op_sin, SIMD_SIN},
    {&wg_op_cos, SIMD_COS},
    {&wg_op_erf, SIMD_ERF},
    {&wg_op_elu, SIMD_ELU},
    {&wg_op_leaky_relu, SIMD_LEAKY_RELU},
    {&wg_op_sinh, SIMD_SINH},
    {&wg_op_cosh, SIMD_COSH},
    {&wg_op_tan, SIMD_TAN},
    {&wg_op_tanh, SIMD_TANH},
    {&wg_op_sigmoid, SIMD_SIGMOID},
    {&wg_op_softplus, SIMD_SOFTPLUS},
    {&wg_op_silu, SIMD_SILU},
    {&wg_op_silu_grad, SIMD_SILU_GRAD},
    {&wg_op_neg, SIMD_NEG},
    {&wg_op_abs, SIMD_ABS},
    {&wg_op_square, SIMD_SQUARE},
    {&wg_op_sqrt, SIMD_SQRT},
    {&wg_op_rsqrt, SIMD_RSQRT},
    {&wg_op_reciprocal, SIMD_RECIPROCAL},
    {&wg_op_sign, SIMD_SIGN},
    {&wg_op_floor, SIMD_FLOOR},
    {&wg_op_ceil, SIMD_CEIL},
    {&wg_op_round, SIMD_ROUND},
    {&wg_op_clamp, SIMD_CLAMP},
    {&wg_op_relu, SIMD_RELU},
    {&wg_op_relu_grad, SIMD_RELU_GRAD},
    {&wg_op_add, SIMD_ADD},
    {&wg_op_sub, SIMD_SUB},
    {&wg_op_mul, SIMD_MUL},
    {&wg_op_div, SIMD_DIV},
    {&wg_op_maximum, SIMD_MAXIMUM},
    {&wg_op_minimum, SIMD_MINIMUM},
    {&wg_op_remainder, SIMD_REMAINDER},
    {&wg_op_pow, SIMD_POW},
};

static simd_function gelu_of(const wg_node *n, simd_function erf, simd_function tanh)
{
    return ((const wg_gelu_attrs *)n->attrs)->kind == WG_GELU_TANH ? tanh : erf;
}

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

static double parameter_of(const wg_node *n)
{
    if (n->op == &wg_op_clamp)
        return ((const wg_clamp_attrs *)n->attrs)->min;
    if (n->op == &wg_op_elu)
        return ((const wg_elu_attrs *)n->attrs)->alpha;
    return n->op == &wg_op_leaky_relu ? ((const wg_leaky_relu_attrs *)n->attrs)->slope : 0;
}

static void run(wg_call *c)
{
    const wg_node *n = c->node;
    wgi_rows rows;
    simd_elementwise a = {.x = c->in[0],
                          .dy = n->n_in > 1 ? c->in[1] : NULL,
                          .y = c->out[0],
                          .count = wg_value_count(n->out[0]),
                          .f = function_of(n),
                          .parameter = parameter_of(n),
                          .upper =
                              n->op == &wg_op_clamp ? ((const wg_clamp_attrs *)n->attrs)->max : 0,
                          .threads = c->threads};
    if (broadcasts(n)) {
        rows = wgi_rows_of(n);
        a.rows = &rows;
    }
    simd_floats(c)->elementwise(&a);
}

const simd_kernel wgi_simd_elementwise[] = {
    {&wg_op_exp, "elementwise", refuses, NULL, run},
    {&wg_op_log, "elementwise", refuses, NULL, run},
    {&wg_op_log1p, "elementwise", refuses, NULL, run},
    {&wg_op_expm1, "elementwise", refuses, NULL, run},
    {&wg_op_atan, "elementwise", refuses, NULL, run},
    {&wg_op_asin, "elementwise", refuses, NULL, run},
    {&wg_op_acos, "elementwise", refuses, NULL, run},
    {&wg_op_sin, "elementwise", refuses, NULL, run},
    {&wg_op_cos, "elementwise", refuses, NULL, run},
    {&wg_op_erf, "elementwise", refuses, NULL, run},
    {&wg_op_elu, "elementwise", refuses, NULL, run},
    {&wg_op_leaky_relu, "elementwise", refuses, NULL, run},
    {&wg_op_sinh, "elementwise", refuses, NULL, run},
    {&wg_op_cosh, "elementwise", refuses, NULL, run},
    {&wg_op_tan, "elementwise", refuses, NULL, run},
    {&wg_op_tanh, "elementwise", refuses, NULL, run},
    {&wg_op_sigmoid, "elementwise", refuses, NULL, run},
    {&wg_op_softplus, "elementwise", refuses, NULL, run},
    {&wg_op_silu, "elementwise", refuses, NULL, run},
    {&wg_op_gelu, "elementwise", refuses, NULL, run},
    {&wg_op_silu_grad, "elementwise", refuses, NULL, run},
    {&wg_op_gelu_grad, "elementwise", refuses, NULL, run},
    {&wg_op_neg, "elementwise", refuses, NULL, run},
    {&wg_op_abs, "elementwise", refuses, NULL, run},
    {&wg_op_square, "elementwise", refuses, NULL, run},
    {&wg_op_sqrt, "elementwise", refuses, NULL, run},
    {&wg_op_rsqrt, "elementwise", refuses, NULL, run},
    {&wg_op_reciprocal, "elementwise", refuses, NULL, run},
    {&wg_op_sign, "elementwise", refuses, NULL, run},
    {&wg_op_floor, "elementwise", refuses, NULL, run},
    {&wg_op_ceil, "elementwise", refuses, NULL, run},
    {&wg_op_round, "elementwise", refuses, NULL, run},
    {&wg_op_clamp, "elementwise", refuses, NULL, run},
    {&wg_op_relu, "elementwise", refuses, NULL, run},
    {&wg_op_relu_grad, "elementwise", refuses, NULL, run},
    {&wg_op_add, "elementwise", refuses_other_floats, NULL, run},
    {&wg_op_sub, "elementwise", refuses_other_floats, NULL, run},
    {&wg_op_mul, "elementwise", refuses_other_floats, NULL, run},
    {&wg_op_div, "elementwise", refuses_other_floats, NULL, run},
    {&wg_op_maximum, "elementwise", refuses_other_floats, NULL, run},
    {&wg_op_minimum, "elementwise", refuses_other_floats, NULL, run},
    {&wg_op_remainder, "elementwise", refuses_other_floats, NULL, run},
    {&wg_op_pow, "elementwise", refuses_pow, NULL, run},
    {.op = NULL},
};
