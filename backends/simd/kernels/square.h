/* Squares of numbers whose columns are needed in registers, and nowhere else: column[k] of
 * simd_square_columns gets number k of each of SIMD_LANES rows of x, ld apart. */
#ifndef WG_BACKENDS_SIMD_KERNELS_SQUARE_H
#define WG_BACKENDS_SIMD_KERNELS_SQUARE_H

#include "backends/simd/kernels/small.h"
#include "backends/simd/kernels/transpose.h"

#if defined(__AVX512F__)
/* Of each quarter of a and b, the first or the last two numbers, in turn or one after the other */
#define SIMD_LOW_TURNS(a, b)                                                                       \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define SIMD_HIGH_TURNS(a, b)                                                                      \
    __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define SIMD_LOW_TWOS(a, b)                                                                        \
    __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define SIMD_HIGH_TWOS(a, b)                                                                       \
    __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
/* Of a and b, the first or the last two quarters, the even or the odd ones */
#define SIMD_FIRST_QUARTERS(a, b)                                                                  \
    __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define SIMD_LAST_QUARTERS(a, b)                                                                   \
    __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)
#define SIMD_EVEN_QUARTERS(a, b)                                                                   \
    __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define SIMD_ODD_QUARTERS(a, b)                                                                    \
    __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)

/* Quarter q of column[j] gets number 4 q + j of each of four rows. */
SIMD_INLINE void simd_square_of_four(const float *x, int64_t ld, simd_vector column[4])
{
    simd_vector a = *(const simd_vector *)x, b = *(const simd_vector *)(x + ld),
                c = *(const simd_vector *)(x + 2 * ld), d = *(const simd_vector *)(x + 3 * ld);
    simd_vector low_ab = SIMD_LOW_TURNS(a, b), high_ab = SIMD_HIGH_TURNS(a, b),
                low_cd = SIMD_LOW_TURNS(c, d), high_cd = SIMD_HIGH_TURNS(c, d);
    column[0] = SIMD_LOW_TWOS(low_ab, low_cd);
    column[1] = SIMD_HIGH_TWOS(low_ab, low_cd);
    column[2] = SIMD_LOW_TWOS(high_ab, high_cd);
    column[3] = SIMD_HIGH_TWOS(high_ab, high_cd);
}

SIMD_INLINE void simd_square_columns(const float *x, int64_t ld, simd_vector column[SIMD_LANES])
{
    simd_vector four[4][4];
    SIMD_UNROLLED
    for (int i = 0; i < 4; i++)
        simd_square_of_four(x + 4 * i * ld, ld, four[i]);
    SIMD_UNROLLED
    for (int j = 0; j < 4; j++) {
        simd_vector first = SIMD_FIRST_QUARTERS(four[0][j], four[1][j]),
                    last = SIMD_LAST_QUARTERS(four[0][j], four[1][j]),
                    first2 = SIMD_FIRST_QUARTERS(four[2][j], four[3][j]),
                    last2 = SIMD_LAST_QUARTERS(four[2][j], four[3][j]);
        column[j] = SIMD_EVEN_QUARTERS(first, first2);
        column[4 + j] = SIMD_ODD_QUARTERS(first, first2);
        column[8 + j] = SIMD_EVEN_QUARTERS(last, last2);
        column[12 + j] = SIMD_ODD_QUARTERS(last, last2);
    }
}
#elif defined(__AVX2__)
SIMD_INLINE void simd_square_columns(const float *x, int64_t ld, simd_vector column[SIMD_LANES])
{
    simd_group four[2][4];
    simd_transpose_rows(x, ld, four[0]);
    simd_transpose_rows(x + 4 * ld, ld, four[1]);
    SIMD_UNROLLED
    for (int j = 0; j < 4; j++) {
        column[j] = SIMD_LOW_LANES(four[0][j], four[1][j]);
        column[4 + j] = SIMD_HIGH_LANES(four[0][j], four[1][j]);
    }
}
#else
SIMD_INLINE void simd_square_columns(const float *x, int64_t ld, simd_vector column[SIMD_LANES])
{
    simd_transpose_rows(x, ld, column);
}
#endif

#endif
