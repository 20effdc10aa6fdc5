/* Convolution (cross-correlation, as in every neural-network library) and its adjoints.
 *
 * One form that is linear in each of three tensors stands behind all of them:
 *
 *   T(x, w, dy) = sum over b, o, c, windows (p, q), taps (k, l) of
 *                 dy[b, o, p, q]  w[o, c, k, l]  x[b, c', i, j],
 *                 i = p stride - padding + k dilation,  j = q stride - padding + l dilation,
 *
 * where x is 0 in the padding and c' is channel c of the group of output channel o.  Leaving one of
 * the three out gives the three primitives:
 *
 *   conv2d        (x, w)  -> y     T(x, w, dy) = <conv2d(x, w), dy>
 *   conv2d_grad_x (dy, w) -> dx                = <x, conv2d_grad_x(dy, w)>, transposed convolution
 *   conv2d_grad_w (x, dy) -> dw                = <w, conv2d_grad_w(x, dy)>
 *
 * so the derivative of each is made of the other two, to any order.  The geometry along H and W is
 * that of wengert/ops/sliding.h, one for all three.  One dimension is the case H = 1. */
#ifndef WG_OPS_CONV_H
#define WG_OPS_CONV_H

#include "wengert/ops/sliding.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Of conv1d, conv_transpose1d.  Zero means the default: stride, dilation and groups 1. */
typedef struct wg_conv1d_options {
    int64_t stride;         /**< between windows */
    int64_t padding;        /**< zeros at each end of x */
    int64_t dilation;       /**< between the taps of a window */
    int64_t groups;         /**< of channels, each convolved apart */
    int64_t output_padding; /**< conv_transpose1d only: adds to the size of y, below the stride */
} wg_conv1d_options;

/** Of conv2d, conv_transpose2d: along H and along W, as above.  Zero means the default. */
typedef struct wg_conv2d_options {
    int64_t stride[2];         /**< between windows */
    int64_t padding[2];        /**< zeros at each end of x */
    int64_t dilation[2];       /**< between the taps of a window */
    int64_t groups;            /**< of channels, each convolved apart */
    int64_t output_padding[2]; /**< conv_transpose2d only */
} wg_conv2d_options;

/** Of every op of this family, as kernels see it; ops of one dimension use the w fields. */
typedef struct wg_conv_attrs {
    int64_t stride_h, stride_w;                 /**< between windows */
    int64_t padding_h, padding_w;               /**< zeros at each end */
    int64_t dilation_h, dilation_w;             /**< between taps */
    int64_t groups;                             /**< of channels */
    int64_t output_padding_h, output_padding_w; /**< conv_transpose only */
    int64_t height, width;                      /**< grad_x: those of x; grad_w: of the kernel */
} wg_conv_attrs;

/** All sizes of a convolution: x[batch, groups * in, h.size, w.size], w[groups * out, in, h.kernel,
 * w.kernel], y[batch, groups * out, h.count, w.count]. */
typedef struct wg_conv_geometry {
    int64_t batch;   /**< N */
    int64_t groups;  /**< of channels */
    int64_t in, out; /**< channels of one group */
    wg_sliding h, w; /**< along H, along W */
} wg_conv_geometry;

/** The geometry of a valid node from the shapes of x, w and y, whichever of these it computes. */
WG_API wg_conv_geometry wg_conv_geometry_of(const wg_conv_attrs *a, const wg_shape *x,
                                            const wg_shape *w, const wg_shape *y);

/** y[N, O, P, Q]: convolution of x[N, C, H, W] with weight[O, C/groups, kH, kW], plus bias[O] (may
 * be NULL), where P = floor((H + 2 padding - dilation (kH - 1) - 1) / stride) + 1 and Q likewise.
 * Floats of one dtype.  `options` may be NULL. */
WG_API wg_value *(wg_conv2d)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                             const wg_conv2d_options *options);
#define wg_conv2d(...) wg_conv2d(WG_HERE, __VA_ARGS__)
/** y[N, O, P]: the same for x[N, C, L] and weight[O, C/groups, K]. */
WG_API wg_value *(wg_conv1d)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                             const wg_conv1d_options *options);
#define wg_conv1d(...) wg_conv1d(WG_HERE, __VA_ARGS__)

/** y[N, O, P, Q]: transposed convolution (the adjoint of conv2d's map of x) of x[N, C, H, W] with
 * weight[C, O/groups, kH, kW], plus bias[O] (may be NULL), where
 * P = (H - 1) stride - 2 padding + dilation (kH - 1) + 1 + output_padding and Q likewise, with an
 * output_padding below the stride. */
WG_API wg_value *(wg_conv_transpose2d)(const char *at, wg_value *x, wg_value *weight,
                                       wg_value *bias, const wg_conv2d_options *options);
#define wg_conv_transpose2d(...) wg_conv_transpose2d(WG_HERE, __VA_ARGS__)
/** y[N, O, P]: the same for x[N, C, L] and weight[C, O/groups, K]. */
WG_API wg_value *(wg_conv_transpose1d)(const char *at, wg_value *x, wg_value *weight,
                                       wg_value *bias, const wg_conv1d_options *options);
#define wg_conv_transpose1d(...) wg_conv_transpose1d(WG_HERE, __VA_ARGS__)

/** dx[N, C, H, W] of dy[N, O, P, Q] and weight, for an x of `height` by `width`. */
WG_API wg_value *(wg_conv2d_grad_x)(const char *at, wg_value *dy, wg_value *weight,
                                    const wg_conv_attrs *a);
#define wg_conv2d_grad_x(...) wg_conv2d_grad_x(WG_HERE, __VA_ARGS__)
/** dw[O, C/groups, kH, kW] of x and dy, for a kernel of `height` by `width`. */
WG_API wg_value *(wg_conv2d_grad_w)(const char *at, wg_value *x, wg_value *dy,
                                    const wg_conv_attrs *a);
#define wg_conv2d_grad_w(...) wg_conv2d_grad_w(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
