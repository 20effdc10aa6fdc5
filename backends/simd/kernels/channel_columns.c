/* batchnorm of vectors, x [N, C]: the formulas of channel_norm.c, where a channel is a column.  A
 * thread takes a block of columns, which stays in the cache for three passes forward (the mean, the
 * squares about it, the result) and two backward.  A column's sums are made in float over PIECE
 * rows, and over the pieces in double, whatever the block: the bits do not depend on the number of
 * threads. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"

#include <math.h>

enum { PIECE = 128, MAX_COLUMNS = 64, MIN_COLUMNS = 16 };

/* Columns [first, first + width). */
typedef struct block {
    int64_t first, width;
} block;

typedef struct columns {
    float of[MAX_COLUMNS];
} columns;

/* Adds sums of float to sums in double, and clears them. */
static void move_sums(float *part, double *sum, int64_t width)
{
    for (int64_t j = 0; j < width; j++) {
        sum[j] += (double)part[j];
        part[j] = 0;
    }
}

/* Sums of x, which may cancel. */
static void sum_columns(const simd_channel_norm *a, block b, double *sum)
{
    for (int64_t row = 0; row < a->examples; row++) {
        const float *x = a->x + row * a->channels + b.first;
#pragma omp simd
        for (int64_t j = 0; j < b.width; j++)
            sum[j] += (double)x[j];
    }
}

/* Sums of (x - centre)^2. */
static void sum_squares(const simd_channel_norm *a, block b, const columns *centre, double *sum)
{
    columns part = {{0}};
    for (int64_t first = 0; first < a->examples; first += PIECE) {
        int64_t end = simd_smaller(first + PIECE, a->examples);
        for (int64_t row = first; row < end; row++) {
            const float *x = a->x + row * a->channels + b.first;
#pragma omp simd
            for (int64_t j = 0; j < b.width; j++)
                part.of[j] += (x[j] - centre->of[j]) * (x[j] - centre->of[j]);
        }
        move_sums(part.of, sum, b.width);
    }
}

static void forward_block(const simd_channel_norm *a, block b)
{
    double sum[MAX_COLUMNS] = {0}, squares[MAX_COLUMNS] = {0}, n = (double)a->examples;
    columns mean, rest, rstd, gain, bias;
    sum_columns(a, b, sum);
    for (int64_t j = 0; j < b.width; j++)
        mean.of[j] = (float)(sum[j] / n);
    sum_squares(a, b, &mean, squares);
    for (int64_t j = 0, c = b.first; j < b.width; j++, c++) {
        double apart = sum[j] / n - (double)mean.of[j], var = squares[j] / n - apart * apart;
        a->mean[c] = mean.of[j];
        a->spread[c] = (float)(var > 0 || isnan(var) ? var : 0);
        rest.of[j] = (float)apart;
        rstd.of[j] = 1 / sqrtf(a->spread[c] + a->eps);
        gain.of[j] = a->gain ? a->gain[c] : 1;
        bias.of[j] = a->bias ? a->bias[c] : 0;
    }
    for (int64_t row = 0; row < a->examples; row++) {
        const float *restrict x = a->x + row * a->channels + b.first;
        float *restrict y = a->y + row * a->channels + b.first;
#pragma omp simd
        for (int64_t j = 0; j < b.width; j++)
            y[j] = (x[j] - mean.of[j] - rest.of[j]) * rstd.of[j] * gain.of[j] + bias.of[j];
    }
}

/* Sums of dy and dy h. */
static void sum_products(const simd_channel_norm *a, block b, const columns *mean,
                         const columns *rstd, double *sum, double *along)
{
    columns s = {{0}}, p = {{0}};
    for (int64_t first = 0; first < a->examples; first += PIECE) {
        int64_t end = simd_smaller(first + PIECE, a->examples);
        for (int64_t row = first; row < end; row++) {
            const float *x = a->x + row * a->channels + b.first,
                        *dy = a->dy + row * a->channels + b.first;
#pragma omp simd
            for (int64_t j = 0; j < b.width; j++) {
                s.of[j] += dy[j];
                p.of[j] += dy[j] * ((x[j] - mean->of[j]) * rstd->of[j]);
            }
        }
        move_sums(s.of, sum, b.width);
        move_sums(p.of, along, b.width);
    }
}

static void backward_block(const simd_channel_norm *a, block b)
{
    double sum[MAX_COLUMNS] = {0}, along[MAX_COLUMNS] = {0}, n = (double)a->examples;
    columns mean, rstd, factor, p, q;
    for (int64_t j = 0, c = b.first; j < b.width; j++, c++) {
        mean.of[j] = a->mean[c];
        rstd.of[j] = 1 / sqrtf(a->spread[c] + a->eps);
        factor.of[j] = rstd.of[j] * (a->gain ? a->gain[c] : 1);
    }
    sum_products(a, b, &mean, &rstd, sum, along);
    for (int64_t j = 0, c = b.first; j < b.width; j++, c++) {
        a->dbias[c] = (float)sum[j];
        a->dgain[c] = (float)along[j];
        p.of[j] = (float)(sum[j] / n);
        q.of[j] = (float)(along[j] / n);
    }
    for (int64_t row = 0; row < a->examples; row++) {
        const float *restrict x = a->x + row * a->channels + b.first;
        const float *restrict dy = a->dy + row * a->channels + b.first;
        float *restrict dx = a->dx + row * a->channels + b.first;
#pragma omp simd
        for (int64_t j = 0; j < b.width; j++)
            dx[j] = factor.of[j] * (dy[j] - p.of[j] - (x[j] - mean.of[j]) * rstd.of[j] * q.of[j]);
    }
}

typedef struct blocks {
    const simd_channel_norm *a;
    void (*run)(const simd_channel_norm *, block);
    int64_t width;
} blocks;

static void run_block(const void *args, int64_t i)
{
    const blocks *b = args;
    int64_t first = i * b->width;
    b->run(b->a, (block){first, simd_smaller(b->width, b->a->channels - first)});
}

/* Narrow blocks where wide ones would keep few threads busy. */
static void run_blocks(const simd_channel_norm *a, void (*run)(const simd_channel_norm *, block))
{
    int threads = a->examples * a->channels < 1 << 14 ? 1 : a->threads;
    int64_t width = a->channels >= 2 * threads * MAX_COLUMNS ? MAX_COLUMNS : MIN_COLUMNS;
    simd_tasks(threads, (a->channels + width - 1) / width, run_block, &(blocks){a, run, width});
}

void SIMD(column_norm_forward)(const simd_channel_norm *a)
{
    run_blocks(a, forward_block);
}

void SIMD(column_norm_backward)(const simd_channel_norm *a)
{
    run_blocks(a, backward_block);
}
