/* Pooling: a maximum or a mean over sliding windows of each channel (wengert/ops/sliding.h).
 *
 * A maximum also returns its position: `index` is the position i W + j in the plane of one
 * channel, and the pair
 *
 *   pool_gather (x, index)[b, c, o]  =  x[b, c, index[b, c, o]]
 *   pool_scatter(y, index)[b, c, i]  =  sum of y[b, c, o] over the o with index[b, c, o] = i
 *
 * are each other's adjoints: pool_scatter is the gradient of the maximum.  Likewise avg_pool2d and
 * avg_pool2d_grad. */
#ifndef WG_OPS_POOL_H
#define WG_OPS_POOL_H

#include "wengert/ops/sliding.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Zero means the default: the stride is the kernel, no padding, dilation 1.  The kernel must be
 * given; the padding is at most half of it. */
typedef struct wg_pool1d_options {
    int64_t kernel;       /**< size of a window */
    int64_t stride;       /**< between windows */
    int64_t padding;      /**< at each end of x */
    int64_t dilation;     /**< between taps; of maxima only */
    bool exclude_padding; /**< means are over elements of x only; else padding counts as zeros */
    bool ceil_mode;       /**< a last window that ends behind the padding counts, too */
} wg_pool1d_options;

/** The same along H and along W. */
typedef struct wg_pool2d_options {
    int64_t kernel[2];    /**< size of a window */
    int64_t stride[2];    /**< between windows */
    int64_t padding[2];   /**< at each end */
    int64_t dilation[2];  /**< between taps; of maxima only */
    bool exclude_padding; /**< means over the elements of x only */
    bool ceil_mode;       /**< with windows that end behind the padding */
} wg_pool2d_options;

/** The same along D, H and W. */
typedef struct wg_pool3d_options {
    int64_t kernel[3];    /**< size of a window */
    int64_t stride[3];    /**< between windows */
    int64_t padding[3];   /**< at each end */
    int64_t dilation[3];  /**< between taps; of maxima only */
    bool exclude_padding; /**< means over the elements of x only */
    bool ceil_mode;       /**< with windows that end behind the padding */
} wg_pool3d_options;

/** Attributes of every op of this family; ops of one dimension use the fields of W. */
typedef struct wg_pool_attrs {
    int64_t kernel_h;     /**< height of a window */
    int64_t kernel_w;     /**< width of a window */
    int64_t stride_h;     /**< between windows along H */
    int64_t stride_w;     /**< between windows along W */
    int64_t padding_h;    /**< at each end of H */
    int64_t padding_w;    /**< at each end of W */
    int64_t dilation_h;   /**< between taps along H */
    int64_t dilation_w;   /**< between taps along W */
    bool exclude_padding; /**< means over the elements of x only */
    int64_t height;       /**< of the result of pool_scatter and avg_pool2d_grad */
    int64_t width;        /**< of the result of pool_scatter and avg_pool2d_grad */
    bool ceil_mode;       /**< the last window may end behind the padding */
    int64_t kernel_d;     /**< depth of a window */
    int64_t stride_d;     /**< between windows along D */
    int64_t padding_d;    /**< at each end of D */
    int64_t dilation_d;   /**< between taps along D */
} wg_pool_attrs;

/** The windows along H and W of a valid node that maps planes of shape `from` to planes of `to`. */
WG_API void wg_pool_windows(const wg_pool_attrs *a, const wg_shape *from, const wg_shape *to,
                            wg_sliding *h, wg_sliding *w);

/** y[N, C, P, Q]: the maximum of x[N, C, H, W], float, in each window, where
 * P = floor((H + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 and Q likewise.  With
 * ceil_mode the quotient is rounded up, but for a last window that would begin behind x.
 * wg_result_of(y, 1) is its index (i64, of y's shape), the first among equals.  A NaN is larger
 * than any number. */
WG_API wg_value *(wg_max_pool2d)(const char *at, wg_value *x, const wg_pool2d_options *options);
#define wg_max_pool2d(...) wg_max_pool2d(WG_HERE, __VA_ARGS__)
/** y[N, C, P] and index[N, C, P] of x[N, C, L]. */
WG_API wg_value *(wg_max_pool1d)(const char *at, wg_value *x, const wg_pool1d_options *options);
#define wg_max_pool1d(...) wg_max_pool1d(WG_HERE, __VA_ARGS__)

/** y[N, C, O, P, Q] of x[N, C, D, H, W], without an index. */
WG_API wg_value *(wg_max_pool3d)(const char *at, wg_value *x, const wg_pool3d_options *options);
#define wg_max_pool3d(...) wg_max_pool3d(WG_HERE, __VA_ARGS__)

/** y[N, C, P, Q]: the mean of x[N, C, H, W] in each window.  What ends behind the padding
 * (ceil_mode) does not count. */
