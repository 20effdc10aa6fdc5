/* batchnorm and groupnorm: x is [N, C, ...], gains belong to channels, statistics to channels or to
 * groups of them in one example.  With n numbers under one mean and
 *     h = (x - mean) rstd,   y = h gain + bias,   e = dy gain,
 * the gradients are those of layernorm (norm.c), but for the sums of dgain and dbias:
 *     dx = rstd (e - mean(e) - h mean(e h)),
 *     dgain = sum of dy h,   dbias = sum of dy,   both over all numbers of a channel.
 * They are ops of their own, batchnorm_grad and groupnorm_grad, so that a backend can take them
 * whole. */
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

/* Operand 0 is [N, C, ...], and the operands from `first` on are [C]. */
static bool need_channels(wg_node *n, int first, double eps)
{
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 2, WG_MAX_RANK))
        return false;
    for (int i = first; i < n->n_in; i++)
        if (!wg_need_same_dtype(n, i, 0) || !wg_need_rank(n, i, 1, 1) ||
            !wg_need_dim(n, i, 0, n->in[0]->shape.dim[1]))
            return false;
    return (eps >= 0 && eps < 1e30) ||
           wg_fail(n, WG_EINVAL, "eps is %g, must be 0 or more, below 1e30", eps);
}

/* dy and x, operands 0 and 1 of a gradient. */
static bool need_alike(wg_node *n)
{
    return wg_need_same_dtype(n, 0, 1) && wg_need_same_shape(n, 0, 1);
}

