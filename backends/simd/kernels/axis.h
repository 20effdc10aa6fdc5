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

/* Reductions of integers, which wrap, and of bools, whose maximum is any and whose minimum all; x
 * is not empty.  Scratch, where a result is of SIMD_FOLD_SHARED bytes at most: SIMD_FOLD_PARTS such
 * results.  See fold.c. */
typedef enum simd_fold_how {
    SIMD_FOLD_SUM,
    SIMD_FOLD_PROD,
    SIMD_FOLD_MAX,
    SIMD_FOLD_MIN
} simd_fold_how;

typedef enum simd_fold_kind { SIMD_FOLD_I32, SIMD_FOLD_I64, SIMD_FOLD_BYTE } simd_fold_kind;

enum { SIMD_FOLD_SHARED = 1 << 16, SIMD_FOLD_PARTS = 32 };

typedef struct simd_fold {
    const void *x;
    void *y;
    simd_parts parts;
    simd_fold_how how;
    simd_fold_kind kind; /* bytes: maxima and minima alone */
    int threads;
    void *scratch;
} simd_fold;

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
