/* Eigenvalues and singular values, and what is made of them.  A matrix that holds NaN or infinity
 * ends the run with WG_EDATA.
 *
 * Vectors are unique up to their sign, which is fixed: of the components that are at least 0.99
 * times as large as the largest, the first is positive.
 *
 * The gradient through the vectors contains 1 / (w_j - w_i): where two values are equal, it does
 * not exist, and is infinite or NaN.  The gradient through the values alone is finite everywhere;
 * its own derivative goes through the vectors. */
#ifndef WG_OPS_SPECTRUM_H
#define WG_OPS_SPECTRUM_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of pinv. */
typedef struct wg_pinv_attrs {
    double rcond; /**< singular values up to rcond times the largest count as 0 */
} wg_pinv_attrs;

/** Eigenvalues and eigenvectors, s v = v diag(w), of s = (a + a') / 2 for a [..., n, n].  Result 0
 * (returned) is w [..., n], ascending; result 1 is v [..., n, n], whose columns are orthonormal.
 * The gradient is symmetric. */
WG_API wg_value *(wg_eigh)(const char *at, wg_value *a);
#define wg_eigh(...) wg_eigh(WG_HERE, __VA_ARGS__)
/** The eigenvalues alone: result 0 of wg_eigh. */
WG_API wg_value *(wg_eigvalsh)(const char *at, wg_value *a);
#define wg_eigvalsh(...) wg_eigvalsh(WG_HERE, __VA_ARGS__)

/** The singular value decomposition a = u diag(s) vt of a [..., m, n], with k = min(m, n).  Result
 * 0 (returned) is u [..., m, k], whose columns are orthonormal; result 1 is s [..., k], descending
 * and not negative; result 2 is vt [..., k, n], whose rows are orthonormal.  The sign is that of
 * the columns of u.  Where a singular value is 0, its vectors are any that complete the others, and
 * the gradient through the vectors is infinite or NaN if m and n differ. */
WG_API wg_value *(wg_svd)(const char *at, wg_value *a);
#define wg_svd(...) wg_svd(WG_HERE, __VA_ARGS__)
/** The same with complete bases, as PyTorch's full_matrices=True: result 0 (returned) is u
 * [..., m, m], result 1 is s [..., k] and result 2 is vt [..., n, n].  What wg_svd lacks are the
 * columns by which wg_qr_complete completes u or the transpose of vt, with their gradient (PyTorch
 * takes it for 0). */
WG_API wg_value *(wg_svd_full)(const char *at, wg_value *a);
#define wg_svd_full(...) wg_svd_full(WG_HERE, __VA_ARGS__)
/** The singular values alone: result 1 of wg_svd. */
WG_API wg_value *(wg_svdvals)(const char *at, wg_value *a);
#define wg_svdvals(...) wg_svdvals(WG_HERE, __VA_ARGS__)

/** [...]: the sum of the singular values of a [..., m, n]. */
WG_API wg_value *(wg_nuclear_norm)(const char *at, wg_value *a);
#define wg_nuclear_norm(...) wg_nuclear_norm(WG_HERE, __VA_ARGS__)
/** [...]: the largest singular value of a [..., m, n], which must not be empty.  The Frobenius norm
 * is wg_vector_norm over both axes. */
WG_API wg_value *(wg_spectral_norm)(const char *at, wg_value *a);
#define wg_spectral_norm(...) wg_spectral_norm(WG_HERE, __VA_ARGS__)
/** [...]: the condition number of a [..., m, n], its largest singular value divided by its
 * smallest. */
WG_API wg_value *(wg_cond)(const char *at, wg_value *a);
#define wg_cond(...) wg_cond(WG_HERE, __VA_ARGS__)

/** The pseudo-inverse [..., n, m] of a [..., m, n].  Singular values up to `rcond` times the
 * largest count as 0; an rcond of 0 stands for max(m, n) times the distance from 1 to the next
 * number of a's dtype.  The gradient is that at constant rank.  To multiply by it, wg_lstsq is
 * faster and more precise if a has full rank. */
WG_API wg_value *(wg_pinv)(const char *at, wg_value *a, double rcond);
#define wg_pinv(...) wg_pinv(WG_HERE, __VA_ARGS__)

/** The exponential of matrices a [..., n, n], by scaling and squaring. */
WG_API wg_value *(wg_matrix_exp)(const char *at, wg_value *a);
#define wg_matrix_exp(...) wg_matrix_exp(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
