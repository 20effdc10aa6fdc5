/* The end of a row that is no whole number of vectors: number by number it would take as long as
 * some hundred in vectors.  Instead the last SIMD_TAIL numbers are a vector, in which those that
 * belong to the vector before are replaced. */
#ifndef WG_BACKENDS_SIMD_KERNELS_TAIL_H
#define WG_BACKENDS_SIMD_KERNELS_TAIL_H

#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/unrolled.h"

#include <stdint.h>
#include <string.h>

enum { SIMD_TAIL = 16 };

/* The last numbers of x [n]; `other` for those before the last whole vector ends. */
SIMD_INLINE void simd_tail_of(const real *x, int64_t n, real other, real tail[SIMD_TAIL])
{
    const int before = SIMD_TAIL - (int)(n % SIMD_TAIL);
    if (n < SIMD_TAIL) { /* nothing lies before */
        for (int l = 0; l < SIMD_TAIL; l++)
            tail[l] = l < before ? other : x[l - before];
        return;
    }
#pragma omp simd
    for (int l = 0; l < SIMD_TAIL; l++)
        tail[l] = l < before ? other : x[n - SIMD_TAIL + l];
}

/* They go to y [n], whose others stay. */
SIMD_INLINE void simd_put_tail(const real tail[SIMD_TAIL], real *y, int64_t n)
{
    const int before = SIMD_TAIL - (int)(n % SIMD_TAIL);
    if (n < SIMD_TAIL) {
        memcpy(y, tail + before, (size_t)n * sizeof *y);
        return;
    }
    y += n - SIMD_TAIL;
#pragma omp simd
    for (int l = 0; l < SIMD_TAIL; l++)
        y[l] = l < before ? y[l] : tail[l];
}

#endif
