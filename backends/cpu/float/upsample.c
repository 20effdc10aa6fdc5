/* Resampling of planes and its transpose: the same taps, read or written. */
#include "backends/cpu/kernel.h"
#include "wengert/ops/upsample.h"

void KERNEL(upsample2d)(wg_call *c)
{
    const wg_node *n = c->node;
    const wg_upsample_attrs *a = n->attrs;
    const int64_t *from = n->in[0]->shape.dim, *to = n->out[0]->shape.dim;
    const real *x = c->in[0];
    real *y = c->out[0];
    int64_t rows = to[0] * to[1] * to[2];
    int threads = cpu_threads(c, rows * to[3] * 8);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < rows; row++) {
        wg_upsample_tap v = wg_upsample_tap_of(a, from[2], to[2], row % to[2]);
        const real *plane = x + row / to[2] * from[2] * from[3];
        const real *above = plane + v.first * from[3], *below = plane + v.second * from[3];
        real s = (real)v.weight;
        for (int64_t o = 0; o < to[3]; o++) {
            wg_upsample_tap h = wg_upsample_tap_of(a, from[3], to[3], o);
            real t = (real)h.weight;
            y[row * to[3] + o] = a->mode == WG_NEAREST
                                     ? above[h.first]
                                     : (1 - s) * ((1 - t) * above[h.first] + t * above[h.second]) +
                                           s * ((1 - t) * below[h.first] + t * below[h.second]);
        }
    }
}

void KERNEL(upsample2d_grad)(wg_call *c)
{
    const wg_node *n = c->node;
    const wg_upsample_attrs *a = n->attrs;
    const int64_t *from = n->out[0]->shape.dim, *to = n->in[0]->shape.dim;
    const real *dy = c->in[0];
    real *dx = c->out[0];
    int64_t planes = from[0] * from[1], size = from[2] * from[3];
    int threads = cpu_threads(c, planes * to[2] * to[3] * 8);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t p = 0; p < planes; p++) {
        real *plane = dx + p * size;
        for (int64_t i = 0; i < size; i++)
            plane[i] = 0;
        for (int64_t q = 0; q < to[2]; q++) {
            wg_upsample_tap v = wg_upsample_tap_of(a, from[2], to[2], q);
            const real *row = dy + (p * to[2] + q) * to[3];
            real *above = plane + v.first * from[3], *below = plane + v.second * from[3];
            real s = (real)v.weight;
            for (int64_t o = 0; o < to[3]; o++) {
                wg_upsample_tap h = wg_upsample_tap_of(a, from[3], to[3], o);
                real t = (real)h.weight;
                if (a->mode == WG_NEAREST) {
                    above[h.first] += row[o];
                    continue;
                }
                above[h.first] += (1 - s) * (1 - t) * row[o];
                above[h.second] += (1 - s) * t * row[o];
                below[h.first] += s * (1 - t) * row[o];
                below[h.second] += s * t * row[o];
            }
        }
    }
}
