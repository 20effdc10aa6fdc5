/* Arithmetic of sizes. */
#ifndef WG_BACKENDS_SIMD_KERNELS_SIZES_H
#define WG_BACKENDS_SIMD_KERNELS_SIZES_H

#include <stdint.h>

static inline int64_t simd_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t simd_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a / b for a > 0, rounded up; 0 for others */
static inline int64_t simd_divide_up(int64_t a, int64_t b)
{
    return a > 0 ? (a + b - 1) / b : 0;
}

/* The least multiple of b that is at least a; 0 for a <= 0 */
static inline int64_t simd_round_up(int64_t a, int64_t b)
{
    return simd_divide_up(a, b) * b;
}

#endif
