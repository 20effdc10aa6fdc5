/* Sums of products of integers, many side by side.
 *
 * A vector holds SIMD_INTEGER_LANES sums of 32 bits.  A step adds to each of them the products of a
 * group of numbers of its own lane, 32 bits in all, with a group that all lanes have in common: two
 * numbers of 16 bits, or four of 8 where int8.h has an instruction for that. */
#ifndef WG_BACKENDS_SIMD_KERNELS_INTEGER_H
#define WG_BACKENDS_SIMD_KERNELS_INTEGER_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/unrolled.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512BW__)
typedef __m512i simd_sums;
enum { SIMD_INTEGER_LANES = 16 };
#define SIMD_STORE_SUMS(to, sums) _mm512_storeu_si512(to, sums)
#define SIMD_ALL_LANES(group) _mm512_set1_epi32(group)
#elif defined(__AVX2__)
typedef __m256i simd_sums;
enum { SIMD_INTEGER_LANES = 8 };
#define SIMD_STORE_SUMS(to, sums) _mm256_storeu_si256((__m256i *)(void *)(to), sums)
#define SIMD_ALL_LANES(group) _mm256_set1_epi32(group)
#elif defined(__x86_64__)
typedef __m128i simd_sums;
enum { SIMD_INTEGER_LANES = 4 };
#define SIMD_STORE_SUMS(to, sums) _mm_storeu_si128((__m128i *)(void *)(to), sums)
#define SIMD_ALL_LANES(group) _mm_set1_epi32(group)
#else
typedef int32_t simd_sums;
enum { SIMD_INTEGER_LANES = 1 };
#define SIMD_STORE_SUMS(to, sums) (*(to) = (sums))
#define SIMD_ALL_LANES(group) (group)
#endif

enum { SIMD_SHORT_GROUP = 2 };

typedef simd_sums simd_add_products(simd_sums sums, simd_sums lanes, simd_sums common);

static inline simd_sums simd_add_shorts(simd_sums sums, simd_sums lanes, simd_sums common)
{
#if defined(__AVX512VNNI__)
    return _mm512_dpwssd_epi32(sums, lanes, common);
#elif defined(__AVX512BW__)
    return _mm512_add_epi32(sums, _mm512_madd_epi16(lanes, common));
#elif defined(__AVXVNNI__)
    return _mm256_dpwssd_avx_epi32(sums, lanes, common);
#elif defined(__AVX2__)
    return _mm256_add_epi32(sums, _mm256_madd_epi16(lanes, common));
#elif defined(__x86_64__)
    return _mm_add_epi32(sums, _mm_madd_epi16(lanes, common));
#else
    return sums + (int16_t)lanes * (int16_t)common + (lanes >> 16) * (common >> 16);
#endif
}

enum {
    SIMD_INTEGER_ROWS = 12,
    SIMD_INTEGER_VECTORS = 32 / SIMD_INTEGER_LANES > 4 ? 32 / SIMD_INTEGER_LANES : 4
};

/* sums[row][lane], [rows, vectors SIMD_INTEGER_LANES], of common [rows, groups] with a panel
 * [groups, vectors SIMD_INTEGER_LANES], in groups of 32 bits.  step, rows and vectors are constants
 * wherever this is inlined: then all sums stay in registers meanwhile. */
SIMD_INLINE void simd_integer_sums(simd_add_products *step, const void *common, const void *panel,
                                   int64_t groups, const int rows, const int vectors, int32_t *sums)
{
    const simd_sums *lanes = panel;
    const char *in_common = common;
    simd_sums sum[SIMD_INTEGER_ROWS][SIMD_INTEGER_VECTORS];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            sum[i][v] = (simd_sums){0};
    for (int64_t g = 0; g < groups; g++) {
        simd_sums x[SIMD_INTEGER_VECTORS];
        for (int v = 0; v < vectors; v++)
            x[v] = lanes[g * vectors + v];
        for (int i = 0; i < rows; i++) {
            int32_t group;
            memcpy(&group, in_common + (i * groups + g) * (int64_t)sizeof group, sizeof group);
            for (int v = 0; v < vectors; v++)
                sum[i][v] = step(sum[i][v], x[v], SIMD_ALL_LANES(group));
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            SIMD_STORE_SUMS(sums + (i * vectors + v) * SIMD_INTEGER_LANES, sum[i][v]);
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* The largest |x|, NaN if there is one: without their signs, floats are ordered like their bits. */
static inline float simd_largest(const float *x, int64_t n)
{
    int32_t top = 0;
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= INT32_MAX;
        top = bits > top ? bits : top;
    }
    float y;
    memcpy(&y, &top, sizeof y);
    return y;
}

#endif
