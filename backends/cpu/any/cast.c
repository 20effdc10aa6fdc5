#include "backends/cpu/any/element.h"
#include "backends/cpu/kernel.h"

void cpu_cast(wg_call *c)
{
    const wg_value *x = c->node->in[0], *y = c->node->out[0];
    int64_t count = cpu_count(y);
    bool whole = x->dtype == WG_I64 && y->dtype == WG_I32; /* exact: not through double */
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, count))
    for (int64_t i = 0; i < count; i++) {
        if (whole) {
            int64_t v = ((const int64_t *)c->in[0])[i];
            ((int32_t *)c->out[0])[i] = (int32_t)(v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v);
        } else {
            cpu_put(c->out[0], y->dtype, i, cpu_get(c->in[0], x->dtype, i));
        }
    }
}
