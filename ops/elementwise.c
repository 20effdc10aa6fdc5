/* Elementwise arithmetic.  A rule of a broadcast operand may return the result's shape: the
 * gradient walker sums it down. */
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

/* clang-format off: ops are read as tables */

/* ---- two operands ---------------------------------------------------------------------------- */

static bool infer_binary(wg_node *n)
{
    wg_shape s;
    return wg_need_same_dtype(n, 0, 1) && wg_need_number(n, 0) &&
           wg_need_broadcast(n, &n->in[0]->shape, &n->in[1]->shape, &s) &&
           wg_set_result(n, 0, n->in[0]->dtype, s);
}

static bool infer_float_binary(wg_node *n)
{
    return wg_need_float(n, 0) && infer_binary(n);
}

static const wg_sample binary_samples[] = {
    {"same shape", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_FLOATS(-2, 2, 3, 2, 1, 4), WG_FLOATS(-2, 2, 2, 3, 1)}},
    {"scalar", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 2), WG_FLOATS(-2, 2, 0, 0)}},
    {"empty", NULL, 2, {WG_FLOATS(-2, 2, 2, 0, 4), WG_FLOATS(-2, 2, 1, 4)}},
};
static const wg_sample divisor_samples[] = {
    {"same shape", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(0.5, 2, 2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_FLOATS(-2, 2, 3, 2, 1, 4), WG_FLOATS(-2, -0.5, 2, 3, 1)}},
    {"scalar", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 2), WG_FLOATS(0.5, 2, 0, 0)}},
};

#define BINARY                                                                                     \
    .family = "elementwise", .operands = "a b", .results = "y", .flags = WG_OP_ELEMENTWISE,        \
    .inplace = 3

static void grad_add(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    (void)n;
    dx[0] = dy[0];
    dx[1] = dy[0];
}
const wg_op wg_op_add = {
    .name = "add",
    .formula = "y = a + b",
    BINARY,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_binary,
    .grad = grad_add,
    .reads = WG_READS_NOTHING,
    .samples = binary_samples,
    .n_samples = WG_COUNT(binary_samples),
};

static void grad_sub(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    (void)n;
    dx[0] = dy[0];
    dx[1] = wg_neg(dy[0]);
}
const wg_op wg_op_sub = {
    .name = "sub",
    .formula = "y = a - b",
    BINARY,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_binary,
    .grad = grad_sub,
    .reads = WG_READS_NOTHING,
    .samples = binary_samples,
    .n_samples = WG_COUNT(binary_samples),
};

static void grad_mul(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_mul(dy[0], n->in[1]);
    dx[1] = wg_mul(dy[0], n->in[0]);
}
const wg_op wg_op_mul = {
    .name = "mul",
    .formula = "y = a b",
    BINARY,
    .infer = infer_binary,
    .grad = grad_mul,
    .reads = WG_READS_X,
    .samples = binary_samples,
    .n_samples = WG_COUNT(binary_samples),
};

