/* What kernels are given that read or write rows where ids say: float/scatter.c. */
#ifndef WG_BACKENDS_SIMD_KERNELS_SCATTER_H
#define WG_BACKENDS_SIMD_KERNELS_SCATTER_H

#include <stdbool.h>
#include <stdint.h>

/* How a row is joined with the one that lies there. */
typedef enum simd_row_join {
    SIMD_JOIN_LAST, /* replaces it: elements of 4 bytes (table f32) or 8 (f64), of any dtype */
    SIMD_JOIN_SUM,  /* of integers wraps around */
    SIMD_JOIN_MAX,  /* NaN if one of them is */
    SIMD_JOIN_MIN
} simd_row_join;

/* Ids along the middle axis of a tensor [outer, size, inner]: one for each row, [count], the same
 * for all of the outer axis, or one for each number, [outer, count, inner]. */
typedef struct simd_ids {
    const int64_t *ids64; /* or NULL: */
    const int32_t *ids32;
    bool of_rows;
    int64_t outer, size, count, inner; /* size below 2^31, inner > 0 */
} simd_ids;

/* y = x, or `first` everywhere; then y[o, id, j] is joined with from[o, i, j], i < count, in the
 * order of i.  Ids of each number are checked before y is written; ids of rows are valid.  See
 * scatter.c. */
typedef struct simd_scatter {
    simd_ids ids;
    const void *from, *x; /* [outer, rows, inner] of the kernels' element type; x NULL: `first` */
    void *y;              /* [outer, size, inner]; may be x */
    int64_t rows;         /* at least count */
    double first;
    simd_row_join join;
    bool integers; /* are joined, of the size of the kernels' type */
    int threads;
    int32_t *row; /* scratch of outer count, for ids of each number where inner is not 1 */
    bool *failed; /* becomes true if an id is outside [0, size) */
} simd_scatter;

/* y[o, i, j] = x[o, id, j], i < count, elements of 4 bytes (table f32) or 8 (f64); ids of each
 * number. */
typedef struct simd_gather {
    simd_ids ids;
    const void *x; /* [outer, size, inner] */
    void *y;       /* [outer, count, inner] */
    int threads;
    bool *failed;
} simd_gather;

#endif
