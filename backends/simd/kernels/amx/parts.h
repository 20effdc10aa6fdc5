/* Packing for a product on AMX (product.c).  A number x of f32 is the sum of three of bf16,
 *
 *     x = x0 + x1 + x2,   x0 = bf16(x), x1 = bf16(x - x0), x2 = x - x0 - x1,
 *
 * exactly: what two roundings to 8 bits leave of 24 has at most 7.  Each part is a matrix of its
 * own.  A tile has 16 rows of 16 pairs, which both operands make of two vectors: row i of A pairs
 * its terms q and q + 16; row q of B pairs its terms q and q + 16 of each column. */
#ifndef WG_BACKENDS_SIMD_KERNELS_AMX_PARTS_H
#define WG_BACKENDS_SIMD_KERNELS_AMX_PARTS_H

#include "backends/simd/kernels/product.h"
#include "backends/simd/kernels/transpose.h"
#include "backends/simd/kernels/vector.h"

#include <immintrin.h>
#include <string.h>

/* A panel is SIDE rows of A or columns of B, a block of it BLOCK_TERMS of their terms: of each part
 * two tiles, one behind the other. */
enum {
    SIDE = SIMD_AMX_SIDE,
    BLOCK_TERMS = SIMD_AMX_TERMS,
    PARTS = SIMD_AMX_PARTS,
    TILE = 16 * 32, /* numbers of bf16 */
    PART = 2 * TILE,
    BLOCK = PARTS * PART
};
typedef uint16_t bf16;
typedef uint32_t words __attribute__((vector_size(64), may_alias));

/* `count` rows of A or columns of B, and some of their terms; ld is the distance of the matrix's
 * rows. */
typedef struct strip {
    const float *x;
    int64_t ld, count, terms;
} strip;

