/* Sums of products of 8-bit integers, many side by side: what an instruction set has for it.
 *
 * A vector holds SIMD_INT8_LANES sums of 32 bits.  A step adds SIMD_INT8_GROUP products to each: of
 * the numbers of its own lane with numbers that all lanes have in common.  In AVX-512 VNNI a step
 * is one instruction for 64 products, but the one factor must be unsigned: numbers of lanes are
 * raised by SIMD_INT8_RAISED, and what that adds to a sum, so many times the sum of the common
 * numbers, is taken off at the end.  Elsewhere both are widened to 16 bits. */
#ifndef WG_BACKENDS_SIMD_KERNELS_INT8_H
#define WG_BACKENDS_SIMD_KERNELS_INT8_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/unrolled.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512VNNI__)
typedef __m512i simd_sums;
typedef int8_t simd_int8_common;
typedef uint8_t simd_int8_lane;
enum { SIMD_INT8_LANES = 16, SIMD_INT8_GROUP = 4, SIMD_INT8_RAISED = 128 };
#define SIMD_INT8_STORE(to, sums) _mm512_storeu_si512(to, sums)
#define SIMD_INT8_STEP(sums, lanes, common)                                                        \
    _mm512_dpbusd_epi32(sums, lanes, _mm512_set1_epi32(common))

#elif defined(__AVX512BW__)
typedef __m512i simd_sums;
typedef int16_t simd_int8_common;
typedef int16_t simd_int8_lane;
enum { SIMD_INT8_LANES = 16, SIMD_INT8_GROUP = 2, SIMD_INT8_RAISED = 0 };
#define SIMD_INT8_STORE(to, sums) _mm512_storeu_si512(to, sums)
#define SIMD_INT8_STEP(sums, lanes, common)                                                        \
    _mm512_add_epi32(sums, _mm512_madd_epi16(lanes, _mm512_set1_epi32(common)))

#elif defined(__AVX2__)
typedef __m256i simd_sums;
typedef int16_t simd_int8_common;
typedef int16_t simd_int8_lane;
enum { SIMD_INT8_LANES = 8, SIMD_INT8_GROUP = 2, SIMD_INT8_RAISED = 0 };
#define SIMD_INT8_STORE(to, sums) _mm256_storeu_si256((__m256i *)(void *)(to), sums)
#define SIMD_INT8_STEP(sums, lanes, common)                                                        \
    _mm256_add_epi32(sums, _mm256_madd_epi16(lanes, _mm256_set1_epi32(common)))

#elif defined(__x86_64__)
typedef __m128i simd_sums;
typedef int16_t simd_int8_common;
typedef int16_t simd_int8_lane;
enum { SIMD_INT8_LANES = 4, SIMD_INT8_GROUP = 2, SIMD_INT8_RAISED = 0 };
#define SIMD_INT8_STORE(to, sums) _mm_storeu_si128((__m128i *)(void *)(to), sums)
#define SIMD_INT8_STEP(sums, lanes, common)                                                        \
    _mm_add_epi32(sums, _mm_madd_epi16(lanes, _mm_set1_epi32(common)))

#else
typedef int32_t simd_sums;
typedef int32_t simd_int8_common;
typedef int32_t simd_int8_lane;
enum { SIMD_INT8_LANES = 1, SIMD_INT8_GROUP = 1, SIMD_INT8_RAISED = 0 };
#define SIMD_INT8_STORE(to, sums) (*(to) = (sums))
#define SIMD_INT8_STEP(sums, lanes, common) ((sums) + (lanes) * (common))
#endif

/* ---- layouts --------------------------------------------------------------------------------- */

static inline int64_t simd_int8_groups(int64_t width)
{
    return (width + SIMD_INT8_GROUP - 1) / SIMD_INT8_GROUP;
}

/* A row of numbers that lanes have in common, with zeros up to a whole group; returns by how much a
 * sum with them is raised. */
static inline int32_t simd_int8_lay_common(const int8_t *x, int64_t width, simd_int8_common *to)
{
    int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < width; k++) {
        to[k] = x[k];
        sum += x[k];
    }
    for (int64_t k = width; k < simd_int8_groups(width) * SIMD_INT8_GROUP; k++)
        to[k] = 0;
    return SIMD_INT8_RAISED * sum;
}

/* One group of a lane: x, raised. */
static inline void simd_int8_lay_group(const int8_t *x, simd_int8_lane *to)
{
#if defined(__AVX512VNNI__)
    uint32_t group; /* all four at once: x + 128 is x with the other sign */
    memcpy(&group, x, sizeof group);
    group ^= 0x80808080u;
    memcpy(to, &group, sizeof group);
#else
    for (int i = 0; i < SIMD_INT8_GROUP; i++)
        to[i] = x[i];
#endif
}

/* panel[group][lane][in the group] of `rows` rows x, one a lane; 0 in lanes without a row and
 * beyond the last number. */
static inline void simd_int8_lay_lanes(const int8_t *x, int64_t rows, int64_t width, int64_t lanes,
                                       simd_int8_lane *panel)
{
    int64_t groups = simd_int8_groups(width), whole = width / SIMD_INT8_GROUP;
    for (int64_t lane = 0; lane < lanes; lane++) {
        simd_int8_lane *to = panel + lane * SIMD_INT8_GROUP;
        int8_t last[SIMD_INT8_GROUP] = {0};
        int64_t g = 0;
        if (lane < rows) {
            for (; g < whole; g++, to += lanes * SIMD_INT8_GROUP, x += SIMD_INT8_GROUP)
                simd_int8_lay_group(x, to);
            for (int64_t i = 0; i < width - whole * SIMD_INT8_GROUP; i++)
                last[i] = *x++;
        }
        for (; g < groups; g++, to += lanes * SIMD_INT8_GROUP) {
            simd_int8_lay_group(last, to);
            memset(last, 0, sizeof last);
        }
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

enum {
    SIMD_INT8_ROWS = 12,
    SIMD_INT8_VECTORS = 32 / SIMD_INT8_LANES > 4 ? 32 / SIMD_INT8_LANES : 4
};

/* sums[row][lane], [rows, vectors SIMD_INT8_LANES], raised: of `rows` rows in common, `groups`
 * groups each, with a panel. rows and vectors are constants wherever this is inlined: then all sums
 * stay in registers meanwhile. */
SIMD_INLINE void simd_int8_sums(const simd_int8_common *common, const simd_int8_lane *panel,
                                int64_t groups, const int rows, const int vectors, int32_t *sums)
{
    const simd_sums *lanes = (const simd_sums *)(const void *)panel;
    simd_sums sum[SIMD_INT8_ROWS][SIMD_INT8_VECTORS];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            sum[i][v] = (simd_sums){0};
    for (int64_t g = 0; g < groups; g++) {
        simd_sums x[SIMD_INT8_VECTORS];
        for (int v = 0; v < vectors; v++)
            x[v] = lanes[g * vectors + v];
        for (int i = 0; i < rows; i++) {
            int32_t group;
            memcpy(&group, common + (i * groups + g) * SIMD_INT8_GROUP, sizeof group);
            for (int v = 0; v < vectors; v++)
                sum[i][v] = SIMD_INT8_STEP(sum[i][v], x[v], group);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            SIMD_INT8_STORE(sums + (i * vectors + v) * SIMD_INT8_LANES, sum[i][v]);
}

#endif
