/* Transposing squares of numbers in registers, for packing and permutations. */
#ifndef WG_BACKENDS_SIMD_KERNELS_TRANSPOSE_H
#define WG_BACKENDS_SIMD_KERNELS_TRANSPOSE_H

#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/unrolled.h"

#include <stdint.h>

#ifdef SIMD_F64

/* Four rows of SIMD_STEP numbers become SIMD_STEP columns of four. */
#if defined(__AVX2__)
enum { SIMD_STEP = 4 };
typedef double simd_group __attribute__((vector_size(32), aligned(8), may_alias));

SIMD_INLINE void simd_transpose(const double *x, int64_t ld, double *to, int64_t width)
{
    simd_group a = *(const simd_group *)x, b = *(const simd_group *)(x + ld);
    simd_group c = *(const simd_group *)(x + 2 * ld), d = *(const simd_group *)(x + 3 * ld);
    simd_group even_ab = __builtin_shufflevector(a, b, 0, 4, 2, 6);
    simd_group odd_ab = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    simd_group even_cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
    simd_group odd_cd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    *(simd_group *)to = __builtin_shufflevector(even_ab, even_cd, 0, 1, 4, 5);
    *(simd_group *)(to + width) = __builtin_shufflevector(odd_ab, odd_cd, 0, 1, 4, 5);
    *(simd_group *)(to + 2 * width) = __builtin_shufflevector(even_ab, even_cd, 2, 3, 6, 7);
    *(simd_group *)(to + 3 * width) = __builtin_shufflevector(odd_ab, odd_cd, 2, 3, 6, 7);
}

/* SIMD_STEP rows of x, ld apart, become as many columns of `to`, whose rows are `width` apart. */
SIMD_INLINE void simd_transpose_square(const double *x, int64_t ld, double *to, int64_t width)
{
    simd_transpose(x, ld, to, width);
}
#else
enum { SIMD_STEP = 2 };
typedef double simd_group __attribute__((vector_size(16), aligned(8), may_alias));

SIMD_INLINE void simd_transpose_square(const double *x, int64_t ld, double *to, int64_t width)
{
    simd_group a = *(const simd_group *)x, b = *(const simd_group *)(x + ld);
    *(simd_group *)to = __builtin_shufflevector(a, b, 0, 2);
    *(simd_group *)(to + width) = __builtin_shufflevector(a, b, 1, 3);
}

SIMD_INLINE void simd_transpose(const double *x, int64_t ld, double *to, int64_t width)
{
    simd_transpose_square(x, ld, to, width);
    simd_transpose_square(x + 2 * ld, ld, to + 2, width);
}
#endif

#else

typedef float simd_four __attribute__((vector_size(16), aligned(4), may_alias));

/* Four rows of SIMD_STEP numbers become SIMD_STEP columns of four: SIMD_STEP / 4 adjacent squares
 * are transposed at a time. */
#if defined(__AVX2__)
enum { SIMD_STEP = 8 };
typedef float simd_group __attribute__((vector_size(32), aligned(4), may_alias));
#define SIMD_LOW_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define SIMD_HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define SIMD_LOW_HALVES(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define SIMD_HIGH_HALVES(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define SIMD_LOW_LANES(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define SIMD_HIGH_LANES(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#else
enum { SIMD_STEP = 4 };
typedef simd_four simd_group;
#define SIMD_LOW_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define SIMD_HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define SIMD_LOW_HALVES(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define SIMD_HIGH_HALVES(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#endif

/* One column of each square */
SIMD_INLINE void simd_put(simd_group x, float *to, int64_t width)
{
    *(simd_four *)to = __builtin_shufflevector(x, x, 0, 1, 2, 3);
#if defined(__AVX2__)
    *(simd_four *)(to + 4 * width) = __builtin_shufflevector(x, x, 4, 5, 6, 7);
#else
    (void)width;
#endif
}

