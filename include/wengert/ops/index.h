/* Reading and writing at indices that are data.  ids are i32 or i64; an id outside its axis ends
 * the run with WG_EDATA (negative ids do not count from the end). */
#ifndef WG_OPS_INDEX_H
#define WG_OPS_INDEX_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of take, gather, the scatters, cummax and cummin. */
typedef struct wg_index_attrs {
    int64_t axis; /**< of x */
} wg_index_attrs;

/** Attributes of masked_fill. */
typedef struct wg_masked_fill_attrs {
    double value; /**< of y where the mask is true */
} wg_masked_fill_attrs;

/** y[..., :] = weight[ids[...], :] for weight [V, d] and ids of any shape.  Its transpose is
 * wg_segment_sum. */
WG_API wg_value *(wg_embedding)(const char *at, wg_value *weight, wg_value *ids);
#define wg_embedding(...) wg_embedding(WG_HERE, __VA_ARGS__)

/** x[a.., n, b..] and ids of any shape [i..] give y[a.., i.., b..] with y[.., i, ..] = x[..,
 * ids[i], ..]: take of NumPy, index_select of PyTorch for ids [n].  Its transpose is
 * wg_segment_sum. */
WG_API wg_value *(wg_take)(const char *at, wg_value *x, wg_value *ids, int axis);
#define wg_take(...) wg_take(WG_HERE, __VA_ARGS__)

/** y[i, j, k] = x[i, ids[i, j, k], k] (for axis 1 of three): gather of PyTorch.  ids has x's rank
 * and, off the axis, sizes not above x's; y has the shape of ids.  For whole rows with one id each,
 * wg_take is faster. */
WG_API wg_value *(wg_gather)(const char *at, wg_value *x, wg_value *ids, int axis);
#define wg_gather(...) wg_gather(WG_HERE, __VA_ARGS__)

/** y = x, then y[i, ids[i, j, k], k] += src[i, j, k] (for axis 1 of three) in the order of j:
 * scatter_add of PyTorch.  ids and src have x's rank; sizes of ids are not above those of src
 * nor, off the axis, of x.  To sum rows with one id each, wg_segment_sum is faster.  If x is a
 * parameter or a state that is assigned y (wg_assign), only what ids name is written, unless x or y
 * is an output or a reader of x needs y. */
WG_API wg_value *(wg_scatter_add)(const char *at, wg_value *x, wg_value *ids, wg_value *src,
                                  int axis);
#define wg_scatter_add(...) wg_scatter_add(WG_HERE, __VA_ARGS__)

/** y = x, then y[i, ids[i, j, k], k] = src[i, j, k] (for axis 1 of three) in the order of j, so
 * that of equal ids the last one wins, and only it gets the derivative: scatter of PyTorch.  Any
 * dtype; shapes as for wg_scatter_add. */
WG_API wg_value *(wg_scatter)(const char *at, wg_value *x, wg_value *ids, wg_value *src, int axis);
#define wg_scatter(...) wg_scatter(WG_HERE, __VA_ARGS__)
/** y = the largest of x and of all src whose ids name that place; numbers, shapes as for
 * wg_scatter_add; NaN if there is one: scatter_reduce("amax") of PyTorch.  Equal ones, x among
 * them, share the derivative equally. */
WG_API wg_value *(wg_scatter_max)(const char *at, wg_value *x, wg_value *ids, wg_value *src,
                                  int axis);
#define wg_scatter_max(...) wg_scatter_max(WG_HERE, __VA_ARGS__)
/** y = the smallest; otherwise like wg_scatter_max. */
WG_API wg_value *(wg_scatter_min)(const char *at, wg_value *x, wg_value *ids, wg_value *src,
                                  int axis);
#define wg_scatter_min(...) wg_scatter_min(WG_HERE, __VA_ARGS__)

/** y = x, then y[ids[i], ..] = rows[i, ..] for x [n, ..], ids [m] and rows [m, ..]: index_copy of
 * PyTorch along axis 0.  If ids repeat, the last one wins.  If x is a parameter or a state that is
 * assigned y (wg_assign), only these rows are written, unless x or y is an output or a reader of x
 * needs y. */
WG_API wg_value *(wg_put_rows)(const char *at, wg_value *x, wg_value *ids, wg_value *rows);
#define wg_put_rows(...) wg_put_rows(WG_HERE, __VA_ARGS__)

/** y = value where mask, else x; mask is bool and broadcasts with x.  Where the mask is true, x
 * does not affect y, even if it is NaN. */
WG_API wg_value *(wg_masked_fill)(const char *at, wg_value *x, wg_value *mask, double value);
#define wg_masked_fill(...) wg_masked_fill(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
