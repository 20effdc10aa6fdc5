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

/* y[i y_step] = x[i x_step], y[i] = x[-i], and y[i] = *x, for i < size: elements are only moved,
 * whatever they are. */
#define ROW_LOOPS(copy_name, reverse_name, fill_name, type)                                        \
    static void copy_name(int64_t size, void *to, int64_t y_step, const void *from,                \
                          int64_t x_step)                                                          \
    {                                                                                              \
        type *y = to;                                                                              \
        const type *x = from;                                                                      \
        for (int64_t i = 0; i < size; i++)                                                         \
            y[i * y_step] = x[i * x_step];                                                         \
    }                                                                                              \
                                                                                                   \
    static void reverse_name(int64_t size, void *to, const void *from)                             \
    {                                                                                              \
        type *y = to;                                                                              \
        const type *x = from;                                                                      \
        _Pragma("omp simd") for (int64_t i = 0; i < size; i++) y[i] = x[-i];                       \
    }                                                                                              \
                                                                                                   \
    static void fill_name(int64_t size, void *to, const void *from)                                \
    {                                                                                              \
        type *y = to, x = *(const type *)from;                                                     \
        _Pragma("omp simd") for (int64_t i = 0; i < size; i++) y[i] = x;                           \
    }
ROW_LOOPS(copy_8, reverse_8, fill_8, uint64_t)
ROW_LOOPS(copy_4, reverse_4, fill_4, uint32_t)
ROW_LOOPS(copy_2, reverse_2, fill_2, uint16_t)
ROW_LOOPS(copy_1, reverse_1, fill_1, uint8_t)

/* By the size of an element */
static const struct {
    void (*copy)(int64_t size, void *to, int64_t y_step, const void *from, int64_t x_step);
    void (*reverse)(int64_t size, void *to, const void *from);
    void (*fill)(int64_t size, void *to, const void *from);
} row_loops[] = {[8] = {copy_8, reverse_8, fill_8},
                 [4] = {copy_4, reverse_4, fill_4},
                 [2] = {copy_2, reverse_2, fill_2},
                 [1] = {copy_1, reverse_1, fill_1}};

static void copy_row(size_t bytes, int64_t size, void *to, int64_t y0, int64_t to_step,
                     const void *from, int64_t x0, int64_t from_step)
{
    void *y = (char *)to + y0 * (int64_t)bytes;
    const void *x = (const char *)from + x0 * (int64_t)bytes;
    if (to_step == 1 && from_step == 1)
        memcpy(y, x, (size_t)size * bytes);
    else if (to_step == 1 && from_step == 0)
        row_loops[bytes].fill(size, y, x);
    else if (to_step == 1 && from_step == -1)
        row_loops[bytes].reverse(size, y, x);
    else
        row_loops[bytes].copy(size, y, to_step, x, from_step);
}

/* A copy of elements of so many bytes. */
typedef struct copy {
    size_t bytes;
    void *to;
    const void *from;
    int64_t to_start, from_start;
    const wgi_axes *axes;
} copy;

/* Rows one after the other, the elements (y0, x0) and those that follow along axis 1: a call for
 * each row would take longer than a short one.  `bytes` and `size` are constants where this is
 * inlined. */
static inline void copy_short(size_t bytes, int64_t rows, int64_t size, const wgi_axes *a, char *y,
                              const char *x)
{
    int64_t y_step = a->to[0] * (int64_t)bytes, x_step = a->from[0] * (int64_t)bytes;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < size; i++)
            memcpy(y + i * y_step, x + i * x_step, bytes);
        y += a->to[1] * (int64_t)bytes;
        x += a->from[1] * (int64_t)bytes;
    }
}

