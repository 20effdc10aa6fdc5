/* Sums along rows, in lanes whether or not the compiler makes vectors of them; the lanes are added
 * up in pairs, the last eight in double.  So the rounding error is that of short sums in every
 * build, and an addition need not wait for the one before. */
#ifndef WG_BACKENDS_SIMD_KERNELS_LANES_H
#define WG_BACKENDS_SIMD_KERNELS_LANES_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"

#if defined(__AVX2__)
enum {
    SIMD_SUM_LANES = 128 / sizeof(real)
}; /* two vectors of AVX-512, four of AVX2: enough not
                                                 to wait */
#else
enum { SIMD_SUM_LANES = 64 / sizeof(real) };
#endif

static inline double simd_folded(const real *lane)
{
    real eight[8];
    double sum[4];
#pragma omp simd
    for (int l = 0; l < 8; l++)
        eight[l] = SIMD_SUM_LANES == 32   ? (lane[l] + lane[8 + l]) + (lane[16 + l] + lane[24 + l])
                   : SIMD_SUM_LANES == 16 ? lane[l] + lane[8 + l]
                                          : lane[l];
#pragma omp simd
    for (int l = 0; l < 4; l++)
        sum[l] = (double)eight[l] + (double)eight[4 + l];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

#endif
