/* Resampling of signals x[N, C, L], images x[N, C, H, W] and volumes x[N, C, D, H, W] to another
 * size, by one linear map along each axis.  Element o of `to` elements reads, out of `from`
 * elements,
 *
 *   nearest                   x[floor(o from / to)]
 *   linear                    at  s = max(0, (o + 1/2) from / to - 1/2)    centres match
 *   cubic                     at  s = (o + 1/2) from / to - 1/2
 *   both, corners aligned     at  s = o (from - 1) / (to - 1)              ends match
 *
 * With i = floor(s) and t = s - i, position s reads
 *
 *   linear   (1 - t) x[i] + t x[i + 1]
 *   cubic    k(1 + t) x[i - 1] + k(t) x[i] + k(1 - t) x[i + 1] + k(2 - t) x[i + 2]
 *
 * where k is the kernel of cubic convolution (Keys, "Cubic convolution interpolation for digital
 * image processing", 1981) with a = -3/4, as in PyTorch and OpenCV:
 *
 *   k(d) = (a + 2) d^3 - (a + 3) d^2 + 1         0 <= d <= 1
 *   k(d) = a (d^3 - 5 d^2 + 8 d - 4)             1 <= d <= 2
 *
 * Positions beyond an end read the element there.  An axis that keeps its size is copied.
 * upsample2d_grad is the transposed map; each is the other's derivative.  Signals and volumes are
 * resampled as images: one axis after another gives the same map. */
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
    WG_NEAREST = 0,          /**< a copy of one */
    WG_BILINEAR,             /**< a weighted mean of two along each axis */
    WG_BICUBIC,              /**< a weighted sum of four along each axis, which may overshoot */
    WG_LINEAR = WG_BILINEAR, /**< WG_BILINEAR of signals and volumes */
    WG_CUBIC = WG_BICUBIC    /**< WG_BICUBIC of signals and volumes */
} wg_upsample_mode;

/** The new size of L, or the factor by which the size is multiplied and rounded down. */
typedef struct wg_upsample1d_options {
    wg_upsample_mode mode; /**< nearest, linear or cubic */
    bool align_corners;    /**< not nearest: the ends keep their values */
    int64_t size;          /**< 0: from scale */
    double scale;          /**< used where size is 0 */
} wg_upsample1d_options;

/** The same along H and along W. */
typedef struct wg_upsample2d_options {
    wg_upsample_mode mode; /**< nearest, bilinear or bicubic */
    bool align_corners;    /**< not nearest: corners keep their values */
    int64_t size[2];       /**< 0: from scale */
    double scale[2];       /**< used where size is 0 */
} wg_upsample2d_options;

/** The same along D, H and W. */
typedef struct wg_upsample3d_options {
    wg_upsample_mode mode; /**< nearest, linear or cubic */
    bool align_corners;    /**< not nearest: corners keep their values */
    int64_t size[3];       /**< 0: from scale */
    double scale[3];       /**< used where size is 0 */
} wg_upsample3d_options;

/** Attributes of every op of this family; that of one axis uses the field of W. */
typedef struct wg_upsample_attrs {
    wg_upsample_mode mode; /**< nearest, bilinear or bicubic */
    bool align_corners;    /**< not nearest */
    int64_t height;        /**< of the result */
    int64_t width;         /**< of the result */
    int64_t depth;         /**< of the result of upsample3d */
} wg_upsample_attrs;

/** The elements of x that one element of y reads along an axis: the sum over k < count of
 * weight[k] x[index[k]].  An index may occur twice, at the ends. */
typedef struct wg_upsample_taps {
    int count;        /**< 1, 2 or 4, the same for all elements of an axis */
    int64_t index[4]; /**< in x, not falling */
    double weight[4]; /**< their sum is 1 */
} wg_upsample_taps;

/** What element o reads along an axis that is resampled from `from` to `to` elements. */
static inline wg_upsample_taps wg_upsample_taps_of(const wg_upsample_attrs *a, int64_t from,
                                                   int64_t to, int64_t o)
{
    wg_upsample_taps y = {1, {0, 0, 0, 0}, {1, 0, 0, 0}};
    if (a->mode == WG_NEAREST || from == to) {
        y.index[0] = o * from / to;
        return y;
    }
    double s = a->align_corners ? (to > 1 ? (double)(o * (from - 1)) / (double)(to - 1) : 0)
                                : (double)((2 * o + 1) * from) / (double)(2 * to) - 0.5;
    if (a->mode == WG_BICUBIC) {
        int64_t i = s < 0 ? -1 : (int64_t)s; /* s is at least -1/2 */
        double t = s - (double)i, u = 1 - t, c = -0.75;
        y.count = 4;
        for (int k = 0; k < 4; k++)
            y.index[k] = i + k < 1 ? 0 : i + k > from ? from - 1 : i + k - 1;
        y.weight[0] = c * t * u * u;
        y.weight[1] = ((c + 2) * t - (c + 3)) * t * t + 1;
        y.weight[2] = ((c + 2) * u - (c + 3)) * u * u + 1;
        y.weight[3] = c * u * t * t;
        return y;
    }
    if (s < 0)
        s = 0;
    int64_t i = (int64_t)s < from - 1 ? (int64_t)s : from - 1;
    y.count = 2;
    y.index[0] = i;
    y.index[1] = i < from - 1 ? i + 1 : i;
    y.weight[1] = s - (double)i;
    y.weight[0] = 1 - y.weight[1];
    return y;
}

/** y[N, C, P, Q] from x[N, C, H, W], float; sizes are 1 to 2^31 - 1, larger or smaller than x's. */
WG_API wg_value *(wg_upsample2d)(const char *at, wg_value *x, const wg_upsample2d_options *options);
#define wg_upsample2d(...) wg_upsample2d(WG_HERE, __VA_ARGS__)
/** y[N, C, P] from x[N, C, L]. */
WG_API wg_value *(wg_upsample1d)(const char *at, wg_value *x, const wg_upsample1d_options *options);
#define wg_upsample1d(...) wg_upsample1d(WG_HERE, __VA_ARGS__)
/** y[N, C, O, P, Q] from x[N, C, D, H, W]. */
WG_API wg_value *(wg_upsample3d)(const char *at, wg_value *x, const wg_upsample3d_options *options);
#define wg_upsample3d(...) wg_upsample3d(WG_HERE, __VA_ARGS__)
/** dx[N, C, height, width] from dy[N, C, P, Q]: the transpose of the map that `a` describes. */
WG_API wg_value *(wg_upsample2d_grad)(const char *at, wg_value *dy, const wg_upsample_attrs *a);
#define wg_upsample2d_grad(...) wg_upsample2d_grad(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
#endif
