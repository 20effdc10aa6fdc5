/* Reductions over middle axes and over both ends, and where the extremes of rows are.  Sums are
 * made in double, as those along rows (reduce.c).  A NaN is more extreme than any number. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/team.h"

#include <math.h>

#define X(name, args) void SIMD(name)(const args *);
SIMD_KERNELS(X)
#undef X

enum { COLUMNS = 64, LANES = 32 };

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* +1, or -1 where the largest of the negatives is wanted */
static float sign_of(simd_reduction how)
{
    return how == SIMD_MIN ? -1 : 1;
}

/* Whether v comes before the best so far; nothing does before NaN. */
static inline bool is_better(float v, float best)
{
    return !(v <= best) & (best == best);
}

/* ---- over the middle ------------------------------------------------------------------------- */

static void add_columns(const simd_reduce_axes *a, const float *x, int64_t width, float *y)
{
    double sum[COLUMNS] = {0}, n = a->how == SIMD_MEAN ? (double)a->middle : 1;
    for (int64_t i = 0; i < a->middle; i++, x += a->inner)
#pragma omp simd
        for (int64_t j = 0; j < width; j++)
            sum[j] += (double)x[j];
    for (int64_t j = 0; j < width; j++)
        y[j] = (float)(sum[j] / n);
}

static void best_of_columns(const simd_reduce_axes *a, const float *x, int64_t width, float *y)
{
    float best[COLUMNS], sign = sign_of(a->how);
    for (int64_t j = 0; j < width; j++)
        best[j] = -INFINITY;
    for (int64_t i = 0; i < a->middle; i++, x += a->inner)
#pragma omp simd
        for (int64_t j = 0; j < width; j++)
            best[j] = is_better(sign * x[j], best[j]) ? sign * x[j] : best[j];
    for (int64_t j = 0; j < width; j++)
        y[j] = sign * best[j];
}

static int64_t columns_across(const simd_reduce_axes *a)
{
    return (a->inner + COLUMNS - 1) / COLUMNS;
}

static void reduce_columns(const void *args, int64_t task)
{
    const simd_reduce_axes *a = args;
    int64_t across = columns_across(a), first = task % across * COLUMNS, outer = task / across;
    const float *x = a->x + outer * a->middle * a->inner + first;
    float *y = a->y + outer * a->inner + first;
    int64_t width = smaller(COLUMNS, a->inner - first);
    if (a->how == SIMD_SUM || a->how == SIMD_MEAN)
        add_columns(a, x, width, y);
    else
        best_of_columns(a, x, width, y);
}

/* ---- over both ends -------------------------------------------------------------------------- */

static double sum_of_runs(const simd_reduce_axes *a, const float *x)
{
    double sum = 0;
    for (int64_t o = 0; o < a->outer; o++, x += a->middle * a->inner) {
        double run = 0;
#pragma omp simd reduction(+ : run)
        for (int64_t i = 0; i < a->inner; i++)
            run += (double)x[i];
        sum += run;
    }
    return sum;
}

static float best_of_runs(const simd_reduce_axes *a, const float *x)
{
    float best[LANES], sign = sign_of(a->how);
    for (int l = 0; l < LANES; l++)
        best[l] = -INFINITY;
    for (int64_t o = 0; o < a->outer; o++, x += a->middle * a->inner)
        for (int64_t i = 0; i < a->inner; i += LANES) {
            int64_t n = smaller(LANES, a->inner - i);
#pragma omp simd
            for (int64_t l = 0; l < n; l++)
                best[l] = is_better(sign * x[i + l], best[l]) ? sign * x[i + l] : best[l];
        }
    for (int l = 1; l < LANES; l++)
        best[0] = is_better(best[l], best[0]) ? best[l] : best[0];
    return sign * best[0];
}

static void reduce_runs(const void *args, int64_t i)
{
    const simd_reduce_axes *a = args;
    const float *x = a->x + i * a->inner;
    switch (a->how) {
    case SIMD_SUM: a->y[i] = (float)sum_of_runs(a, x); break;
    case SIMD_MEAN:
        a->y[i] = (float)(sum_of_runs(a, x) / ((double)a->outer * (double)a->inner));
        break;
    default: a->y[i] = best_of_runs(a, x);
    }
}

void SIMD(reduce_axes)(const simd_reduce_axes *a)
{
    int threads = a->outer * a->middle * a->inner < 1 << 14 ? 1 : a->threads;
    if (a->ends)
        simd_tasks(threads, a->middle, reduce_runs, a);
    else
        simd_tasks(threads, a->outer * columns_across(a), reduce_columns, a);
}

/* ---- where the extremes are ------------------------------------------------------------------ */

/* Of lanes: the best of each, and of equal ones, or NaNs, the first. */
static int64_t first_best(const float *best, const int32_t *at)
{
    int top = 0;
    for (int l = 1; l < LANES; l++) {
        bool same = best[l] == best[top] || (best[l] != best[l] && best[top] != best[top]);
        if (same ? at[l] < at[top] : is_better(best[l], best[top]))
            top = l;
    }
    return at[top];
}

static int64_t arg_of(const float *x, int64_t n, float sign)
{
    float best[LANES];
    int32_t at[LANES];
    int64_t whole = n / LANES * LANES, top = 0;
    if (whole) {
        for (int32_t l = 0; l < LANES; l++) {
            best[l] = sign * x[l];
            at[l] = l;
        }
        for (int64_t i = LANES; i < whole; i += LANES)
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                bool better = is_better(sign * x[i + l], best[l]);
                best[l] = better ? sign * x[i + l] : best[l];
                at[l] = better ? (int32_t)i + l : at[l];
            }
        top = first_best(best, at);
    }
    for (int64_t i = whole; i < n; i++)
        top = is_better(sign * x[i], sign * x[top]) ? i : top;
    return top;
}

static void arg_of_row(const void *args, int64_t row)
{
    const simd_arg *a = args;
    a->y[row] = arg_of(a->x + row * a->width, a->width, a->smallest ? -1 : 1);
}

void SIMD(arg)(const simd_arg *a)
{
    simd_tasks(a->rows * a->width < 1 << 14 ? 1 : a->threads, a->rows, arg_of_row, a);
}
