/* sum, prod, max, min. */
#include "backends/cpu/reduce.h"
#include "wengert/ops/reduce.h"

static void kernel(wg_call *c, const reduction *how)
{
    const wg_reduce_attrs *a = c->node->attrs;
    cpu_reduce(c, &a->axes, how);
}

static real result(const partial *p, const void *attrs)
{
    (void)attrs;
    return (real)p->a;
}

/* ---- sum ------------------------------------------------------------------------------------- */

static void take_sum(partial *p, const real *x, int64_t n, const void *attrs)
{
    (void)attrs;
    wide sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    p->a += sum;
}

static void take_sum_rows(partial *p, const real *const *row, int64_t rows, int64_t width,
                          const void *attrs)
{
    (void)attrs;
    wide sum[CPU_COLUMNS] = {0};
    for (int64_t i = 0; i < rows; i++) {
        const real *x = row[i];
#pragma omp simd
        for (int64_t j = 0; j < width; j++)
            sum[j] += x[j];
    }
    for (int64_t j = 0; j < width; j++)
        p[j].a += sum[j];
}

static void join_sum(partial *p, const partial *q)
{
    p->a += q->a;
}

void KERNEL(sum)(wg_call *c)
{
    kernel(c, &(const reduction){take_sum, join_sum, result, take_sum_rows});
}

/* ---- prod: counts, because the empty product is 1 -------------------------------------------- */

static void take_prod(partial *p, const real *x, int64_t n, const void *attrs)
{
    (void)attrs;
    wide product = p->count ? p->a : 1;
    for (int64_t i = 0; i < n; i++)
        product *= x[i];
    p->a = product;
    p->count += n;
}

static void join_prod(partial *p, const partial *q)
{
    if (q->count)
        p->a = p->count ? p->a * q->a : q->a;
    p->count += q->count;
}

static real result_prod(const partial *p, const void *attrs)
{
    (void)attrs;
    return (real)(p->count ? p->a : 1);
}

void KERNEL(prod)(wg_call *c)
{
    kernel(c, &(const reduction){take_prod, join_prod, result_prod, NULL});
}

/* ---- max, min: b counts NaNs, of which one is enough ----------------------------------------- */

/* The best of each of LANES columns: OpenMP's reduction begins with a finite number in clang. */
enum { LANES = 16 };

#define PRAGMA(text) _Pragma(#text)
#define EXTREME(name, better)                                                                      \
    static void take_##name(partial *p, const real *x, int64_t n, const void *attrs)               \
    {                                                                                              \
        (void)attrs;                                                                               \
        real best[LANES];                                                                          \
        int odd = 0;                                                                               \
        for (int j = 0; j < LANES; j++)                                                            \
            best[j] = p->count ? (real)p->a : x[0];                                                \
        for (int64_t i = 0; i < n; i += LANES) {                                                   \
            int width = n - i < LANES ? (int)(n - i) : LANES;                                      \
            PRAGMA(omp simd reduction(| : odd))                                                    \
            for (int j = 0; j < width; j++) {                                                      \
                best[j] = x[i + j] better best[j] ? x[i + j] : best[j];                            \
                odd |= cpu_is_nan(x[i + j]);                                                       \
            }                                                                                      \
        }                                                                                          \
        for (int j = 1; j < LANES; j++)                                                            \
            best[0] = best[j] better best[0] ? best[j] : best[0];                                  \
        p->a = best[0];                                                                            \
        p->b += odd;                                                                               \
        p->count += n;                                                                             \
    }                                                                                              \
                                                                                                   \
    static void join_##name(partial *p, const partial *q)                                          \
    {                                                                                              \
        if (q->count && (!p->count || q->a better p->a))                                           \
            p->a = q->a;                                                                           \
        p->b += q->b;                                                                              \
        p->count += q->count;                                                                      \
    }                                                                                              \
                                                                                                   \
    void KERNEL(name)(wg_call * c)                                                                 \
    {                                                                                              \
        kernel(c, &(const reduction){take_##name, join_##name, result_extreme, NULL});             \
    }

static real result_extreme(const partial *p, const void *attrs)
{
    (void)attrs;
#ifdef REAL_IS_FLOAT
    if (p->b > 0)
        return (real)NAN;
#endif
    return (real)p->a;
}

EXTREME(max, >)
EXTREME(min, <)
