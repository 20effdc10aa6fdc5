/* Prefetching what a loop will read some thousand numbers later.  A processor prefetches by itself,
 * but not far enough ahead where each number costs tens of instructions: without this, gelu_grad of
 * tensors larger than the caches took 2.3 times as long on one thread of an Intel Xeon. */
#ifndef WG_BACKENDS_SIMD_KERNELS_AHEAD_H
#define WG_BACKENDS_SIMD_KERNELS_AHEAD_H

#include "backends/simd/kernels/real.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SIMD_AHEAD = 4096 / sizeof(real), /* numbers */
    SIMD_FAR = 1 << 13 /* arrays of fewer are near anyway, and asking takes as long as adding */
};

/* Prefetches the lines of x[SIMD_AHEAD] ... x[SIMD_AHEAD + count - 1]; x may be NULL.  Nothing is
 * read, so addresses past the end do no harm. */
static inline void simd_ask_ahead(const real *x, int64_t count)
{
    for (int64_t i = 0; x && i < count; i += SIMD_LINE)
        __builtin_prefetch((const char *)((uintptr_t)x + (size_t)(SIMD_AHEAD + i) * sizeof *x));
}

#endif
