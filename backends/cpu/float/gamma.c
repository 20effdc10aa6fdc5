/* The gamma family.  Computed in double for f32 too: an f32 result is then right to its last bit or
 * the one before. */
#define _DEFAULT_SOURCE /* for backends/gamma.h */
#include "backends/gamma.h"

#include "backends/cpu/elementwise.h"

void KERNEL(polygamma)(wg_call *c)
{
    const wg_polygamma_attrs *a = c->node->attrs;
    const wgi_polygamma_order d = wgi_polygamma_of_order((int)a->order);
    const real *x = c->in[0];
    real *y = c->out[0];
    int64_t count = cpu_count(c->node->out[0]);
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, 16 * count))
    for (int64_t i = 0; i < count; i++)
        y[i] = (real)wgi_polygamma(&d, x[i]);
}

/* clang-format off */
UNARY(lgamma, wgi_lgamma(x))
UNARY(digamma, wgi_digamma(x))
