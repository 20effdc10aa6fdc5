/* The one order in which numbers of several ranks are added. */
#ifndef WG_PRIVATE_DISTRIBUTED_TREE_SUM_H
#define WG_PRIVATE_DISTRIBUTED_TREE_SUM_H

#include "wengert/graph/shape.h"

/* y[i] = tree(x[0][i], ..., x[n - 1][i]) for i < count, where a tree is split at the largest power
 * of two below its length:
 *
 *     tree(a..b) = tree(a..m) + tree(m+1..b)
 *
 * f32 or f64, or bf16, which is added in f32 and rounded at the end; y may be one of the x. */
void wgi_tree_sum(wg_dtype dtype, void *y, const void *const *x, int n, size_t count);

#endif
