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
#include "backends/simd/kernels/kernels.h"

#include <sched.h>
#include <string.h>

#define X(name, args) void SIMD(name)(const args *);
SIMD_KERNELS(X)
#undef X

#if defined(__AVX512F__)
enum { LANES = 16, HEIGHT = 12, VECTORS = 2, DEPTH = 256, AHEAD = 4 };
#elif defined(__AVX2__)
enum { LANES = 8, HEIGHT = 6, VECTORS = 2, DEPTH = 384, AHEAD = 0 };
#elif defined(__aarch64__)
enum { LANES = 4, HEIGHT = 8, VECTORS = 3, DEPTH = 384, AHEAD = 0 };
#else
enum { LANES = 4, HEIGHT = 4, VECTORS = 2, DEPTH = 384, AHEAD = 0 };
#endif
enum { WIDTH = VECTORS * LANES, WIDE = 4 * VECTORS }; /* WIDE: vectors of a tile of one row */
typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t bits __attribute__((vector_size(4 * LANES)));
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* Loops over a tile's rows and vectors must vanish, so that sums live in registers. */
#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

enum {
    FEW = 4,
    DOTS = 8, /* most rows of a product by dot products, of so many columns at a time */
    THIN = 4 * HEIGHT,
    THIN_ALONG = 128, /* most rows of a thin product: if B lies along its rows */
    NARROW = 512,
    VERY_NARROW = 128,       /* so few columns: A stays where it lies, rows permitting */
    GROUP = 8 * WIDTH,       /* columns that are packed at a time */
    PIECES = 6,              /* for each thread, if rows suffice: */
    LEAST_ROWS = 4 * HEIGHT, /* of a piece */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* a / b and a, rounded up to a whole number (of b) */
static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t round_up(int64_t a, int64_t b)
{
    return divide_up(a, b) * b;
}

/* ---- a tile ---------------------------------------------------------------------------------- */

/* Number (i, p) of a panel of A lies at a[i a_row + p a_step], and row p of a panel of B at b + p
 * b_step. */
typedef struct tile {
    int64_t terms;
    const float *a;
    int64_t a_row, a_step;
    const float *b;
    int64_t b_step;
    float *c;
    int64_t ldc;
    int64_t rows, columns; /* of C: others are made but not written */
    float alpha, beta;
    const float *bias; /* NULL: none */
    bool relu;
} tile;

/* sum of a(i, p) b(p, j) over p; `height` and `vectors` are constants where this is called */
INLINE void multiply(const tile *t, int64_t a_row, int64_t a_step, int64_t b_step, int height,
                     int vectors, vector *sum)
{
    const float *a = t->a, *b = t->b;
    const int64_t ahead = b_step == WIDTH ? 0 : AHEAD; /* rows of B, where it is not packed */
    for (int64_t p = t->terms; p > 0; p--, a += a_step, b += b_step) {
        vector row[WIDE];
        UNROLLED
        for (int v = 0; v < vectors; v++)
            row[v] = *(const vector *)(b + v * LANES);
        for (int v = 0; ahead > 0 && v < vectors; v += 16 / LANES)
            __builtin_prefetch(b + ahead * b_step + v * LANES);
        UNROLLED
        for (int i = 0; i < height; i++)
            UNROLLED
        for (int v = 0; v < vectors; v++)
            sum[i * vectors + v] += a[i * a_row] * row[v];
    }
}

/* c = alpha sum + beta c */
INLINE void write(const tile *t, float *c, int64_t ldc, bool add, int height, int vectors,
                  vector *sum)
{
    UNROLLED
    for (int i = 0; i < height; i++)
        UNROLLED
    for (int v = 0; v < vectors; v++) {
        vector *to = (vector *)(c + i * ldc + v * LANES);
        *to =
            add ? t->alpha * sum[i * vectors + v] + t->beta * *to : t->alpha * sum[i * vectors + v];
    }
}

/* c = relu(c + bias), on what was just written */
static void finish(const tile *t, float *c, int64_t ldc, const float *bias, int64_t rows,
                   int64_t vectors)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t v = 0; v < vectors; v++) {
            vector *to = (vector *)(c + i * ldc + v * LANES), y = *to;
            if (bias)
                y += *(const vector *)(bias + v * LANES);
            if (t->relu)
                y = (vector)((bits)y & ~(y <= 0)); /* NaN stays */
            *to = y;
        }
}

