/* Trigonometric and hyperbolic functions, their inverses, and the gamma family. */
#include "ops/rows.h"

/* Where the functions of a family are smooth, with room for the steps of the gradient check. */
static const wg_sample angle_samples[] = {
    {"matrix", NULL, 1, {WG_FLOATS(-1.2, 1.2, 2, 3, 5)}},
    {"scalar", NULL, 1, {WG_FLOATS(-1.2, 1.2, 0, 0)}},
};
static const wg_sample ratio_samples[] = {
    {"matrix", NULL, 1, {WG_FLOATS(-0.7, 0.7, 2, 3, 5)}},
    {"scalar", NULL, 1, {WG_FLOATS(-0.7, 0.7, 0, 0)}},
};
static const wg_sample above_1_samples[] = {
    {"matrix", NULL, 1, {WG_FLOATS(1.3, 4, 2, 3, 5)}},
    {"scalar", NULL, 1, {WG_FLOATS(1.3, 4, 0, 0)}},
};
static const wg_sample above_minus_1_samples[] = {
    {"matrix", NULL, 1, {WG_FLOATS(-0.6, 3, 2, 3, 5)}},
    {"scalar", NULL, 1, {WG_FLOATS(-0.6, 3, 0, 0)}},
};
static const wg_sample gamma_samples[] = {
    {"positive", NULL, 1, {WG_FLOATS(0.6, 4, 2, 3, 5)}},
    {"between two poles", NULL, 1, {WG_FLOATS(-1.65, -1.35, 1, 7)}},
    {"scalar", NULL, 1, {WG_FLOATS(0.6, 4, 0, 0)}},
};

#define REAL .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(wgi_unary_samples)
#define ANGLE .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(angle_samples)
#define RATIO .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(ratio_samples)
#define ABOVE_1 .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(above_1_samples)
#define ABOVE_MINUS_1 .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(above_minus_1_samples)
#define GAMMA .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(gamma_samples)

/* 1 - x^2; as a product where x is close to 1 or -1, which loses no digits there.  Not for a small
 * x, where the derivative of the product is a difference of 1 - x and 1 + x. */
static wg_value *one_minus_square(wg_value *x)
{
    wg_value *square = wg_square(x);
    return wg_where(wg_less(square, wg_scalar_like(square, 0.25)), wg_shift(wg_neg(square), 1),
                    wg_mul(wg_shift(wg_neg(x), 1), wg_shift(x, 1)));
}

/* ---- one operand ----------------------------------------------------------------------------- */

/* The derivatives of asinh and acosh are 1 / sqrt(x^2 + 1) = 1 / cosh(y) and 1 / sqrt(x^2 - 1) = 1
 * / sinh(y): in terms of y nothing overflows where x is large. */
/* clang-format off */
UNARY_OP(log1p, "y = ln(1 + x)", float, WG_SMOOTH, WG_READS_X, wg_div(dy, wg_shift(x, 1)),
         ABOVE_MINUS_1)
UNARY_OP(expm1, "y = exp(x) - 1", float, WG_SMOOTH, WG_READS_X, wg_mul(dy, wg_exp(x)), REAL)
UNARY_OP(tan, "y = tan(x)", float, WG_SMOOTH, WG_READS_Y, wg_mul(dy, wg_shift(wg_square(y), 1)),
         ANGLE)
UNARY_OP(asin, "y = arcsin(x)", float, WG_SMOOTH, WG_READS_X,
         wg_mul(dy, wg_rsqrt(one_minus_square(x))), RATIO)
UNARY_OP(acos, "y = arccos(x)", float, WG_SMOOTH, WG_READS_X,
         wg_neg(wg_mul(dy, wg_rsqrt(one_minus_square(x)))), RATIO)
UNARY_OP(atan, "y = arctan(x)", float, WG_SMOOTH, WG_READS_X,
         wg_div(dy, wg_shift(wg_square(x), 1)), REAL)
UNARY_OP(sinh, "y = (exp(x) - exp(-x)) / 2", float, WG_SMOOTH, WG_READS_X, wg_mul(dy, wg_cosh(x)),
         REAL)
UNARY_OP(cosh, "y = (exp(x) + exp(-x)) / 2", float, WG_SMOOTH, WG_READS_X, wg_mul(dy, wg_sinh(x)),
         REAL)
UNARY_OP(asinh, "y = ln(x + sqrt(x^2 + 1))", float, WG_SMOOTH, WG_READS_Y, wg_div(dy, wg_cosh(y)),
         REAL)
UNARY_OP(acosh, "y = ln(x + sqrt(x^2 - 1))", float, WG_SMOOTH, WG_READS_Y, wg_div(dy, wg_sinh(y)),
         ABOVE_1)
