/* fill, iota, one_hot. */
#include "graph/element.h"
#include "backends/cpu/any/strided.h"
#include "backends/cpu/kernel.h"
#include "wengert/ops/leaf.h"

void wgi_cpu_fill(wg_call *c)
{
    const wg_fill_attrs *a = c->node->attrs;
    wgi_cpu_fill_with(c, a->dtype, cpu_count(c->node->out[0]), c->out[0], a->value);
}

/* i64 counts in whole numbers: those of double are exact up to 2^53 only. */
void wgi_cpu_iota(wg_call *c)
{
    const wg_iota_attrs *a = c->node->attrs;
    wgi_axis x = wgi_axis_of(&a->shape, a->axis);
    int64_t *whole = a->dtype == WG_I64 ? c->out[0] : NULL;
    for (int64_t o = 0, i = 0; o < x.outer; o++)
        for (int64_t k = 0; k < x.size; k++)
            for (int64_t j = 0; j < x.inner; j++, i++)
                if (whole)
                    whole[i] = (int64_t)a->start + k * (int64_t)a->step;
                else
                    wgi_put_element(c->out[0], a->dtype, i, a->start + (double)k * a->step);
}

void wgi_cpu_one_hot(wg_call *c)
{
    const wg_one_hot_attrs *a = c->node->attrs;
    const wg_value *ids = c->node->in[0];
    int64_t count = cpu_count(ids);
    wgi_cpu_fill_with(c, a->dtype, count * a->depth, c->out[0], 0);
    for (int64_t i = 0; i < count; i++) {
        int64_t id = wgi_get_int(c->in[0], ids->dtype, i);
        if (id >= 0 && id < a->depth)
            wgi_put_element(c->out[0], a->dtype, i * a->depth + id, 1);
    }
}
