/* Factorisations of matrices.  A matrix that has none, or that holds NaN or infinity, ends the run
 * with WG_EDATA; the message names the matrix of the batch and the row at which it failed. */
#ifndef WG_OPS_FACTOR_H
#define WG_OPS_FACTOR_H

#include "wengert/ops/triangle.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of cholesky. */
typedef struct wg_cholesky_attrs {
    wg_triangle triangle; /**< in which the factor is */
} wg_cholesky_attrs;

/** Attributes of permute_rows. */
typedef struct wg_permute_rows_attrs {
    bool inverse; /**< y[..., p[..., i], :] = x[..., i, :] */
} wg_permute_rows_attrs;

/** The lower triangular y with y y' = s, or the upper triangular y with y' y = s, where s is
 * (a + a') / 2 and a [..., n, n]; the other triangle of y is 0.  s must be positive definite.  The
 * gradient is symmetric. */
WG_API wg_value *(wg_cholesky)(const char *at, wg_value *a, wg_triangle triangle);
#define wg_cholesky(...) wg_cholesky(WG_HERE, __VA_ARGS__)

/** Gaussian elimination with partial pivoting, l u = a[p], for a [..., n, n]: row i of the product
 * is row p[i] of a.  Result 0 (returned) holds u in its upper triangle and, below it, l, whose
 * diagonal of ones is not stored; result 1 is p [..., n], i64; result 2, [...], is the sign of the
 * permutation p, 1 or -1.  An a that is singular (a pivot of exactly 0) ends the run. */
WG_API wg_value *(wg_lu)(const char *at, wg_value *a);
#define wg_lu(...) wg_lu(WG_HERE, __VA_ARGS__)

/** q r = a for a [..., m, n] and k = min(m, n).  Result 0 (returned) is q [..., m, k], whose
 * columns are orthonormal; result 1 is r [..., k, n], upper triangular with a diagonal that is not
 * negative, which makes both unique where the first k columns of a are independent.  The gradient
 * needs them to be: a zero on the diagonal of r ends the run there. */
WG_API wg_value *(wg_qr)(const char *at, wg_value *a);
#define wg_qr(...) wg_qr(WG_HERE, __VA_ARGS__)
/** The same with a complete basis, as PyTorch's mode="complete": result 0 (returned) is q
 * [..., m, m], result 1 is r [..., m, n], whose rows after the first n are 0.  For m > n, the
 * columns of q after the first n are those that wg_qr of [a, e] has, where e holds the last m - n
 * columns of the identity.  The gradient (PyTorch has none) exists where this matrix is invertible;
 * elsewhere a zero on the diagonal of its r ends the run. */
WG_API wg_value *(wg_qr_complete)(const char *at, wg_value *a);
#define wg_qr_complete(...) wg_qr_complete(WG_HERE, __VA_ARGS__)

/** y[..., i, :] = x[..., p[..., i], :] for x [..., n, k] and p [..., n] of integers; leading axes
 * broadcast.  Each batch has its own p, unlike in wg_take. */
WG_API wg_value *(wg_permute_rows)(const char *at, wg_value *x, wg_value *p);
#define wg_permute_rows(...) wg_permute_rows(WG_HERE, __VA_ARGS__)
/** The inverse of wg_permute_rows: y[..., p[..., i], :] = x[..., i, :].  If p is not a permutation,
 * rows that go to the same place are added, and where none goes is 0. */
WG_API wg_value *(wg_unpermute_rows)(const char *at, wg_value *x, wg_value *p);
#define wg_unpermute_rows(...) wg_unpermute_rows(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
