/* Numbers of 8 bits, for products in integers: four times as many fit into a cache line and into an
 * instruction.
 *
 * A row x of K floats becomes K integers q of -127 to 127 and one scale s with x = s q up to s / 2
 * each: symmetric, by the largest magnitude of the row, so that no number is cut off.  A product of
 * two such rows is an exact sum of integers, times both scales.
 *
 * These ops are for using a model, not for training it: rounding has no derivative, and none is
 * made up. */
#ifndef WG_OPS_QUANTIZE_H
#define WG_OPS_QUANTIZE_H

#include "wengert/ops/linalg.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Integers on each side of 0. */
#define WG_QUANTIZE_STEPS 127.0
/** A row with no larger magnitude counts as 0: 127 / it must not overflow in f32. */
#define WG_QUANTIZE_MIN 1e-30
/** The largest number of inputs of a product: 2^16 128 255 < 2^31. */
enum { WG_QUANTIZED_INPUTS = 1 << 16 };

/** Of quantized_linear. */
typedef struct wg_quantized_linear_attrs {
    bool relu; /**< y = max(y, 0) */
} wg_quantized_linear_attrs;

/** q = round(x / s) as i8 [..., K], halves to even, and as result 1 (wg_result_of) s = max |x| /
 * 127 over the last axis [...], of x's dtype; x float [..., K].  A row whose largest magnitude is
 * at most WG_QUANTIZE_MIN has q = 0 and s = 0; one with a number that is not finite, an s that is
 * not. */
WG_API wg_value *(wg_quantize)(const char *at, wg_value *x);
#define wg_quantize(...) wg_quantize(WG_HERE, __VA_ARGS__)

/** y[..., out] = activation(x_scale[...] weight_scale[out] (x weight')[..., out] + bias[out]) for x
 * i8 [..., in] and weight i8 [out, in] with the scales that wg_quantize gives, and bias [out],
 * which may be NULL; y, scales and bias of one float dtype.  An error for more than
 * WG_QUANTIZED_INPUTS inputs, whose sums might not fit 32 bits. */
WG_API wg_value *(wg_quantized_linear)(const char *at, wg_value *x, wg_value *x_scale,
                                       wg_value *weight, wg_value *weight_scale, wg_value *bias,
                                       wg_activation activation);
#define wg_quantized_linear(...) wg_quantized_linear(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
