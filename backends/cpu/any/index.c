/* Reading and writing at positions that are data: elements of 1, 2, 4 or 8 bytes. */
#include "graph/element.h"
#include "backends/cpu/any/rows_of_ids.h"
#include "backends/cpu/any/strided.h"
#include "graph/ids.h"
#include "backends/broadcast.h"
#include "backends/cpu/kernel.h"
#include "wengert/ops/index.h"

/* y[i] = x[id i] */
#define GATHER(name, type)                                                                         \
    CPU_IDS_INLINE void name##_by(const wg_call *c, const cpu_ids *r, int64_t beside,              \
                                  int64_t step)                                                    \
    {                                                                                              \
        wg_dtype dtype = c->node->in[1]->dtype;                                                    \
        type *y = (type *)c->out[0] + r->other;                                                    \
        const type *x = (const type *)c->in[0] + r->at;                                            \
        for (int64_t i = 0; i < r->count; i++)                                                     \
            y[i] = x[i * beside + wgi_get_int(c->in[1], dtype, r->ids + i) * step];                \
    }                                                                                              \
    CPU_IDS_KERNEL(name, name##_by)
GATHER(gather_8, uint64_t)
GATHER(gather_4, uint32_t)
GATHER(gather_2, uint16_t)
GATHER(gather_1, uint8_t)

/* By the size of an element */
static cpu_ids_kernel *const gather[] = {
    [8] = gather_8, [4] = gather_4, [2] = gather_2, [1] = gather_1};

/* y[o, i] = x[o, ids[i]]; lines in parts, which threads can share */
static void take_numbers(wg_call *c, const wgi_axis *x, int64_t count, int threads)
{
    enum { PART = 1 << 12 };
    cpu_ids_kernel *kernel = gather[wg_dtype_size(c->node->in[0]->dtype)];
    int64_t parts = (count + PART - 1) / PART;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < x->outer * parts; k++) {
        int64_t o = k / parts, first = k % parts * PART, left = count - first;
        kernel(c, &(const cpu_ids){.count = left < PART ? left : PART,
                                   .ids = first,
                                   .other = o * count + first,
                                   .at = o * x->size,
                                   .step = 1});
    }
}

/* The same of a few ids: one column of y after the other. */
static void take_columns(wg_call *c, const wgi_axis *x, int64_t count)
{
    const wg_shape lines = {1, {x->outer}};
    for (int64_t i = 0; i < count; i++) {
        const int64_t id = wgi_get_int(c->in[1], c->node->in[1]->dtype, i);
        const cpu_walk to = {i, {count}}, from = {id, {x->size}};
        wgi_cpu_copy(c, c->node->in[0]->dtype, &lines, c->out[0], to, c->in[0], from);
    }
}

/* y[o, i, :] = x[o, ids[i], :] */
static void take_rows(wg_call *c, const wgi_axis *x, int64_t count, int threads)
{
    wg_dtype dtype = c->node->in[1]->dtype;
    size_t bytes = (size_t)x->inner * wg_dtype_size(c->node->in[0]->dtype);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < x->outer * count; row++) {
        int64_t from = row / count * x->size + wgi_get_int(c->in[1], dtype, row % count);
        memcpy((char *)c->out[0] + (size_t)row * bytes,
               (const char *)c->in[0] + (size_t)from * bytes, bytes);
    }
}

