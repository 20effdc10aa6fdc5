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

/* Each op, its function (of gelu that by erf), and when it is refused. */
#define FUNCTIONS(X)                                                                               \
    X(exp, SIMD_EXP, refuses)                                                                      \
    X(log, SIMD_LOG, refuses)                                                                      \
    X(log1p, SIMD_LOG1P, refuses)                                                                  \
    X(expm1, SIMD_EXPM1, refuses)                                                                  \
    X(atan, SIMD_ATAN, refuses)                                                                    \
    X(asin, SIMD_ASIN, refuses)                                                                    \
    X(acos, SIMD_ACOS, refuses)                                                                    \
    X(asinh, SIMD_ASINH, refuses)                                                                  \
    X(acosh, SIMD_ACOSH, refuses)                                                                  \
    X(atanh, SIMD_ATANH, refuses)                                                                  \
    X(sin, SIMD_SIN, refuses)                                                                      \
    X(cos, SIMD_COS, refuses)                                                                      \
    X(erf, SIMD_ERF, refuses)                                                                      \
    X(elu, SIMD_ELU, refuses)                                                                      \
    X(leaky_relu, SIMD_LEAKY_RELU, refuses)                                                        \
    X(sinh, SIMD_SINH, refuses)                                                                    \
    X(cosh, SIMD_COSH, refuses)                                                                    \
    X(tan, SIMD_TAN, refuses)                                                                      \
    X(tanh, SIMD_TANH, refuses)                                                                    \
    X(lgamma, SIMD_LGAMMA, refuses)                                                                \
    X(digamma, SIMD_DIGAMMA, refuses)                                                              \
    X(polygamma, SIMD_POLYGAMMA, refuses)                                                          \
    X(sigmoid, SIMD_SIGMOID, refuses)                                                              \
    X(softplus, SIMD_SOFTPLUS, refuses)                                                            \
    X(silu, SIMD_SILU, refuses)                                                                    \
    X(silu_grad, SIMD_SILU_GRAD, refuses)                                                          \
    X(gelu, SIMD_GELU_ERF, refuses)                                                                \
    X(gelu_grad, SIMD_GELU_ERF_GRAD, refuses)                                                      \
    X(neg, SIMD_NEG, refuses)                                                                      \
    X(abs, SIMD_ABS, refuses)                                                                      \
    X(square, SIMD_SQUARE, refuses)                                                                \
    X(sqrt, SIMD_SQRT, refuses)                                                                    \
    X(rsqrt, SIMD_RSQRT, refuses)                                                                  \
    X(reciprocal, SIMD_RECIPROCAL, refuses)                                                        \
    X(sign, SIMD_SIGN, refuses)                                                                    \
    X(floor, SIMD_FLOOR, refuses)                                                                  \
    X(ceil, SIMD_CEIL, refuses)                                                                    \
    X(round, SIMD_ROUND, refuses)                                                                  \
    X(clamp, SIMD_CLAMP, refuses)                                                                  \
    X(relu, SIMD_RELU, refuses)                                                                    \
    X(relu_grad, SIMD_RELU_GRAD, refuses)                                                          \
    X(clamp_grad, SIMD_CLAMP_GRAD, refuses)                                                        \
    X(hardswish, SIMD_HARDSWISH, refuses)                                                          \
    X(hardswish_grad, SIMD_HARDSWISH_GRAD, refuses)                                                \
    X(add, SIMD_ADD, refuses_other_floats)                                                         \
    X(sub, SIMD_SUB, refuses_other_floats)                                                         \
    X(mul, SIMD_MUL, refuses_other_floats)                                                         \
    X(div, SIMD_DIV, refuses_other_floats)                                                         \
    X(maximum, SIMD_MAXIMUM, refuses_other_floats)                                                 \
    X(minimum, SIMD_MINIMUM, refuses_other_floats)                                                 \
    X(remainder, SIMD_REMAINDER, refuses_other_floats)                                             \
    X(floor_divide, SIMD_FLOOR_DIVIDE, refuses_other_floats)                                       \
    X(atan2, SIMD_ATAN2, refuses_other_floats)                                                     \
    X(pow, SIMD_POW, refuses_pow)

#define FUNCTION(op, f, refuses) {&wg_op_##op, f},
#define KERNEL(op, f, refuses) {&wg_op_##op, "elementwise", refuses, NULL, run},

static const struct {
    const wg_op *op;
    simd_function f;
} functions[] = {FUNCTIONS(FUNCTION)};

bool wgi_simd_function(const wg_node *n, simd_elementwise *out)
{
    int i = 0;
    while (i < WG_COUNT(functions) && functions[i].op != n->op)
        i++;
    if (i == WG_COUNT(functions))
        return false;
    out->f = functions[i].f;
    if (n->op == &wg_op_clamp || n->op == &wg_op_clamp_grad) {
        out->parameter = ((const wg_clamp_attrs *)n->attrs)->min;
        out->upper = ((const wg_clamp_attrs *)n->attrs)->max;
    } else if (n->op == &wg_op_polygamma) {
        out->parameter = (double)((const wg_polygamma_attrs *)n->attrs)->order;
    } else if (n->op == &wg_op_elu) {
        out->parameter = ((const wg_elu_attrs *)n->attrs)->alpha;
    } else if (n->op == &wg_op_leaky_relu) {
        out->parameter = ((const wg_leaky_relu_attrs *)n->attrs)->slope;
    } else if ((n->op == &wg_op_gelu || n->op == &wg_op_gelu_grad) &&
               ((const wg_gelu_attrs *)n->attrs)->kind == WG_GELU_TANH) {
        out->f = n->op == &wg_op_gelu ? SIMD_GELU_TANH : SIMD_GELU_TANH_GRAD;
    }
    return true;
}

static void run(wg_call *c)
{
    const wg_node *n = c->node;
    wgi_rows rows;
    simd_elementwise a = {.x = c->in[0],
                          .dy = n->n_in > 1 ? c->in[1] : NULL,
                          .y = c->out[0],
                          .count = wg_value_count(n->out[0]),
                          .threads = c->threads};
    wgi_simd_function(n, &a);
    if (broadcasts(n)) {
        rows = wgi_rows_of(n);
        a.rows = &rows;
    }
    simd_floats(c)->elementwise(&a);
}

/* The last row is one of NULLs. */
const simd_kernel wgi_simd_elementwise[WG_COUNT(functions) + 1] = {FUNCTIONS(KERNEL)};
