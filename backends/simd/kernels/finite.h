/* Whether numbers are finite, for kernels that multiply by zeros of their own. */
#ifndef WG_BACKENDS_SIMD_KERNELS_FINITE_H
#define WG_BACKENDS_SIMD_KERNELS_FINITE_H

#include "backends/simd/kernels/real.h"

#include <stdbool.h>

static inline bool simd_all_finite(const real *x, int64_t n)
{
    int odd = 0;
#pragma omp simd reduction(| : odd)
    for (int64_t i = 0; i < n; i++)
        odd |= x[i] - x[i] != 0;
    return !odd;
}

#endif
