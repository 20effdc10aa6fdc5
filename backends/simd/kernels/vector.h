/* A vector of the instruction set that this is compiled for. */
#ifndef WG_BACKENDS_SIMD_KERNELS_VECTOR_H
#define WG_BACKENDS_SIMD_KERNELS_VECTOR_H

#include "backends/simd/kernels/real.h"

#if defined(__AVX512F__)
enum { BYTES = 64 };
#elif defined(__AVX2__)
enum { BYTES = 32 };
#else
enum { BYTES = 16 };
#endif
enum { LANES = BYTES / (int)sizeof(real) };
typedef real vector __attribute__((vector_size(BYTES), aligned(sizeof(real)), may_alias));
typedef real_bits bits __attribute__((vector_size(BYTES))); /* of a comparison: all or none */

/* condition ? a : b */
static inline vector simd_pick(bits condition, vector a, vector b)
{
    return (vector)((condition & (bits)a) | (~condition & (bits)b));
}

static inline vector simd_all(real x)
{
    return (vector){0} + x;
}

#endif
