/* Between dtypes, bit for bit as the reference converts (graph/element.h), but that a plan may have
 * switched subnormal numbers off.
 *
 * The reference goes through double; a loop for each pair of dtypes goes through the narrowest of
 * float, double, int32_t and int64_t that holds every number of the operand's dtype, its `wide`.
 * So there is one formula for each dtype of the result.
 *
 * f16 takes a second loop, to or from f32, by strips: the processor has instructions for that
 * (F16C, AVX-512), which give the bits of wengert/graph/half.h in any floating-point mode. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"
#include "wengert/graph/half.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

enum {
    BLOCK = 1 << 12, /* elements that a thread converts at a time */
    STRIP = 1 << 9   /* elements of f32 between two loops */
};

/* ---- formulas: what v, of one of the four wide types, becomes -------------------------------- */

/* Clamped before it is cast, which would be undefined beyond the limits; the largest float below
 * 2^31 is 2^31 - 128. */
static inline int32_t i32_of_f32(float x)
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

static inline int32_t i32_of_i32(int32_t x)
{
    return x;
}

static inline int32_t i32_of_i64(int64_t x)
{
    int64_t above = x > INT32_MIN ? x : INT32_MIN;
    return (int32_t)(above < INT32_MAX ? above : INT32_MAX);
}

/* The largest double below 2^63 is 2^63 - 1024. */
static inline int64_t i64_of_f64(double x)
{
    double above = x > -0x1p63 ? x : -0x1p63,
           within = above < 0x1p63 ? above : 0x1.fffffffffffffp62;
    int64_t y = above < 0x1p63 ? (int64_t)within : INT64_MAX;
    return x == x ? y : 0;
}

static inline int64_t i64_of_int(int64_t x)
{
    return x;
}

static inline float f32_of_f32(float x)
{
    return x;
}

static inline float f32_of_f64(double x)
{
    return (float)x;
}

static inline float f32_of_i32(int32_t x)
{
    return (float)x;
}

/* By way of f64, as the reference does it. */
static inline float f32_of_i64(int64_t x)
{
    return (float)(double)x;
}

/* A float that any format of 16 bits rounds as it would round x: x itself, or x rounded to odd
 * (half.h).  Beyond 2^24, where not every integer is a float, those that are multiples of 256 are:
 * of the two beside x this is the odd multiple. */
static inline float odd_of_i32(int32_t x)
{
    int32_t below = x & ~0xff, odd = below | (x != below ? 0x100 : 0);
    return (float)(x > -(1 << 24) && x < 1 << 24 ? x : odd);
}

static inline float odd_of_i64(int64_t x)
{
    return wg_f64_to_odd_f32((double)x);
}

/* clang-format off */
#define BY_TYPE(v, of_f32, of_f64, of_i32, of_i64)                                                 \
    _Generic((v), float: of_f32, double: of_f64, int32_t: of_i32, int64_t: of_i64)(v)
/* clang-format on */
#define TO_f32(v) BY_TYPE(v, f32_of_f32, f32_of_f64, f32_of_i32, f32_of_i64)
#define TO_f64(v) ((double)(v))
#define TO_odd(v) BY_TYPE(v, f32_of_f32, wg_f64_to_odd_f32, odd_of_i32, odd_of_i64)
#define TO_bf16(v) wg_bf16_from_f32(TO_odd(v))
#define TO_i32(v) BY_TYPE(v, i32_of_f32, i32_of_f64, i32_of_i32, i32_of_i64)
#define TO_i64(v) BY_TYPE(v, i64_of_f64, i64_of_f64, i64_of_int, i64_of_int)
#define TO_i8(v) ((int8_t)(int32_t)((v) > -128 ? (v) < 127 ? (v) : 127 : (v) == (v) ? -128 : 0))
#define TO_u8(v) ((uint8_t)(int32_t)((v) > 0 ? (v) < 255 ? (v) : 255 : 0)) /* NaN is not above 0 */
#define TO_truth(v) ((v) != 0)

/* ---- a loop for each pair -------------------------------------------------------------------- */

#define LOOP(from, to, element, wide, load, result)                                                \
    static void from##_to_##to(const void *operand, void *converted, int64_t n)                    \
    {                                                                                              \
        const element *x = operand;                                                                \
        result *y = converted;                                                                     \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++)                                        \
        {                                                                                          \
            const wide v = load(x[i]);                                                             \
            y[i] = (result)TO_##to(v);                                                             \
        }                                                                                          \
    }
