/* Reductions over middle axes, of short rows and over both ends, and where extremes are.  Sums are
 * made in double, as those along rows (reduce.c).  A NaN is more extreme than any number.
 *
 * A core reads ahead within a page only, so a task of a reduction over both ends takes what lies
 * side by side, as much as leaves something to do for all threads: that changes no order of a
 * sum. */
#include "backends/simd/kernels/functions.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/transpose.h"
#include "backends/simd/kernels/unrolled.h"

#include <string.h>
#include <tgmath.h>

enum { COLUMNS = 64 }; /* or runs, of a task at most */
enum { ROWS = 64, LANES = 32, SIDE_BY_SIDE = 4096 };
enum { TASKS = 4 }; /* for each thread: the shares are even enough */

/* Whether v comes before the best so far; nothing does before NaN. */
static inline bool is_better(real v, real best)
{
    return !(v <= best) & (best == best);
}

/* What a number adds to its sum, or multiplies its product by. */
typedef enum term { ITSELF, FACTOR, DIFFERENCE, SQUARE, EXP } term;

SIMD_INLINE double joined(term t, double sum, real x, double centre)
{
    double apart = (double)x - centre;
    switch (t) {
    case ITSELF: return sum + (double)x;
    case FACTOR: return sum * (double)x;
    case DIFFERENCE: return sum + apart;
    case SQUARE: return sum + apart * apart;
    case EXP: return sum + (double)simd_exp(x - (real)centre);
    }
    return sum;
}

/* How a task's numbers lie: which terms give sum[k], k < count, and sign times which is the largest
 * of sign x. */
typedef struct layout {
    void (*fold)(const simd_reduce_axes *a, const real *x, int64_t count, term t,
                 const double *centre, double *sum);
    void (*best)(const simd_reduce_axes *a, const real *x, int64_t count, real sign, real *y);
    double terms; /* of each sum */
} layout;

/* ---- over the middle ------------------------------------------------------------------------- */

SIMD_INLINE void fold_rows(const real *x, int64_t step, int64_t rows, int64_t count, term t,
                           const double *centre, double *sum)
{
    for (int64_t i = 0; i < rows; i++, x += step)
#pragma omp simd
        for (int64_t j = 0; j < count; j++)
            sum[j] = joined(t, sum[j], x[j], centre[j]);
}

/* Rows of fewer columns than NARROW: as many as fit are one row of COLUMNS at most, a power of two
 * of them, so that vectors are whole. */
enum { NARROW = 33 };

static int64_t side_by_side(int64_t inner)
{
    int64_t rows = 1;
    while (2 * rows * inner <= COLUMNS)
        rows *= 2;
    return rows;
}

SIMD_INLINE void fold_narrow(const simd_reduce_axes *a, const real *x, int64_t count, term t,
                             const double *centre, double *sum)
{
    if (t == FACTOR) {
        fold_rows(x, count, a->middle, count, t, centre, sum);
        return;
    }
    int64_t side = side_by_side(a->inner), wide = side * a->inner, rows = a->middle / side;
    double centres[COLUMNS];
    for (int64_t k = 0; k < wide; k++)
        centres[k] = centre[k % a->inner];
    for (int64_t i = 0; i < rows; i += ROWS) {
        double some[COLUMNS] = {0};
        fold_rows(x + i * wide, wide, simd_smaller(ROWS, rows - i), wide, t, centres, some);
        for (int64_t k = 0; k < wide; k += a->inner)
            for (int64_t j = 0; j < a->inner; j++)
                sum[j] += some[k + j];
    }
    fold_rows(x + rows * wide, a->inner, a->middle - rows * side, a->inner, t, centre, sum);
}

/* Sums in blocks of rows: equal numbers are rounded alike each time, which adds up. */
SIMD_INLINE void fold_columns(const simd_reduce_axes *a, const real *x, int64_t count, term t,
                              const double *centre, double *sum)
{
    if (t == FACTOR) {
        fold_rows(x, a->inner, a->middle, count, t, centre, sum);
        return;
    }
    for (int64_t i = 0; i < a->middle; i += ROWS) {
        double some[COLUMNS] = {0};
        fold_rows(x + i * a->inner, a->inner, simd_smaller(ROWS, a->middle - i), count, t, centre,
                  some);
        for (int64_t j = 0; j < count; j++)
            sum[j] += some[j];
    }
}

