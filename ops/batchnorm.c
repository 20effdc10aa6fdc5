/* batchnorm and groupnorm: x is [N, C, ...], statistics and gains belong to channels. */
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* A number for each channel, [C], as [C, 1, ...], which broadcasts against x. */
static wg_value *by_channel(wg_value *v, const wg_value *x)
{
    wg_shape s = {.rank = x->shape.rank - 1};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i == 0 ? x->shape.dim[1] : 1;
    return wg_reshape(v, s);
}

/* x gain + bias, by channel; either may be NULL. */
static wg_value *affine(wg_value *x, wg_value *gain, wg_value *bias)
{
    if (gain)
        x = x ? wg_mul(x, by_channel(gain, x)) : NULL;
    if (bias)
        x = x ? wg_add(x, by_channel(bias, x)) : NULL;
    return x;
}

static bool need_channels(wg_node *n, double eps)
{
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 2, WG_MAX_RANK))
        return false;
    for (int i = 1; i < n->n_in; i++)
        if (!wg_need_same_dtype(n, i, 0) || !wg_need_rank(n, i, 1, 1) ||
            !wg_need_dim(n, i, 0, n->in[0]->shape.dim[1]))
            return false;
    return (eps >= 0 && eps < 1e30) || wg_fail(n, WG_EINVAL, "eps is %g, must be 0 or more", eps);
}

static wg_value *operand(const wg_node *n, int i)
{
    return i < n->n_in ? n->in[i] : NULL;
}

/* ---- batchnorm ------------------------------------------------------------------------------- */

static const wg_attr batchnorm_attrs[] = {WG_ATTR(REAL, wg_batchnorm_attrs, eps)};

/* Numbers in each channel. */
static int64_t per_channel(const wg_value *x)
{
    int64_t count = x->shape.dim[0];
    for (int i = 2; i < x->shape.rank; i++)
        count *= x->shape.dim[i];
    return count;
}

/* The mean of each channel, [C]; of no numbers it is 0. */
static wg_value *channel_mean(wg_value *x)
{
    if (!x)
        return NULL;
    wg_axes axes = {1, {0}};
    for (int i = 2; i < x->shape.rank; i++)
        axes.axis[axes.count++] = i;
    int64_t count = per_channel(x);
    return wg_scale(wg_sum(x, axes, WG_DROP), 1.0 / (double)(count > 0 ? count : 1));
}

static bool infer_batchnorm(wg_node *n)
{
    const wg_batchnorm_attrs *a = n->attrs;
    if (!need_channels(n, a->eps))
        return false;
    const wg_value *x = n->in[0];
    wg_shape channels = wg_shape_make(1, &x->shape.dim[1]);
    return wg_set_result(n, 0, x->dtype, x->shape) && wg_set_result(n, 1, x->dtype, channels) &&
           wg_set_result(n, 2, x->dtype, channels);
}

static void expand_batchnorm(wg_node *n, wg_value **y)
{
    const wg_batchnorm_attrs *a = n->attrs;
    wg_value *x = n->in[0];
    wg_value *mean = channel_mean(x);
    wg_value *centred = wg_sub(x, by_channel(mean, x));
    wg_value *var = channel_mean(wg_mul(centred, centred));
    wg_value *h = wg_mul(centred, by_channel(wg_rsqrt(wg_shift(var, a->eps)), x));
    y[0] = affine(h, operand(n, 1), operand(n, 2));
    y[1] = mean;
    y[2] = var;
}