/* Where some of the tile's rows or columns lie beyond C, through a copy of it, WIDTH numbers a
 * row. */
static void copy_in(const tile *t, float *copy, float *bias)
{
    size_t size = (size_t)t->columns * sizeof *copy;
    for (int64_t i = 0; t->beta != 0 && i < t->rows; i++)
        memcpy(copy + i * WIDTH, t->c + i * t->ldc, size);
    if (t->bias)
        memcpy(bias, t->bias, size);
}

static void copy_out(const tile *t, const float *copy)
{
    for (int64_t i = 0; i < t->rows; i++)
        memcpy(t->c + i * t->ldc, copy + i * WIDTH, (size_t)t->columns * sizeof *copy);
}

INLINE void write_tile(const tile *t, float *c, int64_t ldc, const float *bias, int height,
                       int vectors, vector *sum)
{
    if (t->beta != 0)
        write(t, c, ldc, true, height, vectors, sum);
    else
        write(t, c, ldc, false, height, vectors, sum);
    if (bias || t->relu)
        finish(t, c, ldc, bias, height, vectors);
}

INLINE void run_tile(const tile *t, int64_t a_row, int64_t a_step, int64_t b_step, int height,
                     int vectors)
{
    vector sum[HEIGHT * VECTORS] = {{0}};
    for (int64_t i = 0; i < t->rows; i++)
        for (int v = 0; v < vectors; v += 16 / LANES)
            __builtin_prefetch(t->c + i * t->ldc + v * LANES, 1);
    multiply(t, a_row, a_step, b_step, height, vectors, sum);
    if (t->rows >= height && t->columns >= vectors * LANES) {
        write_tile(t, t->c, t->ldc, t->bias, height, vectors, sum);
        return;
    }
    float copy[HEIGHT * WIDTH] = {0}, bias[WIDE * LANES] = {0};
    copy_in(t, copy, bias);
    write_tile(t, copy, WIDTH, t->bias ? bias : NULL, height, vectors, sum);
    copy_out(t, copy);
}

/* Tiles of each size; functions of their own, as clang merges calls that differ in constants
 * only. */
#define PACKED(name, height)                                                                       \
    static void name(const tile *t)                                                                \
    {                                                                                              \
        run_tile(t, 1, HEIGHT, WIDTH, height, VECTORS);                                            \
    }
#define LOOSE(name, height, vectors)                                                               \
    static void name(const tile *t)                                                                \
    {                                                                                              \
        run_tile(t, t->a_row, t->a_step, t->b_step, height, vectors);                              \
    }
enum { EIGHT = HEIGHT < 8 ? HEIGHT : 8 };
PACKED(packed_full, HEIGHT)
PACKED(packed_8, EIGHT)
PACKED(packed_4, 4)
PACKED(packed_2, 2)
LOOSE(loose_full, HEIGHT, VECTORS)
LOOSE(loose_8, EIGHT, VECTORS)
LOOSE(loose_4, 4, VECTORS)
LOOSE(loose_2, 2, VECTORS)
LOOSE(loose_1, 1, VECTORS)
LOOSE(slim_full, HEIGHT, 1) /* one vector wide */
LOOSE(slim_8, EIGHT, 1)
LOOSE(slim_4, 4, 1)
LOOSE(slim_2, 2, 1)
LOOSE(slim_1, 1, 1)

/* Both operands are packed, with zeros where a panel reaches beyond them: some rows too many do no
 * harm. */
