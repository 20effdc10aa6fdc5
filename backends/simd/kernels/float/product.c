/* C = alpha op(A) op(B) + beta C, after Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication" (ACM TOMS 34, 2008), and BLIS, by Van Zee and van de Geijn (ACM TOMS 41, 2015).
 *
 * A tile of C, HEIGHT rows of VECTORS vectors, is held in registers while k passes: for each of its
 * terms a vector of a row of B is multiplied with single numbers of a column of A.  What a tile
 * reads is packed into panels, so that it lies in the order of reading whatever op is: of A [terms,
 * HEIGHT], of B [terms, WIDTH].
 *
 * k is divided into blocks of at most DEPTH terms, so that a block of a panel of B stays in the
 * nearest cache while it meets panels of A.  The smaller of A and B is shared: some blocks of some
 * of its panels make a slab, which stays in the second-level cache.  For each slab, in their order:
 *
 *     the threads pack the slab, a few panels of one block at a time;
 *     they share out pieces of C: some of the slab's panels, and some of the other operand's; for
 *     each block of k the thread that takes a piece packs what it needs of the other operand (of A
 *     all panels, of B a few at a time), and adds the block's products to C.
 *
 * A long product, of many terms for few numbers, is divided into segments of its sum, so that
 * threads need not pack for one another; a last phase adds these up.
 *
 * A thin product, of few rows, would use what it packs too few times.  There, threads share panels
 * of B, packed only if they do not lie well or once for many products (as wider ones may have it),
 * and read A where it lies.
 * Very few rows times rows of B (x w') are dot products along k, unless k is short or B packed.
 * And where k is a few terms, rows of C are sums of rows of B, without tiles.
 *
 * Each number of C is the sum of its blocks' sums, added to it in their order, and the blocks
 * depend on k alone, segments on m, n and k (dot products are summed by lanes of k): so bits depend
 * neither on the number of threads nor on how C is divided. */
#include "backends/simd/kernels/product_pack.h"
#include "backends/simd/kernels/product_terms.h"
#include "backends/simd/kernels/tasks.h"

enum {
    FEW = 4,   /* maximum rows for dot products, ... */
    FEWER = 2, /* ... of fewer than SHORT terms, where their sums of lanes count */
    SHORT = 128,
    /* minimum terms, since each ends with a sum of lanes */
    LEAST = 4 * LANES < 32 ? 4 * LANES : 32,
    DOTS = 8,          /* columns of dot products at a time */
    ROWS_OF_TERMS = 8, /* maximum rows of a product of few terms, unless there is one */
    THIN = 4 * HEIGHT, /* maximum rows of a thin product */
    VERY_NARROW = 128, /* NARROW where rows of A collide in the cache: whole pages apart */
    PAGE = 4096 / sizeof(real),
    GROUP = 8,             /* panels that are packed at a time */
    PIECES = 4,            /* for each thread, if there is enough: */
    MIN_ROWS = 4 * HEIGHT, /* of a piece, about */
    MAX_ROWS = SIMD_PRODUCT_ROWS / HEIGHT * HEIGHT,
    SLAB_ROWS = 512, /* maximum; of columns, SIMD_PRODUCT_COLUMNS */
};

/* ---- the division of work -------------------------------------------------------------------- */

/* One side of C, its rows or its columns, and how it lies in panels */
typedef struct side {
    int64_t count, panel;
} side;

/* k in `blocks` of `depth` terms (the last may have fewer).  A slab has slab_blocks blocks of
 * slab_size rows of A or columns of B, whichever is `shared`; `divided`, the other side of C, comes
 * in `pieces`, none of more than piece_size, each for `part` of a slab. */
typedef struct plan {
    const simd_product *p;
    int64_t blocks, depth;
    side shared, divided;
    int64_t slab_blocks, slab_size, pieces, piece_size, part, group, segments;
    bool thin, a_shared;
    bool a_stays, b_stays; /* read where they lie: A, and B's whole panels */
    real *slab, *room;     /* a thread's room: */
    int64_t room_size;
    simd_work work;
} plan;

static real *aligned(void *x)
{
    return (real *)(((uintptr_t)x + 63) / 64 * 64);
}

/* A piece begins here, and the last ends at the end: they differ by a panel at most, so that
 * threads which share them out evenly have as much to do as one another. */
