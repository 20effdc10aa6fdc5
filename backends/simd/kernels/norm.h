/* Normalisations: of rows (norm.c), and of the channels of images (float/channel_norm.c). */
#ifndef WG_BACKENDS_SIMD_KERNELS_NORM_H
#define WG_BACKENDS_SIMD_KERNELS_NORM_H

#include "backends/mask.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of a layer normalisation, without a mean of rmsnorm; see norm.c.  mean and rstd are [rows];
 * gain, bias and their cotangents [width] or NULL.  Scratch of the backward pass: 2
 * simd_norm_blocks(rows) width floats. */
typedef struct simd_norm {
    const float *x, *gain, *bias, *dy;
    float *y, *mean, *rstd; /* results forward, read backward; mean NULL: rmsnorm */
    float *dx, *dgain, *dbias;
    const float *residual, *branch, *more; /* NULL: none */
    float *sum, *dbranch;
    wgi_mask mask; /* keep 0: no dropout */
    int64_t rows, width;
    float eps;
    int threads;
    float *scratch;
} simd_norm;

/* The same in f64, without dropout or a residual; see norm_f64.c.  Scratch as above, in doubles. */
typedef struct simd_norm_f64 {
    const double *x, *gain, *bias, *dy;
    double *y, *mean, *rstd; /* results forward, read backward; mean NULL: rmsnorm */
    double *dx, *dgain, *dbias;
    int64_t rows, width;
    double eps;
    int threads;
    double *scratch;
} simd_norm_f64;

/* Blocks of rows for the sums over rows: 32, or as many as leave a block SIMD_NORM_ROWS rows.
 * Within a block sums are made in float, so this bounds their rounding error, however many rows
 * there are: see norm.c. */
enum { SIMD_NORM_BLOCKS = 32, SIMD_NORM_ROWS = 128 };
static inline int64_t simd_norm_blocks(int64_t rows)
{
    int64_t blocks = (rows + SIMD_NORM_ROWS - 1) / SIMD_NORM_ROWS;
    blocks = blocks > SIMD_NORM_BLOCKS ? blocks : SIMD_NORM_BLOCKS;
    return blocks < rows ? blocks : rows;
}

/* batchnorm and groupnorm of x [examples, channels, size], and their gradients, of the kernels'
 * element type; see float/channel_norm.c; where size is small, channel_columns.c (batchnorm, at
 * most SIMD_COLUMN_NORM_COLUMNS) and group_runs.c (groupnorm).  A plane is the `size` numbers of
 * one channel of one example.  A set of planes has one mean: the channel's planes of all examples,
 * or with `groups` > 0 the planes of one example whose channels are a group. */
typedef struct simd_channel_norm {
    const void *x, *dy, *gain, *bias; /* gain, bias: [channels] or NULL */
    void *y, *dx, *dgain, *dbias;     /* dgain, dbias: [channels] */
    /* [sets], results forward, read backward: with groups 1 / sqrt(var + eps), else var */
    void *mean, *spread;
    int64_t examples, channels, size, groups;
    double eps;
    int threads;
    double *scratch; /* simd_channel_norm_scratch doubles */
} simd_channel_norm;

/* Of a small call, threads would take longer to wake than one to compute. */
static inline int simd_channel_norm_threads(const simd_channel_norm *a)
{
    return a->examples * a->channels * a->size < 1 << 14 ? 1 : a->threads;
}

/* Where the sets' planes lie: plane j of set k is number k step + j plane_step of all.  Sums are
 * made piece by piece, of SIMD_PLANE_PIECE numbers or a little less: some planes of a set, or one
 * of `chunks` parts of a plane. */
typedef struct simd_plane_sets {
    int64_t count, planes, step, plane_step;
    int64_t pieces, planes_of_piece, chunks; /* pieces: of a set */
} simd_plane_sets;

enum { SIMD_PLANE_PIECE = 4096, SIMD_PLANE_SUMS = 5, SIMD_COLUMN_NORM_COLUMNS = 64 };

/* `apart`: no piece has planes of two channels. */
static inline simd_plane_sets simd_plane_sets_of(const simd_channel_norm *a, bool apart)
{
    int64_t of_group = a->groups ? a->channels / a->groups : 0, per = SIMD_PLANE_PIECE / a->size;
    simd_plane_sets s = {.count = a->groups ? a->examples * a->groups : a->channels,
                         .planes = a->groups ? of_group : a->examples,
                         .step = a->groups ? of_group : 1,
                         .plane_step = a->groups ? 1 : a->channels,
                         .chunks = (a->size + SIMD_PLANE_PIECE - 1) / SIMD_PLANE_PIECE};
    s.planes_of_piece = per < 1 || (apart && a->groups) ? 1 : per;
    s.pieces = (s.planes + s.planes_of_piece - 1) / s.planes_of_piece * s.chunks;
    return s;
}

/* The sums of each piece, and what follows from them for each set. */
static inline int64_t simd_channel_norm_scratch(const simd_channel_norm *a)
{
    simd_plane_sets s = simd_plane_sets_of(a, true);
    return (s.pieces + 1) * SIMD_PLANE_SUMS * s.count;
}

/* In doubles as well: sums, and, of elements of so many bytes, two rows of all channels and two
 * runs for each thread. */
enum { SIMD_GROUP_RUN_EXAMPLES = 64 };
static inline int64_t simd_group_runs_scratch(const simd_channel_norm *a, int threads, size_t bytes)
{
    int64_t blocks = (a->examples + SIMD_GROUP_RUN_EXAMPLES - 1) / SIMD_GROUP_RUN_EXAMPLES;
    int64_t row = a->channels * a->size, run = row / a->groups;
    int64_t pairs = (int64_t)(2 * bytes / sizeof(double));
    return blocks * a->channels * 2 + pairs * (row + threads * run);
}

#endif
