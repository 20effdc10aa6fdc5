/* Elementwise ops, with broadcasting where there are two operands or more. */
#ifndef WG_OPS_ELEMENTWISE_H
#define WG_OPS_ELEMENTWISE_H

#include "graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_cast_attrs {
    wg_dtype dtype;
} wg_cast_attrs;

/* ---- two operands: same dtype, shapes broadcast -------------------------------------------------- */

/** y = a + b. */
WG_API wg_value *(wg_add)(const char *at, wg_value *a, wg_value *b);
#define wg_add(...) wg_add(WG_HERE, __VA_ARGS__)
/** y = a - b. */
WG_API wg_value *(wg_sub)(const char *at, wg_value *a, wg_value *b);
#define wg_sub(...) wg_sub(WG_HERE, __VA_ARGS__)
/** y = a b. */
WG_API wg_value *(wg_mul)(const char *at, wg_value *a, wg_value *b);
#define wg_mul(...) wg_mul(WG_HERE, __VA_ARGS__)
/** y = a / b; floats. */
WG_API wg_value *(wg_div)(const char *at, wg_value *a, wg_value *b);
#define wg_div(...) wg_div(WG_HERE, __VA_ARGS__)

/** y = s x and y = x + s, for a number s. */
WG_API wg_value *(wg_scale)(const char *at, wg_value *x, double s);
#define wg_scale(...) wg_scale(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_shift)(const char *at, wg_value *x, double s);
#define wg_shift(...) wg_shift(WG_HERE, __VA_ARGS__)

/* ---- one operand --------------------------------------------------------------------------------- */

/** y = -x. */
WG_API wg_value *(wg_neg)(const char *at, wg_value *x);
#define wg_neg(...) wg_neg(WG_HERE, __VA_ARGS__)
/** y = exp(x). */
WG_API wg_value *(wg_exp)(const char *at, wg_value *x);
#define wg_exp(...) wg_exp(WG_HERE, __VA_ARGS__)
/** y = ln(x); x <= 0 gives -inf or NaN, as C's log does. */
WG_API wg_value *(wg_log)(const char *at, wg_value *x);
#define wg_log(...) wg_log(WG_HERE, __VA_ARGS__)
/** y = tanh(x). */
WG_API wg_value *(wg_tanh)(const char *at, wg_value *x);
#define wg_tanh(...) wg_tanh(WG_HERE, __VA_ARGS__)
/** y = max(x, 0); the derivative at 0 is 0; NaN stays NaN. */
WG_API wg_value *(wg_relu)(const char *at, wg_value *x);
#define wg_relu(...) wg_relu(WG_HERE, __VA_ARGS__)
/** y = 1 where x > 0, else 0, in x's dtype: the derivative of relu. */
WG_API wg_value *(wg_relu_mask)(const char *at, wg_value *x);
#define wg_relu_mask(...) wg_relu_mask(WG_HERE, __VA_ARGS__)
/** y = x in another dtype.  Floats to integers truncate and saturate, NaN becomes 0; anything to bool is
 *  x != 0. */
WG_API wg_value *(wg_cast)(const char *at, wg_value *x, wg_dtype dtype);
#define wg_cast(...) wg_cast(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
