/* The steps of lstm and gru, and their gradient; the formulas are in ops/recurrent_steps.c.
 *
 * wh is packed once for all steps.  In a step, each thread computes its own units: a tile of some
 * rows of the batch and of all gates of one vector of units is multiplied in registers, and the
 * gates' functions follow while it is in the nearest cache.  Backward, the functions come first,
 * and then the product dp wh, for own units again.  The weights of own units stay in the thread's
 * caches from step to step; threads meet once a step, since each needs the states of all units.
 *
 * Each number is computed by one thread in one order: the bits do not depend on the number of
 * threads. */
#include "backends/simd/kernels/functions.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/small.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/transpose.h"
#include "backends/simd/kernels/unrolled.h"

enum {
    LANES = SIMD_LANES,
    GATES = 4,             /* at most */
    WIDTH = GATES * LANES, /* units of a panel of the backward product */
    QUARTET = 4,           /* units that any instruction set computes side by side */
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
    int64_t gates;         /* of the product: 4 or 3 */
    int64_t padded;        /* units of a row of `carried`: whole panels */
    int64_t panels, panel; /* how many, and of how many floats */
    float *weights;
    float
        *state[2]; /* h before and after a step, [batch, units]; or d of two steps, [batch, G U] */
    float *carried[2]; /* backward: cotangents of h and c before the step, [batch, padded] */
} run;

static run run_of(const simd_recurrent *s, int64_t width, int64_t terms, int64_t row)
{
    run r = {.s = s, .gates = s->gru ? 3 : 4, .weights = s->scratch};
    r.panels = (s->units + width - 1) / width;
    r.padded = r.panels * width;
    r.panel = terms;
    r.state[0] = r.weights + r.panels * r.panel;
    r.state[1] = r.state[0] + s->batch * row;
    r.carried[0] = r.state[1] + s->batch * row;
    r.carried[1] = r.carried[0] + s->batch * r.padded;
    return r;
}

/* The time of step k; steps[b, t] is number place_of of all. */
static int64_t time_of(const simd_recurrent *s, int64_t k)
{
    return s->reverse ? s->steps - 1 - k : k;
}

static int64_t place_of(const simd_recurrent *s, int64_t b, int64_t k)
{
    return b * s->steps + time_of(s, k);
}

static bool has_ended(const simd_recurrent *s, int64_t b, int64_t k)
{
    int64_t t = time_of(s, k);
    return s->lengths64 ? t >= s->lengths64[b] : s->lengths32 ? t >= s->lengths32[b] : false;
}

/* The states of units from `first` on before step k, of sequence b: v after the step before, or the
 * first. */
