/* What both directions of recurrent layers have in common: a run, and products of some rows with a
 * panel of packed weights. */
#ifndef WG_BACKENDS_SIMD_KERNELS_RECURRENT_H
#define WG_BACKENDS_SIMD_KERNELS_RECURRENT_H

#include "backends/simd/kernels/functions.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/small.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/unrolled.h"

enum {
    LANES = SIMD_LANES,
    GATES = 4,             /* at most */
    WIDTH = GATES * LANES, /* units of a panel of the backward product */
    QUARTET = 4,           /* units that any instruction set computes side by side */
    ROWS_OF_GROUP = 4,     /* at least: fewer would read too many weights for each */
#if defined(__AVX512F__)
    ROWS = 6, /* of a tile, 24 sums in 32 registers */
#elif defined(__AVX2__)
    ROWS = 3, /* 12 in 16 */
#else
    ROWS = 2,
#endif
};

/* What both directions need. */
typedef struct run {
    const simd_recurrent *s;
    int threads;
    int64_t gates;         /* of the product: 4 or 3 */
    int64_t padded;        /* units of a row of `carried`: whole panels */
    int64_t panels, panel; /* how many, and of how many floats */
    int64_t groups;        /* of sequences: in a step, a task is one panel for one group */
    float *weights;
    float *state[2];   /* [batch, units]: h before and after a step; or d of two, [batch, G U] */
    float *carried[2]; /* backward: cotangents of h and c before the step, [batch, padded] */
} run;

/* Short steps are not worth a meeting of threads, least of all of many. */
static inline int threads_for(const simd_recurrent *s)
{
    enum { SHORT = 1 << 17, SHARE = 1 << 14 };
    int64_t products = s->batch * s->units * s->units * 4;
    return products < SHORT || products / s->threads < SHARE ? 1 : s->threads;
}

/* Groups of sequences, for the fewest rows of panels that any thread computes in a step: one where
 * there are panels enough, since each group reads the weights of its panel. */
static inline int64_t groups_for(int64_t panels, int64_t batch, int threads)
{
    int64_t best = 1;
    for (int64_t groups = 2; groups <= threads && groups * ROWS_OF_GROUP <= batch; groups++)
        if (simd_divide_up(panels * groups, threads) * best <
            simd_divide_up(panels * best, threads) * groups)
            best = groups;
    return best;
}

static inline run run_of(const simd_recurrent *s, int64_t width, int64_t terms, int64_t row)
{
    run r = {.s = s, .threads = threads_for(s), .gates = s->gru ? 3 : 4, .weights = s->scratch};
    r.panels = (s->units + width - 1) / width;
    r.groups = groups_for(r.panels, s->batch, r.threads);
    r.padded = r.panels * width;
    r.panel = terms;
    r.state[0] = r.weights + r.panels * r.panel;
    r.state[1] = r.state[0] + s->batch * row;
    r.carried[0] = r.state[1] + s->batch * row;
    r.carried[1] = r.carried[0] + s->batch * r.padded;
    return r;
}

/* The time of step k; steps[b, t] is number place_of of all. */
static inline int64_t time_of(const simd_recurrent *s, int64_t k)
{
    return s->reverse ? s->steps - 1 - k : k;
}

static inline int64_t place_of(const simd_recurrent *s, int64_t b, int64_t k)
{
    return b * s->steps + time_of(s, k);
}

static inline bool has_ended(const simd_recurrent *s, int64_t b, int64_t k)
{
    int64_t t = time_of(s, k);
    return s->lengths64 ? t >= s->lengths64[b] : s->lengths32 ? t >= s->lengths32[b] : false;
}

/* The states of units from `first` on before step k, of sequence b: v after the step before, or the
 * first. */
static inline const float *before(const simd_recurrent *s, const float *v, const float *initial,
                                  int64_t b, int64_t k, int64_t first)
{
    return (k > 0 ? v + place_of(s, b, k - 1) * s->units : initial + b * s->units) + first;
}

/* A task of a step: panel `i`, and sequences from `begin` to `end`.  Those of a panel are side by
 * side. */
typedef struct task {
    int64_t i, begin, end;
} task;

static inline task task_of(const run *r, int64_t number)
{
    int64_t group = number % r->groups, batch = r->s->batch;
    return (task){number / r->groups, batch * group / r->groups, batch * (group + 1) / r->groups};
}

/* Packs the panels, each thread its share.  With several groups, threads compute with panels that
 * others have packed. */
static inline void pack_panels(const run *r, simd_member m, void (*pack)(const run *r, int64_t i))
{
    for (int64_t i = simd_first(m, r->panels); i < simd_end(m, r->panels); i++)
        pack(r, i);
    if (r->groups > 1)
        simd_meet(m);
}

/* ---- products -------------------------------------------------------------------------------- */

/* sum[i, v] = sum over p of a[i, p] panel[p, v], for `rows` rows and `vectors` vectors, constants
 * where this is called. */
SIMD_INLINE void multiply(const float *a, int64_t lda, const float *panel, int64_t terms, int rows,
                          int vectors, float *to)
{
    simd_vector sum[ROWS * GATES] = {{0}};
    for (int64_t p = 0; p < terms; p++, panel += vectors * LANES) {
        SIMD_UNROLLED
        for (int i = 0; i < rows; i++) {
            SIMD_UNROLLED
            for (int v = 0; v < vectors; v++)
                sum[i * vectors + v] += a[i * lda + p] * *(const simd_vector *)(panel + v * LANES);
        }
    }
    SIMD_UNROLLED
    for (int i = 0; i < rows * vectors; i++)
        *(simd_vector *)(to + i * LANES) = sum[i];
}

/* Rows of the next tile: 8 are two of 4, since one of 2 takes half as long as one of 6. */
static inline int64_t rows_of_tile(int64_t left)
{
    return left >= ROWS && left != 8 ? ROWS : left >= 4 && ROWS > 4 ? 4 : left >= 2 ? 2 : 1;
}

#define TILES(name, vectors)                                                                       \
    static void name(int64_t rows, const float *a, int64_t lda, const float *panel, int64_t terms, \
                     float *to)                                                                    \
    {                                                                                              \
        if (rows == ROWS)                                                                          \
            multiply(a, lda, panel, terms, ROWS, vectors, to);                                     \
        else if (ROWS > 4 && rows == 4)                                                            \
            multiply(a, lda, panel, terms, ROWS > 4 ? 4 : 1, vectors, to);                         \
        else if (rows == 2)                                                                        \
            multiply(a, lda, panel, terms, 2, vectors, to);                                        \
        else                                                                                       \
            multiply(a, lda, panel, terms, 1, vectors, to);                                        \
    }
TILES(multiply_1, 1)
TILES(multiply_2, 2)
TILES(multiply_3, 3)
TILES(multiply_4, 4)

typedef void tile_product(int64_t rows, const float *a, int64_t lda, const float *panel,
                          int64_t terms, float *to);
static tile_product *const multiply_by[GATES + 1] = {NULL, multiply_1, multiply_2, multiply_3,
                                                     multiply_4};

#endif
