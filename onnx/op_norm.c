/* Normalisation. */
#include "onnx/ops.h"

/* ---- by the statistics of the batch ---------------------------------------------------------- */

/* momentum old + (1 - momentum) new; a state is assigned it. */
static wg_value *moved(wg_value *old, wg_value *now, double momentum)
{
    wg_value *y = wg_add(wg_scale(old, momentum), wg_scale(now, 1 - momentum));
    if (old && y && old->node->op->flags & WG_OP_STATE)
        wg_assign(old, y);
    return y;
}

/* An attribute says so, but for opsets 7 to 13, where a node trains if it has more results than
 * one. */
static bool uses_batch(ox_node *n)
{
    enum { MOST_RESULTS = 5 };
    if (n->import->options.train)
        return true;
    if (n->opset >= 14)
        return wgi_ox_int(n, "training_mode", 0) != 0;
    if (n->opset < 7)
        return !wgi_ox_int(n, "is_test", 0);
    for (int i = 1; i < MOST_RESULTS; i++)
        if (wgi_ox_wants(n, i))
            return true;
    return false;
}

wg_value *wgi_ox_batchnorm(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0), *gain = wgi_ox_in(n, 1), *bias = wgi_ox_in(n, 2);
    wg_value *mean = wgi_ox_state(n, 3), *var = wgi_ox_state(n, 4);
    double eps = wgi_ox_real(n, "epsilon", 1e-5), momentum = wgi_ox_real(n, "momentum", 0.9);
    if (n->opset < 9 && !wgi_ox_int(n, "spatial", 1))
        return wgi_ox_refuse(n, "spatial = 0");
    if (!x || x->shape.rank < 2)
        return wgi_ox_fail(n, WG_ESHAPE, "expected 2 axes or more");
    if (!uses_batch(n))
        return wg_batchnorm_eval(x, mean, var, gain, bias, eps);
    wg_value *y = wg_batchnorm(x, gain, bias, eps);
    wgi_ox_set(n, 1, moved(mean, wg_result_of(y, 1), momentum));
    wgi_ox_set(n, 2, moved(var, wg_result_of(y, 2), momentum));
    wgi_ox_set(n, 3, wg_result_of(y, 1)); /* before opset 14, those of the batch */
    wgi_ox_set(n, 4, wg_result_of(y, 2));
    return y;
}

/* ---- groups of channels ---------------------------------------------------------------------- */

wg_value *wgi_ox_instancenorm(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    if (!x || x->shape.rank < 3)
        return wgi_ox_fail(n, WG_ESHAPE, "expected 3 axes or more");
    return wg_groupnorm(x, wgi_ox_in(n, 1), wgi_ox_in(n, 2), x->shape.dim[1],
                        wgi_ox_real(n, "epsilon", 1e-5));
}

/* One number for each group as one for each of its channels. */
static wg_value *for_channels(wg_value *v, int64_t groups, int64_t channels)
{
    if (!v || v->shape.rank != 1 || v->shape.dim[0] != groups || groups == channels || groups < 1)
        return v;
    return wg_reshape(
        wg_expand(wg_reshape(v, WG_SHAPE(groups, 1)), WG_SHAPE(groups, channels / groups)),
        WG_SHAPE(channels));
}

