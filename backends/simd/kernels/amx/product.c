/* C = alpha op(A) op(B) + beta C in f32 on AMX, whose tiles multiply numbers of bf16 and add the
 * products in f32, sixteen times as many in a cycle as AVX-512 in f32.
 *
 * A number is the sum of three of bf16 (parts.h).  Of the nine products of the parts of two numbers
 * the six are made that count,
 *
 *     x y ~ x0 y0 + x0 y1 + x1 y0 + x1 y1 + x0 y2 + x2 y0;
 *
 * the others come to 2^-24 |x y| at most, as much as one rounding of f32 (Henry, Tang and Heinecke,
 * "Leveraging the bfloat16 artificial intelligence datatype for higher-precision computations",
 * ARITH 2019).  A tile is added up by itself before it meets the sum of the former ones, so that
 * the error of a sum is smaller than that of one fused multiply-add after the other.
 *
 * The parts of infinity and NaN are none, nor are those of a number that rounds to infinity; parts
 * of tiny numbers, and products of small ones, are flushed to zero; and a sum of parts' products
 * may overflow where that of the numbers does not.  Two panels whose numbers could lead to any of
 * this are multiplied by kernels/float/product.c.
 *
 * C is made in squares of SIDE by SIDE.  k is divided into blocks of equally many terms, at most
 * DEPTH.  The smaller of A and B is shared, the other divided.  For each slab of the shared one,
 * some panels, and for each block of terms:
 *
 *     the threads pack the slab;
 *     they share out the panels of the divided operand; whoever takes some packs them and adds
 *     their products with the slab's panels to C.
 *
 * The blocks depend on k alone, so bits depend neither on the number of threads nor on how C is
 * divided. */
#include "backends/simd/kernels/amx/parts.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/tasks.h"

enum {
    DEPTH = SIMD_AMX_DEPTH,
    SLAB = SIMD_AMX_SLAB,  /* maximum rows or columns */
    GROUP = SIMD_AMX_GROUP /* panels that are packed at a time */
};

/* ---- the division of work -------------------------------------------------------------------- */

/* One side of C: its rows or its columns */
typedef struct side {
    bool rows;
    int64_t count, group; /* group: panels that are packed at a time */
} side;

/* Of one thread */
typedef struct room {
    bf16 panels[GROUP * SIDE * DEPTH * PARTS];
    _Alignas(64) float sum[SIDE * SIDE];
    float scratch[SIMD_AMX_PLAIN]; /* of the product of a panel whose numbers have no parts */
} room;

typedef struct plan {
    const simd_product *p;
    side shared, divided;
    int64_t blocks, depth;   /* of k: the last may have fewer terms */
    int64_t slab_size, part; /* of the slab, what one task multiplies with */
    int64_t group;           /* panels of a task */
    bf16 *slab;
    range *ranges; /* of each panel of the slab */
    room *rooms;   /* one for each thread */
    simd_work work;
} plan;

