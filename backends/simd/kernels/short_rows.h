/* Copies of rows that are often shorter than a hundred numbers, of which a call of memcpy takes
 * longer than what it does. */
#ifndef WG_BACKENDS_SIMD_KERNELS_SHORT_ROWS_H
#define WG_BACKENDS_SIMD_KERNELS_SHORT_ROWS_H

#include "backends/simd/kernels/unrolled.h"
#include "backends/simd/kernels/vector.h"

#include <string.h>

/* Prefetches what lies `next` numbers after x, which will be copied later.  Nothing is read. */
static inline void simd_ask_for_next(const real *x, int64_t next)
{
    __builtin_prefetch((const char *)((uintptr_t)x + (uintptr_t)(next * (int64_t)sizeof *x)));
}

/* to = from of n numbers; the last vector may overlap the one before. */
SIMD_INLINE void simd_copy_row(real *restrict to, const real *restrict from, int64_t n,
                               int64_t next)
{
    if (n < LANES) {
        simd_ask_for_next(from, next);
        memcpy(to, from, (size_t)n * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t at = i + LANES <= n ? i : n - LANES;
        *(vector *)(to + at) = *(const vector *)(from + at);
        simd_ask_for_next(from + at, next);
    }
}

/* to[i] = from[i step]; a step of two has a loop of its own, which compilers vectorise. */
SIMD_INLINE void simd_copy_every(real *restrict to, const real *restrict from, int64_t step,
                                 int64_t n, int64_t next)
{
    for (int64_t i = 0; i < n * step; i += SIMD_LINE)
        simd_ask_for_next(from + i, next);
    if (step == 2)
        for (int64_t i = 0; i < n; i++)
            to[i] = from[2 * i];
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i * step];
}

/* to = 0, mostly for a number or two at an end */
SIMD_INLINE void simd_clear_row(real *to, int64_t n)
{
    enum { FEW = 4 };
    if (n > FEW) {
        memset(to, 0, (size_t)n * sizeof *to);
        return;
    }
    SIMD_UNROLLED
    for (int64_t i = 0; i < FEW; i++)
        if (i < n)
            to[i] = 0;
}

#endif
