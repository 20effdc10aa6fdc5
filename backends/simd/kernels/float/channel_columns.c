/* batchnorm of vectors, x [N, C], or of short planes, x [N, C, S]: the formulas of channel_norm.c,
 * where a channel is S columns side by side.  A thread takes a block of columns, which stays in the
 * cache for three passes forward (the mean, the squares about it, the result) and two backward.  A
 * column's sums (but for that of x, which is made in double) are made in its type over PIECE rows,
 * over the pieces in double, and over a channel's columns in double, whatever the block: the bits
 * do not depend on the number of threads. */
#include "backends/simd/kernels/channel_norm.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"

enum { PIECE = 128, MAX_COLUMNS = SIMD_COLUMN_NORM_COLUMNS, MIN_COLUMNS = 16 };

/* Columns [first, first + width), of whole channels. */
typedef struct block {
    int64_t first, width;
} block;

/* Numbers of a row */
static int64_t row_of(const channel_norm *a)
{
    return a->channels * a->size;
}

typedef struct columns {
    real of[MAX_COLUMNS];
} columns;

/* Adds sums to sums in double, and clears them. */
static void move_sums(real *part, double *sum, int64_t width)
{
    for (int64_t j = 0; j < width; j++) {
        sum[j] += (double)part[j];
        part[j] = 0;
    }
}

/* The sum of each channel becomes that of all its columns. */
static void join_columns(double *sum, int64_t width, int64_t size)
{
    for (int64_t j = 0; size > 1 && j < width; j += size) {
        double all = 0;
        for (int64_t k = 0; k < size; k++)
            all += sum[j + k];
        for (int64_t k = 0; k < size; k++)
            sum[j + k] = all;
    }
}

/* A number of each of the block's channels for all its columns; of_channel NULL: `otherwise` */
static void spread(const real *of_channel, real otherwise, block b, int64_t size, real *column)
{
    for (int64_t j = 0, c = b.first / size; j < b.width; j += size, c++)
        for (int64_t k = 0; k < size; k++)
            column[j + k] = of_channel ? of_channel[c] : otherwise;
}

/* The reverse: columns of a channel are equal. */
static void collect(const real *column, block b, int64_t size, real *of_channel)
{
    for (int64_t j = 0, c = b.first / size; j < b.width; j += size, c++)
        of_channel[c] = column[j];
}

/* Sums of x, which may cancel. */
static void sum_columns(const channel_norm *a, block b, double *sum)
{
    for (int64_t row = 0; row < a->examples; row++) {
        const real *x = a->x + row * row_of(a) + b.first;
#pragma omp simd
        for (int64_t j = 0; j < b.width; j++)
            sum[j] += (double)x[j];
    }
}

/* Sums of (x - centre)^2, and of x - centre where they are needed */
static void sum_squares(const channel_norm *a, block b, const columns *centre, double *rest,
                        double *squares)
{
    columns apart = {{0}}, part = {{0}};
    for (int64_t first = 0; first < a->examples; first += PIECE) {
        int64_t end = simd_smaller(first + PIECE, a->examples);
        for (int64_t row = first; row < end; row++) {
            const real *x = a->x + row * row_of(a) + b.first;
#pragma omp simd
            for (int64_t j = 0; j < b.width; j++) {
                const real d = x[j] - centre->of[j];
                if (!SUMS_HAVE_REST)
                    apart.of[j] += d;
                part.of[j] += d * d;
            }
        }
        if (!SUMS_HAVE_REST)
            move_sums(apart.of, rest, b.width);
        move_sums(part.of, squares, b.width);
    }
}