static plan plan_of(const simd_product *p)
{
    bool a_shared = p->m < p->n;
    side rows = {true, p->m, p->ta ? GROUP : 1}, columns = {false, p->n, p->tb ? 1 : GROUP};
    plan w = {.p = p, .shared = a_shared ? rows : columns, .divided = a_shared ? columns : rows};
    w.blocks = simd_divide_up(p->k, DEPTH);
    w.depth = simd_round_up(simd_divide_up(p->k, w.blocks), BLOCK_TERMS);
    int64_t slabs = simd_divide_up(w.shared.count, SLAB);
    w.slab_size = simd_round_up(simd_divide_up(w.shared.count, slabs), SIDE);
    int64_t panels = simd_divide_up(w.divided.count, SIDE), enough = 4 * p->threads;
    w.group = p->threads == 1 ? w.divided.group
                              : simd_larger(simd_smaller(w.divided.group, panels / enough), 1);
    int64_t parts = p->threads == 1 ? 1 : simd_divide_up(enough, simd_divide_up(panels, w.group));
    w.part = simd_round_up(simd_divide_up(w.slab_size, parts), SIDE);
    w.slab = (bf16 *)(((uintptr_t)p->scratch + 63) / 64 * 64);
    w.ranges = (range *)(w.slab + w.slab_size * w.depth * PARTS);
    w.rooms = (room *)(w.ranges + simd_round_up(SLAB / SIDE, 8));
    return w;
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* Whether nothing is lost and nothing overflows where numbers of two panels meet.  The exponents of
 * their products are between -LEAST, 26 above the least one of all, and MOST, from which thousands
 * of terms do not reach infinity. */
static bool have_parts(range a, range b)
{
    enum { BIAS = 127, LEAST = -100, MOST = 100, DIGITS = 23 };
    if (a.largest == 0 || b.largest == 0)
        return a.largest < INFINITE && b.largest < INFINITE;
    int32_t least = (int32_t)(a.least >> DIGITS) + (int32_t)(b.least >> DIGITS) - 2 * BIAS,
            most = (int32_t)(a.largest >> DIGITS) + (int32_t)(b.largest >> DIGITS) - 2 * BIAS;
    bool each = a.least >= TINY && b.least >= TINY && a.largest < INFINITE && b.largest < INFINITE;
    return each && least >= LEAST && most <= MOST;
}

/* From a panel to the next, in numbers of bf16 */
static int64_t panel_size(const plan *w)
{
    return w->depth / BLOCK_TERMS * BLOCK;
}

/* Some panels of a side, at most GROUP, in one block of terms; and the range of each */
static void pack(const plan *w, side d, int64_t first, int64_t count, int64_t block, bf16 *to,
                 range *ranges)
{
    const simd_product *p = w->p;
    int64_t term = block * w->depth, next = panel_size(w);
    const strip s = {d.rows ? simd_product_a(p, first, term) : simd_product_b(p, term, first),
                     d.rows ? p->lda : p->ldb, count, simd_smaller(w->depth, p->k - term)};
    extent seen[GROUP];
    for (int64_t i = 0; i < GROUP; i++)
        seen[i] = nothing_seen();
    if (d.rows && p->ta)
        pack_turned_rows(&s, to, next, seen);
    else if (d.rows)
        pack_rows(&s, to, seen);
    else if (p->tb)
        pack_turned_columns(&s, to, seen);
    else
        pack_columns(&s, to, next, seen);
    for (int64_t i = 0; i < simd_divide_up(count, SIDE); i++)
        ranges[i] = range_of(&seen[i]);
}

/* ---- squares --------------------------------------------------------------------------------- */

/* Tiles 0 to 3 hold a square's sums; 4 and 5 one part of A, 6 and 7 one of B.  A tile is loaded as
 * soon as what was in its place has been used for the last time. */
#define LOAD(tile, panel, part, half) _tile_loadd(tile, (panel) + (part)*PART + (half)*TILE, 64)
#define MULTIPLY_THEN_LOAD_A(a, part)                                                              \
    do {                                                                                           \
        _tile_dpbf16ps(0, 4, 6);                                                                   \
        _tile_dpbf16ps(1, 4, 7);                                                                   \
        LOAD(4, a, part, 0);                                                                       \
        _tile_dpbf16ps(2, 5, 6);                                                                   \
        _tile_dpbf16ps(3, 5, 7);                                                                   \
        LOAD(5, a, part, 1);                                                                       \
    } while (0)
#define MULTIPLY_THEN_LOAD_B(b, part)                                                              \
    do {                                                                                           \
        _tile_dpbf16ps(0, 4, 6);                                                                   \
        _tile_dpbf16ps(2, 5, 6);                                                                   \
        LOAD(6, b, part, 0);                                                                       \
        _tile_dpbf16ps(1, 4, 7);                                                                   \
        _tile_dpbf16ps(3, 5, 7);                                                                   \
        LOAD(7, b, part, 1);                                                                       \
    } while (0)

/* sum [SIDE, SIDE] of a panel of A times one of B, of so many BLOCK_TERMS. */
static void multiply(const bf16 *a, const bf16 *b, int64_t blocks, float *sum)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (; blocks > 0; blocks--, a += BLOCK, b += BLOCK) {
        LOAD(4, a, 0, 0);
        LOAD(6, b, 0, 0);
        LOAD(5, a, 0, 1);
        LOAD(7, b, 0, 1);
        MULTIPLY_THEN_LOAD_B(b, 2); /* x0 y0 */
        MULTIPLY_THEN_LOAD_B(b, 1); /* x0 y2 */
        MULTIPLY_THEN_LOAD_A(a, 1); /* x0 y1 */
        MULTIPLY_THEN_LOAD_B(b, 0); /* x1 y1 */
        MULTIPLY_THEN_LOAD_A(a, 2); /* x1 y0 */
        _tile_dpbf16ps(0, 4, 6);    /* x2 y0 */
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sum, SIDE * sizeof *sum);
    _tile_stored(1, sum + 16, SIDE * sizeof *sum);
    _tile_stored(2, sum + 16 * SIDE, SIDE * sizeof *sum);
    _tile_stored(3, sum + 16 * SIDE + 16, SIDE * sizeof *sum);
}

/* Where a square of C is, and which block of terms is added to it */
typedef struct square {
    int64_t row, rows, column, columns, block;
} square;

static square square_at(const simd_product *p, int64_t row, int64_t column, int64_t block)
{
    return (square){row, simd_smaller(SIDE, p->m - row), column, simd_smaller(SIDE, p->n - column),
                    block};
}

static void multiply_without_parts(const plan *w, square at, room *r)
{
    const simd_product *p = w->p;
    int64_t term = at.block * w->depth;
    simd_product part = *p;
    part.m = at.rows;
    part.n = at.columns;
    part.k = simd_smaller(w->depth, p->k - term);
    part.a = simd_product_a(p, at.row, term);
    part.b = simd_product_b(p, term, at.column);
    part.alpha = 1;
    part.beta = 0;
    part.c = r->sum;
    part.ldc = SIDE;
    part.bias = NULL;
    part.relu = false;
    part.threads = 1;
    part.scratch = r->scratch;
    part.packed = NULL;
    SIMD_OTHER(product)(&part);
}

