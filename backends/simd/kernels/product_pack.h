/* Packing for a product (product.c): rows of A and columns of B become panels that a tile reads
 * from one end to the other. */
#ifndef WG_BACKENDS_SIMD_KERNELS_PRODUCT_PACK_H
#define WG_BACKENDS_SIMD_KERNELS_PRODUCT_PACK_H

#include "backends/simd/kernels/product_tile.h"
#include "backends/simd/kernels/transpose.h"

/* Some rows or columns of an operand, `count` of them, and some of their terms.  Number (i, p) lies
 * at x[p ld + i], or at x[i ld + p] if they lie `across`. */
typedef struct strip {
    const real *x;
    int64_t ld;
    bool across;
    int64_t count, terms;
} strip;

/* Four rows of `count` numbers, which the next panel will need */
SIMD_INLINE void fetch_rows(const real *x, int64_t ld, int64_t count)
{
    for (int row = 0; row < 4; row++)
        for (int64_t p = 0; p < count; p += SIMD_LINE)
            __builtin_prefetch(x + row * ld + p);
}

/* A full panel; the last four rows overlap others where width is no multiple of four. */
SIMD_INLINE void pack_across(const strip *s, real *to, int width)
{
    enum { TOGETHER = 64 };
    int64_t whole = s->terms / SIMD_STEP * SIMD_STEP;
    for (int64_t first = 0; first < whole; first += TOGETHER)
        for (int i = 0; i < width; i += 4) {
            int row = i + 4 <= width ? i : width - 4;
            const real *x = s->x + row * s->ld;
            int64_t end = simd_smaller(first + TOGETHER, whole);
            if (s->count > width)
                fetch_rows(x + width * s->ld + first, s->ld, end - first);
            for (int64_t p = first; p < end; p += SIMD_STEP)
                simd_transpose(x + p, s->ld, to + p * width + row, width);
        }
    for (int64_t p = whole; p < s->terms; p++)
        for (int i = 0; i < width; i++)
            to[p * width + i] = s->x[i * s->ld + p];
}

/* `width` numbers; more may be read and written if there is `room` for a vector of either. */
SIMD_INLINE void copy(const real *x, real *to, int width, bool room)
{
    enum { PART = 16 / sizeof(real) };
    int i = 0;
    if (width < LANES && room) {
        *(vector *)to = *(const vector *)x;
        return;
    }
    for (; i + LANES <= width; i += LANES)
        *(vector *)(to + i) = *(const vector *)(x + i);
    for (; i + PART <= width; i += PART)
        *(sixteen *)(to + i) = *(const sixteen *)(x + i);
    for (; i < width; i++)
        to[i] = x[i];
}

/* `panels` full panels together, so that memory is read in its order.  What follows a row, of x and
 * of a panel, is the next row, which is written later. */
SIMD_INLINE void pack_along(const strip *s, real *to, int width, int panels)
{
    const real *x = s->x;
    for (int64_t p = 0; p < s->terms; p++, x += s->ld, to += width) {
        bool room = p + 1 < s->terms && s->ld >= LANES;
        for (int i = 0; i < panels * width; i += SIMD_LINE)
            __builtin_prefetch(x + 8 * s->ld + i);
        SIMD_UNROLLED
        for (int i = 0; i < panels; i++)
            copy(x + i * width, to + i * width * s->terms, width, room);
    }
}

/* Of a panel at the edge: what lies beyond it is computed with, but not written to C, so it may be
 * any of the operand's numbers.  Whole vectors are copied as long as they stay within the strip,
 * whose rows follow one another; the last rows are filled up with zeros. */
