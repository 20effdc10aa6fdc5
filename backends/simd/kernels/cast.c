/* Between dtypes, bit for bit as the reference converts (graph/element.h), but that a plan may have
 * switched subnormal numbers off.
 *
 * Those of 16 bits are loops over the conversions of wengert/graph/half.h.  f16 is converted by the
 * processor where it has instructions for that (F16C, AVX-512); they give the same bits, in any
 * floating-point mode. */
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

#define LOOP(name, from, to, formula)                                                              \
    static void name(const void *numbers, void *results, int64_t n)                                \
    {                                                                                              \
        const from *x = numbers;                                                                   \
        to *y = results;                                                                           \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] = (to)(formula);                  \
    }

/* Clamped before it is cast, which would be undefined beyond the limits; the largest float below
 * 2^31 is 2^31 - 128. */
static inline int32_t i32_of(float x)
{
    float above = x > -0x1p31f ? x : -0x1p31f, within = above < 0x1p31f ? above : 0x1.fffffep30f;
    int32_t y = above < 0x1p31f ? (int32_t)within : INT32_MAX;
    return x == x ? y : 0;
}

static inline int32_t i32_of_f64(double x)
{
    double above = x > -0x1p31 ? x : -0x1p31,
           within = above < 0x1.fffffffcp30 ? above : 0x1.fffffffcp30;
    return x == x ? (int32_t)within : 0; /* up to 2^31 - 1, which a double can be */
}

/* The largest double below 2^63 is 2^63 - 1024. */
static inline int64_t i64_of(double x)
{
    double above = x > -0x1p63 ? x : -0x1p63,
           within = above < 0x1p63 ? above : 0x1.fffffffffffffp62;
    int64_t y = above < 0x1p63 ? (int64_t)within : INT64_MAX;
    return x == x ? y : 0;
}

static inline int32_t i32_of_i64(int64_t x)
{
    int64_t above = x > INT32_MIN ? x : INT32_MIN;
    return (int32_t)(above < INT32_MAX ? above : INT32_MAX);
}

LOOP(byte_to_f32, uint8_t, float, x[i])
LOOP(byte_to_f64, uint8_t, double, x[i])
LOOP(byte_to_i32, uint8_t, int32_t, x[i])
LOOP(byte_to_i64, uint8_t, int64_t, x[i])
LOOP(i32_to_f32, int32_t, float, x[i])
LOOP(i32_to_f64, int32_t, double, x[i])
LOOP(i64_to_f32, int64_t, float, (double)x[i])
LOOP(i64_to_f64, int64_t, double, x[i])
LOOP(f32_to_f64, float, double, x[i])
LOOP(f64_to_f32, double, float, x[i])
LOOP(f32_to_i32, float, int32_t, i32_of(x[i]))
LOOP(f64_to_i32, double, int32_t, i32_of_f64(x[i]))
LOOP(f32_to_i64, float, int64_t, i64_of((double)x[i]))
LOOP(f64_to_i64, double, int64_t, i64_of(x[i]))
LOOP(f32_to_bool, float, uint8_t, x[i] != 0.0f)
LOOP(f64_to_bool, double, uint8_t, x[i] != 0.0)
LOOP(i32_to_bool, int32_t, uint8_t, x[i] != 0)
LOOP(i64_to_bool, int64_t, uint8_t, x[i] != 0)
LOOP(i32_to_i64, int32_t, int64_t, x[i])
LOOP(i64_to_i32, int64_t, int32_t, i32_of_i64(x[i]))

static const struct {
    void (*run)(const void *x, void *y, int64_t n);
    size_t from, to; /* bytes of an element */
} conversions[] = {
    [SIMD_BF16_TO_F32] = {bf16_to_f32, 2, 4}, [SIMD_BF16_FROM_F32] = {bf16_from_f32, 4, 2},
    [SIMD_F16_TO_F32] = {f16_to_f32, 2, 4},   [SIMD_F16_FROM_F32] = {f16_from_f32, 4, 2},
    [SIMD_BYTE_TO_F32] = {byte_to_f32, 1, 4}, [SIMD_BYTE_TO_F64] = {byte_to_f64, 1, 8},
    [SIMD_BYTE_TO_I32] = {byte_to_i32, 1, 4}, [SIMD_BYTE_TO_I64] = {byte_to_i64, 1, 8},
    [SIMD_I32_TO_F32] = {i32_to_f32, 4, 4},   [SIMD_I32_TO_F64] = {i32_to_f64, 4, 8},
    [SIMD_I64_TO_F32] = {i64_to_f32, 8, 4},   [SIMD_I64_TO_F64] = {i64_to_f64, 8, 8},
    [SIMD_F32_TO_F64] = {f32_to_f64, 4, 8},   [SIMD_F64_TO_F32] = {f64_to_f32, 8, 4},
    [SIMD_F32_TO_I32] = {f32_to_i32, 4, 4},   [SIMD_F64_TO_I32] = {f64_to_i32, 8, 4},
    [SIMD_F32_TO_I64] = {f32_to_i64, 4, 8},   [SIMD_F64_TO_I64] = {f64_to_i64, 8, 8},
    [SIMD_F32_TO_BOOL] = {f32_to_bool, 4, 1}, [SIMD_F64_TO_BOOL] = {f64_to_bool, 8, 1},
    [SIMD_I32_TO_BOOL] = {i32_to_bool, 4, 1}, [SIMD_I64_TO_BOOL] = {i64_to_bool, 8, 1},
    [SIMD_I32_TO_I64] = {i32_to_i64, 4, 8},   [SIMD_I64_TO_I32] = {i64_to_i32, 8, 4},
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