static int64_t piece_begin(const plan *w, int64_t piece)
{
    side d = w->divided;
    return simd_smaller(simd_divide_up(d.count, d.panel) * piece / w->pieces * d.panel, d.count);
}

static void plan_slabs(plan *w)
{
    const simd_product *p = w->p;
    side rows = {p->m, HEIGHT}, columns = {p->n, WIDTH};
    w->shared = w->a_shared ? rows : columns;
    w->divided = w->a_shared ? columns : rows;
    int64_t most = w->a_shared ? SLAB_ROWS : SIMD_PRODUCT_COLUMNS;
    w->slab_size = simd_round_up(
        simd_divide_up(w->shared.count, simd_divide_up(w->shared.count, most)), w->shared.panel);
    int64_t numbers = SIMD_PRODUCT_SLAB * sizeof(float) / sizeof(real);
    w->slab_blocks = w->depth > 0 ? numbers / (w->slab_size * w->depth) : 1;
    w->slab_blocks = p->threads == 1 ? 1 : simd_larger(simd_smaller(w->slab_blocks, w->blocks), 1);
}

static void plan_pieces(plan *w)
{
    const simd_product *p = w->p;
    int64_t panels = simd_divide_up(w->divided.count, w->divided.panel);
    int64_t fewest = w->a_shared ? 1 : simd_divide_up(p->m, MAX_ROWS);
    int64_t most = w->a_shared ? panels : simd_divide_up(p->m, MIN_ROWS);
    w->pieces = simd_larger(simd_smaller(p->threads > 1 ? PIECES * p->threads : 1, most), fewest);
    if (w->pieces > p->threads)
        w->pieces = simd_round_up(w->pieces, p->threads);
    w->pieces = simd_smaller(w->pieces, panels);
    w->piece_size = simd_divide_up(panels, w->pieces) * w->divided.panel;
    int64_t parts = p->threads > 1 ? simd_divide_up(2 * p->threads, w->pieces) : 1;
    w->part = simd_round_up(simd_divide_up(w->slab_size, parts), w->shared.panel);
}

/* A thin product has pieces of rows and of columns. */
static void plan_thin(plan *w)
{
    const simd_product *p = w->p;
    w->b_stays = !p->tb && !p->packed;
    w->part = w->b_stays && p->m <= HEIGHT ? WIDE * LANES : WIDTH;
    int64_t across = simd_divide_up(p->n, w->part), enough = 2 * p->threads;
    bool divided = p->threads > 1 && across < enough;
    w->piece_size = divided ? simd_round_up(simd_divide_up(p->m * across, enough), HEIGHT) : p->m;
    w->room_size = w->depth * WIDTH;
}

static plan plan_of(const simd_product *p)
{
    plan w = {.p = p, .thin = p->m <= (p->tb ? THIN : THIN_ALONG), .a_shared = p->m < p->n};
    w.a_stays = w.thin || (!w.a_shared && !p->ta && p->n <= (p->lda % PAGE ? NARROW : VERY_NARROW));
    w.blocks = p->k > 0 ? simd_divide_up(p->k, DEPTH) : 1;
    w.depth = simd_divide_up(p->k, w.blocks);
    w.slab = w.room = aligned(p->scratch);
    if (w.thin) {
        plan_thin(&w);
    } else {
        plan_slabs(&w);
        plan_pieces(&w);
        w.room += simd_round_up(w.slab_size * simd_smaller(p->k, w.slab_blocks * w.depth), 16);
        w.group = p->tb ? 1 : GROUP;
        int64_t packed =
            w.a_shared ? simd_smaller(w.group * WIDTH, simd_round_up(p->n, WIDTH)) : w.piece_size;
        w.room_size = w.a_stays ? 0 : packed * w.depth;
    }
    w.room_size = simd_round_up(w.room_size, 16);
    return w;
}

/* Pieces of a segment, two tasks for each thread; but one where those would be too small, for each
 * piece packs all of the other side. */
static int64_t pieces_of_segment(const plan *w)
{
    int64_t threads = w->p->threads, most = simd_divide_up(w->divided.count, MIN_ROWS);
    int64_t two = simd_divide_up(2 * threads, w->segments);
    if (threads == 1)
        return 1;
    return two <= most ? two : simd_smaller(simd_divide_up(threads, w->segments), most);
}

