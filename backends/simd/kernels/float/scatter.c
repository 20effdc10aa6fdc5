/* Rows that are written, or read, where ids say.  Of ids of each number, those of a row are mostly
 * one id, spread out along the row (an expand): then the row is moved or added as a whole.  This is
 * found out in the same sweep that checks them.  Along the last axis there are no rows, but lines
 * of numbers.
 *
 * Each row of y, or each piece of one where there are few, has one thread that writes it, in the
 * order of the ids: the same bits at any number of threads, and those of a plain loop. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"

enum {
    MIXED = -1,      /* a row of several ids */
    OUTSIDE = -2,    /* one of them is not in [0, size) */
    LEAST = 1 << 14, /* numbers that are worth several threads */
    STRIP = 1 << 12, /* of y, filled at a time */
    PIECE = 1 << 10, /* ids of a line, gathered at a time */
    ROWS_OF_EACH = 4 /* that threads share as a whole */
};

/* Whether one of n ids is outside: it, or what it lacks to the last, is negative; the difference of
 * unsigned numbers may overflow.  And the id that all of a row have, or what else they are. */
#define ROW_OF(bits, type, unsigned_type)                                                          \
    SIMD_INLINE bool outside_##bits(const type *ids, int64_t n, int64_t size)                      \
    {                                                                                              \
        const type last = (type)(size - 1);                                                        \
        type signs = 0;                                                                            \
        _Pragma("omp simd reduction(| : signs)") for (int64_t j = 0; j < n; j++) signs |=          \
            ids[j] | (type)((unsigned_type)last - (unsigned_type)ids[j]);                          \
        return signs < 0;                                                                          \
    }                                                                                              \
    SIMD_INLINE int32_t row_of_##bits(const type *ids, int64_t n, int64_t size)                    \
    {                                                                                              \
        const type first = ids[0];                                                                 \
        type differ = 0;                                                                           \
        _Pragma("omp simd reduction(| : differ)") for (int64_t j = 0; j < n; j++) differ |=        \
            ids[j] ^ first;                                                                        \
        if (!differ)                                                                               \
            return first >= 0 && first < size ? (int32_t)first : OUTSIDE;                          \
        return outside_##bits(ids, n, size) ? OUTSIDE : MIXED;                                     \
    }
ROW_OF(64, int64_t, uint64_t)
ROW_OF(32, int32_t, uint32_t)

/* Row r of ids of each number */
static int32_t row_of(const simd_ids *d, int64_t r)
{
    return d->ids64 ? row_of_64(d->ids64 + r * d->inner, d->inner, d->size)
                    : row_of_32(d->ids32 + r * d->inner, d->inner, d->size);
}

static inline int64_t id_at(const simd_ids *d, int64_t i)
{
    return d->ids64 ? d->ids64[i] : d->ids32[i];
}

static void fail(bool *failed)
{
#pragma omp atomic write
    *failed = true;
}

static bool has_failed(const bool *failed)
{
    bool yes;
#pragma omp atomic read
    yes = *failed;
    return yes;
}

/* ---- scatter --------------------------------------------------------------------------------- */

/* y = the formula in it, `to`, and in `from`, numbers of that type: of n of them, and of one */
#define JOIN(name, type, formula)                                                                  \
    static void name##_row(void *restrict to_row, const void *restrict from_row, int64_t n)        \
    {                                                                                              \
        type *restrict y = to_row;                                                                 \
        const type *restrict x = from_row;                                                         \
        _Pragma("omp simd") for (int64_t j = 0; j < n; j++)                                        \
        {                                                                                          \
            const type to = y[j], from = x[j];                                                     \
            y[j] = formula;                                                                        \
        }                                                                                          \
    }                                                                                              \
    SIMD_INLINE void name##_one(void *row, int64_t i, const void *from_row, int64_t j)             \
    {                                                                                              \
        type *y = (type *)row + i;                                                                 \
        const type to = *y, from = ((const type *)from_row)[j];                                    \
        *y = formula;                                                                              \
    }
JOIN(sum, real, to + from)
JOIN(max, real, from == from ? (to < from ? from : to) : to + from) /* the sum where one is NaN */
JOIN(min, real, from == from ? (to > from ? from : to) : to + from)
JOIN(integer_sum, unsigned_bits, to + from) /* wraps around */
JOIN(integer_max, real_bits, to < from ? from : to)
JOIN(integer_min, real_bits, to > from ? from : to)

static void last_row(void *restrict y, const void *restrict x, int64_t n)
{
    memcpy(y, x, (size_t)n * sizeof(real));
}

SIMD_INLINE void last_one(void *row, int64_t i, const void *from_row, int64_t j)
{
    memcpy((real *)row + i, (const real *)from_row + j, sizeof(real));
}

/* Pieces of `piece` columns that a row of y is cut into, so that threads can share it */
typedef struct pieces {
    int64_t count, piece;
} pieces;

