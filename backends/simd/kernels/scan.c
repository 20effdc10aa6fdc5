/* linear_scan, y[t] = a[t] y[t-1] + x[t], and its gradient,
 *
 *     dx[t] = dy[t] + a[t+1] dx[t+1],   da[t] = dx[t] y[t-1],   dinitial = a[0] dx[0],
 *
 * over x [outer, size, inner] along the middle axis.  A step waits for the one before, so lines are
 * advanced side by side: columns where they are adjacent in memory; else (inner 1) SIDE lines at a
 * time, whose steps become vectors by transposing squares of SIDE lines and SIDE steps.  One pass
 * over all tensors; results that are larger than the caches go past them.  Each number is computed
 * by one thread in one order, so the bits do not depend on the number of threads. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/stream.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/transpose.h"

enum { EIGHT = 8, SIDE = EIGHT, CHUNK = 128, COLUMNS = 128 };

/* A step of SIDE lines. */
typedef float simd_eight __attribute__((vector_size(EIGHT * sizeof(float)), may_alias));

/* Puts a finished piece of a result in its place. */
static void put(float *to, const float *piece, int64_t n, bool past)
{
    if (past)
        simd_stream(to, piece, n);
    else
        memcpy(to, piece, (size_t)n * sizeof *to);
}

/* ---- columns: inner > 1 ---------------------------------------------------------------------- */

/* Columns [first, first + width) of one outer index. */
typedef struct block {
    int64_t at, step, width, state; /* of the first step, between steps; columns; of the state */
} block;

static block block_of(const simd_scan *s, int64_t b)
{
    int64_t across = (s->inner + COLUMNS - 1) / COLUMNS, first = b % across * COLUMNS,
            outer = b / across;
    block c = {.at = outer * s->size * s->inner + first,
               .step = s->inner,
               .width = simd_smaller(COLUMNS, s->inner - first),
               .state = outer * s->inner + first};
    if (s->reverse) {
        c.at += (s->size - 1) * s->inner;
        c.step = -c.step;
    }
    return c;
}

static void forward_columns(const simd_scan *s, int64_t b, bool past)
{
    const block c = block_of(s, b);
    _Alignas(64) float state[COLUMNS] = {0};
    if (s->initial)
        memcpy(state, s->initial + c.state, (size_t)c.width * sizeof *state);
    for (int64_t t = 0, at = c.at; t < s->size; t++, at += c.step) {
        const float *a = s->a + at, *x = s->x + at;
#pragma omp simd
        for (int64_t j = 0; j < c.width; j++)
            state[j] = a[j] * state[j] + x[j];
        put(s->y + at, state, c.width, past);
    }
}

static void backward_columns(const simd_scan *s, int64_t b, bool past)
{
    const block c = block_of(s, b);
    _Alignas(64) float carried[COLUMNS] = {0}, dx[COLUMNS], da[COLUMNS], zeros[COLUMNS] = {0};
    const float *start = s->initial ? s->initial + c.state : zeros;
    for (int64_t t = s->size - 1; t >= 0; t--) {
        int64_t at = c.at + t * c.step;
        const float *dy = s->dy + at, *a = s->a + at, *before = t > 0 ? s->y + at - c.step : start;
#pragma omp simd
        for (int64_t j = 0; j < c.width; j++) {
            float d = dy[j] + carried[j];
            dx[j] = d;
            da[j] = d * before[j];
            carried[j] = a[j] * d;
        }
        put(s->dx + at, dx, c.width, past);
        put(s->da + at, da, c.width, past);
    }
    memcpy(s->dinitial + c.state, carried, (size_t)c.width * sizeof *carried);
}

/* ---- lines: inner 1 -------------------------------------------------------------------------- */

/* CHUNK steps of SIDE lines, side by side: so close that one register addresses all of them. */
typedef struct tile {
    _Alignas(64) float at[SIDE][CHUNK];
} tile;

/* SIDE lines, or fewer at the end: the others repeat the last. */
typedef struct side {
    int64_t line[SIDE]; /* where each begins */
    int64_t count;      /* lines whose results are kept */
} side;

static side side_of(const simd_scan *s, int64_t group)
{
    side l = {.count = simd_smaller(SIDE, s->outer - group * SIDE)};
    for (int64_t i = 0; i < SIDE; i++)
        l.line[i] = (group * SIDE + simd_smaller(i, l.count - 1)) * s->size;
    return l;
}

/* The i-th chunk of a walk over a line, from its end if `down`. */
typedef struct chunk {
    int64_t low, n;      /* in memory: its first element, and how many */
    int64_t first, step; /* the walk within it */
} chunk;

