/* Quantisation to 8 bits, for products in integers: four times as many numbers as of f32 fit into a
 * cache line and into a vector register.
 *
 * A row x of K floats becomes K integers q of -127 to 127 and one scale s such that
 * |x - s q| <= s / 2: symmetric, scaled by the largest magnitude of the row, so nothing is clipped.
 * A product of two such rows is an exact sum of integers, times both scales.
 *
 * These ops are for inference.  Rounding has the derivative zero, so gradients reach scales and
 * biases, and a quantised tensor only through its scales. */
#ifndef WG_OPS_QUANTIZE_H
#define WG_OPS_QUANTIZE_H

#include "wengert/ops/linalg.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The largest quantised number. */
#define WG_QUANTIZE_STEPS 127.0
/** A row whose largest magnitude is at most this counts as 0, so that 127 / magnitude is finite. */
#define WG_QUANTIZE_MIN 1e-30
/** Maximum number of inputs of a product, so that sums fit 32 bits: 2^16 * 128 * 255 < 2^31. */
enum { WG_QUANTIZED_INPUTS = 1 << 16 };

/** Attributes of quantized_linear. */
typedef struct wg_quantized_linear_attrs {
    bool relu; /**< y = max(y, 0) */
} wg_quantized_linear_attrs;

/** q = round(x / s) as i8 [..., K], halves to even, and as result 1 (wg_result_of) s = max |x| /
 * 127 over the last axis [...], of x's dtype; x float [..., K].  A row whose largest magnitude is
 * at most WG_QUANTIZE_MIN has q = 0 and s = 0; a row with a number that is not finite has an s that
 * is not finite. */
WG_API wg_value *(wg_quantize)(const char *at, wg_value *x);
#define wg_quantize(...) wg_quantize(WG_HERE, __VA_ARGS__)

/** y[..., out] = activation(x_scale[...] weight_scale[out] (x weight')[..., out] + bias[out]) for x
 * i8 [..., in] and weight i8 [out, in] with the scales that wg_quantize gives, and bias [out],
 * which may be NULL; y, scales and bias of one float dtype.  More than WG_QUANTIZED_INPUTS inputs
 * are an error. */
WG_API wg_value *(wg_quantized_linear)(const char *at, wg_value *x, wg_value *x_scale,
                                       wg_value *weight, wg_value *weight_scale, wg_value *bias,
                                       wg_activation activation);
#define wg_quantized_linear(...) wg_quantized_linear(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
