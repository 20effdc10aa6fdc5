/* Elementwise arithmetic.  A rule of a broadcast operand may return the result's shape: the
 * gradient walker sums it down. */
#include "graph/element.h"
#include "ops/rows.h"

#include <math.h>

/* ---- two operands ---------------------------------------------------------------------------- */

static const wg_sample divisor_samples[] = {
    {"same shape", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(0.5, 2, 2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_FLOATS(-2, 2, 3, 2, 1, 4), WG_FLOATS(-2, -0.5, 2, 3, 1)}},
    {"scalar", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 2), WG_FLOATS(0.5, 2, 0, 0)}},
};

static const wg_sample pow_samples[] = {
    {"same shape", NULL, 2, {WG_FLOATS(0.4, 2.5, 2, 3, 4), WG_FLOATS(-2, 3, 2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_FLOATS(0.4, 2.5, 3, 2, 1, 4), WG_FLOATS(-2, 3, 2, 3, 1)}},
    {"scalar", NULL, 2, {WG_FLOATS(0.4, 2.5, 2, 3, 2), WG_FLOATS(0.5, 3, 0, 0)}},
    {"integers", NULL, 2, {WG_INTS(-5, 6, 2, 3, 4), WG_INTS(0, 9, 1, 4)}},
};

#define ANY_SIGN .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(wgi_binary_samples)
#define DIVISOR .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(divisor_samples)
#define POSITIVE_BASE .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(pow_samples)

/* clang-format off */
BINARY_OP(add, "y = a + b", number, WG_PIECEWISE_LINEAR, WG_READS_NOTHING, dy, dy, ANY_SIGN)
BINARY_OP(sub, "y = a - b", number, WG_PIECEWISE_LINEAR, WG_READS_NOTHING, dy, wg_neg(dy), ANY_SIGN)
BINARY_OP(mul, "y = a b", number, WG_SMOOTH, WG_READS_X, wg_mul(dy, b), wg_mul(dy, a), ANY_SIGN)
BINARY_OP(div, "y = a / b", float, WG_SMOOTH, WG_READS_X | WG_READS_Y,
          wg_div(dy, b), wg_neg(wg_mul(da, y)), DIVISOR)
/* clang-format on */

/* da = dy b a^(b-1),  db = dy y ln a.
 * a stands as 1 where it would make 0 times infinity of a product that is 0: for a = b = 0 in da,
 * and for a = 0, b >= 0 in db.  (To choose after the product would leave the NaN in the second
 * derivative.) */
static void grad_pow(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *a = n->in[0], *b = n->in[1], *zero = wg_scalar_like(a, 0),
             *one = wg_scalar_like(a, 1);
    wg_value *a_is_0 = wg_equal(a, zero);
    wg_value *base = wg_where(wg_logical_and(a_is_0, wg_equal(b, zero)), one, a);
    wg_value *logarithm =
        wg_log(wg_where(wg_logical_and(a_is_0, wg_greater_equal(b, zero)), one, a));
    dx[0] = wg_mul(dy[0], wg_mul(b, wg_pow(base, wg_shift(b, -1))));
    dx[1] = wg_mul(dy[0], wg_mul(n->out[0], logarithm));
}
BINARY_ROW(pow, "y = a^b", 0, wgi_infer_binary_number, .inplace = 3, .grad = grad_pow,
           .reads = WG_READS_X | WG_READS_Y, POSITIVE_BASE)

/* The quotient lies well between two whole numbers, where the remainder jumps. */
static const wg_sample remainder_samples[] = {
    {"same shape", NULL, 2, {WG_FLOATS(6.2, 6.9, 2, 3, 4), WG_FLOATS(2.4, 2.9, 2, 3, 4)}},
    {"negative divisor", NULL, 2, {WG_FLOATS(6.2, 6.9, 2, 3, 4), WG_FLOATS(-2.9, -2.4, 1, 4)}},
    {"negative, broadcast", NULL, 2, {WG_FLOATS(-6.9, -6.2, 2, 3, 1), WG_FLOATS(2.4, 2.9, 1, 4)}},
    {"integers", NULL, 2, {WG_INTS(-9, 10, 2, 3, 4), WG_INTS(1, 5, 1, 4)}},
};

/* y = a - b q with q = floor(a / b), which is constant between jumps; taken from y, since a / b may
 * round up to a whole number. */
static void grad_remainder(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *a = n->in[0], *b = n->in[1], *q = wg_round(wg_div(wg_sub(a, n->out[0]), b));
    dx[0] = dy[0];
    dx[1] = wg_neg(wg_mul(dy[0], q));
}
BINARY_ROW(remainder, "y = a - b floor(a / b)", 0, wgi_infer_binary_number, .inplace = 3,
           .smoothness = WG_PIECEWISE_LINEAR, .grad = grad_remainder,
           .reads = WG_READS_X | WG_READS_Y, .family = WG_FAMILY_ELEMENTWISE,
           WG_SAMPLES(remainder_samples))

BINARY_ROW(floor_divide, "y = floor(a / b)", WG_OP_DISCRETE, wgi_infer_binary_number, .inplace = 3,
           .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(remainder_samples))

static void grad_maximum(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *a = n->in[0], *b = n->in[1];
    dx[0] = wg_maximum_grad(a, b, dy[0]);
    dx[1] = wg_maximum_grad(b, a, dy[0]);
}
/* min(a, b) is a where max(a, b) is b. */
static void grad_minimum(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *a = n->in[0], *b = n->in[1];
    dx[0] = wg_maximum_grad(b, a, dy[0]);
    dx[1] = wg_maximum_grad(a, b, dy[0]);
}
BINARY_ROW(maximum, "y = max(a, b)", 0, wgi_infer_binary_number, .inplace = 3,
           .smoothness = WG_PIECEWISE_LINEAR, .grad = grad_maximum, .reads = WG_READS_X, ANY_SIGN)
BINARY_ROW(minimum, "y = min(a, b)", 0, wgi_infer_binary_number, .inplace = 3,
           .smoothness = WG_PIECEWISE_LINEAR, .grad = grad_minimum, .reads = WG_READS_X, ANY_SIGN)

static bool infer_maximum_grad(wg_node *n)
{
    wg_shape s;
    return wg_need_float(n, 0) && wg_need_same_dtype(n, 0, 1) && wg_need_same_dtype(n, 0, 2) &&
           wg_need_broadcast(n, &n->in[0]->shape, &n->in[1]->shape, &s) &&
           wg_need_broadcast(n, &n->in[2]->shape, &s, &s) &&
           wg_set_result(n, 0, n->in[0]->dtype, s);
}

static void expand_maximum_grad(wg_node *n, wg_value **da)
{
    wg_value *a = n->in[0], *b = n->in[1], *dy = n->in[2];
    wg_value *share = wg_where(wg_equal(a, b), wg_scale(dy, 0.5), dy);
    da[0] = wg_where(wg_less(a, b), wg_scalar_like(dy, 0), share);
}

/* linear in dy, piecewise constant in a and b */
static void grad_maximum_grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[2] = wg_maximum_grad(n->in[0], n->in[1], dy[0]);
}

