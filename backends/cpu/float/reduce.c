/* mean, var, logsumexp, norm. */
#include "backends/cpu/reduce.h"
#include "wengert/ops/reduce.h"

/* ---- mean ------------------------------------------------------------------------------------ */

static real result_mean(const partial *p, const void *attrs)
{
    (void)attrs;
    return (real)(p->a / (wide)p->count);
}

void KERNEL(mean)(wg_call *c)
{
    const wg_reduce_attrs *a = c->node->attrs;
    cpu_reduce(c, &a->axes, &(const reduction){cpu_take_sum, cpu_join_sum, result_mean, NULL});
}

/* ---- var: a is the mean, b the sum of squared differences from it ---------------------------- */

/* Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
 * variances" (1979). */
static void join_var(partial *p, const partial *q)
{
    if (!q->count)
        return;
    wide n = (wide)p->count + (wide)q->count, apart = q->a - p->a;
    p->b += q->b + apart * apart * ((wide)p->count * (wide)q->count / n);
    p->a += apart * ((wide)q->count / n);
    p->count += q->count;
}

/* Two passes over a run: its mean, then the differences from it, whose sum (0 but for the rounding
 * of the mean) corrects both. */
static void take_var(partial *p, const real *x, int64_t n, const void *attrs)
{
    (void)attrs;
    wide sum = 0, rest = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    wide mean = sum / (wide)n;
#pragma omp simd reduction(+ : rest, squares)
    for (int64_t i = 0; i < n; i++) {
        wide d = x[i] - mean;
        rest += d;
        squares += d * d;
    }
    squares -= rest * rest / (wide)n;
    join_var(p, &(partial){mean + rest / (wide)n, squares < 0 ? 0 : squares, n});
}

static real result_var(const partial *p, const void *attrs)
{
    const wg_var_attrs *a = attrs;
    return (real)(p->b / ((wide)p->count - (wide)a->correction));
}

void KERNEL(var)(wg_call *c)
{
    const wg_var_attrs *a = c->node->attrs;
    cpu_reduce(c, &a->axes, &(const reduction){take_var, join_var, result_var, NULL});
}

/* ---- logsumexp: the sum is b exp(a); b = 0 while all elements are -inf ----------------------- */

static void join_logsumexp(partial *p, const partial *q)
{
    if (q->b == 0)
        return;
    if (p->b == 0) {
        *p = *q;
    } else if (!isfinite(p->b) || !isfinite(q->b)) { /* inf and NaN stay what they are */
        p->b += q->b;
    } else {
        wide top = p->a > q->a ? p->a : q->a;
        p->b = p->b * exp(p->a - top) + q->b * exp(q->a - top);
        p->a = top;
    }
}

static void take_logsumexp(partial *p, const real *x, int64_t n, const void *attrs)
{
    (void)attrs;
    real top = -(real)INFINITY;
    wide sum = 0;
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; i++)
        top = x[i] > top ? x[i] : top;
    if (!isfinite(top)) /* nothing to scale by */
        top = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - top);
    join_logsumexp(p, &(partial){top, sum, n});
}

static real result_logsumexp(const partial *p, const void *attrs)
{
    (void)attrs;
    return (real)(p->a + log(p->b));
}

void KERNEL(logsumexp)(wg_call *c)
{
    const wg_reduce_attrs *a = c->node->attrs;
    cpu_reduce(c, &a->axes,
               &(const reduction){take_logsumexp, join_logsumexp, result_logsumexp, NULL});
}

/* ---- norm ------------------------------------------------------------------------------------ */

/* x^n, n > 0; libm's pow takes ten times as long. */
static wide whole_power(wide x, int n)
{
    wide y = x;
    while (--n > 0)
        y *= x;
    return y;
}

static void take_norm(partial *p, const real *x, int64_t n, const void *attrs)
{
    enum { FEW = 8 };
    double power = ((const wg_vector_norm_attrs *)attrs)->p;
    wide sum = 0;
    if (power == 2) {
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; i++)
            sum += (wide)x[i] * x[i];
    } else if (power == 1) {
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; i++)
            sum += fabs(x[i]);
    } else if (power <= FEW && power == (double)(int)power) {
        for (int64_t i = 0; i < n; i++)
            sum += whole_power(fabs((wide)x[i]), (int)power);
    } else {
        for (int64_t i = 0; i < n; i++)
            sum += pow(fabs((wide)x[i]), power);
    }
    p->a += sum;
}

static real result_norm(const partial *p, const void *attrs)
{
    double power = ((const wg_vector_norm_attrs *)attrs)->p;
    return (real)(power == 1 ? p->a : power == 2 ? sqrt(p->a) : pow(p->a, 1 / power));
}

static void join_norm(partial *p, const partial *q)
{
    p->a += q->a;
}

/* p infinite: the largest |x|, NaN if there is one */
static void take_largest(partial *p, const real *x, int64_t n, const void *attrs)
{
    (void)attrs;
    for (int64_t i = 0; i < n && !isnan(p->a); i++)
        if (!(fabs(x[i]) <= p->a))
            p->a = fabs(x[i]);
}

static void join_largest(partial *p, const partial *q)
{
    if (!isnan(p->a) && !(q->a <= p->a))
        p->a = q->a;
}

static real result_largest(const partial *p, const void *attrs)
{
    (void)attrs;
    return (real)p->a;
}

void KERNEL(vector_norm)(wg_call *c)
{
    const wg_vector_norm_attrs *a = c->node->attrs;
    static const reduction powers = {take_norm, join_norm, result_norm, NULL};
    static const reduction largest = {take_largest, join_largest, result_largest, NULL};
    cpu_reduce(c, &a->axes, isinf(a->p) ? &largest : &powers);
}