/* da = dy / b,  db = -dy y / b */
static void grad_div(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_div(dy[0], n->in[1]);
    dx[1] = wg_neg(wg_mul(dx[0], n->out[0]));
}
const wg_op wg_op_div = {
    .name = "div",
    .formula = "y = a / b",
    BINARY,
    .infer = infer_float_binary,
    .grad = grad_div,
    .reads = WG_READS_X | WG_READS_Y,
    .samples = divisor_samples,
    .n_samples = WG_COUNT(divisor_samples),
};

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
static const wg_sample pow_samples[] = {
    {"same shape", NULL, 2, {WG_FLOATS(0.4, 2.5, 2, 3, 4), WG_FLOATS(-2, 3, 2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_FLOATS(0.4, 2.5, 3, 2, 1, 4), WG_FLOATS(-2, 3, 2, 3, 1)}},
    {"scalar", NULL, 2, {WG_FLOATS(0.4, 2.5, 2, 3, 2), WG_FLOATS(0.5, 3, 0, 0)}},
};
const wg_op wg_op_pow = {
    .name = "pow",
    .formula = "y = a^b",
    BINARY,
    .infer = infer_float_binary,
    .grad = grad_pow,
    .reads = WG_READS_X | WG_READS_Y,
    .samples = pow_samples,
    .n_samples = WG_COUNT(pow_samples),
};

/* The share of dy that an operand gets: nothing where it lost, half where both are equal. */
static wg_value *share(wg_value *dy, wg_value *lost, wg_value *equal)
{
    return wg_where(lost, wg_scalar_like(dy, 0), wg_where(equal, wg_scale(dy, 0.5), dy));
}
static void grad_maximum(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *a = n->in[0], *b = n->in[1], *equal = wg_equal(a, b);
    dx[0] = share(dy[0], wg_less(a, b), equal);
    dx[1] = share(dy[0], wg_less(b, a), equal);
}
static void grad_minimum(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *a = n->in[0], *b = n->in[1], *equal = wg_equal(a, b);
    dx[0] = share(dy[0], wg_greater(a, b), equal);
    dx[1] = share(dy[0], wg_greater(b, a), equal);
}
const wg_op wg_op_maximum = {
    .name = "maximum",
    .formula = "y = max(a, b)",
    BINARY,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_binary,
    .grad = grad_maximum,
    .reads = WG_READS_X,
    .samples = binary_samples,
    .n_samples = WG_COUNT(binary_samples),
};
const wg_op wg_op_minimum = {
    .name = "minimum",
    .formula = "y = min(a, b)",
    BINARY,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_binary,
    .grad = grad_minimum,
    .reads = WG_READS_X,
    .samples = binary_samples,
    .n_samples = WG_COUNT(binary_samples),
};

#define BINARY_BUILDER(name)                                                                       \
    wg_value *(wg_##name)(const char *at, wg_value *a, wg_value *b)                                \
    {                                                                                              \
        return wg_apply2(at, &wg_op_##name, NULL, a, b);                                           \
    }
BINARY_BUILDER(add)
BINARY_BUILDER(sub)
BINARY_BUILDER(mul)
BINARY_BUILDER(div)
BINARY_BUILDER(pow)
BINARY_BUILDER(maximum)
BINARY_BUILDER(minimum)

wg_value *(wg_scale)(const char *at, wg_value *x, double s)
{
    return (wg_mul)(at, x, (wg_scalar_like)(at, x, s));
}

wg_value *(wg_shift)(const char *at, wg_value *x, double s)
{
    return (wg_add)(at, x, (wg_scalar_like)(at, x, s));
}

/* ---- one operand ----------------------------------------------------------------------------- */

static bool infer_number(wg_node *n)
{
    return wg_need_number(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static bool infer_float(wg_node *n)
{
    return wg_need_float(n, 0) && infer_number(n);
}

static const wg_sample unary_samples[] = {
    {"matrix", NULL, 1, {WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"scalar", NULL, 1, {WG_FLOATS(-2, 2, 0, 0)}},
    {"empty", NULL, 1, {WG_FLOATS(-2, 2, 2, 3, 0)}},
};
static const wg_sample positive_samples[] = {
    {"matrix", NULL, 1, {WG_FLOATS(0.3, 3, 2, 3, 5)}},
    {"scalar", NULL, 1, {WG_FLOATS(0.3, 3, 0, 0)}},
};
static const double zero[] = {0};

#define UNARY                                                                                      \
    .family = "elementwise", .operands = "x", .results = "y", .flags = WG_OP_ELEMENTWISE,          \
    .inplace = 1

static void grad_neg(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    (void)n;
    dx[0] = wg_neg(dy[0]);
}
const wg_op wg_op_neg = {
    .name = "neg",
    .formula = "y = -x",
    UNARY,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_number,
    .grad = grad_neg,
    .reads = WG_READS_NOTHING,
    .samples = unary_samples,
    .n_samples = WG_COUNT(unary_samples),
};

static void grad_exp(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_mul(dy[0], n->out[0]);
}
const wg_op wg_op_exp = {
    .name = "exp",
    .formula = "y = exp(x)",
    UNARY,
    .infer = infer_float,
    .grad = grad_exp,
    .reads = WG_READS_Y,
    .samples = unary_samples,
    .n_samples = WG_COUNT(unary_samples),
};

static void grad_log(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_div(dy[0], n->in[0]);
}
const wg_op wg_op_log = {
    .name = "log",
    .formula = "y = ln(x)",
    UNARY,
    .infer = infer_float,
    .grad = grad_log,
    .reads = WG_READS_X,
    .samples = positive_samples,
    .n_samples = WG_COUNT(positive_samples),
};

static void grad_abs(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_mul(dy[0], wg_sign(n->in[0]));
}
const wg_op wg_op_abs = {
    .name = "abs",
    .formula = "y = |x|",
    UNARY,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_number,
    .grad = grad_abs,
    .reads = WG_READS_X,
    .samples = unary_samples,
    .n_samples = WG_COUNT(unary_samples),
    .kinks = zero,
    .n_kinks = 1,
};

static void grad_square(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_scale(wg_mul(dy[0], n->in[0]), 2);
}
const wg_op wg_op_square = {
    .name = "square",
    .formula = "y = x^2",
    UNARY,
    .infer = infer_number,
    .grad = grad_square,
    .reads = WG_READS_X,
    .samples = unary_samples,
    .n_samples = WG_COUNT(unary_samples),
};

static void grad_sqrt(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_div(wg_scale(dy[0], 0.5), n->out[0]);
}
const wg_op wg_op_sqrt = {
    .name = "sqrt",
    .formula = "y = sqrt(x)",
    UNARY,
    .infer = infer_float,
    .grad = grad_sqrt,
    .reads = WG_READS_Y,
    .samples = positive_samples,
    .n_samples = WG_COUNT(positive_samples),
};

static void grad_rsqrt(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *y = n->out[0];
    dx[0] = wg_scale(wg_mul(dy[0], wg_mul(y, wg_square(y))), -0.5);
}
const wg_op wg_op_rsqrt = {
    .name = "rsqrt",
    .formula = "y = 1 / sqrt(x)",
    UNARY,
    .infer = infer_float,
    .grad = grad_rsqrt,
    .reads = WG_READS_Y,
    .samples = positive_samples,
    .n_samples = WG_COUNT(positive_samples),
};

static void grad_reciprocal(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_neg(wg_mul(dy[0], wg_square(n->out[0])));
}
const wg_op wg_op_reciprocal = {
    .name = "reciprocal",
    .formula = "y = 1 / x",
    UNARY,
    .infer = infer_float,
    .grad = grad_reciprocal,
    .reads = WG_READS_Y,
    .samples = positive_samples,
    .n_samples = WG_COUNT(positive_samples),
};

static void grad_sin(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_mul(dy[0], wg_cos(n->in[0]));
}
const wg_op wg_op_sin = {
    .name = "sin",
    .formula = "y = sin(x)",
    UNARY,
    .infer = infer_float,
    .grad = grad_sin,
    .reads = WG_READS_X,
    .samples = unary_samples,
    .n_samples = WG_COUNT(unary_samples),
};

static void grad_cos(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_neg(wg_mul(dy[0], wg_sin(n->in[0])));
}
const wg_op wg_op_cos = {
    .name = "cos",
    .formula = "y = cos(x)",
    UNARY,
    .infer = infer_float,
    .grad = grad_cos,
    .reads = WG_READS_X,
    .samples = unary_samples,
    .n_samples = WG_COUNT(unary_samples),
};

/* dx = dy 2 / sqrt(pi) exp(-x^2) */
static void grad_erf(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_mul(wg_scale(dy[0], 1.12837916709551257390), wg_exp(wg_neg(wg_square(n->in[0]))));
}
const wg_op wg_op_erf = {
    .name = "erf",
    .formula = "y = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x",
    UNARY,
    .infer = infer_float,
    .grad = grad_erf,
    .reads = WG_READS_X,
    .samples = unary_samples,
    .n_samples = WG_COUNT(unary_samples),
};

/* ---- steps: the derivative is 0 wherever it exists ------------------------------------------- */

static const double whole[] = {-2, -1, 0, 1, 2}, halves[] = {-1.5, -0.5, 0.5, 1.5};

#define STEP                                                                                       \
    .family = "elementwise", .operands = "x", .results = "y",                                      \
    .flags = WG_OP_ELEMENTWISE | WG_OP_DISCRETE, .inplace = 1, .samples = unary_samples,           \
    .n_samples = WG_COUNT(unary_samples)

const wg_op wg_op_sign = {.name = "sign",
                          .formula = "y = -1, 0, 1 for x < 0, x = 0, x > 0",
                          STEP,
                          .infer = infer_number,
                          .kinks = zero,
                          .n_kinks = WG_COUNT(zero)};
const wg_op wg_op_floor = {.name = "floor",
                           .formula = "y = largest whole number <= x",
                           STEP,
                           .infer = infer_float,
                           .kinks = whole,
                           .n_kinks = WG_COUNT(whole)};
const wg_op wg_op_ceil = {.name = "ceil",
                          .formula = "y = smallest whole number >= x",
                          STEP,
                          .infer = infer_float,
                          .kinks = whole,
                          .n_kinks = WG_COUNT(whole)};
const wg_op wg_op_round = {.name = "round",
                           .formula = "y = nearest whole number, halves to even",
                           STEP,
                           .infer = infer_float,
                           .kinks = halves,
                           .n_kinks = WG_COUNT(halves)};

#define UNARY_BUILDER(name)                                                                        \
    wg_value *(wg_##name)(const char *at, wg_value *x)                                             \
    {                                                                                              \
        return wg_apply1(at, &wg_op_##name, NULL, x);                                              \
    }
UNARY_BUILDER(neg)
UNARY_BUILDER(exp)
UNARY_BUILDER(log)
UNARY_BUILDER(abs)
UNARY_BUILDER(sign)
UNARY_BUILDER(square)
UNARY_BUILDER(sqrt)
UNARY_BUILDER(rsqrt)
UNARY_BUILDER(reciprocal)
UNARY_BUILDER(sin)
UNARY_BUILDER(cos)
UNARY_BUILDER(erf)
UNARY_BUILDER(floor)
UNARY_BUILDER(ceil)
UNARY_BUILDER(round)

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
    .family = "elementwise",
    .operands = "x",
    .flags = WG_OP_ELEMENTWISE,
    .smoothness = WG_PIECEWISE_LINEAR,
    .attrs_size = sizeof(wg_cast_attrs),
    .attrs = cast_attrs,
    .n_attrs = WG_COUNT(cast_attrs),
    .infer = infer_cast,
    .grad = grad_cast,
    .reads = WG_READS_NOTHING,
    .samples = cast_samples,
    .n_samples = WG_COUNT(cast_samples),
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
    if (!infer_float(n))
        return false;
    return a->min <= a->max || wg_fail(n, WG_EINVAL, "min %g is above max %g", a->min, a->max);
}

static void grad_clamp(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_clamp_attrs *a = n->attrs;
    wg_value *x = n->in[0];
    wg_value *inside = wg_logical_and(wg_greater_equal(x, wg_scalar_like(x, a->min)),
                                      wg_less_equal(x, wg_scalar_like(x, a->max)));
    dx[0] = wg_where(inside, dy[0], wg_scalar_like(dy[0], 0));
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
    UNARY,
    .smoothness = WG_PIECEWISE_LINEAR,
    .attrs_size = sizeof(wg_clamp_attrs),
    .attrs = clamp_attrs,
    .n_attrs = WG_COUNT(clamp_attrs),
    .infer = infer_clamp,
    .grad = grad_clamp,
    .reads = WG_READS_X,
    .samples = clamp_samples,
    .n_samples = WG_COUNT(clamp_samples),
    .kinks = clamp_kinks,
    .n_kinks = WG_COUNT(clamp_kinks),
};

wg_value *(wg_clamp)(const char *at, wg_value *x, double min, double max)
{
    return wg_apply1(at, &wg_op_clamp, &(wg_clamp_attrs){min, max}, x);
}

/* ---- stop_gradient --------------------------------------------------------------------------- */

static bool infer_same(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

const wg_op wg_op_stop_gradient = {
    .name = "stop_gradient",
    .formula = "y = x, with the derivative 0",
    .family = "elementwise",
    .operands = "x",
    .results = "y",
    .flags = WG_OP_ELEMENTWISE | WG_OP_VIEW | WG_OP_DISCRETE,
    .infer = infer_same,
    .samples = unary_samples,
    .n_samples = WG_COUNT(unary_samples),
};

wg_value *(wg_stop_gradient)(const char *at, wg_value *x)
{
    return wg_apply1(at, &wg_op_stop_gradient, NULL, x);
}
