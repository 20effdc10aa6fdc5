/* Products of 8-bit integers, by the sums of integer.h.
 *
 * With VNNI a step is one instruction for 32 or 64 products, but the one factor must be unsigned:
 * numbers of lanes are raised by SIMD_INT8_RAISED, and what that adds to a sum, so many times the
 * sum of the common numbers, is taken off at the end.  Elsewhere both are widened to 16 bits. */
#ifndef WG_BACKENDS_SIMD_KERNELS_INT8_H
#define WG_BACKENDS_SIMD_KERNELS_INT8_H

#include "backends/simd/kernels/integer.h"

enum { SIMD_INT8_LANES = SIMD_INTEGER_LANES };
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
typedef int8_t simd_int8_common;
typedef uint8_t simd_int8_lane;
enum { SIMD_INT8_GROUP = 4, SIMD_INT8_RAISED = 128 };

static inline simd_sums simd_add_bytes(simd_sums sums, simd_sums lanes, simd_sums common)
{
#if defined(__AVX512VNNI__)
    return _mm512_dpbusd_epi32(sums, lanes, common);
#else
    return _mm256_dpbusd_avx_epi32(sums, lanes, common);
#endif
}
#else
typedef int16_t simd_int8_common;
typedef int16_t simd_int8_lane;
enum { SIMD_INT8_GROUP = SIMD_SHORT_GROUP, SIMD_INT8_RAISED = 0 };
#define simd_add_bytes simd_add_shorts
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
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
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

/* As simd_integer_sums, but raised. */
SIMD_INLINE void simd_int8_sums(const simd_int8_common *common, const simd_int8_lane *panel,
                                int64_t groups, const int rows, const int vectors, int32_t *sums)
{
    simd_integer_sums(simd_add_bytes, common, panel, groups, rows, vectors, sums);
}

#endif
