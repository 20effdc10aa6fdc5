/* Between f32 and the floats of 16 bits: loops over the conversions of wengert/graph/half.h.  f16
 * is converted by the processor where it has instructions for that (F16C, AVX-512); they give the
 * same bits, in any floating-point mode. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/team.h"
#include "wengert/graph/half.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

enum { BLOCK = 1 << 12 /* elements that a thread converts at a time */ };

static void bf16_to_f32(const void *from, void *to, int64_t n)
{
    const uint16_t *x = from;
    float *y = to;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = wg_bf16_to_f32(x[i]);
}

static void bf16_from_f32(const void *from, void *to, int64_t n)
{
    const float *x = from;
    uint16_t *y = to;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = wg_bf16_from_f32(x[i]);
}

/* Converts the first numbers, as many as fill whole vectors; returns how many. */
static int64_t f16_to_f32_in_vectors(const uint16_t *x, float *y, int64_t n)
{
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(y + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(x + i))));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(x + i))));
#else
    (void)x, (void)y, (void)n;
#endif
    return i;
}

static int64_t f16_from_f32_in_vectors(const float *x, uint16_t *y, int64_t n)
{
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((void *)(y + i), _mm512_cvtps_ph(_mm512_loadu_ps(x + i), 0));
#elif defined(__F16C__)
    for (; i + 8 <= n; i += 8) /* 0: to nearest, ties to even */
        _mm_storeu_si128((void *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), 0));
#else
    (void)x, (void)y, (void)n;
#endif
    return i;
}

static void f16_to_f32(const void *from, void *to, int64_t n)
{
    const uint16_t *x = from;
    float *y = to;
    int64_t done = f16_to_f32_in_vectors(x, y, n);
#pragma omp simd
    for (int64_t i = done; i < n; i++)
        y[i] = wg_f16_to_f32(x[i]);
}

static void f16_from_f32(const void *from, void *to, int64_t n)
{
    const float *x = from;
    uint16_t *y = to;
    int64_t done = f16_from_f32_in_vectors(x, y, n);
#pragma omp simd
    for (int64_t i = done; i < n; i++)
        y[i] = wg_f16_from_f32(x[i]);
}

static const struct {
    void (*run)(const void *x, void *y, int64_t n);
    size_t from, to; /* bytes of an element */
} conversions[] = {
    [SIMD_BF16_TO_F32] = {bf16_to_f32, 2, 4},
    [SIMD_BF16_FROM_F32] = {bf16_from_f32, 4, 2},
    [SIMD_F16_TO_F32] = {f16_to_f32, 2, 4},
    [SIMD_F16_FROM_F32] = {f16_from_f32, 4, 2},
};

static void cast_block(const void *args, int64_t block)
{
    const simd_cast *a = args;
    const char *x = a->x;
    char *y = a->y;
    int64_t first = block * BLOCK, rest = a->count - first;
    conversions[a->how].run(x + (size_t)first * conversions[a->how].from,
                            y + (size_t)first * conversions[a->how].to,
                            rest < BLOCK ? rest : BLOCK);
}

void SIMD(cast)(const simd_cast *a)
{
    int64_t blocks = (a->count + BLOCK - 1) / BLOCK;
    simd_tasks(blocks < 8 ? 1 : a->threads, blocks, cast_block, a);
}
