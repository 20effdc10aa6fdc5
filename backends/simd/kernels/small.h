/* Products of matrices so small that calling a library costs more than the product: those of
 * attention over short sentences.  A block of rows of c, some vectors wide, is held in registers
 * while k passes.
 *
 * With AVX2, where c has four vectors, a block is half as high and twice as wide: it reads fewer
 * numbers of a for as many products, 1.02 to 1.1 times as fast. */
#ifndef WG_BACKENDS_SIMD_KERNELS_SMALL_H
#define WG_BACKENDS_SIMD_KERNELS_SMALL_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/unrolled.h"

/* Rows of a block of two vectors and, if not 0, of one of four. */
#if defined(__AVX512F__)
enum { SIMD_LANES = 16, SIMD_BLOCK_ROWS = 8, SIMD_WIDE_ROWS = 0 };
#elif defined(__AVX2__)
enum { SIMD_LANES = 8, SIMD_BLOCK_ROWS = 6, SIMD_WIDE_ROWS = 3 };
#else
enum { SIMD_LANES = 4, SIMD_BLOCK_ROWS = 4, SIMD_WIDE_ROWS = 0 };
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

/* `rows` rows of c from column `first` on, `vectors` vectors at a time; both are constants where
 * this is called.  With column 0 the next rows of a are asked for as well. */
SIMD_INLINE void simd_small_rows(const simd_small *p, int64_t i, int64_t first, int rows,
                                 int vectors)
{
    for (int64_t k = 0; first == 0 && p->next && k < rows * p->a_row; k += 16)
        __builtin_prefetch(p->next + i * p->a_row + k, 0, 2);
    int64_t j = first;
    for (; j + vectors * SIMD_LANES <= p->n; j += vectors * SIMD_LANES)
        simd_small_block(p, i, j, rows, vectors);
}

/* All rows, four vectors at a time; the next column. */
SIMD_INLINE int64_t simd_small_wide(const simd_small *p)
{
    int64_t i = 0;
    for (; i + SIMD_WIDE_ROWS <= p->m; i += SIMD_WIDE_ROWS)
        simd_small_rows(p, i, 0, SIMD_WIDE_ROWS, 4);
    for (; i < p->m; i++)
        simd_small_rows(p, i, 0, 1, 4);
    return p->n / (4 * SIMD_LANES) * (4 * SIMD_LANES);
}

/* Pairs of vectors, from column `first` on */
SIMD_INLINE void simd_small_pairs(const simd_small *p, int64_t first)
{
    enum { FEWER = 4 };
    int64_t i = 0;
    for (; i + SIMD_BLOCK_ROWS <= p->m; i += SIMD_BLOCK_ROWS)
        simd_small_rows(p, i, first, SIMD_BLOCK_ROWS, 2);
    for (; i + FEWER <= p->m; i += FEWER)
        simd_small_rows(p, i, first, FEWER, 2);
    for (; i < p->m; i++)
        simd_small_rows(p, i, first, 1, 2);
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
    bool wide = SIMD_WIDE_ROWS > 0 && p->n >= 4 * SIMD_LANES;
    int64_t first = wide ? simd_small_wide(p) : 0;
    if (first + 2 * SIMD_LANES <= p->n)
        simd_small_pairs(p, first);
    if (p->n % (2 * SIMD_LANES))
        simd_small_single(p);
}

static inline bool simd_is_small(int64_t m, int64_t n, int64_t k)
{
    return m <= SIMD_SMALL && n <= SIMD_SMALL && k <= SIMD_SMALL && m * n <= SIMD_SMALL_RESULT &&
           m * n * k <= SIMD_SMALL_TERMS;
}

#endif