static void packed_tile(const tile *t)
{
    if (HEIGHT > 8 && t->rows > 8)
        packed_full(t);
    else if (t->rows > 4)
        packed_8(t);
    else if (t->rows > 2)
        packed_4(t);
    else
        packed_2(t);
}

/* The same where A lies anywhere, and maybe B: rows that are not there must not be read. */
static void loose_tile(const tile *t)
{
    bool slim = t->columns <= LANES;
    if (t->rows == HEIGHT)
        (slim ? slim_full : loose_full)(t);
    else if (t->rows == 8)
        (slim ? slim_8 : loose_8)(t);
    else if (t->rows == 4)
        (slim ? slim_4 : loose_4)(t);
    else if (t->rows == 2)
        (slim ? slim_2 : loose_2)(t);
    else
        (slim ? slim_1 : loose_1)(t);
}

static int64_t loose_height(int64_t rows)
{
    if (HEIGHT > 8 && rows < HEIGHT && rows >= 8)
        return 8;
    return rows >= HEIGHT ? HEIGHT : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
}

static void loose_tiles(tile t)
{
    for (int64_t left = t.rows; left > 0; left -= t.rows) {
        t.rows = loose_height(left);
        loose_tile(&t);
        t.a += t.rows * t.a_row;
        t.c += t.rows * t.ldc;
    }
}

/* ---- packing --------------------------------------------------------------------------------- */

/* Some rows or columns of an operand, `count` of them, and some of their terms.  Number (i, p) lies
 * at x[p ld + i], or at x[i ld + p] if they lie `across`. */
typedef struct strip {
    const float *x;
    int64_t ld;
    bool across;
    int64_t count, terms;
} strip;

/* Four rows of STEP numbers become STEP columns of four: STEP / 4 squares beside one another are
 * transposed at a time. */
#if defined(__AVX2__)
enum { STEP = 8 };
typedef float group __attribute__((vector_size(32), aligned(4), may_alias));
#define LOW_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_HALVES(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH_HALVES(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#else
enum { STEP = 4 };
typedef four group;
#define LOW_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW_HALVES(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define HIGH_HALVES(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#endif

/* One column of each square */
INLINE void put(group x, float *to, int64_t width)
{
    *(four *)to = __builtin_shufflevector(x, x, 0, 1, 2, 3);
#if defined(__AVX2__)
    *(four *)(to + 4 * width) = __builtin_shufflevector(x, x, 4, 5, 6, 7);
#else
    (void)width;
#endif
}

INLINE void transpose(const float *x, int64_t ld, float *to, int64_t width)
{
    group a = *(const group *)x, b = *(const group *)(x + ld);
    group c = *(const group *)(x + 2 * ld), d = *(const group *)(x + 3 * ld);
    group low_ab = LOW_PAIRS(a, b), high_ab = HIGH_PAIRS(a, b);
    group low_cd = LOW_PAIRS(c, d), high_cd = HIGH_PAIRS(c, d);
    put(LOW_HALVES(low_ab, low_cd), to, width);
    put(HIGH_HALVES(low_ab, low_cd), to + width, width);
    put(LOW_HALVES(high_ab, high_cd), to + 2 * width, width);
    put(HIGH_HALVES(high_ab, high_cd), to + 3 * width, width);
}

/* Four rows of `count` numbers, which the next panel will need */
INLINE void fetch_rows(const float *x, int64_t ld, int64_t count)
{
    for (int row = 0; row < 4; row++)
        for (int64_t p = 0; p < count; p += 16)
            __builtin_prefetch(x + row * ld + p);
}

