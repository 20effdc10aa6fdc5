/* Resampling of images: each plane of x[N, C, H, W] to another size, by one linear map along each
 * axis.  Element o of `to` elements reads, out of `from` elements,
 *
 *   nearest                     x[floor(o from / to)]
 *   bilinear                    at  s = max(0, (o + 1/2) from / to - 1/2)    centres match
 *   bilinear, corners aligned   at  s = o (from - 1) / (to - 1)              ends match
 *
 * where position s with i = floor(s) reads  (1 - (s - i)) x[i] + (s - i) x[i + 1], and positions
 * beyond the last element read the last element.  upsample2d_grad is the transposed map; each is
 * the other's derivative. */
#ifndef WG_OPS_UPSAMPLE_H
#define WG_OPS_UPSAMPLE_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast" /* C has no others */
extern "C" {
#endif

/** How new elements are computed from old ones. */
typedef enum wg_upsample_mode {
    WG_NEAREST = 0, /**< a copy of one */
    WG_BILINEAR     /**< a weighted mean of four */
} wg_upsample_mode;

/** The new size along H and along W, or the factor by which the size is multiplied and rounded
 * down. */
typedef struct wg_upsample2d_options {
    wg_upsample_mode mode; /**< nearest or bilinear */
    bool align_corners;    /**< bilinear only: corners keep their values */
    int64_t size[2];       /**< 0: from scale */
    double scale[2];       /**< used where size is 0 */
} wg_upsample2d_options;

/** Attributes of upsample2d and upsample2d_grad. */
typedef struct wg_upsample_attrs {
    wg_upsample_mode mode; /**< nearest or bilinear */
    bool align_corners;    /**< bilinear only */
    int64_t height;        /**< of the result */
    int64_t width;         /**< of the result */
} wg_upsample_attrs;

/** The elements of x that one element of y reads: (1 - weight) x[first] + weight x[second]. */
typedef struct wg_upsample_tap {
    int64_t first;  /**< index in x */
    int64_t second; /**< index in x */
    double weight;  /**< in [0, 1) */
} wg_upsample_tap;

/** What element o reads along an axis that is resampled from `from` to `to` elements. */
static inline wg_upsample_tap wg_upsample_tap_of(const wg_upsample_attrs *a, int64_t from,
                                                 int64_t to, int64_t o)
{
    wg_upsample_tap t = {o * from / to, o * from / to, 0};
    if (a->mode == WG_NEAREST)
        return t;
    double s = a->align_corners ? (to > 1 ? (double)(o * (from - 1)) / (double)(to - 1) : 0)
                                : (double)((2 * o + 1) * from) / (double)(2 * to) - 0.5;
    if (s < 0)
        s = 0;
    t.first = (int64_t)s < from - 1 ? (int64_t)s : from - 1;
    t.second = t.first < from - 1 ? t.first + 1 : t.first;
    t.weight = s - (double)t.first;
    return t;
}

/** y[N, C, P, Q] from x[N, C, H, W], float; sizes are 1 to 2^31 - 1, larger or smaller than x's. */
WG_API wg_value *(wg_upsample2d)(const char *at, wg_value *x, const wg_upsample2d_options *options);
#define wg_upsample2d(...) wg_upsample2d(WG_HERE, __VA_ARGS__)
/** dx[N, C, height, width] from dy[N, C, P, Q]: the transpose of the map that `a` describes. */
WG_API wg_value *(wg_upsample2d_grad)(const char *at, wg_value *dy, const wg_upsample_attrs *a);
#define wg_upsample2d_grad(...) wg_upsample2d_grad(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
#endif
