/* Rows of a product of a few terms (product.c), which are sums of rows of B. */
#ifndef WG_BACKENDS_SIMD_KERNELS_PRODUCT_TERMS_H
#define WG_BACKENDS_SIMD_KERNELS_PRODUCT_TERMS_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/unrolled.h"

enum { TERMS = 8 }; /* at most */

/* c[j] = alpha (sum of a[q] b(q, j)) + beta c[j], over few q; `terms` is a constant where this is
 * called.  Rounded as tiles are, for which of the two makes a number depends on how many rows there
 * are. */
SIMD_INLINE void add_terms(const real *a, int terms, const real *b, int64_t ldb, real alpha,
                           real beta, int64_t n, real *restrict c)
{
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
        real sum = 0; /* not a[0] b[j], which may be -0 */
        for (int q = 0; q < terms; q++)
            sum += a[q] * b[q * ldb + j];
        c[j] = beta != 0 ? alpha * sum + beta * c[j] : alpha * sum;
    }
}

#define ADD_TERMS(count)                                                                           \
    static void add_##count(const real *a, const real *b, int64_t ldb, real alpha, real beta,      \
                            int64_t n, real *c)                                                    \
    {                                                                                              \
        if (beta != 0)                                                                             \
            add_terms(a, count, b, ldb, alpha, beta, n, c);                                        \
        else                                                                                       \
            add_terms(a, count, b, ldb, alpha, 0, n, c);                                           \
    }
ADD_TERMS(1)
ADD_TERMS(2)
ADD_TERMS(3)
ADD_TERMS(4)
ADD_TERMS(5)
ADD_TERMS(6)
ADD_TERMS(7)
ADD_TERMS(8)

static void (*const add_by_count[TERMS])(const real *, const real *, int64_t, real, real, int64_t,
                                         real *) = {add_1, add_2, add_3, add_4,
                                                    add_5, add_6, add_7, add_8};

/* n columns of a row, from `column` on; relu keeps NaN */
static void run_row_of_terms(const simd_product *p, int64_t row, int64_t column, int64_t n)
{
    real a[TERMS], *c = simd_product_c(p, row, column);
    const real *bias = p->bias;
    for (int64_t q = 0; q < p->k; q++)
        a[q] = *simd_product_a(p, row, q);
    add_by_count[p->k - 1](a, simd_product_b(p, 0, column), p->ldb, (real)p->alpha, (real)p->beta,
                           n, c);
    for (int64_t j = 0; bias && j < n; j++)
        c[j] += bias[column + j];
    for (int64_t j = 0; p->relu && j < n; j++)
        c[j] = c[j] <= 0 ? 0 : c[j];
}

#endif
