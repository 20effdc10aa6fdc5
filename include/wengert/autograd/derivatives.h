/* Derivatives beyond the gradient.  Like wg_grad, each function appends ordinary nodes to the
 * graph, which can be printed, planned and differentiated again.
 *
 *   J = dy/dx      wg_vjp  u' J     wg_jvp  J t      wg_jacobian  J, all of it
 *   H = d2L/dx2                     wg_hvp  H v      wg_hessian   H, all of it
 *
 * A product costs about as much as one backward pass.  A full matrix is a batch of products, so it
 * costs as many of them as it has rows, and a row's memory for each.
 *
 * Errors are as for wg_vjp: the graph's message, and its status as the result. */
#ifndef WG_AUTOGRAD_DERIVATIVES_H
#define WG_AUTOGRAD_DERIVATIVES_H

#include "wengert/autograd/grad.h"
#include "wengert/autograd/vmap.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Jacobian-vector product (forward mode): dy[j] = sum over i of (d y[j] / d x[i]) t[i].
 *
 *  t[i] has the shape and dtype of x[i]; NULL, for one or for the array, stands for ones.  dy[j]
 *  has the shape and dtype of y[j]; it is zero where y[j] does not depend on x.  x and y are float
 *  values, leaves or not.
 *
 *  It is built as the vector-Jacobian product of a vector-Jacobian product: u' J is linear in u,
 *  and the transpose of that map takes t to J t.  So every op with a gradient rule has it, and
 *  nothing of the backward pass remains in a plan but what the forward derivative needs. */
WG_API wg_status(wg_jvp)(const char *at, wg_value *const *y, size_t n_y, wg_value *const *x,
                         wg_value *const *t, size_t n_x, wg_value **dy);
#define wg_jvp(...) wg_jvp(WG_HERE, __VA_ARGS__)

/** How wg_jacobian works. */
typedef enum wg_jacobian_mode {
    WG_JACOBIAN_DEFAULT = 0, /**< the one with fewer products */
    WG_JACOBIAN_REVERSE,     /**< a product with the transpose for each element of y */
    WG_JACOBIAN_FORWARD      /**< a product for each element of x */
} wg_jacobian_mode;

/** Options of wg_jacobian and wg_hessian.  Zero means the default in every field. */
typedef struct wg_jacobian_options {
    wg_jacobian_mode mode; /**< of wg_jacobian; wg_hessian is always reverse over reverse */
    int64_t chunk;         /**< products computed at once; 0: all.  Fewer take less memory. */
} wg_jacobian_options;

/** J[i] = d y / d x[i], whole: the shape of y followed by the shape of x[i], of y's dtype.
 *  `options` may be NULL.  WG_ESHAPE if that is more than WG_MAX_RANK axes. */
WG_API wg_status(wg_jacobian)(const char *at, wg_value *y, wg_value *const *x, size_t n_x,
                              const wg_jacobian_options *options, wg_value **J);
#define wg_jacobian(...) wg_jacobian(WG_HERE, __VA_ARGS__)

/** Hessian-vector product of the scalar L: hv[i] = sum over j of (d2L / dx[i] dx[j]) v[j].  v[j]
 *  and hv[i] have the shapes and dtypes of x; a v[j] of NULL stands for ones. */
WG_API wg_status(wg_hvp)(const char *at, wg_value *L, wg_value *const *x, wg_value *const *v,
                         size_t n_x, wg_value **hv);
#define wg_hvp(...) wg_hvp(WG_HERE, __VA_ARGS__)

/** The Hessian of the scalar L, whole, in n_x * n_x blocks: H[i * n_x + j] = d2L / dx[i] dx[j] has
 *  the shape of x[i] followed by the shape of x[j].  `options` may be NULL. */
WG_API wg_status(wg_hessian)(const char *at, wg_value *L, wg_value *const *x, size_t n_x,
                             const wg_jacobian_options *options, wg_value **H);
#define wg_hessian(...) wg_hessian(WG_HERE, __VA_ARGS__)

/** The Laplacian of u in x, of u's shape, exact.
 *
 *  A scalar u (one element) is a function of all elements of x: sum over i of d2u / dx[i]^2.
 *  Otherwise u has N elements for x [N, ...], and u[n] must be a function of x[n] alone, as the
 *  output of a network at N points is: sum over i of d2u[n] / dx[n][i]^2, without the N^2 terms
 *  between points.  For d coordinates it costs d Hessian-vector products in one batch.
 *  NULL after an error. */
WG_API wg_value *(wg_laplacian)(const char *at, wg_value *u, wg_value *x);
#define wg_laplacian(...) wg_laplacian(WG_HERE, __VA_ARGS__)

/** Per-sample gradients: dw[j][k] = d L / d w[j] for the example xb[..][k] alone.
 *
 *  L is the scalar loss of a graph built for one example, x[i] are the values that stand for it
 *  (inputs, targets, of any dtype), and xb[i], [K, shape of x[i]], holds K of them.  dw[j] is [K,
 *  shape of w[j]]: to be clipped one by one, or for a variance.  w[j] are float values. */
WG_API wg_status(wg_per_sample_grad)(const char *at, wg_value *L, wg_value *const *x,
                                     wg_value *const *xb, size_t n_x, wg_value *const *w,
                                     size_t n_w, wg_value **dw);
#define wg_per_sample_grad(...) wg_per_sample_grad(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
