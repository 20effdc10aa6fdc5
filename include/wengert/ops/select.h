/* Selection of elements along one axis. */
#ifndef WG_OPS_SELECT_H
#define WG_OPS_SELECT_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of argmax and argmin. */
typedef struct wg_arg_attrs {
    int64_t axis; /**< of x */
    bool keep;    /**< reduced axes stay, with size 1 */
} wg_arg_attrs;

/** Attributes of topk and its fused forms. */
typedef struct wg_topk_attrs {
    int64_t k;    /**< number of elements selected */
    int64_t axis; /**< of x */
} wg_topk_attrs;

/** The order of wg_sort. */
typedef enum wg_order {
    WG_ASCENDING = 0, /**< the smallest first */
    WG_DESCENDING     /**< the largest first */
} wg_order;

/** Attributes of sort. */
typedef struct wg_sort_attrs {
    int64_t axis;   /**< of x */
    wg_order order; /**< ascending or descending */
} wg_sort_attrs;

/** y = index along `axis` of the largest element, the first of equal ones; i64.  NaN counts as
 * largest. */
WG_API wg_value *(wg_argmax)(const char *at, wg_value *x, int axis, wg_keep keep);
#define wg_argmax(...) wg_argmax(WG_HERE, __VA_ARGS__)
/** y = index along `axis` of the smallest element, the first of equal ones; i64.  NaN counts as
 * smallest. */
WG_API wg_value *(wg_argmin)(const char *at, wg_value *x, int axis, wg_keep keep);
#define wg_argmin(...) wg_argmin(WG_HERE, __VA_ARGS__)

/** The k largest along `axis` in descending order, equal ones in order of index; NaN counts as
 * largest.  Returns the values; wg_result_of(values, 1) is their indices along the axis, i64.  The
 * cost is proportional to the size of the axis times k at most; simd's along the last axis, to the
 * size times log k. */
WG_API wg_value *(wg_topk)(const char *at, wg_value *x, int64_t k, int axis);
#define wg_topk(...) wg_topk(WG_HERE, __VA_ARGS__)

/** x in ascending or descending order along `axis`; numbers.  Equal elements stay
 * in order of index (the sort is stable); NaN counts as largest: it is last, or first if
 * descending.  Returns the values; wg_result_of(values, 1) is where each was along the axis, i64.
 * The cost for n elements of the axis is proportional to n log n whatever their order; simd's, for
 * 64 elements or more, to n, with 16 bytes of scratch for each element and thread. */
WG_API wg_value *(wg_sort)(const char *at, wg_value *x, int axis, wg_order order);
#define wg_sort(...) wg_sort(WG_HERE, __VA_ARGS__)
/** The indices of wg_sort: wg_gather(x, y, axis) is sorted. */
WG_API wg_value *(wg_argsort)(const char *at, wg_value *x, int axis, wg_order order);
#define wg_argsort(...) wg_argsort(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