#define X(...) WG_FLOATS(-2, 2, __VA_ARGS__)
static const wg_sample maximum_grad_samples[] = {
    {"same shape", NULL, 3, {X(2, 3, 4), X(2, 3, 4), X(2, 3, 4)}},
    {"broadcast", NULL, 3, {X(3, 2, 1, 4), X(2, 3, 1), X(1, 4)}},
    {"scalar", NULL, 3, {X(2, 3, 4), X(0, 0), X(2, 3, 4)}},
};
#undef X

const wg_op wg_op_maximum_grad = {
    .name = "maximum_grad",
    .formula = "da = 0 where a < b, dy / 2 where a = b, else dy",
    .family = WG_FAMILY_ELEMENTWISE,
    .operands = "a b dy",
    .results = "da",
    .flags = WG_OP_ELEMENTWISE,
    .inplace = 7,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_maximum_grad,
    .expand = expand_maximum_grad,
    .grad = grad_maximum_grad,
    .reads = WG_READS_X,
    WG_SAMPLES(maximum_grad_samples),
};

wg_value *(wg_maximum_grad)(const char *at, wg_value *a, wg_value *b, wg_value *dy)
{
    return wg_apply3(at, &wg_op_maximum_grad, NULL, a, b, dy);
}

/* The number s for a builder that combines it with x. */
static wg_value *number_beside(const char *at, const char *builder, wg_value *x, double s)
{
    char name[160];
    if (s != s && x)
        return wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, builder, "the number is NaN");
    if (!x || wgi_can_hold(x->dtype, s))
        return (wg_scalar_like)(at, x, s);
    return wg_graph_fail(wg_graph_of(x), WG_EDTYPE, at, builder,
                         "%s is %s, which cannot hold %.10g%s", wg_value_text(x, name, sizeof name),
                         wg_dtype_name(x->dtype), s,
                         wg_dtype_is_float(x->dtype) ? "" : ": wg_cast it to a float dtype");
}

