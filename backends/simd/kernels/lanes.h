/* Sums along rows, in lanes whether or not the compiler makes vectors of them, and the lanes added
 * up in double: so the rounding error is that of short sums in every build, and an addition need
 * not wait for the one before. */
#ifndef WG_BACKENDS_SIMD_KERNELS_LANES_H
#define WG_BACKENDS_SIMD_KERNELS_LANES_H

#include "backends/simd/kernels/kernels.h"

#if defined(__AVX2__)
enum { SIMD_SUM_LANES = 32 }; /* two vectors of AVX-512, four of AVX2: enough not to wait */
#else
enum { SIMD_SUM_LANES = 16 };
#endif

static inline double simd_folded(const float *lane)
{
    double eight[8] = {0};
    for (int part = 0; part < SIMD_SUM_LANES; part += 8)
        for (int l = 0; l < 8; l++)
            eight[l] += (double)lane[part + l];
    for (int width = 4; width; width /= 2)
        for (int l = 0; l < width; l++)
            eight[l] += eight[l + width];
    return eight[0];
}

#endif
