/* Reading and writing at positions that are data: elements of 1, 2, 4 or 8 bytes. */
#include "graph/element.h"
#include "backends/cpu/any/strided.h"
#include "graph/ids.h"
#include "backends/broadcast.h"
#include "backends/cpu/kernel.h"
#include "wengert/ops/index.h"

/* y[o, i, :] = x[o, ids[i], :] */
static void take(wg_call *c, int axis)
{
    const wg_value *ids = c->node->in[1];
    cpu_axis x = cpu_axis_split(&c->node->in[0]->shape, axis);
    int64_t count = cpu_count(ids);
    int64_t bytes = x.inner * (int64_t)wg_dtype_size(c->node->in[0]->dtype);
    if (!wgi_ids_valid(c, 1, x.size))
        return;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, x.outer *count *x.inner))
    for (int64_t row = 0; row < x.outer * count; row++) {
        int64_t from = row / count * x.size + wgi_get_int(c->in[1], ids->dtype, row % count);
        memcpy((char *)c->out[0] + row * bytes, (const char *)c->in[0] + from * bytes,
               (size_t)bytes);
    }
}

void wgi_cpu_take(wg_call *c)
{
    const wg_index_attrs *a = c->node->attrs;
    take(c, wg_normalize_axis(a->axis, c->node->in[0]->shape.rank));
}

void wgi_cpu_embedding(wg_call *c)
{
    take(c, 0);
}

/* A line along the axis: y[i by] = x[ids[i by] step], i < size. */
#define GATHER_LINE(type)                                                                          \
    {                                                                                              \
        type *y = (type *)c->out[0] + to;                                                          \
        const type *x = (const type *)c->in[0] + from;                                             \
        for (int64_t i = 0; i < size; i++)                                                         \
            y[i * by] = x[wgi_get_int(c->in[1], dtype, to + i * by) * step];                       \
    }

static void gather_line(const wg_call *c, size_t bytes, int64_t size, int64_t to, int64_t by,
                        int64_t from, int64_t step)
{
    wg_dtype dtype = c->node->in[1]->dtype;
    if (bytes == 8)
        GATHER_LINE(uint64_t)
    else if (bytes == 4)
        GATHER_LINE(uint32_t)
    else if (bytes == 2)
        GATHER_LINE(uint16_t)
    else
        GATHER_LINE(uint8_t)
}

/* Lines along the axis, one for each position off the axis: ids and y have the same, x may have
 * more. */
void wgi_cpu_gather(wg_call *c)
{
    const wg_index_attrs *a = c->node->attrs;
    const wg_value *x = c->node->in[0], *ids = c->node->in[1];
    int axis = wg_normalize_axis(a->axis, x->shape.rank);
    if (!wgi_ids_valid(c, 1, x->shape.dim[axis]))
        return;
    cpu_axis line = cpu_axis_split(&ids->shape, axis);
    int64_t stride[WG_MAX_RANK];
    wg_shape_strides(&x->shape, stride);
#pragma omp parallel for schedule(static)                                                          \
    num_threads(cpu_threads(c, line.outer *line.size *line.inner))
    for (int64_t k = 0; k < line.outer * line.inner; k++) {
        int64_t to = k / line.inner * line.size * line.inner + k % line.inner;
        gather_line(c, wg_dtype_size(x->dtype), line.size, to, line.inner,
                    cpu_line_start(&ids->shape, axis, k, stride), stride[axis]);
    }
}

/* A line along the axis: y[ids[i by] step] = src[i src_step], i < size. */
#define SCATTER_LINE(type)                                                                         \
    {                                                                                              \
        type *y = (type *)c->out[0] + to;                                                          \
        const type *src = (const type *)c->in[2] + from;                                           \
        for (int64_t i = 0; i < size; i++)                                                         \
            y[wgi_get_int(c->in[1], dtype, ids + i * by) * step] = src[i * src_step];              \
    }

