/* The steps of lstm and gru; the formulas are in ops/recurrent_steps.c.
 *
 * wh is packed once for all steps.  In a step, each thread computes its own units: a tile of some
 * rows of the batch and of all gates of one vector of units is multiplied in registers, and the
 * gates' functions follow while it is in the nearest cache.  The weights of own units stay in the
 * thread's caches from step to step; threads meet once a step, since each needs the states of all
 * units.  Where there are more threads than panels of units, several share a panel, each with some
 * sequences of the batch.
 *
 * Each number is computed by one thread in one order: the bits do not depend on the number of
 * threads. */
#include "backends/simd/kernels/recurrent.h"
#include "backends/simd/kernels/transpose.h"

/* Forward, a panel has the rows of wh of all gates of LANES units, transposed: [units, gates,
 * LANES].  The last may have fewer units, and is as narrow as they allow. */
typedef struct unit_panel {
    int64_t first, count; /* units */
    int64_t lanes;        /* from one gate to the next: a vector, a half or a quarter of one */
    int64_t vectors;      /* of all gates */
} unit_panel;

static unit_panel panel_of(const run *r, int64_t i)
{
    int64_t first = i * LANES, count = simd_smaller(LANES, r->s->units - first);
    int64_t lanes = count <= QUARTET ? QUARTET : count <= LANES / 2 ? LANES / 2 : LANES;
    return (unit_panel){first, count, lanes, simd_divide_up(r->gates * lanes, LANES)};
}

/* `count` rows of one gate; the rest of the panel stays zero. */
static void pack_gate(const run *r, const float *from, int64_t count, float *to, int64_t stride)
{
    int64_t units = r->s->units, whole = 0;
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
    const unit_panel own = panel_of(r, i);
    float *to = r->weights + i * r->panel;
    if (own.count < LANES)
        memset(to, 0, (size_t)r->panel * sizeof *to);
    for (int64_t gate = 0; gate < r->gates; gate++)
        pack_gate(r, s->wh + (gate * s->units + own.first) * s->units, own.count,
                  to + gate * own.lanes, own.vectors * LANES);
}

/* Operands of some units of the rows of a tile in one step.  Those of the next gate follow `stride`
 * numbers later in p, bh and gates, `lanes` in sum, which is wh h; those of the next row as many as
 * `row` says. */
typedef struct front {
    const float *p, *bh, *sum, *before; /* before: c of lstm, h of gru */
    float *gates, *h, *next, *more;     /* next: h for the next step; more: c of lstm, m of gru */
    int64_t rows, stride, lanes;
    struct {
        int64_t gates, sum, before, state, next; /* p as gates, h and more as state */
    } row;
} front;

static front after_rows(const front *x, int64_t rows)
{
    front y = *x;
    y.p += rows * x->row.gates;
    y.sum += rows * x->row.sum;
    y.before += rows * x->row.before;
    y.gates += rows * x->row.gates;
    y.h += rows * x->row.state;
    y.next += rows * x->row.next;
    y.more += rows * x->row.state;
    return y;
}

static front after_units(const front *x, int64_t units)
{
    front y = *x;
    y.p += units;
    y.bh = x->bh ? x->bh + units : NULL;
    y.sum += units;
    y.before += units;
    y.gates += units;
    y.h += units;
    y.next += units;
    y.more += units;
    return y;
}

SIMD_INLINE void lstm_row(const front *x, int count)
{
    const float *p = x->p, *sum = x->sum, *c_before = x->before;
    float *gates = x->gates, *h = x->h, *next = x->next, *c = x->more;
    int64_t stride = x->stride, lanes = x->lanes;
#pragma omp simd
    for (int l = 0; l < count; l++) {
        float i = simd_sigmoid(p[l] + sum[l]), f = simd_sigmoid(p[stride + l] + sum[lanes + l]),
              g = simd_tanh(p[2 * stride + l] + sum[2 * lanes + l]),
              o = simd_sigmoid(p[3 * stride + l] + sum[3 * lanes + l]);
        float state = f * c_before[l] + i * g;
        gates[l] = i;
        gates[stride + l] = f;
        gates[2 * stride + l] = g;
        gates[3 * stride + l] = o;
        c[l] = state;
        h[l] = next[l] = o * simd_tanh(state);
    }
}

SIMD_INLINE void gru_row(const front *x, int count)
{
    const float *p = x->p, *bh = x->bh, *sum = x->sum, *h_before = x->before;
    float *gates = x->gates, *h = x->h, *next = x->next, *to = x->more;
    int64_t stride = x->stride, lanes = x->lanes;
#pragma omp simd
    for (int l = 0; l < count; l++) {
        float r = simd_sigmoid(p[l] + (sum[l] + bh[l])),
              z = simd_sigmoid(p[stride + l] + (sum[lanes + l] + bh[stride + l])),
              m = sum[2 * lanes + l] + bh[2 * stride + l], n = simd_tanh(p[2 * stride + l] + r * m);
        gates[l] = r;
        gates[stride + l] = z;
        gates[2 * stride + l] = n;
        to[l] = m;
        h[l] = next[l] = n + z * (h_before[l] - n);
    }
}

/* `count` units of all rows; gru and count are constants where this is called. */
SIMD_INLINE void units_of(const front *x, bool gru, int count)
{
    front row = *x;
    for (int64_t i = 0; i < x->rows; i++, row = after_rows(&row, 1))
        if (gru)
            gru_row(&row, count);
        else
            lstm_row(&row, count);
}

