/* Reductions of integers and bools over any axes: sums and products that wrap, maxima and minima.
 * Any is the maximum of bools, all their minimum.  Whatever the order, the result is the same, so
 * numbers are taken as they lie and shared out among as many threads as there are.
 *
 * Parts of axes that are kept (K) or reduced (R) alternate.  The last of them lie side by side:
 *
 *     ... R K        rows of K numbers, one result for each column
 *     ... R K R'     rows of K R' numbers, one result for each run of R'
 *
 * A task takes a block of such columns, adds the rows of all R to the first of them, and in the end
 * makes a number of each run.  Of long runs each is reduced by itself. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"

enum { BLOCK = 4096 /* bytes of the columns of a task */, PIECE = 1 << 15 /* and of a long run */ };
enum { SHORT = 16 /* numbers of a run that is not worth vectors of its own */ };

/* ---- the loops, for each kind of numbers ----------------------------------------------------- */

#define ADDED(a, b) ((a) + (b))
#define MULTIPLIED(a, b) ((a) * (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))

#define PRAGMA(text) _Pragma(#text)
/* rows_: y[j] op= x[i step + j] for all i < rows, j < width
 * runs_: y[r] = x[r length] op x[r length + 1] op ..., r < runs; length > 0 */
#define LOOPS(name, number, op, clause)                                                            \
    static void rows_##name(void *results, const void *numbers, int64_t step, int64_t rows,        \
                            int64_t width)                                                         \
    {                                                                                              \
        number *y = results;                                                                       \
        const number *a = numbers;                                                                 \
        int64_t i = 0;                                                                             \
        for (; i + 4 <= rows; i += 4, a += 4 * step) {                                             \
            const number *b = a + step, *c = b + step, *d = c + step;                              \
            PRAGMA(omp simd)                                                                       \
            for (int64_t j = 0; j < width; j++) {                                                  \
                number ab = op(a[j], b[j]), cd = op(c[j], d[j]), abcd = op(ab, cd);                \
                y[j] = op(y[j], abcd);                                                             \
            }                                                                                      \
        }                                                                                          \
        for (; i < rows; i++, a += step)                                                           \
            PRAGMA(omp simd)                                                                       \
        for (int64_t j = 0; j < width; j++)                                                        \
            y[j] = op(y[j], a[j]);                                                                 \
    }                                                                                              \
                                                                                                   \
    static void runs_##name(void *results, const void *numbers, int64_t runs, int64_t length)      \
    {                                                                                              \
        number *y = results;                                                                       \
        const number *x = numbers;                                                                 \
        if (length < SHORT) {                                                                      \
            for (int64_t r = 0; r < runs; r++)                                                     \
                y[r] = x[r * length];                                                              \
            for (int64_t i = 1; i < length; i++)                                                   \
                for (int64_t r = 0; r < runs; r++)                                                 \
                    y[r] = op(y[r], x[r * length + i]);                                            \
            return;                                                                                \
        }                                                                                          \
        for (int64_t r = 0; r < runs; r++, x += length) {                                          \
            number all = x[0];                                                                     \
            PRAGMA(omp simd reduction(clause : all))                                               \
            for (int64_t i = 1; i < length; i++)                                                   \
                all = op(all, x[i]);                                                               \
            y[r] = all;                                                                            \
        }                                                                                          \
    }

LOOPS(sum_i32, uint32_t, ADDED, +)
LOOPS(sum_i64, uint64_t, ADDED, +)
LOOPS(prod_i32, uint32_t, MULTIPLIED, *)
LOOPS(prod_i64, uint64_t, MULTIPLIED, *)
LOOPS(max_i32, int32_t, LARGER, max)
LOOPS(max_i64, int64_t, LARGER, max)
LOOPS(max_byte, uint8_t, LARGER, max)
LOOPS(min_i32, int32_t, SMALLER, min)
LOOPS(min_i64, int64_t, SMALLER, min)
LOOPS(min_byte, uint8_t, SMALLER, min)

