/* Arguments of a linear map of planes that acts on rows and columns apart; see resample.c. */
#ifndef WG_BACKENDS_SIMD_KERNELS_RESAMPLE_H
#define WG_BACKENDS_SIMD_KERNELS_RESAMPLE_H

#include <stdint.h>

/* Along one axis, from `from` numbers to `to`: number o of the result is the sum over k < most of
 * weight[k to + o] times the number at index[k to + o].  Taps of o follow one another; where o has
 * fewer than most, the index of the others is `from` and their weight 0. */
typedef struct simd_taps {
    int64_t from, to, most;
    const int32_t *index;
    const float *weight;
} simd_taps;

/* y [planes, rows.to, columns.to] from x [planes, rows.from, columns.from]; columns may stay. */
typedef struct simd_resample {
    const float *x;
    float *y;
    int64_t planes;
    simd_taps rows, columns;
    int threads;
    float *scratch; /* simd_resample_scratch numbers for each thread */
} simd_resample;

/* A row of x and the 0 behind it, and a ring of rows of y, as many as a row has taps: where y has
 * more rows than x, else none. */
static inline int64_t simd_resample_scratch(int64_t columns_from, int64_t columns_to, int64_t ring)
{
    return (columns_from + 1 + ring * columns_to + 15) / 16 * 16;
}

#endif