wg_value *(wg_scale)(const char *at, wg_value *x, double s)
{
    return (wg_mul)(at, x, number_beside(at, "scale", x, s));
}

wg_value *(wg_shift)(const char *at, wg_value *x, double s)
{
    return (wg_add)(at, x, number_beside(at, "shift", x, s));
}

/* ---- one operand ----------------------------------------------------------------------------- */

static const wg_sample positive_samples[] = {
    {"matrix", NULL, 1, {WG_FLOATS(0.3, 3, 2, 3, 5)}},
    {"scalar", NULL, 1, {WG_FLOATS(0.3, 3, 0, 0)}},
};
static const double zero[] = {0};

#define REAL .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(wgi_unary_samples)
#define POSITIVE .family = WG_FAMILY_ELEMENTWISE, WG_SAMPLES(positive_samples)

static const double two_by_sqrt_pi = 1.12837916709551257390;

/* clang-format off */
UNARY_OP(neg, "y = -x", number, WG_PIECEWISE_LINEAR, WG_READS_NOTHING, wg_neg(dy), REAL)
UNARY_OP(abs, "y = |x|", number, WG_PIECEWISE_LINEAR, WG_READS_X, wg_mul(dy, wg_sign(x)), REAL,
         WG_KINKS(zero))
UNARY_OP(square, "y = x^2", number, WG_SMOOTH, WG_READS_X, wg_scale(wg_mul(dy, x), 2), REAL)
UNARY_OP(exp, "y = exp(x)", float, WG_SMOOTH, WG_READS_Y, wg_mul(dy, y), REAL)
UNARY_OP(log, "y = ln(x)", float, WG_SMOOTH, WG_READS_X, wg_div(dy, x), POSITIVE)
UNARY_OP(sqrt, "y = sqrt(x)", float, WG_SMOOTH, WG_READS_Y, wg_div(wg_scale(dy, 0.5), y), POSITIVE)
UNARY_OP(rsqrt, "y = 1 / sqrt(x)", float, WG_SMOOTH, WG_READS_Y,
         wg_scale(wg_mul(dy, wg_mul(y, wg_square(y))), -0.5), POSITIVE)
UNARY_OP(reciprocal, "y = 1 / x", float, WG_SMOOTH, WG_READS_Y, wg_neg(wg_mul(dy, wg_square(y))),
         POSITIVE)
UNARY_OP(sin, "y = sin(x)", float, WG_SMOOTH, WG_READS_X, wg_mul(dy, wg_cos(x)), REAL)
UNARY_OP(cos, "y = cos(x)", float, WG_SMOOTH, WG_READS_X, wg_neg(wg_mul(dy, wg_sin(x))), REAL)
UNARY_OP(erf, "y = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x", float, WG_SMOOTH, WG_READS_X,
         wg_mul(wg_scale(dy, two_by_sqrt_pi), wg_exp(wg_neg(wg_square(x)))), REAL)
/* clang-format on */

/* ---- steps: the derivative is 0 wherever it exists ------------------------------------------- */

static const double whole[] = {-2, -1, 0, 1, 2}, halves[] = {-1.5, -0.5, 0.5, 1.5};

