/* Layer normalisation and rmsnorm in f64 (formulas: norm.c), without dropout or a residual.
 *
 * Sums along a row are made in lanes, so that no addition waits for the one before.  The mean of
 * what is left after the mean is subtracted is taken from the variance, since the mean is rounded.
 * Sums over rows are made in the blocks of norm.c, which do not depend on the number of threads. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/unrolled.h"

#include <math.h>

enum { LANES = 32 /* four vectors of AVX-512 */, JOINED = 8 /* columns: a cache line */ };

static double folded(const double *lane)
{
    double eight[8];
#pragma omp simd
    for (int l = 0; l < 8; l++)
        eight[l] = (lane[l] + lane[8 + l]) + (lane[16 + l] + lane[24 + l]);
    return ((eight[0] + eight[4]) + (eight[2] + eight[6])) +
           ((eight[1] + eight[5]) + (eight[3] + eight[7]));
}

/* Sums of x - shift and of its squares */
typedef struct moments {
    double sum, squares;
} moments;

/* Only the sum unless `squared`, a constant where this is called */
SIMD_INLINE moments moments_of(const double *restrict x, int64_t n, double shift, bool squared)
{
    double sum[LANES] = {0}, squares[LANES] = {0};
    const int64_t whole = n / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            const double d = x[i + l] - shift;
            sum[l] += d;
            squares[l] += squared ? d * d : 0;
        }
    for (int64_t i = whole; i < n; i++) {
        const double d = x[i] - shift;
        sum[i - whole] += d;
        squares[i - whole] += squared ? d * d : 0;
    }
    return (moments){folded(sum), squared ? folded(squares) : 0};
}

/* h = (x - mean - rest) rstd of a row, scaled by gain and shifted by bias: constants where this is
 * called */
SIMD_INLINE void normalize_with(const simd_norm_f64 *a, const double *restrict x, double mean,
                                double rest, double rstd, double *restrict y, bool scaled,
                                bool shifted)
{
    const double *restrict gain = a->gain, *restrict bias = a->bias;
#pragma omp simd
    for (int64_t i = 0; i < a->width; i++) {
        double h = (x[i] - mean - rest) * rstd;
        h = scaled ? h * gain[i] : h;
        y[i] = shifted ? h + bias[i] : h;
    }
}

static void forward_row(const void *args, int64_t row)
{
    const simd_norm_f64 *a = args;
    const double *x = a->x + row * a->width;
    double *y = a->y + row * a->width;
    const double n = (double)a->width;
    const double mean = a->mean ? moments_of(x, a->width, 0, false).sum / n : 0;
    const moments d = moments_of(x, a->width, mean, true);
    const double rest = a->mean ? d.sum / n : 0, square = d.squares / n;
    /* rest^2 may be infinite only where the other is, too */
    const double rstd = 1 / sqrt(square - (square < (double)INFINITY ? rest * rest : 0) + a->eps);
    if (a->mean)
        a->mean[row] = isfinite(mean) ? mean + rest : mean;
    a->rstd[row] = rstd;
    if (a->gain && a->bias)
        normalize_with(a, x, mean, rest, rstd, y, true, true);
    else if (a->gain)
        normalize_with(a, x, mean, rest, rstd, y, true, false);
    else if (a->bias)
        normalize_with(a, x, mean, rest, rstd, y, false, true);
    else
        normalize_with(a, x, mean, rest, rstd, y, false, false);
}

/* Is it worth while to wake other threads? */
static int threads_for(const simd_norm_f64 *a)
{
    return a->rows * a->width < 1 << 13 ? 1 : a->threads;
}

