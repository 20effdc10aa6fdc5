/* Systems of linear equations, least squares, inverses and determinants, by the factorisations of
 * wengert/ops/factor.h.  A plan merges equal factorisations: solutions, gradients and the
 * determinant of one matrix share a single one.  A matrix that is singular, or that holds NaN or
 * infinity, ends the run with WG_EDATA. */
#ifndef WG_OPS_SOLVE_H
#define WG_OPS_SOLVE_H

#include "wengert/ops/factor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of solve. */
typedef struct wg_solve_attrs {
    bool transpose; /**< a' x = b */
} wg_solve_attrs;

/** Attributes of cholesky_solve. */
typedef struct wg_cholesky_solve_attrs {
    wg_triangle triangle; /**< in which the factor is */
} wg_cholesky_solve_attrs;

/** The x with a x = b for a [..., n, n] and b [..., n, k]; leading axes broadcast.  A b of rank 1
 * is a vector [n], and x then has no axis k. */
WG_API wg_value *(wg_solve)(const char *at, wg_value *a, wg_value *b);
#define wg_solve(...) wg_solve(WG_HERE, __VA_ARGS__)
/** The same with a transposed: a' x = b. */
WG_API wg_value *(wg_solve_transposed)(const char *at, wg_value *a, wg_value *b);
#define wg_solve_transposed(...) wg_solve_transposed(WG_HERE, __VA_ARGS__)

/** The x with a x = b where `factor` is wg_cholesky(a, triangle), for b as in wg_solve: half the
 * work of wg_solve where a is positive definite. */
WG_API wg_value *(wg_cholesky_solve)(const char *at, wg_value *factor, wg_value *b,
                                     wg_triangle triangle);
#define wg_cholesky_solve(...) wg_cholesky_solve(WG_HERE, __VA_ARGS__)

/** Least squares: the x [..., n, k] of least |a x - b| for a [..., m, n] and b [..., m, k], and if
 * m < n the shortest of those with a x = b; leading axes broadcast, and a vector b is as in
 * wg_solve.  a must have full rank: a zero on the diagonal of its factor r (wg_qr) ends the run,
 * and wg_pinv takes any a. */
WG_API wg_value *(wg_lstsq)(const char *at, wg_value *a, wg_value *b);
#define wg_lstsq(...) wg_lstsq(WG_HERE, __VA_ARGS__)

/** The inverse of a [..., n, n].  To multiply by it, wg_solve is faster and more precise. */
WG_API wg_value *(wg_inverse)(const char *at, wg_value *a);
#define wg_inverse(...) wg_inverse(WG_HERE, __VA_ARGS__)

/** Result 0 (returned): the sign of det a, 1 or -1; result 1: log |det a|; both [...] for a [...,
 * n, n].  det a itself would leave the range of floats. */
WG_API wg_value *(wg_slogdet)(const char *at, wg_value *a);
#define wg_slogdet(...) wg_slogdet(WG_HERE, __VA_ARGS__)
/** log |det a|, result 1 of wg_slogdet. */
WG_API wg_value *(wg_logdet)(const char *at, wg_value *a);
#define wg_logdet(...) wg_logdet(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
