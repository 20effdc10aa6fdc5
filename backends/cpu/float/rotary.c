/* Each angle's sine and cosine are taken once, for all rows of that position: with positions as data, of one batch. */
#include "backends/cpu/ids.h"
#include "backends/cpu/kernel.h"
#include "ops/attention.h"

void KERNEL(rotary)(wg_call *c)
{
    const wg_rotary_attrs *a = c->node->attrs;
    const wg_shape *s = &c->node->in[0]->shape;
    const wg_value *positions = c->node->n_in > 1 ? c->node->in[1] : NULL;
    cpu_axis axis = cpu_axis_split(s, s->rank - 2);
    int64_t d = axis.inner, half = d / 2, batches = positions ? s->dim[0] : 1;
    int64_t outer = batches ? axis.outer / batches : 0;
    int64_t apart = a->pairs == WG_ROTARY_HALVES ? half : 1,
            next = a->pairs == WG_ROTARY_HALVES ? 1 : 2;
    double base = a->base == 0 ? 10000 : a->base;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, axis.outer *axis.size *d * 4))
    for (int64_t bt = 0; bt < batches * axis.size; bt++)
        for (int64_t i = 0; i < half; i++) {
            int64_t b = bt / axis.size, t = bt % axis.size;
            int64_t position =
                a->first + t + (positions ? cpu_id(c->in[1], positions->dtype, b) : 0);
            double angle = (double)position * pow(base, -2 * (double)i / (double)d);
            real cosine = (real)cos(angle), sine = (real)sin(a->inverse ? -angle : angle);
            for (int64_t o = b * outer; o < (b + 1) * outer; o++) {
                int64_t at = (o * axis.size + t) * d + i * next;
                const real *x = (const real *)c->in[0] + at;
                real *y = (real *)c->out[0] + at;
                real first = x[0], second = x[apart];
                y[0] = first * cosine - second * sine;
                y[apart] = first * sine + second * cosine;
            }
        }
}
