/* Divisors of integers: none may be 0. */
#ifndef WG_BACKENDS_DIVIDE_H
#define WG_BACKENDS_DIVIDE_H

#include "graph/element.h"
#include "wengert/graph/op.h"

/* Whether one of so many integers is 0, but not which: loops that are vectorised */
static inline bool wgi_any_zero(const void *b, wg_dtype dtype, int64_t count)
{
    bool zero = false;
    if (dtype == WG_I32)
        for (int64_t i = 0; i < count; i++)
            zero |= ((const int32_t *)b)[i] == 0;
    else if (dtype == WG_I64)
        for (int64_t i = 0; i < count; i++)
            zero |= ((const int64_t *)b)[i] == 0;
    return zero;
}

/* Whether everything can be divided by all of operand 1; else, of integers, the call has failed
 * with the first that is 0. */
static inline bool wgi_divides(wg_call *c)
{
    const wg_value *b = c->node->in[1];
    int64_t i = 0;
    if (!wgi_any_zero(c->in[1], b->dtype, wg_shape_count(&b->shape)))
        return true;
    while (wgi_get_int(c->in[1], b->dtype, i) != 0)
        i++;
    wg_call_fail(c, "element %lld of b is 0, which divides no integer", (long long)i);
    return false;
}

#endif
