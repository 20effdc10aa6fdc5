/* C = alpha op(A) op(B) + beta C, after Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication" (ACM TOMS 34, 2008), and BLIS, by Van Zee and van de Geijn (ACM TOMS 41, 2015).
 *
 * A tile of C, HEIGHT rows of VECTORS vectors, is held in registers while k passes: for each of its
 * terms a vector of a row of B is multiplied with single numbers of a column of A.  What a tile
 * reads is packed into panels, so that it lies in the order of reading whatever op is: of A [terms,
 * HEIGHT], of B [terms, WIDTH].
 *
 * k is divided into blocks of at most DEPTH terms, so that a block of a panel of B stays in the
 * nearest cache while it meets all panels of A.  Several blocks of B, for many columns, make a
 * slab.  For each slab, in their order:
 *
 *     the threads pack the slab, one panel of one block at a time;
 *     they share out pieces of C, some of its rows and some of the slab's columns; for each block
 *     of k the thread that takes a piece packs its rows of A, which then stay in the second-level
 *     cache, and adds the block's products to C.
 *
 * A thin product, of few rows, would use what it packs too few times.  There, threads share panels
 * of B, packed only if they do not lie well, and read A where it lies.  Very few rows times rows of
 * B (x w') are dot products along k.
 *
 * Each number of C is the sum of its blocks' sums, added to it in their order, and the blocks
 * depend on k alone (dot products are summed by lanes of k): so bits depend neither on the number
 * of threads nor on how C is divided. */
#include "backends/simd/kernels/product_pack.h"

#include <sched.h>

enum {
    FEW = 4,
    DOTS = 8,              /* dot products: maximum rows, and columns at a time */
    THIN = 4 * HEIGHT,     /* maximum rows of a thin product */
    VERY_NARROW = 128,     /* NARROW where rows of A collide in the cache */
    GROUP = 8 * WIDTH,     /* columns that are packed at a time */
    PIECES = 6,            /* for each thread, if rows suffice: */
    MIN_ROWS = 4 * HEIGHT, /* of a piece */
};

/* ---- the division of work -------------------------------------------------------------------- */

/* k in `blocks` of `depth` terms (the last may have fewer), C in pieces of `rows` rows and
 * `columns` columns.  A slab has slab_blocks blocks of slab_columns columns. */
typedef struct plan {
    const simd_product *p;
    int64_t blocks, depth, rows, columns;
    int64_t slab_blocks, slab_columns;
    bool thin, a_stays, b_stays; /* read where they lie: A, and B's whole panels */
    float *slab, *room;          /* a thread's room: */
    int64_t room_size;
    int64_t members, taken, done; /* threads that came, tasks that were taken and done */
} plan;

static float *aligned(float *x)
{
    return (float *)(((uintptr_t)x + 63) / 64 * 64);
}

/* Of C's rows and a slab's columns; or of a thin product's. */
static void plan_pieces(plan *w)
{
    const simd_product *p = w->p;
    int64_t wanted = p->threads > 1 ? PIECES * p->threads : 1;
    w->rows = round_up(divide_up(p->m, wanted), HEIGHT);
    w->rows = w->rows < MIN_ROWS ? MIN_ROWS : w->rows;
    w->rows = smaller(w->rows, SIMD_PRODUCT_ROWS / HEIGHT * HEIGHT);
    int64_t across = p->threads > 1 ? divide_up(2 * p->threads, divide_up(p->m, w->rows)) : 1;
    w->columns = round_up(divide_up(w->slab_columns, across), WIDTH);
}

static void plan_thin_pieces(plan *w)
{
    const simd_product *p = w->p;
    w->b_stays = !p->tb;
    w->columns = w->b_stays && p->m <= HEIGHT ? WIDE * LANES : WIDTH;
    int64_t across = divide_up(p->n, w->columns), enough = 2 * p->threads;
    bool divided = p->threads > 1 && across < enough;
    w->rows = divided ? round_up(divide_up(p->m * across, enough), HEIGHT) : p->m;
}