WG_API wg_value *(wg_avg_pool2d)(const char *at, wg_value *x, const wg_pool2d_options *options);
#define wg_avg_pool2d(...) wg_avg_pool2d(WG_HERE, __VA_ARGS__)
/** y[N, C, P] of x[N, C, L]. */
WG_API wg_value *(wg_avg_pool1d)(const char *at, wg_value *x, const wg_pool1d_options *options);
#define wg_avg_pool1d(...) wg_avg_pool1d(WG_HERE, __VA_ARGS__)
/** y[N, C, O, P, Q] of x[N, C, D, H, W]. */
WG_API wg_value *(wg_avg_pool3d)(const char *at, wg_value *x, const wg_pool3d_options *options);
#define wg_avg_pool3d(...) wg_avg_pool3d(WG_HERE, __VA_ARGS__)

/** y[N, C, 1, 1]: the maximum of each plane of x[N, C, H, W]; H and W are not 0. */
WG_API wg_value *(wg_global_max_pool2d)(const char *at, wg_value *x);
#define wg_global_max_pool2d(...) wg_global_max_pool2d(WG_HERE, __VA_ARGS__)
/** y[N, C, 1, 1]: the mean of each plane of x[N, C, H, W]; H and W are not 0. */
WG_API wg_value *(wg_global_avg_pool2d)(const char *at, wg_value *x);
#define wg_global_avg_pool2d(...) wg_global_avg_pool2d(WG_HERE, __VA_ARGS__)
/** y[N, C, 1, 1, 1]: the maximum of each volume of x[N, C, D, H, W]; D, H and W are not 0. */
WG_API wg_value *(wg_global_max_pool3d)(const char *at, wg_value *x);
#define wg_global_max_pool3d(...) wg_global_max_pool3d(WG_HERE, __VA_ARGS__)
/** y[N, C, 1, 1, 1]: the mean of each volume of x[N, C, D, H, W]; D, H and W are not 0. */
WG_API wg_value *(wg_global_avg_pool3d)(const char *at, wg_value *x);
#define wg_global_avg_pool3d(...) wg_global_avg_pool3d(WG_HERE, __VA_ARGS__)

/** y[N, C, height, width]: the maximum of x[N, C, H, W], float, in windows of any count, as PyTorch
 * places them: window i of m along an axis of n elements is [floor(i n / m), ceil((i + 1) n / m)).
 * A NaN is larger than any number. */
WG_API wg_value *(wg_adaptive_max_pool2d)(const char *at, wg_value *x, int64_t height,
                                          int64_t width);
#define wg_adaptive_max_pool2d(...) wg_adaptive_max_pool2d(WG_HERE, __VA_ARGS__)
/** y[N, C, size] of x[N, C, L]. */
WG_API wg_value *(wg_adaptive_max_pool1d)(const char *at, wg_value *x, int64_t size);
#define wg_adaptive_max_pool1d(...) wg_adaptive_max_pool1d(WG_HERE, __VA_ARGS__)
/** y[N, C, depth, height, width] of x[N, C, D, H, W]. */
WG_API wg_value *(wg_adaptive_max_pool3d)(const char *at, wg_value *x, int64_t depth,
                                          int64_t height, int64_t width);
#define wg_adaptive_max_pool3d(...) wg_adaptive_max_pool3d(WG_HERE, __VA_ARGS__)
/** y[N, C, height, width]: the mean of x[N, C, H, W] in each of these windows. */
WG_API wg_value *(wg_adaptive_avg_pool2d)(const char *at, wg_value *x, int64_t height,
                                          int64_t width);
#define wg_adaptive_avg_pool2d(...) wg_adaptive_avg_pool2d(WG_HERE, __VA_ARGS__)
/** y[N, C, size] of x[N, C, L]. */
WG_API wg_value *(wg_adaptive_avg_pool1d)(const char *at, wg_value *x, int64_t size);
#define wg_adaptive_avg_pool1d(...) wg_adaptive_avg_pool1d(WG_HERE, __VA_ARGS__)
/** y[N, C, depth, height, width] of x[N, C, D, H, W]. */
WG_API wg_value *(wg_adaptive_avg_pool3d)(const char *at, wg_value *x, int64_t depth,
                                          int64_t height, int64_t width);
#define wg_adaptive_avg_pool3d(...) wg_adaptive_avg_pool3d(WG_HERE, __VA_ARGS__)

/** y[N, C, P, Q]: the elements of x[N, C, H, W] at index[N, C, P, Q] (i64).  An index outside
 * [0, H W) ends the run with WG_EDATA. */
WG_API wg_value *(wg_pool_gather)(const char *at, wg_value *x, wg_value *index);
#define wg_pool_gather(...) wg_pool_gather(WG_HERE, __VA_ARGS__)
/** x[N, C, height, width]: each y[N, C, P, Q] is added at its index; all other elements are 0. */
WG_API wg_value *(wg_pool_scatter)(const char *at, wg_value *y, wg_value *index, int64_t height,
                                   int64_t width);
#define wg_pool_scatter(...) wg_pool_scatter(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
