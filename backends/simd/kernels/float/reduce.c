/* Reductions along rows.  Sums are made in double, as in the reference kernels: along a row that
 * costs no more than reading it, and the only roundings of a sum are that to float at its end and
 * those of its terms. */
#include "backends/simd/kernels/functions.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/unrolled.h"
#include "backends/simd/kernels/vector.h"

#include <string.h>
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

/* Where `best` is to be replaced by x; where x or the comparison is of NaN, it is not. */
SIMD_INLINE vector better(vector x, vector best, bool largest)
{
    return simd_pick(largest ? x > best : x < best, x, best);
}

/* The largest or least number of a row, NaN if there is one.  In lanes of our own: OpenMP's
 * reduction may begin with the least finite number, which clang's does, and a row of -inf must give
 * -inf. */
SIMD_INLINE real extreme_of(const real *x, int64_t n, bool largest)
{
    enum { VECTORS = 4 }; /* so many comparisons need not wait for one another */
    const real none = largest ? -(real)INFINITY : (real)INFINITY;
    vector best[VECTORS];
    bits is_nan[VECTORS] = {{0}};
    real lane[LANES];
    int64_t i = 0;
    SIMD_UNROLLED
    for (int j = 0; j < VECTORS; j++)
        best[j] = simd_all(none);
    for (; n - i >= VECTORS * LANES; i += VECTORS * LANES) {
        SIMD_UNROLLED
        for (int j = 0; j < VECTORS; j++) {
            vector v = *(const vector *)(x + i + j * LANES);
            best[j] = better(v, best[j], largest);
            is_nan[j] |= v != v;
        }
    }
    for (; i < n && n >= LANES; i += LANES) { /* the last may begin before i */
        vector v = *(const vector *)(x + simd_smaller(i, n - LANES));
        best[0] = better(v, best[0], largest);
        is_nan[0] |= v != v;
    }
    for (; i < n; i++) {
        vector v = simd_all(x[i]);
        best[0] = better(v, best[0], largest);
        is_nan[0] |= v != v;
    }
    is_nan[0] |= is_nan[1] | is_nan[2] | is_nan[3];
    vector all =
        better(better(best[3], best[2], largest), better(best[1], best[0], largest), largest);
    all = simd_pick(is_nan[0], simd_all((real)NAN), all);
    memcpy(lane, &all, sizeof lane);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++) {
            real u = lane[j], v = lane[j + half];
            bool first = u != u || (largest ? u > v : u < v);
            lane[j] = first ? u : v;
        }
    return lane[0];
}

static real largest_of(const real *x, int64_t n)
{
    return extreme_of(x, n, true);
}

static real least_of(const real *x, int64_t n)
{
    return extreme_of(x, n, false);
}

/* top + ln sum exp(x - top).  Where top is not finite there is nothing to scale by: ln of 0,
 * infinity or NaN. */
static double logsumexp_of(const real *x, int64_t n)
{
    real top = largest_of(x, n);
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
    case SIMD_MAX: return (double)largest_of(x, n);
    case SIMD_MIN: return (double)least_of(x, n);
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
