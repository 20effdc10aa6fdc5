/* Adding, and other ways of combining, at positions that are data.  Threads share out what does not
 * depend on the ids (columns, lines), so that each element of the result is computed by one thread,
 * in the order of the ids. */
#include "backends/cpu/any/strided.h"
#include "backends/cpu/kernel.h"
#include "graph/ids.h"
#include "wengert/ops/index.h"
#include "wengert/ops/segment.h"

/* The larger or smaller of two, or a NaN: a + b is reached only where one of them is NaN. */
static inline real larger(real a, real b)
{
    return a < b ? b : a >= b ? a : a + b;
}

static inline real smaller(real a, real b)
{
    return a > b ? b : a <= b ? a : a + b;
}

/* ---- segments -------------------------------------------------------------------------------- */

#define ROW(name, formula)                                                                         \
    static void name(real *y, const real *x, int64_t width)                                        \
    {                                                                                              \
        for (int64_t j = 0; j < width; j++)                                                        \
            y[j] = formula;                                                                        \
    }
ROW(add_row, y[j] + x[j])
ROW(larger_row, larger(y[j], x[j]))
ROW(smaller_row, smaller(y[j], x[j]))

/* y[o, ids[i], j] = join(itself, x[o, i, j]) from `initial` */
static void segments(wg_call *c, real initial, void (*join)(real *y, const real *x, int64_t width))
{
    enum { COLUMNS = 32 }; /* of a block: two cache lines of floats */
    const wg_segment_attrs *a = c->node->attrs;
    const wg_value *ids = c->node->in[1];
    const wg_shape *s = &c->node->out[0]->shape;
    wgi_axis y = wgi_axis_of(s, a->axis);
    const real *x = c->in[0];
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
            for (int64_t j = 0; j < width; j++)
                out[(o * y.size + v) * y.inner + first + j] = initial;
        for (int64_t i = 0; i < count; i++) {
            int64_t row = o * y.size + wgi_get_int(c->in[1], ids->dtype, i);
            join(out + row * y.inner + first, x + (o * count + i) * y.inner + first, width);
        }
    }
}

void KERNEL(segment_sum)(wg_call *c)
{
    segments(c, 0, add_row);
}

void KERNEL(segment_max)(wg_call *c)
{
    segments(c, cpu_lowest(), larger_row);
}

void KERNEL(segment_min)(wg_call *c)
{
    segments(c, cpu_highest(), smaller_row);
}

/* ---- scatters -------------------------------------------------------------------------------- */

/* A line along the axis, of which id i lies at ids + i by: y[ids[i]] = formula in y and src[i]. */
typedef struct line {
    const wg_call *c;
    int64_t size, ids, by; /* of ids */
    real *y;
    const real *src;
    int64_t y_step, src_step;
} line;

#define LINE(name, formula)                                                                        \
    static void name(const line *l)                                                                \
    {                                                                                              \
        for (int64_t i = 0; i < l->size; i++) {                                                    \
            int64_t id = wgi_get_int(l->c->in[1], l->c->node->in[1]->dtype, l->ids + i * l->by);   \
            real y = l->y[id * l->y_step], src = l->src[i * l->src_step];                          \
            l->y[id * l->y_step] = formula;                                                        \
        }                                                                                          \
    }
LINE(add_line, y + src)
LINE(larger_line, larger(y, src))
LINE(smaller_line, smaller(y, src))

/* y = x, then y[i, ids[i, j, k], k] = join(itself, src[i, j, k]): a line along the axis at a
 * time. */
static void scatter(wg_call *c, void (*join)(const line *l))
{
    const wg_shape *ids = &c->node->in[1]->shape;
    cpu_scatter s;
    if (!wgi_cpu_scatter_begin(c, &s))
        return;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, s.lines *s.size))
    for (int64_t k = 0; k < s.lines; k++)
        join(&(const line){
            .c = c,
            .size = s.size,
            .ids = cpu_scatter_ids(&s, k),
            .by = s.inner,
            .y = (real *)c->out[0] + cpu_line_start(ids, s.axis, k, s.x_stride),
            .src = (const real *)c->in[2] + cpu_line_start(ids, s.axis, k, s.src_stride),
            .y_step = s.x_stride[s.axis],
            .src_step = s.src_stride[s.axis],
        });
}

void KERNEL(scatter_add)(wg_call *c)
{
    scatter(c, add_line);
}

void KERNEL(scatter_max)(wg_call *c)
{
    scatter(c, larger_line);
}

void KERNEL(scatter_min)(wg_call *c)
{
    scatter(c, smaller_line);
}
