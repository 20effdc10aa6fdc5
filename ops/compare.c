/* Comparisons, logic and choice. */
#include "ops/rows.h"

/* ---- comparisons and logic ------------------------------------------------------------------- */

static bool infer_bool(wg_node *n)
{
    wg_shape s;
    return wg_need_same_dtype(n, 0, 1) &&
           wg_need_broadcast(n, &n->in[0]->shape, &n->in[1]->shape, &s) &&
           wg_set_result(n, 0, WG_BOOL, s);
}

static bool infer_comparison(wg_node *n)
{
    return wg_need_number(n, 0) && infer_bool(n);
}

static bool infer_logic(wg_node *n)
{
    return wg_need_dtype(n, 0, WG_BOOL) && infer_bool(n);
}

static bool infer_not(wg_node *n)
{
    return wg_need_dtype(n, 0, WG_BOOL) && wg_set_result(n, 0, WG_BOOL, n->in[0]->shape);
}

static const wg_sample comparison_samples[] = {
    {"same shape", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_FLOATS(-2, 2, 3, 2, 1, 4), WG_FLOATS(-2, 2, 2, 3, 1)}},
    {"integers", NULL, 2, {WG_INTS(0, 3, 2, 4, 5), WG_INTS(0, 3, 1, 5)}},
    {"scalars", NULL, 2, {WG_INTS(0, 2, 0, 0), WG_INTS(0, 2, 0, 0)}},
};
static const wg_sample logic_samples[] = {
    {"same shape", NULL, 2, {WG_BOOLS(2, 3, 4), WG_BOOLS(2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_BOOLS(3, 2, 1, 4), WG_BOOLS(2, 3, 1)}},
};
static const wg_sample not_samples[] = {
    {"matrix", NULL, 1, {WG_BOOLS(2, 3, 4)}},
    {"scalar", NULL, 1, {WG_BOOLS(0, 0)}},
};

#define COMPARISON(NAME, FORMULA)                                                                  \
    BINARY_ROW(NAME, FORMULA, WG_OP_DISCRETE, infer_comparison, .family = WG_FAMILY_COMPARISON,    \
               WG_SAMPLES(comparison_samples))
COMPARISON(equal, "y = (a == b)")
COMPARISON(not_equal, "y = (a != b)")
COMPARISON(less, "y = (a < b)")
COMPARISON(less_equal, "y = (a <= b)")
COMPARISON(greater, "y = (a > b)")
COMPARISON(greater_equal, "y = (a >= b)")

static bool infer_class(wg_node *n)
{
    return wg_need_float(n, 0) && wg_set_result(n, 0, WG_BOOL, n->in[0]->shape);
}
UNARY_ROW(isnan, "y = (x is NaN)", WG_OP_DISCRETE, infer_class, .family = WG_FAMILY_COMPARISON,
          WG_SAMPLES(wgi_unary_samples))
UNARY_ROW(isinf, "y = (x is inf or -inf)", WG_OP_DISCRETE, infer_class,
          .family = WG_FAMILY_COMPARISON, WG_SAMPLES(wgi_unary_samples))
UNARY_ROW(isfinite, "y = (x is neither NaN nor infinite)", WG_OP_DISCRETE, infer_class,
          .family = WG_FAMILY_COMPARISON, WG_SAMPLES(wgi_unary_samples))

#define LOGIC(NAME, FORMULA)                                                                       \
    BINARY_ROW(NAME, FORMULA, WG_OP_DISCRETE, infer_logic, .family = WG_FAMILY_LOGIC,              \
               .inplace = 3, WG_SAMPLES(logic_samples))
LOGIC(logical_and, "y = a and b")
LOGIC(logical_or, "y = a or b")
LOGIC(logical_xor, "y = a or b, not both")

UNARY_ROW(logical_not, "y = not x", WG_OP_DISCRETE, infer_not, .family = WG_FAMILY_LOGIC,
          WG_SAMPLES(not_samples))

/* ---- where ----------------------------------------------------------------------------------- */

static bool infer_where(wg_node *n)
{
    wg_shape s;
    return wg_need_dtype(n, 0, WG_BOOL) && wg_need_same_dtype(n, 1, 2) &&
           wg_need_broadcast(n, &n->in[1]->shape, &n->in[2]->shape, &s) &&
           wg_need_broadcast(n, &n->in[0]->shape, &s, &s) &&
           wg_set_result(n, 0, n->in[1]->dtype, s);
}

static void grad_where(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *zero = wg_scalar_like(dy[0], 0);
    dx[1] = wg_where(n->in[0], dy[0], zero);
    dx[2] = wg_where(n->in[0], zero, dy[0]);
}

static const wg_sample where_samples[] = {
    {"same shape",
     NULL,
     3,
     {WG_BOOLS(2, 3, 4), WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"broadcast",
     NULL,
     3,
     {WG_BOOLS(2, 3, 1), WG_FLOATS(-2, 2, 3, 2, 1, 4), WG_FLOATS(-2, 2, 1, 4)}},
    {"scalar", NULL, 3, {WG_BOOLS(2, 3, 4), WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 0, 0)}},
    {"one condition", NULL, 3, {WG_BOOLS(0, 0), WG_FLOATS(-2, 2, 1, 5), WG_FLOATS(-2, 2, 1, 5)}},
};

const wg_op wg_op_where = {
    .name = "where",
    .formula = "y = a where condition, else b",
    .family = WG_FAMILY_COMPARISON,
    .operands = "condition a b",
    .results = "y",
    .flags = WG_OP_ELEMENTWISE,
    .smoothness = WG_PIECEWISE_LINEAR,
    .inplace = 6,
    .infer = infer_where,
    .grad = grad_where,
    .reads = WG_READS_X,
    WG_SAMPLES(where_samples),
};

wg_value *(wg_where)(const char *at, wg_value *condition, wg_value *a, wg_value *b)
{
    return wg_apply3(at, &wg_op_where, NULL, condition, a, b);
}
