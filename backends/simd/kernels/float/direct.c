/* Convolutions of few channels a group, without a product: with taps k, stride s, padding p and
 * dilation d, along each axis,
 *
 *     y[o] = sum over c and k of w[c, k] x[c, o s + k d - p]
 *
 * and the two gradients.  What is read is copied between zeros, so that no tap lies outside, and
 * divided by the remainder of its position by s, so that windows move by one: x[i], i + p = j s +
 * r, becomes number j of phase r.  Then tap k of output o lies at o plus an offset that depends on
 * k alone, also for the outputs of several rows, if the few places between two rows are computed
 * too: one sweep over a strip of rows, vector by vector, adds up w times what lies at each
 * offset.
 *
 * The gradient in x is the same with the roles of x and y exchanged: dx[i], i + p = u s + r, is the
 * sum over the taps with k d = e s + r of w[k] dy[u - e]: phases of what is computed, each of which
 * has some of the taps.  The gradient of the weights is a sum over o of dy[o] and what lies at each
 * offset; a tap's sums are lanes, which are added up in double now and then.
 *
 * Zeros make NaN of infinity: where the weights (the operands, for the gradient of the weights) are
 * not finite, pairs are multiplied one by one. */
#include "backends/simd/kernels/direct.h"
#include "backends/simd/kernels/finite.h"
#include "backends/simd/kernels/short_rows.h"
#include "backends/simd/kernels/tap_sums.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/vector.h"
#include "backends/simd/kernels/window.h"

enum { SUMS = 1 << 13 }; /* that a lane adds up, about, before it is added in double */
enum { X, Y };           /* tensors */

/* A thread's scratch */
typedef struct room {
    int64_t *offset; /* of each tap of each channel that is read */
    real *weight;    /* [taps, a block of outputs] */
    real *in, *out;  /* what is packed, and what is computed or, for weights, dy */
    vector *lane;
    double *sum;
} room;

static room room_of(const simd_direct *p, int me)
{
    char *at = (char *)p->a->scratch + (size_t)me * simd_direct_room(p, sizeof(real));
    room r = {.offset = (int64_t *)at};
    r.sum = (double *)(r.offset + p->inputs * p->taps);
    r.weight = (real *)(r.sum + p->sums);
    r.in = r.weight + SIMD_DIRECT_BLOCK * p->inputs * p->taps;
    r.out = r.in + p->inputs * p->channel + SIMD_DIRECT_SLACK;
    r.lane = (vector *)(r.out + SIMD_DIRECT_BLOCK * (p->part + SIMD_DIRECT_SLACK));
    return r;
}

/* ---- strips ---------------------------------------------------------------------------------- */

/* Outputs of a strip along each axis: where they begin, and how many */
typedef struct strip {
    int64_t first[SIMD_AXES], count[SIMD_AXES];
    int64_t length[SIMD_AXES]; /* of a phase of what is packed */
    int64_t row, plane, phase; /* numbers from one to the next of it */
} strip;

static strip strip_of(const simd_direct *p, int64_t i)
{
    strip s = {.first = {0}};
    for (int k = 0; k < SIMD_AXES; k++) {
        s.count[k] = p->axis[k].count;
        if (k == p->along) {
            s.first[k] = i * p->strip;
            s.count[k] = simd_smaller(p->strip, p->axis[k].count - s.first[k]);
        }
        s.length[k] = s.count[k] + p->axis[k].reach;
    }
    s.row = s.length[2];
    s.plane = s.length[1] * s.row;
    s.phase = s.length[0] * s.plane;
    return s;
}

/* Places of one depth of a strip, from its first output to its last */
static int64_t places(const strip *s)
{
    return (s->count[1] - 1) * s->row + s->count[2];
}

/* Numbers of a tensor of that kind in one channel */
static int64_t size_of(const simd_direct *p, int tensor)
{
    int64_t size = 1;
    for (int k = 0; k < SIMD_AXES; k++)
        size *= tensor == X ? p->axis[k].w->size : p->axis[k].w->count;
    return size;
}

static int64_t extent(const simd_direct *p, int k)
{
    return p->kind == SIMD_CONV_X ? p->axis[k].w->count : p->axis[k].w->size;
}

/* Number `j` of phase `phase` is this index of what is read. */
static int64_t index_of(const simd_direct *p, int k, int64_t phase, int64_t j)
{
    const simd_direct_axis *x = &p->axis[k];
    return p->kind == SIMD_CONV_X ? j - x->reach : j * x->w->stride + phase - x->w->padding;
}