/* Segments lie where otherwise a slab does.  The longer side of C is divided. */
static plan plan_long(const simd_product *p)
{
    plan w = {.p = p, .segments = simd_product_segments(p->m, p->n, p->k)};
    w.divided = p->m < p->n ? (side){p->n, WIDTH} : (side){p->m, HEIGHT};
    w.pieces = pieces_of_segment(&w);
    w.slab = aligned(p->scratch);
    w.room = w.slab + simd_round_up(w.segments * p->m * p->n, 16);
    w.room_size = simd_round_up(simd_product_alone(p->m, p->n, p->k), 16);
    return w;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Of block `block`: where it begins, how many terms it has */
static int64_t terms_of(const plan *w, int64_t block)
{
    return simd_smaller(w->depth, w->p->k - block * w->depth);
}

/* The tile at (row, column), but for a and b. */
static tile tile_at(const plan *w, int64_t block, int64_t row, int64_t rows, int64_t column)
{
    const simd_product *p = w->p;
    bool last = block == w->blocks - 1;
    return (tile){.terms = terms_of(w, block),
                  .a_row = p->ta ? 1 : p->lda,
                  .a_step = p->ta ? p->lda : 1,
                  .b_step = WIDTH,
                  .c = simd_product_c(p, row, column),
                  .ldc = p->ldc,
                  .rows = rows,
                  .columns = simd_smaller(WIDTH, p->n - column),
                  .alpha = (real)p->alpha,
                  .beta = block == 0 ? (real)p->beta : 1,
                  .bias = p->bias && last ? (const real *)p->bias + column : NULL,
                  .relu = p->relu && last};
}

/* Rows of A or columns of B, and blocks */
typedef struct slab {
    int64_t first, count, block, blocks;
} slab;

/* Where a panel of the slab is packed */
static real *panel_at(const plan *w, const slab *s, int64_t block, int64_t first)
{
    int64_t count = simd_round_up(s->count, w->shared.panel);
    return w->slab + (block - s->block) * w->depth * count +
           (first - s->first) * terms_of(w, block);
}

/* The same, or where it was packed for many products */
static const real *b_panel_at(const plan *w, const slab *s, int64_t block, int64_t column)
{
    const simd_product *p = w->p;
    return p->packed ? (const real *)p->packed + column * p->k + block * w->depth * WIDTH
                     : panel_at(w, s, block, column);
}

static void pack_slab(plan *w, simd_turn *my, const slab *s)
{
    int64_t group = GROUP * w->shared.panel, groups = simd_divide_up(s->count, group);
    simd_begin_phase(my, groups * s->blocks);
    for (int64_t i; simd_next_task(&w->work, my, &i); simd_end_task(&w->work, my)) {
        int64_t block = s->block + i / groups, at = i % groups * group, first = s->first + at;
        (w->a_shared ? pack_a : pack_b)(w->p, first, simd_smaller(group, s->count - at),
                                        block * w->depth, terms_of(w, block),
                                        panel_at(w, s, block, first));
    }
}

/* Rows from `row` on of one panel of columns, in one block */
static void run_panel(const plan *w, int64_t block, int64_t row, int64_t rows, int64_t column,
                      const real *a, const real *b)
{
    tile t = tile_at(w, block, row, rows, column);
    t.a = a;
    t.b = b;
    if (w->a_stays) {
        loose_tiles(t);
        return;
    }
    for (int64_t i = 0; i < rows; i += HEIGHT) {
        t.rows = simd_smaller(HEIGHT, rows - i);
        packed_tile(&t);
        t.a += HEIGHT * t.terms;
        t.c += HEIGHT * t.ldc;
    }
}

/* One block of a piece, rows from `row` on, and columns `first` to `end` of the slab */
static void run_rows(const plan *w, const slab *s, int64_t block, int64_t row, int64_t rows,
                     int64_t first, int64_t end, real *room)
{
    int64_t term = block * w->depth;
    if (!w->a_stays)
        pack_a(w->p, row, rows, term, terms_of(w, block), room);
    const real *a = w->a_stays ? simd_product_a(w->p, row, term) : room;
    for (int64_t column = first; column < end; column += WIDTH)
        run_panel(w, block, row, rows, column, a, b_panel_at(w, s, block, column));
}

/* The same for columns `first` to `end`, and some rows of the slab.  Where B lies along its rows,
 * some panels are packed together: a row of a single one would be a short part of a page. */
static void run_columns(const plan *w, const slab *s, int64_t block, int64_t row, int64_t rows,
                        int64_t first, int64_t end, real *room)
{
    int64_t terms = terms_of(w, block), group = w->group * WIDTH;
    for (int64_t at = first; at < end; at += group) {
        int64_t columns = simd_smaller(group, end - at);
        const real *b = w->p->packed ? b_panel_at(w, s, block, at) : room;
        if (!w->p->packed)
            pack_b(w->p, at, columns, block * w->depth, terms, room);
        for (int64_t j = 0; j < columns; j += WIDTH)
            run_panel(w, block, row, rows, at + j, panel_at(w, s, block, row), b + j * terms);
    }
}

static void run_piece(const plan *w, const slab *s, int64_t piece, int64_t part, real *room)
{
    int64_t begin = piece_begin(w, piece), end = piece_begin(w, piece + 1);
    int64_t first = s->first + part * w->part,
            last = simd_smaller(first + w->part, s->first + s->count);
    for (int64_t block = s->block; block < s->block + s->blocks; block++)
        if (w->a_shared)
            run_columns(w, s, block, first, last - first, begin, end, room);
        else
            run_rows(w, s, block, begin, end - begin, first, last, room);
}

static void run_pieces(plan *w, simd_turn *my, const slab *s, real *room)
{
    int64_t parts = simd_divide_up(s->count, w->part);
    simd_begin_phase(my, w->pieces * parts);
    for (int64_t i; simd_next_task(&w->work, my, &i); simd_end_task(&w->work, my))
        run_piece(w, s, i / parts, i % parts, room);
}

/* Every thread comes through here. */
static void run_slabs(plan *w)
{
    real *room = w->room + simd_take(&w->work.members) * w->room_size;
    simd_turn my = {.ticket = simd_take(&w->work.taken)};
    for (int64_t first = 0; first < w->shared.count; first += w->slab_size)
        for (int64_t block = 0; block < w->blocks; block += w->slab_blocks) {
            slab s = {first, simd_smaller(w->slab_size, w->shared.count - first), block,
                      simd_smaller(w->slab_blocks, w->blocks - block)};
            if (w->a_shared || !w->p->packed)
                pack_slab(w, &my, &s);
            run_pieces(w, &my, &s, room);
        }
}

/* ---- thin products --------------------------------------------------------------------------- */

/* All rows of a panel of WIDE vectors; the last three at most one at a time, all vectors together,
 * so that there are enough sums that do not wait for one another */
static void wide_tiles(tile t)
{
    int64_t rows = t.rows, whole = rows / 4 * 4;
    tile part = t;
    part.rows = whole;
    part.columns = WIDTH;
    for (int64_t column = 0; column < WIDE * LANES; column += WIDTH) {
        part.b = t.b + column;
        part.c = t.c + column;
        part.bias = t.bias ? t.bias + column : NULL;
        loose_tiles(part);
    }
    t.rows = 1;
    for (int64_t i = whole; i < rows; i++) {
        tile one = t;
        one.a += i * t.a_row;
        one.c += i * t.ldc;
        run_tile(&one, 0, one.a_step, one.b_step, 1, WIDE);
    }
}

/* Panel by panel, all blocks of k of each */
void SIMD(pack_product)(const simd_product *p)
{
    plan w = plan_of(p);
    for (int64_t column = 0; column < p->n; column += WIDTH)
        for (int64_t block = 0; block < w.blocks; block++)
            pack_b(p, column, simd_smaller(WIDTH, p->n - column), block * w.depth,
                   terms_of(&w, block),
                   (real *)p->packed + column * p->k + block * w.depth * WIDTH);
}

/* `rows` rows from `row` on of one panel of columns */
static void run_thin_panel(const plan *w, int64_t block, int64_t row, int64_t rows, int64_t column,
                           int64_t columns, real *room)
{
    const simd_product *p = w->p;
    int64_t term = block * w->depth;
    tile t = tile_at(w, block, row, rows, column);
    t.columns = simd_smaller(columns, p->n - column);
    t.a = simd_product_a(p, row, term);
    t.b = room;
    if (p->packed) {
        t.b = (const real *)p->packed + column * p->k + term * WIDTH;
    } else if (w->b_stays && t.columns % LANES == 0 &&
               (t.columns == columns || t.columns == LANES)) {
        t.b = simd_product_b(p, term, column);
        t.b_step = p->ldb;
    } else {
        pack_b(p, column, t.columns, term, t.terms, room);
    }
    /* NOLINTNEXTLINE(misc-redundant-expression): numbers that depend on the instruction set */
    if (columns == WIDE * LANES && columns > WIDTH)
        wide_tiles(t);
    else
        loose_tiles(t);
}

static void run_thin(plan *w)
{
    const simd_product *p = w->p;
    real *room = w->room + simd_take(&w->work.members) * w->room_size;
    int64_t across = simd_divide_up(p->n, w->part), down = simd_divide_up(p->m, w->piece_size);
    for (int64_t piece; (piece = simd_take(&w->work.taken)) < across * down;) {
        int64_t row = piece / across * w->piece_size,
                rows = simd_smaller(w->piece_size, p->m - row);
        int64_t first = piece % across * w->part, end = simd_smaller(first + w->part, p->n);
        int64_t width = end - first < w->part ? WIDTH : w->part;
        for (int64_t block = 0; block < w->blocks; block++)
            for (int64_t column = first; column < end; column += width)
                run_thin_panel(w, block, row, rows, column, width, room);
    }
}

/* ---- long sums ------------------------------------------------------------------------------- */

static void run_alone(const simd_product *p, real *room)
{
    simd_product alone = *p;
    alone.threads = 1;
    alone.scratch = room;
    plan w = plan_of(&alone);
    (w.thin ? run_thin : run_slabs)(&w);
}

/* The rows or columns of one piece, one segment of their sum */
static void run_segment(const plan *w, int64_t segment, int64_t piece, real *room)
{
    const simd_product *p = w->p;
    int64_t first = p->k * segment / w->segments, begin = piece_begin(w, piece),
            count = piece_begin(w, piece + 1) - begin;
    bool across = p->m < p->n;
    int64_t row = across ? 0 : begin, column = across ? begin : 0;
    simd_product part = *p;
    *(across ? &part.n : &part.m) = count;
    part.k = p->k * (segment + 1) / w->segments - first;
    part.a = simd_product_a(p, row, first);
    part.b = simd_product_b(p, first, column);
    part.alpha = 1;
    part.beta = 0;
    part.c = w->slab + (segment * p->m + row) * p->n + column;
    part.ldc = p->n;
    run_alone(&part, room);
}

/* A row of C, from its segments */
static void add_segments(const plan *w, int64_t row)
{
    const simd_product *p = w->p;
    const real alpha = (real)p->alpha, beta = (real)p->beta;
    real *c = simd_product_c(p, row, 0), *sum = w->slab + row * p->n;
    for (int64_t i = 1; i < w->segments; i++)
        for (int64_t j = 0; j < p->n; j++)
            sum[j] += sum[i * p->m * p->n + j];
    for (int64_t j = 0; j < p->n; j++)
        c[j] = alpha * sum[j] + (beta != 0 ? beta * c[j] : 0);
}

static void run_long(plan *w)
{
    enum { ROWS = 16 };
    int64_t m = w->p->m;
    real *room = w->room + simd_take(&w->work.members) * w->room_size;
    simd_turn my = {.ticket = simd_take(&w->work.taken)};
    simd_begin_phase(&my, w->segments * w->pieces);
    for (int64_t i; simd_next_task(&w->work, &my, &i); simd_end_task(&w->work, &my))
        run_segment(w, i / w->pieces, i % w->pieces, room);
    simd_begin_phase(&my, simd_divide_up(m, ROWS));
    for (int64_t i; simd_next_task(&w->work, &my, &i); simd_end_task(&w->work, &my))
        for (int64_t row = i * ROWS; row < m && row < (i + 1) * ROWS; row++)
            add_segments(w, row);
}

/* ---- a few rows times rows ------------------------------------------------------------------- */

SIMD_INLINE real sum_of_lanes(const vector *x)
{
    enum { PART = 16 / sizeof(real) };
    sixteen sum = {0};
    SIMD_UNROLLED
    for (int lane = 0; lane < LANES; lane += PART)
        sum += *(const sixteen *)((const real *)x + lane);
    real y = sum[0] + sum[PART / 2];
    for (int i = 1; i < PART / 2; i++)
        y += sum[i] + sum[PART / 2 + i];
    return y;
}

/* Where both A and B lie along k, some numbers of a row of C: c[j] = alpha a . b[j] + beta c[j],
 * and so on */
SIMD_INLINE void run_dots(const simd_product *p, int64_t row, int64_t column, int columns)
{
    const real *a = simd_product_a(p, row, 0), *b = simd_product_b(p, 0, column), *bias = p->bias;
    const real alpha = (real)p->alpha, beta = (real)p->beta;
    real *c = simd_product_c(p, row, column);
    vector sum[DOTS] = {{0}};
    int64_t q = 0;
    for (; q + LANES <= p->k; q += LANES) {
        vector x = *(const vector *)(a + q);
        SIMD_UNROLLED
        for (int j = 0; j < columns; j++)
            sum[j] += x * *(const vector *)(b + j * p->ldb + q);
    }
    for (int j = 0; j < columns; j++) {
        real y = sum_of_lanes(&sum[j]);
        for (int64_t rest = q; rest < p->k; rest++)
            y += a[rest] * b[j * p->ldb + rest];
        y *= alpha;
        y = beta != 0 ? y + beta * c[j] : y;
        y = bias ? y + bias[column + j] : y;
        c[j] = p->relu && y <= 0 ? 0 : y;
    }
}

static void run_dot_columns(const simd_product *p, int64_t first, int64_t end)
{
    int64_t column = first;
    for (; column + DOTS <= end; column += DOTS)
        for (int64_t row = 0; row < p->m; row++)
            run_dots(p, row, column, DOTS);
    for (; column < end; column++)
        for (int64_t row = 0; row < p->m; row++)
            run_dots(p, row, column, 1);
}

static void run_few(plan *w)
{
    enum { COLUMNS = 8 * DOTS };
    for (int64_t first; (first = simd_take(&w->work.taken) * COLUMNS) < w->p->n;)
        run_dot_columns(w->p, first, simd_smaller(first + COLUMNS, w->p->n));
}

/* ---- a few terms ----------------------------------------------------------------------------- */

/* Threads share pieces of rows and of columns. */
static void run_terms(plan *w)
{
    enum { COLUMNS = 1 << 10, NUMBERS = 1 << 13 };
    const simd_product *p = w->p;
    int64_t rows = simd_larger(NUMBERS / simd_smaller(p->n, COLUMNS), 1),
            across = simd_divide_up(p->n, COLUMNS), pieces = across * simd_divide_up(p->m, rows);
    for (int64_t piece; (piece = simd_take(&w->work.taken)) < pieces;) {
        int64_t row = piece / across * rows, end = simd_smaller(row + rows, p->m),
                column = piece % across * COLUMNS, n = simd_smaller(COLUMNS, p->n - column);
        for (; row < end; row++)
            run_row_of_terms(p, row, column, n);
    }
}

static bool has_few_terms(const simd_product *p)
{
    return p->k > 0 && p->k <= TERMS && !p->tb && p->n >= LANES &&
           (p->k == 1 || p->m <= ROWS_OF_TERMS);
}

/* ---------------------------------------------------------------------------------------------- */

/* Numbers one after the other are a row as well as a column: both operands lie along k if that is
 * long, and along the other axis if k is 1. */
static simd_product without_transposes(simd_product p)
{
    if (p.ta && p.lda == 1 && p.m == 1) {
        p.ta = false;
        p.lda = p.k;
    }
    if (p.ta && p.k == 1) {
        p.ta = false;
        p.lda = 1;
    }
    if (p.tb && p.ldb == 1 && p.k == 1) {
        p.tb = false;
        p.ldb = p.n;
    } else if (!p.tb && p.ldb == 1 && p.n == 1 && p.k >= LEAST) {
        p.tb = true;
        p.ldb = p.k;
    }
    return p;
}

void SIMD(product)(const simd_product *given)
{
    if (given->m <= 0 || given->n <= 0)
        return;
    const simd_product one = without_transposes(*given), *p = &one;
    bool few =
        p->m <= (p->k < SHORT ? FEWER : FEW) && p->tb && !p->ta && p->k >= LEAST && !p->in_order;
    bool is_long = simd_product_segments(p->m, p->n, p->k) > 1 && !p->bias && !p->relu;
    plan w = is_long ? plan_long(p) : plan_of(p);
    void (*run)(plan *) = has_few_terms(p) ? run_terms
                          : few            ? run_few
                          : is_long        ? run_long
                          : w.thin         ? run_thin
                                           : run_slabs;
    if (p->threads > 1) {
#pragma omp parallel num_threads(p->threads)
        run(&w);
    } else {
        run(&w);
    }
}