wg_value *wgi_ox_groupnorm(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    int64_t groups = wgi_ox_int(n, "num_groups", 0);
    if (!x || x->shape.rank < 3 || groups < 1 || x->shape.dim[1] % groups)
        return wgi_ox_fail(n, WG_ESHAPE, "%lld groups of the channels", (long long)groups);
    return wg_groupnorm(x, for_channels(wgi_ox_in(n, 1), groups, x->shape.dim[1]),
                        for_channels(wgi_ox_in(n, 2), groups, x->shape.dim[1]), groups,
                        wgi_ox_real(n, "epsilon", 1e-5));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Whether v has the shape of the last `axes` axes of x. */
static bool is_row(const wg_value *v, const wg_value *x, int axes)
{
    if (!v || v->shape.rank != axes)
        return !v;
    for (int k = 0; k < axes; k++)
        if (v->shape.dim[k] != x->shape.dim[x->shape.rank - axes + k])
            return false;
    return true;
}

static int row_axes(ox_node *n, const wg_value *x)
{
    int axis = x ? wgi_ox_axis(n, wgi_ox_int(n, "axis", -1), x->shape.rank) : -1;
    return axis < 0 ? 0 : x->shape.rank - axis;
}

wg_value *wgi_ox_layernorm(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0), *gain = wgi_ox_in(n, 1), *bias = wgi_ox_in(n, 2);
    int axes = row_axes(n, x);
    if (!axes)
        return NULL;
    double eps = wgi_ox_real(n, "epsilon", 1e-5);
    bool rows = is_row(gain, x, axes) && is_row(bias, x, axes);
    wg_value *y = wg_layernorm(x, rows ? gain : NULL, rows ? bias : NULL, axes, eps);
    wgi_ox_set(n, 1, wg_result_of(y, 1));
    wgi_ox_set(n, 2, wg_result_of(y, 2));
    if (!rows)
        y = bias ? wg_add(wg_mul(y, gain), bias) : wg_mul(y, gain);
    return y;
}

wg_value *wgi_ox_rmsnorm(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0), *gain = wgi_ox_in(n, 1);
    int axes = row_axes(n, x);
    if (!axes)
        return NULL;
    double eps = wgi_ox_real(n, "epsilon", 1e-5);
    bool rows = is_row(gain, x, axes);
    wg_value *y = wg_rmsnorm(x, rows ? gain : NULL, axes, eps);
    return rows ? y : wg_mul(y, gain);
}

/* ---- others ---------------------------------------------------------------------------------- */

/* (x - mean) / (std + 1e-9) */
wg_value *wgi_ox_mean_variance(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    ox_ints given;
    wg_axes axes = {3, {0, 2, 3}};
    if (wgi_ox_ints(n, "axes", &given)) {
        axes.count = 0;
        for (size_t i = 0; x && i < given.n && i < WG_MAX_RANK; i++)
            axes.axis[axes.count++] = wgi_ox_axis(n, given.at[i], x->shape.rank);
    }
    if (!x || wgi_ox_failed(n))
        return NULL;
    wg_value *std = wg_sqrt(wg_var(x, axes, WG_KEEP, 0));
    return wg_div(wg_sub(x, wg_mean(x, axes, WG_KEEP)), wg_shift(std, 1e-9));
}

/* x / (bias + alpha m)^beta, where m is the mean of x^2 over `size` neighbouring channels, those
 * outside counted as 0: channels as H of planes [C, the rest]. */
wg_value *wgi_ox_lrn(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    int64_t size = wgi_ox_int(n, "size", 0), channels, rest;
    if (!x || x->shape.rank < 2 || size < 1)
        return wgi_ox_fail(n, WG_ESHAPE, "%lld channels", (long long)size);
    channels = x->shape.dim[1];
    rest = x->shape.dim[0] && channels ? wg_value_count(x) / x->shape.dim[0] / channels : 0;
    int64_t before[4] = {0, 0, (size - 1) / 2, 0}, after[4] = {0, 0, size - 1 - (size - 1) / 2, 0};
    wg_value *planes = wg_reshape(wg_square(x), WG_SHAPE(x->shape.dim[0], 1, channels, rest));
    wg_pool2d_options o = {.kernel = {size, 1}, .stride = {1, 1}};
    wg_value *m = wg_avg_pool2d(wgi_ox_pad(n, planes, before, after, 0), &o);
    wg_value *d = wg_shift(wg_scale(wg_reshape(m, x->shape), wgi_ox_real(n, "alpha", 0.0001)),
                           wgi_ox_real(n, "bias", 1));
    return wg_div(x, wg_pow(d, wg_scalar_like(x, wgi_ox_real(n, "beta", 0.75))));
}

wg_value *wgi_ox_lp_norm(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    int axis = x ? wgi_ox_axis(n, wgi_ox_int(n, "axis", -1), x->shape.rank) : -1;
    if (axis < 0)
        return NULL;
    wg_value *norm = wg_vector_norm(x, WG_AXES(axis), WG_KEEP, (double)wgi_ox_int(n, "p", 2));
    wg_value *zero = wg_scalar_like(x, 0);
    return wg_where(wg_equal(norm, zero), zero, wg_div(x, norm));
}