static plan plan_of(const simd_product *p)
{
    plan w = {.p = p, .thin = p->m <= (p->tb ? THIN : THIN_ALONG)};
    w.a_stays = w.thin || (!p->ta && p->n <= (p->lda % 1024 ? NARROW : VERY_NARROW));
    w.blocks = p->k > 0 ? divide_up(p->k, DEPTH) : 1;
    w.depth = divide_up(p->k, w.blocks);
    w.slab_columns = round_up(divide_up(p->n, divide_up(p->n, SIMD_PRODUCT_COLUMNS)), WIDTH);
    w.slab_blocks = w.depth > 0 ? SIMD_PRODUCT_SLAB / (w.slab_columns * w.depth) : 1;
    w.slab_blocks = p->threads == 1 ? 1 : smaller(w.slab_blocks, w.blocks);
    if (w.thin)
        plan_thin_pieces(&w);
    else
        plan_pieces(&w);
    w.slab = aligned(p->scratch);
    w.room =
        w.thin ? w.slab : aligned(w.slab + w.slab_columns * smaller(p->k, w.slab_blocks * w.depth));
    w.room_size = w.thin ? w.depth * WIDTH : w.a_stays ? 0 : w.rows * w.depth;
    w.room_size = round_up(w.room_size, 16);
    return w;
}

/* Tasks are numbered through, those of one phase after those of the former, and every thread takes
 * the next that is left; it waits until all tasks of former phases are done, not for other threads:
 * whoever has not come yet, because the processor is busy with something else, keeps nobody
 * waiting. */
typedef struct turn {
    int64_t ticket;     /* this thread's next task */
    int64_t first, end; /* the phase's tasks */
} turn;

