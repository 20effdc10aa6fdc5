/* Elementwise ops of numbers.  A rule of a broadcast operand may return the result's shape: the gradient
 * walker sums it down. */
#include "ops/ops.h"
#include "ops/table.h"

/* ---- two operands ------------------------------------------------------------------------------ */

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
    .name = "add", .formula = "y = a + b", BINARY, .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_binary, .grad = grad_add, .reads = WG_READS_NOTHING,
    .samples = binary_samples, .n_samples = WG_COUNT(binary_samples),
};

static void grad_sub(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    (void)n;
    dx[0] = dy[0];
    dx[1] = wg_neg(dy[0]);
}
const wg_op wg_op_sub = {
    .name = "sub", .formula = "y = a - b", BINARY, .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_binary, .grad = grad_sub, .reads = WG_READS_NOTHING,
    .samples = binary_samples, .n_samples = WG_COUNT(binary_samples),
};

static void grad_mul(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_mul(dy[0], n->in[1]);
    dx[1] = wg_mul(dy[0], n->in[0]);
}
const wg_op wg_op_mul = {
    .name = "mul", .formula = "y = a b", BINARY,
    .infer = infer_binary, .grad = grad_mul, .reads = WG_READS_X,
    .samples = binary_samples, .n_samples = WG_COUNT(binary_samples),
};

/* da = dy / b,  db = -dy y / b */
static void grad_div(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_div(dy[0], n->in[1]);
    dx[1] = wg_neg(wg_mul(dx[0], n->out[0]));
}
const wg_op wg_op_div = {
    .name = "div", .formula = "y = a / b", BINARY,
    .infer = infer_float_binary, .grad = grad_div, .reads = WG_READS_X | WG_READS_Y,
    .samples = divisor_samples, .n_samples = WG_COUNT(divisor_samples),
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

wg_value *(wg_scale)(const char *at, wg_value *x, double s)
{
    return (wg_mul)(at, x, (wg_scalar_like)(at, x, s));
}

wg_value *(wg_shift)(const char *at, wg_value *x, double s)
{
    return (wg_add)(at, x, (wg_scalar_like)(at, x, s));
}

/* ---- one operand ------------------------------------------------------------------------------- */

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
    .name = "neg", .formula = "y = -x", UNARY, .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_number, .grad = grad_neg, .reads = WG_READS_NOTHING,
    .samples = unary_samples, .n_samples = WG_COUNT(unary_samples),
};

static void grad_exp(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_mul(dy[0], n->out[0]);
}
const wg_op wg_op_exp = {
    .name = "exp", .formula = "y = exp(x)", UNARY,
    .infer = infer_float, .grad = grad_exp, .reads = WG_READS_Y,
    .samples = unary_samples, .n_samples = WG_COUNT(unary_samples),
};

static void grad_log(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_div(dy[0], n->in[0]);
}
const wg_op wg_op_log = {
    .name = "log", .formula = "y = ln(x)", UNARY,
    .infer = infer_float, .grad = grad_log, .reads = WG_READS_X,
    .samples = positive_samples, .n_samples = WG_COUNT(positive_samples),
};

/* dx = dy (1 - y^2) */
static void grad_tanh(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *y = n->out[0];
    dx[0] = wg_sub(dy[0], wg_mul(dy[0], wg_mul(y, y)));
}
const wg_op wg_op_tanh = {
    .name = "tanh", .formula = "y = tanh(x)", UNARY,
    .infer = infer_float, .grad = grad_tanh, .reads = WG_READS_Y,
    .samples = unary_samples, .n_samples = WG_COUNT(unary_samples),
};

/* reads y, so that x may die: y > 0 where x > 0 */
static void grad_relu(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_mul(dy[0], wg_relu_mask(n->out[0]));
}
const wg_op wg_op_relu = {
    .name = "relu", .formula = "y = max(x, 0)", UNARY, .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_float, .grad = grad_relu, .reads = WG_READS_Y,
    .samples = unary_samples, .n_samples = WG_COUNT(unary_samples), .kinks = zero, .n_kinks = 1,
};

const wg_op wg_op_relu_mask = {
    .name = "relu_mask", .formula = "y = 1 where x > 0, else 0", .family = "elementwise", .operands = "x",
    .flags = WG_OP_ELEMENTWISE | WG_OP_DISCRETE, .inplace = 1, .infer = infer_number,
    .samples = unary_samples, .n_samples = WG_COUNT(unary_samples), .kinks = zero, .n_kinks = 1,
};

#define UNARY_BUILDER(name)                                                                        \
    wg_value *(wg_##name)(const char *at, wg_value *x)                                             \
    {                                                                                              \
        return wg_apply1(at, &wg_op_##name, NULL, x);                                              \
    }
UNARY_BUILDER(neg)
UNARY_BUILDER(exp)
UNARY_BUILDER(log)
UNARY_BUILDER(tanh)
UNARY_BUILDER(relu)
UNARY_BUILDER(relu_mask)

/* ---- cast -------------------------------------------------------------------------------------- */

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
    .name = "cast", .formula = "y = x in another dtype", .family = "elementwise", .operands = "x",
    .flags = WG_OP_ELEMENTWISE, .smoothness = WG_PIECEWISE_LINEAR,
    .attrs_size = sizeof(wg_cast_attrs), .attrs = cast_attrs, .n_attrs = WG_COUNT(cast_attrs),
    .infer = infer_cast, .grad = grad_cast, .reads = WG_READS_NOTHING,
    .samples = cast_samples, .n_samples = WG_COUNT(cast_samples),
};

wg_value *(wg_cast)(const char *at, wg_value *x, wg_dtype dtype)
{
    if (x && x->dtype == dtype)
        return x;
    return wg_apply1(at, &wg_op_cast, &(wg_cast_attrs){dtype}, x);
}
