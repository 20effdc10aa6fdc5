/* Sums of products of two signals, one of them moved: of what each tap of a convolution lies on
 * and the gradient in y, in lanes.  The sums of some taps stay in registers. */
#ifndef WG_BACKENDS_SIMD_KERNELS_TAP_SUMS_H
#define WG_BACKENDS_SIMD_KERNELS_TAP_SUMS_H

#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/unrolled.h"
#include "backends/simd/kernels/vector.h"

/* ---- taps anywhere --------------------------------------------------------------------------- */

enum { TAPS = 8 };

/* sum[t] += dy x[.. + offset[t]], n numbers in whole vectors; `taps` is a constant where this is
 * called. */
SIMD_INLINE void add_taps(const real *x, const real *dy, int64_t n, const int64_t *offset, int taps,
                          vector *sum)
{
    vector s[TAPS];
    SIMD_UNROLLED
    for (int t = 0; t < taps; t++)
        s[t] = sum[t];
    for (int64_t i = 0; i < n; i += LANES) {
        vector y = *(const vector *)(dy + i);
        SIMD_UNROLLED
        for (int t = 0; t < taps; t++)
            s[t] += y * *(const vector *)(x + offset[t] + i);
    }
    SIMD_UNROLLED
    for (int t = 0; t < taps; t++)
        sum[t] = s[t];
}

#define WGI_ADD(taps)                                                                              \
    case taps: add_taps(x, dy, n, offset, taps, sum); break
static void add_some(const real *x, const real *dy, int64_t n, const int64_t *offset, int64_t taps,
                     vector *sum)
{
    switch (taps) {
        WGI_ADD(1);
        WGI_ADD(2);
        WGI_ADD(3);
        WGI_ADD(4);
        WGI_ADD(5);
        WGI_ADD(6);
        WGI_ADD(7);
        WGI_ADD(8);
    default: break;
    }
}

/* ---- a grid of taps -------------------------------------------------------------------------- */

/* Rows and columns of taps whose sums, with a vector of dy for each row and one of x, are in
 * registers */
#if defined(__AVX512F__)
enum { TILE = 5 };
#else
enum { TILE = 3 };
#endif

/* Keeps v in a register: gcc would read it from memory again for each product. */
#if defined(__AVX512F__)
#define WGI_IN_REGISTER(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define WGI_IN_REGISTER(v) __asm__("" : "+x"(v))
#else
#define WGI_IN_REGISTER(v) (void)(v)
#endif

/* A grid of taps: row k and column l lie at k down + l across. */
typedef struct tap_grid {
    int64_t rows, columns, down, across;
} tap_grid;

/* sum[k pitch + l] += dy[i] x[i + k down + l across]: what the taps of a column lie on is read
 * once, at place j = i + k down, for the rows' dy[j - k down].  So j goes to n + (rows - 1) down,
 * and dy is 0 as far before and behind its n numbers (and to whole vectors).  rows and columns are
 * constants where this is called. */
SIMD_INLINE void add_tile(const real *x, const real *dy, int64_t n, const tap_grid *g, int rows,
                          int columns, vector *sum)
{
    const int64_t down = g->down, across = g->across, pitch = g->columns;
    vector s[TILE * TILE];
    SIMD_UNROLLED
    for (int k = 0; k < rows; k++) {
        SIMD_UNROLLED
        for (int l = 0; l < columns; l++)
            s[k * columns + l] = sum[k * pitch + l];
    }
    for (int64_t j = 0; j < n + (rows - 1) * down; j += LANES) {
        vector y[TILE];
        SIMD_UNROLLED
        for (int k = 0; k < rows; k++) {
            y[k] = *(const vector *)(dy + j - k * down);
            WGI_IN_REGISTER(y[k]);
        }
        SIMD_UNROLLED
        for (int l = 0; l < columns; l++) {
            vector in = *(const vector *)(x + j + l * across);
            WGI_IN_REGISTER(in);
            SIMD_UNROLLED
            for (int k = 0; k < rows; k++)
                s[k * columns + l] += in * y[k];
        }
    }
    SIMD_UNROLLED
    for (int k = 0; k < rows; k++) {
        SIMD_UNROLLED
        for (int l = 0; l < columns; l++)
            sum[k * pitch + l] = s[k * columns + l];
    }
}

#define WGI_TILE(rows, columns)                                                                    \
    case (rows)*8 + (columns):                                                                     \
        add_tile(x, dy, n, g, rows, columns, sum);                                                 \
        break
#define WGI_TILES(rows)                                                                            \
    WGI_TILE(rows, 1);                                                                             \
    WGI_TILE(rows, 2);                                                                             \
    WGI_TILE(rows, 3)
static void add_some_tile(const real *x, const real *dy, int64_t n, const tap_grid *g, int64_t rows,
                          int64_t columns, vector *sum)
{
    switch (rows * 8 + columns) {
        WGI_TILES(1);
        WGI_TILES(2);
        WGI_TILES(3);
#if defined(__AVX512F__)
        WGI_TILES(4);
        WGI_TILES(5);
        WGI_TILE(1, 4);
        WGI_TILE(2, 4);
        WGI_TILE(3, 4);
        WGI_TILE(4, 4);
        WGI_TILE(5, 4);
        WGI_TILE(1, 5);
        WGI_TILE(2, 5);
        WGI_TILE(3, 5);
        WGI_TILE(4, 5);
        WGI_TILE(5, 5);
#endif
    default: break;
    }
}

/* Rows of a tile: so few that j goes little further than n */
static inline int64_t rows_together(const tap_grid *g, int64_t n)
{
    enum { SHARE = 4 };
    return g->rows == 1 ? 1 : simd_smaller(TILE, simd_smaller(g->rows, 1 + n / (SHARE * g->down)));
}

/* All taps, tile by tile; sum [rows, columns]; dy has `rows_together` rows of zeros but one before
 * it and behind. */
static void add_grid(const real *x, const real *dy, int64_t n, const tap_grid *g, vector *sum)
{
    const int64_t down = simd_divide_up(g->rows, rows_together(g, n)),
                  across = simd_divide_up(g->columns, TILE);
    for (int64_t a = 0; a < down; a++)
        for (int64_t b = 0; b < across; b++) {
            const int64_t k = g->rows * a / down, l = g->columns * b / across;
            add_some_tile(x + k * g->down + l * g->across, dy, n, g, g->rows * (a + 1) / down - k,
                          g->columns * (b + 1) / across - l, sum + k * g->columns + l);
        }
}

#endif
