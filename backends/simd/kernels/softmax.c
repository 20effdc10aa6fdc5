/* Softmax and log-softmax of dense rows, or of columns of planes.  -inf gives exactly 0; a row of
 * -inf alone gives zeros (log: -inf). */
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
SIMD_INLINE void one_row(const simd_softmax *a, int64_t row, bool log)
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

/* ---- columns --------------------------------------------------------------------------------- */

enum { TOGETHER = 64 }; /* columns, at most: three passes over a strip of the plane */

static int64_t strips_of(const simd_softmax *a)
{
    return (a->inner + TOGETHER - 1) / TOGETHER;
}

/* `n` columns of [width, inner] that begin at x */
SIMD_INLINE void some_columns(const simd_softmax *a, const float *x, float *y, int64_t n, bool log)
{
    float top[TOGETHER], sum[TOGETHER], last[TOGETHER]; /* last: the factor, or the shift */
    int64_t step = a->inner, end = a->width * step;
    for (int64_t j = 0; j < n; j++) {
        top[j] = -INFINITY;
        sum[j] = 0;
    }
    for (int64_t i = 0; i < end; i += step)
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            top[j] = x[i + j] > top[j] ? x[i + j] : top[j];
    for (int64_t j = 0; j < n; j++)
        top[j] = top[j] == -INFINITY ? 0 : top[j];
    for (int64_t i = 0; i < end; i += step)
#pragma omp simd
        for (int64_t j = 0; j < n; j++) {
            float e = simd_exp(x[i + j] - top[j]);
            sum[j] += e;
            y[i + j] = log ? x[i + j] - top[j] : e;
        }
    for (int64_t j = 0; j < n; j++)
        last[j] = log ? (sum[j] != 0 ? logf(sum[j]) : 0) : sum[j] != 0 ? 1 / sum[j] : 0;
    for (int64_t i = 0; i < end; i += step)
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            y[i + j] = log ? y[i + j] - last[j] : y[i + j] * last[j];
}

SIMD_INLINE void one_strip(const simd_softmax *a, int64_t task, bool log)
{
    int64_t strips = strips_of(a), first = task % strips * TOGETHER, left = a->inner - first;
    int64_t at = task / strips * a->width * a->inner + first;
    some_columns(a, a->x + at, a->y + at, left < TOGETHER ? left : TOGETHER, log);
}

/* ---- shared out ------------------------------------------------------------------------------ */

SIMD_INLINE void one_task(const simd_softmax *a, int64_t task, bool log)
{
    if (a->inner == 1)
        one_row(a, task, log);
    else
        one_strip(a, task, log);
}

static void softmax_task(const void *args, int64_t task)
{
    one_task(args, task, false);
}

static void log_softmax_task(const void *args, int64_t task)
{
    one_task(args, task, true);
}

static int threads_for(const simd_softmax *a)
{
    return a->outer * a->width * a->inner < 1 << 12 ? 1 : a->threads;
}

void SIMD(softmax)(const simd_softmax *a)
{
    simd_tasks(threads_for(a), a->outer * strips_of(a), softmax_task, a);
}

void SIMD(log_softmax)(const simd_softmax *a)
{
    simd_tasks(threads_for(a), a->outer * strips_of(a), log_softmax_task, a);
}
