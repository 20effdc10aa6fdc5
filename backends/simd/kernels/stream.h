/* Stores past the caches.  An ordinary store first reads the cache line that it writes from memory;
 * for results larger than the caches, which no reader will find there anyway, that adds half as
 * many bytes again.  A row is computed in a buffer that stays in the cache, and copied from there
 * in whole lines. */
#ifndef WG_BACKENDS_SIMD_KERNELS_STREAM_H
#define WG_BACKENDS_SIMD_KERNELS_STREAM_H

#include "backends/simd/kernels/ahead.h"
#include "backends/simd/kernels/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { SIMD_STREAM = 1 << 23 }; /* floats: 32 MiB, some last level's size */

/* Are `count` floats in rows of `width` at a and b (or NULL) so many, and in whole lines? */
static inline bool simd_streams(int64_t count, int64_t width, const float *a, const float *b)
{
#if defined(__x86_64__)
    uintptr_t low = (uintptr_t)a | (uintptr_t)b;
    return count >= SIMD_STREAM && width % SIMD_LINE == 0 && low % (SIMD_LINE * sizeof *a) == 0;
#else
    (void)count, (void)width, (void)a, (void)b;
    return false;
#endif
}

/* y = x, whole lines */
static inline void simd_stream(float *restrict y, const float *restrict x, int64_t n)
{
#if defined(__AVX512F__)
    for (int64_t i = 0; i < n; i += 16)
        _mm512_stream_ps(y + i, _mm512_load_ps(x + i));
#elif defined(__AVX2__)
    for (int64_t i = 0; i < n; i += 8)
        _mm256_stream_ps(y + i, _mm256_load_ps(x + i));
#elif defined(__x86_64__)
    for (int64_t i = 0; i < n; i += 4)
        _mm_stream_ps(y + i, _mm_load_ps(x + i));
#else
    memcpy(y, x, (size_t)n * sizeof *y);
#endif
}

/* Before other threads may read what this one has streamed. */
static inline void simd_stream_end(void)
{
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

#endif