/* A row of a phase: zeros up to number `before`, then each `step`-th number from `begin` on, then
 * zeros from number `past` to `count`. */
typedef struct span {
    int64_t begin, step, before, past, count;
} span;

static span span_of(const simd_direct *p, const strip *s, int64_t phase)
{
    int64_t step = p->axis[2].phases, first = index_of(p, 2, phase, s->first[2]), count = s->row;
    int64_t before = simd_smaller(simd_divide_up(-first, step), count);
    int64_t past = simd_smaller(simd_divide_up(extent(p, 2) - first, step), count);
    return (span){first + before * step, step, before, simd_larger(past, before), count};
}

SIMD_INLINE void pack_row(const span *r, const real *from, int64_t next, real *to)
{
    const int64_t n = r->past - r->before;
    simd_clear_row(to, r->before);
    if (r->step == 1)
        simd_copy_row(to + r->before, from + r->begin, n, next);
    else
        simd_copy_every(to + r->before, from + r->begin, r->step, n, next);
    simd_clear_row(to + r->past, r->count - r->past);
}

/* One channel's numbers that a strip needs; the next ones will be `next` numbers on. */
static void pack(const simd_direct *p, const strip *s, const real *from, int64_t next, real *to)
{
    const int64_t down = p->axis[1].phases, across = p->axis[2].phases;
    for (int64_t phase = 0; phase < p->axis[0].phases * down * across; phase++) {
        const int64_t of_z = phase / (across * down), of_y = phase / across % down;
        const span row = span_of(p, s, phase % across);
        for (int64_t k = 0; k < s->length[0]; k++) {
            const int64_t z = index_of(p, 0, of_z, s->first[0] + k);
            for (int64_t j = 0; j < s->length[1]; j++, to += s->row) {
                const int64_t y = index_of(p, 1, of_y, s->first[1] + j);
                if (z < 0 || z >= extent(p, 0) || y < 0 || y >= extent(p, 1))
                    memset(to, 0, (size_t)s->row * sizeof *to);
                else
                    pack_row(&row, from + (z * extent(p, 1) + y) * extent(p, 2), next, to);
            }
        }
    }
}

/* ---- taps ------------------------------------------------------------------------------------ */

/* Tap k of an axis: k d = steps s + rest */
typedef struct along {
    const simd_direct *p;
    int axis;
    int64_t next, next_phase; /* numbers from one to the next of what is packed */
    int64_t phase;            /* of what is computed */
    int64_t steps, rest;
} along;

/* Its offset is added; false: it is not of that phase of what is computed. */
static bool add_offset(const along *t, int64_t *offset)
{
    if (t->p->kind == SIMD_CONV_X) {
        *offset += (t->p->axis[t->axis].reach - t->steps) * t->next;
        return t->rest == t->phase;
    }
    *offset += t->rest * t->next_phase + t->steps * t->next;
    return true;
}

/* The next tap, without a division */
static void next_tap(along *t)
{
    const simd_direct_axis *x = &t->p->axis[t->axis];
    t->steps += x->whole;
    t->rest += x->rest;
    if (t->rest >= x->w->stride) {
        t->rest -= x->w->stride;
        t->steps++;
    }
}

/* Offsets of the taps of one channel in that phase of what is computed, and which they are; returns
 * their number. */
