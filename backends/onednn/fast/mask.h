/* The numbers of backends/mask.h, several blocks side by side.
 *
 * Each of a block's four words lies in the lower half of a 64-bit lane: then the product of a word with a constant is
 * one instruction, its lower half lies where the next round wants it, and what stands in upper halves does no harm.
 * Six instructions a round for eight blocks in AVX-512. */
#ifndef WG_BACKENDS_ONEDNN_FAST_MASK_H
#define WG_BACKENDS_ONEDNN_FAST_MASK_H

#include "backends/onednn/fast/fast.h"

#if defined(__AVX512F__)
#include <immintrin.h>

typedef __m512i fast_words;
enum { FAST_BLOCKS = 8 };

static inline fast_words fast_words_of(uint32_t x)
{
    return _mm512_set1_epi64((long long)x);
}

static inline fast_words fast_words_from(uint64_t first) /* first, first + 1, ... */
{
    return _mm512_add_epi64(_mm512_set1_epi64((long long)first),
                            _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline fast_words fast_product(fast_words a, fast_words b) /* of the lower halves */
{
    return _mm512_mul_epu32(a, b);
}

static inline fast_words fast_upper(fast_words a)
{
    return _mm512_srli_epi64(a, 32);
}

static inline fast_words fast_xor(fast_words a, fast_words b, fast_words c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

/* Words 0 to 3 of each block in turn. */
static inline void fast_deal(const fast_words x[4], uint16_t *number)
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

typedef __m256i fast_words;
enum { FAST_BLOCKS = 4 };

static inline fast_words fast_words_of(uint32_t x)
{
    return _mm256_set1_epi64x((long long)x);
}

static inline fast_words fast_words_from(uint64_t first)
{
    return _mm256_add_epi64(_mm256_set1_epi64x((long long)first), _mm256_setr_epi64x(0, 1, 2, 3));
}

static inline fast_words fast_product(fast_words a, fast_words b)
{
    return _mm256_mul_epu32(a, b);
}

static inline fast_words fast_upper(fast_words a)
{
    return _mm256_srli_epi64(a, 32);
}

static inline fast_words fast_xor(fast_words a, fast_words b, fast_words c)
{
    return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}

static inline void fast_deal(const fast_words x[4], uint16_t *number)
{
    __m256i a = _mm256_blend_epi32(x[0], _mm256_slli_epi64(x[1], 32), 0xaa),
            b = _mm256_blend_epi32(x[2], _mm256_slli_epi64(x[3], 32), 0xaa),
            even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);
    _mm256_storeu_si256((__m256i *)number, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((__m256i *)(number + 16), _mm256_permute2x128_si256(even, odd, 0x31));
}

#else

typedef uint64_t fast_words;
enum { FAST_BLOCKS = 1 };

static inline fast_words fast_words_of(uint32_t x)
{
    return x;
}

static inline fast_words fast_words_from(uint64_t first)
{
    return first;
}

static inline fast_words fast_product(fast_words a, fast_words b)
{
    return (a & 0xffffffffu) * b; /* b is a constant of 32 bits */
}

static inline fast_words fast_upper(fast_words a)
{
    return a >> 32;
}

static inline fast_words fast_xor(fast_words a, fast_words b, fast_words c)
{
    return a ^ b ^ c;
}

static inline void fast_deal(const fast_words x[4], uint16_t *number)
{
    for (int i = 0; i < WG_MASK_NUMBERS; i++)
        number[i] = (uint16_t)(x[i / 2] >> (16 * (i % 2)));
}

#endif

/* The numbers of blocks first ... first + FAST_BLOCKS - 1: Philox's rounds. */
static inline void fast_mask_blocks(const wg_mask *m, uint64_t first, uint16_t *number)
{
    const fast_words a = fast_words_of(0xD2511F53u), b = fast_words_of(0xCD9E8D57u);
    fast_words block = fast_words_from(first);
    fast_words x[4] = {block, fast_upper(block), fast_words_of((uint32_t)m->step),
                       fast_words_of((uint32_t)(m->step >> 32))};
    uint32_t k0 = m->key[0], k1 = m->key[1];
    for (int round = 0; round < WG_MASK_ROUNDS; round++) {
        fast_words p = fast_product(x[0], a), q = fast_product(x[2], b);
        x[0] = fast_xor(fast_upper(q), x[1], fast_words_of(k0));
        x[1] = q;
        x[2] = fast_xor(fast_upper(p), x[3], fast_words_of(k1));
        x[3] = p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    fast_deal(x, number);
}

/* The numbers of group g: elements 128 g ... 128 g + 127. */
static inline void fast_mask_group(const wg_mask *m, uint64_t g, uint16_t *restrict number)
{
    enum { BLOCKS = FAST_MASK_GROUP / WG_MASK_NUMBERS };
    for (int b = 0; b < BLOCKS; b += FAST_BLOCKS)
        fast_mask_blocks(m, g * BLOCKS + (uint64_t)b, number + WG_MASK_NUMBERS * b);
}

/* The numbers of the elements first ... first + count - 1; room has count + FAST_MASK_ROOM places.  Returns where they
 * start. */
static inline const uint16_t *fast_mask_range(const wg_mask *m, uint64_t first, uint64_t count,
                                              uint16_t *room)
{
    for (uint64_t g = first / FAST_MASK_GROUP, to = 0; g * FAST_MASK_GROUP < first + count;
         g++, to += FAST_MASK_GROUP)
        fast_mask_group(m, g, room + to);
    return room + first % FAST_MASK_GROUP;
}

/* y = dropout(x), plus `add` unless that is NULL, over `count` elements of which the first is element `first` of the
 * tensor; without dropout the mask's keep is 0.  Drawing numbers keeps the processor from looking far enough ahead into
 * memory by itself: asked to, it does this twice as fast on tensors out of the cache. */
static inline void fast_drop(const wg_mask *m, int64_t first, int64_t count, const float *x,
                             const float *add, float *y)
{
    enum { LINE = 16, AHEAD = 8 * FAST_MASK_GROUP };
    if (!m->keep) {
        for (int64_t i = 0; i < count; i++)
            y[i] = add ? add[i] + x[i] : x[i];
        return;
    }
    int32_t keep = (int32_t)m->keep;
    float scale = (float)m->scale;
    int64_t skip = first % FAST_MASK_GROUP; /* elements of a group that precede the first */
    for (int64_t i = -skip; i < count; i += FAST_MASK_GROUP) {
        uint16_t number[FAST_MASK_GROUP];
        fast_mask_group(m, (uint64_t)(first + i) / FAST_MASK_GROUP, number);
        int64_t from = i < 0 ? 0 : i,
                to = i + FAST_MASK_GROUP < count ? i + FAST_MASK_GROUP : count;
        for (int64_t j = 0; j < FAST_MASK_GROUP;
             j += LINE) { /* of addresses alone, so past the end does no harm */
            __builtin_prefetch(
                (const char *)((uintptr_t)x + (size_t)(from + j + AHEAD) * sizeof *x));
            if (add)
                __builtin_prefetch(
                    (const char *)((uintptr_t)add + (size_t)(from + j + AHEAD) * sizeof *add));
        }
        if (add) {
#pragma omp simd
            for (int64_t j = from; j < to; j++)
                y[j] = add[j] + ((int32_t)number[j - i] < keep ? x[j] * scale : 0.0f);
        } else {
#pragma omp simd
            for (int64_t j = from; j < to; j++)
                y[j] = (int32_t)number[j - i] < keep ? x[j] * scale : 0.0f;
        }
    }
}

#endif