static void copy_gates(int64_t gates, const float *from, int64_t from_stride, float *to,
                       int64_t to_stride, int64_t count)
{
    for (int64_t i = 0; i < gates; i++)
        for (int64_t l = 0; l < count; l++)
            to[i * to_stride + l] = from[i * from_stride + l];
}

/* The last one to three units of a row, moved to vectors of four and back. */
SIMD_INLINE void last_units_of(const front *x, bool gru, int64_t count)
{
    float p[GATES * QUARTET] = {0}, bh[GATES * QUARTET] = {0}, before[QUARTET] = {0},
                    gates[GATES * QUARTET], h[QUARTET], next[QUARTET], more[QUARTET];
    const front four = {p,
                        bh,
                        x->sum,
                        before,
                        gates,
                        h,
                        next,
                        more,
                        .rows = 1,
                        .stride = QUARTET,
                        .lanes = x->lanes};
    copy_gates(gru ? 3 : 4, x->p, x->stride, p, QUARTET, count);
    if (x->bh)
        copy_gates(gru ? 3 : 4, x->bh, x->stride, bh, QUARTET, count);
    for (int64_t l = 0; l < count; l++)
        before[l] = x->before[l];
    units_of(&four, gru, QUARTET);
    copy_gates(gru ? 3 : 4, gates, QUARTET, x->gates, x->stride, count);
    for (int64_t l = 0; l < count; l++) {
        x->h[l] = x->next[l] = h[l];
        x->more[l] = more[l];
    }
}

/* `count` units of all rows: a vector or, of fewer units than LANES <= 16, a half and a quarter of
 * one, then the rest. */
SIMD_INLINE void forward_units(front x, bool gru, int64_t count)
{
    if (count == LANES) {
        units_of(&x, gru, LANES);
        return;
    }
    if (LANES > 8 && count & 8) {
        units_of(&x, gru, 8);
        x = after_units(&x, 8);
    }
    if (LANES > QUARTET && count & QUARTET) {
        units_of(&x, gru, QUARTET);
        x = after_units(&x, QUARTET);
    }
    for (int64_t i = 0; count % QUARTET && i < x.rows; i++) {
        const front row = after_rows(&x, i);
        last_units_of(&row, gru, count % QUARTET);
    }
}

/* Sequences b to b + rows in step k, the units of a panel; `sum` is wh h. */
static void forward_rows(const run *r, int64_t b, int64_t rows, int64_t k, const unit_panel *own,
                         const float *sum)
{
    const simd_recurrent *s = r->s;
    int64_t U = s->units, first = own->first, place = place_of(s, b, k), at = place * U + first;
    const float *h_before = r->state[k % 2] + b * U + first;
    const front x = {.p = s->p + place * r->gates * U + first,
                     .bh = s->gru ? s->bh + first : NULL,
                     .sum = sum,
                     .before = s->gru ? h_before : before(s, s->c, s->c0, b, k, first),
                     .gates = s->gates + place * r->gates * U + first,
                     .h = s->h + at,
                     .next = r->state[(k + 1) % 2] + b * U + first,
                     .more = (s->gru ? s->m : s->c) + at,
                     .rows = rows,
                     .stride = U,
                     .lanes = own->lanes,
                     .row = {.gates = s->steps * r->gates * U,
                             .sum = own->vectors * LANES,
                             .before = s->gru || k == 0 ? U : s->steps * U,
                             .state = s->steps * U,
                             .next = U}};
    if (s->gru)
        forward_units(x, true, own->count);
    else
        forward_units(x, false, own->count);
    for (int64_t i = 0; i < rows; i++) {
        if (!has_ended(s, b + i, k))
            continue;
        const front row = after_rows(&x, i);
        size_t size = (size_t)own->count * sizeof(float);
        memcpy(row.h, h_before + i * U, size);
        memcpy(row.next, h_before + i * U, size);
        if (!s->gru)
            memcpy(row.more, row.before, size);
    }
}

/* Brings what forward_rows reads and writes into the nearest cache while the product is
 * computed. */
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

static void forward_task(const run *r, int64_t k, const task *t)
{
    const simd_recurrent *s = r->s;
    const unit_panel own = panel_of(r, t->i);
    const float *weights = r->weights + t->i * r->panel, *h = r->state[k % 2];
    _Alignas(64) float sum[ROWS * WIDTH];
    for (int64_t b = t->begin, rows; b < t->end; b += rows) {
        rows = rows_of_tile(t->end - b);
        for (int64_t row = 0; row < rows; row++)
            fetch_row(r, b + row, k, own.first);
        multiply_by[own.vectors](rows, h + b * s->units, s->units, weights, s->units, sum);
        forward_rows(r, b, rows, k, &own, sum);
    }
}

static void forward_share(const void *args, simd_member m)
{
    const run *r = args;
    int64_t tasks = r->panels * r->groups;
    pack_panels(r, m, pack_forward);
    for (int64_t k = 0; k < r->s->steps; k++) {
        for (int64_t i = simd_first(m, tasks); i < simd_end(m, tasks); i++) {
            const task own = task_of(r, i);
            forward_task(r, k, &own);
        }
        simd_meet(m);
    }
}

void SIMD(recurrent_forward)(const simd_recurrent *s)
{
    const run r = run_of(s, LANES, (s->gru ? 3 : 4) * LANES * s->units, s->units);
    memcpy(r.state[0], s->h0, (size_t)(s->batch * s->units) * sizeof(float));
    simd_team(r.threads, forward_share, &r);
}