typedef struct loops {
    void (*rows)(void *y, const void *x, int64_t step, int64_t rows, int64_t width);
    void (*runs)(void *y, const void *x, int64_t runs, int64_t length);
} loops;

#define PAIR(name)                                                                                 \
    {                                                                                              \
        rows_##name, runs_##name                                                                   \
    }
static const loops table[][3] = {
    [SIMD_FOLD_SUM] = {[SIMD_FOLD_I32] = PAIR(sum_i32), [SIMD_FOLD_I64] = PAIR(sum_i64)},
    [SIMD_FOLD_PROD] = {[SIMD_FOLD_I32] = PAIR(prod_i32), [SIMD_FOLD_I64] = PAIR(prod_i64)},
    [SIMD_FOLD_MAX] = {PAIR(max_i32), PAIR(max_i64), PAIR(max_byte)},
    [SIMD_FOLD_MIN] = {PAIR(min_i32), PAIR(min_i64), PAIR(min_byte)},
};

/* ---- where numbers lie ----------------------------------------------------------------------- */

/* Parts before the rows, all kept or all reduced, the last first. */
typedef struct group {
    int count;
    int64_t size[WG_MAX_RANK], stride[WG_MAX_RANK], all; /* all: product of the sizes */
} group;

/* `rows` rows of `width` numbers follow one another, of every index of the groups. */
typedef struct fold {
    const char *x;
    char *y; /* [parts, results] */
    loops of;
    int64_t bytes;         /* of a number */
    group kept, reduced;   /* parts before the rows */
    int64_t rows, width;   /* rows are reduced */
    int64_t run;           /* that many columns make one result */
    int64_t block, pieces; /* columns of a task; or pieces of a run that is longer */
    int64_t units, parts;  /* pieces of all rows of a result; parts that these are divided into */
} fold;

static int64_t offset_of(const group *g, int64_t index)
{
    int64_t at = 0;
    for (int i = 0; i + 1 < g->count; i++) {
        at += index % g->size[i] * g->stride[i];
        index /= g->size[i];
    }
    return g->count ? at + index * g->stride[g->count - 1] : 0;
}

static void add_part(group *g, int64_t size, int64_t stride)
{
    g->size[g->count] = size;
    g->stride[g->count++] = stride;
    g->all *= size;
}

static fold fold_of(const simd_fold *a)
{
    static const int64_t bytes[] = {[SIMD_FOLD_I32] = 4, [SIMD_FOLD_I64] = 8, [SIMD_FOLD_BYTE] = 1};
    const simd_parts *p = &a->parts;
    bool runs = p->count && p->reduced[p->count - 1];
    int last = p->count;
    fold f = {.x = a->x,
              .y = a->y,
              .of = table[a->how][a->kind],
              .bytes = bytes[a->kind],
              .kept = {.all = 1},
              .reduced = {.all = 1},
              .rows = 1,
              .width = 1,
              .run = 1};
    if (runs)
        f.width = f.run = p->size[--last];
    if (last)
        f.width *= p->size[--last];
    if (last)
        f.rows = p->size[--last];
    int64_t stride = f.width * f.rows;
    for (int i = last; i-- > 0; stride *= p->size[i])
        add_part(p->reduced[i] ? &f.reduced : &f.kept, p->size[i], stride);
    return f;
}

/* ---- a task ---------------------------------------------------------------------------------- */

/* Rows [first, first + n), n > 0, of `width` columns at x into acc, which has none yet if `fresh`.
 * Narrow rows are taken as many together as fit. */
static void add_rows(const fold *f, const char *x, int64_t n, int64_t width, bool fresh, char *acc)
{
    enum { NARROW = 32, FEW = 4 };
    _Alignas(64) char together[BLOCK / 4];
    int64_t row = f->width * f->bytes, side = (int64_t)sizeof together / row;
    if (fresh) {
        memcpy(acc, x, (size_t)(width * f->bytes));
        x += row;
        n--;
    }
    if (width == f->width && width < NARROW && n >= FEW * side) {
        int64_t wide = side * width, rows = n / side;
        memcpy(together, x, (size_t)(side * row));
        f->of.rows(together, x + side * row, wide, rows - 1, wide);
        f->of.rows(acc, together, width, side, width);
        x += rows * side * row;
        n -= rows * side;
    }
    f->of.rows(acc, x, f->width, n, width);
}