static void take(wg_call *c, int axis)
{
    enum { FEW = 4 }; /* so few that reading the ids of each line takes longer */
    wgi_axis x = wgi_axis_of(&c->node->in[0]->shape, axis);
    int64_t count = cpu_count(c->node->in[1]);
    if (!wgi_ids_valid(c, 1, x.size))
        return;
    int threads = cpu_threads(c, x.outer * count * x.inner);
    if (x.inner == 1 && count <= FEW && x.outer > count)
        take_columns(c, &x, count);
    else if (x.inner == 1)
        take_numbers(c, &x, count, threads);
    else
        take_rows(c, &x, count, threads);
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

void wgi_cpu_gather(wg_call *c)
{
    const wg_index_attrs *a = c->node->attrs;
    const wg_shape *x = &c->node->in[0]->shape;
    int axis = wg_normalize_axis(a->axis, x->rank);
    if (wgi_ids_valid(c, 1, x->dim[axis]))
        wgi_cpu_each_row_of_ids(c, axis, x, &c->node->out[0]->shape,
                                gather[wg_dtype_size(c->node->in[0]->dtype)]);
}

/* y[id i] = src[i] */
#define SCATTER(name, type)                                                                        \
    CPU_IDS_INLINE void name##_by(const wg_call *c, const cpu_ids *r, int64_t beside,              \
                                  int64_t step)                                                    \
    {                                                                                              \
        wg_dtype dtype = c->node->in[1]->dtype;                                                    \
        type *y = (type *)c->out[0] + r->at;                                                       \
        const type *src = (const type *)c->in[2] + r->other;                                       \
        for (int64_t i = 0; i < r->count; i++)                                                     \
            y[i * beside + wgi_get_int(c->in[1], dtype, r->ids + i) * step] = src[i];              \
    }                                                                                              \
    CPU_IDS_KERNEL(name, name##_by)
SCATTER(scatter_8, uint64_t)
SCATTER(scatter_4, uint32_t)
SCATTER(scatter_2, uint16_t)
SCATTER(scatter_1, uint8_t)

static cpu_ids_kernel *const scatter[] = {
    [8] = scatter_8, [4] = scatter_4, [2] = scatter_2, [1] = scatter_1};

/* First y = x; each line is written in the order of its ids. */
void wgi_cpu_scatter(wg_call *c)
{
    wgi_cpu_scatter_with(c, scatter[wg_dtype_size(c->node->in[0]->dtype)]);
}

void wgi_cpu_scatter_with(wg_call *c, cpu_ids_kernel *kernel)
{
    const wg_index_attrs *a = c->node->attrs;
    const wg_value *x = c->node->in[0];
    int axis = wg_normalize_axis(a->axis, x->shape.rank);
    if (!wgi_ids_valid(c, 1, x->shape.dim[axis]))
        return;
    if (c->out[0] != c->in[0])
        memcpy(c->out[0], c->in[0], wg_value_bytes(x));
    wgi_cpu_each_row_of_ids(c, axis, &x->shape, &c->node->in[2]->shape, kernel);
}

/* First y = x; then the rows are written in the order of ids. */
void wgi_cpu_put_rows(wg_call *c)
{
    const wg_value *x = c->node->in[0], *ids = c->node->in[1];
    wgi_axis split = wgi_axis_of(&x->shape, 0);
    size_t bytes = (size_t)split.inner * wg_dtype_size(x->dtype);
    if (!wgi_ids_valid(c, 1, split.size))
        return;
    if (c->out[0] != c->in[0])
        memcpy(c->out[0], c->in[0], wg_value_bytes(x));
    if (split.inner == 1) {
        scatter[bytes](c, &(const cpu_ids){.count = cpu_count(ids), .step = 1});
        return;
    }
    for (int64_t i = 0; i < cpu_count(ids); i++)
        memcpy((char *)c->out[0] + (size_t)wgi_get_int(c->in[1], ids->dtype, i) * bytes,
               (const char *)c->in[2] + (size_t)i * bytes, bytes);
}

/* y[i] = value where mask[i step], i < size */
#define FILL_ROW(name, type)                                                                       \
    static void name(int64_t size, void *out, const uint8_t *mask, int64_t step,                   \
                     const void *value)                                                            \
    {                                                                                              \
        type *y = out, fill;                                                                       \
        memcpy(&fill, value, sizeof fill);                                                         \
        for (int64_t i = 0; i < size; i++)                                                         \
            y[i] = mask[i * step] ? fill : y[i];                                                   \
    }
FILL_ROW(fill_8, uint64_t)
FILL_ROW(fill_4, uint32_t)
FILL_ROW(fill_2, uint16_t)
FILL_ROW(fill_1, uint8_t)

static void (*const fill_row[])(int64_t size, void *out, const uint8_t *mask, int64_t step,
                                const void *value) = {
    [8] = fill_8, [4] = fill_4, [2] = fill_2, [1] = fill_1};

/* First y = x, broadcast where necessary; then the masked elements are overwritten. */
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
        fill_row[bytes](size, (char *)c->out[0] + row * size * (int64_t)bytes,
                        (const uint8_t *)c->in[1] + from, step, &value);
    }
}
