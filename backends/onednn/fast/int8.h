/* Sums of products of 8-bit integers, many side by side: what an instruction set has for it.
 *
 * A vector holds FAST_INT8_LANES sums of 32 bits.  A step adds to each of them FAST_INT8_GROUP products: of the weights of its
 * own output, which stand side by side in the panel, with the numbers of x, which are the same for all.  In AVX-512 VNNI
 * a step is one instruction for 64 products, but the one factor must be unsigned: weights are raised by
 * FAST_INT8_RAISED, and what that adds to a sum, so many times the sum of x, is taken off at the end.  Elsewhere both are
 * widened to 16 bits. */
#ifndef WG_BACKENDS_ONEDNN_FAST_INT8_H
#define WG_BACKENDS_ONEDNN_FAST_INT8_H

#include "backends/onednn/fast/fast.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512VNNI__)
typedef __m512i fast_sums;
typedef int8_t fast_int8_x;
typedef uint8_t fast_int8_weight;
enum { FAST_INT8_LANES = 16, FAST_INT8_GROUP = 4, FAST_INT8_RAISED = 128 };
#define FAST_INT8_STORE(to, sums) _mm512_storeu_si512(to, sums)
#define FAST_INT8_STEP(sums, weights, x) _mm512_dpbusd_epi32(sums, weights, _mm512_set1_epi32(x))

#elif defined(__AVX512BW__)
typedef __m512i fast_sums;
typedef int16_t fast_int8_x;
typedef int16_t fast_int8_weight;
enum { FAST_INT8_LANES = 16, FAST_INT8_GROUP = 2, FAST_INT8_RAISED = 0 };
#define FAST_INT8_STORE(to, sums) _mm512_storeu_si512(to, sums)
#define FAST_INT8_STEP(sums, weights, x)                                                           \
    _mm512_add_epi32(sums, _mm512_madd_epi16(weights, _mm512_set1_epi32(x)))

#elif defined(__AVX2__)
typedef __m256i fast_sums;
typedef int16_t fast_int8_x;
typedef int16_t fast_int8_weight;
enum { FAST_INT8_LANES = 8, FAST_INT8_GROUP = 2, FAST_INT8_RAISED = 0 };
#define FAST_INT8_STORE(to, sums) _mm256_storeu_si256((__m256i *)(void *)(to), sums)
#define FAST_INT8_STEP(sums, weights, x)                                                           \
    _mm256_add_epi32(sums, _mm256_madd_epi16(weights, _mm256_set1_epi32(x)))

#elif defined(__x86_64__)
typedef __m128i fast_sums;
typedef int16_t fast_int8_x;
typedef int16_t fast_int8_weight;
enum { FAST_INT8_LANES = 4, FAST_INT8_GROUP = 2, FAST_INT8_RAISED = 0 };
#define FAST_INT8_STORE(to, sums) _mm_storeu_si128((__m128i *)(void *)(to), sums)
#define FAST_INT8_STEP(sums, weights, x)                                                           \
    _mm_add_epi32(sums, _mm_madd_epi16(weights, _mm_set1_epi32(x)))

#else
typedef int32_t fast_sums;
typedef int32_t fast_int8_x;
typedef int32_t fast_int8_weight;
enum { FAST_INT8_LANES = 1, FAST_INT8_GROUP = 1, FAST_INT8_RAISED = 0 };
#define FAST_INT8_STORE(to, sums) (*(to) = (sums))
#define FAST_INT8_STEP(sums, weights, x) ((sums) + (weights) * (x))
#endif

#endif