static bool set_gradients(wg_node *n)
{
    const wg_value *dy = n->in[0];
    wg_shape channels = wg_shape_make(1, &dy->shape.dim[1]);
    return wg_set_result(n, 0, dy->dtype, dy->shape) && wg_set_result(n, 1, dy->dtype, channels) &&
           wg_set_result(n, 2, dy->dtype, channels);
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

/* The sum of each channel, [C]. */
static wg_value *channel_sum(wg_value *x)
{
    if (!x)
        return NULL;
    wg_axes axes = {1, {0}};
    for (int i = 2; i < x->shape.rank; i++)
        axes.axis[axes.count++] = i;
    return wg_sum(x, axes, WG_DROP);
}

/* 1 / n; the mean over no numbers is 0. */
static double one_over(int64_t n)
{
    return 1.0 / (double)(n > 0 ? n : 1);
}

/* The mean of each channel, [C]. */
static wg_value *channel_mean(wg_value *x)
{
    return x ? wg_scale(channel_sum(x), one_over(per_channel(x))) : NULL;
}

static bool infer_batchnorm(wg_node *n)
{
    const wg_batchnorm_attrs *a = n->attrs;
    if (!need_channels(n, 1, a->eps))
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

/* dy x mean var gain? */
static bool infer_batchnorm_grad(wg_node *n)
{
    const wg_batchnorm_attrs *a = n->attrs;
    return need_channels(n, 2, a->eps) && need_alike(n) && set_gradients(n);
}

/* dx = rstd gain (dy - mean(dy) - h mean(dy h)) */
static void expand_batchnorm_grad(wg_node *n, wg_value **y)
{
    const wg_batchnorm_attrs *a = n->attrs;
    wg_value *dy = n->in[0], *x = n->in[1], *gain = operand(n, 4);
    wg_value *rstd = wg_rsqrt(wg_shift(n->in[3], a->eps));
    wg_value *h = wg_mul(wg_sub(x, by_channel(n->in[2], x)), by_channel(rstd, x));
    double share = one_over(per_channel(x));
    y[1] = channel_sum(wg_mul(dy, h));
    y[2] = channel_sum(dy);
    wg_value *along = wg_mul(h, by_channel(wg_scale(y[1], share), x));
    wg_value *rest = wg_sub(wg_sub(dy, by_channel(wg_scale(y[2], share), x)), along);
    y[0] = affine(rest, gain ? wg_mul(rstd, gain) : rstd, NULL);
}

/* The part of dx that comes through mean and var:  d mean / dx = 1 / n,
 * d var / dx = 2 (x - mean) / n. */
static wg_value *through_statistics(wg_value *dx, wg_value *x, wg_value *mean, wg_value *dmean,
                                    wg_value *dvar)
{
    double share = one_over(per_channel(x));
    if (dmean) {
        wg_value *d = wg_expand(by_channel(wg_scale(dmean, share), x), x->shape);
        dx = dx ? wg_add(dx, d) : d;
    }
    if (dvar) {
        wg_value *d =
            wg_mul(wg_sub(x, by_channel(mean, x)), by_channel(wg_scale(dvar, 2 * share), x));
        dx = dx ? wg_add(dx, d) : d;
    }
    return dx;
}

static void grad_batchnorm(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *x = n->in[0], *mean = n->out[1], *var = n->out[2];
    if (dy[0]) {
        wg_value *in[] = {dy[0], x, mean, var, operand(n, 1)};
        wg_node *d = wg_apply(WG_HERE, NULL, &wg_op_batchnorm_grad, n->attrs, in, 5);
        for (int i = 0; d && i < n->n_in; i++)
            dx[i] = d->out[i];
    }
    dx[0] = through_statistics(dx[0], x, mean, dy[1], dy[2]);
}

static bool infer_batchnorm_eval(wg_node *n)
{
    const wg_batchnorm_attrs *a = n->attrs;
    return need_channels(n, 1, a->eps) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
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

static bool need_groups(wg_node *n)
{
    const wg_groupnorm_attrs *a = n->attrs;
    int64_t channels = n->in[0]->shape.dim[1];
    return (a->groups >= 1 && channels % a->groups == 0) ||
           wg_fail(n, WG_ESHAPE, "%lld channels do not fall in %lld groups", (long long)channels,
                   (long long)a->groups);
}

/* A number for each group of each example. */
static wg_shape group_shape(const wg_node *n)
{
    const wg_groupnorm_attrs *a = n->attrs;
    return WG_SHAPE(n->in[0]->shape.dim[0], a->groups);
}

static bool infer_groupnorm(wg_node *n)
{
    const wg_groupnorm_attrs *a = n->attrs;
    if (!need_channels(n, 1, a->eps) || !need_groups(n))
        return false;
    const wg_value *x = n->in[0];
    return wg_set_result(n, 0, x->dtype, x->shape) &&
           wg_set_result(n, 1, x->dtype, group_shape(n)) &&
           wg_set_result(n, 2, x->dtype, group_shape(n));
}

/* dy x mean rstd gain? */
static bool infer_groupnorm_grad(wg_node *n)
{
    const wg_groupnorm_attrs *a = n->attrs;
    if (!need_channels(n, 4, a->eps) || !need_groups(n) || !need_alike(n))
        return false;
    wg_shape groups = group_shape(n);
    for (int i = 2; i < 4; i++)
        if (!wg_need_same_dtype(n, i, 0) || !wg_need_rank(n, i, 2, 2) ||
            !wg_need_dim(n, i, 0, groups.dim[0]) || !wg_need_dim(n, i, 1, groups.dim[1]))
            return false;
    return set_gradients(n);
}

/* Each group of each example is a row of layernorm: [N, groups, numbers of a group]. */
static wg_value *by_group(const wg_node *n, wg_value *x)
{
    const wg_groupnorm_attrs *a = n->attrs;
    if (!x)
        return NULL;
    int64_t row = x->shape.dim[1] / a->groups;
    for (int i = 2; i < x->shape.rank; i++)
        row *= x->shape.dim[i];
    return wg_reshape(x, WG_SHAPE(x->shape.dim[0], a->groups, row));
}

static void expand_groupnorm(wg_node *n, wg_value **y)
{
    const wg_groupnorm_attrs *a = n->attrs;
    wg_value *x = n->in[0];
    wg_value *rows = wg_layernorm(by_group(n, x), NULL, NULL, WG_LAST_AXIS, a->eps);
    y[0] = affine(wg_reshape(rows, x->shape), operand(n, 1), operand(n, 2));
    y[1] = wg_reshape(wg_result_of(rows, 1), group_shape(n));
    y[2] = wg_reshape(wg_result_of(rows, 2), group_shape(n));
}

static void expand_groupnorm_grad(wg_node *n, wg_value **y)
{
    const wg_groupnorm_attrs *a = n->attrs;
    wg_value *dy = n->in[0], *x = n->in[1], *rows = by_group(n, x);
    wg_value *mean = wg_unsqueeze(n->in[2], -1), *rstd = wg_unsqueeze(n->in[3], -1);
    wg_value *e = by_group(n, affine(dy, operand(n, 4), NULL));
    wg_value *h = wg_mul(wg_sub(rows, mean), rstd), *in[] = {e, rows, mean, rstd};
    wg_node *d = wg_apply(WG_HERE, NULL, &wg_op_layernorm_grad,
                          &(wg_rownorm_attrs){WG_LAST_AXIS, a->eps}, in, 4);
    y[0] = d ? wg_reshape(d->out[0], x->shape) : NULL;
    y[1] = h ? channel_sum(wg_mul(dy, wg_reshape(h, x->shape))) : NULL;
    y[2] = channel_sum(dy);
}

/* The part of dx that comes through mean and rstd:  d mean / dx = 1 / n,
 * d rstd / dx = -rstd^3 (x - mean) / n. */
static wg_value *through_group(const wg_node *n, wg_value *dx, wg_value *dmean, wg_value *drstd)
{
    wg_value *x = n->in[0], *rows = by_group(n, x), *d[2] = {NULL};
    wg_value *rstd = wg_unsqueeze(n->out[2], -1), *mean = wg_unsqueeze(n->out[1], -1);
    if (!rows)
        return NULL;
    double share = one_over(rows->shape.dim[2]);
    if (dmean)
        d[0] = wg_expand(wg_scale(wg_unsqueeze(dmean, -1), share), rows->shape);
    if (drstd) {
        wg_value *cube = wg_mul(rstd, wg_mul(rstd, rstd));
        d[1] = wg_mul(wg_sub(rows, mean), wg_scale(wg_mul(wg_unsqueeze(drstd, -1), cube), -share));
    }
    for (int i = 0; i < 2; i++) {
        wg_value *part = d[i] ? wg_reshape(d[i], x->shape) : NULL;
        dx = dx && part ? wg_add(dx, part) : part ? part : dx;
    }
    return dx;
}

static void grad_groupnorm(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    if (dy[0]) {
        wg_value *in[] = {dy[0], n->in[0], n->out[1], n->out[2], operand(n, 1)};
        wg_node *d = wg_apply(WG_HERE, NULL, &wg_op_groupnorm_grad, n->attrs, in, 5);
        for (int i = 0; d && i < n->n_in; i++)
            dx[i] = d->out[i];
    }
    if (dy[1] || dy[2])
        dx[0] = through_group(n, dx[0], dy[1], dy[2]);
}

/* ---- the ops --------------------------------------------------------------------------------- */

static double flops(const wg_node *n)
{
    return 8.0 * (double)wg_value_count(n->in[0]);
}

static double flops_grad(const wg_node *n)
{
    return 14.0 * (double)wg_value_count(n->in[0]);
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
static const wg_sample batchnorm_grad_samples[] = {
    {"images",
     &small_eps,
     5,
     {WG_FLOATS(-2, 2, 4, 2, 3, 2, 2), WG_FLOATS(-3, 3, 4, 2, 3, 2, 2), CHANNELS(-1, 1),
      CHANNELS(0.5, 2), CHANNELS(-2, 2)}},
    {"vectors",
     &small_eps,
     5,
     {WG_FLOATS(-2, 2, 2, 7, 3), WG_FLOATS(-3, 3, 2, 7, 3), CHANNELS(-1, 1), CHANNELS(0.5, 2),
      CHANNELS(-2, 2)}},
    {"plain",
     &small_eps,
     4,
     {WG_FLOATS(-2, 2, 3, 2, 3, 4), WG_FLOATS(-3, 3, 3, 2, 3, 4), CHANNELS(-1, 1),
      CHANNELS(0.5, 2)}},
    {"empty batch",
     &small_eps,
     4,
     {WG_FLOATS(-2, 2, 2, 0, 3), WG_FLOATS(-3, 3, 2, 0, 3), CHANNELS(-1, 1), CHANNELS(0.5, 2)}},
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
#define GROUPS(lo, hi) WG_FLOATS(lo, hi, 2, 2, 2)
static const wg_sample groupnorm_grad_samples[] = {
    {"images",
     &two_groups,
     5,
     {WG_FLOATS(-2, 2, 4, 2, 4, 3, 2), WG_FLOATS(-3, 3, 4, 2, 4, 3, 2), GROUPS(-1, 1),
      GROUPS(0.5, 2), WG_FLOATS(-2, 2, 1, 4)}},
    {"one group",
     &one_group,
     4,
     {WG_FLOATS(-2, 2, 2, 3, 7), WG_FLOATS(-3, 3, 2, 3, 7), WG_FLOATS(-1, 1, 2, 3, 1),
      WG_FLOATS(0.5, 2, 2, 3, 1)}},
    {"empty batch",
     &two_groups,
     4,
     {WG_FLOATS(-2, 2, 3, 0, 4, 3), WG_FLOATS(-3, 3, 3, 0, 4, 3), WG_FLOATS(-1, 1, 2, 0, 2),
      WG_FLOATS(0.5, 2, 2, 0, 2)}},
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
    .grad = grad_batchnorm,
    .reads = WG_READS_X | WG_READS_Y,
    WG_SAMPLES(batchnorm_samples),
};
const wg_op wg_op_batchnorm_grad = {
    .name = "batchnorm_grad",
    .formula = "dx = rstd gain (dy - mean dy - h mean(dy h)), h = (x - mean) rstd, by channel",
    .operands = "dy x mean var gain?",
    .results = "dx dgain dbias",
    BATCHNORM,
    .flops = flops_grad,
    .infer = infer_batchnorm_grad,
    .expand = expand_batchnorm_grad,
    WG_SAMPLES(batchnorm_grad_samples),
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

#define GROUPNORM .family = WG_FAMILY_NORMALISATION, WG_ATTRS(wg_groupnorm_attrs, groupnorm_attrs)

const wg_op wg_op_groupnorm = {
    .name = "groupnorm",
    .formula = "y = (x - mean) / sqrt(var + eps) * gain + bias, mean and var of each group",
    .operands = "x gain? bias?",
    .results = "y mean rstd",
    GROUPNORM,
    .flops = flops,
    .infer = infer_groupnorm,
    .expand = expand_groupnorm,
    .grad = grad_groupnorm,
    .reads = WG_READS_X | WG_READS_Y,
    WG_SAMPLES(groupnorm_samples),
};
const wg_op wg_op_groupnorm_grad = {
    .name = "groupnorm_grad",
    .formula = "dx = rstd (e - mean e - h mean(e h)), h = (x - mean) rstd, e = dy gain, by group",
    .operands = "dy x mean rstd gain?",
    .results = "dx dgain dbias",
    GROUPNORM,
    .flops = flops_grad,
    .infer = infer_groupnorm_grad,
    .expand = expand_groupnorm_grad,
    WG_SAMPLES(groupnorm_grad_samples),
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
    int64_t n = y ? per_channel(x) : 0;
    if (n == 0) /* nothing to learn from */
        return y;
    wg_graph *g = wg_graph_of(y);
    wg_origin before = wg_graph_origin(g), update = before;
    update.phase = WG_UPDATE;
    wg_graph_set_origin(g, update);
    wg_value *var = (wg_scale)(at, wg_result_of(y, 2), n > 1 ? (double)n / (double)(n - 1) : 1);
    (wg_assign)(at, running_mean,
                (wg_moving_average)(at, running_mean, wg_result_of(y, 1), 1 - momentum));
    (wg_assign)(at, running_var, (wg_moving_average)(at, running_var, var, 1 - momentum));
    wg_graph_set_origin(g, before);
    return y;
}
