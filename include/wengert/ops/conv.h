/* Convolution (cross-correlation, as in every neural-network library) and its adjoints.
 *
 * All of them come from one form, which is linear in each of three tensors:
 *
 *   T(x, w, dy) = sum over b, o, c, windows (p, q), taps (k, l) of
 *                 dy[b, o, p, q]  w[o, c, k, l]  x[b, c', i, j],
 *                 i = p stride - padding + k dilation,  j = q stride - padding + l dilation,
 *
 * where x is 0 in the padding and c' is channel c of the group of output channel o.  (A weight that
 * is NaN or infinite may make NaN of that 0, or be left out: backends differ.)  Leaving out
 * one of the three tensors gives the three primitives:
 *
 *   conv2d        (x, w)  -> y     T(x, w, dy) = <conv2d(x, w), dy>
 *   conv2d_grad_x (dy, w) -> dx                = <x, conv2d_grad_x(dy, w)>, transposed convolution
 *   conv2d_grad_w (x, dy) -> dw                = <w, conv2d_grad_w(x, dy)>
 *
 * so the derivatives of each are built from the other two, to any order.  All three share the
 * geometry of wengert/ops/sliding.h along H and W.  One dimension is the case H = 1.  In three
 * dimensions, along D, H and W, the primitives are conv3d, conv3d_grad_x and conv3d_grad_w. */
#ifndef WG_OPS_CONV_H
#define WG_OPS_CONV_H

#include "wengert/ops/sliding.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of conv1d and conv_transpose1d.  Zero means the default: 1 for stride, dilation and
 * groups, else 0. */
typedef struct wg_conv1d_options {
    int64_t stride;         /**< between windows */
    int64_t padding;        /**< zeros at each end of x */
    int64_t dilation;       /**< between the taps of a window */
    int64_t groups;         /**< of channels, each convolved separately */
    int64_t output_padding; /**< conv_transpose1d only: added to the size of y; < stride */
} wg_conv1d_options;

/** Options of conv2d and conv_transpose2d: along H and along W, with defaults as above. */
typedef struct wg_conv2d_options {
    int64_t stride[2];         /**< between windows */
    int64_t padding[2];        /**< zeros at each end of x */
    int64_t dilation[2];       /**< between the taps of a window */
    int64_t groups;            /**< of channels, each convolved separately */
    int64_t output_padding[2]; /**< conv_transpose2d only */
} wg_conv2d_options;

/** Options of conv3d and conv_transpose3d: along D, H and W, with defaults as above. */
typedef struct wg_conv3d_options {
    int64_t stride[3];         /**< between windows */
    int64_t padding[3];        /**< zeros at each end of x */
    int64_t dilation[3];       /**< between the taps of a window */
    int64_t groups;            /**< of channels, each convolved separately */
    int64_t output_padding[3]; /**< conv_transpose3d only */
} wg_conv3d_options;

/** Attributes of every op of this family, along D, H and W.  An op of two dimensions uses the last
 * two entries, an op of one dimension the last. */
typedef struct wg_conv_attrs {
    int64_t stride[3];         /**< between windows */
    int64_t padding[3];        /**< zeros at each end of x */
    int64_t dilation[3];       /**< between the taps of a window */
    int64_t groups;            /**< of channels */
    int64_t output_padding[3]; /**< conv_transpose only: added to the size of y */
    int64_t size[3];           /**< grad_x: of x; grad_w: of the kernel */
} wg_conv_attrs;

/** All sizes of a convolution: x[batch, groups * in, d.size, h.size, w.size], w[groups * out, in,
 * d.kernel, h.kernel, w.kernel], y[batch, groups * out, d.count, h.count, w.count].  Along an axis
 * that the tensors do not have, one window of one tap lies on one position. */
typedef struct wg_conv_geometry {
    int64_t batch;  /**< N */
    int64_t groups; /**< of channels */
    int64_t in;     /**< input channels of a group */
    int64_t out;    /**< output channels of a group */
    wg_sliding d;   /**< windows along D */
    wg_sliding h;   /**< windows along H */
    wg_sliding w;   /**< windows along W */
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
/** y[N, O, R, P, Q]: the same for x[N, C, D, H, W] and weight[O, C/groups, kD, kH, kW]. */
WG_API wg_value *(wg_conv3d)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                             const wg_conv3d_options *options);
#define wg_conv3d(...) wg_conv3d(WG_HERE, __VA_ARGS__)
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
/** y[N, O, R, P, Q]: the same for x[N, C, D, H, W] and weight[C, O/groups, kD, kH, kW]. */
WG_API wg_value *(wg_conv_transpose3d)(const char *at, wg_value *x, wg_value *weight,
                                       wg_value *bias, const wg_conv3d_options *options);
#define wg_conv_transpose3d(...) wg_conv_transpose3d(WG_HERE, __VA_ARGS__)
/** y[N, O, P]: the same for x[N, C, L] and weight[C, O/groups, K]. */
WG_API wg_value *(wg_conv_transpose1d)(const char *at, wg_value *x, wg_value *weight,
                                       wg_value *bias, const wg_conv1d_options *options);
#define wg_conv_transpose1d(...) wg_conv_transpose1d(WG_HERE, __VA_ARGS__)

/** dx[N, C, H, W] of dy[N, O, P, Q] and weight[O, C/groups, kH, kW], for an x of a->size. */
WG_API wg_value *(wg_conv2d_grad_x)(const char *at, wg_value *dy, wg_value *weight,
                                    const wg_conv_attrs *a);
#define wg_conv2d_grad_x(...) wg_conv2d_grad_x(WG_HERE, __VA_ARGS__)
/** dw[O, C/groups, kH, kW] of x[N, C, H, W] and dy[N, O, P, Q], for a kernel of a->size. */
WG_API wg_value *(wg_conv2d_grad_w)(const char *at, wg_value *x, wg_value *dy,
                                    const wg_conv_attrs *a);
#define wg_conv2d_grad_w(...) wg_conv2d_grad_w(WG_HERE, __VA_ARGS__)
/** dx[N, C, D, H, W] of dy[N, O, R, P, Q] and weight[O, C/groups, kD, kH, kW], for an x of
 * a->size. */
WG_API wg_value *(wg_conv3d_grad_x)(const char *at, wg_value *dy, wg_value *weight,
                                    const wg_conv_attrs *a);
#define wg_conv3d_grad_x(...) wg_conv3d_grad_x(WG_HERE, __VA_ARGS__)
/** dw[O, C/groups, kD, kH, kW] of x[N, C, D, H, W] and dy[N, O, R, P, Q], for a kernel of
 * a->size. */
WG_API wg_value *(wg_conv3d_grad_w)(const char *at, wg_value *x, wg_value *dy,
                                    const wg_conv_attrs *a);
#define wg_conv3d_grad_w(...) wg_conv3d_grad_w(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
