#include "graph/element.h"
#include "backends/cpu/kernel.h"
#include "graph/random.h"
#include "wengert/ops/random.h"

void wgi_cpu_bernoulli(wg_call *c)
{
    const wg_random_attrs *a = c->node->attrs;
    wgi_random r = wgi_random_of(c->seed, c->step, (uint64_t)a->key);
    int64_t count = cpu_count(c->node->out[0]);
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, 16 * count))
    for (int64_t b = 0; b < (count + 3) / 4; b++) {
        double u[4];
        wgi_uniform4(&r, (uint64_t)b, u);
        for (int64_t i = 4 * b; i < count && i < 4 * b + 4; i++)
            wgi_put_element(c->out[0], a->dtype, i, u[i - 4 * b] < a->a);
    }
}
