/* Lines in order, by their bits (radix sort, least significant digit first): stable, and without a
 * comparison.  An element is an item of 64 bits, its key above its index, so that items move as one
 * word.  A key of 64 bits is sorted by its lower half, then by its upper half.
 *
 * Keys are unsigned and in the order of the elements: of floats, the bits of negative ones are
 * inverted, those of others get a sign; both zeros have one key, and so has every NaN, the
 * largest.  In descending order keys are inverted. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/team.h"

#include <string.h>

enum { DIGIT = 8, VALUES = 1 << DIGIT, DIGITS = 32 / DIGIT };

/* ---- keys ------------------------------------------------------------------------------------ */

static inline uint64_t key_of_f32(const void *x, int64_t i)
{
    float value = ((const float *)x)[i];
    uint32_t bits;
    value = value == 0 ? 0 : value; /* of -0 too */
    memcpy(&bits, &value, sizeof bits);
    return value != value ? UINT32_MAX : bits & 0x80000000 ? (uint32_t)~bits : bits | 0x80000000;
}

static inline uint64_t key_of_f64(const void *x, int64_t i)
{
    double value = ((const double *)x)[i];
    uint64_t bits, sign = UINT64_C(1) << 63;
    value = value == 0 ? 0 : value;
    memcpy(&bits, &value, sizeof bits);
    return value != value ? UINT64_MAX : bits & sign ? ~bits : bits | sign;
}

static inline uint64_t key_of_i32(const void *x, int64_t i)
{
    return (uint32_t)((const int32_t *)x)[i] ^ 0x80000000;
}

static inline uint64_t key_of_i64(const void *x, int64_t i)
{
    return (uint64_t)((const int64_t *)x)[i] ^ UINT64_C(1) << 63;
}

/* Items of the elements in the order of `from`, or in their own; of the lower half of long keys, or
 * with a shift of 32 of the upper one. */
typedef uint64_t key_of(const void *x, int64_t i);
SIMD_INLINE void fill_with(key_of *key, uint64_t *item, const void *x, int64_t step, int64_t n,
                           int shift, uint64_t flip, const uint64_t *from)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = from ? (int64_t)(uint32_t)from[i] : i;
        item[i] = ((key(x, at * step) ^ flip) >> shift) << 32 | (uint64_t)at;
    }
}

/* The same by the kind of number, outside of the loop. */
static void fill(simd_sort_kind kind, uint64_t *item, const void *x, int64_t step, int64_t n,
                 int shift, uint64_t flip, const uint64_t *from)
{
    switch (kind) {
    case SIMD_SORT_F32: fill_with(key_of_f32, item, x, step, n, shift, flip, from); break;
    case SIMD_SORT_F64: fill_with(key_of_f64, item, x, step, n, shift, flip, from); break;
    case SIMD_SORT_I32: fill_with(key_of_i32, item, x, step, n, shift, flip, from); break;
    case SIMD_SORT_I64: fill_with(key_of_i64, item, x, step, n, shift, flip, from); break;
    }
}

/* ---- digits ---------------------------------------------------------------------------------- */

/* By the digits of their upper halves; returns where they are, a or b. */
static uint64_t *sort_items(uint64_t *a, uint64_t *b, int64_t n)
{
    uint32_t count[DIGITS][VALUES] = {{0}};
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < DIGITS; d++)
            count[d][a[i] >> (32 + d * DIGIT) & (VALUES - 1)]++;
    for (int d = 0; d < DIGITS; d++) {
        const int shift = 32 + d * DIGIT;
        if (count[d][a[0] >> shift & (VALUES - 1)] == n)
            continue; /* all the same */
        uint32_t before = 0;
        for (int v = 0; v < VALUES; v++) {
            uint32_t own = count[d][v];
            count[d][v] = before;
            before += own;
        }
        for (int64_t i = 0; i < n; i++)
            b[count[d][a[i] >> shift & (VALUES - 1)]++] = a[i];
        uint64_t *to = b;
        b = a;
        a = to;
    }
    return a;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Elements of 4 or 8 bytes, which are moved as they are.  The results may lie where x does: all is
 * read before anything is written. */
SIMD_INLINE void put(const simd_sort *s, int64_t at, const uint64_t *item, void *room, bool wide)
{
    const uint32_t *x4 = (const uint32_t *)s->x + at;
    const uint64_t *x8 = (const uint64_t *)s->x + at;
    uint32_t *room4 = room, *y4 = (uint32_t *)s->y + at;
    uint64_t *room8 = room, *y8 = (uint64_t *)s->y + at;
    for (int64_t i = 0; i < s->size; i++) {
        int64_t from = (int64_t)(uint32_t)item[i] * s->inner;
        if (wide)
            room8[i] = x8[from];
        else
            room4[i] = x4[from];
    }
    for (int64_t i = 0; i < s->size; i++) {
        int64_t to = i * s->inner;
        if (wide)
            y8[to] = room8[i];
        else
            y4[to] = room4[i];
        s->index[at + to] = (uint32_t)item[i];
    }
}

static void sort_line(const simd_sort *s, int64_t line, uint64_t *a, uint64_t *b)
{
    const bool wide = s->kind == SIMD_SORT_F64 || s->kind == SIMD_SORT_I64;
    int64_t at = line / s->inner * s->size * s->inner + line % s->inner;
    const void *x = (const char *)s->x + at * (wide ? 8 : 4);
    const uint64_t flip = !s->descending ? 0 : wide ? UINT64_MAX : UINT32_MAX;
    fill(s->kind, a, x, s->inner, s->size, 0, flip, NULL);
    uint64_t *sorted = sort_items(a, b, s->size), *other = sorted == a ? b : a;
    if (!wide) {
        put(s, at, sorted, other, false);
        return;
    }
    fill(s->kind, other, x, s->inner, s->size, 32, flip, sorted);
    uint64_t *again = sort_items(other, sorted, s->size);
    put(s, at, again, again == a ? b : a, true);
}

static void sort_lines(const void *args, simd_member m)
{
    const simd_sort *s = args;
    const int64_t lines = s->outer * s->inner;
    uint64_t *a = (uint64_t *)s->scratch + 2 * s->size * m.me;
    for (int64_t line = simd_first(m, lines); line < simd_end(m, lines); line++)
        sort_line(s, line, a, a + s->size);
}

void SIMD_OTHER(sort)(const simd_sort *s)
{
    int64_t lines = s->outer * s->inner;
    simd_team(lines < s->threads ? (int)lines : s->threads, sort_lines, s);
}
