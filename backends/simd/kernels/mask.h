/* The numbers of backends/mask.h, several blocks side by side.
 *
 * Each of a block's four words lies in the lower half of a 64-bit lane: then the product of a word
 * with a constant is one instruction, its lower half lies where the next round wants it, and the
 * upper halves may hold anything. Six instructions a round for eight blocks in AVX-512. */
#ifndef WG_BACKENDS_SIMD_KERNELS_MASK_H
#define WG_BACKENDS_SIMD_KERNELS_MASK_H

#include "backends/simd/kernels/ahead.h"
#include "backends/simd/kernels/kernels.h"

#if defined(__AVX512F__)
#include <immintrin.h>

typedef __m512i simd_words;
enum { SIMD_BLOCKS = 8 };

static inline simd_words simd_words_of(uint32_t x)
{
    return _mm512_set1_epi64((long long)x);
}

static inline simd_words simd_words_from(uint64_t first) /* first, first + 1, ... */
{
    return _mm512_add_epi64(_mm512_set1_epi64((long long)first),
                            _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline simd_words simd_mask_product(simd_words a, simd_words b) /* of the lower halves */
{
    return _mm512_mul_epu32(a, b);
}

static inline simd_words simd_upper(simd_words a)
{
    return _mm512_srli_epi64(a, 32);
}

static inline simd_words simd_xor(simd_words a, simd_words b, simd_words c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

/* Words 0 to 3 of each block in turn. */
static inline void simd_deal(const simd_words x[4], uint16_t *number)
{
    const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                  second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    __m512i a = _mm512_mask_shuffle_epi32(x[0], 0xaaaa, x[1], _MM_PERM_CCAA),
            b = _mm512_mask_shuffle_epi32(x[2], 0xaaaa, x[3], _MM_PERM_CCAA);
    _mm512_storeu_si512(number, _mm512_permutex2var_epi64(a, first, b));
    _mm512_storeu_si512(number + 32, _mm512_permutex2var_epi64(a, second, b));
}

#elif defined(__AVX2__)
#include <immintrin.h>

typedef __m256i simd_words;
enum { SIMD_BLOCKS = 4 };

static inline simd_words simd_words_of(uint32_t x)
{
    return _mm256_set1_epi64x((long long)x);
}

static inline simd_words simd_words_from(uint64_t first)
{
    return _mm256_add_epi64(_mm256_set1_epi64x((long long)first), _mm256_setr_epi64x(0, 1, 2, 3));
}

static inline simd_words simd_mask_product(simd_words a, simd_words b)
{
    return _mm256_mul_epu32(a, b);
}

static inline simd_words simd_upper(simd_words a)
{
    return _mm256_srli_epi64(a, 32);
}

static inline simd_words simd_xor(simd_words a, simd_words b, simd_words c)
{
    return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}

static inline void simd_deal(const simd_words x[4], uint16_t *number)
{
    __m256i a = _mm256_blend_epi32(x[0], _mm256_slli_epi64(x[1], 32), 0xaa),
            b = _mm256_blend_epi32(x[2], _mm256_slli_epi64(x[3], 32), 0xaa),
            even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);
    _mm256_storeu_si256((__m256i *)number, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((__m256i *)(number + 16), _mm256_permute2x128_si256(even, odd, 0x31));
}

#else

typedef uint64_t simd_words;
enum { SIMD_BLOCKS = 1 };

static inline simd_words simd_words_of(uint32_t x)
{
    return x;
}

static inline simd_words simd_words_from(uint64_t first)
{
    return first;
}

static inline simd_words simd_mask_product(simd_words a, simd_words b)
{
    return (a & 0xffffffffu) * b; /* b is a constant of 32 bits */
}

static inline simd_words simd_upper(simd_words a)
{
    return a >> 32;
}

static inline simd_words simd_xor(simd_words a, simd_words b, simd_words c)
{
    return a ^ b ^ c;
}

static inline void simd_deal(const simd_words x[4], uint16_t *number)
{
    for (int i = 0; i < WGI_MASK_NUMBERS; i++)
        number[i] = (uint16_t)(x[i / 2] >> (16 * (i % 2)));
}

#endif

/* Philox's rounds, of several vectors of blocks together: a round waits for the one before, and
 * what the processor has in view must hold others to do meanwhile. */
enum { SIMD_MASK_CHAINS = 2 };

/* The numbers of blocks first ... first + SIMD_MASK_CHAINS SIMD_BLOCKS - 1. */
static inline void simd_mask_blocks(const wgi_mask *m, uint64_t first, uint16_t *number)
{
    const simd_words a = simd_words_of(0xD2511F53u), b = simd_words_of(0xCD9E8D57u);
    simd_words x[SIMD_MASK_CHAINS][4];
    for (int c = 0; c < SIMD_MASK_CHAINS; c++) {
        x[c][0] = simd_words_from(first + (uint64_t)c * SIMD_BLOCKS);
        x[c][1] = simd_upper(x[c][0]);
        x[c][2] = simd_words_of((uint32_t)m->step);
        x[c][3] = simd_words_of((uint32_t)(m->step >> 32));
    }
    uint32_t k0 = m->key[0], k1 = m->key[1];
    for (int round = 0; round < WGI_MASK_ROUNDS; round++) {
        for (int c = 0; c < SIMD_MASK_CHAINS; c++) {
            simd_words *y = x[c];
            simd_words p = simd_mask_product(y[0], a), q = simd_mask_product(y[2], b);
            y[0] = simd_xor(simd_upper(q), y[1], simd_words_of(k0));
            y[1] = q;
            y[2] = simd_xor(simd_upper(p), y[3], simd_words_of(k1));
            y[3] = p;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int c = 0; c < SIMD_MASK_CHAINS; c++)
        simd_deal(x[c], number + c * SIMD_BLOCKS * WGI_MASK_NUMBERS);
}

/* The numbers of group g: elements 128 g ... 128 g + 127. */
static inline void simd_mask_group(const wgi_mask *m, uint64_t g, uint16_t *restrict number)
{
    enum { BLOCKS = SIMD_MASK_GROUP / WGI_MASK_NUMBERS };
    for (int b = 0; b < BLOCKS; b += SIMD_MASK_CHAINS * SIMD_BLOCKS)
        simd_mask_blocks(m, g * BLOCKS + (uint64_t)b, number + WGI_MASK_NUMBERS * b);
}

/* The numbers of the elements first ... first + count - 1; room has count + SIMD_MASK_ROOM places.
 * Returns where they start. */
static inline const uint16_t *simd_mask_range(const wgi_mask *m, uint64_t first, uint64_t count,
                                              uint16_t *room)
{
    for (uint64_t g = first / SIMD_MASK_GROUP, to = 0; g * SIMD_MASK_GROUP < first + count;
         g++, to += SIMD_MASK_GROUP)
        simd_mask_group(m, g, room + to);
    return room + first % SIMD_MASK_GROUP;
}

/* y = dropout(x), plus `add` unless that is NULL, over `count` elements of which the first is
 * element `first` of the tensor; without dropout the mask's keep is 0.  Drawing numbers keeps the
 * processor from prefetching by itself. */
static inline void simd_drop(const wgi_mask *m, int64_t first, int64_t count, const real *x,
                             const real *add, real *y)
{
    if (!m->keep) {
        simd_ask_ahead(x, count);
        simd_ask_ahead(add, count);
        for (int64_t i = 0; i < count; i++)
            y[i] = add ? add[i] + x[i] : x[i];
        return;
    }
    int32_t keep = (int32_t)m->keep;
    real scale = (real)m->scale;
    int64_t skip = first % SIMD_MASK_GROUP; /* elements of a group that precede the first */
    for (int64_t i = -skip; i < count; i += SIMD_MASK_GROUP) {
        uint16_t number[SIMD_MASK_GROUP];
        simd_mask_group(m, (uint64_t)(first + i) / SIMD_MASK_GROUP, number);
        int64_t from = i < 0 ? 0 : i,
                to = i + SIMD_MASK_GROUP < count ? i + SIMD_MASK_GROUP : count;
        simd_ask_ahead(x + from, to - from);
        simd_ask_ahead(add ? add + from : NULL, to - from);
        if (add) {
#pragma omp simd
            for (int64_t j = from; j < to; j++)
                y[j] = add[j] + ((int32_t)number[j - i] < keep ? x[j] * scale : 0);
        } else {
#pragma omp simd
            for (int64_t j = from; j < to; j++)
                y[j] = (int32_t)number[j - i] < keep ? x[j] * scale : 0;
        }
    }
}

#endif
