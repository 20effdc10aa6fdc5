/* Convolutions. */
#include "onnx/ops.h"
#include "onnx/window.h"

#include <string.h>

/* ---- convolution ----------------------------------------------------------------------------- */

wg_value *wgi_ox_convolve(wg_value *x, wg_value *w, wg_value *b, const ox_window *g, int64_t groups)
{
    const int64_t *p = g->before, *s = g->stride, *d = g->dilation;
    if (g->rank == 1)
        return wg_conv1d(x, w, b, &(wg_conv1d_options){s[0], p[0], d[0], groups, 0});
    if (g->rank == 2)
        return wg_conv2d(
            x, w, b,
            &(wg_conv2d_options){{s[0], s[1]}, {p[0], p[1]}, {d[0], d[1]}, groups, {0, 0}});
    return wg_conv3d(x, w, b,
                     &(wg_conv3d_options){
                         {s[0], s[1], s[2]}, {p[0], p[1], p[2]}, {d[0], d[1], d[2]}, groups, {0}});
}

/* How many groups the channels form; 0 after an error. */
static int64_t groups_of(ox_node *n)
{
    int64_t groups = wgi_ox_int(n, "group", 1);
    if (groups < 1)
        wgi_ox_fail(n, WG_EDATA, "group is %lld, must be 1 or more", (long long)groups);
    return wgi_ox_failed(n) ? 0 : groups;
}

/* Padding that differs between the ends of an axis comes first. */
static wg_value *conv(ox_node *n, wg_value *x, wg_value *w, wg_value *b)
{
    ox_window g;
    if (!x || !w)
        return NULL;
    if (x->shape.rank < 3 || w->shape.rank != x->shape.rank)
        return wgi_ox_fail(n, WG_ESHAPE, "an operand of %d axes and weights of %d", x->shape.rank,
                           w->shape.rank);
    int64_t groups = groups_of(n);
    if (!groups || !wgi_ox_window(n, x, w->shape.dim + 2, &g))
        return NULL;
    bool even = true;
    for (int k = 0; k < g.rank; k++)
        even &= g.before[k] == g.after[k];
    if (!even) {
        x = wgi_ox_pad_spatial(n, x, &g, false, 0);
        memset(g.before, 0, sizeof g.before);
    }
    return wgi_ox_convolve(x, w, b, &g, groups);
}

wg_value *wgi_ox_conv(ox_node *n)
{
    return conv(n, wgi_ox_in(n, 0), wgi_ox_in(n, 1), wgi_ox_in(n, 2));
}

/* v [C] as [C, 1, ...], for weights [C, ...]; scalars stay. */
static wg_value *for_weights(wg_value *v, const wg_value *w)
{
    if (!v || !w || v->shape.rank != 1)
        return v;
    wg_shape s = w->shape;
    for (int k = 0; k < s.rank; k++)
        s.dim[k] = k ? 1 : v->shape.dim[0];
    return v->shape.dim[0] == 1 ? wg_reshape(v, WG_SCALAR) : wg_reshape(v, s);
}

/* x - zero in f64, where sums of products of 8-bit integers are exact. */
static wg_value *centred(wg_value *x, wg_value *zero)
{
    zero = for_weights(zero, x);
    return zero ? wg_sub(wg_cast(x, WG_F64), wg_cast(zero, WG_F64)) : wgi_ox_cast(x, WG_F64);
}

wg_value *wgi_ox_conv_integer(ox_node *n)
{
    n->type[0] = wgi_ox_type_of(WG_I32);
    return wgi_ox_cast(conv(n, centred(wgi_ox_in(n, 0), wgi_ox_in(n, 2)),
                            centred(wgi_ox_in(n, 1), wgi_ox_in(n, 3)), NULL),
                       WG_I32);
}

