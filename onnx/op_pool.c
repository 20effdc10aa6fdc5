/* Pooling. */
#include "onnx/ops.h"
#include "onnx/window.h"

#include <math.h>
#include <string.h>

/* ---- windows in one, two and three dimensions ------------------------------------------------ */

/* A last window that ends behind the padding counts. */
static bool is_partial(const ox_window *w)
{
    return w->extra[0] || w->extra[1] || w->extra[2];
}

/* x padded by w->before at both ends, where that is not 0. */
static wg_value *pool(wg_value *x, const ox_window *w, bool max)
{
    bool ceil = is_partial(w);
    const int64_t *k = w->kernel, *s = w->stride, *p = w->before, *d = w->dilation;
    if (w->rank == 1) {
        const wg_pool1d_options o = {k[0], s[0], p[0], d[0], w->exclude_padding, ceil};
        return max ? wg_max_pool1d(x, &o) : wg_avg_pool1d(x, &o);
    }
    if (w->rank == 2) {
        const wg_pool2d_options o = {{k[0], k[1]}, {s[0], s[1]},       {p[0], p[1]},
                                     {d[0], d[1]}, w->exclude_padding, ceil};
        return max ? wg_max_pool2d(x, &o) : wg_avg_pool2d(x, &o);
    }
    const wg_pool3d_options o = {{k[0], k[1], k[2]}, {s[0], s[1], s[2]}, {p[0], p[1], p[2]},
                                 {d[0], d[1], d[2]}, w->exclude_padding, ceil};
    return max ? wg_max_pool3d(x, &o) : wg_avg_pool3d(x, &o);
}

/* The windows of x that has all the padding already. */
static ox_window without_padding(const ox_window *w)
{
    ox_window inner = *w;
    memset(inner.before, 0, sizeof inner.before);
    memset(inner.extra, 0, sizeof inner.extra);
    return inner;
}

/* ---- maxima ---------------------------------------------------------------------------------- */

/* An index of the padded plane [rows + .., columns] as one of the whole tensor x, counted along its
 * rows or (storage_order 1) columns. */
static wg_value *flat_index(ox_node *n, wg_value *index, const wg_value *x, const ox_window *w,
                            int64_t padded)
{
    bool one = w->rank == 1;
    int64_t rows = one ? 1 : x->shape.dim[2], columns = x->shape.dim[one ? 2 : 3];
    wg_value *width = wg_scalar_like(index, (double)padded);
    wg_value *i = wg_shift(wgi_ox_divide(index, width), one ? 0 : -(double)w->before[0]);
    wg_value *j = wg_shift(wg_remainder(index, width), -(double)w->before[one ? 0 : 1]);
    bool by_columns = wgi_ox_int(n, "storage_order", 0) && !one;
    wg_value *place =
        by_columns ? wg_add(wg_scale(j, (double)rows), i) : wg_add(wg_scale(i, (double)columns), j);
    int64_t planes = index->shape.dim[0] * index->shape.dim[1];
    wg_value *first = wg_iota(n->graph, WG_I64, WG_SHAPE(planes), 0, 0, (double)(rows * columns));
    wg_shape s = index->shape;
    for (int k = 2; k < s.rank; k++)
        s.dim[k] = 1;
    return wg_add(place, wg_reshape(first, s));
}

wg_value *wgi_ox_max_pool(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    ox_window w;
    if (!x || !wgi_ox_window(n, x, NULL, &w))
        return NULL;
    bool whole = !wg_dtype_is_float(x->dtype), even = wgi_ox_is_even(&w);
    wg_value *from = whole ? wg_cast(x, WG_F64) : x;
    ox_window inner = even ? w : without_padding(&w);
    if (!even)
        from = wgi_ox_pad_spatial(n, from, &w, true, -INFINITY);
    wg_value *y = from ? pool(from, &inner, true) : NULL;
    if (y && wgi_ox_wants(n, 1)) {
        if (w.rank == 3)
            return wgi_ox_refuse(n, "indices in three dimensions");
        wg_value *index = wg_result_of(y, 1);
        if (even) /* they are of the plane without padding */
            memset(w.before, 0, sizeof w.before);
        n->type[1] = wgi_ox_type_of(WG_I64);
        wgi_ox_set(n, 1, flat_index(n, index, x, &w, from->shape.dim[x->shape.rank - 1]));
    }
    return wgi_ox_cast(y, x->dtype);
}

/* Each number at its place in the plane of its channel, whose size follows from the window; then
 * zeros up to output_shape. */
wg_value *wgi_ox_max_unpool(ox_node *n)
{
    wg_value *y = wgi_ox_in(n, 0), *index = wgi_ox_in(n, 1);
    ox_window w;
    ox_ints shape;
    if (!y || !index || !wgi_ox_window(n, y, NULL, &w))
        return NULL;
    if (w.rank != 2)
        return wgi_ox_refuse(n, "%d spatial axes, 2 are", w.rank);
    int64_t size[2], before[WG_MAX_RANK] = {0}, after[WG_MAX_RANK] = {0};
    for (int k = 0; k < 2; k++)
        size[k] = (y->shape.dim[2 + k] - 1) * w.stride[k] + w.kernel[k] - w.before[k] - w.after[k];
    double plane = (double)size[0] * (double)size[1];
    wg_value *at = wg_remainder(index, wg_scalar_like(index, plane));
    wg_value *x = wg_pool_scatter(y, at, size[0], size[1]);
    if (!wgi_ox_has(n, 2) || !wgi_ox_ints_in(n, 2, &shape))
        return x;
    for (int k = 0; k < 2 && shape.n == 4; k++) {
        if (shape.at[2 + k] < 0 || size[k] < 0)
            return wgi_ox_fail(n, WG_ESHAPE, "axis %d would get the size %lld", 2 + k,
                               (long long)shape.at[2 + k]);
        after[2 + k] = shape.at[2 + k] - size[k];
    }
    return wgi_ox_pad(n, x, before, after, 0);
}

