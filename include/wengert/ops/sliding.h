/* Sliding windows along one axis: the geometry that convolution and pooling share.
 *
 *   positions  -2 -1 |0  1  2  3  4  5  6  7  8| 9 10     size 9, padding 2 on either side
 *   window 0    k     k     k                             kernel 3, dilation 2: span 5
 *   window 1             k     k     k                    stride 3
 *   window 2                      k     k     k           so 3 windows fit
 *
 * Tap k of window o lies at position   o stride - padding + k dilation;   a position outside
 * [0, size) is padding.  A window spans   dilation (kernel - 1) + 1   positions, and
 *
 *   count = floor((size + 2 padding - span) / stride) + 1
 *
 * windows fit into the padded axis.  Where the division has a remainder, the last few positions
 * belong to no window.  So several sizes have the same count, and an op that goes back from windows
 * to positions (a data gradient, a transposed convolution) must be told the size. */
#ifndef WG_OPS_SLIDING_H
#define WG_OPS_SLIDING_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Windows along one axis. */
typedef struct wg_sliding {
    int64_t size;     /**< positions of the input, without padding */
    int64_t kernel;   /**< taps of a window */
    int64_t stride;   /**< between windows */
    int64_t padding;  /**< positions added at each end */
    int64_t dilation; /**< between taps */
    int64_t count;    /**< windows that fit */
    bool partial;     /**< the last one may end behind the padding; see wg_need_sliding */
} wg_sliding;

/** Position of tap k of window o. */
static inline int64_t wg_sliding_position(const wg_sliding *w, int64_t o, int64_t k)
{
    return o * w->stride - w->padding + k * w->dilation;
}

/** The windows [*first, *end) whose tap k lies inside the input; *end >= *first. */
static inline void wg_sliding_range(const wg_sliding *w, int64_t k, int64_t *first, int64_t *end)
{
    int64_t start = wg_sliding_position(w, 0, k);
    int64_t after = start < w->size ? (w->size - start - 1) / w->stride + 1 : 0;
    *first = start < 0 ? (-start - 1) / w->stride + 1 : 0;
    *end = after < w->count ? after : w->count;
    if (*end < *first)
        *end = *first;
}

/** The taps [*first, *end) of window o that lie inside the input; *end >= *first. */
static inline void wg_sliding_taps(const wg_sliding *w, int64_t o, int64_t *first, int64_t *end)
{
    int64_t start = wg_sliding_position(w, o, 0);
    int64_t after = start < w->size ? (w->size - start - 1) / w->dilation + 1 : 0;
    *first = start < 0 ? (-start - 1) / w->dilation + 1 : 0;
    *end = after < w->kernel ? after : w->kernel;
    if (*end < *first)
        *end = *first;
}

/** The taps of window o, without dilation, that lie in the padded input: all, unless partial. */
static inline int64_t wg_sliding_padded_taps(const wg_sliding *w, int64_t o)
{
    int64_t left = w->size + 2 * w->padding - o * w->stride;
    return left < w->kernel ? left : w->kernel;
}

/** The window whose tap k lies at `position`, or -1. */
static inline int64_t wg_sliding_at(const wg_sliding *w, int64_t position, int64_t k)
{
    int64_t distance = position + w->padding - k * w->dilation;
    int64_t o = distance / w->stride;
    return distance >= 0 && distance % w->stride == 0 && o < w->count ? o : -1;
}

/** For shape rules: checks the fields of *w for the axis named `axis` ("H") and sets w->count.  If
 * w->partial, the quotient in it is rounded up (PyTorch's ceil_mode), unless the last window would
 * then begin behind the input. */
WG_API bool wg_need_sliding(wg_node *n, const char *axis, wg_sliding *w);

#ifdef __cplusplus
}
#endif
#endif
