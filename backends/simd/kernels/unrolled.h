/* For loops over the rows and vectors of a tile: they must vanish, so that sums are registers. */
#ifndef WG_BACKENDS_SIMD_KERNELS_UNROLLED_H
#define WG_BACKENDS_SIMD_KERNELS_UNROLLED_H

/* A function whose bounds of loops are constants where it is called. */
#define SIMD_INLINE static inline __attribute__((always_inline))

/* Before a loop of a constant number of rounds. */
#if defined(__clang__)
#define SIMD_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define SIMD_UNROLLED _Pragma("GCC unroll 16")
#endif

#endif
