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

SIMD_INLINE void any_of(const float *x, float *y, int64_t n, bool log)
{
    if (log)
        log_softmax_of(x, y, n);
    else
        softmax_of(x, y, n);
}

/* A row of less than a vector is filled up with -inf, which adds 0: number by number it would take
 * three times as long. */
SIMD_INLINE void one_row(const simd_rows *a, int64_t row, bool log)
{
    enum { VECTOR = 16 };
    int64_t n = a->width;
    const float *x = a->x + row * n;
    float *y = a->y + row * n, filled[VECTOR];
    if (n >= VECTOR) {
        any_of(x, y, n, log);
        return;
    }
    for (int64_t i = 0; i < VECTOR; i++)
        filled[i] = i < n ? x[i] : -INFINITY;
    any_of(filled, filled, VECTOR, log);
    memcpy(y, filled, (size_t)n * sizeof *y);
}

static void softmax_row(const void *args, int64_t row)
{
    one_row(args, row, false);
}

static void log_softmax_row(const void *args, int64_t row)
{
    one_row(args, row, true);
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