#define STEP(NAME, FORMULA, DTYPES, KINKS)                                                         \
    UNARY_ROW(NAME, FORMULA, WG_OP_DISCRETE, wgi_infer_unary_##DTYPES, WG_KINKS(KINKS), REAL)

STEP(sign, "y = -1, 0, 1 for x < 0, x = 0, x > 0", number, zero)
STEP(floor, "y = largest whole number <= x", float, whole)
STEP(ceil, "y = smallest whole number >= x", float, whole)
STEP(round, "y = nearest whole number, halves to even", float, halves)

/* ---- cast ------------------------------------------------------------------------------------ */

static const wg_attr cast_attrs[] = {WG_ATTR(DTYPE, wg_cast_attrs, dtype)};

static bool infer_cast(wg_node *n)
{
    const wg_cast_attrs *a = n->attrs;
    return wg_set_result(n, 0, a->dtype, n->in[0]->shape);
}

static void grad_cast(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    if (wg_dtype_is_float(n->in[0]->dtype) && wg_dtype_is_float(n->out[0]->dtype))
        dx[0] = wg_cast(dy[0], n->in[0]->dtype);
}

static const wg_sample cast_samples[] = {
    {"to f64", &(const wg_cast_attrs){WG_F64}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"to i32", &(const wg_cast_attrs){WG_I32}, 1, {WG_FLOATS(-9, 9, 1, 7)}},
    {"ids to f64", &(const wg_cast_attrs){WG_F64}, 1, {WG_INTS(-9, 9, 1, 7)}},
};

const wg_op wg_op_cast = {
    .name = "cast",
    .formula = "y = x in another dtype",
    .family = WG_FAMILY_ELEMENTWISE,
    .operands = "x",
    .flags = WG_OP_ELEMENTWISE,
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_cast_attrs, cast_attrs),
    .infer = infer_cast,
    .grad = grad_cast,
    .reads = WG_READS_NOTHING,
    WG_SAMPLES(cast_samples),
};

wg_value *(wg_cast)(const char *at, wg_value *x, wg_dtype dtype)
{
    if (x && x->dtype == dtype)
        return x;
    return wg_apply1(at, &wg_op_cast, &(wg_cast_attrs){dtype}, x);
}

/* ---- clamp ----------------------------------------------------------------------------------- */

static const wg_attr clamp_attrs[] = {
    WG_ATTR(REAL, wg_clamp_attrs, min),
    WG_ATTR(REAL, wg_clamp_attrs, max),
};

static bool infer_clamp(wg_node *n)
{
    const wg_clamp_attrs *a = n->attrs;
    if (!wgi_infer_unary_float(n))
        return false;
    return a->min <= a->max || wg_fail(n, WG_EINVAL, "min %g is above max %g", a->min, a->max);
}

static void grad_clamp(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_clamp_attrs *a = n->attrs;
    dx[0] = wg_clamp_grad(n->in[0], dy[0], a->min, a->max);
}

static const wg_sample clamp_samples[] = {
    {"both", &(const wg_clamp_attrs){-0.5, 0.75}, 1, {WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"from below", &(const wg_clamp_attrs){-0.5, INFINITY}, 1, {WG_FLOATS(-2, 2, 1, 7)}},
    {"from above", &(const wg_clamp_attrs){-INFINITY, 0.75}, 1, {WG_FLOATS(-2, 2, 1, 7)}},
};
static const double clamp_kinks[] = {-0.5, 0.75};

const wg_op wg_op_clamp = {
    .name = "clamp",
    .formula = "y = min(max(x, min), max)",
    .family = WG_FAMILY_ELEMENTWISE,
    .operands = "x",
    .results = "y",
    .flags = WG_OP_ELEMENTWISE,
    .inplace = 1,
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_clamp_attrs, clamp_attrs),
    .infer = infer_clamp,
    .grad = grad_clamp,
    .reads = WG_READS_X,
    WG_SAMPLES(clamp_samples),
    WG_KINKS(clamp_kinks),
};