static bool infer_batchnorm_eval(wg_node *n)
{
    const wg_batchnorm_attrs *a = n->attrs;
    return need_channels(n, a->eps) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* x scale + (bias - mean scale) with scale = gain / sqrt(var + eps): one pass over x, the rest is
 * [C]. */
static void expand_batchnorm_eval(wg_node *n, wg_value **y)
{
    const wg_batchnorm_attrs *a = n->attrs;
    wg_value *mean = n->in[1], *gain = operand(n, 3), *bias = operand(n, 4);
    wg_value *scale = wg_rsqrt(wg_shift(n->in[2], a->eps));
    if (gain)
        scale = wg_mul(scale, gain);
    wg_value *shift = wg_neg(wg_mul(mean, scale));
    y[0] = affine(n->in[0], scale, bias ? wg_add(shift, bias) : shift);
}

/* ---- groupnorm ------------------------------------------------------------------------------- */

static const wg_attr groupnorm_attrs[] = {
    WG_ATTR(INT, wg_groupnorm_attrs, groups),
    WG_ATTR(REAL, wg_groupnorm_attrs, eps),
};

static bool infer_groupnorm(wg_node *n)
{
    const wg_groupnorm_attrs *a = n->attrs;
    if (!need_channels(n, a->eps))
        return false;
    int64_t channels = n->in[0]->shape.dim[1];
    if (a->groups < 1 || channels % a->groups != 0)
        return wg_fail(n, WG_ESHAPE, "%lld channels do not fall in %lld groups",
                       (long long)channels, (long long)a->groups);
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* Each group of each example is a row of layernorm. */
static void expand_groupnorm(wg_node *n, wg_value **y)
{
    const wg_groupnorm_attrs *a = n->attrs;
    wg_value *x = n->in[0];
    int64_t row = x->shape.dim[1] / a->groups;
    for (int i = 2; i < x->shape.rank; i++)
        row *= x->shape.dim[i];
    wg_value *rows = wg_reshape(x, WG_SHAPE(x->shape.dim[0], a->groups, row));
    wg_value *h = wg_reshape(wg_layernorm(rows, NULL, NULL, WG_LAST_AXIS, a->eps), x->shape);
    y[0] = affine(h, operand(n, 1), operand(n, 2));
}

/* ---- the ops --------------------------------------------------------------------------------- */

static double flops(const wg_node *n)
{
    return 8.0 * (double)wg_value_count(n->in[0]);
}

static double flops_eval(const wg_node *n)
{
    return 2.0 * (double)wg_value_count(n->in[0]);
}

static const wg_batchnorm_attrs small_eps = {1e-5};
static const wg_groupnorm_attrs two_groups = {2, 1e-5}, one_group = {1, 1e-5};

#define CHANNELS(lo, hi) WG_FLOATS(lo, hi, 1, 3)
static const wg_sample batchnorm_samples[] = {
    {"images", &small_eps, 3, {WG_FLOATS(-3, 3, 4, 2, 3, 2, 2), CHANNELS(-2, 2), CHANNELS(-2, 2)}},
    {"vectors", &small_eps, 3, {WG_FLOATS(-3, 3, 2, 7, 3), CHANNELS(-2, 2), CHANNELS(-2, 2)}},
    {"gain", &small_eps, 2, {WG_FLOATS(-3, 3, 3, 2, 3, 4), CHANNELS(-2, 2)}},
    {"plain", &small_eps, 1, {WG_FLOATS(-3, 3, 3, 2, 3, 4)}},
    {"empty batch", &small_eps, 3, {WG_FLOATS(-3, 3, 2, 0, 3), CHANNELS(-2, 2), CHANNELS(-2, 2)}},
};
static const wg_sample batchnorm_eval_samples[] = {
    {"images",
     &small_eps,
     5,
     {WG_FLOATS(-3, 3, 4, 2, 3, 2, 2), CHANNELS(-1, 1), CHANNELS(0.5, 2), CHANNELS(-2, 2),
      CHANNELS(-2, 2)}},
    {"vectors", &small_eps, 3, {WG_FLOATS(-3, 3, 2, 4, 3), CHANNELS(-1, 1), CHANNELS(0.5, 2)}},
};
static const wg_sample groupnorm_samples[] = {
    {"images",
     &two_groups,
     3,
     {WG_FLOATS(-3, 3, 4, 2, 4, 3, 2), WG_FLOATS(-2, 2, 1, 4), WG_FLOATS(-2, 2, 1, 4)}},
    {"one group", &one_group, 1, {WG_FLOATS(-3, 3, 2, 3, 7)}},
    {"empty batch", &two_groups, 1, {WG_FLOATS(-3, 3, 3, 0, 4, 3)}},
};

#define BATCHNORM .family = WG_FAMILY_NORMALISATION, WG_ATTRS(wg_batchnorm_attrs, batchnorm_attrs)

const wg_op wg_op_batchnorm = {
    .name = "batchnorm",
    .formula = "y = (x - mean) / sqrt(var + eps) * gain + bias, mean and var of each channel",
    .operands = "x gain? bias?",
    .results = "y mean var",
    BATCHNORM,
    .flops = flops,
    .infer = infer_batchnorm,
    .expand = expand_batchnorm,
    WG_SAMPLES(batchnorm_samples),
};
const wg_op wg_op_batchnorm_eval = {
    .name = "batchnorm_eval",
    .formula = "y = (x - mean) / sqrt(var + eps) * gain + bias, mean and var given",
    .operands = "x mean var gain? bias?",
    .results = "y",
    BATCHNORM,
    .flops = flops_eval,
    .infer = infer_batchnorm_eval,
    .expand = expand_batchnorm_eval,
    WG_SAMPLES(batchnorm_eval_samples),
};
const wg_op wg_op_groupnorm = {
    .name = "groupnorm",
    .formula = "y = (x - mean) / sqrt(var + eps) * gain + bias, mean and var of each group",
    .family = WG_FAMILY_NORMALISATION,
    .operands = "x gain? bias?",
    .results = "y",
    .flops = flops,
    WG_ATTRS(wg_groupnorm_attrs, groupnorm_attrs),
    .infer = infer_groupnorm,
    .expand = expand_groupnorm,
    WG_SAMPLES(groupnorm_samples),
};

/* ---- builders -------------------------------------------------------------------------------- */

wg_value *(wg_batchnorm)(const char *at, wg_value *x, wg_value *gain, wg_value *bias, double eps)
{
    return wg_apply3(at, &wg_op_batchnorm, &(wg_batchnorm_attrs){eps}, x, gain, bias);
}

wg_value *(wg_batchnorm_eval)(const char *at, wg_value *x, wg_value *mean, wg_value *var,
                              wg_value *gain, wg_value *bias, double eps)
{
    wg_value *in[] = {x, mean, var, gain, bias};
    return wgi_apply_list(at, &wg_op_batchnorm_eval, &(wg_batchnorm_attrs){eps}, in, 5);
}

wg_value *(wg_groupnorm)(const char *at, wg_value *x, wg_value *gain, wg_value *bias,
                         int64_t groups, double eps)
{
    return wg_apply3(at, &wg_op_groupnorm, &(wg_groupnorm_attrs){groups, eps}, x, gain, bias);
}

wg_value *(wg_batchnorm_train)(const char *at, wg_value *x, wg_value *gain, wg_value *bias,
                               wg_value *running_mean, wg_value *running_var, double momentum,
                               double eps)
{
    wg_value *y = (wg_batchnorm)(at, x, gain, bias, eps);
    if (!y)
        return NULL;
    wg_graph *g = wg_graph_of(y);
    wg_origin before = wg_graph_origin(g), update = before;
    update.phase = WG_UPDATE;
    wg_graph_set_origin(g, update);
    int64_t n = per_channel(x);
    wg_value *var = (wg_scale)(at, wg_result_of(y, 2), n > 1 ? (double)n / (double)(n - 1) : 1);
    (wg_assign)(at, running_mean,
                (wg_moving_average)(at, running_mean, wg_result_of(y, 1), 1 - momentum));
    (wg_assign)(at, running_var, (wg_moving_average)(at, running_var, var, 1 - momentum));
    wg_graph_set_origin(g, before);
    return y;
}
