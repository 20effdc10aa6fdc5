#include "graph/element.h"
#include "backends/cpu/kernel.h"

/* Between f32 and 16 bits: what every node in bf16 or f16 does to its operands and results. */
#define CAST_LOOP(convert, from, to)                                                               \
    static void cast_##convert(const wg_call *c, int64_t count)                                    \
    {                                                                                              \
        const from *x = c->in[0];                                                                  \
        to *y = c->out[0];                                                                         \
        _Pragma("omp parallel for simd schedule(static) num_threads(cpu_threads(c, count))") for ( \
            int64_t i = 0; i < count; i++) y[i] = wg_##convert(x[i]);                              \
    }
/* clang-format off */
CAST_LOOP(bf16_to_f32, uint16_t, float)
CAST_LOOP(bf16_from_f32, float, uint16_t)
CAST_LOOP(f16_to_f32, uint16_t, float)
CAST_LOOP(f16_from_f32, float, uint16_t)
/* clang-format on */

static const struct {
    wg_dtype from, to;
    void (*run)(const wg_call *c, int64_t count);
} loops[] = {
    {WG_BF16, WG_F32, cast_bf16_to_f32},
    {WG_F32, WG_BF16, cast_bf16_from_f32},
    {WG_F16, WG_F32, cast_f16_to_f32},
    {WG_F32, WG_F16, cast_f16_from_f32},
};

void wgi_cpu_cast(wg_call *c)
{
    const wg_value *x = c->node->in[0], *y = c->node->out[0];
    int64_t count = cpu_count(y);
    for (int i = 0; i < WG_COUNT(loops); i++)
        if (loops[i].from == x->dtype && loops[i].to == y->dtype) {
            loops[i].run(c, count);
            return;
        }
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
