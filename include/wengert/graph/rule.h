/* The vocabulary of shape rules: what a rule (wg_op.infer) checks and sets in the node under
 * construction.  Operands and results are numbered from 0.  Each wg_need_ function returns true
 * if the operand is as needed; else it sets the graph's error, which names operands, axes and
 * sizes, and returns false. */
#ifndef WG_GRAPH_RULE_H
#define WG_GRAPH_RULE_H

#include "wengert/graph/node.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sets the graph's error "scope: op(operands): text (file:line)".  Returns false. */
WG_API bool wg_fail(wg_node *n, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

/** Sets dtype and shape of result i; false (and an error) for an invalid shape. */
WG_API bool wg_set_result(wg_node *n, int i, wg_dtype dtype, wg_shape shape);
/** Sets the number of results of an op with results "y*"; call it before wg_set_result. */
WG_API bool wg_set_result_count(wg_node *n, int count);

/** Operand i is f32, f64, bf16 or f16. */
WG_API bool wg_need_float(wg_node *n, int i);
/** Operand i is i32 or i64. */
WG_API bool wg_need_int(wg_node *n, int i);
/** Operand i is a float or an int. */
WG_API bool wg_need_number(wg_node *n, int i);
/** Operand i has that dtype. */
WG_API bool wg_need_dtype(wg_node *n, int i, wg_dtype dtype);
/** x, the attribute `name`, can be an element of that dtype, up to rounding: it is neither a
 *  fraction of an integer, nor too large, nor so small that it would become 0.  Real attributes are
 *  checked against the floats among operands and results without this. */
WG_API bool wg_need_held(wg_node *n, const char *name, double x, wg_dtype dtype);
/** Operands i and j have the same dtype. */
WG_API bool wg_need_same_dtype(wg_node *n, int i, int j);
/** Operands i and j have the same shape. */
WG_API bool wg_need_same_shape(wg_node *n, int i, int j);
/** The rank of operand i is in [min, max]. */
WG_API bool wg_need_rank(wg_node *n, int i, int min, int max);
/** Dimension `axis` of operand i, counted from the end if negative, is `size`. */
WG_API bool wg_need_dim(wg_node *n, int i, int axis, int64_t size);
/** Normalises an axis of operand i into 0..rank-1. */
WG_API bool wg_need_axis(wg_node *n, int i, int64_t axis, int *out);
/** Normalises a set of axes of operand i: in range, no repeats, ascending; none given means all. */
WG_API bool wg_need_axes(wg_node *n, int i, const wg_axes *axes, wg_axes *out);
/** NumPy's broadcasting of *a with *b into *out. */
WG_API bool wg_need_broadcast(wg_node *n, const wg_shape *a, const wg_shape *b, wg_shape *out);

/** The axis in 0..rank-1, without a node to report to; -1 if it is out of range. */
WG_API int wg_normalize_axis(int64_t axis, int rank);
/** The axes of a valid node in ascending order; all of them if none are given. */
WG_API wg_axes wg_normalize_axes(const wg_axes *axes, int rank);
/** The shape without the given normalised axes; with `keep`, these have size 1. */
WG_API wg_shape wg_shape_reduced(const wg_shape *shape, const wg_axes *axes, wg_keep keep);

#ifdef __cplusplus
}
#endif
#endif