static int64_t list_taps(const simd_direct *p, const strip *s, int64_t phase, int64_t *offset,
                         int64_t *tap)
{
    bool back = p->kind == SIMD_CONV_X;
    const simd_window *d = p->axis[0].w, *h = p->axis[1].w, *w = p->axis[2].w;
    int64_t across = back ? w->stride : 1, down = back ? h->stride : 1, n = 0, t = 0;
    int64_t of_row = p->axis[2].phases * s->phase;
    along z = {p, 0, s->plane, p->axis[1].phases * of_row, phase / (across * down), 0, 0};
    for (int64_t i = 0; i < d->kernel; i++, next_tap(&z)) {
        int64_t of_z = 0;
        bool in_z = add_offset(&z, &of_z);
        along y = {p, 1, s->row, of_row, phase / across % down, 0, 0};
        for (int64_t j = 0; j < h->kernel; j++, next_tap(&y)) {
            int64_t of_y = of_z;
            bool in_y = add_offset(&y, &of_y) && in_z;
            along x = {p, 2, 1, s->phase, phase % across, 0, 0};
            for (int64_t k = 0; k < w->kernel; k++, t++, next_tap(&x)) {
                offset[n] = of_y;
                tap[n] = t;
                n += add_offset(&x, &offset[n]) && in_y;
            }
        }
    }
    return n;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* y[o][i] = sum over t of w[t, o] x[i + offset[t]], some vectors of some outputs; constants where
 * this is called. */
SIMD_INLINE void sweep_some(const real *x, const int64_t *offset, const real *w, int64_t taps,
                            int outputs, int vectors, real *y, int64_t pitch)
{
    vector sum[SIMD_DIRECT_BLOCK * 8] = {{0}};
    for (int64_t t = 0; t < taps; t++, w += outputs) {
        const real *from = x + offset[t];
        SIMD_UNROLLED
        for (int v = 0; v < vectors; v++) {
            vector in = *(const vector *)(from + v * LANES);
            SIMD_UNROLLED
            for (int o = 0; o < outputs; o++)
                sum[o * vectors + v] += w[o] * in;
        }
    }
    SIMD_UNROLLED
    for (int o = 0; o < outputs; o++) {
        SIMD_UNROLLED
        for (int v = 0; v < vectors; v++)
            *(vector *)(y + o * pitch + v * LANES) = sum[o * vectors + v];
    }
}

/* n places, and up to half of `most` vectors beyond */
SIMD_INLINE void sweep(const real *x, const int64_t *offset, const real *w, int64_t taps,
                       int outputs, int most, int64_t n, real *y, int64_t pitch)
{
    for (int64_t i = 0, done; i < n; i += done * LANES) {
        int64_t left = simd_divide_up(n - i, LANES);
        done = left > most / 2 ? most : left > 2 ? 4 : left;
        if (done == most)
            sweep_some(x + i, offset, w, taps, outputs, most, y + i, pitch);
        else if (done == 4)
            sweep_some(x + i, offset, w, taps, outputs, 4, y + i, pitch);
        else if (done == 2)
            sweep_some(x + i, offset, w, taps, outputs, 2, y + i, pitch);
        else
            sweep_some(x + i, offset, w, taps, outputs, 1, y + i, pitch);
    }
}

#if defined(__AVX512F__)
enum { MOST_OF_4 = 4 };
#else
enum { MOST_OF_4 = 2 };
#endif

static void sweep_block(const real *x, const int64_t *offset, const real *w, int64_t taps,
                        int64_t outputs, int64_t n, real *y, int64_t pitch)
{
    if (outputs == 4)
        sweep(x, offset, w, taps, 4, MOST_OF_4, n, y, pitch);
    else if (outputs == 2)
        sweep(x, offset, w, taps, 2, 4, n, y, pitch);
    else
        sweep(x, offset, w, taps, 1, 8, n, y, pitch);
}

/* A row of outputs of a phase, u = 0, 1, ... on, to where it belongs */
static void store_row(const simd_direct *p, const real *from, int64_t phase, int64_t count,
                      real bias, real *to)
{
    const simd_window *w = p->axis[2].w;
    if (p->kind == SIMD_CONV_Y) {
        for (int64_t j = 0; j < count; j++)
            to[j] = from[j] + bias;
        return;
    }
    for (int64_t u = simd_divide_up(w->padding - phase, w->stride); u < count; u++) {
        int64_t at = u * w->stride + phase - w->padding;
        if (at >= w->size)
            break;
        to[at] = from[u];
    }
}

/* Where output `u` of a phase lies along an axis; false: beyond its ends */
static bool place_of(const simd_direct *p, int k, int64_t u, int64_t phase, int64_t *at)
{
    const simd_window *w = p->axis[k].w;
    *at = p->kind == SIMD_CONV_Y ? u : u * w->stride + phase - w->padding;
    return *at >= 0 && (p->kind == SIMD_CONV_Y || *at < w->size);
}

/* One channel of the places of depth z of a strip */
static void store(const simd_direct *p, const strip *s, int64_t phase, int64_t z, const real *from,
                  real bias, real *to)
{
    bool back = p->kind == SIMD_CONV_X;
    int64_t across = back ? p->axis[2].w->stride : 1, down = back ? p->axis[1].w->stride : 1;
    int64_t rows = back ? p->axis[1].w->size : p->axis[1].w->count,
            columns = back ? p->axis[2].w->size : p->axis[2].w->count, depth, row;
    if (!place_of(p, 0, s->first[0] + z, phase / (across * down), &depth))
        return;
    for (int64_t y = 0; y < s->count[1]; y++)
        if (place_of(p, 1, s->first[1] + y, phase / across % down, &row))
            store_row(p, from + y * s->row, phase % across, s->count[2], bias,
                      to + (depth * rows + row) * columns);
}

/* What a task computes: one strip of one group of one example */
typedef struct task {
    const simd_direct *p;
    strip s;
    room r;
    int64_t group, plane; /* of the weights, of the tensors */
} task;

/* The weights of some outputs, of all taps of a phase */
static void gather_weights(const task *t, int64_t first, int64_t outputs, int64_t of_channel,
                           const int64_t *tap)
{
    const simd_direct *p = t->p;
    bool back = p->kind == SIMD_CONV_X;
    const real *from = (const real *)p->a->weight + t->group * p->a->out * p->a->in * p->taps;
    real *to = t->r.weight;
    for (int64_t c = 0; c < p->inputs; c++)
        for (int64_t i = 0; i < of_channel; i++)
            for (int64_t o = 0; o < outputs; o++) {
                int64_t y = back ? c : first + o, x = back ? first + o : c;
                *to++ = from[(y * p->a->in + x) * p->taps + tap[i]];
            }
}

static void compute_block(const task *t, int64_t phase, int64_t first, int64_t outputs,
                          int64_t of_channel, const int64_t *tap)
{
    const simd_direct *p = t->p;
    int64_t n = places(&t->s), pitch = p->part + SIMD_DIRECT_SLACK,
            size = size_of(p, p->kind == SIMD_CONV_X ? X : Y);
    gather_weights(t, first, outputs, of_channel, tap);
    for (int64_t z = 0; z < t->s.count[0]; z++) {
        sweep_block(t->r.in + z * t->s.plane, t->r.offset, t->r.weight, p->inputs * of_channel,
                    outputs, n, t->r.out, pitch);
        for (int64_t o = 0; o < outputs; o++) {
            int64_t channel = t->plane * p->outputs + first + o;
            const real *bias = p->a->bias;
            real add = bias ? bias[t->group * p->outputs + first + o] : 0;
            store(p, &t->s, phase, z, t->r.out + o * pitch, add, (real *)p->a->to + channel * size);
        }
    }
}

/* All outputs of one phase */
static void compute_phase(const task *t, int64_t phase)
{
    const simd_direct *p = t->p;
    int64_t *tap = (int64_t *)t->r.sum;
    int64_t n = list_taps(p, &t->s, phase, t->r.offset, tap);
    for (int64_t c = 1; c < p->inputs; c++)
        for (int64_t i = 0; i < n; i++)
            t->r.offset[c * n + i] = t->r.offset[i] + c * p->channel;
    for (int64_t first = 0, outputs; first < p->outputs; first += outputs) {
        int64_t left = p->outputs - first;
        outputs = left >= 4 ? 4 : left >= 2 ? 2 : 1;
        compute_block(t, phase, first, outputs, n, tap);
    }
}

static void one_strip(const void *args, int64_t i, int me)
{
    const simd_direct *p = args;
    int64_t plane = i / p->strips, phases = 1;
    task t = {p, strip_of(p, i % p->strips), room_of(p, me), plane % p->a->groups, plane};
    const real *from = p->kind == SIMD_CONV_X ? p->a->y : p->a->x;
    int64_t size = size_of(p, p->kind == SIMD_CONV_X ? Y : X);
    for (int64_t c = 0; c < p->inputs; c++)
        pack(p, &t.s, from + (plane * p->inputs + c) * size, size, t.r.in + c * p->channel);
    for (int k = 0; p->kind == SIMD_CONV_X && k < SIMD_AXES; k++)
        phases *= p->axis[k].w->stride;
    for (int64_t phase = 0; phase < phases; phase++)
        compute_phase(&t, phase);
}

/* ---- the gradient of the weights ------------------------------------------------------------- */

/* dy of one depth of a strip, with the rows of what is packed, between zeros: whole vectors, and
 * `margin` more before and behind.  Returns its places. */
static int64_t spread(const simd_direct *p, const strip *s, int64_t z, const real *dy,
                      int64_t margin, real *to)
{
    const int64_t n = places(s), next = p->a->groups * p->outputs * size_of(p, Y);
    const simd_window *h = p->axis[1].w, *w = p->axis[2].w;
    memset(to, 0, (size_t)(simd_round_up(n + margin, LANES) + margin) * sizeof *to);
    dy += ((s->first[0] + z) * h->count + s->first[1]) * w->count + s->first[2];
    for (int64_t y = 0; y < s->count[1]; y++)
        simd_copy_row(to + margin + y * s->row, dy + y * w->count, s->count[2], next);
    return n;
}

static void add_lanes(const simd_direct *p, const room *r)
{
    for (int64_t t = 0; t < p->outputs * p->taps; t++) {
        for (int l = 0; l < LANES; l++)
            r->sum[t] += (double)r->lane[t][l];
        r->lane[t] = (vector){0};
    }
}

/* The sums of one output, of the places of one depth: at `lane` those of its taps */
static void add_depth(const simd_direct *p, const tap_grid *g, bool grid, const real *x, int64_t n,
                      int64_t margin, const room *r, vector *lane)
{
    const int64_t blocks = simd_divide_up(p->taps, TAPS), plane = g->rows * g->columns;
    for (int64_t t = 0; grid && t < p->taps; t += plane)
        add_grid(x + r->offset[t], r->out + margin, n, g, lane + t);
    for (int64_t k = 0; !grid && k < blocks; k++) {
        int64_t first = p->taps * k / blocks, end = p->taps * (k + 1) / blocks;
        add_some(x, r->out, n, r->offset + first, end - first, lane + first);
    }
}

/* One strip of one example, for channel `in` of x and all of y; returns how many numbers each lane
 * has added. */
static int64_t add_strip(const simd_direct *p, int64_t i, int64_t plane, int64_t in, const room *r)
{
    const strip s = strip_of(p, i);
    int64_t of_x = size_of(p, X), of_y = size_of(p, Y), added = 0;
    int64_t *tap = (int64_t *)r->weight; /* has room for them: nobody reads weights */
    const simd_window *h = p->axis[1].w, *w = p->axis[2].w;
    const tap_grid g = {h->kernel, w->kernel, h->dilation * s.row, w->dilation};
    const int64_t rows = h->stride == 1 && w->stride == 1 ? rows_together(&g, places(&s)) : 1;
    const int64_t margin = (rows - 1) * g.down;
    list_taps(p, &s, 0, r->offset, tap);
    pack(p, &s, (const real *)p->a->x + (plane * p->a->in + in) * of_x,
         p->a->groups * p->a->in * of_x, r->in);
    for (int64_t o = 0; o < p->outputs; o++)
        for (int64_t z = 0; z < s.count[0]; z++) {
            const real *dy = (const real *)p->a->y + (plane * p->outputs + o) * of_y;
            const int64_t n = spread(p, &s, z, dy, margin, r->out);
            add_depth(p, &g, rows > 1, r->in + z * s.plane, n, margin, r, r->lane + o * p->taps);
            added += o ? 0 : simd_divide_up(n + margin, LANES);
        }
    return added;
}

static void one_channel(const void *args, int64_t i, int me)
{
    const simd_direct *p = args;
    const room all = room_of(p, me), *r = &all;
    int64_t group = i / p->a->in, in = i % p->a->in, count = p->outputs * p->taps, added = 0;
    memset(r->in + p->channel, 0, SIMD_DIRECT_SLACK * sizeof *r->in); /* meets zeros of dy */
    memset(r->lane, 0, (size_t)count * sizeof *r->lane);
    memset(r->sum, 0, (size_t)count * sizeof *r->sum);
    for (int64_t b = 0; b < p->a->batch; b++)
        for (int64_t s = 0; s < p->strips; s++) {
            added += add_strip(p, s, b * p->a->groups + group, in, r);
            if (added >= SUMS) {
                add_lanes(p, r);
                added = 0;
            }
        }
    add_lanes(p, r);
    for (int64_t o = 0; o < p->outputs; o++)
        for (int64_t t = 0; t < p->taps; t++)
            ((real *)p->a->to)[((group * p->outputs + o) * p->a->in + in) * p->taps + t] =
                (real)r->sum[o * p->taps + t];
}

/* ---- by the definition ----------------------------------------------------------------------- */

/* A channel of each tensor */
typedef struct channel {
    const real *x, *weight, *y;
    real *to;
} channel;

/* Adds up all pairs of a tap and an output in a row of outputs. */
static void add_row(const simd_direct *p, const channel *c, int64_t tap, int64_t x, int64_t y,
                    int64_t of_w)
{
    const simd_window *w = p->axis[2].w;
    int64_t from, to;
    window_range(w, of_w, &from, &to);
    for (int64_t q = from; q < to; q++) {
        int64_t in = x + window_position(w, q, of_w), out = y + q;
        if (p->kind == SIMD_CONV_Y)
            c->to[out] += c->weight[tap] * c->x[in];
        else if (p->kind == SIMD_CONV_X)
            c->to[in] += c->weight[tap] * c->y[out];
        else
            c->to[tap] += c->x[in] * c->y[out];
    }
}

static void add_pairs(const simd_direct *p, const channel *c)
{
    const simd_window *d = p->axis[0].w, *h = p->axis[1].w, *w = p->axis[2].w;
    for (int64_t tap = 0; tap < p->taps; tap++) {
        int64_t of_w = tap % w->kernel, of_h = tap / w->kernel % h->kernel,
                of_d = tap / (w->kernel * h->kernel), z0, z1, y0, y1;
        window_range(d, of_d, &z0, &z1);
        window_range(h, of_h, &y0, &y1);
        for (int64_t z = z0; z < z1; z++)
            for (int64_t y = y0; y < y1; y++)
                add_row(p, c, tap,
                        (window_position(d, z, of_d) * h->size + window_position(h, y, of_h)) *
                            w->size,
                        (z * h->count + y) * w->count, of_w);
    }
}

/* A group, of one example or, for the weights, of all; `to` has zeros or the bias. */
static void plain_group(const void *args, int64_t i)
{
    const simd_direct *p = args;
    const simd_conv *a = p->a;
    bool weights = p->kind == SIMD_CONV_W;
    int64_t group = i % a->groups, of_x = size_of(p, X), of_y = size_of(p, Y);
    int64_t first = weights ? 0 : i / a->groups, end = weights ? a->batch : first + 1;
    for (int64_t b = first; b < end; b++)
        for (int64_t o = 0; o < a->out; o++)
            for (int64_t c = 0; c < a->in; c++) {
                int64_t plane = b * a->groups + group;
                int64_t x = (plane * a->in + c) * of_x, y = (plane * a->out + o) * of_y,
                        w = ((group * a->out + o) * a->in + c) * p->taps;
                real *to = a->to;
                to += weights ? w : p->kind == SIMD_CONV_X ? x : y;
                add_pairs(p, &(const channel){(const real *)a->x + x, (const real *)a->weight + w,
                                              (const real *)a->y + y, to});
            }
}

static void run_plain(const simd_direct *p)
{
    const simd_conv *a = p->a;
    bool weights = p->kind == SIMD_CONV_W;
    int64_t planes = a->batch * a->groups, of_y = size_of(p, Y);
    int64_t count = weights                  ? a->groups * a->out * a->in * p->taps
                    : p->kind == SIMD_CONV_X ? planes * a->in * size_of(p, X)
                                             : planes * a->out * of_y;
    real *to = a->to;
    memset(to, 0, (size_t)count * sizeof *to);
    for (int64_t i = 0; a->bias && i < count; i++)
        to[i] = ((const real *)a->bias)[i / of_y % (a->groups * a->out)];
    simd_tasks(a->threads, weights ? a->groups : planes, plain_group, p);
}

static void run(const simd_conv *a, simd_conv_kind kind)
{
    const simd_direct p = simd_direct_of(a, kind);
    int64_t planes = a->batch * a->groups, weights = a->groups * a->out * a->in * p.taps;
    bool finite = kind != SIMD_CONV_W ? simd_all_finite(a->weight, weights)
                                      : simd_all_finite(a->x, planes * a->in * size_of(&p, X)) &&
                                            simd_all_finite(a->y, planes * a->out * size_of(&p, Y));
    if (!finite)
        run_plain(&p);
    else if (kind == SIMD_CONV_W)
        simd_uneven_tasks(a->threads, a->groups * a->in, 1, one_channel, &p);
    else
        simd_uneven_tasks(a->threads, planes * p.strips, 1, one_strip, &p);
}

void SIMD(direct_forward)(const simd_conv *a)
{
    run(a, SIMD_CONV_Y);
}

void SIMD(direct_grad_x)(const simd_conv *a)
{
    run(a, SIMD_CONV_X);
}

void SIMD(direct_grad_w)(const simd_conv *a)
{
    run(a, SIMD_CONV_W);
}
