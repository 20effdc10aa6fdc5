/* any, all: how many bytes of 0 and 1 are 1, and of how many. */
#define REAL uint8_t /* for backends/cpu/reduce.h */
#define SUFFIX bool
#include "backends/cpu/reduce.h"
#include "wengert/ops/reduce.h"

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
    cpu_reduce(c, &a->axes, &(const reduction){cpu_take_sum, cpu_join_sum, some, NULL});
}

void wgi_cpu_all(wg_call *c)
{
    const wg_reduce_attrs *a = c->node->attrs;
    cpu_reduce(c, &a->axes, &(const reduction){cpu_take_sum, cpu_join_sum, every, NULL});
}
