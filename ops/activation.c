/* Activations and gated units. */
#include "ops/rows.h"

#include <math.h>

static const double zero[] = {0};

#define REAL .family = WG_FAMILY_ACTIVATION, WG_SAMPLES(wgi_unary_samples)
#define KINK WG_KINKS(zero)

/* ---- without attributes ---------------------------------------------------------------------- */

/* clang-format off */
UNARY_OP(tanh, "y = tanh(x)", float, WG_SMOOTH, WG_READS_Y,
         wg_sub(dy, wg_mul(dy, wg_square(y))), REAL)
/* reads y, so that x may die: y > 0 where x > 0 */
UNARY_OP(relu, "y = max(x, 0)", float, WG_PIECEWISE_LINEAR, WG_READS_Y, wg_relu_grad(y, dy), REAL,
         KINK)
UNARY_OP(sigmoid, "y = 1 / (1 + exp(-x))", float, WG_SMOOTH, WG_READS_Y,
         wg_mul(dy, wg_sub(y, wg_square(y))), REAL)
UNARY_OP(silu, "y = x sigmoid(x)", float, WG_SMOOTH, WG_READS_X, wg_silu_grad(x, dy), REAL)
UNARY_OP(softplus, "y = ln(1 + exp(x))", float, WG_SMOOTH, WG_READS_X, wg_mul(dy, wg_sigmoid(x)),
         REAL)
/* clang-format on */

/* ---- leaky_relu, elu ------------------------------------------------------------------------- */

#define ACTIVATION                                                                                 \
    .family = WG_FAMILY_ACTIVATION, .operands = "x", .results = "y", .flags = WG_OP_ELEMENTWISE,   \
    .inplace = 1, .infer = wgi_infer_unary_float

static const wg_attr leaky_relu_attrs[] = {WG_ATTR(REAL, wg_leaky_relu_attrs, slope)};

static void grad_leaky_relu(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_leaky_relu_attrs *a = n->attrs;
    wg_value *x = n->in[0];
    dx[0] = wg_where(wg_greater(x, wg_scalar_like(x, 0)), dy[0], wg_scale(dy[0], a->slope));
}

static const wg_sample leaky_relu_samples[] = {
    {"quarter", &(const wg_leaky_relu_attrs){0.25}, 1, {WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"downwards", &(const wg_leaky_relu_attrs){-0.5}, 1, {WG_FLOATS(-2, 2, 1, 7)}},
};

const wg_op wg_op_leaky_relu = {
    .name = "leaky_relu",
    .formula = "y = x where x > 0, else slope x",
    ACTIVATION,
    KINK,
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_leaky_relu_attrs, leaky_relu_attrs),
    .grad = grad_leaky_relu,
    .reads = WG_READS_X,
    WG_SAMPLES(leaky_relu_samples),
};

wg_value *(wg_leaky_relu)(const char *at, wg_value *x, double slope)
{
    return wg_apply1(at, &wg_op_leaky_relu, &(wg_leaky_relu_attrs){slope}, x);
}

static const wg_attr elu_attrs[] = {WG_ATTR(REAL, wg_elu_attrs, alpha)};

/* alpha exp(x) below 0: y + alpha, the same, would cancel. */
static void grad_elu(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_elu_attrs *a = n->attrs;
    wg_value *x = n->in[0], *none = wg_scalar_like(x, 0);
    wg_value *slope = wg_scale(wg_exp(wg_minimum(x, none)), a->alpha);
    dx[0] = wg_where(wg_greater(x, none), dy[0], wg_mul(dy[0], slope));
}