/* ---- means ----------------------------------------------------------------------------------- */

static bool has_dilation(const ox_window *w)
{
    return w->dilation[0] > 1 || w->dilation[1] > 1 || w->dilation[2] > 1;
}

/* The mean over each window of x without padding.  With dilation it is a convolution of each
 * channel by itself. */
static wg_value *mean(wg_value *x, const ox_window *w)
{
    if (!x || !has_dilation(w))
        return pool(x, w, false);
    wg_shape s = x->shape, kernel = {s.rank, {1, 1}};
    int64_t planes = s.dim[0] * s.dim[1];
    double taps = 1;
    for (int k = 0; k < w->rank; k++)
        taps *= (double)(kernel.dim[2 + k] = w->kernel[k]);
    wg_value *even = wg_fill(wg_graph_of(x), x->dtype, kernel, 1 / taps);
    s.dim[0] = planes;
    s.dim[1] = 1;
    wg_value *y = wgi_ox_convolve(wg_reshape(x, s), even, NULL, w, 1);
    if (!y)
        return NULL;
    s = y->shape;
    s.dim[0] = x->shape.dim[0];
    s.dim[1] = x->shape.dim[1];
    return wg_reshape(y, s);
}

/* The mean over whole windows of the padded x, and of how much of each window counts. */
static wg_value *mean_over(ox_node *n, wg_value *x, const ox_window *w)
{
    const ox_window inner = without_padding(w);
    wg_value *y = mean(wgi_ox_pad_spatial(n, x, w, true, 0), &inner);
    ox_window last = *w; /* behind the padding that counts */
    wg_shape one = x->shape;
    one.dim[0] = one.dim[1] = 1;
    wg_value *ones = wg_fill(n->graph, x->dtype, one, 1);
    if (!w->exclude_padding) {
        ones = wgi_ox_pad_spatial(n, ones, w, false, 1);
        memset(last.before, 0, sizeof last.before);
        memset(last.after, 0, sizeof last.after);
    }
    ones = wgi_ox_pad_spatial(n, ones, &last, true, 0);
    return wg_div(y, mean(ones, &inner));
}

wg_value *wgi_ox_average_pool(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    ox_window w;
    if (!x || !wgi_ox_window(n, x, NULL, &w))
        return NULL;
    w.exclude_padding = !wgi_ox_int(n, "count_include_pad", 0);
    if (is_partial(&w) && has_dilation(&w) && !w.exclude_padding) /* engines do not agree */
        return wgi_ox_refuse(n, "ceil_mode with dilations and count_include_pad");
    return wgi_ox_is_even(&w) && !has_dilation(&w) ? pool(x, &w, false) : mean_over(n, x, &w);
}

/* The power of LpPool, a FLOAT in opset 1. */
static double power_of(ox_node *n)
{
    return n->opset < 2 ? wgi_ox_real(n, "p", 2) : (double)wgi_ox_int(n, "p", 2);
}

/* (sum |x|^p)^(1/p), the sum by the mean over a window times its number of elements */
wg_value *wgi_ox_lp_pool(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    double p = power_of(n), taps = 1;
    ox_window w;
    if (!x || !wgi_ox_window(n, x, NULL, &w))
        return NULL;
    for (int k = 0; k < w.rank; k++)
        taps *= (double)w.kernel[k];
    const ox_window inner = without_padding(&w);
    wg_value *power = wg_pow(wg_abs(x), wg_scalar_like(x, p));
    wg_value *y = mean(wgi_ox_pad_spatial(n, power, &w, true, 0), &inner);
    return wg_pow(wg_scale(y, taps), wg_scalar_like(x, 1 / p));
}

/* ---- whole planes ---------------------------------------------------------------------------- */

static wg_axes spatial_axes(const wg_value *x)
{
    wg_axes axes = {0};
    for (int k = 2; x && k < x->shape.rank; k++)
        axes.axis[axes.count++] = k;
    return axes;
}

/* x of at least one spatial axis; NULL after an error. */
static wg_value *planes(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    if (x && x->shape.rank < 3)
        return wgi_ox_fail(n, WG_ESHAPE, "expected 3 axes or more, got %d", x->shape.rank);
    return x;
}

wg_value *wgi_ox_global_max_pool(ox_node *n)
{
    wg_value *x = planes(n);
    return wg_max(x, spatial_axes(x), WG_KEEP);
}

wg_value *wgi_ox_global_average_pool(ox_node *n)
{
    wg_value *x = planes(n);
    return wg_mean(x, spatial_axes(x), WG_KEEP);
}

wg_value *wgi_ox_global_lp_pool(ox_node *n)
{
    wg_value *x = planes(n);
    return wg_vector_norm(x, spatial_axes(x), WG_KEEP, power_of(n));
}
