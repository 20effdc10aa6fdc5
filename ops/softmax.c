#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

static const wg_attr softmax_attrs[] = {WG_ATTR(AXIS, wg_softmax_attrs, axis)};

static bool infer(wg_node *n)
{
    const wg_softmax_attrs *a = n->attrs;
    int axis;
    return wg_need_float(n, 0) && wg_need_axis(n, 0, a->axis, &axis) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static wg_axes axis_of(const wg_node *n)
{
    const wg_softmax_attrs *a = n->attrs;
    return WG_AXES(wg_normalize_axis(a->axis, n->in[0]->shape.rank));
}

static double flops(const wg_node *n)
{
    return 5.0 * (double)wg_value_count(n->in[0]); /* max, subtract, exp, sum, divide */
}

static const wg_sample samples[] = {
    {"last axis", &(const wg_softmax_attrs){-1}, 1, {WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"axis 0", &(const wg_softmax_attrs){0}, 1, {WG_FLOATS(-2, 2, 2, 4, 3)}},
    {"middle axis", &(const wg_softmax_attrs){1}, 1, {WG_FLOATS(-2, 2, 3, 2, 5, 3)}},
    {"size 1", &(const wg_softmax_attrs){-1}, 1, {WG_FLOATS(-2, 2, 2, 3, 1)}},
    {"vector", &(const wg_softmax_attrs){0}, 1, {WG_FLOATS(-2, 2, 1, 7)}},
    {"empty rows", &(const wg_softmax_attrs){1}, 1, {WG_FLOATS(-2, 2, 2, 3, 0)}},
    {"no rows", &(const wg_softmax_attrs){1}, 1, {WG_FLOATS(-2, 2, 2, 0, 3)}},
};

#define SOFTMAX                                                                                    \
    .family = WG_FAMILY_NORMALISATION, .operands = "x", .results = "y", .inplace = 1,              \
    WG_ATTRS(wg_softmax_attrs, softmax_attrs), .infer = infer, .flops = flops, WG_SAMPLES(samples)

/* dx = y (dy - sum dy y) */
static void grad_softmax(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *y = n->out[0];
    dx[0] = wg_mul(y, wg_sub(dy[0], wg_sum(wg_mul(dy[0], y), axis_of(n), WG_KEEP)));
}

const wg_op wg_op_softmax = {
    .name = "softmax",
    .formula = "y = exp(x - max x) / sum exp(x - max x)",
    .grad = grad_softmax,
    .reads = WG_READS_Y,
    SOFTMAX,
};

wg_value *(wg_softmax)(const char *at, wg_value *x, int axis)
{
    return wg_apply1(at, &wg_op_softmax, &(wg_softmax_attrs){axis}, x);
}

/* dx = dy - exp(y) sum dy */
static void grad_log_softmax(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_sub(dy[0], wg_mul(wg_exp(n->out[0]), wg_sum(dy[0], axis_of(n), WG_KEEP)));
}

const wg_op wg_op_log_softmax = {
    .name = "log_softmax",
    .formula = "y = x - ln sum exp(x)",
    .grad = grad_log_softmax,
    .reads = WG_READS_Y,
    SOFTMAX,
};

wg_value *(wg_log_softmax)(const char *at, wg_value *x, int axis)
{
    return wg_apply1(at, &wg_op_log_softmax, &(wg_softmax_attrs){axis}, x);
}