static chunk chunk_of(int64_t size, int64_t i, bool down)
{
    int64_t n = simd_smaller(CHUNK, size - i * CHUNK);
    return down ? (chunk){size - i * CHUNK - n, n, n - 1, -1} : (chunk){i * CHUNK, n, 0, 1};
}

/* Elements [first, first + n) of each line, into the tile from place `to` on, while those of the
 * next chunk, in the direction `step`, are prefetched: nothing is read there, so addresses past the
 * end do no harm. */
static void take(tile *t, int64_t to, const float *x, const side *l, int64_t first, int64_t n,
                 int64_t step)
{
    for (int i = 0; i < SIDE; i++) {
        const float *from = x + l->line[i] + first;
        for (int64_t k = 0; k < CHUNK; k += SIMD_LINE)
            __builtin_prefetch(
                (const char *)((uintptr_t)from + (uintptr_t)((step * CHUNK + k) * 4)));
        memcpy(t->at[i] + to, from, (size_t)n * sizeof *x);
    }
}

static void put_lines(float *y, const tile *t, const side *l, const chunk *c, bool past)
{
    for (int64_t i = 0; i < l->count; i++)
        put(y + l->line[i] + c->low, t->at[i], c->n, past);
}

/* The states of the lines between two chunks, or zeros. */
static void take_states(float state[SIDE], const float *initial, const side *l, int64_t group)
{
    for (int64_t i = 0; i < SIDE; i++)
        state[i] = initial && i < l->count ? initial[group * SIDE + i] : 0;
}

/* EIGHT rows, ld apart, as columns of `to`, whose rows are `width` apart: steps of a tile as
 * vectors of all lines, or such vectors as steps of a tile. */
SIMD_INLINE void turn(const float *rows, int64_t ld, float *to, int64_t width)
{
    SIMD_UNROLLED
    for (int i = 0; i < EIGHT; i += SIMD_STEP)
        SIMD_UNROLLED
    for (int k = 0; k < EIGHT; k += SIMD_STEP)
        simd_transpose_square(rows + i * ld + k, ld, to + k * width + i, width);
}

/* Steps [t, t + EIGHT) of a tile: step[k] is step t + k of all lines. */
SIMD_INLINE void take_eight(const tile *from, int64_t t, simd_eight step[EIGHT])
{
    turn(&from->at[0][t], CHUNK, (float *)step, EIGHT);
}

/* The reverse */
SIMD_INLINE void put_eight(tile *to, int64_t t, const simd_eight step[EIGHT])
{
    turn((const float *)step, EIGHT, &to->at[0][t], CHUNK);
}

/* The k-th step of eight in the direction of the walk. */
static inline int turned(const chunk *c, int k)
{
    return c->step > 0 ? k : EIGHT - 1 - k;
}

/* Whole eights of a chunk; returns how many steps that were. */
static int64_t forward_eights(const chunk *c, const tile *a, const tile *x, float *state, tile *y)
{
    simd_eight s, av[EIGHT], xv[EIGHT], yv[EIGHT];
    memcpy(&s, state, sizeof s);
    int64_t k = 0;
    for (; k + EIGHT <= c->n; k += EIGHT) {
        int64_t t = c->step > 0 ? k : c->n - k - EIGHT;
        take_eight(a, t, av);
        take_eight(x, t, xv);
        for (int e = 0; e < EIGHT; e++)
            yv[turned(c, e)] = s = av[turned(c, e)] * s + xv[turned(c, e)];
        put_eight(y, t, yv);
    }
    memcpy(state, &s, sizeof s);
    return k;
}

static void forward_chunk(const chunk *c, const tile *a, const tile *x, float *state, tile *y)
{
    int64_t k = forward_eights(c, a, x, state, y);
    for (int64_t t = c->first + k * c->step; k < c->n; k++, t += c->step)
        for (int i = 0; i < SIDE; i++) {
            state[i] = a->at[i][t] * state[i] + x->at[i][t];
            y->at[i][t] = state[i];
        }
}

static void forward_lines(const simd_scan *s, int64_t group, bool past)
{
    const side l = side_of(s, group);
    float state[SIDE];
    tile a, x, y;
    take_states(state, s->initial, &l, group);
    for (int64_t i = 0; i * CHUNK < s->size; i++) {
        const chunk c = chunk_of(s->size, i, s->reverse);
        take(&a, 0, s->a, &l, c.low, c.n, c.step);
        take(&x, 0, s->x, &l, c.low, c.n, c.step);
        forward_chunk(&c, &a, &x, state, &y);
        put_lines(s->y, &y, &l, &c, past);
    }
}