static const wg_sample elu_samples[] = {
    {"alpha 1", &(const wg_elu_attrs){1}, 1, {WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"alpha 0.3", &(const wg_elu_attrs){0.3}, 1, {WG_FLOATS(-2, 2, 1, 7)}},
};

const wg_op wg_op_elu = {
    .name = "elu",
    .formula = "y = x where x > 0, else alpha (exp(x) - 1)",
    ACTIVATION,
    KINK,
    .smoothness = WG_KINKED,
    WG_ATTRS(wg_elu_attrs, elu_attrs),
    .grad = grad_elu,
    .reads = WG_READS_X,
    WG_SAMPLES(elu_samples),
};

wg_value *(wg_elu)(const char *at, wg_value *x, double alpha)
{
    return wg_apply1(at, &wg_op_elu, &(wg_elu_attrs){alpha}, x);
}

/* ---- hardswish ------------------------------------------------------------------------------- */

static const double bends[] = {-3, 3};

static void expand_hardswish(wg_node *n, wg_value **y)
{
    wg_value *x = n->in[0];
    y[0] = wg_mul(wg_scale(wg_clamp(wg_shift(x, 3), 0, 6), 1.0 / 6), x);
}

static void grad_hardswish(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_hardswish_grad(n->in[0], dy[0]);
}

static const wg_sample hardswish_samples[] = {
    {"matrix", NULL, 1, {WG_FLOATS(-5, 5, 2, 3, 5)}},
    {"scalar", NULL, 1, {WG_FLOATS(-2, 2, 0, 0)}},
};

const wg_op wg_op_hardswish = {
    .name = "hardswish",
    .formula = "y = x clamp(x + 3, 0, 6) / 6",
    ACTIVATION,
    WG_KINKS(bends),
    .smoothness = WG_KINKED,
    .expand = expand_hardswish,
    .grad = grad_hardswish,
    .reads = WG_READS_X,
    WG_SAMPLES(hardswish_samples),
};

wg_value *(wg_hardswish)(const char *at, wg_value *x)
{
    return wg_apply1(at, &wg_op_hardswish, NULL, x);
}

/* ---- gelu ------------------------------------------------------------------------------------ */

static const char *const gelu_names[] = {"erf", "tanh", NULL};
static const wg_attr gelu_attrs[] = {WG_ATTR_NAMED(wg_gelu_attrs, kind, gelu_names)};
static const wg_gelu_attrs by_erf = {WG_GELU_ERF}, by_tanh = {WG_GELU_TANH};

static void grad_gelu(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_gelu_attrs *a = n->attrs;
    dx[0] = wg_gelu_grad(n->in[0], dy[0], a->kind);
}

static const wg_sample gelu_samples[] = {
    {"erf", &by_erf, 1, {WG_FLOATS(-3, 3, 2, 3, 5)}},
    {"tanh", &by_tanh, 1, {WG_FLOATS(-3, 3, 2, 3, 5)}},
};

#define GELU_ATTRS WG_ATTRS(wg_gelu_attrs, gelu_attrs)

const wg_op wg_op_gelu = {
    .name = "gelu",
    .formula = "y = x (1 + erf(x / sqrt 2)) / 2, or with tanh",
    ACTIVATION,
    GELU_ATTRS,
    .grad = grad_gelu,
    .reads = WG_READS_X,
    WG_SAMPLES(gelu_samples),
};

wg_value *(wg_gelu)(const char *at, wg_value *x, wg_gelu_kind kind)
{
    return wg_apply1(at, &wg_op_gelu, &(wg_gelu_attrs){kind}, x);
}

/* ---- derivatives as ops ---------------------------------------------------------------------- */

static const wg_sample product_samples[] = {
    {"same shape", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 1, 4)}},
};
static const wg_sample hardswish_grad_samples[] = {
    {"same shape", NULL, 2, {WG_FLOATS(-5, 5, 2, 3, 4), WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_FLOATS(-5, 5, 2, 3, 4), WG_FLOATS(-2, 2, 1, 4)}},
};
static const wg_sample gelu_grad_samples[] = {
    {"erf", &by_erf, 2, {WG_FLOATS(-3, 3, 2, 3, 4), WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"tanh", &by_tanh, 2, {WG_FLOATS(-3, 3, 2, 3, 4), WG_FLOATS(-2, 2, 2, 3, 4)}},
};

#define DERIVATIVE                                                                                 \
    .family = WG_FAMILY_ACTIVATION, .results = "dx", .flags = WG_OP_ELEMENTWISE, .inplace = 3,     \
    .infer = wgi_infer_binary_float

/* piecewise linear in dy, piecewise constant in y */
static void grad_relu_grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[1] = wg_relu_grad(n->in[0], dy[0]);
}
const wg_op wg_op_relu_grad = {
    .name = "relu_grad",
    .formula = "dx = dy where y > 0, else 0",
    DERIVATIVE,
    .operands = "y dy",
    KINK,
    .smoothness = WG_PIECEWISE_LINEAR,
    .grad = grad_relu_grad,
    .reads = WG_READS_X,
    WG_SAMPLES(product_samples),
};

