/* Each angle's sine and cosine are taken once, for all rows of that position: with positions as
 * data, of one batch.  A row is turned some pairs at a time, which lie side by side. */
#include "graph/ids.h"
#include "backends/cpu/kernel.h"
#include "wengert/ops/attention.h"

enum { PAIRS = 64 }; /* whose angles are held at once */

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

void KERNEL(rotary)(wg_call *c)
{
    const wg_rotary_attrs *a = c->node->attrs;
    const wg_shape *s = &c->node->in[0]->shape;
    const wg_value *positions = c->node->n_in > 1 ? c->node->in[1] : NULL;
    cpu_axis axis = cpu_axis_split(s, s->rank - 2);
    int64_t d = axis.inner, half = d / 2, batches = positions ? s->dim[0] : 1;
    int64_t outer = batches ? axis.outer / batches : 0;
    bool halves = a->pairs == WG_ROTARY_HALVES;
    double base = a->base == 0 ? 10000 : a->base;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, axis.outer *axis.size *d * 4))
    for (int64_t bt = 0; bt < batches * axis.size; bt++)
        for (int64_t pair = 0; pair < half; pair += PAIRS) {
            int64_t b = bt / axis.size, t = bt % axis.size;
            int64_t position =
                a->first + t + (positions ? wgi_get_int(c->in[1], positions->dtype, b) : 0);
            int64_t n = half - pair < PAIRS ? half - pair : PAIRS;
            real cosine[PAIRS], sine[PAIRS];
            for (int64_t i = 0; i < n; i++) {
                double angle = (double)position * pow(base, -2 * (double)(pair + i) / (double)d);
                cosine[i] = (real)cos(angle);
                sine[i] = (real)sin(a->inverse ? -angle : angle);
            }
            for (int64_t o = b * outer; o < (b + 1) * outer; o++) {
                int64_t at = (o * axis.size + t) * d + pair * (halves ? 1 : 2);
                const real *x = (const real *)c->in[0] + at;
                real *y = (real *)c->out[0] + at;
                if (halves)
                    turn(x, y, n, 1, half, cosine, sine);
                else
                    turn(x, y, n, 2, 1, cosine, sine);
            }
        }
}
