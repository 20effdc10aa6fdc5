/* Rows: one-line definitions of elementwise ops without attributes.
 *
 *     UNARY_OP(exp, "y = exp(x)", float, WG_SMOOTH, WG_READS_Y, wg_mul(dy, y),
 *              .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(samples))
 *
 * defines the op wg_op_exp, its gradient rule and its builder wg_exp.  The parameters:
 *
 *   NAME        of the op and of its builder
 *   FORMULA     for the reference page
 *   DTYPES      of the operands: `float` (f32, f64, bf16, f16) or `number` (i32 and i64 too)
 *   SMOOTHNESS  how strictly the numeric check looks (wg_smoothness)
 *   READS       what of the node the rule uses (WG_READS_...)
 *   DX          the cotangent of x, an expression in dy, x and y
 *   DA, DB      the cotangents of a and b, expressions in dy, a, b and y; DB may also use da
 *   ...         all other fields: .family, WG_SAMPLES, WG_KINKS
 *
 * UNARY_ROW and BINARY_ROW define op and builder alone, for an op whose rule is a function above
 * it (.grad), or one without a derivative. */
#ifndef WG_OPS_ROWS_H
#define WG_OPS_ROWS_H

#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* Shape rules: y has the shape and dtype of x; y has the broadcast shape of a and b. */
bool wgi_infer_unary_float(wg_node *n);
bool wgi_infer_unary_number(wg_node *n);
bool wgi_infer_binary_float(wg_node *n);
bool wgi_infer_binary_number(wg_node *n);

/* One operand of any sign; two operands of any sign, which broadcast. */
extern const wg_sample wgi_unary_samples[3], wgi_binary_samples[4];

#define UNARY_ROW(NAME, FORMULA, FLAGS, INFER, ...)                                                \
    const wg_op wg_op_##NAME = {.name = #NAME,                                                     \
                                .formula = FORMULA,                                                \
                                .operands = "x",                                                   \
                                .results = "y",                                                    \
                                .flags = WG_OP_ELEMENTWISE | (FLAGS),                              \
                                .inplace = 1,                                                      \
                                .infer = INFER,                                                    \
                                __VA_ARGS__};                                                      \
    wg_value *(wg_##NAME)(const char *at, wg_value *x)                                             \
    {                                                                                              \
        return wg_apply1(at, &wg_op_##NAME, NULL, x);                                              \
    }

#define UNARY_OP(NAME, FORMULA, DTYPES, SMOOTHNESS, READS, DX, ...)                                \
    static void grad_##NAME(wg_node *node, wg_value *const *cotangents, wg_value **results)        \
    {                                                                                              \
        wg_value *x = node->in[0], *y = node->out[0], *dy = cotangents[0];                         \
        (void)x, (void)y;                                                                          \
        results[0] = DX;                                                                           \
    }                                                                                              \
    UNARY_ROW(NAME, FORMULA, 0, wgi_infer_unary_##DTYPES, .smoothness = SMOOTHNESS,                \
              .grad = grad_##NAME, .reads = READS, __VA_ARGS__)

#define BINARY_ROW(NAME, FORMULA, FLAGS, INFER, ...)                                               \
    const wg_op wg_op_##NAME = {.name = #NAME,                                                     \
                                .formula = FORMULA,                                                \
                                .operands = "a b",                                                 \
                                .results = "y",                                                    \
                                .flags = WG_OP_ELEMENTWISE | (FLAGS),                              \
                                .infer = INFER,                                                    \
                                __VA_ARGS__};                                                      \
    wg_value *(wg_##NAME)(const char *at, wg_value *a, wg_value *b)                                \
    {                                                                                              \
        return wg_apply2(at, &wg_op_##NAME, NULL, a, b);                                           \
    }

#define BINARY_OP(NAME, FORMULA, DTYPES, SMOOTHNESS, READS, DA, DB, ...)                           \
    static void grad_##NAME(wg_node *node, wg_value *const *cotangents, wg_value **results)        \
    {                                                                                              \
        wg_value *a = node->in[0], *b = node->in[1], *y = node->out[0], *dy = cotangents[0];       \
        (void)a, (void)b, (void)y;                                                                 \
        wg_value *da = DA;                                                                         \
        results[0] = da;                                                                           \
        results[1] = DB;                                                                           \
    }                                                                                              \
    BINARY_ROW(NAME, FORMULA, 0, wgi_infer_binary_##DTYPES, .inplace = 3,                          \
               .smoothness = SMOOTHNESS, .grad = grad_##NAME, .reads = READS, __VA_ARGS__)

#endif