/* Of integers, a maximum and a minimum. */
static wg_value *clamp_integers(const char *at, wg_value *x, double min, double max)
{
    if (!(min <= max))
        return wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, "clamp", "min %g is above max %g", min,
                             max);
    wg_value *low = min > -INFINITY ? number_beside(at, "clamp", x, min) : NULL;
    wg_value *high = max < INFINITY ? number_beside(at, "clamp", x, max) : NULL;
    if (min > -INFINITY)
        x = (wg_maximum)(at, x, low);
    if (max < INFINITY)
        x = (wg_minimum)(at, x, high);
    return x;
}

wg_value *(wg_clamp)(const char *at, wg_value *x, double min, double max)
{
    if (x && wg_dtype_is_int(x->dtype))
        return clamp_integers(at, x, min, max);
    return wg_apply1(at, &wg_op_clamp, &(wg_clamp_attrs){min, max}, x);
}

/* ---- clamp_grad ------------------------------------------------------------------------------ */

static bool infer_clamp_grad(wg_node *n)
{
    const wg_clamp_attrs *a = n->attrs;
    if (!wgi_infer_binary_float(n))
        return false;
    return a->min <= a->max || wg_fail(n, WG_EINVAL, "min %g is above max %g", a->min, a->max);
}

static void expand_clamp_grad(wg_node *n, wg_value **dx)
{
    const wg_clamp_attrs *a = n->attrs;
    wg_value *x = n->in[0], *dy = n->in[1];
    wg_value *inside = wg_logical_and(wg_greater_equal(x, wg_scalar_like(x, a->min)),
                                      wg_less_equal(x, wg_scalar_like(x, a->max)));
    dx[0] = wg_where(inside, dy, wg_scalar_like(dy, 0));
}

/* linear in dy, piecewise constant in x */
static void grad_clamp_grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_clamp_attrs *a = n->attrs;
    dx[1] = wg_clamp_grad(n->in[0], dy[0], a->min, a->max);
}

#define BOUNDS(min, max)                                                                           \
    &(const wg_clamp_attrs)                                                                        \
    {                                                                                              \
        min, max                                                                                   \
    }
static const wg_sample clamp_grad_samples[] = {
    {"both", BOUNDS(-0.5, 0.75), 2, {WG_FLOATS(-2, 2, 2, 3, 5), WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"from below", BOUNDS(-0.5, INFINITY), 2, {WG_FLOATS(-2, 2, 1, 7), WG_FLOATS(-2, 2, 1, 7)}},
    {"broadcast", BOUNDS(-INFINITY, 0.75), 2, {WG_FLOATS(-2, 2, 2, 3, 5), WG_FLOATS(-2, 2, 1, 5)}},
};

const wg_op wg_op_clamp_grad = {
    .name = "clamp_grad",
    .formula = "dx = dy where min <= x <= max, else 0",
    .family = WG_FAMILY_ELEMENTWISE,
    .operands = "x dy",
    .results = "dx",
    .flags = WG_OP_ELEMENTWISE,
    .inplace = 3,
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_clamp_attrs, clamp_attrs),
    .infer = infer_clamp_grad,
    .expand = expand_clamp_grad,
    .grad = grad_clamp_grad,
    .reads = WG_READS_X,
    WG_SAMPLES(clamp_grad_samples),
    WG_KINKS(clamp_kinks),
};

wg_value *(wg_clamp_grad)(const char *at, wg_value *x, wg_value *dy, double min, double max)
{
    return wg_apply2(at, &wg_op_clamp_grad, &(wg_clamp_attrs){min, max}, x, dy);
}

/* ---- stop_gradient --------------------------------------------------------------------------- */

static bool infer_same(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

const wg_op wg_op_stop_gradient = {
    .name = "stop_gradient",
    .formula = "y = x, with the derivative 0",
    .family = WG_FAMILY_ELEMENTWISE,
    .operands = "x",
    .results = "y",
    .flags = WG_OP_ELEMENTWISE | WG_OP_VIEW | WG_OP_DISCRETE,
    .infer = infer_same,
    WG_SAMPLES(wgi_unary_samples),
};

wg_value *(wg_stop_gradient)(const char *at, wg_value *x)
{
    return wg_apply1(at, &wg_op_stop_gradient, NULL, x);
}