static void forward_block(const channel_norm *a, block b)
{
    double sum[MAX_COLUMNS] = {0}, left[MAX_COLUMNS] = {0}, squares[MAX_COLUMNS] = {0};
    const double n = (double)(a->examples * a->size);
    columns mean, rest, whole, var, rstd, gain, bias;
    sum_columns(a, b, sum);
    join_columns(sum, b.width, a->size);
    for (int64_t j = 0; j < b.width; j++)
        mean.of[j] = (real)(sum[j] / n);
    sum_squares(a, b, &mean, left, squares);
    join_columns(left, b.width, a->size);
    join_columns(squares, b.width, a->size);
    for (int64_t j = 0; j < b.width; j++) {
        double apart = SUMS_HAVE_REST ? sum[j] / n - (double)mean.of[j] : left[j] / n;
        rest.of[j] = (real)apart;
        whole.of[j] = whole_mean(mean.of[j], apart);
        var.of[j] = variance_of(squares[j] / n, apart);
        rstd.of[j] = 1 / sqrt(var.of[j] + a->eps);
    }
    collect(whole.of, b, a->size, a->mean);
    collect(var.of, b, a->size, a->spread);
    spread(a->gain, 1, b, a->size, gain.of);
    spread(a->bias, 0, b, a->size, bias.of);
    for (int64_t row = 0; row < a->examples; row++) {
        const real *restrict x = a->x + row * row_of(a) + b.first;
        real *restrict y = a->y + row * row_of(a) + b.first;
#pragma omp simd
        for (int64_t j = 0; j < b.width; j++)
            y[j] = (x[j] - mean.of[j] - rest.of[j]) * rstd.of[j] * gain.of[j] + bias.of[j];
    }
}

/* Sums of dy and dy h. */
static void sum_products(const channel_norm *a, block b, const columns *mean, const columns *rstd,
                         double *sum, double *along)
{
    columns s = {{0}}, p = {{0}};
    for (int64_t first = 0; first < a->examples; first += PIECE) {
        int64_t end = simd_smaller(first + PIECE, a->examples);
        for (int64_t row = first; row < end; row++) {
            const real *x = a->x + row * row_of(a) + b.first,
                       *dy = a->dy + row * row_of(a) + b.first;
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

static void backward_block(const channel_norm *a, block b)
{
    double sum[MAX_COLUMNS] = {0}, along[MAX_COLUMNS] = {0}, n = (double)(a->examples * a->size);
    columns mean, var, rstd, gain, factor, p, q, dbias, dgain;
    spread(a->mean, 0, b, a->size, mean.of);
    spread(a->spread, 0, b, a->size, var.of);
    spread(a->gain, 1, b, a->size, gain.of);
    for (int64_t j = 0; j < b.width; j++) {
        rstd.of[j] = 1 / sqrt(var.of[j] + a->eps);
        factor.of[j] = rstd.of[j] * gain.of[j];
    }
    sum_products(a, b, &mean, &rstd, sum, along);
    join_columns(sum, b.width, a->size);
    join_columns(along, b.width, a->size);
    for (int64_t j = 0; j < b.width; j++) {
        dbias.of[j] = (real)sum[j];
        dgain.of[j] = (real)along[j];
        p.of[j] = (real)(sum[j] / n);
        q.of[j] = (real)(along[j] / n);
    }
    collect(dbias.of, b, a->size, a->dbias);
    collect(dgain.of, b, a->size, a->dgain);
    for (int64_t row = 0; row < a->examples; row++) {
        const real *restrict x = a->x + row * row_of(a) + b.first;
        const real *restrict dy = a->dy + row * row_of(a) + b.first;
        real *restrict dx = a->dx + row * row_of(a) + b.first;
#pragma omp simd
        for (int64_t j = 0; j < b.width; j++)
            dx[j] = factor.of[j] * (dy[j] - p.of[j] - (x[j] - mean.of[j]) * rstd.of[j] * q.of[j]);
    }
}

typedef struct blocks {
    const channel_norm *a;
    void (*run)(const channel_norm *, block);
    int64_t width;
} blocks;

static void run_block(const void *args, int64_t i)
{
    const blocks *b = args;
    int64_t first = i * b->width;
    b->run(b->a, (block){first, simd_smaller(b->width, row_of(b->a) - first)});
}

/* Narrow blocks where wide ones would keep few threads busy. */
static void run_blocks(const simd_channel_norm *args, void (*run)(const channel_norm *, block))
{
    const channel_norm a = channel_norm_of(args);
    int64_t row = row_of(&a), width;
    int threads = simd_channel_norm_threads(args);
    width = row >= 2 * threads * MAX_COLUMNS ? MAX_COLUMNS : simd_larger(MIN_COLUMNS, a.size);
    width = width / a.size * a.size;
    simd_tasks(threads, simd_divide_up(row, width), run_block, &(blocks){&a, run, width});
}

void SIMD(column_norm_forward)(const simd_channel_norm *a)
{
    run_blocks(a, forward_block);
}

void SIMD(column_norm_backward)(const simd_channel_norm *a)
{
    run_blocks(a, backward_block);
}
