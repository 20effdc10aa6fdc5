/* A pair turns by position times frequency.  Frequencies, which are powers, are taken once for all
 * positions; each angle's sine and cosine once for all rows of that position: with positions as
 * data, of one batch.  Some positions are turned at a time, since their rows lie side by side. */
#include "graph/ids.h"
#include "backends/cpu/kernel.h"
#include "wengert/ops/attention.h"

enum { PAIRS = 64, POSITIONS = 8 }; /* whose angles are held at once */

/* Pair i is x[i next] and x[i next + apart]; y may be x. */
static inline void turn(const real *x, real *y, int64_t n, int64_t next, int64_t apart,
                        const real *cosine, const real *sine)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        real first = x[i * next], second = x[i * next + apart];
        y[i * next] = first * cosine[i] - second * sine[i];
        y[i * next + apart] = first * sine[i] + second * cosine[i];
    }
}

/* What all pieces of work have in common: x [batches, outer, size, d], and up to PAIRS pairs of a
 * row, from `pair` on. */
typedef struct rotation {
    int64_t outer, size, d, pair, n;
    double frequency[PAIRS];
} rotation;

static rotation rotation_of(const wg_call *c, int64_t pair)
{
    const wg_rotary_attrs *a = c->node->attrs;
    const wg_shape *s = &c->node->in[0]->shape;
    wgi_axis axis = wgi_axis_of(s, s->rank - 2);
    int64_t d = axis.inner, rest = d / 2 - pair, batches = c->node->n_in > 1 ? s->dim[0] : 1;
    double base = a->base == 0 ? 10000 : a->base;
    rotation r = {.outer = batches ? axis.outer / batches : 0,
                  .size = axis.size,
                  .d = d,
                  .pair = pair,
                  .n = rest < PAIRS ? rest : PAIRS};
    for (int64_t i = 0; i < r.n; i++)
        r.frequency[i] = pow(base, -2 * (double)(pair + i) / (double)d);
    return r;
}

/* Positions [t, end) of batch b, at most POSITIONS. */
static void turn_positions(const wg_call *c, const rotation *r, int64_t b, int64_t t, int64_t end)
{
    const wg_rotary_attrs *a = c->node->attrs;
    bool halves = a->pairs == WG_ROTARY_HALVES;
    int64_t first = a->first;
    if (c->node->n_in > 1)
        first += wgi_get_int(c->in[1], c->node->in[1]->dtype, b);
    real cosine[POSITIONS][PAIRS], sine[POSITIONS][PAIRS];
    for (int64_t k = t; k < end; k++)
        for (int64_t i = 0; i < r->n; i++) {
            double angle = (double)(first + k) * r->frequency[i];
            cosine[k - t][i] = (real)cos(angle);
            sine[k - t][i] = (real)sin(a->inverse ? -angle : angle);
        }
    for (int64_t o = b * r->outer; o < (b + 1) * r->outer; o++)
        for (int64_t k = t; k < end; k++) {
            int64_t at = (o * r->size + k) * r->d + r->pair * (halves ? 1 : 2);
            const real *x = (const real *)c->in[0] + at;
            real *y = (real *)c->out[0] + at;
            if (halves)
                turn(x, y, r->n, 1, r->d / 2, cosine[k - t], sine[k - t]);
            else
                turn(x, y, r->n, 2, 1, cosine[k - t], sine[k - t]);
        }
}

static void turn_blocks(const wg_call *c, const void *loop, int64_t first, int64_t end)
{
    const rotation *r = loop;
    int64_t blocks = (r->size + POSITIONS - 1) / POSITIONS;
    for (int64_t k = first; k < end; k++) {
        int64_t t = k % blocks * POSITIONS;
        int64_t after = t + POSITIONS < r->size ? t + POSITIONS : r->size;
        turn_positions(c, r, k / blocks, t, after);
    }
}

void KERNEL(rotary)(wg_call *c)
{
    const wg_value *x = c->node->in[0];
    int64_t half = x->shape.dim[x->shape.rank - 1] / 2;
    int64_t batches = c->node->n_in > 1 ? x->shape.dim[0] : 1;
    int threads = cpu_threads(c, cpu_count(x) * 4);
    for (int64_t pair = 0; pair < half; pair += PAIRS) {
        rotation r = rotation_of(c, pair);
        int64_t blocks = (r.size + POSITIONS - 1) / POSITIONS;
        cpu_share(c, &r, batches * blocks, threads, turn_blocks);
    }
}