static const float *before(const simd_recurrent *s, const float *v, const float *initial, int64_t b,
                           int64_t k, int64_t first)
{
    return (k > 0 ? v + place_of(s, b, k - 1) * s->units : initial + b * s->units) + first;
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
static int64_t rows_of_tile(int64_t left)
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

/* ---- forward --------------------------------------------------------------------------------- */

/* A panel has the rows of wh of all gates of LANES units, transposed: [units, gates, LANES].  These
 * are `count` rows of one gate; the rest of the panel stays zero. */
static void pack_gate(const run *r, const float *from, int64_t count, float *to)
{
    int64_t units = r->s->units, stride = r->gates * LANES, whole = 0;
    for (; count == LANES && whole + SIMD_STEP <= units; whole += SIMD_STEP)
        for (int64_t unit = 0; unit < LANES; unit += 4)
            simd_transpose(from + unit * units + whole, units, to + whole * stride + unit, stride);
    for (int64_t unit = 0; unit < count; unit++)
        for (int64_t p = whole; p < units; p++)
            to[p * stride + unit] = from[unit * units + p];
}

static void pack_forward(const run *r, int64_t i)
{
    const simd_recurrent *s = r->s;
    float *to = r->weights + i * r->panel;
    int64_t first = i * LANES, count = simd_smaller(LANES, s->units - first);
    if (count < LANES)
        memset(to, 0, (size_t)r->panel * sizeof *to);
    for (int64_t gate = 0; gate < r->gates; gate++)
        pack_gate(r, s->wh + (gate * s->units + first) * s->units, count, to + gate * LANES);
}

/* Operands of some units of one row in one step.  Those of the next gate follow `stride` numbers
 * later in p, bh and gates, LANES in sum, which is wh h. */
typedef struct front {
    const float *p, *bh, *sum, *before; /* before: c of lstm, h of gru */
    float *gates, *h, *next, *more;     /* next: h for the next step; more: c of lstm, m of gru */
    int64_t stride;
} front;

SIMD_INLINE void lstm_units(const front *x, int lanes)
{
    const float *p = x->p, *sum = x->sum, *c_before = x->before;
    float *gates = x->gates, *h = x->h, *next = x->next, *c = x->more;
    int64_t stride = x->stride;
#pragma omp simd
    for (int l = 0; l < lanes; l++) {
        float i = simd_sigmoid(p[l] + sum[l]), f = simd_sigmoid(p[stride + l] + sum[LANES + l]),
              g = simd_tanh(p[2 * stride + l] + sum[2 * LANES + l]),
              o = simd_sigmoid(p[3 * stride + l] + sum[3 * LANES + l]);
        float state = f * c_before[l] + i * g;
        gates[l] = i;
        gates[stride + l] = f;
        gates[2 * stride + l] = g;
        gates[3 * stride + l] = o;
        c[l] = state;
        h[l] = next[l] = o * simd_tanh(state);
    }
}

SIMD_INLINE void gru_units(const front *x, int lanes)
{
    const float *p = x->p, *bh = x->bh, *sum = x->sum, *h_before = x->before;
    float *gates = x->gates, *h = x->h, *next = x->next, *to = x->more;
    int64_t stride = x->stride;
#pragma omp simd
    for (int l = 0; l < lanes; l++) {
        float r = simd_sigmoid(p[l] + (sum[l] + bh[l])),
              z = simd_sigmoid(p[stride + l] + (sum[LANES + l] + bh[stride + l])),
              m = sum[2 * LANES + l] + bh[2 * stride + l], n = simd_tanh(p[2 * stride + l] + r * m);
        gates[l] = r;
        gates[stride + l] = z;
        gates[2 * stride + l] = n;
        to[l] = m;
        h[l] = next[l] = n + z * (h_before[l] - n);
    }
}

/* `lanes` units, a constant where this is called. */
SIMD_INLINE void units_of(const run *r, const front *x, int lanes)
{
    if (r->s->gru)
        gru_units(x, lanes);
    else
        lstm_units(x, lanes);
}

static void copy_gates(const run *r, const float *from, int64_t from_stride, float *to,
                       int64_t to_stride, int64_t count)
{
    for (int64_t i = 0; i < r->gates; i++)
        for (int64_t l = 0; l < count; l++)
            to[i * to_stride + l] = from[i * from_stride + l];
}

/* The last one to three units, moved to vectors of four and back. */
static void last_units_of(const run *r, const front *x, int64_t count)
{
    float p[GATES * QUARTET] = {0}, bh[GATES * QUARTET] = {0}, before[QUARTET] = {0},
                    gates[GATES * QUARTET], h[QUARTET], next[QUARTET], more[QUARTET];
    const front four = {p, bh, x->sum, before, gates, h, next, more, QUARTET};
    copy_gates(r, x->p, x->stride, p, QUARTET, count);
    if (x->bh)
        copy_gates(r, x->bh, x->stride, bh, QUARTET, count);
    for (int64_t l = 0; l < count; l++)
        before[l] = x->before[l];
    units_of(r, &four, QUARTET);
    copy_gates(r, gates, QUARTET, x->gates, x->stride, count);
    for (int64_t l = 0; l < count; l++) {
        x->h[l] = x->next[l] = h[l];
        x->more[l] = more[l];
    }
}

static front after(const front *x, int64_t units)
{
    return (front){.p = x->p + units,
                   .bh = x->bh ? x->bh + units : NULL,
                   .sum = x->sum + units,
                   .before = x->before + units,
                   .gates = x->gates + units,
                   .h = x->h + units,
                   .next = x->next + units,
                   .more = x->more + units,
                   .stride = x->stride};
}

/* Fewer than LANES <= 16 units: a half and a quarter of a vector, then the rest. */
static void some_units_of(const run *r, front x, int64_t count)
{
    if (LANES > 8 && count & 8) {
        units_of(r, &x, 8);
        x = after(&x, 8);
    }
    if (LANES > QUARTET && count & QUARTET) {
        units_of(r, &x, QUARTET);
        x = after(&x, QUARTET);
    }
    if (count % QUARTET)
        last_units_of(r, &x, count % QUARTET);
}

/* Sequence b in step k, units from `first` on; `sum` is wh h of LANES units. */
static void forward_row(const run *r, int64_t b, int64_t k, int64_t first, const float *sum)
{
    const simd_recurrent *s = r->s;
    int64_t U = s->units, place = place_of(s, b, k), at = place * U + first,
            width = simd_smaller(LANES, U - first);
    const float *h_before = r->state[k % 2] + b * U + first;
    const front x = {.p = s->p + place * r->gates * U + first,
                     .bh = s->gru ? s->bh + first : NULL,
                     .sum = sum,
                     .before = s->gru ? h_before : before(s, s->c, s->c0, b, k, first),
                     .gates = s->gates + place * r->gates * U + first,
                     .h = s->h + at,
                     .next = r->state[(k + 1) % 2] + b * U + first,
                     .more = (s->gru ? s->m : s->c) + at,
                     .stride = U};
    if (width == LANES)
        units_of(r, &x, LANES);
    else
        some_units_of(r, x, width);
    if (has_ended(s, b, k)) {
        size_t size = (size_t)width * sizeof(float);
        memcpy(x.h, h_before, size);
        memcpy(x.next, h_before, size);
        if (!s->gru)
            memcpy(x.more, x.before, size);
    }
}

/* Brings what forward_row reads and writes into the nearest cache while the product is computed. */
static void fetch_row(const run *r, int64_t b, int64_t k, int64_t first)
{
    const simd_recurrent *s = r->s;
    int64_t place = place_of(s, b, k), row = place * r->gates * s->units + first;
    for (int64_t gate = 0; gate < r->gates; gate++) {
        __builtin_prefetch(s->p + row + gate * s->units);
        __builtin_prefetch(s->p + row + gate * s->units + LANES - 1);
        __builtin_prefetch(s->gates + row + gate * s->units, 1);
        __builtin_prefetch(s->gates + row + gate * s->units + LANES - 1, 1);
    }
    __builtin_prefetch((s->gru ? s->m : s->c) + place * s->units + first, 1);
    __builtin_prefetch(s->h + place * s->units + first, 1);
}

static void forward_panel(const run *r, int64_t k, int64_t i)
{
    const simd_recurrent *s = r->s;
    const float *panel = r->weights + i * r->panel, *h = r->state[k % 2];
    _Alignas(64) float sum[ROWS * WIDTH];
    for (int64_t b = 0, rows; b < s->batch; b += rows) {
        rows = rows_of_tile(s->batch - b);
        for (int64_t row = 0; row < rows; row++)
            fetch_row(r, b + row, k, i * LANES);
        multiply_by[r->gates](rows, h + b * s->units, s->units, panel, s->units, sum);
        for (int64_t row = 0; row < rows; row++)
            forward_row(r, b + row, k, i * LANES, sum + row * r->gates * LANES);
    }
}

/* Short steps are not worth a meeting of threads. */
static int threads_for(const simd_recurrent *s)
{
    enum { SHORT = 1 << 17 };
    return s->batch * s->units * s->units * 4 < SHORT ? 1 : s->threads;
}

static void forward_share(const void *args, simd_member m)
{
    const run *r = args;
    int64_t first = simd_first(m, r->panels), end = simd_end(m, r->panels);
    for (int64_t i = first; i < end; i++)
        pack_forward(r, i);
    for (int64_t k = 0; k < r->s->steps; k++) {
        for (int64_t i = first; i < end; i++)
            forward_panel(r, k, i);
        simd_meet(m);
    }
}

void SIMD(recurrent_forward)(const simd_recurrent *s)
{
    const run r = run_of(s, LANES, (s->gru ? 3 : 4) * LANES * s->units, s->units);
    memcpy(r.state[0], s->h0, (size_t)(s->batch * s->units) * sizeof(float));
    simd_team(threads_for(s), forward_share, &r);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Vectors of a panel of WIDTH units, the last of which may have fewer. */
static int64_t vectors_of(const run *r, int64_t i)
{
    int64_t left = r->s->units - i * WIDTH;
    return left < WIDTH ? (left + LANES - 1) / LANES : GATES;
}

/* A panel has WIDTH columns of wh, [G U, WIDTH], the last as many whole vectors as it needs. */
static void pack_backward(const run *r, int64_t i)
{
    const simd_recurrent *s = r->s;
    float *to = r->weights + i * r->panel;
    int64_t first = i * WIDTH, count = simd_smaller(WIDTH, s->units - first),
            width = vectors_of(r, i) * LANES;
    for (int64_t row = 0; row < r->gates * s->units; row++, to += width) {
        memset(to + count, 0, (size_t)(width - count) * sizeof *to);
        memcpy(to, s->wh + row * s->units + first, (size_t)count * sizeof *to);
    }
}

/* Operands of one row in one step from unit `first` on, `width` units; d [G U] for the product. */
typedef struct back {
    const float *gates, *dh, *dc, *c, *m, *before;
    float *to_h, *to_c, *dp, *dq, *d;
    int64_t width;
} back;

static back back_of(const run *r, int64_t b, int64_t k, int64_t first)
{
    const simd_recurrent *s = r->s;
    int64_t place = place_of(s, b, k), at = place * s->units + first, U = s->units;
    return (back){.gates = s->gates + place * r->gates * U + first,
                  .dh = s->dh + at,
                  .dc = s->gru ? NULL : s->dc + at,
                  .c = s->gru ? NULL : s->c + at,
                  .m = s->gru ? s->m + at : NULL,
                  .before = s->gru ? before(s, s->h, s->h0, b, k, first)
                                   : before(s, s->c, s->c0, b, k, first),
                  .to_h = r->carried[0] + b * r->padded + first,
                  .to_c = r->carried[1] + b * r->padded + first,
                  .dp = s->dp + place * r->gates * U + first,
                  .dq = s->gru ? s->dq + place * 3 * U + first : NULL,
                  .d = r->state[k % 2] + b * r->gates * U + first,
                  .width = simd_smaller(WIDTH, U - first)};
}

/* to_h becomes the part of the cotangent that bypasses the product; units from `from` to `end`. */
SIMD_INLINE void lstm_back(const back *x, int64_t U, int64_t from, int64_t end)
{
    const float *gates = x->gates, *dh = x->dh, *dc = x->dc, *c = x->c, *c_before = x->before;
    float *to_h = x->to_h, *to_c = x->to_c, *dp = x->dp, *to = x->d;
#pragma omp simd
    for (int64_t l = from; l < end; l++) {
        float i = gates[l], f = gates[U + l], g = gates[2 * U + l], o = gates[3 * U + l];
        float h = dh[l] + to_h[l], s = simd_tanh(c[l]);
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an LSTM has dc */
        float d = dc[l] + to_c[l] + h * o * (1 - s * s);
        float di = d * g * (i * (1 - i)), df = d * c_before[l] * (f * (1 - f)),
              dg = d * i * (1 - g * g), dout = h * s * (o * (1 - o));
        dp[l] = to[l] = di;
        dp[U + l] = to[U + l] = df;
        dp[2 * U + l] = to[2 * U + l] = dg;
        dp[3 * U + l] = to[3 * U + l] = dout;
        to_h[l] = 0;
        to_c[l] = d * f;
    }
}

SIMD_INLINE void gru_back(const back *x, int64_t U, int64_t from, int64_t end)
{
    const float *gates = x->gates, *in = x->m, *dh = x->dh, *h_before = x->before;
    float *to_h = x->to_h, *dp = x->dp, *dq = x->dq, *to = x->d;
#pragma omp simd
    for (int64_t l = from; l < end; l++) {
        float r = gates[l], z = gates[U + l], n = gates[2 * U + l], m = in[l];
        float h = dh[l] + to_h[l];
        float a = h * (1 - z) * (1 - n * n), b = a * m * (r * (1 - r)),
              e = h * (h_before[l] - n) * (z * (1 - z));
        dp[l] = dq[l] = to[l] = b;
        dp[U + l] = dq[U + l] = to[U + l] = e;
        dp[2 * U + l] = a;
        dq[2 * U + l] = to[2 * U + l] = a * r;
        to_h[l] = h * z;
    }
}

SIMD_INLINE void units_back(const run *r, const back *x, int64_t from, int64_t end)
{
    if (r->s->gru)
        gru_back(x, r->s->units, from, end);
    else
        lstm_back(x, r->s->units, from, end);
}

/* Whole vectors, vectors of four, and the last units one by one. */
static void row_back(const run *r, const back *x)
{
    int64_t l = 0;
    for (; l + LANES <= x->width; l += LANES)
        units_back(r, x, l, l + LANES);
    for (; l + QUARTET <= x->width; l += QUARTET)
        units_back(r, x, l, l + QUARTET);
    units_back(r, x, l, x->width);
}

/* Of a sequence that has ended: cotangents of states pass. */
static void pass_by(const run *r, const back *x)
{
    for (int64_t l = 0; l < x->width; l++) {
        x->to_h[l] += x->dh[l];
        if (x->dc)
            x->to_c[l] += x->dc[l];
    }
    for (int64_t gate = 0; gate < r->gates; gate++) {
        size_t size = (size_t)x->width * sizeof(float);
        memset(x->dp + gate * r->s->units, 0, size);
        memset(x->d + gate * r->s->units, 0, size);
        if (x->dq)
            memset(x->dq + gate * r->s->units, 0, size);
    }
}

static void gates_backward(const run *r, int64_t k, int64_t i)
{
    const simd_recurrent *s = r->s;
    for (int64_t b = 0; b < s->batch; b++) {
        const back x = back_of(r, b, k, i * WIDTH);
        if (has_ended(s, b, k))
            pass_by(r, &x);
        else
            row_back(r, &x);
    }
}

/* to_h += d wh */
static void product_backward(const run *r, int64_t k, int64_t i)
{
    const simd_recurrent *s = r->s;
    int64_t terms = r->gates * s->units, vectors = vectors_of(r, i), width = vectors * LANES;
    const float *panel = r->weights + i * r->panel, *d = r->state[k % 2];
    _Alignas(64) float sum[ROWS * WIDTH];
    for (int64_t b = 0, rows; b < s->batch; b += rows) {
        rows = rows_of_tile(s->batch - b);
        multiply_by[vectors](rows, d + b * terms, terms, panel, terms, sum);
        for (int64_t row = 0; row < rows; row++) {
            float *to_h = r->carried[0] + (b + row) * r->padded + i * WIDTH;
            for (int64_t l = 0; l < width; l++)
                to_h[l] += sum[row * width + l];
        }
    }
}

static void copy_carried(const run *r, const float *carried, float *to)
{
    for (int64_t b = 0; b < r->s->batch; b++)
        memcpy(to + b * r->s->units, carried + b * r->padded, (size_t)r->s->units * sizeof *to);
}

static void backward_share(const void *args, simd_member m)
{
    const run *r = args;
    int64_t first = simd_first(m, r->panels), end = simd_end(m, r->panels);
    for (int64_t i = first; i < end; i++)
        pack_backward(r, i);
    for (int64_t k = r->s->steps - 1; k >= 0; k--) {
        for (int64_t i = first; i < end; i++)
            gates_backward(r, k, i);
        simd_meet(m);
        /* Own units: no barrier, since the next step reads only these, and writes another d. */
        for (int64_t i = first; i < end; i++)
            product_backward(r, k, i);
    }
}

void SIMD(recurrent_backward)(const simd_recurrent *s)
{
    int64_t gates = s->gru ? 3 : 4;
    const run r = run_of(s, WIDTH, gates * s->units * WIDTH, gates * s->units);
    memset(r.carried[0], 0, (size_t)(2 * s->batch * r.padded) * sizeof(float));
    simd_team(threads_for(s), backward_share, &r);
    copy_carried(&r, r.carried[0], s->dh0);
    if (!s->gru)
        copy_carried(&r, r.carried[1], s->dc0);
}