UNARY_OP(atanh, "y = ln((1 + x) / (1 - x)) / 2", float, WG_SMOOTH, WG_READS_X,
         wg_div(dy, one_minus_square(x)), RATIO)
UNARY_OP(lgamma, "y = ln |gamma(x)|", float, WG_SMOOTH, WG_READS_X, wg_mul(dy, wg_digamma(x)),
         GAMMA)
UNARY_OP(digamma, "y = gamma'(x) / gamma(x)", float, WG_SMOOTH, WG_READS_X,
         wg_mul(dy, wg_polygamma(x, 1)), GAMMA)
/* clang-format on */

/* ---- polygamma ------------------------------------------------------------------------------- */

static const wg_attr polygamma_attrs[] = {WG_ATTR(INT, wg_polygamma_attrs, order)};

static bool infer_polygamma(wg_node *n)
{
    const wg_polygamma_attrs *a = n->attrs;
    if (!wgi_infer_unary_float(n))
        return false;
    return (a->order >= 1 && a->order <= WG_MAX_POLYGAMMA) ||
           wg_fail(n, WG_EINVAL, "the order is %lld, must be 1 to %d (order 0 is digamma)",
                   (long long)a->order, WG_MAX_POLYGAMMA);
}

static void grad_polygamma(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_polygamma_attrs *a = n->attrs;
    dx[0] = wg_mul(dy[0], wg_polygamma(n->in[0], a->order + 1));
}

static const wg_sample polygamma_samples[] = {
    {"order 1", &(const wg_polygamma_attrs){1}, 1, {WG_FLOATS(0.8, 4, 2, 3, 5)}},
    {"order 2", &(const wg_polygamma_attrs){2}, 1, {WG_FLOATS(0.9, 4, 1, 7)}},
    {"order 1 between two poles", &(const wg_polygamma_attrs){1}, 1, {WG_FLOATS(-1.6, -1.4, 1, 5)}},
};

const wg_op wg_op_polygamma = {
    .name = "polygamma",
    .formula = "y = derivative of digamma at x, of that order",
    .family = WG_FAMILY_ELEMENTWISE,
    .operands = "x",
    .results = "y",
    .flags = WG_OP_ELEMENTWISE,
    .inplace = 1,
    WG_ATTRS(wg_polygamma_attrs, polygamma_attrs),
    .infer = infer_polygamma,
    .grad = grad_polygamma,
    .reads = WG_READS_X,
    WG_SAMPLES(polygamma_samples),
};

wg_value *(wg_polygamma)(const char *at, wg_value *x, int64_t order)
{
    return wg_apply1(at, &wg_op_polygamma, &(wg_polygamma_attrs){order}, x);
}

/* ---- atan2 ----------------------------------------------------------------------------------- */

static const wg_sample atan2_samples[] = {
    {"same shape", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(0.5, 2, 2, 3, 4)}},
    {"left half", NULL, 2, {WG_FLOATS(0.5, 2, 3, 2, 1, 4), WG_FLOATS(-2, -0.5, 2, 3, 1)}},
    {"scalar", NULL, 2, {WG_FLOATS(0.5, 2, 2, 3, 2), WG_FLOATS(-2, 2, 0, 0)}},
};

/* da = dy b / (a^2 + b^2),  db = -dy a / (a^2 + b^2).
 * Both are divided by m = max(|a|, |b|) first, so that no square overflows or vanishes: with u = a
 * / m and v = b / m, da = dy v / (m (u^2 + v^2)).  That holds for any m, so m counts as a constant.
 * At the origin m and u^2 + v^2 stand as 1 and dy as 0, so that derivatives of any order are 0. */
static void grad_atan2(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *a = n->in[0], *b = n->in[1], *one = wg_scalar_like(a, 1);
    wg_value *size = wg_stop_gradient(wg_maximum(wg_abs(a), wg_abs(b)));
    wg_value *origin = wg_equal(size, wg_scalar_like(a, 0)), *m = wg_where(origin, one, size);
    wg_value *u = wg_div(a, m), *v = wg_div(b, m);
    wg_value *squares = wg_where(origin, one, wg_add(wg_square(u), wg_square(v)));
    wg_value *d = wg_where(origin, wg_scalar_like(a, 0), dy[0]);
    wg_value *scaled = wg_div(wg_div(d, squares), m);
    dx[0] = wg_mul(scaled, v);
    dx[1] = wg_neg(wg_mul(scaled, u));
}
BINARY_ROW(atan2, "y = angle of the point (b, a)", 0, wgi_infer_binary_float, .inplace = 3,
           .grad = grad_atan2, .reads = WG_READS_X, .family = WG_FAMILY_ELEMENTWISE,
           WG_SAMPLES(atan2_samples))
