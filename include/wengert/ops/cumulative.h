/* Cumulative functions along one axis: y[i] is made of the x[j] up to i.  Each takes time linear in
 * the number of elements, its gradient too. */
#ifndef WG_OPS_CUMULATIVE_H
#define WG_OPS_CUMULATIVE_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of cumsum and cumprod. */
typedef struct wg_cumsum_attrs {
    int64_t axis;   /**< along which numbers are summed or multiplied */
    bool reverse;   /**< from the end */
    bool exclusive; /**< without the element itself */
} wg_cumsum_attrs;

/** Flags of wg_cumsum and wg_cumprod, to be combined by |. */
enum {
    WG_CUMSUM_FORWARD = 0,   /**< over j <= i */
    WG_CUMSUM_REVERSE = 1,   /**< over j >= i */
    WG_CUMSUM_EXCLUSIVE = 2, /**< without j = i */
};

/** y[i] = sum of x[j] along `axis`; numbers.  `flags` say over which j: WG_CUMSUM_FORWARD,
 * WG_CUMSUM_REVERSE, WG_CUMSUM_EXCLUSIVE, or the last two combined by |. */
WG_API wg_value *(wg_cumsum)(const char *at, wg_value *x, int axis, int flags);
#define wg_cumsum(...) wg_cumsum(WG_HERE, __VA_ARGS__)
/** y[i] = product of x[j] along `axis`, over the j that `flags` say, as of wg_cumsum; numbers.
 * Derivatives are right also where elements are 0. */
WG_API wg_value *(wg_cumprod)(const char *at, wg_value *x, int axis, int flags);
#define wg_cumprod(...) wg_cumprod(WG_HERE, __VA_ARGS__)

/** y[i] = the largest of x[j], j <= i, along `axis`; numbers.  wg_result_of(y, 1) is where it is,
 * i64, of equal ones the first; it gets the derivative.  From a NaN on all y are NaN. */
WG_API wg_value *(wg_cummax)(const char *at, wg_value *x, int axis);
#define wg_cummax(...) wg_cummax(WG_HERE, __VA_ARGS__)
/** y[i] = the smallest of x[j], j <= i, along `axis`; otherwise like wg_cummax. */
WG_API wg_value *(wg_cummin)(const char *at, wg_value *x, int axis);
#define wg_cummin(...) wg_cummin(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
