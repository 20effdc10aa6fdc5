/* Softmax and log-softmax of dense rows, or of columns of planes.  -inf gives exactly 0; a row of
 * -inf alone gives zeros (log: -inf). */
#include "backends/simd/kernels/functions.h"
#include "backends/simd/kernels/tail.h"
#include "backends/simd/kernels/team.h"

#include <tgmath.h>

/* NaN anywhere must reach the result: a comparison would drop it, the sum does not. */
SIMD_INLINE real top_of(const real *x, int64_t n)
{
    real top = -INFINITY;
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; i++)
        top = x[i] > top ? x[i] : top;
    return top;
}

/* The sum of exp(x - top), and those themselves in y unless it is NULL. */
SIMD_INLINE real exps_of(const real *x, real *y, int64_t n, real top)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        real e = simd_exp(x[i] - top);
        sum += e;
        if (y)
            y[i] = e;
    }
    return sum;
}

/* A row: whole vectors, and its end, filled up with -inf. */
typedef struct row {
    int64_t whole;
    real top, tail[SIMD_TAIL];
} row;

SIMD_INLINE row row_of(const real *x, int64_t n)
{
    row r = {.whole = n / SIMD_TAIL * SIMD_TAIL};
    r.top = top_of(x, r.whole);
    if (r.whole < n) {
        simd_tail_of(x, n, -INFINITY, r.tail);
        real last = top_of(r.tail, SIMD_TAIL);
        r.top = last > r.top ? last : r.top;
    }
    r.top = r.top == -INFINITY ? 0 : r.top;
    return r;
}

SIMD_INLINE void softmax_of(const real *x, real *y, int64_t n)
{
    row r = row_of(x, n);
    real sum = exps_of(x, y, r.whole, r.top);
    if (r.whole < n)
        sum += exps_of(r.tail, r.tail, SIMD_TAIL, r.top);
    real inverse = sum != 0 ? 1 / sum : 0;
#pragma omp simd
    for (int64_t i = 0; i < r.whole; i++)
        y[i] *= inverse;
    if (r.whole == n)
        return;
    for (int l = 0; l < SIMD_TAIL; l++)
        r.tail[l] *= inverse;
    simd_put_tail(r.tail, y, n);
}

SIMD_INLINE void log_softmax_of(const real *x, real *y, int64_t n)
{
    row r = row_of(x, n);
    real sum = exps_of(x, NULL, r.whole, r.top);
    if (r.whole < n)
        sum += exps_of(r.tail, NULL, SIMD_TAIL, r.top);
    real shift = sum != 0 ? log(sum) : 0; /* all -inf: x itself */
#pragma omp simd
    for (int64_t i = 0; i < r.whole; i++)
        y[i] = x[i] - r.top - shift; /* in this order: top may be too large to add to */
    if (r.whole == n)
        return;
    for (int l = 0; l < SIMD_TAIL; l++)
        r.tail[l] = r.tail[l] - r.top - shift;
    simd_put_tail(r.tail, y, n);
}

/* ---- columns --------------------------------------------------------------------------------- */

enum { TOGETHER = 64 }; /* columns, at most: three passes over a strip of the plane */

static int64_t strips_of(const simd_softmax *a)
{
    return (a->inner + TOGETHER - 1) / TOGETHER;
}

/* `n` columns of `width` numbers that lie `step` apart */
SIMD_INLINE void some_columns(const real *x, real *y, int64_t n, int64_t width, int64_t step,
                              bool is_log)
{
    real top[TOGETHER], sum[TOGETHER], last[TOGETHER]; /* last: the factor, or the shift */
    int64_t end = width * step;
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
            real e = simd_exp(x[i + j] - top[j]);
            sum[j] += e;
            y[i + j] = is_log ? x[i + j] - top[j] : e;
        }
    for (int64_t j = 0; j < n; j++)
        last[j] = is_log ? (sum[j] != 0 ? log(sum[j]) : 0) : sum[j] != 0 ? 1 / sum[j] : 0;
    for (int64_t i = 0; i < end; i += step)
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            y[i + j] = is_log ? y[i + j] - last[j] : y[i + j] * last[j];
}

static void one_strip(const simd_softmax *a, int64_t task, bool is_log)
{
    int64_t strips = strips_of(a), first = task % strips * TOGETHER, left = a->inner - first;
    int64_t at = task / strips * a->width * a->inner + first;
    const real *x = a->x;
    real *y = a->y;
    some_columns(x + at, y + at, left < TOGETHER ? left : TOGETHER, a->width, a->inner, is_log);
}

/* ---- short rows ------------------------------------------------------------------------------ */

enum { SHORT = 32 }; /* less than two vectors: one by one they would take as long as whole ones */

/* The numbers of [rows, width] as [width, TOGETHER], or back. */
SIMD_INLINE void turn(const real *x, real *y, int64_t rows, int64_t width, bool back)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < width; k++) {
            int64_t dense = i * width + k, turned = k * TOGETHER + i;
            y[back ? dense : turned] = x[back ? turned : dense];
        }
}

static void some_rows(const simd_softmax *a, int64_t task, bool is_log)
{
    const real *x = a->x;
    real turned[SHORT * TOGETHER], *y = a->y;
    int64_t first = task * TOGETHER, left = a->outer - first, at = first * a->width;
    int64_t n = left < TOGETHER ? left : TOGETHER;
    turn(x + at, turned, n, a->width, false);
    some_columns(turned, turned, n, a->width, TOGETHER, is_log);
    turn(turned, y + at, n, a->width, true);
}

/* ---- shared out ------------------------------------------------------------------------------ */

static int64_t tasks_of(const simd_softmax *a)
{
    if (a->inner > 1)
        return a->outer * strips_of(a);
    return a->width < SHORT ? (a->outer + TOGETHER - 1) / TOGETHER : a->outer;
}

SIMD_INLINE void one_task(const simd_softmax *a, int64_t task, bool is_log)
{
    int64_t at = task * a->width;
    const real *x = a->x;
    real *y = a->y;
    if (a->inner > 1)
        one_strip(a, task, is_log);
    else if (a->width < SHORT)
        some_rows(a, task, is_log);
    else if (is_log)
        log_softmax_of(x + at, y + at, a->width);
    else
        softmax_of(x + at, y + at, a->width);
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
    simd_tasks(threads_for(a), tasks_of(a), softmax_task, a);
}

void SIMD(log_softmax)(const simd_softmax *a)
{
    simd_tasks(threads_for(a), tasks_of(a), log_softmax_task, a);
}
