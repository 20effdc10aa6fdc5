/* A product of matrices, C = alpha op(A) op(B) + beta C, in single precision. */
#ifndef WG_BACKENDS_SIMD_KERNELS_PRODUCT_H
#define WG_BACKENDS_SIMD_KERNELS_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

/* See product.c.  op(A) is [m, k], op(B) [k, n], C [m, n]; all lie row by row, lda, ldb and ldc
 * floats apart.  A is stored [m, k], or [k, m] if transposed (ta), and B [k, n], or [n, k] (tb).
 * beta 0: C is not read.  Then bias[j] is added to column j, and relu takes what is negative to 0.
 * C overlaps nothing else.  With one thread no parallel region is opened, and within anybody's this
 * may be called. */
typedef struct simd_product {
    int64_t m, n, k;
    float alpha;
    const float *a;
    int64_t lda;
    bool ta;
    const float *b;
    int64_t ldb;
    bool tb;
    float beta;
    float *c;
    int64_t ldc;
    const float *bias; /* [n] or NULL */
    bool relu;
    int threads;
    float *scratch; /* simd_product_scratch floats */
} simd_product;

/* Upper bounds, for all instruction sets, of what is packed at a time: of A by each thread so many
 * rows, of B by all together so many columns and numbers; and of the terms of a block of either. */
enum {
    SIMD_PRODUCT_DEPTH = 384,
    SIMD_PRODUCT_ROWS = 192,
    SIMD_PRODUCT_COLUMNS = 1024,
    SIMD_PRODUCT_SLAB = 1 << 20,
    SIMD_PRODUCT_PANEL = 64 /* no panel is wider */
};

/* In floats, for any thread count up to `threads`. */
static inline int64_t simd_product_scratch(int64_t m, int64_t n, int64_t k, int threads)
{
    int64_t depth = k < SIMD_PRODUCT_DEPTH ? k : SIMD_PRODUCT_DEPTH;
    int64_t rows = m < SIMD_PRODUCT_ROWS ? m : SIMD_PRODUCT_ROWS;
    int64_t columns = n < SIMD_PRODUCT_COLUMNS ? n : SIMD_PRODUCT_COLUMNS;
    int64_t slab = (columns + SIMD_PRODUCT_PANEL) * k;
    slab = slab < SIMD_PRODUCT_SLAB ? slab : SIMD_PRODUCT_SLAB;
    return slab + threads * (rows + SIMD_PRODUCT_PANEL) * depth + 16 * (threads + 2);
}

/* Of a product on the calling thread (gemm.h), in floats: oneDNN's sgemm brings its own. */
static inline int64_t simd_gemm_scratch(int64_t m, int64_t n, int64_t k)
{
#if defined(WG_HAVE_ONEDNN)
    (void)m, (void)n, (void)k;
    return 0;
#else
    return simd_product_scratch(m, n, k, 1);
#endif
}

#endif
