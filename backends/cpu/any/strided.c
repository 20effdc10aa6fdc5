#include "backends/cpu/any/strided.h"
#include "graph/element.h"
#include "backends/axes.h"
#include "backends/cpu/kernel.h"
#include "graph/ids.h"
#include "wengert/ops/index.h"

cpu_walk wgi_cpu_dense(const wg_shape *s)
{
    cpu_walk w = {0};
    wg_shape_strides(s, w.stride);
    return w;
}

cpu_walk wgi_cpu_window(const wg_shape *s, const wg_shape *start, const wg_shape *size,
                        const wg_shape *step)
{
    cpu_walk w = wgi_cpu_dense(s);
    for (int i = 0; i < s->rank; i++) {
        w.start += start->dim[i] * w.stride[i];
        w.stride[i] *=
            size->dim[i] > 1 ? step->dim[i] : 0; /* the step of a single position may be huge */
    }
    return w;
}

#define COPY_ROW(type)                                                                             \
    {                                                                                              \
        type *y = (type *)to + y0;                                                                 \
        const type *x = (const type *)from + x0;                                                   \
        for (int64_t j = 0; j < size; j++)                                                         \
            y[j * to_step] = x[j * from_step];                                                     \
    }

#define FILL_ROW(type)                                                                             \
    {                                                                                              \
        type *y = (type *)to + y0, x = ((const type *)from)[x0];                                   \
        _Pragma("omp simd") for (int64_t j = 0; j < size; j++) y[j] = x;                           \
    }

/* A dense row that is one number. */
static void fill_row(size_t bytes, int64_t size, void *to, int64_t y0, const void *from, int64_t x0)
{
    switch (bytes) {
    case 1: FILL_ROW(uint8_t) break;
    case 2: FILL_ROW(uint16_t) break;
    case 4: FILL_ROW(uint32_t) break;
    default: FILL_ROW(uint64_t) break;
    }
}

static void copy_row(size_t bytes, int64_t size, void *to, int64_t y0, int64_t to_step,
                     const void *from, int64_t x0, int64_t from_step)
{
    if (to_step == 1 && from_step == 1)
        memcpy((char *)to + y0 * (int64_t)bytes, (const char *)from + x0 * (int64_t)bytes,
               (size_t)size * bytes);
    else if (to_step == 1 && from_step == 0)
        fill_row(bytes, size, to, y0, from, x0);
    else if (bytes == 8)
        COPY_ROW(uint64_t)
    else if (bytes == 4)
        COPY_ROW(uint32_t)
    else if (bytes == 2)
        COPY_ROW(uint16_t)
    else
        COPY_ROW(uint8_t)
}

/* A copy of elements of so many bytes. */
typedef struct copy {
    size_t bytes;
    void *to;
    const void *from;
    int64_t to_start, from_start;
    const wgi_axes *axes;
} copy;

static void copy_rows(const wg_call *c, const void *loop, int64_t first, int64_t end)
{
    (void)c;
    const copy *k = loop;
    const wgi_axes *a = k->axes;
    for (int64_t row = first; row < end; row++) {
        int64_t y0 = k->to_start, x0 = k->from_start, rest = row;
        for (int i = 1; i < a->rank; i++) {
            y0 += rest % a->size[i] * a->to[i];
            x0 += rest % a->size[i] * a->from[i];
            rest /= a->size[i];
        }
        copy_row(k->bytes, a->size[0], k->to, y0, a->to[0], k->from, x0, a->from[0]);
    }
}

static void copy_axes(const wg_call *c, const copy *k)
{
    const wgi_axes *a = k->axes;
    int64_t rows = 1;
    for (int i = 1; i < a->rank; i++)
        rows *= a->size[i];
    cpu_share(c, k, rows, cpu_threads(c, rows * a->size[0]), copy_rows);
}

enum {
    BLOCK = 16
}; /* elements of a row of a transpose: so many cache lines are read side by side */

/* A transpose reads along axis 0 in long strides, while another axis is dense.  The order in
 * which elements are copied is free: axis 0 is cut into blocks, and the dense axis comes right
 * after one block, so that each cache line read serves several rows.  The axes of that part of
 * the copy go to *blocked; what axis 0 has beyond whole blocks stays in *a.  false: nothing to
 * gain. */
static bool block_transpose(wgi_axes *a, wgi_axes *blocked)
{
    int dense = 1;
    while (dense < a->rank && a->from[dense] != 1)
        dense++;
    if (a->from[0] == 0 || a->from[0] == 1 || dense >= a->rank || a->size[0] < BLOCK)
        return false;
    wgi_axes b = {.rank = 3,
                  .size = {BLOCK, a->size[dense], a->size[0] / BLOCK},
                  .to = {a->to[0], a->to[dense], BLOCK * a->to[0]},
                  .from = {a->from[0], a->from[dense], BLOCK * a->from[0]}};
    for (int i = 1; i < a->rank; i++)
        if (i != dense) {
            b.size[b.rank] = a->size[i];
            b.to[b.rank] = a->to[i];
            b.from[b.rank++] = a->from[i];
        }
    a->size[0] %= BLOCK;
    *blocked = b;
    return true;
}

void wgi_cpu_copy(const wg_call *c, wg_dtype dtype, const wg_shape *shape, void *to,
                  cpu_walk to_walk, const void *from, cpu_walk from_walk)
{
    if (wg_shape_count(shape) == 0)
        return;
    wgi_axes a = wgi_axes_merged(shape, to_walk.stride, from_walk.stride), blocked;
    copy k = {wg_dtype_size(dtype), to, from, to_walk.start, from_walk.start, &blocked};
    if (block_transpose(&a, &blocked)) {
        copy_axes(c, &k);
        int64_t done = BLOCK * blocked.size[2];
        k.to_start += done * a.to[0];
        k.from_start += done * a.from[0];
    }
    k.axes = &a;
    if (a.size[0] > 0)
        copy_axes(c, &k);
}

static void clear_bytes(const wg_call *c, const void *loop, int64_t first, int64_t end)
{
    (void)c;
    memset(*(char *const *)loop + first, 0, (size_t)(end - first));
}

void wgi_cpu_fill_with(const wg_call *c, wg_dtype dtype, int64_t count, void *to, double value)
{
    uint64_t element = 0; /* of any dtype */
    wgi_put_element(&element, dtype, 0, value);
    if (element == 0) {
        int64_t bytes = count * (int64_t)wg_dtype_size(dtype);
        cpu_share(c, &to, bytes, cpu_threads(c, bytes / 4), clear_bytes);
        return;
    }
    cpu_walk same = {0};
    wgi_cpu_copy(c, dtype, &(wg_shape){1, {count}}, to, wgi_cpu_dense(&(wg_shape){1, {count}}),
                 &element, same);
}

bool wgi_cpu_scatter_begin(wg_call *c, cpu_scatter *s)
{
    const wg_index_attrs *a = c->node->attrs;
    const wg_value *x = c->node->in[0], *ids = c->node->in[1], *src = c->node->in[2];
    s->axis = wg_normalize_axis(a->axis, x->shape.rank);
    cpu_axis split = cpu_axis_split(&ids->shape, s->axis);
    s->lines = split.outer * split.inner;
    s->size = split.size;
    s->inner = split.inner;
    wg_shape_strides(&x->shape, s->x_stride);
    wg_shape_strides(&src->shape, s->src_stride);
    if (!wgi_ids_valid(c, 1, x->shape.dim[s->axis]))
        return false;
    if (c->out[0] != c->in[0])
        memcpy(c->out[0], c->in[0], wg_value_bytes(x));
    return true;
}