/* y one step earlier in the direction of the scan: at its first step the initial state. */
static void take_before(const simd_scan *s, const side *l, const chunk *c, const float *initial,
                        tile *before)
{
    bool starts = s->reverse ? c->low + c->n == s->size : c->low == 0;
    int64_t n = c->n - starts, low = s->reverse ? c->low + 1 : c->low - !starts;
    take(before, !s->reverse && starts, s->y, l, low, n, c->step);
    for (int i = 0; i < SIDE && starts; i++)
        before->at[i][s->reverse ? c->n - 1 : 0] = initial[i];
}

static int64_t backward_eights(const chunk *c, const tile *dy, const tile *a, const tile *before,
                               float *carried, tile *dx, tile *da)
{
    simd_eight s, dyv[EIGHT], av[EIGHT], yv[EIGHT];
    memcpy(&s, carried, sizeof s);
    int64_t k = 0;
    for (; k + EIGHT <= c->n; k += EIGHT) {
        int64_t t = c->step > 0 ? k : c->n - k - EIGHT;
        take_eight(dy, t, dyv);
        take_eight(a, t, av);
        take_eight(before, t, yv);
        for (int e = 0; e < EIGHT; e++) {
            int i = turned(c, e);
            dyv[i] += s;
            yv[i] *= dyv[i];
            s = av[i] * dyv[i];
        }
        put_eight(dx, t, dyv);
        put_eight(da, t, yv);
    }
    memcpy(carried, &s, sizeof s);
    return k;
}

static void backward_chunk(const chunk *c, const tile *dy, const tile *a, const tile *before,
                           float *carried, tile *dx, tile *da)
{
    int64_t k = backward_eights(c, dy, a, before, carried, dx, da);
    for (int64_t t = c->first + k * c->step; k < c->n; k++, t += c->step)
        for (int i = 0; i < SIDE; i++) {
            float d = dy->at[i][t] + carried[i];
            dx->at[i][t] = d;
            da->at[i][t] = d * before->at[i][t];
            carried[i] = a->at[i][t] * d;
        }
}

static void backward_lines(const simd_scan *s, int64_t group, bool past)
{
    const side l = side_of(s, group);
    float carried[SIDE] = {0}, initial[SIDE];
    tile dy, a, before, dx, da;
    take_states(initial, s->initial, &l, group);
    for (int64_t i = 0; i * CHUNK < s->size; i++) {
        const chunk c = chunk_of(s->size, i, !s->reverse);
        take(&dy, 0, s->dy, &l, c.low, c.n, c.step);
        take(&a, 0, s->a, &l, c.low, c.n, c.step);
        take_before(s, &l, &c, initial, &before);
        backward_chunk(&c, &dy, &a, &before, carried, &dx, &da);
        put_lines(s->dx, &dx, &l, &c, past);
        put_lines(s->da, &da, &l, &c, past);
    }
    for (int64_t i = 0; i < l.count; i++)
        s->dinitial[group * SIDE + i] = carried[i];
}

/* ---- both ------------------------------------------------------------------------------------ */

typedef void scan_block(const simd_scan *s, int64_t b, bool past);

typedef struct scan_blocks {
    const simd_scan *s;
    scan_block *run;
    int64_t count;
    bool past;
} scan_blocks;

static void run_member(const void *args, simd_member m)
{
    const scan_blocks *a = args;
    for (int64_t b = simd_first(m, a->count); b < simd_end(m, a->count); b++)
        a->run(a->s, b, a->past);
    simd_stream_end();
}

static void each_block(const simd_scan *s, bool past, scan_block *by_lines, scan_block *by_columns)
{
    bool lines = s->inner == 1;
    int64_t count =
        lines ? (s->outer + SIDE - 1) / SIDE : s->outer * ((s->inner + COLUMNS - 1) / COLUMNS);
    simd_team(s->threads, run_member,
              &(scan_blocks){s, lines ? by_lines : by_columns, count, past});
}

/* Results in whole cache lines, and more of them than the caches hold. */
static bool streams(const simd_scan *s, int64_t results, const float *a, const float *b)
{
    return simd_streams(results * s->outer * s->size * s->inner, s->inner == 1 ? s->size : s->inner,
                        a, b);
}

void SIMD(scan_forward)(const simd_scan *s)
{
    each_block(s, streams(s, 1, s->y, NULL), forward_lines, forward_columns);
}

void SIMD(scan_backward)(const simd_scan *s)
{
    each_block(s, streams(s, 2, s->dx, s->da), backward_lines, backward_columns);
}