static pieces pieces_of(const simd_ids *d, int team)
{
    if (d->outer * d->size >= ROWS_OF_EACH * team)
        return (pieces){1, d->inner};
    int64_t lines = simd_divide_up(d->inner, SIMD_LINE), count = simd_smaller(lines, team);
    int64_t piece = simd_divide_up(lines, count) * SIMD_LINE;
    return (pieces){simd_divide_up(d->inner, piece), piece};
}

/* Whether a piece of a row of y is the thread's */
static inline bool is_own(simd_member m, pieces p, int64_t row, int64_t piece)
{
    return m.team == 1 || (uint32_t)(row * p.count + piece) % (uint32_t)m.team == (uint32_t)m.me;
}

/* A row of from that has several ids: those of the thread; and a line along the last axis, of n
 * ids.  A loop for each type of ids, which need not be asked for each number. */
#define SCATTER_NUMBERS(join, type)                                                                \
    static void scatter_##join##_##type(const simd_scatter *a, simd_member m, pieces p, int64_t o, \
                                        const type *ids, const real *from)                         \
    {                                                                                              \
        const int64_t n = a->ids.inner, row = o * a->ids.size;                                     \
        real *y = (real *)a->y + row * n;                                                          \
        if (m.team == 1)                                                                           \
            for (int64_t j = 0; j < n; j++)                                                        \
                join##_one(y, ids[j] * n + j, from, j);                                            \
        else                                                                                       \
            for (int64_t j = 0; j < n; j++)                                                        \
                if (is_own(m, p, row + ids[j], j / p.piece))                                       \
                    join##_one(y, ids[j] * n + j, from, j);                                        \
    }                                                                                              \
    static void line_##join##_##type(real *y, const type *ids, const real *from, int64_t n)        \
    {                                                                                              \
        for (int64_t j = 0; j < n; j++)                                                            \
            join##_one(y, ids[j], from, j);                                                        \
    }
#define SCATTERS(join)                                                                             \
    SCATTER_NUMBERS(join, int64_t)                                                                 \
    SCATTER_NUMBERS(join, int32_t)
SCATTERS(last)
SCATTERS(sum)
SCATTERS(max)
SCATTERS(min)
SCATTERS(integer_sum)
SCATTERS(integer_max)
SCATTERS(integer_min)

typedef struct join {
    void (*row)(void *y, const void *x, int64_t n);
    void (*by_64)(const simd_scatter *a, simd_member m, pieces p, int64_t o, const int64_t *ids,
                  const real *from);
    void (*by_32)(const simd_scatter *a, simd_member m, pieces p, int64_t o, const int32_t *ids,
                  const real *from);
    void (*line_by_64)(real *y, const int64_t *ids, const real *from, int64_t n);
    void (*line_by_32)(real *y, const int32_t *ids, const real *from, int64_t n);
} join;

#define JOIN_BY(join)                                                                              \
    {                                                                                              \
        join##_row, scatter_##join##_int64_t, scatter_##join##_int32_t, line_##join##_int64_t,     \
            line_##join##_int32_t                                                                  \
    }
static const join joins[][2] = {
    /* of floats, of integers */
    [SIMD_JOIN_LAST] = {JOIN_BY(last), JOIN_BY(last)},
    [SIMD_JOIN_SUM] = {JOIN_BY(sum), JOIN_BY(integer_sum)},
    [SIMD_JOIN_MAX] = {JOIN_BY(max), JOIN_BY(integer_max)},
    [SIMD_JOIN_MIN] = {JOIN_BY(min), JOIN_BY(integer_min)}};

static void join_rows(const simd_scatter *a, simd_member m)
{
    const simd_ids *d = &a->ids;
    const join k = joins[a->join][a->integers];
    const pieces p = pieces_of(d, m.team);
    const int64_t n = d->inner;
    for (int64_t o = 0; o < d->outer; o++)
        for (int64_t i = 0; i < d->count; i++) {
            const int64_t id = d->of_rows ? id_at(d, i) : a->row[o * d->count + i];
            const real *from = (const real *)a->from + (o * a->rows + i) * n;
            real *y = (real *)a->y + (o * d->size + id) * n;
            if (id == MIXED && d->ids64)
                k.by_64(a, m, p, o, d->ids64 + (o * d->count + i) * n, from);
            else if (id == MIXED)
                k.by_32(a, m, p, o, d->ids32 + (o * d->count + i) * n, from);
            else
                for (int64_t piece = 0, at = 0; piece < p.count; piece++, at += p.piece)
                    if (is_own(m, p, o * d->size + id, piece))
                        k.row(y + at, from + at, simd_smaller(p.piece, n - at));
        }
}

/* The thread's share of y, in strips */
static void begin(const simd_scatter *a, simd_member m)
{
    const int64_t count = a->ids.outer * a->ids.size * a->ids.inner;
    const int64_t strips = simd_divide_up(count, STRIP);
    if (a->x == a->y)
        return;
    for (int64_t s = simd_first(m, strips); s < simd_end(m, strips); s++) {
        const int64_t at = s * STRIP, n = simd_smaller(STRIP, count - at);
        real *y = (real *)a->y + at;
        if (a->x)
            memcpy(y, (const real *)a->x + at, (size_t)n * sizeof *y);
        else
            for (int64_t j = 0; j < n; j++)
                y[j] = (real)a->first;
    }
}

