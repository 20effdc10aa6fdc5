/* Reductions over segments: the positions along an axis that have the same id, in any order.
 *
 * x is [a.., ids.., b..]: the axes of ids (i32 or i64, of any shape) stand in x from `axis` on,
 * which counts in the result [a.., n_segments, b..].  For ids [m] and axis 0, x is [m, b..].  An id
 * outside [0, n_segments) ends the run with WG_EDATA.  Each op takes time linear in the numbers of
 * elements of x and of the result, its gradient too. */
#ifndef WG_OPS_SEGMENT_H
#define WG_OPS_SEGMENT_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of the reductions over segments. */
typedef struct wg_segment_attrs {
    int64_t axis;       /**< of the result */
    int64_t n_segments; /**< size of that axis */
} wg_segment_attrs;

/** y[.., s, ..] = sum of x[.., i, ..] over ids[i] = s, in the order of i; numbers.  0 for a segment
 * without elements.  The transpose of wg_take and wg_embedding. */
WG_API wg_value *(wg_segment_sum)(const char *at, wg_value *x, wg_value *ids, int axis,
                                  int64_t n_segments);
#define wg_segment_sum(...) wg_segment_sum(WG_HERE, __VA_ARGS__)
/** y = mean of each segment; floats.  0 for a segment without elements. */
WG_API wg_value *(wg_segment_mean)(const char *at, wg_value *x, wg_value *ids, int axis,
                                   int64_t n_segments);
#define wg_segment_mean(...) wg_segment_mean(WG_HERE, __VA_ARGS__)
/** y = largest element of each segment; numbers; NaN if there is one.  Ties share the derivative
 * equally.  For a segment without elements -inf, or the smallest integer. */
WG_API wg_value *(wg_segment_max)(const char *at, wg_value *x, wg_value *ids, int axis,
                                  int64_t n_segments);
#define wg_segment_max(...) wg_segment_max(WG_HERE, __VA_ARGS__)
/** y = smallest element of each segment; otherwise like wg_segment_max, with inf and the largest
 * integer. */
WG_API wg_value *(wg_segment_min)(const char *at, wg_value *x, wg_value *ids, int axis,
                                  int64_t n_segments);
#define wg_segment_min(...) wg_segment_min(WG_HERE, __VA_ARGS__)
/** y[.., i, ..] = exp(x[.., i, ..]) / sum of exp(x[.., j, ..]) over ids[j] = ids[i], of x's shape;
 * floats.  Where all x of a segment are -inf, y is 0, as with wg_softmax. */
WG_API wg_value *(wg_segment_softmax)(const char *at, wg_value *x, wg_value *ids, int axis,
                                      int64_t n_segments);
#define wg_segment_softmax(...) wg_segment_softmax(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
