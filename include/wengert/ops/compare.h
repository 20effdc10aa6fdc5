/* Comparisons, logic and choice by a condition; shapes broadcast. */
#ifndef WG_OPS_COMPARE_H
#define WG_OPS_COMPARE_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Comparisons of two operands of the same dtype; the result is bool.  With NaN all are false,
 * except not_equal. */
WG_API wg_value *(wg_equal)(const char *at, wg_value *a, wg_value *b);
#define wg_equal(...) wg_equal(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_not_equal)(const char *at, wg_value *a, wg_value *b);
#define wg_not_equal(...) wg_not_equal(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_less)(const char *at, wg_value *a, wg_value *b);
#define wg_less(...) wg_less(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_less_equal)(const char *at, wg_value *a, wg_value *b);
#define wg_less_equal(...) wg_less_equal(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_greater)(const char *at, wg_value *a, wg_value *b);
#define wg_greater(...) wg_greater(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_greater_equal)(const char *at, wg_value *a, wg_value *b);
#define wg_greater_equal(...) wg_greater_equal(WG_HERE, __VA_ARGS__)

/** What kind of number each element is: x is a float, the result bool. */
WG_API wg_value *(wg_isnan)(const char *at, wg_value *x);
#define wg_isnan(...) wg_isnan(WG_HERE, __VA_ARGS__)
/** True for inf and -inf. */
WG_API wg_value *(wg_isinf)(const char *at, wg_value *x);
#define wg_isinf(...) wg_isinf(WG_HERE, __VA_ARGS__)
/** True for all but NaN, inf and -inf. */
WG_API wg_value *(wg_isfinite)(const char *at, wg_value *x);
#define wg_isfinite(...) wg_isfinite(WG_HERE, __VA_ARGS__)

/** Logical functions of bools. */
WG_API wg_value *(wg_logical_and)(const char *at, wg_value *a, wg_value *b);
#define wg_logical_and(...) wg_logical_and(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_logical_or)(const char *at, wg_value *a, wg_value *b);
#define wg_logical_or(...) wg_logical_or(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_logical_xor)(const char *at, wg_value *a, wg_value *b);
#define wg_logical_xor(...) wg_logical_xor(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_logical_not)(const char *at, wg_value *x);
#define wg_logical_not(...) wg_logical_not(WG_HERE, __VA_ARGS__)

/** y = a where `condition` (bool) is true, else b.  a and b have the same dtype, any.  All three
 * broadcast.  NaN in an element that is not chosen affects neither y nor the derivatives with
 * respect to a and b.  But what made it gets a cotangent of 0 and may make NaN of that: of
 * where(x > 0, log(x), 0) at x = 0 the derivative is 0 / 0.  Choose the operand first:
 * log(where(x > 0, x, 1)). */
WG_API wg_value *(wg_where)(const char *at, wg_value *condition, wg_value *a, wg_value *b);
#define wg_where(...) wg_where(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
