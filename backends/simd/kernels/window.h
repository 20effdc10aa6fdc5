/* Windows along one axis, for pooling and convolution: which taps lie where. */
#ifndef WG_BACKENDS_SIMD_KERNELS_WINDOW_H
#define WG_BACKENDS_SIMD_KERNELS_WINDOW_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/sizes.h"

static inline int64_t window_position(const simd_window *w, int64_t window, int64_t tap)
{
    return window * w->stride - w->padding + tap * w->dilation;
}

/* The taps [first, end) of a window lie within the axis. */
static inline int64_t window_first_tap(const simd_window *w, int64_t window)
{
    return simd_divide_up(w->padding - window * w->stride, w->dilation);
}

static inline int64_t window_end_tap(const simd_window *w, int64_t window)
{
    int64_t end = simd_divide_up(w->size - window_position(w, window, 0), w->dilation);
    return simd_smaller(w->kernel, end);
}

/* Without dilation, the taps of a window that lie in the padded axis: all, but for a last one that
 * ends behind it. */
static inline int64_t window_padded_taps(const simd_window *w, int64_t window)
{
    return simd_smaller(w->kernel, w->size + 2 * w->padding - window * w->stride);
}

/* The windows [*from, *to) in which a tap lies within the axis: mostly all, which needs no division
 * (a row of few windows takes less time than its taps' divisions). */
static inline void window_range(const simd_window *w, int64_t tap, int64_t *from, int64_t *to)
{
    *from = 0;
    *to = w->count;
    if (window_position(w, 0, tap) >= 0 && window_position(w, w->count - 1, tap) < w->size)
        return;
    *from = simd_divide_up(w->padding - tap * w->dilation, w->stride);
    *to =
        simd_smaller(w->count, simd_divide_up(w->size + w->padding - tap * w->dilation, w->stride));
}

#endif
