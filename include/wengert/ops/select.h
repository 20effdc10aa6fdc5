/* Selection of elements along one axis. */
#ifndef WG_OPS_SELECT_H
#define WG_OPS_SELECT_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Of argmax and argmin. */
typedef struct wg_arg_attrs {
    int64_t axis; /**< of x */
    bool keep;    /**< reduced axes stay, with size 1 */
} wg_arg_attrs;

/** Of topk and its fused forms. */
typedef struct wg_topk_attrs {
    int64_t k;    /**< how many are selected */
    int64_t axis; /**< of x */
} wg_topk_attrs;

/** y = where along `axis` the largest, smallest element is, the first of equal ones; i64.  NaN
 * counts as largest, and as smallest. */
WG_API wg_value *(wg_argmax)(const char *at, wg_value *x, int axis, bool keep);
#define wg_argmax(...) wg_argmax(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_argmin)(const char *at, wg_value *x, int axis, bool keep);
#define wg_argmin(...) wg_argmin(WG_HERE, __VA_ARGS__)

/** The k largest along `axis` in descending order, of equal ones the first first; NaN counts as
 * largest.  Returns the values; wg_result_of(values, 1) are their indices along the axis, i64. Work
 * grows as size times k. */
WG_API wg_value *(wg_topk)(const char *at, wg_value *x, int64_t k, int axis);
#define wg_topk(...) wg_topk(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
