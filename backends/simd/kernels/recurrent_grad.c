/* The gradient of the steps of lstm and gru (recurrent.c); the formulas are in
 * ops/recurrent_steps.c.
 *
 * In a step, from the last to the first, the functions come first, and then the product dp wh, for
 * own units again, whose weights stay in the thread's caches.  Threads meet once a step, since each
 * needs the dp of all units; each number is computed by one thread in one order.  As forward, where
 * there are more threads than panels, several share a panel, each with some sequences. */
#include "backends/simd/kernels/recurrent.h"

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

/* Brings what row_back reads and writes into the nearest cache while it computes another row. */
static void fetch_back(const run *r, const back *x)
{
    int64_t U = r->s->units;
    for (int64_t l = 0; l < x->width; l += SIMD_LINE) {
        for (int64_t gate = 0; gate < r->gates; gate++) {
            __builtin_prefetch(x->gates + gate * U + l);
            __builtin_prefetch(x->dp + gate * U + l, 1);
        }
        __builtin_prefetch(x->dh + l);
        __builtin_prefetch(x->before + l);
        if (!r->s->gru) {
            __builtin_prefetch(x->dc + l);
            __builtin_prefetch(x->c + l);
        }
    }
}

static void gates_backward(const run *r, int64_t k, const task *t)
{
    enum { AHEAD = 2 };
    const simd_recurrent *s = r->s;
    for (int64_t b = t->begin; b < t->end; b++) {
        const back x = back_of(r, b, k, t->i * WIDTH);
        if (b + AHEAD < t->end) {
            const back next = back_of(r, b + AHEAD, k, t->i * WIDTH);
            fetch_back(r, &next);
        }
        if (has_ended(s, b, k))
            pass_by(r, &x);
        else
            row_back(r, &x);
    }
}

/* to_h += d wh */
static void product_backward(const run *r, int64_t k, const task *t)
{
    int64_t i = t->i, terms = r->gates * r->s->units, vectors = vectors_of(r, i);
    int64_t width = vectors * LANES;
    const float *panel = r->weights + i * r->panel, *d = r->state[k % 2];
    _Alignas(64) float sum[ROWS * WIDTH];
    for (int64_t b = t->begin, rows; b < t->end; b += rows) {
        rows = rows_of_tile(t->end - b);
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
    int64_t tasks = r->panels * r->groups, first = simd_first(m, tasks), end = simd_end(m, tasks);
    pack_panels(r, m, pack_backward);
    for (int64_t k = r->s->steps - 1; k >= 0; k--) {
        for (int64_t i = first; i < end; i++) {
            const task own = task_of(r, i);
            gates_backward(r, k, &own);
        }
        simd_meet(m);
        /* Own units: no barrier, since the next step reads only these, and writes another d. */
        for (int64_t i = first; i < end; i++) {
            const task own = task_of(r, i);
            product_backward(r, k, &own);
        }
    }
}

void SIMD(recurrent_backward)(const simd_recurrent *s)
{
    int64_t gates = s->gru ? 3 : 4;
    const run r = run_of(s, WIDTH, gates * s->units * WIDTH, gates * s->units);
    memset(r.carried[0], 0, (size_t)(2 * s->batch * r.padded) * sizeof(float));
    simd_team(r.threads, backward_share, &r);
    copy_carried(&r, r.carried[0], s->dh0);
    if (!s->gru)
        copy_carried(&r, r.carried[1], s->dc0);
}