wg_value *(wg_relu_grad)(const char *at, wg_value *y, wg_value *dy)
{
    return wg_apply2(at, &wg_op_relu_grad, NULL, y, dy);
}

/* dy s (1 + x (1 - s)),  s = sigmoid(x) */
static void expand_silu_grad(wg_node *n, wg_value **y)
{
    wg_value *x = n->in[0], *s = wg_sigmoid(x);
    wg_value *rest = wg_sub(wg_scalar_like(s, 1), s);
    y[0] = wg_mul(n->in[1], wg_mul(s, wg_shift(wg_mul(x, rest), 1)));
}
const wg_op wg_op_silu_grad = {
    .name = "silu_grad",
    .formula = "dx = dy s (1 + x (1 - s)), s = sigmoid(x)",
    DERIVATIVE,
    .operands = "x dy",
    .expand = expand_silu_grad,
    WG_SAMPLES(product_samples),
};

wg_value *(wg_silu_grad)(const char *at, wg_value *x, wg_value *dy)
{
    return wg_apply2(at, &wg_op_silu_grad, NULL, x, dy);
}

/* dy (x + 3/2) / 3 in [-3, 3], 0 below, dy above; x / 3 + 1/2, the same, would cancel. */
static void expand_hardswish_grad(wg_node *n, wg_value **y)
{
    wg_value *x = n->in[0], *slope = wg_scale(wg_shift(x, 1.5), 1.0 / 3);
    wg_value *above = wg_greater(x, wg_scalar_like(x, 3)),
             *below = wg_less(x, wg_scalar_like(x, -3));
    slope = wg_where(above, wg_scalar_like(x, 1), slope);
    y[0] = wg_mul(wg_where(below, wg_scalar_like(x, 0), slope), n->in[1]);
}
static void grad_hardswish_grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *x = n->in[0];
    dx[0] = wg_clamp_grad(x, wg_scale(wg_mul(dy[0], n->in[1]), 1.0 / 3), -3, 3);
    dx[1] = wg_hardswish_grad(x, dy[0]);
}
const wg_op wg_op_hardswish_grad = {
    .name = "hardswish_grad",
    .formula = "dx = dy (x + 3/2) / 3 where -3 <= x <= 3, 0 below, dy above",
    DERIVATIVE,
    .operands = "x dy",
    WG_KINKS(bends),
    .smoothness = WG_KINKED,
    .expand = expand_hardswish_grad,
    .grad = grad_hardswish_grad,
    .reads = WG_READS_X,
    WG_SAMPLES(hardswish_grad_samples),
};

wg_value *(wg_hardswish_grad)(const char *at, wg_value *x, wg_value *dy)
{
    return wg_apply2(at, &wg_op_hardswish_grad, NULL, x, dy);
}

/* Beyond +-32 the density is 0 in every dtype: there x^3 may overflow, so that it must not multiply
 * it. */
static const double far = 32;

/* Phi(x) + x phi(x),  Phi(x) = (1 + erf(x / sqrt 2)) / 2,  phi(x) = exp(-x^2 / 2) / sqrt(2 pi) */
static wg_value *gelu_erf_slope(wg_value *x)
{
    wg_value *c = wg_clamp(x, -far, far);
    wg_value *phi = wg_scale(wg_exp(wg_scale(wg_square(c), -0.5)), 0.39894228040143267794);
    wg_value *Phi = wg_scale(wg_shift(wg_erf(wg_scale(c, sqrt(0.5))), 1), 0.5);
    return wg_add(Phi, wg_mul(c, phi));
}