/* Operands: x, its scale, its zero, w, its scale, its zero, scale and zero of the result, bias. */
wg_value *wgi_ox_qlinear_conv(ox_node *n)
{
    wg_value *w = wgi_ox_in(n, 3), *bias = wgi_ox_cast(wgi_ox_in(n, 8), WG_F64);
    wg_value *y =
        conv(n, centred(wgi_ox_in(n, 0), wgi_ox_in(n, 2)), centred(w, wgi_ox_in(n, 5)), bias);
    const ox_type *type = wgi_ox_type_in(n, 7);
    if (!y || !type || type->bits != 8)
        return y ? wgi_ox_refuse(n, "a result that is not of 8 bits") : NULL;
    wg_value *factor =
        wg_div(wgi_ox_cast(wgi_ox_in(n, 1), WG_F64), wgi_ox_cast(wgi_ox_in(n, 6), WG_F64));
    wg_value *sw = wgi_ox_cast(wgi_ox_in(n, 4), WG_F64);
    if (sw && sw->shape.rank == 1) { /* one for each channel of the result */
        wg_shape s = y->shape;
        for (int k = 0; k < s.rank; k++)
            s.dim[k] = k == 1 ? sw->shape.dim[0] : 1;
        sw = wg_reshape(sw, s);
    }
    wg_value *zero = wgi_ox_cast(wgi_ox_in(n, 7), WG_F64);
    y = wg_add(wg_round(wg_mul(y, wg_mul(wg_reshape(factor, WG_SCALAR), sw))),
               wg_reshape(zero, WG_SCALAR));
    n->type[0] = type;
    return wg_cast(wg_clamp(y, type->is_signed ? -128 : 0, type->is_signed ? 127 : 255), WG_I32);
}

/* ---- transposed convolution ------------------------------------------------------------------ */

static wg_value *transposed(wg_value *x, wg_value *w, const ox_window *g, int64_t groups)
{
    const int64_t *s = g->stride, *d = g->dilation;
    if (g->rank == 1)
        return wg_conv_transpose1d(x, w, NULL, &(wg_conv1d_options){s[0], 0, d[0], groups, 0});
    if (g->rank == 2)
        return wg_conv_transpose2d(
            x, w, NULL, &(wg_conv2d_options){{s[0], s[1]}, {0, 0}, {d[0], d[1]}, groups, {0, 0}});
    return wg_conv_transpose3d(
        x, w, NULL, &(wg_conv3d_options){{s[0], s[1], s[2]}, {0}, {d[0], d[1], d[2]}, groups, {0}});
}

/* What is cut off at either end (negative: added), from the attributes. */
static bool crop_of(ox_node *n, const wg_value *x, const ox_window *g, int64_t *before,
                    int64_t *after)
{
    int64_t more[OX_MAX_SPATIAL], size[OX_MAX_SPATIAL];
    ox_ints shape;
    const char *how = wgi_ox_word(n, "auto_pad", "NOTSET");
    bool same = strncmp(how, "SAME_", 5) == 0, upper = strcmp(how, "SAME_UPPER") == 0;
    bool given = wgi_ox_ints(n, "output_shape", &shape) && shape.n;
    if (!wgi_ox_spatial(n, "output_padding", g->rank, 0, more))
        return false;
    if (given && shape.n != (size_t)g->rank && shape.n != (size_t)g->rank + 2) {
        wgi_ox_fail(n, WG_ESHAPE, "output_shape: %zu numbers", shape.n);
        return false;
    }
    for (int k = 0; k < g->rank; k++) {
        int64_t full = g->stride[k] * (x->shape.dim[2 + k] - 1) + wgi_ox_span(g, k) + more[k];
        size[k] = given ? shape.at[shape.n - (size_t)g->rank + (size_t)k]
                        : x->shape.dim[2 + k] * g->stride[k];
        if (given && (size[k] < 0 || size[k] > INT32_MAX))
            return wgi_ox_fail(n, WG_ESHAPE, "output_shape: %lld", (long long)size[k]);
        int64_t total = full - size[k];
        before[k] = !given && !same ? g->before[k]
                    : total <= 0    ? 0
                    : upper         ? total / 2
                                    : total - total / 2;
        after[k] = (!given && !same ? g->after[k] : total - before[k]) - more[k];
    }
    return true;
}

