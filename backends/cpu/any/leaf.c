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

/* Element i of a line; i64 counts in whole numbers: those of double are exact up to 2^53 only. */
static void put_of_line(const wg_iota_attrs *a, void *y, int64_t at, int64_t i)
{
    if (a->dtype == WG_I64)
        ((int64_t *)y)[at] = (int64_t)a->start + i * (int64_t)a->step;
    else
        wgi_put_element(y, a->dtype, at, a->start + (double)i * a->step);
}

/* One line is computed, then spread over the inner axes, and that block is repeated. */
void wgi_cpu_iota(wg_call *c)
{
    const wg_iota_attrs *a = c->node->attrs;
    wgi_axis x = wgi_axis_of(&a->shape, a->axis);
    size_t block = (size_t)(x.size * x.inner) * wg_dtype_size(a->dtype),
           all = (size_t)x.outer * block;
    if (all == 0)
        return;
    for (int64_t i = 0; i < x.size; i++)
        put_of_line(a, c->out[0], i * x.inner, i);
    const wg_shape others = WG_SHAPE(x.size, x.inner - 1);
    if (x.inner > 1)
        wgi_cpu_copy(c, a->dtype, &others, c->out[0],
                     (cpu_walk){.start = 1, .stride = {x.inner, 1}}, c->out[0],
                     (cpu_walk){.stride = {x.inner, 0}});
    char *y = c->out[0];
    for (size_t done = block; done < all; done *= 2)
        memcpy(y + done, y, done < all - done ? done : all - done);
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