/* (1 + t) / 2 + x (1 - t^2) u' / 2,  t = tanh u,  u = sqrt(2/pi) (x + 0.044715 x^3) */
static wg_value *gelu_tanh_slope(wg_value *x)
{
    const double k = 0.79788456080286535588, cubic = 0.044715;
    wg_value *c = wg_clamp(x, -far, far), *c2 = wg_square(c), *one = wg_scalar_like(x, 1);
    wg_value *t = wg_tanh(wg_scale(wg_mul(c, wg_shift(wg_scale(c2, cubic), 1)), k));
    wg_value *du = wg_scale(wg_shift(wg_scale(c2, 3 * cubic), 1), k);
    wg_value *inner = wg_mul(wg_mul(c, wg_sub(one, wg_square(t))), du);
    return wg_scale(wg_add(wg_shift(t, 1), inner), 0.5);
}

static void expand_gelu_grad(wg_node *n, wg_value **y)
{
    const wg_gelu_attrs *a = n->attrs;
    wg_value *x = n->in[0];
    y[0] = wg_mul(a->kind == WG_GELU_TANH ? gelu_tanh_slope(x) : gelu_erf_slope(x), n->in[1]);
}
const wg_op wg_op_gelu_grad = {
    .name = "gelu_grad",
    .formula = "dx = dy gelu'(x)",
    DERIVATIVE,
    GELU_ATTRS,
    .operands = "x dy",
    .expand = expand_gelu_grad,
    WG_SAMPLES(gelu_grad_samples),
};

wg_value *(wg_gelu_grad)(const char *at, wg_value *x, wg_value *dy, wg_gelu_kind kind)
{
    return wg_apply2(at, &wg_op_gelu_grad, &(wg_gelu_attrs){kind}, x, dy);
}

/* ---- gated units ----------------------------------------------------------------------------- */

static const char *const gate_names[] = {"glu", "reglu", "geglu", "swiglu", NULL};
static const wg_attr gated_attrs[] = {WG_ATTR_NAMED(wg_gated_attrs, kind, gate_names)};

static bool infer_gated(wg_node *n)
{
    char text[160];
    wg_shape s = n->in[0]->shape;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 1, WG_MAX_RANK))
        return false;
    if (s.dim[s.rank - 1] % 2)
        return wg_fail(n, WG_ESHAPE,
                       "x is %s, its last axis must be even: the halves are value and gate",
                       wg_shape_text(&s, text, sizeof text));
    s.dim[s.rank - 1] /= 2;
    return wg_set_result(n, 0, n->in[0]->dtype, s);
}

static void expand_gated(wg_node *n, wg_value **y)
{
    const wg_gated_attrs *t = n->attrs;
    wg_value *x = n->in[0];
    int64_t half = n->out[0]->shape.dim[n->out[0]->shape.rank - 1];
    wg_value *a = wg_slice(x, -1, 0, half, 1), *b = wg_slice(x, -1, half, 2 * half, 1);
    switch (t->kind) {
    case WG_GLU: b = wg_sigmoid(b); break;
    case WG_REGLU: b = wg_relu(b); break;
    case WG_GEGLU: b = wg_gelu(b, WG_GELU_ERF); break;
    case WG_SWIGLU: b = wg_silu(b); break;
    }
    y[0] = wg_mul(a, b);
}

static double gated_flops(const wg_node *n)
{
    return (double)wg_value_count(n->in[0]);
}

static const wg_sample gated_samples[] = {
    {"glu", &(const wg_gated_attrs){WG_GLU}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"reglu", &(const wg_gated_attrs){WG_REGLU}, 1, {WG_FLOATS(-2, 2, 1, 6)}},
    {"geglu", &(const wg_gated_attrs){WG_GEGLU}, 1, {WG_FLOATS(-2, 2, 3, 2, 2, 2)}},
    {"swiglu", &(const wg_gated_attrs){WG_SWIGLU}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
};

const wg_op wg_op_gated = {
    .name = "gated",
    .formula = "y = a act(b), x = [a, b] along its last axis",
    .family = WG_FAMILY_ACTIVATION,
    .operands = "x",
    .results = "y",
    .smoothness = WG_KINKED,
    KINK,
    WG_ATTRS(wg_gated_attrs, gated_attrs),
    .infer = infer_gated,
    .expand = expand_gated,
    .flops = gated_flops,
    WG_SAMPLES(gated_samples),
};

wg_value *(wg_gated)(const char *at, wg_value *x, wg_gate kind)
{
    return wg_apply1(at, &wg_op_gated, &(wg_gated_attrs){kind}, x);
}