/* The whole result, cut or filled up with zeros, and then the bias. */
wg_value *wgi_ox_conv_transpose(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0), *w = wgi_ox_in(n, 1), *b = wgi_ox_in(n, 2);
    ox_window g;
    if (!x || !w)
        return NULL;
    if (x->shape.rank < 3 || w->shape.rank != x->shape.rank)
        return wgi_ox_fail(n, WG_ESHAPE, "an operand of %d axes and weights of %d", x->shape.rank,
                           w->shape.rank);
    int64_t before[OX_MAX_SPATIAL], after[OX_MAX_SPATIAL];
    int64_t groups = groups_of(n);
    if (!groups || !wgi_ox_window(n, x, w->shape.dim + 2, &g) || !crop_of(n, x, &g, before, after))
        return NULL;
    for (int k = 0; k < g.rank; k++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): crop_of fills g.rank of them */
        g.before[k] = -before[k];
        g.after[k] = -after[k];
    }
    wg_value *y = transposed(x, w, &g, groups);
    y = wgi_ox_pad_spatial(n, y, &g, false, 0);
    if (!b || !y)
        return y;
    wg_shape s = y->shape;
    for (int k = 0; k < s.rank; k++)
        s.dim[k] = k == 1 ? wg_value_count(b) : 1;
    return wg_add(y, wg_reshape(b, s));
}

/* ---- windows put back ------------------------------------------------------------------------ */

/* 1 for tap k of channel c at column c taps + k: [columns, 1, ...kernel]. */
static wg_value *taps_apart(ox_node *n, wg_dtype dtype, int64_t columns, const ox_window *g,
                            int64_t taps)
{
    wg_shape s = {g->rank + 2, {columns, 1}};
    memcpy(s.dim + 2, g->kernel, (size_t)g->rank * sizeof *s.dim);
    double *ones = wg_shape_valid(&s, WG_F64)
                       ? wgi_ox_alloc(n, (size_t)(columns * taps) * sizeof *ones)
                       : NULL;
    for (int64_t i = 0; ones && i < columns; i++)
        ones[i * taps + i % taps] = 1;
    return ones ? wgi_ox_constant(n->graph, dtype, s, ones) : NULL;
}

/* How many windows lie on each axis of the padded image; returns how many there are. */
static double count_windows(const ox_window *g, const int64_t *size, wg_shape *windows)
{
    double all = 1;
    for (int k = 0; k < g->rank; k++) {
        int64_t room = size[k] + g->before[k] + g->after[k] - wgi_ox_span(g, k);
        windows->dim[2 + k] = room < 0 ? 0 : room / g->stride[k] + 1;
        all *= (double)windows->dim[2 + k];
    }
    return all;
}

/* Columns [N, C taps, windows], each of which is added at its place of an image [N, C, ...]: a
 * transposed convolution in which each tap is a channel of its own. */
wg_value *wgi_ox_col2im(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    ox_ints size, kernel;
    if (!x || !wgi_ox_ints_in(n, 1, &size) || !wgi_ox_ints_in(n, 2, &kernel))
        return NULL;
    wg_shape image = {(int)size.n + 2, {1, 1}}, windows;
    if (x->shape.rank != 3 || size.n != kernel.n || size.n < 1 || size.n > OX_MAX_SPATIAL)
        return wgi_ox_fail(n, WG_ESHAPE, "an operand of %d axes, an image of %zu, blocks of %zu",
                           x->shape.rank, size.n, kernel.n);
    memcpy(image.dim + 2, size.at, size.n * sizeof *image.dim);
    wg_value *like = wg_fill(n->graph, x->dtype, image, 0);
    ox_window g;
    if (!like || !wgi_ox_window(n, like, kernel.at, &g))
        return NULL;
    int64_t after[OX_MAX_SPATIAL], columns = x->shape.dim[1];
    double taps = 1;
    for (int k = 0; k < g.rank; k++)
        taps *= (double)g.kernel[k];
    windows = image;
    windows.dim[0] = x->shape.dim[0];
    windows.dim[1] = columns;
    double all = count_windows(&g, size.at, &windows);
    if (all < 1 || taps > (double)columns || columns % (int64_t)taps ||
        (double)x->shape.dim[2] != all)
        return wgi_ox_fail(n, WG_ESHAPE, "%lld columns of %lld numbers, of %g windows of %g",
                           (long long)x->shape.dim[2], (long long)columns, all, taps);
    int64_t channels = columns / (int64_t)taps;
    wg_value *y = transposed(wg_reshape(x, windows),
                             taps_apart(n, x->dtype, columns, &g, (int64_t)taps), &g, channels);
    for (int k = 0; k < g.rank && y; k++) { /* what the stride left over, and the padding */
        after[k] = size.at[k] + g.before[k] - y->shape.dim[2 + k];
        g.before[k] = -g.before[k];
        g.after[k] = after[k];
    }
    return wgi_ox_pad_spatial(n, y, &g, false, 0);
}
