/* Arguments of kernels along one axis. */
#ifndef WG_BACKENDS_SIMD_KERNELS_AXIS_H
#define WG_BACKENDS_SIMD_KERNELS_AXIS_H

#include "wengert/graph/shape.h"

#include <stdbool.h>
#include <stdint.h>

/* Linear recurrences over [outer, size, inner] along the middle axis, and their gradients; see
 * scan.c.  initial and dinitial are [outer, inner]. */
typedef struct simd_scan {
    const float *a, *x, *dy; /* x forward, dy backward */
    const float *initial;    /* or NULL: zeros */
    float *y;                /* written forward, read backward */
    float *da, *dx, *dinitial;
    int64_t outer, size, inner;
    bool reverse;
    int threads;
} simd_scan;

/* Cumulative sums or products over [outer, size, inner] along the middle axis, in double; y may be
 * x. */
typedef struct simd_cumulate {
    const void *x;
    void *y;
    int64_t outer, size, inner;
    bool products, reverse, exclusive;
    int threads;
} simd_cumulate;

/* The axes of a tensor in parts, which are reduced and kept in turn: axes of size 1 are left out,
 * neighbours joined. */
typedef struct simd_parts {
    int count;
    int64_t size[WG_MAX_RANK];
    bool reduced[WG_MAX_RANK];
} simd_parts;

/* y[outer, inner] = where along the middle axis of x [outer, size, inner] the largest number is, or
 * the smallest: the first of them, and of NaN; see reduce_axes.c. */
typedef struct simd_arg {
    const void *x;
    int64_t *y;
    int64_t outer, size, inner; /* 0 < size < 2^31 */
    bool smallest;
    int threads;
} simd_arg;

/* values, ids [rows, k]: the 0 < k <= width largest of each row of x [rows, width], descending, of
 * equal ones the first, NaN before all others, and where they are; see select.c. */
typedef struct simd_select {
    const float *x;
    float *values;
    int64_t *ids;
    int64_t rows, width, k;
    int threads;
} simd_select;

#endif
