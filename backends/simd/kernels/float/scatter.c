/* Rows that are written, or read, where ids say.  Of ids of each number, those of a row are mostly
 * one id, spread out along the row (an expand): then the row is moved or added as a whole.  This is
 * found out in the same sweep that checks them.
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
    ROWS_OF_EACH = 4 /* that threads share as a whole */
};

/* The id that all of a row have, or what else they are.  Of a number outside, it or what it lacks
 * to the last is negative; the difference of unsigned numbers may overflow. */
#define ROW_OF(name, type, unsigned_type)                                                          \
    SIMD_INLINE int32_t name(const type *ids, int64_t n, int64_t size)                             \
    {                                                                                              \
        const type first = ids[0], last = (type)(size - 1);                                        \
        type differ = 0, signs = 0;                                                                \
        _Pragma("omp simd reduction(| : differ)") for (int64_t j = 0; j < n; j++) differ |=        \
            ids[j] ^ first;                                                                        \
        if (!differ)                                                                               \
            return first >= 0 && first < size ? (int32_t)first : OUTSIDE;                          \
        _Pragma("omp simd reduction(| : signs)") for (int64_t j = 0; j < n; j++) signs |=          \
            ids[j] | (type)((unsigned_type)last - (unsigned_type)ids[j]);                          \
        return signs < 0 ? OUTSIDE : MIXED;                                                        \
    }
ROW_OF(row_of_64, int64_t, uint64_t)
ROW_OF(row_of_32, int32_t, uint32_t)

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

/* y = the formula in it, `to`, and in `from`: of n numbers, and of one */
#define JOIN(name, formula)                                                                        \
    static void name##_row(real *restrict y, const real *restrict x, int64_t n)                    \
    {                                                                                              \
        _Pragma("omp simd") for (int64_t j = 0; j < n; j++)                                        \
        {                                                                                          \
            const real to = y[j], from = x[j];                                                     \
            y[j] = formula;                                                                        \
        }                                                                                          \
    }                                                                                              \
    SIMD_INLINE void name##_one(real *y, real from)                                                \
    {                                                                                              \
        const real to = *y;                                                                        \
        *y = formula;                                                                              \
    }
JOIN(sum, to + from)
JOIN(max, from == from ? (to < from ? from : to) : to + from) /* the sum where one is NaN */
JOIN(min, from == from ? (to > from ? from : to) : to + from)

static void last_row(real *restrict y, const real *restrict x, int64_t n)
{
    memcpy(y, x, (size_t)n * sizeof *y);
}

SIMD_INLINE void last_one(real *y, real from)
{
    memcpy(y, &from, sizeof from);
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

/* A row of from that has several ids: those of the thread.  A loop for each type of ids, which
 * need not be asked for each number. */
#define SCATTER_NUMBERS(join, type)                                                                \
    static void scatter_##join##_##type(const simd_scatter *a, simd_member m, pieces p, int64_t o, \
                                        const type *ids, const real *from)                         \
    {                                                                                              \
        const int64_t n = a->ids.inner, row = o * a->ids.size;                                     \
        real *y = (real *)a->y + row * n;                                                          \
        if (m.team == 1)                                                                           \
            for (int64_t j = 0; j < n; j++)                                                        \
                join##_one(y + ids[j] * n + j, from[j]);                                           \
        else                                                                                       \
            for (int64_t j = 0; j < n; j++)                                                        \
                if (is_own(m, p, row + ids[j], j / p.piece))                                       \
                    join##_one(y + ids[j] * n + j, from[j]);                                       \
    }
#define SCATTERS(join)                                                                             \
    SCATTER_NUMBERS(join, int64_t)                                                                 \
    SCATTER_NUMBERS(join, int32_t)
SCATTERS(last)
SCATTERS(sum)
SCATTERS(max)
SCATTERS(min)

typedef struct join {
    void (*row)(real *y, const real *x, int64_t n);
    void (*by_64)(const simd_scatter *a, simd_member m, pieces p, int64_t o, const int64_t *ids,
                  const real *from);
    void (*by_32)(const simd_scatter *a, simd_member m, pieces p, int64_t o, const int32_t *ids,
                  const real *from);
} join;

static const join joins[] = {
    [SIMD_JOIN_LAST] = {last_row, scatter_last_int64_t, scatter_last_int32_t},
    [SIMD_JOIN_SUM] = {sum_row, scatter_sum_int64_t, scatter_sum_int32_t},
    [SIMD_JOIN_MAX] = {max_row, scatter_max_int64_t, scatter_max_int32_t},
    [SIMD_JOIN_MIN] = {min_row, scatter_min_int64_t, scatter_min_int32_t}};

static void join_rows(const simd_scatter *a, simd_member m)
{
    const simd_ids *d = &a->ids;
    const join k = joins[a->join];
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

void SIMD(scatter)(const simd_scatter *a)
{
    const simd_ids *d = &a->ids;
    const int64_t work = d->outer * (d->size + d->count) * d->inner;
    simd_team(work < LEAST ? 1 : a->threads, scatter_share, a);
}

/* ---- gather ---------------------------------------------------------------------------------- */

#define GATHER_NUMBERS(type)                                                                       \
    static void gather_##type(real *y, const real *x, const type *ids, int64_t n)                  \
    {                                                                                              \
        for (int64_t j = 0; j < n; j++)                                                            \
            last_one(y + j, x[ids[j] * n + j]);                                                    \
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

void SIMD(gather)(const simd_gather *a)
{
    const int64_t rows = a->ids.outer * a->ids.count;
    simd_tasks(rows * a->ids.inner < LEAST ? 1 : a->threads, rows, gather_row, a);
}