SIMD_INLINE __mmask16 lanes_below(int64_t count)
{
    return (__mmask16)(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

/* `count` numbers, at most 16; zeros follow. */
SIMD_INLINE vector load(const float *x, int64_t count)
{
    return (vector)_mm512_maskz_loadu_ps(lanes_below(count), x);
}

/* Bits of magnitudes, which are in the order of the numbers: 2^-100, whose parts are not flushed to
 * zero, and what rounds to infinity in bf16, or is infinite, or NaN. */
enum { TINY = (127 - 100) << 23, INFINITE = 0x7f7f8000 };

/* The largest of some magnitudes, and the least of them but for zeros */
typedef struct range {
    uint32_t least, largest;
} range;

/* The same by lanes; `least` is less 1, where 0 is the largest of all. */
typedef struct extent {
    words least, largest;
} extent;

static extent nothing_seen(void)
{
    return (extent){.least = (words){0} - 1, .largest = {0}};
}

static range range_of(const extent *x)
{
    return (range){_mm512_reduce_min_epu32((__m512i)x->least) + 1,
                   _mm512_reduce_max_epu32((__m512i)x->largest)};
}

SIMD_INLINE void see(extent *seen, vector x)
{
    words magnitude = (words)x & ((words){0} + 0x7fffffff);
    seen->largest = (words)_mm512_max_epu32((__m512i)seen->largest, (__m512i)magnitude);
    seen->least = (words)_mm512_min_epu32((__m512i)seen->least, (__m512i)(magnitude - 1));
}

/* Row `to` of a tile, and of those of the other parts: pairs of x and y, which are seen */
SIMD_INLINE void put_pairs(vector x, vector y, bf16 *to, extent *seen)
{
    const words half = (words){0} + 0x8000, upper = (words){0} + 0xffff0000;
    see(seen, x);
    see(seen, y);
    SIMD_UNROLLED
    for (int part = 0; part < PARTS; part++) {
        words low = (words)x, high = (words)y;
        if (part < PARTS - 1) { /* else nothing is left to round */
            low = (low + half) & upper;
            high = (high + half) & upper;
            x -= (vector)low;
            y -= (vector)high;
        }
        *(words *)(to + part * PART) = low >> 16 | high;
    }
}

/* Each of these packs a strip.  Panels lie `next` numbers apart; seen[i] has seen all of one. */

/* ---- operands that lie as tiles do ----------------------------------------------------------- */

/* One panel of A, along whose rows terms lie: row by row, as memory is read best. */
SIMD_INLINE void pack_rows(const strip *s, bf16 *to, extent *seen)
{
    enum { AHEAD = 8 };
    for (int64_t i = 0; i < SIDE; i++) {
        const float *x = s->x + i * s->ld;
        int64_t terms = i < s->count ? s->terms : 0;
        bf16 *row = to + i * 32;
        for (int64_t p = 0; p < s->terms; p += BLOCK_TERMS, row += BLOCK) {
            __builtin_prefetch(x + AHEAD * s->ld + p);
            __builtin_prefetch(x + AHEAD * s->ld + p + 16);
            put_pairs(load(x + p, terms - p), load(x + p + 16, terms - p - 16), row, seen);
        }
    }
}

/* Panels of B, along whose terms its columns lie: all together, for the same reason. */
SIMD_INLINE void pack_columns(const strip *s, bf16 *to, int64_t next, extent *seen)
{
    for (int64_t p = 0; p < s->terms; p += BLOCK_TERMS, to += BLOCK)
        for (int64_t q = 0; q < 16; q++) {
            const float *x = s->x + (p + q) * s->ld, *y = x + 16 * s->ld;
            int64_t first = p + q < s->terms ? s->count : 0,
                    second = p + q + 16 < s->terms ? s->count : 0;
            for (int64_t j = 0; j < s->count; j += 16) {
                __builtin_prefetch(x + s->ld + j);
                __builtin_prefetch(y + s->ld + j);
                put_pairs(load(x + j, first - j), load(y + j, second - j),
                          to + j / SIDE * next + j % SIDE / 16 * TILE + q * 32, &seen[j / SIDE]);
            }
        }
}

/* ---- operands that lie across ---------------------------------------------------------------- */

/* [rows, columns] of x, at most 32 by 16 or 16 by 32, as [columns, rows] in a square of zeros. */
SIMD_INLINE void turn(const float *x, int64_t ld, int64_t rows, int64_t columns, float *to,
                      int64_t width)
{
    memset(to, 0, 16 * 32 * sizeof *to);
    simd_transpose_matrix(x, ld, rows, columns, to, width);
}

/* Panels of A, along whose terms its rows lie */
SIMD_INLINE void pack_turned_rows(const strip *s, bf16 *to, int64_t next, extent *seen)
{
    _Alignas(64) float turned[16 * 32];
    for (int64_t p = 0; p < s->terms; p += BLOCK_TERMS, to += BLOCK)
        for (int64_t i = 0; i < simd_round_up(s->count, SIDE); i += 16) {
            int64_t terms = simd_smaller(s->terms - p, BLOCK_TERMS),
                    rows = simd_smaller(s->count - i, 16);
            bf16 *tile = to + i / SIDE * next + i % SIDE / 16 * TILE;
            turn(s->x + p * s->ld + i, s->ld, rows > 0 ? terms : 0, rows, turned, 32);
            for (int64_t row = 0; row < 16; row++)
                put_pairs(load(turned + row * 32, 16), load(turned + row * 32 + 16, 16),
                          tile + row * 32, &seen[i / SIDE]);
        }
}

/* One panel of B, along whose columns terms lie */
SIMD_INLINE void pack_turned_columns(const strip *s, bf16 *to, extent *seen)
{
    _Alignas(64) float turned[32 * 16];
    for (int64_t j = 0; j < SIDE; j += 16, to += TILE)
        for (int64_t p = 0; p < s->terms; p += BLOCK_TERMS) {
            int64_t columns = simd_smaller(s->count - j, 16),
                    terms = simd_smaller(s->terms - p, BLOCK_TERMS);
            bf16 *tile = to + p / BLOCK_TERMS * BLOCK;
            turn(s->x + j * s->ld + p, s->ld, columns, columns > 0 ? terms : 0, turned, 16);
            for (int64_t q = 0; q < 16; q++)
                put_pairs(load(turned + q * 16, 16), load(turned + (q + 16) * 16, 16),
                          tile + q * 32, seen);
        }
}

#endif