static inline void copy_short_of(size_t bytes, int64_t rows, const wgi_axes *a, char *y,
                                 const char *x)
{
    switch (a->size[0]) {
    case 1: copy_short(bytes, rows, 1, a, y, x); break;
    case 2: copy_short(bytes, rows, 2, a, y, x); break;
    case 3: copy_short(bytes, rows, 3, a, y, x); break;
    case 4: copy_short(bytes, rows, 4, a, y, x); break;
    default: copy_short(bytes, rows, a->size[0], a, y, x);
    }
}

/* Rows that are dense on both sides; `row` bytes are a constant where this is inlined. */
static inline void copy_dense(size_t row, int64_t rows, char *y, int64_t y_next, const char *x,
                              int64_t x_next)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(y + i * y_next, x + i * x_next, row);
}

static void copy_dense_of(size_t row, int64_t rows, char *y, int64_t y_next, const char *x,
                          int64_t x_next)
{
    switch (row) {
    case 32: copy_dense(32, rows, y, y_next, x, x_next); break;
    case 64: copy_dense(64, rows, y, y_next, x, x_next); break;
    case 128: copy_dense(128, rows, y, y_next, x, x_next); break;
    default: copy_dense(row, rows, y, y_next, x, x_next);
    }
}

enum { SHORT = 12 /* elements of a row at most */, DENSE = 32 /* bytes of a dense one at least */ };

/* Rows that differ in their index of axis 1 only, from (y0, x0) on */
static void copy_run(const copy *k, int64_t rows, int64_t y0, int64_t x0)
{
    const wgi_axes *a = k->axes;
    int64_t bytes = (int64_t)k->bytes;
    char *y = (char *)k->to + y0 * bytes;
    const char *x = (const char *)k->from + x0 * bytes;
    size_t row = (size_t)(a->size[0] * bytes);
    if (a->to[0] == 1 && a->from[0] == 1 && row >= DENSE) {
        copy_dense_of(row, rows, y, a->to[1] * bytes, x, a->from[1] * bytes);
        return;
    }
    if (a->size[0] > SHORT) {
        for (int64_t i = 0; i < rows; i++)
            copy_row(k->bytes, a->size[0], k->to, y0 + i * a->to[1], a->to[0], k->from,
                     x0 + i * a->from[1], a->from[0]);
        return;
    }
    switch (k->bytes) {
    case 1: copy_short_of(1, rows, a, y, x); break;
    case 2: copy_short_of(2, rows, a, y, x); break;
    case 4: copy_short_of(4, rows, a, y, x); break;
    default: copy_short_of(8, rows, a, y, x);
    }
}

/* Where a run begins: its indices along axes 2 and up, and its first elements. */
typedef struct place {
    int64_t index[WG_MAX_RANK + 1], y, x;
} place;

static place place_of(const copy *k, int64_t run)
{
    const wgi_axes *a = k->axes;
    place p = {.y = k->to_start, .x = k->from_start};
    for (int i = 2; i < a->rank; i++) {
        p.index[i] = run % a->size[i];
        p.y += p.index[i] * a->to[i];
        p.x += p.index[i] * a->from[i];
        run /= a->size[i];
    }
    return p;
}

/* To the next run, without divisions */
static void advance(place *p, const wgi_axes *a)
{
    for (int i = 2; i < a->rank; i++) {
        p->y += a->to[i];
        p->x += a->from[i];
        if (++p->index[i] < a->size[i])
            return;
        p->index[i] = 0;
        p->y -= a->size[i] * a->to[i];
        p->x -= a->size[i] * a->from[i];
    }
}

static void copy_rows(const wg_call *c, const void *loop, int64_t first, int64_t end)
{
    (void)c;
    const copy *k = loop;
    const wgi_axes *a = k->axes;
    int64_t along = a->rank > 1 ? a->size[1] : 1, done = first % along;
    place p = place_of(k, first / along);
    for (int64_t row = first, rows; row < end; row += rows, done = 0) {
        rows = along - done < end - row ? along - done : end - row;
        copy_run(k, rows, p.y + done * a->to[1], p.x + done * a->from[1]);
        advance(&p, a);
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