SIMD_INLINE void pack_part_along(const strip *s, real *to, int width)
{
    int64_t end = (s->terms - 1) * s->ld + s->count; /* of the strip */
    int64_t vectors = simd_divide_up(s->count, LANES), reach = vectors * LANES;
    int64_t whole = reach > end || reach > width ? 0 : (end - reach) / s->ld + 1;
    for (int64_t p = 0; p < whole; p++)
        for (int64_t i = 0; i < reach; i += LANES)
            *(vector *)(to + p * width + i) = *(const vector *)(s->x + p * s->ld + i);
    for (int64_t p = whole; p < s->terms; p++)
        for (int64_t i = 0; i < width; i++)
            to[p * width + i] = i < s->count ? s->x[p * s->ld + i] : 0;
}

/* The same where rows of the strip become columns of the panel: zeros fill it up. */
SIMD_INLINE void pack_part_across(const strip *s, real *to, int width)
{
    int64_t whole = s->terms / SIMD_STEP * SIMD_STEP, i = 0;
    memset(to, 0, (size_t)(s->terms * width) * sizeof *to);
    for (; i + 4 <= s->count; i += 4)
        for (int64_t p = 0; p < whole; p += SIMD_STEP)
            simd_transpose(s->x + i * s->ld + p, s->ld, to + p * width + i, width);
    for (int64_t row = 0; row < s->count; row++)
        for (int64_t p = row < i ? whole : 0; p < s->terms; p++)
            to[p * width + row] = s->x[row * s->ld + p];
}

/* One panel after the other, or TOGETHER of them at a time; the last may not be full. */
SIMD_INLINE void pack(const strip *s, real *to, int width)
{
    enum { TOGETHER = 8 };
    strip part = *s;
    for (int64_t i = 0, step; i < s->count; i += step) {
        part.x = s->x + i * (s->across ? s->ld : 1);
        part.count = s->count - i;
        step = !s->across && part.count >= TOGETHER * width ? TOGETHER * width : width;
        if (part.count < width && s->across)
            pack_part_across(&part, to + i * s->terms, width);
        else if (part.count < width)
            pack_part_along(&part, to + i * s->terms, width);
        else if (s->across)
            pack_across(&part, to + i * s->terms, width);
        else if (step > width)
            pack_along(&part, to + i * s->terms, width, TOGETHER);
        else
            pack_along(&part, to + i * s->terms, width, 1);
    }
}

static void pack_a(const simd_product *p, int64_t row, int64_t rows, int64_t term, int64_t terms,
                   real *to)
{
    strip s = {simd_product_a(p, row, term), p->lda, !p->ta, rows, terms};
    pack(&s, to, HEIGHT);
}

static void pack_b(const simd_product *p, int64_t column, int64_t columns, int64_t term,
                   int64_t terms, real *to)
{
    strip s = {simd_product_b(p, term, column), p->ldb, p->tb, columns, terms};
    pack(&s, to, WIDTH);
}

/* ---- tiles of packed operands ---------------------------------------------------------------- */

#define PACKED(name, height, vectors)                                                              \
    static void name(const tile *t)                                                                \
    {                                                                                              \
        run_tile(t, 1, HEIGHT, WIDTH, height, vectors);                                            \
    }
PACKED(packed_full, HEIGHT, VECTORS)
PACKED(packed_8, EIGHT, VECTORS)
PACKED(packed_4, 4, VECTORS)
PACKED(packed_2, 2, VECTORS)
PACKED(slim_packed_full, HEIGHT, 1) /* one vector wide */
PACKED(slim_packed_8, EIGHT, 1)
PACKED(slim_packed_4, 4, 1)
PACKED(slim_packed_2, 2, 1)

/* Both operands are packed, with zeros where a panel reaches beyond them: some rows too many do no
 * harm. */
static void packed_tile(const tile *t)
{
    bool slim = t->columns <= LANES;
    if (HEIGHT > 8 && t->rows > 8)
        (slim ? slim_packed_full : packed_full)(t);
    else if (t->rows > 4)
        (slim ? slim_packed_8 : packed_8)(t);
    else if (t->rows > 2)
        (slim ? slim_packed_4 : packed_4)(t);
    else
        (slim ? slim_packed_2 : packed_2)(t);
}

#endif