#define LOOPS_FROM(from, element, wide, load)                                                      \
    LOOP(from, f32, element, wide, load, float)                                                    \
    LOOP(from, f64, element, wide, load, double)                                                   \
    LOOP(from, bf16, element, wide, load, uint16_t)                                                \
    LOOP(from, odd, element, wide, load, float)                                                    \
    LOOP(from, i32, element, wide, load, int32_t)                                                  \
    LOOP(from, i64, element, wide, load, int64_t)                                                  \
    LOOP(from, i8, element, wide, load, int8_t)                                                    \
    LOOP(from, u8, element, wide, load, uint8_t)                                                   \
    LOOP(from, truth, element, wide, load, uint8_t)

LOOPS_FROM(f32, float, float, )
LOOPS_FROM(f64, double, double, )
LOOPS_FROM(bf16, uint16_t, float, wg_bf16_to_f32)
LOOPS_FROM(i32, int32_t, int32_t, )
LOOPS_FROM(i64, int64_t, int64_t, )
LOOPS_FROM(i8, int8_t, int32_t, )
LOOPS_FROM(u8, uint8_t, int32_t, )

typedef void loop(const void *x, void *y, int64_t n);

#define ROW(from)                                                                                  \
    {                                                                                              \
        [WG_F32] = from##_to_f32, [WG_F64] = from##_to_f64, [WG_BF16] = from##_to_bf16,            \
        [WG_F16] = from##_to_odd, [WG_I32] = from##_to_i32, [WG_I64] = from##_to_i64,              \
        [WG_I8] = from##_to_i8, [WG_U8] = from##_to_u8, [WG_BOOL] = from##_to_truth,               \
    }

/* [from][to], but that f16 stands for an f32 that f16 rounds alike, and has no row. */
static loop *const loops[WG_DTYPE_COUNT][WG_DTYPE_COUNT] = {
    [WG_F32] = ROW(f32), [WG_F64] = ROW(f64), [WG_BF16] = ROW(bf16), [WG_I32] = ROW(i32),
    [WG_I64] = ROW(i64), [WG_I8] = ROW(i8),   [WG_U8] = ROW(u8),     [WG_BOOL] = ROW(u8),
};

/* ---- f16 ------------------------------------------------------------------------------------- */

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

/* By strips of f32; only one of the dtypes is f16. */
static void cast_by_f32(wg_dtype from, wg_dtype to, const char *x, char *y, int64_t n)
{
    size_t from_size = wg_dtype_size(from), to_size = wg_dtype_size(to);
    float strip[STRIP];
    for (int64_t at = 0; at < n; at += STRIP, x += STRIP * from_size, y += STRIP * to_size) {
        int64_t count = simd_smaller(STRIP, n - at);
        if (from == WG_F16) {
            f16_to_f32(x, strip, count);
            loops[WG_F32][to](strip, y, count);
        } else {
            loops[from][WG_F16](x, strip, count);
            f16_from_f32(strip, y, count);
        }
    }
}

/* ---------------------------------------------------------------------------------------------- */

static void cast_block(const void *args, int64_t block)
{
    const simd_cast *a = args;
    int64_t first = block * BLOCK, n = simd_smaller(BLOCK, a->count - first);
    const char *x = (const char *)a->x + (size_t)first * wg_dtype_size(a->from);
    char *y = (char *)a->y + (size_t)first * wg_dtype_size(a->to);
    if (a->from == WG_F16 && a->to == WG_F32)
        f16_to_f32(x, y, n);
    else if (a->from == WG_F32 && a->to == WG_F16)
        f16_from_f32(x, y, n);
    else if (a->from == WG_F16 || a->to == WG_F16)
        cast_by_f32(a->from, a->to, x, y, n);
    else if (a->from == WG_BOOL && a->to == WG_U8)
        memmove(y, x, (size_t)n);
    else
        loops[a->from][a->to](x, y, n);
}

void SIMD(cast)(const simd_cast *a)
{
    int64_t blocks = simd_divide_up(a->count, BLOCK);
    simd_tasks(blocks < 8 ? 1 : a->threads, blocks, cast_block, a);
}