/* A full panel; the last four rows overlap others where width is no multiple of four. */
INLINE void pack_across(const strip *s, float *to, int width)
{
    enum { TOGETHER = 64 };
    int64_t whole = s->terms / STEP * STEP;
    for (int64_t first = 0; first < whole; first += TOGETHER)
        for (int i = 0; i < width; i += 4) {
            int row = i + 4 <= width ? i : width - 4;
            const float *x = s->x + row * s->ld;
            int64_t end = smaller(first + TOGETHER, whole);
            if (s->count > width)
                fetch_rows(x + width * s->ld + first, s->ld, end - first);
            for (int64_t p = first; p < end; p += STEP)
                transpose(x + p, s->ld, to + p * width + row, width);
        }
    for (int64_t p = whole; p < s->terms; p++)
        for (int i = 0; i < width; i++)
            to[p * width + i] = s->x[i * s->ld + p];
}

INLINE void copy(const float *x, float *to, int width)
{
    int i = 0;
    for (; i + LANES <= width; i += LANES)
        *(vector *)(to + i) = *(const vector *)(x + i);
    for (; i + 4 <= width; i += 4)
        *(four *)(to + i) = *(const four *)(x + i);
    for (; i < width; i++)
        to[i] = x[i];
}

/* `panels` full panels together, so that memory is read in its order. */
INLINE void pack_along(const strip *s, float *to, int width, int panels)
{
    const float *x = s->x;
    for (int64_t p = 0; p < s->terms; p++, x += s->ld, to += width)
        UNROLLED
    for (int i = 0; i < panels; i++)
        copy(x + i * width, to + i * width * s->terms, width);
}

/* Of a panel at the edge: zeros fill it up. */
INLINE void pack_part(const strip *s, float *to, int width)
{
    int64_t row = s->across ? s->ld : 1, step = s->across ? 1 : s->ld;
    for (int64_t p = 0; p < s->terms; p++)
        for (int64_t i = 0; i < width; i++)
            to[p * width + i] = i < s->count ? s->x[i * row + p * step] : 0;
}

/* One panel after the other, or TOGETHER of them at a time; the last may not be full. */
INLINE void pack(const strip *s, float *to, int width)
{
    enum { TOGETHER = 4 };
    strip part = *s;
    for (int64_t i = 0, step; i < s->count; i += step) {
        part.x = s->x + i * (s->across ? s->ld : 1);
        part.count = s->count - i;
        step = !s->across && part.count >= TOGETHER * width ? TOGETHER * width : width;
        if (part.count < width)
            pack_part(&part, to + i * s->terms, width);
        else if (s->across)
            pack_across(&part, to + i * s->terms, width);
        else if (step > width)
            pack_along(&part, to + i * s->terms, width, TOGETHER);
        else
            pack_along(&part, to + i * s->terms, width, 1);
    }
}

static const float *a_at(const simd_product *p, int64_t row, int64_t term)
{
    return p->ta ? p->a + term * p->lda + row : p->a + row * p->lda + term;
}

static const float *b_at(const simd_product *p, int64_t term, int64_t column)
{
    return p->tb ? p->b + column * p->ldb + term : p->b + term * p->ldb + column;
}

static void pack_a(const simd_product *p, int64_t row, int64_t rows, int64_t term, int64_t terms,
                   float *to)
{
    strip s = {a_at(p, row, term), p->lda, !p->ta, rows, terms};
    pack(&s, to, HEIGHT);
}

static void pack_b(const simd_product *p, int64_t column, int64_t columns, int64_t term,
                   int64_t terms, float *to)
{
    strip s = {b_at(p, term, column), p->ldb, p->tb, columns, terms};
    pack(&s, to, WIDTH);
}

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
    w->rows = w->rows < LEAST_ROWS ? LEAST_ROWS : w->rows;
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
    w.slab_blocks = smaller(w.slab_blocks, w.blocks);
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
INLINE void run_dots(const simd_product *p, int64_t row, int64_t column, int columns)
{
    const float *a = p->a + row * p->lda, *b = p->b + column * p->ldb;
    float *c = p->c + row * p->ldc + column;
    vector sum[DOTS] = {{0}};
    int64_t q = 0;
    for (; q + LANES <= p->k; q += LANES) {
        vector x = *(const vector *)(a + q);
        UNROLLED
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