static int64_t take(int64_t *counter)
{
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void begin_phase(turn *my, int64_t tasks)
{
    my->first = my->end;
    my->end += tasks;
}

/* Whether there is a task of this phase for the caller; its number in the phase. */
static bool next_task(plan *w, turn *my, int64_t *task)
{
    if (my->ticket >= my->end)
        return false;
    for (int64_t spins = 0; __atomic_load_n(&w->done, __ATOMIC_ACQUIRE) < my->first; spins++)
        if (spins > 1000)
            sched_yield();
    *task = my->ticket - my->first;
    return true;
}

static void end_task(plan *w, turn *my)
{
    __atomic_fetch_add(&w->done, 1, __ATOMIC_RELEASE);
    my->ticket = take(&w->taken);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Of block `block`: where it begins, how many terms it has */
static int64_t terms_of(const plan *w, int64_t block)
{
    return smaller(w->depth, w->p->k - block * w->depth);
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
                  .c = p->c + row * p->ldc + column,
                  .ldc = p->ldc,
                  .rows = rows,
                  .columns = smaller(WIDTH, p->n - column),
                  .alpha = p->alpha,
                  .beta = block == 0 ? p->beta : 1,
                  .bias = p->bias && last ? p->bias + column : NULL,
                  .relu = p->relu && last};
}

/* Columns of a slab, and its blocks */
typedef struct slab {
    int64_t column, columns, block, blocks;
} slab;

/* Where a panel of the slab is packed */
static float *panel_at(const plan *w, const slab *s, int64_t block, int64_t column)
{
    int64_t columns = round_up(s->columns, WIDTH);
    return w->slab + (block - s->block) * w->depth * columns +
           (column - s->column) * terms_of(w, block);
}

static void pack_slab(plan *w, turn *my, const slab *s)
{
    int64_t groups = divide_up(s->columns, GROUP);
    begin_phase(my, groups * s->blocks);
    for (int64_t i; next_task(w, my, &i); end_task(w, my)) {
        int64_t block = s->block + i / groups, first = i % groups * GROUP,
                column = s->column + first;
        pack_b(w->p, column, smaller(GROUP, s->columns - first), block * w->depth,
               terms_of(w, block), panel_at(w, s, block, column));
    }
}

/* Rows from `row` on of one panel of columns, in one block */
static void run_panel(const plan *w, const slab *s, int64_t block, int64_t row, int64_t rows,
                      int64_t column, const float *a)
{
    tile t = tile_at(w, block, row, rows, column);
    t.b = panel_at(w, s, block, column);
    t.a = a;
    if (w->a_stays) {
        loose_tiles(t);
        return;
    }
    for (int64_t i = 0; i < rows; i += HEIGHT) {
        t.rows = smaller(HEIGHT, rows - i);
        packed_tile(&t);
        t.a += HEIGHT * t.terms;
        t.c += HEIGHT * t.ldc;
    }
}

static void run_piece(const plan *w, const slab *s, int64_t row, int64_t first, float *room)
{
    const simd_product *p = w->p;
    int64_t rows = smaller(w->rows, p->m - row),
            end = smaller(first + w->columns, s->column + s->columns);
    for (int64_t block = s->block; block < s->block + s->blocks; block++) {
        int64_t term = block * w->depth;
        if (!w->a_stays)
            pack_a(p, row, rows, term, terms_of(w, block), room);
        for (int64_t column = first; column < end; column += WIDTH)
            run_panel(w, s, block, row, rows, column, w->a_stays ? a_at(p, row, term) : room);
    }
}

static void run_pieces(plan *w, turn *my, const slab *s, float *room)
{
    int64_t down = divide_up(w->p->m, w->rows), across = divide_up(s->columns, w->columns);
    begin_phase(my, down * across);
    for (int64_t i; next_task(w, my, &i); end_task(w, my))
        run_piece(w, s, i / across * w->rows, s->column + i % across * w->columns, room);
}

/* Every thread comes through here. */
static void run_slabs(plan *w)
{
    const simd_product *p = w->p;
    float *room = w->room + take(&w->members) * w->room_size;
    turn my = {.ticket = take(&w->taken)};
    for (int64_t column = 0; column < p->n; column += w->slab_columns)
        for (int64_t block = 0; block < w->blocks; block += w->slab_blocks) {
            slab s = {column, smaller(w->slab_columns, p->n - column), block,
                      smaller(w->slab_blocks, w->blocks - block)};
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

/* `rows` rows from `row` on of one panel of columns */
static void run_thin_panel(const plan *w, int64_t block, int64_t row, int64_t rows, int64_t column,
                           int64_t columns, float *room)
{
    const simd_product *p = w->p;
    int64_t term = block * w->depth;
    tile t = tile_at(w, block, row, rows, column);
    t.columns = smaller(columns, p->n - column);
    t.a = a_at(p, row, term);
    t.b = room;
    if (w->b_stays && t.columns % LANES == 0 && (t.columns == columns || t.columns == LANES)) {
        t.b = b_at(p, term, column);
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
    float *room = w->room + take(&w->members) * w->room_size;
    int64_t across = divide_up(p->n, w->columns), down = divide_up(p->m, w->rows);
    for (int64_t piece; (piece = take(&w->taken)) < across * down;) {
        int64_t row = piece / across * w->rows, rows = smaller(w->rows, p->m - row);
        int64_t first = piece % across * w->columns, end = smaller(first + w->columns, p->n);
        int64_t width = end - first < w->columns ? WIDTH : w->columns;
        for (int64_t block = 0; block < w->blocks; block++)
            for (int64_t column = first; column < end; column += width)
                run_thin_panel(w, block, row, rows, column, width, room);
    }
}

/* ---- a few rows times rows ------------------------------------------------------------------- */

/* Where both A and B lie along k, some numbers of a row of C: c[j] = alpha a . b[j] + beta c[j],
 * and so on */
SIMD_INLINE void run_dots(const simd_product *p, int64_t row, int64_t column, int columns)
{
    const float *a = p->a + row * p->lda, *b = p->b + column * p->ldb;
    float *c = p->c + row * p->ldc + column;
    vector sum[DOTS] = {{0}};
    int64_t q = 0;
    for (; q + LANES <= p->k; q += LANES) {
        vector x = *(const vector *)(a + q);
        SIMD_UNROLLED
        for (int j = 0; j < columns; j++)
            sum[j] += x * *(const vector *)(b + j * p->ldb + q);
    }
    for (int j = 0; j < columns; j++) {
        float y = 0;
        for (int lane = 0; lane < LANES; lane++)
            y += sum[j][lane];
        for (int64_t rest = q; rest < p->k; rest++)
            y += a[rest] * b[j * p->ldb + rest];
        y *= p->alpha;
        y = p->beta != 0 ? y + p->beta * c[j] : y;
        y = p->bias ? y + p->bias[column + j] : y;
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
    for (int64_t first; (first = take(&w->taken) * COLUMNS) < w->p->n;)
        run_dot_columns(w->p, first, smaller(first + COLUMNS, w->p->n));
}

void SIMD(product)(const simd_product *p)
{
    if (p->m <= 0 || p->n <= 0)
        return;
    plan w = plan_of(p);
    bool few = p->m <= FEW && p->tb && !p->ta;
    void (*run)(plan *) = few ? run_few : w.thin ? run_thin : run_slabs;
    if (p->threads > 1) {
#pragma omp parallel num_threads(p->threads)
        run(&w);
    } else {
        run(&w);
    }
}