static void fetch(const simd_product *p, square at)
{
    for (int64_t i = 0; i < at.rows; i++) {
        const float *c = simd_product_c(p, at.row + i, at.column);
        __builtin_prefetch(c, 1);
        __builtin_prefetch(c + at.columns / 2, 1);
        __builtin_prefetch(c + at.columns - 1, 1);
    }
}

/* c = alpha sum + beta c, after the last block also + bias and relu */
static void write(const plan *w, square at, const float *sum)
{
    const simd_product *p = w->p;
    const float alpha = (float)p->alpha, beta = at.block == 0 ? (float)p->beta : 1;
    bool last = at.block == w->blocks - 1;
    const float *bias = last && p->bias ? (const float *)p->bias + at.column : NULL;
    for (int64_t i = 0; i < at.rows; i++)
        for (int64_t j = 0; j < at.columns; j += LANES) {
            float *c = simd_product_c(p, at.row + i, at.column + j);
            int64_t count = at.columns - j;
            vector y = alpha * *(const vector *)(sum + i * SIDE + j);
            if (beta != 0)
                y += beta * load(c, count);
            if (bias)
                y += load(bias + j, count);
            if (last && p->relu)
                y = (vector)((words)y & ~(words)(y <= 0)); /* NaN stays */
            _mm512_mask_storeu_ps(c, lanes_below(count), (__m512)y);
        }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Some panels of the shared side, and the block of terms in which they are packed */
typedef struct slab {
    int64_t first, count, block;
} slab;

static void pack_slab(plan *w, simd_turn *my, slab s)
{
    int64_t step = w->shared.group * SIDE;
    simd_begin_phase(my, simd_divide_up(s.count, step));
    for (int64_t i; simd_next_task(&w->work, my, &i); simd_end_task(&w->work, my)) {
        int64_t at = i * step, panel = at / SIDE;
        pack(w, w->shared, s.first + at, simd_smaller(step, s.count - at), s.block,
             w->slab + panel * panel_size(w), w->ranges + panel);
    }
}

/* One panel of the divided side, number `first`, with the slab's panels from `begin` to `end` */
static void run_panel(const plan *w, slab s, int64_t first, int64_t begin, int64_t end,
                      const bf16 *packed, range own, room *r)
{
    int64_t blocks =
        simd_divide_up(simd_smaller(w->depth, w->p->k - s.block * w->depth), BLOCK_TERMS);
    for (int64_t at = begin; at < end; at += SIDE) {
        const bf16 *shared = w->slab + at / SIDE * panel_size(w);
        bool a_shared = w->shared.rows;
        square c = square_at(w->p, a_shared ? s.first + at : first, a_shared ? first : s.first + at,
                             s.block);
        fetch(w->p, c);
        if (have_parts(own, w->ranges[at / SIDE]))
            multiply(a_shared ? shared : packed, a_shared ? packed : shared, blocks, r->sum);
        else
            multiply_without_parts(w, c, r);
        write(w, c, r->sum);
    }
}

static void run_pieces(plan *w, simd_turn *my, slab s, room *r)
{
    int64_t step = w->group * SIDE, pieces = simd_divide_up(w->divided.count, step),
            parts = simd_divide_up(s.count, w->part);
    simd_begin_phase(my, pieces * parts);
    for (int64_t i; simd_next_task(&w->work, my, &i); simd_end_task(&w->work, my)) {
        range ranges[GROUP];
        int64_t first = i / parts * step, count = simd_smaller(step, w->divided.count - first),
                begin = i % parts * w->part, end = simd_smaller(begin + w->part, s.count);
        pack(w, w->divided, first, count, s.block, r->panels, ranges);
        for (int64_t at = 0; at < count; at += SIDE)
            run_panel(w, s, first + at, begin, end, r->panels + at / SIDE * panel_size(w),
                      ranges[at / SIDE], r);
    }
}

/* Every thread comes through here. */
static void run(plan *w)
{
    static const struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } tiles = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
    room *r = w->rooms + simd_take(&w->work.members);
    simd_turn my = {.ticket = simd_take(&w->work.taken)};
    _tile_loadconfig(&tiles);
    for (int64_t first = 0; first < w->shared.count; first += w->slab_size)
        for (int64_t block = 0; block < w->blocks; block++) {
            slab s = {first, simd_smaller(w->slab_size, w->shared.count - first), block};
            pack_slab(w, &my, s);
            run_pieces(w, &my, s, r);
        }
    _tile_release();
}

void SIMD(amx_product)(const simd_product *p)
{
    if (p->k <= 0) {
        SIMD_OTHER(product)(p);
        return;
    }
    plan w = plan_of(p);
    if (p->threads > 1) {
#pragma omp parallel num_threads(p->threads)
        run(&w);
    } else {
        run(&w);
    }
}
