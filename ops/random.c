#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

/* ---- tensors from nothing -------------------------------------------------------------------- */

#define RANDOM_ATTRS(name, a_name, b_name)                                                         \
    static const wg_attr name[] = {                                                                \
        WG_ATTR(DTYPE, wg_random_attrs, dtype),                                                    \
        WG_ATTR(SHAPE, wg_random_attrs, shape),                                                    \
        {a_name, WG_ATTR_REAL, offsetof(wg_random_attrs, a), NULL},                                \
        {b_name, WG_ATTR_REAL, offsetof(wg_random_attrs, b), NULL},                                \
        WG_ATTR(KEY, wg_random_attrs, key),                                                        \
    }
RANDOM_ATTRS(uniform_attrs, "low", "high");
RANDOM_ATTRS(normal_attrs, "mean", "std");
static const wg_attr bernoulli_attrs[] = {
    WG_ATTR(DTYPE, wg_random_attrs, dtype),
    WG_ATTR(SHAPE, wg_random_attrs, shape),
    {"p", WG_ATTR_REAL, offsetof(wg_random_attrs, a), NULL},
    WG_ATTR(KEY, wg_random_attrs, key),
};

static bool infer_random(wg_node *n)
{
    const wg_random_attrs *a = n->attrs;
    return wg_set_result(n, 0, a->dtype, a->shape);
}

static bool infer_float(wg_node *n)
{
    const wg_random_attrs *a = n->attrs;
    if (!infer_random(n))
        return false;
    if (!wg_dtype_is_float(a->dtype))
        return wg_fail(n, WG_EDTYPE, "dtype is %s, must be f32, f64, bf16 or f16",
                       wg_dtype_name(a->dtype));
    return (isfinite(a->a) && isfinite(a->b)) ||
           wg_fail(n, WG_EINVAL, "%s is %g and %s %g, must be finite", n->op->attrs[2].name, a->a,
                   n->op->attrs[3].name, a->b);
}

static bool infer_uniform(wg_node *n)
{
    const wg_random_attrs *a = n->attrs;
    return infer_float(n) &&
           (a->a <= a->b || wg_fail(n, WG_EINVAL, "low %g is above high %g", a->a, a->b));
}

static bool infer_normal(wg_node *n)
{
    const wg_random_attrs *a = n->attrs;
    return infer_float(n) &&
           (a->b >= 0 || wg_fail(n, WG_EINVAL, "std is %g, must be 0 or more", a->b));
}

static bool infer_bernoulli(wg_node *n)
{
    const wg_random_attrs *a = n->attrs;
    return infer_random(n) &&
           ((a->a >= 0 && a->a <= 1) || wg_fail(n, WG_EINVAL, "p is %g, must be in [0,1]", a->a));
}

static const wg_random_attrs sample_uniform = {WG_F64, {2, {3, 7}}, -1, 2, 1};
static const wg_random_attrs sample_normal = {WG_F64, {2, {3, 7}}, 1, 2, 1};
static const wg_random_attrs sample_bernoulli = {WG_F64, {2, {3, 7}}, 0.3, 0, 1};
static const wg_random_attrs sample_coins = {WG_BOOL, {1, {9}}, 0.5, 0, 2};
static const wg_sample uniform_samples[] = {{"matrix", &sample_uniform, 0, {{0}}}};
static const wg_sample normal_samples[] = {{"matrix", &sample_normal, 0, {{0}}}};
static const wg_sample bernoulli_samples[] = {
    {"f64", &sample_bernoulli, 0, {{0}}},
    {"bool", &sample_coins, 0, {{0}}},
};