static void scatter_line(const wg_call *c, size_t bytes, int64_t size, int64_t ids, int64_t by,
                         int64_t to, int64_t step, int64_t from, int64_t src_step)
{
    wg_dtype dtype = c->node->in[1]->dtype;
    if (bytes == 8)
        SCATTER_LINE(uint64_t)
    else if (bytes == 4)
        SCATTER_LINE(uint32_t)
    else if (bytes == 2)
        SCATTER_LINE(uint16_t)
    else
        SCATTER_LINE(uint8_t)
}

/* Each line is written in the order of its ids. */
void wgi_cpu_scatter(wg_call *c)
{
    const wg_shape *ids = &c->node->in[1]->shape;
    cpu_scatter s;
    if (!wgi_cpu_scatter_begin(c, &s))
        return;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, s.lines *s.size))
    for (int64_t k = 0; k < s.lines; k++)
        scatter_line(c, wg_dtype_size(c->node->in[0]->dtype), s.size, cpu_scatter_ids(&s, k),
                     s.inner, cpu_line_start(ids, s.axis, k, s.x_stride), s.x_stride[s.axis],
                     cpu_line_start(ids, s.axis, k, s.src_stride), s.src_stride[s.axis]);
}

/* x is brought to y first; then the rows are written in the order of ids. */
void wgi_cpu_put_rows(wg_call *c)
{
    const wg_value *x = c->node->in[0], *ids = c->node->in[1];
    cpu_axis split = cpu_axis_split(&x->shape, 0);
    size_t bytes = (size_t)split.inner * wg_dtype_size(x->dtype);
    if (!wgi_ids_valid(c, 1, split.size))
        return;
    if (c->out[0] != c->in[0])
        memcpy(c->out[0], c->in[0], wg_value_bytes(x));
    for (int64_t i = 0; i < cpu_count(ids); i++)
        memcpy((char *)c->out[0] + (size_t)wgi_get_int(c->in[1], ids->dtype, i) * bytes,
               (const char *)c->in[2] + (size_t)i * bytes, bytes);
}

#define FILL_ROW(type)                                                                             \
    {                                                                                              \
        type *y = out, fill;                                                                       \
        memcpy(&fill, value, sizeof fill);                                                         \
        for (int64_t i = 0; i < size; i++)                                                         \
            y[i] = mask[i * step] ? fill : y[i];                                                   \
    }

static void fill_row(size_t bytes, int64_t size, void *out, const uint8_t *mask, int64_t step,
                     const void *value)
{
    if (bytes == 8)
        FILL_ROW(uint64_t)
    else if (bytes == 4)
        FILL_ROW(uint32_t)
    else if (bytes == 2)
        FILL_ROW(uint16_t)
    else
        FILL_ROW(uint8_t)
}

/* x is brought to y first, broadcast if it must be; then the masked elements are overwritten. */
void wgi_cpu_masked_fill(wg_call *c)
{
    const wg_masked_fill_attrs *a = c->node->attrs;
    const wg_value *x = c->node->in[0], *mask = c->node->in[1], *y = c->node->out[0];
    const wg_shape *s = &y->shape;
    if (c->out[0] != c->in[0]) {
        cpu_walk walk = {0};
        wgi_broadcast_strides(&x->shape, s, walk.stride);
        wgi_cpu_copy(c, y->dtype, s, c->out[0], wgi_cpu_dense(s), c->in[0], walk);
    }
    uint64_t value = 0; /* in y's dtype */
    wgi_put_element(&value, y->dtype, 0, a->value);
    size_t bytes = wg_dtype_size(y->dtype);
    int64_t stride[WG_MAX_RANK];
    wgi_broadcast_strides(&mask->shape, s, stride);
    int64_t size = s->rank ? s->dim[s->rank - 1] : 1, step = s->rank ? stride[s->rank - 1] : 0;
    int64_t rows = size ? cpu_count(y) / size : 0;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, rows *size))
    for (int64_t row = 0; row < rows; row++) {
        int64_t from = 0, rest = row;
        for (int i = s->rank - 2; i >= 0; i--) {
            from += rest % s->dim[i] * stride[i];
            rest /= s->dim[i];
        }
        fill_row(bytes, size, (char *)c->out[0] + row * size * (int64_t)bytes,
                 (const uint8_t *)c->in[1] + from, step, &value);
    }
}
