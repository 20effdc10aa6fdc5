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
static real logsumexp_of(const real *x, int64_t n)
{
    real top = top_of(x, n, 1);
    double sum = 0;
    top = isfinite(top) ? top : 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)simd_exp(x[i] - top);
    return (real)((double)top + log(sum));
}

static real reduced(const simd_reduce *a, const real *x)
{
    int64_t n = a->width;
    switch (a->how) {
    case SIMD_SUM: return (real)sum_of(x, n);
    case SIMD_MEAN: return (real)(sum_of(x, n) / (double)n);
    case SIMD_MAX: return has_nan(x, n) ? (real)NAN : top_of(x, n, 1);
    case SIMD_MIN: return has_nan(x, n) ? (real)NAN : -top_of(x, n, -1);
    case SIMD_VAR:
        return (real)(squares_of(x, n, sum_of(x, n) / (double)n, true) /
                      (double)(n - a->correction));
    case SIMD_LOGSUMEXP: return logsumexp_of(x, n);
    case SIMD_NORM: return (real)sqrt(squares_of(x, n, 0, false));
    }
    return (real)NAN;
}

static void reduce_row(const void *args, int64_t row)
{
    const simd_reduce *a = args;
    ((real *)a->y)[row] = reduced(a, (const real *)a->x + row * a->width);
}

void SIMD(reduce)(const simd_reduce *a)
{
    simd_tasks(a->rows * a->width < 1 << 14 ? 1 : a->threads, a->rows, reduce_row, a);
}
