/* Products of matrices so small that calling a library costs more than the product: those of
 * attention over short sentences.  A block of rows of c, two vectors wide, is held in registers
 * while k passes. */
#ifndef WG_BACKENDS_SIMD_KERNELS_SMALL_H
#define WG_BACKENDS_SIMD_KERNELS_SMALL_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/unrolled.h"

#if defined(__AVX512F__)
enum { SIMD_LANES = 16, SIMD_BLOCK_ROWS = 8 };
#elif defined(__AVX2__)
enum { SIMD_LANES = 8, SIMD_BLOCK_ROWS = 6 };
#else
enum { SIMD_LANES = 4, SIMD_BLOCK_ROWS = 4 };
#endif
typedef float simd_vector __attribute__((vector_size(4 * SIMD_LANES), aligned(4), may_alias));

enum {
    SIMD_SMALL = 128,             /* most rows, columns and terms of a small product, ... */
    SIMD_SMALL_RESULT = 64 * 128, /* ... and elements of c, which stays in the first cache, ... */
    SIMD_SMALL_TERMS =            /* ... and most of their product: sgemm is as fast from there */
    SIMD_LANES == 16 ? 512 * 1024 : 64 * 1024,
    SIMD_SMALL_COLUMNS = 16, /* so many columns, or a multiple */
};

/* c[m, n] = alpha a b + beta c, where a(i, k) lies at a[i a_row + k a_step]; beta is 0 or 1 */
typedef struct simd_small {
    int64_t m, n, k;
    float alpha;
    const float *a;
    int64_t a_row, a_step;
    const float *b;
    int64_t ldb;
    bool add;
    float *c;
    int64_t ldc;
    const float *next; /* if not NULL: rows of a that will be needed next, as many, asked for */
} simd_small;

/* `rows` rows of c from row i on, `vectors` vectors from column j on; both are constants where this
 * is called, and their product is at most 2 SIMD_BLOCK_ROWS. */
SIMD_INLINE void simd_small_block(const simd_small *p, int64_t i, int64_t j, int rows, int vectors)
{
    simd_vector sum[2 * SIMD_BLOCK_ROWS] = {{0}};
    const float *a = p->a + i * p->a_row, *b = p->b + j;
    float *c = p->c + i * p->ldc + j;
    for (int64_t k = 0; k < p->k; k++, a += p->a_step, b += p->ldb) {
        SIMD_UNROLLED
        for (int r = 0; r < rows; r++) {
            SIMD_UNROLLED
            for (int v = 0; v < vectors; v++)
                sum[r * vectors + v] +=
                    a[r * p->a_row] * *(const simd_vector *)(b + v * SIMD_LANES);
        }
    }
    SIMD_UNROLLED
    for (int r = 0; r < rows; r++) {
        SIMD_UNROLLED
        for (int v = 0; v < vectors; v++) {
            simd_vector *to = (simd_vector *)(c + r * p->ldc + v * SIMD_LANES);
            const simd_vector *y = &sum[r * vectors + v];
            *to = p->add ? *to + p->alpha * *y : p->alpha * *y;
        }
    }
}

/* Pairs of vectors of `rows` rows, a constant where this is called, too. */
SIMD_INLINE void simd_small_pairs(const simd_small *p, int64_t i, int rows)
{
    for (int64_t k = 0; p->next && k < rows * p->a_row; k += 16)
        __builtin_prefetch(p->next + i * p->a_row + k, 0, 2);
    for (int64_t j = 0; j + 2 * SIMD_LANES <= p->n; j += 2 * SIMD_LANES)
        simd_small_block(p, i, j, rows, 2);
}

/* The last vector, if their number is odd.  There are as many sums as of a pair, since a sum waits
 * for its last term: so twice as many rows. */
SIMD_INLINE void simd_small_single(const simd_small *p)
{
    int64_t i = 0, j = p->n - SIMD_LANES;
    for (; i + 2 * SIMD_BLOCK_ROWS <= p->m; i += 2 * SIMD_BLOCK_ROWS)
        simd_small_block(p, i, j, 2 * SIMD_BLOCK_ROWS, 1);
    for (; i + SIMD_BLOCK_ROWS <= p->m; i += SIMD_BLOCK_ROWS)
        simd_small_block(p, i, j, SIMD_BLOCK_ROWS, 1);
    for (; i < p->m; i++)
        simd_small_block(p, i, j, 1, 1);
}

/* n is a multiple of SIMD_LANES */
static inline void simd_small_product(const simd_small *p)
{
    enum { FEWER = 4 };
    int64_t i = 0;
    for (; i + SIMD_BLOCK_ROWS <= p->m; i += SIMD_BLOCK_ROWS)
        simd_small_pairs(p, i, SIMD_BLOCK_ROWS);
    for (; i + FEWER <= p->m; i += FEWER)
        simd_small_pairs(p, i, FEWER);
    for (; i < p->m; i++)
        simd_small_pairs(p, i, 1);
    if (p->n % (2 * SIMD_LANES))
        simd_small_single(p);
}

static inline bool simd_is_small(int64_t m, int64_t n, int64_t k)
{
    return m <= SIMD_SMALL && n <= SIMD_SMALL && k <= SIMD_SMALL && m * n <= SIMD_SMALL_RESULT &&
           m * n * k <= SIMD_SMALL_TERMS;
}

#endif
