/* Layer normalisation over rows of `width`:
 *
 *     h = (x - mean) rstd,  rstd = 1 / sqrt(mean of (x - mean)^2 + eps),  y = h gain + bias
 *
 * and backward, with e = dy gain:
 *
 *     dx = rstd (e - mean(e) - h mean(e h)),   dgain = sum over rows of dy h,   dbias = sum over rows of dy
 *
 * With a branch, x is first made from the residual connection, x = residual + dropout(branch), and kept as `sum`; backward
 * `more`, another cotangent of x, is added to dx, and the branch's cotangent is dropout(dx) with the same mask.
 *
 * A row is read from memory once: its further passes hit the cache.  The sums over rows go over a fixed number of
 * blocks, whatever the number of threads. */
#include "backends/onednn/fast/fast.h"
#include "backends/onednn/fast/mask.h"

#include <math.h>

#define X(name, args) void FAST(name)(const args *);
FAST_KERNELS(X)
#undef X

/* y = dropout(x) (+ add) over one row that starts at element `first` of the tensor; without dropout the mask's keep is 0. */
static void dropped(const wg_mask *m, int64_t first, int64_t width, const float *x,
                    const float *add, float *y)
{
    if (!m->keep) {
        for (int64_t i = 0; i < width; i++)
            y[i] = add ? add[i] + x[i] : x[i];
        return;
    }
    int32_t keep = (int32_t)m->keep;
    float scale = (float)m->scale;
    int64_t skip = first % FAST_MASK_GROUP; /* elements of a group that precede the row */
    for (int64_t i = -skip; i < width; i += FAST_MASK_GROUP) {
        uint16_t number[FAST_MASK_GROUP];
        fast_mask_group(m, (uint64_t)(first + i) / FAST_MASK_GROUP, number);
        int64_t from = i < 0 ? 0 : i, to = i + FAST_MASK_GROUP < width ? i + FAST_MASK_GROUP : width;
        if (add) {
#pragma omp simd
            for (int64_t j = from; j < to; j++)
                y[j] = add[j] + ((int32_t)number[j - i] < keep ? x[j] * scale : 0.0f);
        } else {
#pragma omp simd
            for (int64_t j = from; j < to; j++)
                y[j] = (int32_t)number[j - i] < keep ? x[j] * scale : 0.0f;
        }
    }
}

/* Sums of x - shift and of its squares.  In 16 lanes, whether or not the compiler makes vectors of them, so that the
 * rounding error is that of short sums in every build. */
typedef struct moments {
    float sum, squares;
} moments;

enum { LANES = 16 };

static float folded(float *lane)
{
    for (int width = LANES / 2; width; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] += lane[l + width];
    return lane[0];
}

static moments moments_of(const float *restrict x, int64_t n, float shift)
{
    float sum[LANES] = {0}, squares[LANES] = {0};
    int64_t whole = n / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            float d = x[i + l] - shift;
            sum[l] += d;
            squares[l] += d * d;
        }
    for (int64_t i = whole; i < n; i++) {
        float d = x[i] - shift;
        sum[i - whole] += d;
        squares[i - whole] += d * d;
    }
    return (moments){folded(sum), folded(squares)};
}

static void forward_row(const fast_norm *a, int64_t row)
{
    int64_t width = a->width, at = row * width;
    const float *gain = a->gain, *bias = a->bias;
    if (a->branch)
        dropped(&a->mask, at, width, a->branch + at, a->residual + at, a->sum + at);
    const float *restrict x = (a->branch ? a->sum : a->x) + at;
    float *restrict y = a->y + at;
    /* The mean is mean + rest: rounded to one float it would be wrong by much of a small deviation. */
    float mean = moments_of(x, width, 0).sum / (float)width;
    moments d = moments_of(x, width, mean);
    float rest = d.sum / (float)width;
    float rstd = 1 / sqrtf(d.squares / (float)width - rest * rest + a->eps);
    a->mean[row] = mean + rest;
    a->rstd[row] = rstd;
    if (gain && bias) {
#pragma omp simd
        for (int64_t i = 0; i < width; i++)
            y[i] = (x[i] - mean - rest) * rstd * gain[i] + bias[i];
        return;
    }
    for (int64_t i = 0; i < width; i++) {
        float h = (x[i] - mean - rest) * rstd;
        y[i] = (gain ? h * gain[i] : h) + (bias ? bias[i] : 0);
    }
}

void FAST(layernorm_forward)(const fast_norm *a)
{
#pragma omp parallel for schedule(static) num_threads(a->threads)
    for (int64_t row = 0; row < a->rows; row++)
        forward_row(a, row);
}

/* dx of one row; adds to the block's sums for dgain and dbias. */
static void backward_row(const fast_norm *a, int64_t row, float *restrict dgain,
                         float *restrict dbias)
{
    const float *restrict x = a->x + row * a->width, *restrict dy = a->dy + row * a->width;
    float *restrict dx = a->dx + row * a->width;
    const float *gain = a->gain;
    float mean = a->mean[row], rstd = a->rstd[row], sum = 0, product = 0;
    int64_t width = a->width;
#pragma omp simd reduction(+ : sum, product)
    for (int64_t i = 0; i < width; i++) {
        float h = (x[i] - mean) * rstd, e = gain ? dy[i] * gain[i] : dy[i];
        sum += e;
        product += e * h;
        dgain[i] += dy[i] * h;
        dbias[i] += dy[i];
    }
    sum /= (float)width;
    product /= (float)width;
#pragma omp simd
    for (int64_t i = 0; i < width; i++) {
        float h = (x[i] - mean) * rstd, e = gain ? dy[i] * gain[i] : dy[i];
        dx[i] = rstd * (e - sum - h * product);
    }
    if (a->more)
#pragma omp simd
        for (int64_t i = 0; i < width; i++)
            dx[i] += a->more[row * width + i];
    if (a->dbranch)
        dropped(&a->mask, row * width, width, dx, NULL, a->dbranch + row * width);
}

void FAST(layernorm_backward)(const fast_norm *a)
{
    int64_t blocks = a->rows < FAST_NORM_BLOCKS ? a->rows : FAST_NORM_BLOCKS, width = a->width;
#pragma omp parallel num_threads(a->threads)
    {
#pragma omp for schedule(static)
        for (int64_t b = 0; b < blocks; b++) {
            float *sums = a->scratch + b * 2 * width;
            memset(sums, 0, (size_t)(2 * width) * sizeof *sums);
            for (int64_t row = a->rows * b / blocks; row < a->rows * (b + 1) / blocks; row++)
                backward_row(a, row, sums, sums + width);
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < width; i++) {
            double dgain = 0, dbias = 0; /* the blocks' sums may be large and cancel */
            for (int64_t b = 0; b < blocks; b++) {
                dgain += (double)a->scratch[b * 2 * width + i];
                dbias += (double)a->scratch[b * 2 * width + width + i];
            }
            a->dgain[i] = (float)dgain;
            a->dbias[i] = (float)dbias;
        }
    }
}
