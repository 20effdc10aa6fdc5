/* Reverse-mode differentiation as a graph-to-graph transform: the gradient is ordinary nodes
 * appended to the same graph, which can be printed, drawn, planned and differentiated again. */
#ifndef WG_AUTOGRAD_GRAD_H
#define WG_AUTOGRAD_GRAD_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** dx[i] = d y / d wrt[i] for a scalar y; dx[i] has the shape and dtype of wrt[i], and is zero if y
 *  does not depend on it.  wrt may be any float values, leaves or not.  If ops on the path lack a
 *  gradient rule, nothing is built and the graph's message lists them all by name and line
 *  (WG_EUNSUPPORTED). */
WG_API wg_status(wg_grad)(const char *at, wg_value *y, wg_value *const *wrt, size_t n_wrt,
                          wg_value **dx);
#define wg_grad(...) wg_grad(WG_HERE, __VA_ARGS__)

/** Sees the cotangents that a rule has built and may change them; the mutation test uses it to
 *  break rules. */
typedef struct wg_grad_hook {
    /** Called after the rule of n has made dx (n->n_in) from dy (n->n_out). */
    void (*after_rule)(void *context, wg_node *n, wg_value *const *dy, wg_value **dx);
    void *context; /* first argument of `after_rule` */
} wg_grad_hook;

/** Options of wg_vjp.  Zero means the default in every field. */
typedef struct wg_vjp_options {
    const wg_grad_hook *hook; /* NULL: none */
} wg_vjp_options;

/** Vector-Jacobian product: dx[i] = sum over j of dy[j]' (d y[j] / d wrt[i]).  dy[j] has the shape
 *  and dtype of y[j]; NULL, for one or for the array, stands for ones.  `options` may be NULL.  dx,
 *  shapes and errors are as for wg_grad; WG_EINVAL if all of y and wrt are NULL. */
WG_API wg_status(wg_vjp)(const char *at, wg_value *const *y, wg_value *const *dy, size_t n_y,
                         wg_value *const *wrt, size_t n_wrt, const wg_vjp_options *options,
                         wg_value **dx);
#define wg_vjp(...) wg_vjp(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