/* Four rows of x, ld apart, are SIMD_STEP / 4 adjacent squares: column[i] gets column i of each. */
SIMD_INLINE void simd_transpose_rows(const float *x, int64_t ld, simd_group column[4])
{
    simd_group a = *(const simd_group *)x, b = *(const simd_group *)(x + ld);
    simd_group c = *(const simd_group *)(x + 2 * ld), d = *(const simd_group *)(x + 3 * ld);
    simd_group low_ab = SIMD_LOW_PAIRS(a, b), high_ab = SIMD_HIGH_PAIRS(a, b);
    simd_group low_cd = SIMD_LOW_PAIRS(c, d), high_cd = SIMD_HIGH_PAIRS(c, d);
    column[0] = SIMD_LOW_HALVES(low_ab, low_cd);
    column[1] = SIMD_HIGH_HALVES(low_ab, low_cd);
    column[2] = SIMD_LOW_HALVES(high_ab, high_cd);
    column[3] = SIMD_HIGH_HALVES(high_ab, high_cd);
}

/* Rows of x, ld apart, become columns of `to`, which has `width` numbers in a row. */
SIMD_INLINE void simd_transpose(const float *x, int64_t ld, float *to, int64_t width)
{
    simd_group column[4];
    simd_transpose_rows(x, ld, column);
    SIMD_UNROLLED
    for (int i = 0; i < 4; i++)
        simd_put(column[i], to + i * width, width);
}

/* SIMD_STEP rows of x, ld apart, become as many columns of `to`, whose rows are `width` apart. */
SIMD_INLINE void simd_transpose_square(const float *x, int64_t ld, float *to, int64_t width)
{
    simd_group column[SIMD_STEP];
    SIMD_UNROLLED
    for (int i = 0; i < SIMD_STEP; i += 4)
        simd_transpose_rows(x + i * ld, ld, column + i);
    SIMD_UNROLLED
    for (int i = 0; i < 4; i++) {
#if defined(__AVX2__)
        *(simd_group *)(to + i * width) = SIMD_LOW_LANES(column[i], column[i + 4]);
        *(simd_group *)(to + (i + 4) * width) = SIMD_HIGH_LANES(column[i], column[i + 4]);
#else
        *(simd_group *)(to + i * width) = column[i];
#endif
    }
}

#endif

/* [rows, columns] of x, whose rows are ld apart, as [columns, rows] of `to`, width apart; none if
 * either is 0 or less. */
SIMD_INLINE void simd_transpose_matrix(const real *x, int64_t ld, int64_t rows, int64_t columns,
                                       real *to, int64_t width)
{
    int64_t whole_rows = rows / SIMD_STEP * SIMD_STEP,
            whole_columns = columns / SIMD_STEP * SIMD_STEP;
    for (int64_t i = 0; i < whole_rows; i += SIMD_STEP)
        for (int64_t j = 0; j < whole_columns; j += SIMD_STEP)
            simd_transpose_square(x + i * ld + j, ld, to + j * width + i, width);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; j++)
            to[j * width + i] = x[i * ld + j];
}

/* `count` short rows of `size` numbers, one after the other, become columns of x [size, width]; its
 * other columns become 0.  width is a constant where this is called, a multiple of SIMD_STEP. */
SIMD_INLINE void simd_turn_in(const real *rows, int64_t count, int64_t size, real *x, int64_t width)
{
    int64_t squares = count == width ? size / SIMD_STEP * SIMD_STEP : 0;
    for (int64_t k = 0; k < squares; k += SIMD_STEP)
        for (int64_t i = 0; i < width; i += SIMD_STEP)
            simd_transpose_square(rows + i * size + k, size, x + k * width + i, width);
    for (int64_t k = squares; k < size; k++) {
        for (int64_t i = 0; i < count; i++)
            x[k * width + i] = rows[i * size + k];
        for (int64_t i = count; i < width; i++)
            x[k * width + i] = 0;
    }
}

/* The reverse */
SIMD_INLINE void simd_turn_out(const real *x, int64_t width, int64_t count, int64_t size,
                               real *rows)
{
    int64_t squares = count == width ? size / SIMD_STEP * SIMD_STEP : 0;
    for (int64_t i = 0; squares && i < width; i += SIMD_STEP)
        for (int64_t k = 0; k < squares; k += SIMD_STEP)
            simd_transpose_square(x + k * width + i, width, rows + i * size + k, size);
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = squares; k < size; k++)
            rows[i * size + k] = x[k * width + i];
}

#endif
