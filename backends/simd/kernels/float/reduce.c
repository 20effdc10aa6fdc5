/* Reductions along rows.  Sums are made in double, as in the reference kernels: along a row that
 * costs no more than reading it, and the only roundings of a sum are that to float at its end and
 * those of its terms. */
#include "backends/simd/kernels/functions.h"
#include "backends/simd/kernels/team.h"

#include <tgmath.h>

static double sum_of(const real *x, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i];
    return sum;
}

static double product_of(const real *x, int64_t n)
{
    double product = 1;
#pragma omp simd reduction(* : product)
    for (int64_t i = 0; i < n; i++)
        product *= (double)x[i];
    return product;
}

/* of (x - centre)^2, where centre may be the mean: then the sum of x - centre, 0 but for the mean's
 * rounding, corrects that */
static double squares_of(const real *x, int64_t n, double centre, bool is_mean)
{
    double sum = 0, rest = 0;
#pragma omp simd reduction(+ : sum, rest)
    for (int64_t i = 0; i < n; i++) {
        double d = (double)x[i] - centre;
        sum += d * d;
        rest += d;
    }
    sum -= is_mean ? rest * rest / (double)n : 0;
    return sum < 0 ? 0 : sum;
}

/* The largest of sign x, NaN passed over; -inf of none.  In lanes of our own: OpenMP's reduction
 * may begin with the least finite number, which clang's does, and a row of -inf must give -inf. */
static real top_of(const real *x, int64_t n, real sign)
{
    enum { LANES = 32 };
    real top[LANES];
    for (int j = 0; j < LANES; j++)
        top[j] = -INFINITY;
    int64_t whole = n / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
#pragma omp simd
        for (int j = 0; j < LANES; j++)
            top[j] = sign * x[i + j] > top[j] ? sign * x[i + j] : top[j];
    for (int64_t i = whole; i < n; i++)
        top[i - whole] = sign * x[i] > top[i - whole] ? sign * x[i] : top[i - whole];
    for (int j = 1; j < LANES; j++)
        top[0] = top[j] > top[0] ? top[j] : top[0];
    return top[0];
}

static bool has_nan(const real *x, int64_t n)
{
    int odd = 0;
#pragma omp simd reduction(| : odd)
    for (int64_t i = 0; i < n; i++)
        odd |= x[i] != x[i];
    return odd;
}

/* top + ln sum exp(x - top).  Where top is not finite there is nothing to scale by: ln of 0,
 * infinity or NaN. */
static double logsumexp_of(const real *x, int64_t n)
{
    real top = top_of(x, n, 1);
    double sum = 0;
    top = isfinite(top) ? top : 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)simd_exp(x[i] - top);
    return (double)top + log(sum);
}

/* ---- rows, and pieces of rows ---------------------------------------------------------------- */

/* What a piece of a row gives, or a whole row */
static double part_of(simd_reduction how, const real *x, int64_t n)
{
    switch (how) {
    case SIMD_SUM:
    case SIMD_MEAN: return sum_of(x, n);
    case SIMD_PROD: return product_of(x, n);
    case SIMD_MAX: return has_nan(x, n) ? (double)NAN : (double)top_of(x, n, 1);
    case SIMD_MIN: return has_nan(x, n) ? (double)NAN : -(double)top_of(x, n, -1);
    case SIMD_NORM: return squares_of(x, n, 0, false);
    case SIMD_LOGSUMEXP: return logsumexp_of(x, n);
    case SIMD_VAR: return squares_of(x, n, sum_of(x, n) / (double)n, true);
    }
    return (double)NAN;
}

/* ln (exp(u) + exp(v)) */
static double log_of_both(double u, double v)
{
    double top = u > v ? u : v, low = u > v ? v : u;
    if (u != u || v != v)
        return (double)NAN;
    return isfinite(top) ? top + log1p(exp(low - top)) : top;
}

/* Both together */
static double joined(simd_reduction how, double u, double v)
{
    switch (how) {
    case SIMD_LOGSUMEXP: return log_of_both(u, v);
    case SIMD_PROD: return u * v;
    case SIMD_MAX: return u != u || u > v ? u : v;
    case SIMD_MIN: return u != u || u < v ? u : v;
    default: return u + v;
    }
}

static real result_of(const simd_reduce *a, double part)
{
    switch (a->how) {
    case SIMD_MEAN: return (real)(part / (double)a->width);
    case SIMD_NORM: return (real)sqrt(part);
    case SIMD_VAR: return (real)(part / (double)(a->width - a->correction));
    default: return (real)part;
    }
}

static void reduce_row(const void *args, int64_t row)
{
    const simd_reduce *a = args;
    ((real *)a->y)[row] =
        result_of(a, part_of(a->how, (const real *)a->x + row * a->width, a->width));
}

static void reduce_piece(const void *args, int64_t i)
{
    const simd_reduce *a = args;
    int64_t pieces = simd_reduce_pieces(a->how, a->width), first = i % pieces * SIMD_REDUCE_PIECE;
    int64_t left = a->width - first;
    a->partial[i] = part_of(a->how, (const real *)a->x + i / pieces * a->width + first,
                            left < SIMD_REDUCE_PIECE ? left : SIMD_REDUCE_PIECE);
}

static void join_pieces(const void *args, int64_t row)
{
    const simd_reduce *a = args;
    int64_t pieces = simd_reduce_pieces(a->how, a->width);
    const double *part = a->partial + row * pieces;
    double all = part[0];
    for (int64_t i = 1; i < pieces; i++)
        all = joined(a->how, all, part[i]);
    ((real *)a->y)[row] = result_of(a, all);
}

void SIMD(reduce)(const simd_reduce *a)
{
    int threads = a->rows * a->width < 1 << 14 ? 1 : a->threads;
    int64_t pieces = simd_reduce_pieces(a->how, a->width);
    if (pieces == 1) {
        simd_tasks(threads, a->rows, reduce_row, a);
    } else {
        simd_tasks(threads, a->rows * pieces, reduce_piece, a);
        simd_tasks(1, a->rows, join_pieces, a);
    }
}
