/* Softmax and log-softmax of dense rows.  -inf gives exactly 0; a row of -inf alone gives zeros
 * (log: -inf). */
#include "backends/simd/kernels/exp.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/team.h"

#include <math.h>

/* NaN anywhere must reach the result: a comparison would drop it, the sum does not. */
SIMD_INLINE float top_of(const float *x, int64_t n)
{
    float top = -INFINITY;
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; i++)
        top = x[i] > top ? x[i] : top;
    return top;
}

SIMD_INLINE void softmax_of(const float *x, float *y, int64_t n)
{
    float top = top_of(x, n), sum = 0;
    top = top == -INFINITY ? 0 : top;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        y[i] = simd_exp(x[i] - top);
        sum += y[i];
    }
    float inverse = sum != 0 ? 1 / sum : 0;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] *= inverse;
}

SIMD_INLINE void log_softmax_of(const float *x, float *y, int64_t n)
{
    float top = top_of(x, n), sum = 0;
    top = top == -INFINITY ? 0 : top;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += simd_exp(x[i] - top);
    float shift = sum != 0 ? logf(sum) : 0; /* all -inf: x itself */
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] - top - shift; /* in this order: top may be too large to add to */
}

/* A row of less than a vector is filled up with -inf, which adds 0: number by number it would take
 * three times as long. */
enum { SHORT = 16 };

static void fill_up(const float *x, int64_t n, float *row)
{
    for (int64_t i = 0; i < SHORT; i++)
        row[i] = i < n ? x[i] : -INFINITY;
}

static void softmax_row(const void *args, int64_t row)
{
    const simd_rows *a = args;
    const float *x = a->x + row * a->width;
    float *y = a->y + row * a->width, all[SHORT];
    if (a->width >= SHORT) {
        softmax_of(x, y, a->width);
        return;
    }
    fill_up(x, a->width, all);
    softmax_of(all, all, SHORT);
    memcpy(y, all, (size_t)a->width * sizeof *y);
}

static void log_softmax_row(const void *args, int64_t row)
{
    const simd_rows *a = args;
    const float *x = a->x + row * a->width;
    float *y = a->y + row * a->width, all[SHORT];
    if (a->width >= SHORT) {
        log_softmax_of(x, y, a->width);
        return;
    }
    fill_up(x, a->width, all);
    log_softmax_of(all, all, SHORT);
    memcpy(y, all, (size_t)a->width * sizeof *y);
}

static int threads_for(const simd_rows *a)
{
    return a->rows * a->width < 1 << 12 ? 1 : a->threads;
}

void SIMD(softmax)(const simd_rows *a)
{
    simd_tasks(threads_for(a), a->rows, softmax_row, a);
}

void SIMD(log_softmax)(const simd_rows *a)
{
    simd_tasks(threads_for(a), a->rows, log_softmax_row, a);
}