#define RANDOM(op_name, text)                                                                      \
    const wg_op wg_op_##op_name = {.name = #op_name,                                               \
                                   .formula = text,                                                \
                                   .family = WG_FAMILY_RANDOM,                                     \
                                   .operands = "",                                                 \
                                   .results = "y",                                                 \
                                   .flags = WG_OP_RANDOM,                                          \
                                   WG_ATTRS(wg_random_attrs, op_name##_attrs),                     \
                                   .infer = infer_##op_name,                                       \
                                   WG_SAMPLES(op_name##_samples)}

RANDOM(uniform, "y ~ U[low, high)");
RANDOM(normal, "y ~ N(mean, std^2)");
RANDOM(bernoulli, "y = 1 with probability p, else 0");

static wg_value *draw(const char *at, wg_graph *g, const wg_op *op, wg_random_attrs a)
{
    if (g)
        a.key = (int64_t)wg_graph_new_key(g);
    return wg_apply0(at, g, op, &a);
}

wg_value *(wg_uniform)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape, double low,
                       double high)
{
    return draw(at, g, &wg_op_uniform, (wg_random_attrs){dtype, shape, low, high, 0});
}

wg_value *(wg_normal)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape, double mean,
                      double std)
{
    return draw(at, g, &wg_op_normal, (wg_random_attrs){dtype, shape, mean, std, 0});
}

wg_value *(wg_bernoulli)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape, double p)
{
    return draw(at, g, &wg_op_bernoulli, (wg_random_attrs){dtype, shape, p, 0, 0});
}

wg_value *(wg_uniform_like)(const char *at, wg_value *x, double low, double high)
{
    return x ? (wg_uniform)(at, wg_graph_of(x), x->dtype, x->shape, low, high) : NULL;
}

wg_value *(wg_normal_like)(const char *at, wg_value *x, double mean, double std)
{
    return x ? (wg_normal)(at, wg_graph_of(x), x->dtype, x->shape, mean, std) : NULL;
}

/* ---- dropout --------------------------------------------------------------------------------- */

static const wg_attr dropout_attrs[] = {
    WG_ATTR(REAL, wg_dropout_attrs, p),
    WG_ATTR(KEY, wg_dropout_attrs, key),
};

static bool infer_dropout(wg_node *n)
{
    const wg_dropout_attrs *a = n->attrs;
    if (!wg_need_float(n, 0))
        return false;
    if (!(a->p >= 0 && a->p < 1))
        return wg_fail(n, WG_EINVAL, "p is %g, must be in [0,1)", a->p);
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* Dropout is linear and diagonal: its transpose is itself, with the same coins. */
static void grad_dropout(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_apply1(WG_HERE, &wg_op_dropout, n->attrs, dy[0]);
}

static const wg_sample dropout_samples[] = {
    {"half", &(const wg_dropout_attrs){0.5, 1}, 1, {WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"three quarters", &(const wg_dropout_attrs){0.75, 2}, 1, {WG_FLOATS(-2, 2, 3, 2, 3, 2)}},
    {"nothing dropped", &(const wg_dropout_attrs){0, 3}, 1, {WG_FLOATS(-2, 2, 1, 4)}},
};

const wg_op wg_op_dropout = {
    .name = "dropout",
    .formula = "y = x coin / (1 - p), coin = 1 with probability 1 - p, else 0",
    .family = WG_FAMILY_RANDOM,
    .operands = "x",
    .results = "y",
    .flags = WG_OP_RANDOM | WG_OP_ELEMENTWISE,
    .smoothness = WG_PIECEWISE_LINEAR,
    .inplace = 1,
    WG_ATTRS(wg_dropout_attrs, dropout_attrs),
    .infer = infer_dropout,
    .grad = grad_dropout,
    .reads = WG_READS_NOTHING,
    WG_SAMPLES(dropout_samples),
};

wg_value *(wg_dropout)(const char *at, wg_value *x, double p)
{
    if (!x || p == 0)
        return x;
    wg_dropout_attrs a = {p, (int64_t)wg_graph_new_key(wg_graph_of(x))};
    return wg_apply1(at, &wg_op_dropout, &a, x);
}
