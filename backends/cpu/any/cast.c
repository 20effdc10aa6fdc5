#include "graph/element.h"
#include "backends/cpu/kernel.h"

/* Between bf16 and f32: what every node in bf16 does to its operands and results. */
static bool cast_bf16(wg_call *c, wg_dtype from, wg_dtype to, int64_t count)
{
    if (from == WG_BF16 && to == WG_F32) {
        const uint16_t *x = c->in[0];
        float *y = c->out[0];
#pragma omp parallel for simd schedule(static) num_threads(cpu_threads(c, count))
        for (int64_t i = 0; i < count; i++)
            y[i] = wg_bf16_to_f32(x[i]);
    } else if (from == WG_F32 && to == WG_BF16) {
        const float *x = c->in[0];
        uint16_t *y = c->out[0];
#pragma omp parallel for simd schedule(static) num_threads(cpu_threads(c, count))
        for (int64_t i = 0; i < count; i++)
            y[i] = wg_bf16_from_f32(x[i]);
    } else {
        return false;
    }
    return true;
}

void wgi_cpu_cast(wg_call *c)
{
    const wg_value *x = c->node->in[0], *y = c->node->out[0];
    int64_t count = cpu_count(y);
    if (cast_bf16(c, x->dtype, y->dtype, count))
        return;
    bool whole = x->dtype == WG_I64 && y->dtype == WG_I32; /* exact: not through double */
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, count))
    for (int64_t i = 0; i < count; i++) {
        if (whole) {
            int64_t v = ((const int64_t *)c->in[0])[i];
            ((int32_t *)c->out[0])[i] = (int32_t)(v < INT32_MIN   ? INT32_MIN
                                                  : v > INT32_MAX ? INT32_MAX
                                                                  : v);
        } else {
            wgi_put_element(c->out[0], y->dtype, i, wgi_get_element(c->in[0], x->dtype, i));
        }
    }
}