void SIMD(layernorm_f64_forward)(const simd_norm_f64 *a)
{
    simd_tasks(threads_for(a), a->rows, forward_row, a);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* With e = dy gain: the sums of e and of e h over a row; adds to the block's for dgain and
 * dbias. */
SIMD_INLINE moments backward_sums(const simd_norm_f64 *a, int64_t row, double *restrict dgain,
                                  double *restrict dbias, bool scaled)
{
    const double *restrict x = a->x + row * a->width, *restrict dy = a->dy + row * a->width;
    const double *restrict gain = a->gain, mean = a->mean ? a->mean[row] : 0, rstd = a->rstd[row];
    double sums[LANES] = {0}, products[LANES] = {0};
    const int64_t width = a->width, whole = width / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            const double d = dy[i + l], h = (x[i + l] - mean) * rstd;
            const double e = scaled ? d * gain[i + l] : d;
            sums[l] += e;
            products[l] += e * h;
            dgain[i + l] += d * h;
            dbias[i + l] += d;
        }
    for (int64_t i = whole; i < width; i++) {
        const double d = dy[i], h = (x[i] - mean) * rstd, e = scaled ? d * gain[i] : d;
        sums[i - whole] += e;
        products[i - whole] += e * h;
        dgain[i] += d * h;
        dbias[i] += d;
    }
    return (moments){folded(sums), folded(products)};
}

/* A row of dx, with the means of e and of e h */
SIMD_INLINE void backward_row(const simd_norm_f64 *a, int64_t row, double mean_e, double mean_eh,
                              bool scaled)
{
    const double *restrict x = a->x + row * a->width, *restrict dy = a->dy + row * a->width;
    const double *restrict gain = a->gain, mean = a->mean ? a->mean[row] : 0, rstd = a->rstd[row];
    double *restrict dx = a->dx + row * a->width;
#pragma omp simd
    for (int64_t i = 0; i < a->width; i++) {
        const double h = (x[i] - mean) * rstd, e = scaled ? dy[i] * gain[i] : dy[i];
        dx[i] = rstd * (e - mean_e - h * mean_eh);
    }
}

SIMD_INLINE void backward_block(const simd_norm_f64 *a, int64_t from, int64_t to, double *sums,
                                bool scaled)
{
    const int64_t width = a->width;
    memset(sums, 0, (size_t)(2 * width) * sizeof *sums);
    for (int64_t row = from; row < to; row++) {
        const moments s = backward_sums(a, row, sums, sums + width, scaled);
        backward_row(a, row, a->mean ? s.sum / (double)width : 0, s.squares / (double)width,
                     scaled);
    }
}

/* Up to JOINED columns from i on of the sums of all blocks, which lie `step` apart */
static void join(const double *part, int64_t blocks, int64_t step, int64_t columns, double *sum)
{
    double total[JOINED] = {0};
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t i = 0; i < columns; i++)
            total[i] += part[b * step + i];
    memcpy(sum, total, (size_t)columns * sizeof *sum);
}

static void backward_share(const void *args, simd_member m)
{
    const simd_norm_f64 *a = args;
    const int64_t blocks = simd_norm_blocks(a->rows), width = a->width;
    const int64_t joins = simd_divide_up(width, JOINED);
    for (int64_t b = simd_first(m, blocks); b < simd_end(m, blocks); b++) {
        const int64_t from = a->rows * b / blocks, to = a->rows * (b + 1) / blocks;
        if (a->gain)
            backward_block(a, from, to, a->scratch + b * 2 * width, true);
        else
            backward_block(a, from, to, a->scratch + b * 2 * width, false);
    }
    simd_meet(m);
    for (int64_t k = simd_first(m, joins); k < simd_end(m, joins); k++) {
        const int64_t i = k * JOINED, columns = simd_smaller(width - i, JOINED);
        join(a->scratch + i, blocks, 2 * width, columns, a->dgain + i);
        if (a->dbias)
            join(a->scratch + width + i, blocks, 2 * width, columns, a->dbias + i);
    }
}

void SIMD(layernorm_f64_backward)(const simd_norm_f64 *a)
{
    simd_team(threads_for(a), backward_share, a);
}
