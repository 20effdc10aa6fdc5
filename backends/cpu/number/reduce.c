/* Reductions.  x is walked in memory order, y's element of each x by strides that are 0 along reduced axes; so
 * any set of axes is one loop, and each element of y is summed in one fixed order. */
#include "backends/cpu/kernel.h"
#include "ops/reduce.h"

void KERNEL(sum)(wg_call *c)
{
    const wg_reduce_attrs *a = c->node->attrs;
    const wg_shape *x = &c->node->in[0]->shape;
    wg_axes axes = wg_axes_of(&a->axes, x->rank);
    wg_shape kept = wg_shape_reduced(x, &axes, true);
    int64_t xs[WG_MAX_RANK], ys[WG_MAX_RANK];
    wg_shape_strides(x, xs);
    wg_shape_strides(&kept, ys);

    const real *in = c->in[0];
    real *out = c->out[0];
    int64_t outputs = wg_shape_count(&kept), terms = 1;
    for (int i = 0; i < axes.count; i++)
        terms *= x->dim[axes.axis[i]];
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, outputs * terms))
    for (int64_t o = 0; o < outputs; o++) {
        int64_t base = 0;
        for (int i = 0; i < kept.rank; i++)
            base += (kept.dim[i] ? o / ys[i] % kept.dim[i] : 0) * xs[i];
        wide sum = 0;
        for (int64_t t = 0; t < terms; t++) {
            int64_t at = base, rest = t;
            for (int i = axes.count - 1; i >= 0; i--) {
                at += rest % x->dim[axes.axis[i]] * xs[axes.axis[i]];
                rest /= x->dim[axes.axis[i]];
            }
            sum += in[at];
        }
        out[o] = (real)sum;
    }
}