static void scatter_share(const void *args, simd_member m)
{
    const simd_scatter *a = args;
    const int64_t rows = a->ids.outer * a->ids.count;
    bool outside = false;
    for (int64_t r = simd_first(m, rows); !a->ids.of_rows && r < simd_end(m, rows); r++) {
        a->row[r] = row_of(&a->ids, r);
        outside |= a->row[r] == OUTSIDE;
    }
    if (outside)
        fail(a->failed);
    if (!a->ids.of_rows)
        simd_meet(m);
    if (!a->ids.of_rows && has_failed(a->failed))
        return;
    begin(a, m);
    simd_meet(m);
    join_rows(a, m);
}

/* Lines along the last axis, each by one thread. */
static void scatter_lines_share(const void *args, simd_member m)
{
    const simd_scatter *a = args;
    const simd_ids *d = &a->ids;
    const join k = joins[a->join][a->integers];
    const int64_t first = simd_first(m, d->outer), end = simd_end(m, d->outer);
    bool outside = false;
    for (int64_t o = first; o < end; o++)
        outside |= d->ids64 ? outside_64(d->ids64 + o * d->count, d->count, d->size)
                            : outside_32(d->ids32 + o * d->count, d->count, d->size);
    if (outside)
        fail(a->failed);
    simd_meet(m);
    if (has_failed(a->failed))
        return;
    if (a->x != a->y)
        last_row((real *)a->y + first * d->size, (const real *)a->x + first * d->size,
                 (end - first) * d->size);
    for (int64_t o = first; o < end; o++) {
        real *y = (real *)a->y + o * d->size;
        const real *from = (const real *)a->from + o * a->rows;
        if (d->ids64)
            k.line_by_64(y, d->ids64 + o * d->count, from, d->count);
        else
            k.line_by_32(y, d->ids32 + o * d->count, from, d->count);
    }
}

void SIMD(scatter)(const simd_scatter *a)
{
    const simd_ids *d = &a->ids;
    const int64_t work = d->outer * (d->size + d->count) * d->inner;
    const bool lines = d->inner == 1 && !d->of_rows;
    simd_team(work < LEAST ? 1 : a->threads, lines ? scatter_lines_share : scatter_share, a);
}

/* ---- gather ---------------------------------------------------------------------------------- */

#define GATHER_NUMBERS(type)                                                                       \
    static void gather_##type(real *y, const real *x, const type *ids, int64_t n)                  \
    {                                                                                              \
        for (int64_t j = 0; j < n; j++)                                                            \
            last_one(y, j, x, ids[j] * n + j);                                                     \
    }                                                                                              \
    static void gather_line_##type(real *restrict y, const real *restrict x,                       \
                                   const type *restrict ids, int64_t n)                            \
    {                                                                                              \
        for (int64_t j = 0; j < n; j++)                                                            \
            last_one(y, j, x, ids[j]);                                                             \
    }
GATHER_NUMBERS(int64_t)
GATHER_NUMBERS(int32_t)

static void gather_row(const void *args, int64_t r)
{
    const simd_gather *a = args;
    const simd_ids *d = &a->ids;
    const int64_t n = d->inner;
    const real *x = (const real *)a->x + r / d->count * d->size * n;
    real *y = (real *)a->y + r * n;
    const int32_t row = row_of(d, r);
    if (row == OUTSIDE)
        fail(a->failed);
    else if (row != MIXED)
        last_row(y, x + row * n, n);
    else if (d->ids64)
        gather_int64_t(y, x, d->ids64 + r * n, n);
    else
        gather_int32_t(y, x, d->ids32 + r * n, n);
}

/* A piece of a line along the last axis: its ids are checked where they are then read. */
static void gather_piece(const void *args, int64_t task)
{
    const simd_gather *a = args;
    const simd_ids *d = &a->ids;
    const int64_t of_line = simd_divide_up(d->count, PIECE), o = task / of_line;
    const int64_t first = task % of_line * PIECE, n = simd_smaller(PIECE, d->count - first);
    const int64_t at = o * d->count + first;
    const real *x = (const real *)a->x + o * d->size;
    real *y = (real *)a->y + at;
    if (d->ids64 ? outside_64(d->ids64 + at, n, d->size) : outside_32(d->ids32 + at, n, d->size))
        fail(a->failed);
    else if (d->ids64)
        gather_line_int64_t(y, x, d->ids64 + at, n);
    else
        gather_line_int32_t(y, x, d->ids32 + at, n);
}

void SIMD(gather)(const simd_gather *a)
{
    const int64_t rows = a->ids.outer * a->ids.count;
    if (a->ids.inner == 1) {
        simd_tasks(rows < LEAST ? 1 : a->threads,
                   a->ids.outer * simd_divide_up(a->ids.count, PIECE), gather_piece, a);
        return;
    }
    simd_tasks(rows * a->ids.inner < LEAST ? 1 : a->threads, rows, gather_row, a);
}