/* The rows [from, to) of the columns at x */
static void fold_block(const fold *f, const char *x, int64_t from, int64_t to, int64_t width,
                       char *y)
{
    _Alignas(64) char sums[BLOCK];
    char *acc = f->run == 1 ? y : sums;
    if (f->run > 1 && to - from == 1) {
        const char *row =
            x + (offset_of(&f->reduced, from / f->rows) + from % f->rows * f->width) * f->bytes;
        f->of.runs(y, row, width / f->run, f->run);
        return;
    }
    for (int64_t u = from, n; u < to; u += n) {
        int64_t row = u % f->rows, at = offset_of(&f->reduced, u / f->rows) + row * f->width;
        n = simd_smaller(f->rows - row, to - u);
        add_rows(f, x + at * f->bytes, n, width, u == from, acc);
    }
    if (f->run > 1)
        f->of.runs(y, acc, width / f->run, f->run);
}

/* The pieces [from, to) of the rows of a run at x */
static void fold_run(const fold *f, const char *x, int64_t from, int64_t to, char *y)
{
    int64_t piece = PIECE / f->bytes;
    for (int64_t u = from; u < to; u++) {
        int64_t row = u / f->pieces, first = u % f->pieces * piece;
        int64_t at = offset_of(&f->reduced, row / f->rows) + row % f->rows * f->width + first;
        _Alignas(8) char some[8];
        f->of.runs(u == from ? y : some, x + at * f->bytes, 1, simd_smaller(piece, f->run - first));
        if (u > from)
            f->of.rows(y, some, 1, 1, 1);
    }
}

static int64_t blocks_of(const fold *f)
{
    return simd_divide_up(f->width, f->block);
}

static void fold_task(const void *args, int64_t task)
{
    const fold *f = args;
    int64_t part = task % f->parts, block = task / f->parts % blocks_of(f),
            kept = task / f->parts / blocks_of(f), first = block * f->block,
            results = f->width / f->run;
    int64_t from = f->units * part / f->parts, to = f->units * (part + 1) / f->parts;
    const char *x = f->x + (offset_of(&f->kept, kept) + first) * f->bytes;
    char *y = f->y + ((part * f->kept.all + kept) * results + first / f->run) * f->bytes;
    if (f->run * f->bytes > BLOCK)
        fold_run(f, x, from, to, y);
    else
        fold_block(f, x, from, to, simd_smaller(f->block, f->width - first), y);
}

void SIMD(fold)(const simd_fold *a)
{
    enum { TASKS = 4 }; /* for each thread */
    fold f = fold_of(a);
    bool is_long = f.run * f.bytes > BLOCK;
    int64_t work = f.kept.all * f.reduced.all * f.rows * f.width;
    int threads = work < 1 << 15 ? 1 : a->threads;
    f.block = is_long ? f.run : BLOCK / (f.run * f.bytes) * f.run;
    f.pieces = is_long ? simd_divide_up(f.run * f.bytes, PIECE) : 1;
    f.units = f.reduced.all * f.rows * f.pieces;
    f.parts = 1;
    int64_t tasks = f.kept.all * blocks_of(&f), results = f.kept.all * f.width / f.run;
    if (threads > 1 && results * f.bytes <= SIMD_FOLD_SHARED)
        f.parts = simd_smaller(f.units, simd_divide_up(TASKS * threads, tasks));
    f.parts = simd_smaller(f.parts, SIMD_FOLD_PARTS);
    if (f.parts > 1)
        f.y = a->scratch;
    simd_tasks(threads, tasks * f.parts, fold_task, &f);
    if (f.parts > 1) {
        memcpy(a->y, f.y, (size_t)(results * f.bytes));
        f.of.rows(a->y, f.y + results * f.bytes, results, f.parts - 1, results);
    }
}