SIMD_INLINE void best_of_rows(const real *x, int64_t step, int64_t rows, int64_t count, real sign,
                              real *best)
{
    for (int64_t i = 0; i < rows; i++, x += step)
#pragma omp simd
        for (int64_t j = 0; j < count; j++)
            best[j] = is_better(sign * x[j], best[j]) ? sign * x[j] : best[j];
}

static void best_of_narrow(const simd_reduce_axes *a, const real *x, int64_t count, real sign,
                           real *y)
{
    real best[COLUMNS];
    int64_t side = side_by_side(a->inner), wide = side * a->inner, rows = a->middle / side;
    for (int64_t j = 0; j < wide; j++)
        best[j] = -INFINITY;
    best_of_rows(x, wide, rows, wide, sign, best);
    best_of_rows(x + rows * wide, a->inner, a->middle - rows * side, a->inner, sign, best);
    for (int64_t k = a->inner; k < wide; k += a->inner)
        best_of_rows(best + k, 0, 1, a->inner, 1, best);
    for (int64_t j = 0; j < count; j++)
        y[j] = sign * best[j];
}

SIMD_INLINE void best_of_columns(const simd_reduce_axes *a, const real *x, int64_t count, real sign,
                                 real *y)
{
    real best[COLUMNS];
    for (int64_t j = 0; j < count; j++)
        best[j] = -INFINITY;
    best_of_rows(x, a->inner, a->middle, count, sign, best);
    for (int64_t j = 0; j < count; j++)
        y[j] = sign * best[j];
}

/* ---- over both ends -------------------------------------------------------------------------- */

/* A run is the inner numbers of one index of the middle: how many of these a task takes.  Short
 * ones are one row of COLUMNS together. */
static int64_t runs_of_task(const simd_reduce_axes *a)
{
    int64_t most = a->inner < NARROW ? COLUMNS / a->inner
                                     : simd_smaller(COLUMNS, SIDE_BY_SIDE / a->inner),
            fair = a->middle / (TASKS * a->threads), n = simd_smaller(most, fair);
    return n > 1 ? n : 1;
}

SIMD_INLINE void fold_runs(const simd_reduce_axes *a, const real *x, int64_t count, term t,
                           const double *centre, double *sum)
{
    for (int64_t o = 0; o < a->outer; o++, x += a->middle * a->inner)
        for (int64_t r = 0; r < count; r++) {
            const real *run = x + r * a->inner;
            double all = sum[r], c = centre[r];
            if (t == FACTOR) { /* in order: products of lanes round no better */
                for (int64_t i = 0; i < a->inner; i++)
                    all = joined(t, all, run[i], c);
            } else {
#pragma omp simd reduction(+ : all)
                for (int64_t i = 0; i < a->inner; i++)
                    all = joined(t, all, run[i], c);
            }
            sum[r] = all;
        }
}

/* Of short runs, the sum of each column first. */
SIMD_INLINE void fold_short_runs(const simd_reduce_axes *a, const real *x, int64_t count, term t,
                                 const double *centre, double *sum)
{
    if (t == FACTOR) { /* products of columns may overflow where that of all in order does not */
        fold_runs(a, x, count, t, centre, sum);
        return;
    }
    int64_t wide = count * a->inner, step = a->middle * a->inner;
    double centres[COLUMNS];
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < a->inner; i++)
            centres[r * a->inner + i] = centre[r];
    for (int64_t o = 0; o < a->outer; o += ROWS) {
        double some[COLUMNS] = {0};
        fold_rows(x + o * step, step, simd_smaller(ROWS, a->outer - o), wide, t, centres, some);
        for (int64_t r = 0; r < count; r++)
            for (int64_t i = r * a->inner; i < (r + 1) * a->inner; i++)
                sum[r] += some[i];
    }
}

SIMD_INLINE void best_of_short_runs(const simd_reduce_axes *a, const real *x, int64_t count,
                                    real sign, real *y)
{
    real best[COLUMNS];
    int64_t wide = count * a->inner;
    for (int64_t k = 0; k < wide; k++)
        best[k] = -INFINITY;
    best_of_rows(x, a->middle * a->inner, a->outer, wide, sign, best);
    for (int64_t r = 0; r < count; r++) {
        real *run = best + r * a->inner;
        for (int64_t i = 1; i < a->inner; i++)
            run[0] = is_better(run[i], run[0]) ? run[i] : run[0];
        y[r] = sign * run[0];
    }
}

