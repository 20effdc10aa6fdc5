/* Reductions over any set of axes. */
#ifndef WG_OPS_REDUCE_H
#define WG_OPS_REDUCE_H

#include "graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_reduce_attrs {
    wg_axes axes; /* none: all */
    bool keep;    /* reduced axes stay, with size 1 */
} wg_reduce_attrs;

enum { WG_DROP = 0, WG_KEEP = 1 }; /* for `keep` */

/** y = sum of x over `axes` (WG_ALL_AXES: over all); an empty sum is 0. */
WG_API wg_value *(wg_sum)(const char *at, wg_value *x, wg_axes axes, bool keep);
#define wg_sum(...) wg_sum(WG_HERE, __VA_ARGS__)

/** x summed down to `shape`, which broadcasts to x's: the transpose of broadcasting. */
WG_API wg_value *(wg_sum_to)(const char *at, wg_value *x, wg_shape shape);
#define wg_sum_to(...) wg_sum_to(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
