/* Sums of products of 8-bit integers, many side by side: what an instruction set has for it.
 *
 * A vector holds FAST_INT8_LANES sums of 32 bits.  A step adds FAST_INT8_GROUP products to each: of the numbers of its own
 * lane with numbers that all lanes have in common.  In AVX-512 VNNI a step is one instruction for 64 products, but the one
 * factor must be unsigned: numbers of lanes are raised by FAST_INT8_RAISED, and what that adds to a sum, so many times the
 * sum of the common numbers, is taken off at the end.  Elsewhere both are widened to 16 bits. */
#ifndef WG_BACKENDS_ONEDNN_FAST_INT8_H
#define WG_BACKENDS_ONEDNN_FAST_INT8_H

#include "backends/onednn/fast/fast.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512VNNI__)
typedef __m512i fast_sums;
typedef int8_t fast_int8_common;
typedef uint8_t fast_int8_lane;
enum { FAST_INT8_LANES = 16, FAST_INT8_GROUP = 4, FAST_INT8_RAISED = 128 };
#define FAST_INT8_STORE(to, sums) _mm512_storeu_si512(to, sums)
#define FAST_INT8_STEP(sums, lanes, common)                                                        \
    _mm512_dpbusd_epi32(sums, lanes, _mm512_set1_epi32(common))

#elif defined(__AVX512BW__)
typedef __m512i fast_sums;
typedef int16_t fast_int8_common;
typedef int16_t fast_int8_lane;
enum { FAST_INT8_LANES = 16, FAST_INT8_GROUP = 2, FAST_INT8_RAISED = 0 };
#define FAST_INT8_STORE(to, sums) _mm512_storeu_si512(to, sums)
#define FAST_INT8_STEP(sums, lanes, common)                                                        \
    _mm512_add_epi32(sums, _mm512_madd_epi16(lanes, _mm512_set1_epi32(common)))

#elif defined(__AVX2__)
typedef __m256i fast_sums;
typedef int16_t fast_int8_common;
typedef int16_t fast_int8_lane;
enum { FAST_INT8_LANES = 8, FAST_INT8_GROUP = 2, FAST_INT8_RAISED = 0 };
#define FAST_INT8_STORE(to, sums) _mm256_storeu_si256((__m256i *)(void *)(to), sums)
#define FAST_INT8_STEP(sums, lanes, common)                                                        \
    _mm256_add_epi32(sums, _mm256_madd_epi16(lanes, _mm256_set1_epi32(common)))

#elif defined(__x86_64__)
typedef __m128i fast_sums;
typedef int16_t fast_int8_common;
typedef int16_t fast_int8_lane;
enum { FAST_INT8_LANES = 4, FAST_INT8_GROUP = 2, FAST_INT8_RAISED = 0 };
#define FAST_INT8_STORE(to, sums) _mm_storeu_si128((__m128i *)(void *)(to), sums)
#define FAST_INT8_STEP(sums, lanes, common)                                                        \
    _mm_add_epi32(sums, _mm_madd_epi16(lanes, _mm_set1_epi32(common)))

#else
typedef int32_t fast_sums;
typedef int32_t fast_int8_common;
typedef int32_t fast_int8_lane;
enum { FAST_INT8_LANES = 1, FAST_INT8_GROUP = 1, FAST_INT8_RAISED = 0 };
#define FAST_INT8_STORE(to, sums) (*(to) = (sums))
#define FAST_INT8_STEP(sums, lanes, common) ((sums) + (lanes) * (common))
#endif

/* ---- layouts ------------------------------------------------------------------------------------------- */

static inline int64_t fast_int8_groups(int64_t width)
{
    return (width + FAST_INT8_GROUP - 1) / FAST_INT8_GROUP;
}

/* A row of numbers that lanes have in common, with zeros up to a whole group; returns by how much a sum with them is raised. */
static inline int32_t fast_int8_lay_common(const int8_t *x, int64_t width, fast_int8_common *to)
{
    int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < width; k++) {
        to[k] = x[k];
        sum += x[k];
    }
    for (int64_t k = width; k < fast_int8_groups(width) * FAST_INT8_GROUP; k++)
        to[k] = 0;
    return FAST_INT8_RAISED * sum;
}

/* One group of a lane: x, raised. */
static inline void fast_int8_lay_group(const int8_t *x, fast_int8_lane *to)
{
#if defined(__AVX512VNNI__)
    uint32_t group; /* all four at once: x + 128 is x with the other sign */
    memcpy(&group, x, sizeof group);
    group ^= 0x80808080u;
    memcpy(to, &group, sizeof group);
#else
    for (int i = 0; i < FAST_INT8_GROUP; i++)
        to[i] = x[i];
#endif
}

/* panel[group][lane][in the group] of `rows` rows x, one a lane; 0 in lanes without a row and beyond the last number. */
static inline void fast_int8_lay_lanes(const int8_t *x, int64_t rows, int64_t width, int64_t lanes,
                                       fast_int8_lane *panel)
{
    int64_t groups = fast_int8_groups(width), whole = width / FAST_INT8_GROUP;
    for (int64_t lane = 0; lane < lanes; lane++) {
        fast_int8_lane *to = panel + lane * FAST_INT8_GROUP;
        int8_t last[FAST_INT8_GROUP] = {0};
        int64_t g = 0;
        if (lane < rows) {
            for (; g < whole; g++, to += lanes * FAST_INT8_GROUP, x += FAST_INT8_GROUP)
                fast_int8_lay_group(x, to);
            for (int64_t i = 0; i < width - whole * FAST_INT8_GROUP; i++)
                last[i] = *x++;
        }
        for (; g < groups; g++, to += lanes * FAST_INT8_GROUP) {
            fast_int8_lay_group(last, to);
            memset(last, 0, sizeof last);
        }
    }
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

enum {
    FAST_INT8_ROWS = 12,
    FAST_INT8_VECTORS = 32 / FAST_INT8_LANES > 4 ? 32 / FAST_INT8_LANES : 4
};

/* sums[row][lane], [rows, vectors FAST_INT8_LANES], raised: of `rows` rows in common, `groups` groups each, with a panel.
 * rows and vectors are constants wherever this is inlined: then all sums stay in registers meanwhile. */
static inline __attribute__((always_inline)) void fast_int8_sums(const fast_int8_common *common,
                                                                 const fast_int8_lane *panel,
                                                                 int64_t groups, const int rows,
                                                                 const int vectors, int32_t *sums)
{
    const fast_sums *lanes = (const fast_sums *)(const void *)panel;
    fast_sums sum[FAST_INT8_ROWS][FAST_INT8_VECTORS];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            sum[i][v] = (fast_sums){0};
    for (int64_t g = 0; g < groups; g++) {
        fast_sums x[FAST_INT8_VECTORS];
        for (int v = 0; v < vectors; v++)
            x[v] = lanes[g * vectors + v];
        for (int i = 0; i < rows; i++) {
            int32_t group;
            memcpy(&group, common + (i * groups + g) * FAST_INT8_GROUP, sizeof group);
            for (int v = 0; v < vectors; v++)
                sum[i][v] = FAST_INT8_STEP(sum[i][v], x[v], group);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            FAST_INT8_STORE(sums + (i * vectors + v) * FAST_INT8_LANES, sum[i][v]);
}

#endif
