/* uniform and normal: four elements share a block of the generator, see graph/random.h;
 * dropout: see backends/mask.h. */
#include "backends/cpu/kernel.h"
#include "graph/random.h"
#include "backends/mask.h"
#include "wengert/ops/random.h"

static int64_t blocks_of(const wg_call *c)
{
    return (cpu_count(c->node->out[0]) + 3) / 4;
}

/* y = shift + scale u for the four numbers u of each block. */
static void fill(wg_call *c, void (*four)(const wgi_random *, uint64_t, double *), double shift,
                 double scale)
{
    const wg_random_attrs *a = c->node->attrs;
    wgi_random r = wgi_random_of(c->seed, c->step, (uint64_t)a->key);
    real *out = c->out[0];
    int64_t count = cpu_count(c->node->out[0]), blocks = blocks_of(c);
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, 16 * count))
    for (int64_t b = 0; b < blocks; b++) {
        double u[4];
        four(&r, (uint64_t)b, u);
        for (int64_t i = 4 * b; i < count && i < 4 * b + 4; i++)
            out[i] = (real)(shift + scale * u[i - 4 * b]);
    }
}

void KERNEL(uniform)(wg_call *c)
{
    const wg_random_attrs *a = c->node->attrs;
    fill(c, wgi_uniform4, a->a, a->b - a->a);
}

void KERNEL(normal)(wg_call *c)
{
    const wg_random_attrs *a = c->node->attrs;
    fill(c, wgi_normal4, a->a, a->b);
}

void KERNEL(dropout)(wg_call *c)
{
    const wg_dropout_attrs *a = c->node->attrs;
    wgi_mask m = wgi_mask_of(c->seed, c->step, (uint64_t)a->key, a->p);
    const real *x = c->in[0];
    real *y = c->out[0], scale = (real)m.scale;
    int64_t count = cpu_count(c->node->out[0]);
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, 4 * count))
    for (int64_t first = 0; first < count; first += WGI_MASK_NUMBERS) {
        uint16_t number[WGI_MASK_NUMBERS];
        wgi_mask_block(&m, (uint64_t)first / WGI_MASK_NUMBERS, number);
        for (int64_t i = first; i < count && i < first + WGI_MASK_NUMBERS; i++)
            y[i] = number[i - first] < m.keep ? x[i] * scale : 0;
    }
}
