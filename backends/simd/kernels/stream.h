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

enum { SIMD_STREAM = (1 << 25) / sizeof(real) }; /* numbers: 32 MiB, some last level's size */

/* Are `count` numbers in rows of `width` at a and b (or NULL) so many, and in whole lines? */
static inline bool simd_streams(int64_t count, int64_t width, const real *a, const real *b)
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
static inline void simd_stream(real *restrict y, const real *restrict x, int64_t n)
{
    size_t bytes = (size_t)n * sizeof *y;
#if defined(__x86_64__)
    char *to = (char *)y;
    const char *from = (const char *)x;
#if defined(__AVX512F__)
    for (size_t i = 0; i < bytes; i += sizeof(__m512i))
        _mm512_stream_si512((void *)(to + i), _mm512_load_si512((const void *)(from + i)));
#elif defined(__AVX2__)
    for (size_t i = 0; i < bytes; i += sizeof(__m256i))
        _mm256_stream_si256((void *)(to + i), _mm256_load_si256((const void *)(from + i)));
#else
    for (size_t i = 0; i < bytes; i += sizeof(__m128i))
        _mm_stream_si128((void *)(to + i), _mm_load_si128((const void *)(from + i)));
#endif
#else
    memcpy(y, x, bytes);
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
