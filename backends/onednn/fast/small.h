/* Products of matrices so small that calling a library costs more than the product: those of attention over short
 * sentences.  A block of rows of c, two vectors wide, is held in registers while k passes. */
#ifndef WG_BACKENDS_ONEDNN_FAST_SMALL_H
#define WG_BACKENDS_ONEDNN_FAST_SMALL_H

#include "backends/onednn/fast/fast.h"

#if defined(__AVX512F__)
enum { FAST_LANES = 16, FAST_BLOCK_ROWS = 8 };
#elif defined(__AVX2__)
enum { FAST_LANES = 8, FAST_BLOCK_ROWS = 4 };
#else
enum { FAST_LANES = 4, FAST_BLOCK_ROWS = 4 };
#endif
typedef float fast_vector __attribute__((vector_size(4 * FAST_LANES), aligned(4), may_alias));

enum {
    FAST_SMALL = 64, /* most rows, columns and terms of a small product, ... */
    FAST_SMALL_TERMS =
        64 * 1024,           /* ... and most of their product: sgemm is as fast from there on */
    FAST_SMALL_COLUMNS = 16, /* so many columns, or a multiple */
};

/* c[m, n] = alpha a b + beta c, where a(i, k) lies at a[i a_row + k a_step]; beta is 0 or 1 */
typedef struct fast_small {
    int64_t m, n, k;
    float alpha;
    const float *a;
    int64_t a_row, a_step;
    const float *b;
    int64_t ldb;
    bool add;
    float *c;
    int64_t ldc;
} fast_small;

/* `rows` rows of c from row i on, `vectors` vectors from column j on; both are constants where this is called. */
static inline __attribute__((always_inline)) void fast_small_block(const fast_small *p, int64_t i,
                                                                   int64_t j, int rows, int vectors)
{
    fast_vector sum[FAST_BLOCK_ROWS][2] = {{{0}}};
    const float *a = p->a + i * p->a_row, *b = p->b + j;
    float *c = p->c + i * p->ldc + j;
    for (int64_t k = 0; k < p->k; k++, a += p->a_step, b += p->ldb)
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                sum[r][v] += a[r * p->a_row] * *(const fast_vector *)(b + v * FAST_LANES);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            fast_vector *to = (fast_vector *)(c + r * p->ldc + v * FAST_LANES);
            *to = p->add ? *to + p->alpha * sum[r][v] : p->alpha * sum[r][v];
        }
}

static inline void fast_small_rows(const fast_small *p, int64_t i, int rows)
{
    int64_t j = 0;
    for (; j + 2 * FAST_LANES <= p->n; j += 2 * FAST_LANES)
        fast_small_block(p, i, j, rows, 2);
    for (; j < p->n; j += FAST_LANES)
        fast_small_block(p, i, j, rows, 1);
}

/* n is a multiple of FAST_LANES */
static inline void fast_small_product(const fast_small *p)
{
    int64_t i = 0;
    for (; i + FAST_BLOCK_ROWS <= p->m; i += FAST_BLOCK_ROWS)
        fast_small_rows(p, i, FAST_BLOCK_ROWS);
    for (; i < p->m; i++)
        fast_small_rows(p, i, 1);
}

static inline bool fast_is_small(int64_t m, int64_t n, int64_t k)
{
    return m <= FAST_SMALL && n <= FAST_SMALL && k <= FAST_SMALL && m * n * k <= FAST_SMALL_TERMS;
}

#endif
