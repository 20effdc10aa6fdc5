/* Reverse-mode differentiation as a graph-to-graph transform: the gradient is ordinary nodes
 * appended to the same graph, which can be printed, drawn, planned and differentiated again. */
#ifndef WG_AUTOGRAD_GRAD_H
#define WG_AUTOGRAD_GRAD_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Parameters and the gradients of a loss with respect to them.  The arrays belong to the graph. */
typedef struct wg_gradients {
    wg_value **params; /**< [n] the float parameters, in order of creation */
    wg_value **grads;  /**< [n] grads[i] = d loss / d params[i] */
    size_t n;          /**< their number */
} wg_gradients;

/** The gradients of a scalar loss with respect to all float parameters of its graph:
 *
 *     wg_gradients d = wg_grad_all(loss);
 *     wg_adam_update(d.params, d.grads, d.n, lr, NULL);
 *
 *  Where the loss does not depend on a parameter, the gradient is zero (wg_depends_on tells); a
 *  loss that depends on none of them is an error.  All zero after an error; errors are as for
 *  wg_grad. */
WG_API wg_gradients(wg_grad_all)(const char *at, wg_value *loss);
#define wg_grad_all(...) wg_grad_all(WG_HERE, __VA_ARGS__)

/** Whether a derivative of y with respect to x can be other than zero: false where the path from x
 *  to y is missing, or leads through integers, wg_stop_gradient or steps such as wg_round, and for
 *  NULL. */
WG_API bool wg_depends_on(const wg_value *y, const wg_value *x);

/** dx[i] = d y / d wrt[i] for a scalar y; dx[i] has the shape and dtype of wrt[i], and is zero if y
 *  does not depend on it (wg_depends_on tells).  wrt may be any float values, leaves or not.  If
 *  ops on the path lack a gradient rule, nothing is built and the graph's message lists them all by
 *  name and line (WG_EUNSUPPORTED).  On failure dx[i] is NULL, up to the first wrt[i] that is. */
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
