/* Reductions over middle axes and over both ends, and where the extremes of rows are.  Sums are
 * made in double, as those along rows (reduce.c).  A NaN is more extreme than any number.
 *
 * A core reads ahead within a page only, so a task of a reduction over both ends takes what lies
 * side by side, as much as leaves something to do for all threads: that changes no order of a
 * sum. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/unrolled.h"

#include <tgmath.h>

enum { COLUMNS = 64, LANES = 32, MOST_RUNS = 64, SIDE_BY_SIDE = 4096 };
enum { TASKS = 4 }; /* for each thread: the shares are even enough */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* +1, or -1 where the largest of the negatives is wanted */
static real sign_of(simd_reduction how)
{
    return how == SIMD_MIN ? -1 : 1;
}

/* Whether v comes before the best so far; nothing does before NaN. */
static inline bool is_better(real v, real best)
{
    return !(v <= best) & (best == best);
}

/* ---- over the middle ------------------------------------------------------------------------- */

SIMD_INLINE void add_columns(const simd_reduce_axes *a, const real *x, int64_t width, real *y)
{
    double sum[COLUMNS] = {0}, n = a->how == SIMD_MEAN ? (double)a->middle : 1;
    for (int64_t i = 0; i < a->middle; i++, x += a->inner)
#pragma omp simd
        for (int64_t j = 0; j < width; j++)
            sum[j] += (double)x[j];
    for (int64_t j = 0; j < width; j++)
        y[j] = (real)(sum[j] / n);
}

SIMD_INLINE void best_of_columns(const simd_reduce_axes *a, const real *x, int64_t width, real *y)
{
    real best[COLUMNS], sign = sign_of(a->how);
    for (int64_t j = 0; j < width; j++)
        best[j] = -INFINITY;
    for (int64_t i = 0; i < a->middle; i++, x += a->inner)
#pragma omp simd
        for (int64_t j = 0; j < width; j++)
            best[j] = is_better(sign * x[j], best[j]) ? sign * x[j] : best[j];
    for (int64_t j = 0; j < width; j++)
        y[j] = sign * best[j];
}

/* The usual width as a constant, for which the compiler unrolls the loops over columns. */
SIMD_INLINE void reduce_width(const simd_reduce_axes *a, const real *x, int64_t width, real *y)
{
    if (a->how == SIMD_SUM || a->how == SIMD_MEAN)
        add_columns(a, x, width, y);
    else
        best_of_columns(a, x, width, y);
}

static int64_t columns_across(const simd_reduce_axes *a)
{
    return (a->inner + COLUMNS - 1) / COLUMNS;
}

static void reduce_columns(const void *args, int64_t task)
{
    const simd_reduce_axes *a = args;
    int64_t across = columns_across(a), first = task % across * COLUMNS, outer = task / across;
    const real *x = (const real *)a->x + outer * a->middle * a->inner + first;
    real *y = (real *)a->y + outer * a->inner + first;
    int64_t width = smaller(COLUMNS, a->inner - first);
    if (width == COLUMNS)
        reduce_width(a, x, COLUMNS, y);
    else
        reduce_width(a, x, width, y);
}

/* ---- over both ends -------------------------------------------------------------------------- */

/* A run is the inner numbers of one index of the middle: how many of these a task takes. */
static int64_t runs_of_task(const simd_reduce_axes *a)
{
    int64_t most = smaller(MOST_RUNS, SIDE_BY_SIDE / a->inner),
            fair = a->middle / (TASKS * a->threads), n = smaller(most, fair);
    return n > 1 ? n : 1;
}

static void sum_runs(const simd_reduce_axes *a, const real *x, int64_t count, real *y)
{
    double sum[MOST_RUNS] = {0}, n = a->how == SIMD_MEAN ? (double)a->outer * (double)a->inner : 1;
    for (int64_t o = 0; o < a->outer; o++, x += a->middle * a->inner)
        for (int64_t r = 0; r < count; r++) {
            double run = 0;
#pragma omp simd reduction(+ : run)
            for (int64_t i = 0; i < a->inner; i++)
                run += (double)x[r * a->inner + i];
            sum[r] += run;
        }
    for (int64_t r = 0; r < count; r++)
        y[r] = (real)(sum[r] / n);
}

static void best_of_run(const real *x, int64_t n, real sign, real *best)
{
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t some = smaller(LANES, n - i);
#pragma omp simd
        for (int64_t l = 0; l < some; l++)
            best[l] = is_better(sign * x[i + l], best[l]) ? sign * x[i + l] : best[l];
    }
}

static void best_of_runs(const simd_reduce_axes *a, const real *x, int64_t count, real *y)
{
    real best[MOST_RUNS][LANES], sign = sign_of(a->how);
    for (int64_t r = 0; r < count; r++)
        for (int l = 0; l < LANES; l++)
            best[r][l] = -INFINITY;
    for (int64_t o = 0; o < a->outer; o++, x += a->middle * a->inner)
        for (int64_t r = 0; r < count; r++)
            best_of_run(x + r * a->inner, a->inner, sign, best[r]);
    for (int64_t r = 0; r < count; r++) {
        for (int l = 1; l < LANES; l++)
            best[r][0] = is_better(best[r][l], best[r][0]) ? best[r][l] : best[r][0];
        y[r] = sign * best[r][0];
    }
}

static void reduce_runs(const void *args, int64_t task)
{
    const simd_reduce_axes *a = args;
    int64_t runs = runs_of_task(a), first = task * runs, count = smaller(runs, a->middle - first);
    const real *x = (const real *)a->x + first * a->inner;
    real *y = (real *)a->y + first;
    if (a->how == SIMD_SUM || a->how == SIMD_MEAN)
        sum_runs(a, x, count, y);
    else
        best_of_runs(a, x, count, y);
}

void SIMD(reduce_axes)(const simd_reduce_axes *a)
{
    int threads = a->outer * a->middle * a->inner < 1 << 14 ? 1 : a->threads;
    if (a->ends)
        simd_tasks(threads, (a->middle + runs_of_task(a) - 1) / runs_of_task(a), reduce_runs, a);
    else
        simd_tasks(threads, a->outer * columns_across(a), reduce_columns, a);
}

/* ---- where the extremes are ------------------------------------------------------------------ */

/* Of lanes: the best of each, and of equal ones, or NaNs, the first. */
static int64_t first_best(const real *best, const int32_t *at)
{
    int top = 0;
    for (int l = 1; l < LANES; l++) {
        bool same = best[l] == best[top] || (best[l] != best[l] && best[top] != best[top]);
        if (same ? at[l] < at[top] : is_better(best[l], best[top]))
            top = l;
    }
    return at[top];
}

static int64_t arg_of(const real *x, int64_t n, real sign)
{
    real best[LANES];
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
    a->y[row] = arg_of((const real *)a->x + row * a->width, a->width, a->smallest ? -1 : 1);
}

void SIMD(arg)(const simd_arg *a)
{
    simd_tasks(a->rows * a->width < 1 << 14 ? 1 : a->threads, a->rows, arg_of_row, a);
}
