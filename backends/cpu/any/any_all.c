/* any, all: reductions of bytes of 0 and 1. */
#define REAL uint8_t /* for backends/cpu/reduce.h */
#define SUFFIX bool
#include "backends/cpu/reduce.h"
#include "wengert/ops/reduce.h"

/* How many are true, and of how many. */
static void take(partial *p, const real *x, int64_t n, const void *attrs)
{
    (void)attrs;
    wide sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    p->a += sum;
    p->count += n;
}

static void join(partial *p, const partial *q)
{
    p->a += q->a;
    p->count += q->count;
}

static real some(const partial *p, const void *attrs)
{
    (void)attrs;
    return p->a > 0;
}

static real every(const partial *p, const void *attrs)
{
    (void)attrs;
    return p->a == p->count;
}

void wgi_cpu_any(wg_call *c)
{
    const wg_reduce_attrs *a = c->node->attrs;
    cpu_reduce(c, &a->axes, &(const reduction){take, join, some, NULL});
}

void wgi_cpu_all(wg_call *c)
{
    const wg_reduce_attrs *a = c->node->attrs;
    cpu_reduce(c, &a->axes, &(const reduction){take, join, every, NULL});
}
