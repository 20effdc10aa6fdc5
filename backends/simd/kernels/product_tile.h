/* Tiles of a product (product.c): some rows and vectors of C, held in registers while k passes.
 * Their sizes are those of the instruction set that this is compiled for. */
#ifndef WG_BACKENDS_SIMD_KERNELS_PRODUCT_TILE_H
#define WG_BACKENDS_SIMD_KERNELS_PRODUCT_TILE_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/unrolled.h"
#include "backends/simd/kernels/vector.h"

#include <string.h>

/* THIN_ALONG: the maximum rows of a thin product where B lies along its rows.  NARROW: the maximum
 * columns for which A is read where it lies, instead of being packed. */
#if defined(__AVX512F__)
enum { HEIGHT = 12, VECTORS = 2, DEPTH = 256, AHEAD = 4, THIN_ALONG = 128, NARROW = 512 };
#elif defined(__AVX2__)
enum { HEIGHT = 6, VECTORS = 2, DEPTH = 384, AHEAD = 0, THIN_ALONG = 24, NARROW = 128 };
#elif defined(__aarch64__)
enum { HEIGHT = 8, VECTORS = 3, DEPTH = 384, AHEAD = 0, THIN_ALONG = 32, NARROW = 512 };
#else
enum { HEIGHT = 4, VECTORS = 2, DEPTH = 384, AHEAD = 0, THIN_ALONG = 16, NARROW = 512 };
#endif
enum {
    WIDTH = VECTORS * LANES,
    WIDE = 4 * VECTORS,                          /* vectors of a tile of one row */
    VECTORS_A_LINE = BYTES < 64 ? 64 / BYTES : 1 /* vectors of a cache line */
};
typedef real sixteen __attribute__((vector_size(16), aligned(sizeof(real)), may_alias));

/* ---- a tile ---------------------------------------------------------------------------------- */

/* Number (i, p) of a panel of A lies at a[i a_row + p a_step], and row p of a panel of B at b + p
 * b_step. */
typedef struct tile {
    int64_t terms;
    const real *a;
    int64_t a_row, a_step;
    const real *b;
    int64_t b_step;
    real *c;
    int64_t ldc;
    int64_t rows, columns; /* of C: others are made but not written */
    real alpha, beta;
    const real *bias; /* NULL: none */
    bool relu;
} tile;

/* sum of a(i, p) b(p, j) over p; `height` and `vectors` are constants where this is called */
SIMD_INLINE void multiply(const tile *t, int64_t a_row, int64_t a_step, int64_t b_step, int height,
                          int vectors, vector *sum)
{
    const real *a = t->a, *b = t->b;
    const int64_t ahead = b_step == WIDTH ? 0 : AHEAD; /* rows of B, where it is not packed */
    for (int64_t p = t->terms; p > 0; p--, a += a_step, b += b_step) {
        vector row[WIDE];
        SIMD_UNROLLED
        for (int v = 0; v < vectors; v++)
            row[v] = *(const vector *)(b + v * LANES);
        for (int v = 0; ahead > 0 && v < vectors; v += VECTORS_A_LINE)
            __builtin_prefetch(b + ahead * b_step + v * LANES);
        SIMD_UNROLLED
        for (int i = 0; i < height; i++)
            SIMD_UNROLLED
        for (int v = 0; v < vectors; v++)
            sum[i * vectors + v] += a[i * a_row] * row[v];
    }
}

/* c = alpha sum + beta c */
SIMD_INLINE void write(const tile *t, real *c, int64_t ldc, bool add, int height, int vectors,
                       vector *sum)
{
    SIMD_UNROLLED
    for (int i = 0; i < height; i++)
        SIMD_UNROLLED
    for (int v = 0; v < vectors; v++) {
        vector *to = (vector *)(c + i * ldc + v * LANES);
        *to =
            add ? t->alpha * sum[i * vectors + v] + t->beta * *to : t->alpha * sum[i * vectors + v];
    }
}

/* c = relu(c + bias), on what was just written */
static void finish(const tile *t, real *c, int64_t ldc, const real *bias, int64_t rows,
                   int64_t vectors)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t v = 0; v < vectors; v++) {
            vector *to = (vector *)(c + i * ldc + v * LANES), y = *to;
            if (bias)
                y += *(const vector *)(bias + v * LANES);
            if (t->relu)
                y = (vector)((bits)y & ~(y <= 0)); /* NaN stays */
            *to = y;
        }
}