static void best_of_run(const real *x, int64_t n, real sign, real *best)
{
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t some = simd_smaller(LANES, n - i);
#pragma omp simd
        for (int64_t l = 0; l < some; l++)
            best[l] = is_better(sign * x[i + l], best[l]) ? sign * x[i + l] : best[l];
    }
}

SIMD_INLINE void best_of_runs(const simd_reduce_axes *a, const real *x, int64_t count, real sign,
                              real *y)
{
    real best[COLUMNS][LANES];
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

/* ---- each reduction by such sums ------------------------------------------------------------- */

static const double zeros[COLUMNS];

SIMD_INLINE void sums(const simd_reduce_axes *a, const layout *in, const real *x, int64_t count,
                      term t, const double *centre, double *sum)
{
    for (int64_t k = 0; k < count; k++)
        sum[k] = t == FACTOR ? 1 : 0;
    in->fold(a, x, count, t, centre, sum);
}

/* The squared differences from the mean, whose rounding the sum of the differences corrects */
SIMD_INLINE void variances(const simd_reduce_axes *a, const layout *in, const real *x,
                           int64_t count, double *y)
{
    double mean[COLUMNS], rest[COLUMNS];
    sums(a, in, x, count, ITSELF, zeros, mean);
    for (int64_t k = 0; k < count; k++)
        mean[k] /= in->terms;
    sums(a, in, x, count, DIFFERENCE, mean, rest);
    sums(a, in, x, count, SQUARE, mean, y);
    for (int64_t k = 0; k < count; k++) {
        double squares = y[k] - rest[k] * rest[k] / in->terms;
        y[k] = (squares < 0 ? 0 : squares) / (in->terms - (double)a->correction);
    }
}

/* top + ln sum exp(x - top).  Where top is not finite there is nothing to scale by. */
SIMD_INLINE void logsumexps(const simd_reduce_axes *a, const layout *in, const real *x,
                            int64_t count, double *y)
{
    real best[COLUMNS];
    double top[COLUMNS];
    in->best(a, x, count, 1, best);
    for (int64_t k = 0; k < count; k++)
        top[k] = isfinite(best[k]) ? (double)best[k] : 0;
    sums(a, in, x, count, EXP, top, y);
    for (int64_t k = 0; k < count; k++)
        y[k] = top[k] + log(y[k]);
}

SIMD_INLINE void reduce_some(const simd_reduce_axes *a, const layout *in, const real *x,
                             int64_t count, real *y)
{
    double sum[COLUMNS];
    switch (a->how) {
    case SIMD_MAX: in->best(a, x, count, 1, y); return;
    case SIMD_MIN: in->best(a, x, count, -1, y); return;
    case SIMD_SUM:
    case SIMD_MEAN: sums(a, in, x, count, ITSELF, zeros, sum); break;
    case SIMD_PROD: sums(a, in, x, count, FACTOR, zeros, sum); break;
    case SIMD_NORM: sums(a, in, x, count, SQUARE, zeros, sum); break;
    case SIMD_VAR: variances(a, in, x, count, sum); break;
    case SIMD_LOGSUMEXP: logsumexps(a, in, x, count, sum); break;
    }
    double n = a->how == SIMD_MEAN ? in->terms : 1;
    for (int64_t k = 0; k < count; k++)
        y[k] = (real)(a->how == SIMD_NORM ? sqrt(sum[k]) : sum[k] / n);
}

/* ---- shared out ------------------------------------------------------------------------------ */

/* Blocks of `inner` columns */
static int64_t across_of(int64_t inner)
{
    return simd_divide_up(inner, COLUMNS);
}

static void reduce_narrow(const void *args, int64_t outer)
{
    const simd_reduce_axes *a = args;
    const layout in = {fold_narrow, best_of_narrow, (double)a->middle};
    const real *x = (const real *)a->x + outer * a->middle * a->inner;
    reduce_some(a, &in, x, a->inner, (real *)a->y + outer * a->inner);
}

/* The usual width as a constant, for which the compiler unrolls the loops over columns. */
static void reduce_columns(const void *args, int64_t task)
{
    const simd_reduce_axes *a = args;
    const layout in = {fold_columns, best_of_columns, (double)a->middle};
    int64_t across = across_of(a->inner), first = task % across * COLUMNS, outer = task / across;
    const real *x = (const real *)a->x + outer * a->middle * a->inner + first;
    real *y = (real *)a->y + outer * a->inner + first;
    int64_t count = simd_smaller(COLUMNS, a->inner - first);
    if (count == COLUMNS)
        reduce_some(a, &in, x, COLUMNS, y);
    else
        reduce_some(a, &in, x, count, y);
}

static void reduce_runs(const void *args, int64_t task)
{
    const simd_reduce_axes *a = args;
    const double terms = (double)a->outer * (double)a->inner;
    const layout in = {fold_runs, best_of_runs, terms},
                 in_short = {fold_short_runs, best_of_short_runs, terms};
    int64_t runs = runs_of_task(a), first = task * runs,
            count = simd_smaller(runs, a->middle - first);
    const real *x = (const real *)a->x + first * a->inner;
    real *y = (real *)a->y + first;
    if (a->inner < NARROW)
        reduce_some(a, &in_short, x, count, y);
    else
        reduce_some(a, &in, x, count, y);
}

/* Short rows become columns. */
static void reduce_short_rows(const void *args, int64_t task)
{
    const simd_reduce_axes *a = args;
    const simd_reduce_axes turned = {
        .middle = a->middle, .inner = COLUMNS, .how = a->how, .correction = a->correction};
    const layout in = {fold_columns, best_of_columns, (double)a->middle};
    int64_t first = task * COLUMNS, count = simd_smaller(COLUMNS, a->outer - first);
    const real *rows = (const real *)a->x + first * a->middle;
    real x[SIMD_SHORT_ROW * COLUMNS], y[COLUMNS];
    simd_turn_in(rows, count, a->middle, x, COLUMNS);
    reduce_some(&turned, &in, x, COLUMNS, y);
    memcpy((real *)a->y + first, y, (size_t)count * sizeof *y);
}

/* ---- few long sums --------------------------------------------------------------------------- */

/* Of few columns, the middle is divided, so that threads have something to share; into PARTS
 * whatever their number, so that bits do not depend on it. */
enum { FEW = 4, LONG = 1 << 18, PARTS = 16 };

static bool is_long(const simd_reduce_axes *a)
{
    bool joins =
        a->how == SIMD_SUM || a->how == SIMD_MEAN || a->how == SIMD_MAX || a->how == SIMD_MIN;
    return joins && !a->ends && a->inner > 1 && a->outer * across_of(a->inner) < FEW &&
           a->outer * a->middle * a->inner >= LONG;
}

/* of [PARTS, FEW COLUMNS]: for each part the sums, or sign times the largest, of [outer, inner] */
typedef struct parts {
    const simd_reduce_axes *a;
    double *of;
} parts;

/* of `count` columns; the layout is a constant where this is called. */
SIMD_INLINE void reduce_columns_of_part(const simd_reduce_axes *part, const layout *in,
                                        const real *x, int64_t count, double *to)
{
    real best[COLUMNS];
    if (part->how == SIMD_SUM || part->how == SIMD_MEAN) {
        sums(part, in, x, count, ITSELF, zeros, to);
        return;
    }
    in->best(part, x, count, part->how == SIMD_MIN ? -1 : 1, best);
    for (int64_t k = 0; k < count; k++)
        to[k] = (double)(part->how == SIMD_MIN ? -best[k] : best[k]);
}

static void reduce_part(const void *args, int64_t i)
{
    const layout narrow = {fold_narrow, best_of_narrow, 0},
                 wide = {fold_columns, best_of_columns, 0};
    const parts *p = args;
    const simd_reduce_axes *a = p->a;
    int64_t first = a->middle * i / PARTS;
    simd_reduce_axes part = *a;
    part.middle = a->middle * (i + 1) / PARTS - first;
    for (int64_t at = 0, count; at < a->outer * a->inner; at += count) {
        int64_t outer = at / a->inner, column = at % a->inner;
        const real *x = (const real *)a->x + (outer * a->middle + first) * a->inner + column;
        double *to = p->of + i * FEW * COLUMNS + at;
        count = simd_smaller(COLUMNS, a->inner - column);
        if (a->inner < NARROW)
            reduce_columns_of_part(&part, &narrow, x, count, to);
        else
            reduce_columns_of_part(&part, &wide, x, count, to);
    }
}

static void reduce_long(const simd_reduce_axes *a)
{
    double of[PARTS * FEW * COLUMNS];
    simd_tasks(a->threads, PARTS, reduce_part, &(parts){a, of});
    for (int64_t k = 0; k < a->outer * a->inner; k++) {
        double sum = 0;
        real best = -INFINITY;
        for (int64_t i = 0; i < PARTS; i++) {
            double part = of[i * FEW * COLUMNS + k];
            sum += part;
            best = is_better((real)part, best) ? (real)part : best;
        }
        ((real *)a->y)[k] = a->how == SIMD_SUM    ? (real)sum
                            : a->how == SIMD_MEAN ? (real)(sum / (double)a->middle)
                            : a->how == SIMD_MAX  ? best
                                                  : -best;
    }
}

void SIMD(reduce_axes)(const simd_reduce_axes *a)
{
    if (is_long(a)) {
        reduce_long(a);
        return;
    }
    int threads = a->outer * a->middle * a->inner < 1 << 14 ? 1 : a->threads;
    if (a->ends)
        simd_tasks(threads, simd_divide_up(a->middle, runs_of_task(a)), reduce_runs, a);
    else if (a->inner == 1)
        simd_tasks(threads, simd_divide_up(a->outer, COLUMNS), reduce_short_rows, a);
    else if (a->inner < NARROW)
        simd_tasks(threads, a->outer, reduce_narrow, a);
    else
        simd_tasks(threads, a->outer * across_of(a->inner), reduce_columns, a);
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
    a->y[row] = arg_of((const real *)a->x + row * a->size, a->size, a->smallest ? -1 : 1);
}

SIMD_INLINE void args_of_columns(const simd_arg *a, const real *x, int64_t count, int64_t *y)
{
    real best[COLUMNS], sign = a->smallest ? -1 : 1;
    int32_t at[COLUMNS] = {0};
    for (int64_t j = 0; j < count; j++)
        best[j] = sign * x[j];
    for (int32_t i = 1; i < a->size; i++)
#pragma omp simd
        for (int64_t j = 0; j < count; j++) {
            real v = sign * x[i * a->inner + j];
            bool better = is_better(v, best[j]);
            best[j] = better ? v : best[j];
            at[j] = better ? i : at[j];
        }
    for (int64_t j = 0; j < count; j++)
        y[j] = at[j];
}

static void args_of_some(const void *args, int64_t task)
{
    const simd_arg *a = args;
    int64_t across = across_of(a->inner), first = task % across * COLUMNS, outer = task / across;
    const real *x = (const real *)a->x + outer * a->size * a->inner + first;
    int64_t *y = a->y + outer * a->inner + first, count = simd_smaller(COLUMNS, a->inner - first);
    if (count == COLUMNS)
        args_of_columns(a, x, COLUMNS, y);
    else
        args_of_columns(a, x, count, y);
}

/* Short rows become columns. */
static void args_of_short_rows(const void *args, int64_t task)
{
    const simd_arg *a = args;
    const simd_arg turned = {.size = a->size, .inner = COLUMNS, .smallest = a->smallest};
    int64_t first = task * COLUMNS, count = simd_smaller(COLUMNS, a->outer - first), at[COLUMNS];
    real x[SIMD_SHORT_ROW * COLUMNS];
    simd_turn_in((const real *)a->x + first * a->size, count, a->size, x, COLUMNS);
    args_of_columns(&turned, x, COLUMNS, at);
    memcpy(a->y + first, at, (size_t)count * sizeof *at);
}

void SIMD(arg)(const simd_arg *a)
{
    int threads = a->outer * a->size * a->inner < 1 << 14 ? 1 : a->threads;
    if (a->size == 1)
        memset(a->y, 0, (size_t)(a->outer * a->inner) * sizeof *a->y);
    else if (a->inner == 1 && a->size <= SIMD_SHORT_ROW)
        simd_tasks(threads, simd_divide_up(a->outer, COLUMNS), args_of_short_rows, a);
    else if (a->inner == 1)
        simd_tasks(threads, a->outer, arg_of_row, a);
    else
        simd_tasks(threads, a->outer * across_of(a->inner), args_of_some, a);
}
