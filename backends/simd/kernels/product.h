/* A product of matrices, C = alpha op(A) op(B) + beta C, in f32 or f64. */
#ifndef WG_BACKENDS_SIMD_KERNELS_PRODUCT_H
#define WG_BACKENDS_SIMD_KERNELS_PRODUCT_H

#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/sizes.h"

#include <stdbool.h>
#include <stdint.h>

/* See product.c.  op(A) is [m, k], op(B) [k, n], C [m, n]; all lie row by row, lda, ldb and ldc
 * numbers apart.  A is stored [m, k], or [k, m] if transposed (ta), and B [k, n], or [n, k] (tb).
 * beta 0: C is not read.  Then bias[j] is added to column j, and relu takes what is negative to 0.
 * C overlaps nothing else.  With one thread no parallel region is opened, and within anybody's this
 * may be called. */
typedef struct simd_product {
    int64_t m, n, k;
    double alpha;
    const void *a; /* this and what follows: of the kernel's element type */
    int64_t lda;
    bool ta;
    const void *b;
    int64_t ldb;
    bool tb;
    double beta;
    void *c;
    int64_t ldc;
    const void *bias; /* [n] or NULL */
    bool relu;
    int threads;
    void *scratch; /* simd_product_scratch numbers */
    /* Not on AMX: */
    void *packed;  /* op(B) of a product that is not long, simd_product_packed numbers; or NULL */
    bool in_order; /* a row gets the bits that it gets among many: no dot products */
} simd_product;

/* See tiny.c and vectors.c.  C[i] = A[i] B[i] for `count` matrices, [m, k] and [k, n]: for `tiny`
 * none of the sizes is above SIMD_TINY, for `vectors` k is 1, or m and n are.  From one matrix to
 * the next it is a_next and b_next numbers (0: they have the same B); number (i, q) of A lies at
 * a[i a_row + q a_step], (q, j) of B at b[q b_step + j b_column], where one of the two is 1.  C is
 * dense, and overlaps nothing else. */
enum { SIMD_TINY = 16 };
typedef struct simd_tiny {
    int64_t count, m, n, k;
    const void *a, *b; /* of the kernel's element type */
    void *c;
    int64_t a_next, b_next, a_row, a_step, b_step, b_column;
    int threads;
} simd_tiny;

/* Where numbers (row, term) of op(A), (term, column) of op(B) and (row, column) of C lie */
static inline const real *simd_product_a(const simd_product *p, int64_t row, int64_t term)
{
    return (const real *)p->a + (p->ta ? term * p->lda + row : row * p->lda + term);
}

static inline const real *simd_product_b(const simd_product *p, int64_t term, int64_t column)
{
    return (const real *)p->b + (p->tb ? column * p->ldb + term : term * p->ldb + column);
}

static inline real *simd_product_c(const simd_product *p, int64_t row, int64_t column)
{
    return (real *)p->c + row * p->ldc + column;
}

/* Upper bounds, for all instruction sets, of what is packed at a time: by all threads together so
 * many columns of B (and fewer rows of A) and, where that is more than one block, numbers; by each
 * thread so many rows of A or columns of B; and of the terms of a block of either. */
enum {
    SIMD_PRODUCT_DEPTH = 384,
    SIMD_PRODUCT_COLUMNS = 1024,
    SIMD_PRODUCT_SLAB = 1 << 18,
    SIMD_PRODUCT_ROWS = 192,
    SIMD_PRODUCT_GROUP = 256,
    SIMD_PRODUCT_PANEL = 64 /* no panel is wider */
};

/* A long product has at most FEW numbers, and so at most SIDE rows or SIDE columns, each the sum of
 * at least TERMS. */
enum {
    SIMD_LONG_FEW = 1 << 16,
    SIMD_LONG_SIDE = 1 << 8,
    SIMD_LONG_TERMS = 2048,
    SIMD_SEGMENTS = 8,
    SIMD_SEGMENT = 512
};

/* Into how many segments the sum is divided; 1: the product is not long. */
static inline int64_t simd_product_segments(int64_t m, int64_t n, int64_t k)
{
    if (m < SIMD_PRODUCT_PANEL || n < SIMD_PRODUCT_PANEL || m * n > SIMD_LONG_FEW ||
        k < SIMD_LONG_TERMS)
        return 1;
    return simd_smaller(k / SIMD_SEGMENT, SIMD_SEGMENTS);
}

