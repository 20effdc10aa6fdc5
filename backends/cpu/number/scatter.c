/* Adding at positions that are data.  Threads share out what does not depend on the ids (columns,
 * lines), so that each element of the result is summed by one thread, in the order of the ids. */
#include "backends/cpu/any/strided.h"
#include "backends/cpu/kernel.h"
#include "graph/ids.h"
#include "wengert/ops/index.h"

/* y[o, ids[i], j] += dy[o, i, j] from zero */
static void take_grad(wg_call *c, int axis)
{
    enum { COLUMNS = 32 }; /* of a block: two cache lines of floats */
    const wg_value *ids = c->node->in[1];
    cpu_axis y = cpu_axis_split(&c->node->out[0]->shape, axis);
    const real *dy = c->in[0];
    real *out = c->out[0];
    int64_t count = cpu_count(ids), blocks = (y.inner + COLUMNS - 1) / COLUMNS;
    if (!wgi_ids_valid(c, 1, y.size))
        return;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(cpu_threads(c, y.outer *y.inner *(y.size + count)))
    for (int64_t k = 0; k < y.outer * blocks; k++) {
        int64_t o = k / blocks, first = k % blocks * COLUMNS;
        int64_t width = y.inner - first < COLUMNS ? y.inner - first : COLUMNS;
        for (int64_t v = 0; v < y.size; v++)
            memset(out + (o * y.size + v) * y.inner + first, 0, sizeof *out * (size_t)width);
        for (int64_t i = 0; i < count; i++) {
            real *row = out + (o * y.size + wgi_get_int(c->in[1], ids->dtype, i)) * y.inner + first;
            const real *from = dy + (o * count + i) * y.inner + first;
            for (int64_t j = 0; j < width; j++)
                row[j] += from[j];
        }
    }
}

void KERNEL(take_grad)(wg_call *c)
{
    const wg_take_grad_attrs *a = c->node->attrs;
    take_grad(c, wg_normalize_axis(a->axis, c->node->out[0]->shape.rank));
}

void KERNEL(embedding_grad)(wg_call *c)
{
    take_grad(c, 0);
}

/* y = x, then y[i, ids[i, j, k], k] += src[i, j, k]: a line along the axis at a time. */
void KERNEL(scatter_add)(wg_call *c)
{
    const wg_index_attrs *a = c->node->attrs;
    const wg_value *x = c->node->in[0], *ids = c->node->in[1], *src = c->node->in[2];
    int axis = wg_normalize_axis(a->axis, x->shape.rank);
    if (!wgi_ids_valid(c, 1, x->shape.dim[axis]))
        return;
    const real *from = c->in[2];
    real *out = c->out[0];
    if (c->out[0] != c->in[0])
        memcpy(out, c->in[0], wg_value_bytes(x));
    cpu_axis line = cpu_axis_split(&ids->shape, axis);
    int64_t xs[WG_MAX_RANK], ss[WG_MAX_RANK];
    wg_shape_strides(&x->shape, xs);
    wg_shape_strides(&src->shape, ss);
#pragma omp parallel for schedule(static)                                                          \
    num_threads(cpu_threads(c, line.outer *line.size *line.inner))
    for (int64_t k = 0; k < line.outer * line.inner; k++) {
        int64_t id = k / line.inner * line.size * line.inner + k % line.inner;
        int64_t to = cpu_line_start(&ids->shape, axis, k, xs),
                at = cpu_line_start(&ids->shape, axis, k, ss);
        for (int64_t i = 0; i < line.size; i++)
            out[to + wgi_get_int(c->in[1], ids->dtype, id + i * line.inner) * xs[axis]] +=
                from[at + i * ss[axis]];
    }
}
