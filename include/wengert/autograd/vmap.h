/* Vectorisation as a graph-to-graph transform: a computation that was built for one example is
 * built once more for a batch of them.  Together with wg_vjp and wg_jvp it gives full Jacobians
 * and per-sample gradients (wengert/autograd/derivatives.h). */
#ifndef WG_AUTOGRAD_VMAP_H
#define WG_AUTOGRAD_VMAP_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** yb[j][k] = y[j] with each x[i] replaced by xb[i][k], for k = 0 ... K-1.
 *
 *  x: any values of the graph, leaves or not, of any dtype.  xb[i] has x[i]'s dtype and the shape
 *  [K, shape of x[i]], with one K >= 1 for all.  yb[j] has y[j]'s dtype and the shape [K, shape of
 *  y[j]]; if y[j] does not depend on x, its rows are equal.
 *
 *  Nothing else is replaced: parameters are shared, and random ops draw the same numbers for every
 *  k, so that row k is what the graph gives for xb[..][k] alone (up to rounding: products may sum
 *  in another order).
 *
 *  Elementwise ops, products, reductions, movements, norms, convolutions and pooling over x and the
 *  like become one node each; a composite op is built from the parts of its expansion; any other op
 *  is repeated K times.  Assignments are not repeated.
 *
 *  Returns the status of the graph.  WG_EINVAL for NULL or values of different graphs, WG_EDTYPE
 *  and WG_ESHAPE for an xb[i] that does not fit x[i], WG_ESHAPE for a value on the way that has
 *  WG_MAX_RANK axes already. */
WG_API wg_status(wg_vmap)(const char *at, wg_value *const *y, size_t n_y, wg_value *const *x,
                          wg_value *const *xb, size_t n_x, wg_value **yb);
#define wg_vmap(...) wg_vmap(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