/* Where some of the tile's rows or columns lie beyond C, through a copy of it, WIDTH numbers a
 * row. */
static void copy_in(const tile *t, real *copy, real *bias)
{
    size_t size = (size_t)t->columns * sizeof *copy;
    for (int64_t i = 0; t->beta != 0 && i < t->rows; i++)
        memcpy(copy + i * WIDTH, t->c + i * t->ldc, size);
    if (t->bias)
        memcpy(bias, t->bias, size);
}

static void copy_out(const tile *t, const real *copy)
{
    for (int64_t i = 0; i < t->rows; i++)
        memcpy(t->c + i * t->ldc, copy + i * WIDTH, (size_t)t->columns * sizeof *copy);
}

SIMD_INLINE void write_tile(const tile *t, real *c, int64_t ldc, const real *bias, int height,
                            int vectors, vector *sum)
{
    if (t->beta != 0)
        write(t, c, ldc, true, height, vectors, sum);
    else
        write(t, c, ldc, false, height, vectors, sum);
    if (bias || t->relu)
        finish(t, c, ldc, bias, height, vectors);
}

SIMD_INLINE void run_tile(const tile *t, int64_t a_row, int64_t a_step, int64_t b_step, int height,
                          int vectors)
{
    vector sum[HEIGHT * VECTORS] = {{0}};
    for (int64_t i = 0; i < t->rows; i++) {
        real *row = t->c + i * t->ldc;
        for (int v = 0; v < vectors; v += VECTORS_A_LINE)
            __builtin_prefetch(row + v * LANES, 1);
        __builtin_prefetch(row + vectors * LANES - 1, 1); /* in the next line, if not aligned */
    }
    multiply(t, a_row, a_step, b_step, height, vectors, sum);
    if (t->rows >= height && t->columns >= vectors * LANES) {
        write_tile(t, t->c, t->ldc, t->bias, height, vectors, sum);
        return;
    }
    real copy[HEIGHT * WIDTH] = {0}, bias[WIDE * LANES] = {0};
    copy_in(t, copy, bias);
    write_tile(t, copy, WIDTH, t->bias ? bias : NULL, height, vectors, sum);
    copy_out(t, copy);
}

/* Tiles of each size; functions of their own, as clang merges calls that differ in constants
 * only. */
#define LOOSE(name, height, vectors)                                                               \
    static void name(const tile *t)                                                                \
    {                                                                                              \
        run_tile(t, t->a_row, t->a_step, t->b_step, height, vectors);                              \
    }
enum { EIGHT = HEIGHT < 8 ? HEIGHT : 8 };
LOOSE(loose_full, HEIGHT, VECTORS)
LOOSE(loose_8, EIGHT, VECTORS)
LOOSE(loose_4, 4, VECTORS)
LOOSE(loose_2, 2, VECTORS)
LOOSE(loose_1, 1, VECTORS)
LOOSE(slim_full, HEIGHT, 1)
LOOSE(slim_8, EIGHT, 1)
LOOSE(slim_4, 4, 1)
LOOSE(slim_2, 2, 1)
LOOSE(slim_1, 1, 1)

/* A lies anywhere, and maybe B: rows that are not there must not be read. */
static void loose_tile(const tile *t)
{
    bool slim = t->columns <= LANES;
    if (t->rows == HEIGHT)
        (slim ? slim_full : loose_full)(t);
    else if (t->rows == 8)
        (slim ? slim_8 : loose_8)(t);
    else if (t->rows == 4)
        (slim ? slim_4 : loose_4)(t);
    else if (t->rows == 2)
        (slim ? slim_2 : loose_2)(t);
    else
        (slim ? slim_1 : loose_1)(t);
}

static int64_t loose_height(int64_t rows)
{
    if (HEIGHT > 8 && rows < HEIGHT && rows >= 8)
        return 8;
    return rows >= HEIGHT ? HEIGHT : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
}

static void loose_tiles(tile t)
{
    for (int64_t left = t.rows; left > 0; left -= t.rows) {
        t.rows = loose_height(left);
        loose_tile(&t);
        t.a += t.rows * t.a_row;
        t.c += t.rows * t.ldc;
    }
}

#endif
