/* The element type: float, or double in a second build of the kernels of float/, which are written
 * for both (SIMD_F64). */
#ifndef WG_BACKENDS_SIMD_KERNELS_REAL_H
#define WG_BACKENDS_SIMD_KERNELS_REAL_H

#include <stdint.h>

#ifdef SIMD_F64
typedef double real;
typedef int64_t real_bits; /* as many */
typedef uint64_t unsigned_bits;
#else
typedef float real;
typedef int32_t real_bits;
typedef uint32_t unsigned_bits;
#endif

enum { SIMD_LINE = 64 / sizeof(real) }; /* numbers of a cache line */

#endif