/* In numbers: a block of the shared operand, which is the smaller one; and what a thread packs. */
static inline int64_t simd_product_block(int64_t m, int64_t n, int64_t k)
{
    int64_t side = simd_smaller(simd_smaller(m, n), SIMD_PRODUCT_COLUMNS);
    return (side + SIMD_PRODUCT_PANEL) * simd_smaller(k, SIMD_PRODUCT_DEPTH);
}

static inline int64_t simd_product_room(int64_t m, int64_t n, int64_t k)
{
    int64_t rows = simd_smaller(m, SIMD_PRODUCT_ROWS);
    int64_t group = simd_smaller(n, SIMD_PRODUCT_GROUP);
    return ((rows > group ? rows : group) + SIMD_PRODUCT_PANEL) *
           simd_smaller(k, SIMD_PRODUCT_DEPTH);
}

/* By one thread, which shares one block at a time: of a segment. */
static inline int64_t simd_product_alone(int64_t m, int64_t n, int64_t k)
{
    return simd_product_block(m, n, k) + simd_product_room(m, n, k) + 16 * 3;
}

/* In numbers, for any thread count up to `threads`, and for any product of no more rows, columns
 * and terms: so a product counts as long if a smaller one may be. */
static inline int64_t simd_product_scratch(int64_t m, int64_t n, int64_t k, int threads)
{
    int64_t block = simd_product_block(m, n, k), edges = 16 * (threads + 2);
    int64_t slab = block > SIMD_PRODUCT_SLAB ? block : SIMD_PRODUCT_SLAB;
    slab = simd_smaller(slab, (simd_smaller(m, n) + SIMD_PRODUCT_PANEL) * k);
    int64_t most = slab + threads * simd_product_room(m, n, k);
    if (k >= SIMD_LONG_TERMS) {
        int64_t rows = simd_smaller(m, SIMD_LONG_SIDE), columns = simd_smaller(n, SIMD_LONG_SIDE);
        int64_t segments = SIMD_SEGMENTS * simd_smaller(m * n, SIMD_LONG_FEW);
        int64_t apart = segments + threads * (simd_product_block(rows, columns, k) +
                                              simd_product_room(m, n, k) + 16 * 4);
        most = apart > most ? apart : most;
    }
    return most + edges;
}

/* In numbers: all of op(B), packed */
static inline int64_t simd_product_packed(int64_t n, int64_t k)
{
    return simd_round_up(n, SIMD_PRODUCT_PANEL) * k;
}

/* On AMX (amx/product.c): three numbers of bf16 make one of f32.  A panel has SIDE rows or columns,
 * whose terms are packed TERMS by TERMS, at most DEPTH at a time: of all threads together a SLAB of
 * rows or columns, of each a GROUP of panels.  PLAIN: scratch of a product of two such panels. */
enum {
    SIMD_AMX_PARTS = 3,
    SIMD_AMX_SIDE = 32,
    SIMD_AMX_TERMS = 32,
    SIMD_AMX_DEPTH = 256,
    SIMD_AMX_SLAB = 512,
    SIMD_AMX_GROUP = 4,
    SIMD_AMX_PLAIN = 2 * (SIMD_AMX_SIDE + SIMD_PRODUCT_PANEL) * SIMD_AMX_DEPTH + 64
};

/* In floats: the slab; and of each thread a group of panels, a square of C, and PLAIN */
static inline int64_t simd_amx_scratch(int64_t m, int64_t n, int64_t k, int threads)
{
    int64_t side = simd_round_up(simd_smaller(simd_smaller(m, n), SIMD_AMX_SLAB), SIMD_AMX_SIDE),
            depth = simd_round_up(simd_smaller(k, SIMD_AMX_DEPTH), SIMD_AMX_TERMS),
            group = SIMD_AMX_GROUP * SIMD_AMX_SIDE * SIMD_AMX_DEPTH,
            square = SIMD_AMX_SIDE * SIMD_AMX_SIDE;
    return side * depth * SIMD_AMX_PARTS / 2 +
           threads * (group * SIMD_AMX_PARTS / 2 + square + SIMD_AMX_PLAIN) + 16 * 3;
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
