/* Adding, and other ways of combining, at positions that are data.  Threads share out what does not
 * depend on the ids (columns, lines), so that each element of the result is computed by one thread,
 * in the order of the ids. */
#include "backends/cpu/any/rows_of_ids.h"
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

/* Some columns of x [count, pitch] and y [.., pitch] */
typedef struct columns {
    const real *x;
    real *y;
    int64_t count, pitch, width;
} columns;

/* to[id i] = formula in to and from, elements of y and x; one column has a loop of its own */
#define COLUMNS_BY_ID(name, formula)                                                               \
    static void name(const wg_call *c, const columns *v)                                           \
    {                                                                                              \
        wg_dtype dtype = c->node->in[1]->dtype;                                                    \
        for (int64_t i = 0; v->width == 1 && i < v->count; i++) {                                  \
            real *y = v->y + wgi_get_int(c->in[1], dtype, i) * v->pitch;                           \
            real to = *y, from = v->x[i * v->pitch];                                               \
            *y = formula;                                                                          \
        }                                                                                          \
        for (int64_t i = 0; v->width > 1 && i < v->count; i++) {                                   \
            real *y = v->y + wgi_get_int(c->in[1], dtype, i) * v->pitch;                           \
            for (int64_t j = 0; j < v->width; j++) {                                               \
                real to = y[j], from = v->x[i * v->pitch + j];                                     \
                y[j] = formula;                                                                    \
            }                                                                                      \
        }                                                                                          \
    }
COLUMNS_BY_ID(add_columns, to + from)
COLUMNS_BY_ID(larger_columns, larger(to, from))
COLUMNS_BY_ID(smaller_columns, smaller(to, from))

/* y[o, ids[i], j] = join(itself, x[o, i, j]) from `initial` */
static void segments(wg_call *c, real initial, void (*join)(const wg_call *c, const columns *v))
{
    enum { COLUMNS = 32 }; /* of a block: two cache lines of floats */
    const wg_segment_attrs *a = c->node->attrs;
    wgi_axis y = wgi_axis_of(&c->node->out[0]->shape, a->axis);
    int64_t count = cpu_count(c->node->in[1]), blocks = (y.inner + COLUMNS - 1) / COLUMNS;
    if (!wgi_ids_valid(c, 1, y.size))
        return;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(cpu_threads(c, y.outer *y.inner *(y.size + count)))
    for (int64_t k = 0; k < y.outer * blocks; k++) {
        int64_t o = k / blocks, first = k % blocks * COLUMNS;
        const columns v = {(const real *)c->in[0] + o * count * y.inner + first,
                           (real *)c->out[0] + o * y.size * y.inner + first, count, y.inner,
                           y.inner - first < COLUMNS ? y.inner - first : COLUMNS};
        for (int64_t row = 0; row < y.size; row++)
            for (int64_t j = 0; j < v.width; j++)
                v.y[row * y.inner + j] = initial;
        join(c, &v);
    }
}

void KERNEL(segment_sum)(wg_call *c)
{
    segments(c, 0, add_columns);
}

void KERNEL(segment_max)(wg_call *c)
{
    segments(c, cpu_lowest(), larger_columns);
}

void KERNEL(segment_min)(wg_call *c)
{
    segments(c, cpu_highest(), smaller_columns);
}

/* ---- scatters -------------------------------------------------------------------------------- */

/* y[id i] = formula in y, which is that element, and src, which is src[i] */
#define JOIN(name, formula)                                                                        \
    CPU_IDS_INLINE void name##_by(const wg_call *c, const cpu_ids *r, int64_t beside,              \
                                  int64_t step)                                                    \
    {                                                                                              \
        wg_dtype dtype = c->node->in[1]->dtype;                                                    \
        real *to = (real *)c->out[0] + r->at;                                                      \
        const real *from = (const real *)c->in[2] + r->other;                                      \
        for (int64_t i = 0; i < r->count; i++) {                                                   \
            int64_t at = i * beside + wgi_get_int(c->in[1], dtype, r->ids + i) * step;             \
            real y = to[at], src = from[i];                                                        \
            to[at] = formula;                                                                      \
        }                                                                                          \
    }                                                                                              \
    CPU_IDS_KERNEL(name, name##_by)
JOIN(add_ids, y + src)
JOIN(larger_ids, larger(y, src))
JOIN(smaller_ids, smaller(y, src))

void KERNEL(scatter_add)(wg_call *c)
{
    wgi_cpu_scatter_with(c, add_ids);
}

void KERNEL(scatter_max)(wg_call *c)
{
    wgi_cpu_scatter_with(c, larger_ids);
}

void KERNEL(scatter_min)(wg_call *c)
{
    wgi_cpu_scatter_with(c, smaller_ids);
}
