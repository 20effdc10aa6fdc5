#include "onnx/window.h"

#include <string.h>

/* Of sizes, windows, strides and padding, so that products of two do not overflow. */
enum { MOST = 1 << 30 };

bool wgi_ox_spatial(ox_node *n, const char *name, int rank, int64_t otherwise,
                    int64_t out[OX_MAX_SPATIAL])
{
    ox_ints given;
    bool is_there = wgi_ox_ints(n, name, &given) && given.n;
    if (is_there && given.n != (size_t)rank)
        wgi_ox_fail(n, WG_ESHAPE, "%s: %zu numbers for %d spatial axes", name, given.n, rank);
    for (int k = 0; k < rank && !wgi_ox_failed(n); k++) {
        out[k] = is_there ? given.at[k] : otherwise;
        if (out[k] < 0 || out[k] > MOST)
            wgi_ox_fail(n, WG_EINVAL, "%s: %lld", name, (long long)out[k]);
    }
    return !wgi_ox_failed(n);
}

int64_t wgi_ox_span(const ox_window *w, int axis)
{
    return w->dilation[axis] * (w->kernel[axis] - 1) + 1;
}

/* SAME: as many windows as stride steps fit into the size; the odd one of the padding goes behind
 * (UPPER) or before (LOWER). */
static void pad_same(ox_window *w, const int64_t *size, bool lower)
{
    for (int k = 0; k < w->rank; k++) {
        int64_t count = (size[k] + w->stride[k] - 1) / w->stride[k];
        int64_t total = (count - 1) * w->stride[k] + wgi_ox_span(w, k) - size[k];
        total = total > 0 ? total : 0;
        w->before[k] = lower ? total - total / 2 : total / 2;
        w->after[k] = total - w->before[k];
    }
}

/* The attribute pads. */
static bool read_pads(ox_node *n, ox_window *w, const ox_ints *pads)
{
    if (pads->n != 2 * (size_t)w->rank)
        wgi_ox_fail(n, WG_ESHAPE, "pads: %zu numbers for %d spatial axes", pads->n, w->rank);
    for (int k = 0; k < w->rank && !wgi_ox_failed(n); k++) {
        w->before[k] = pads->at[k];
        w->after[k] = pads->at[w->rank + k];
        if (w->before[k] < 0 || w->after[k] < 0 || w->before[k] > MOST || w->after[k] > MOST)
            wgi_ox_refuse(n, "pads of %lld and %lld", (long long)w->before[k],
                          (long long)w->after[k]);
    }
    return !wgi_ox_failed(n);
}

/* Padding by auto_pad.  The standard forbids pads beside it; zeros, and those that are the same,
 * which some exporters write, contradict nothing. */
static bool take_auto_pads(ox_node *n, ox_window *w, const int64_t *size, const char *how)
{
    ox_window given = *w;
    ox_ints pads;
    if (wgi_ox_ints(n, "pads", &pads) && pads.n && !read_pads(n, &given, &pads))
        return false;
    if (strcmp(how, "VALID") != 0)
        pad_same(w, size, strcmp(how, "SAME_LOWER") == 0);
    for (int k = 0; k < w->rank; k++) {
        int64_t before = given.before[k], after = given.after[k];
        if ((before || after) && (before != w->before[k] || after != w->after[k]))
            return wgi_ox_fail(n, WG_EDATA,
                               "auto_pad is %s, which pads spatial axis %d by %lld and %lld; pads "
                               "says %lld and %lld",
                               how, k, (long long)w->before[k], (long long)w->after[k],
                               (long long)before, (long long)after);
    }
    return true;
}

static bool take_pads(ox_node *n, ox_window *w, const int64_t *size)
{
    const char *how = wgi_ox_word(n, "auto_pad", "");
    ox_ints pads;
    if (*how && strcmp(how, "NOTSET") != 0)
        return take_auto_pads(n, w, size, how);
    return !wgi_ox_ints(n, "pads", &pads) || read_pads(n, w, &pads);
}

/* A last window that begins within x or the padding before it, but ends behind the padding. */
static void add_ceil(ox_window *w, const int64_t *size)
{
    for (int k = 0; k < w->rank; k++) {
        int64_t room = size[k] + w->before[k] + w->after[k] - wgi_ox_span(w, k);
        int64_t last = room > 0 ? (room + w->stride[k] - 1) / w->stride[k] * w->stride[k] : 0;
        if (last > room && last < size[k] + w->before[k])
            w->extra[k] = last - room;
    }
}

bool wgi_ox_window(ox_node *n, const wg_value *x, const int64_t *kernel, ox_window *w)
{
    *w = (ox_window){.rank = x->shape.rank - 2};
    if (w->rank < 1 || w->rank > OX_MAX_SPATIAL) {
        wgi_ox_refuse(n, "%d spatial axes, 1 to %d are", w->rank, OX_MAX_SPATIAL);
        return false;
    }
    const int64_t *size = x->shape.dim + 2;
    if (!wgi_ox_spatial(n, "kernel_shape", w->rank, 0, w->kernel) ||
        !wgi_ox_spatial(n, "strides", w->rank, 1, w->stride) ||
        !wgi_ox_spatial(n, "dilations", w->rank, 1, w->dilation))
        return false;
    for (int k = 0; k < w->rank; k++) {
        if (kernel && w->kernel[k] && w->kernel[k] != kernel[k]) {
            wgi_ox_fail(n, WG_ESHAPE, "kernel_shape has %lld, the kernel %lld",
                        (long long)w->kernel[k], (long long)kernel[k]);
            return false;
        }
        w->kernel[k] = kernel ? kernel[k] : w->kernel[k];
        if (size[k] > MOST || w->kernel[k] > MOST) {
            wgi_ox_refuse(n, "a window of %lld on an axis of size %lld", (long long)w->kernel[k],
                          (long long)size[k]);
            return false;
        }
        if (w->kernel[k] < 1 || w->stride[k] < 1 || w->dilation[k] < 1) {
            wgi_ox_fail(n, WG_EINVAL, "a window of %lld, stride %lld, dilation %lld",
                        (long long)w->kernel[k], (long long)w->stride[k],
                        (long long)w->dilation[k]);
            return false;
        }
    }
    if (!take_pads(n, w, size))
        return false;
    if (wgi_ox_int(n, "ceil_mode", 0))
        add_ceil(w, size);
    return true;
}

wg_value *wgi_ox_pad_spatial(ox_node *n, wg_value *x, const ox_window *w, bool extra, double value)
{
    int64_t before[WG_MAX_RANK] = {0}, after[WG_MAX_RANK] = {0};
    for (int k = 0; k < w->rank; k++) {
        before[2 + k] = w->before[k];
        after[2 + k] = w->after[k] + (extra ? w->extra[k] : 0);
    }
    return wgi_ox_pad(n, x, before, after, value);
}

bool wgi_ox_is_even(const ox_window *w)
{
    for (int k = 0; k < w->rank; k++)
        if (w->before[k] != w->after[k] || 2 * w->before[k] > w->kernel[k])
            return false;
    return true;
}
