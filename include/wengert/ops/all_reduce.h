/* Sums over the processes of a run on several machines: wengert/distributed/ranks.h. */
#ifndef WG_OPS_ALL_REDUCE_H
#define WG_OPS_ALL_REDUCE_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Numbers of buckets that a program may give: 0 to WG_MAX_BUCKETS - 1. */
enum { WG_MAX_BUCKETS = 4000 };

/** Attributes of all_reduce. */
typedef struct wg_all_reduce_attrs {
    int64_t bucket; /**< by which the ranks tell this sum from others that are under way */
    wg_dtype wire;  /**< of its messages: WG_BF16 for f32; 0: that of the sum */
} wg_all_reduce_attrs;

/** y[i] = the sum of x[i] over all ranks, for i < n; `y` may be the array `x`.  The x are floats of
 * one dtype and any shapes; each rank has the same list of shapes under the same bucket, and no two
 * sums of a graph have the same bucket.  The sum runs in the background, from the moment when the
 * last x has been computed until nothing else is left to run, so communication overlaps with
 * computation without further care.  The sum of an element is a binary tree over the ranks,
 * whatever the network does: tree(a..b) = tree(a..m) + tree(m+1..b), split at the largest power of
 * two below the length.  The derivative is that of a loss which is the sum over all ranks: dx[i] =
 * all_reduce(dy[i]).  wg_vmap replaces the sum by one sum over the whole batch, in the same bucket.
 * In a plan without wg_ranks_backend it is the identity: the sum over one rank.  All y are NULL
 * after an error. */
WG_API void(wg_all_reduce)(const char *at, wg_value *const *x, size_t n, int64_t bucket,
                           wg_value **y);
#define wg_all_reduce(...) wg_all_reduce(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
