/* Along one axis: cumulative functions, argmax, argmin, topk.  x is seen as [outer, size, inner];
 * each (outer, inner) is a line. */
#include "backends/cpu/kernel.h"
#include "wengert/ops/cumulative.h"
#include "wengert/ops/index.h"
#include "wengert/ops/select.h"

static wgi_axis axis_of(const wg_call *c, int64_t axis)
{
    const wg_shape *x = &c->node->in[0]->shape;
    return wgi_axis_of(x, axis);
}

/* ---- cumsum, cumprod ------------------------------------------------------------------------- */

enum { BLOCK = 64 };

/* How an element joins what has come so far.  A parallel region gets what it uses through memory:
 * only calls within it tell the compiler which function that is. */
typedef wide joining(wide sofar, wide x);

static inline void cumulate_line(joining *join, wide initial, const wg_cumsum_attrs *a,
                                 int64_t size, const real *x, real *y)
{
    wide sofar = initial;
    for (int64_t k = 0; k < size; k++) {
        int64_t i = a->reverse ? size - 1 - k : k;
        wide before = sofar;
        sofar = join(sofar, x[i]);
        y[i] = (real)(a->exclusive ? before : sofar);
    }
}

/* `width` lines beside each other, so that memory is read in its order */
static inline void cumulate_lines(joining *join, wide initial, const wg_cumsum_attrs *a,
                                  int64_t size, int64_t stride, int64_t width, const real *x,
                                  real *y)
{
    wide sofar[BLOCK];
    for (int64_t j = 0; j < width; j++)
        sofar[j] = initial;
    for (int64_t k = 0; k < size; k++) {
        int64_t i = (a->reverse ? size - 1 - k : k) * stride;
        for (int64_t j = 0; j < width; j++) {
            wide before = sofar[j];
            sofar[j] = join(sofar[j], x[i + j]);
            y[i + j] = (real)(a->exclusive ? before : sofar[j]);
        }
    }
}

static inline void cumulate_block(joining *join, wide initial, const wg_cumsum_attrs *a, wgi_axis s,
                                  int64_t width, const real *x, real *y)
{
    if (s.inner == 1)
        cumulate_line(join, initial, a, s.size, x, y);
    else
        cumulate_lines(join, initial, a, s.size, s.inner, width, x, y);
}

static inline wide sum_of(wide sofar, wide x)
{
    return sofar + x;
}

static inline wide product_of(wide sofar, wide x)
{
    return sofar * x;
}

static void cumulate(const wg_call *c, bool products)
{
    const wg_cumsum_attrs *a = c->node->attrs;
    wgi_axis s = axis_of(c, a->axis);
    int64_t across = (s.inner + BLOCK - 1) / BLOCK;
    int threads = cpu_threads(c, s.outer * s.size * s.inner);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t block = 0; block < s.outer * across; block++) {
        int64_t first = block % across * BLOCK, at = block / across * s.size * s.inner + first;
        int64_t width = s.inner - first < BLOCK ? s.inner - first : BLOCK;
        const real *x = (const real *)c->in[0] + at;
        real *y = (real *)c->out[0] + at;
        if (products)
            cumulate_block(product_of, 1, a, s, width, x, y);
        else
            cumulate_block(sum_of, 0, a, s, width, x, y);
    }
}

void KERNEL(cumsum)(wg_call *c)
{
    cumulate(c, false);
}

void KERNEL(cumprod)(wg_call *c)
{
    cumulate(c, true);
}

/* ---- argmax, argmin -------------------------------------------------------------------------- */

/* NaN comes before everything else */
static inline bool larger(real a, real b)
{
    return !(a <= b) && !cpu_is_nan(b);
}

static inline bool smaller(real a, real b)
{
    return !(a >= b) && !cpu_is_nan(b);
}

/* Where the best of a line is, whose numbers lie `step` apart */
static inline int64_t arg_of_line(const real *x, int64_t size, int64_t step,
                                  bool (*better)(real, real))
{
    real top = x[0];
    int64_t best = 0;
    for (int64_t i = 1; i < size; i++)
        if (better(x[i * step], top)) {
            top = x[i * step];
            best = i;
        }
    return best;
}

static void arg(const wg_call *c, bool smallest)
{
    const wg_arg_attrs *a = c->node->attrs;
    wgi_axis s = axis_of(c, a->axis);
    int64_t *out = c->out[0], lines = s.outer * s.inner;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, lines *s.size))
    for (int64_t line = 0; line < lines; line++) {
        const real *x = (const real *)c->in[0] + line / s.inner * s.size * s.inner + line % s.inner;
        out[line] = smallest ? arg_of_line(x, s.size, s.inner, smaller)
                             : arg_of_line(x, s.size, s.inner, larger);
    }
}

void KERNEL(argmax)(wg_call *c)
{
    arg(c, false);
}

void KERNEL(argmin)(wg_call *c)
{
    arg(c, true);
}

/* ---- cummax, cummin -------------------------------------------------------------------------- */

static inline void extremes_of_line(const real *x, int64_t size, int64_t step, real *value,
                                    int64_t *index, bool (*better)(real, real))
{
    real top = x[0];
    int64_t best = 0;
    for (int64_t i = 0; i < size; i++) {
        if (better(x[i * step], top)) {
            top = x[i * step];
            best = i;
        }
        value[i * step] = top;
        index[i * step] = best;
    }
}

static void cumulative_extreme(const wg_call *c, bool smallest)
{
    const wg_index_attrs *a = c->node->attrs;
    wgi_axis s = axis_of(c, a->axis);
    int64_t lines = s.size ? s.outer * s.inner : 0;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, lines *s.size))
    for (int64_t line = 0; line < lines; line++) {
        int64_t from = line / s.inner * s.size * s.inner + line % s.inner;
        const real *x = (const real *)c->in[0] + from;
        real *value = (real *)c->out[0] + from;
        int64_t *index = (int64_t *)c->out[1] + from;
        if (smallest)
            extremes_of_line(x, s.size, s.inner, value, index, smaller);
        else
            extremes_of_line(x, s.size, s.inner, value, index, larger);
    }
}

void KERNEL(cummax)(wg_call *c)
{
    cumulative_extreme(c, false);
}

void KERNEL(cummin)(wg_call *c)
{
    cumulative_extreme(c, true);
}

/* ---- topk ------------------------------------------------------------------------------------ */

/* Insertion into the list of the best so far, which is the result itself; most elements fail the
 * first comparison, with the last of the list. */
static void topk(const real *x, int64_t size, int64_t stride, int64_t k, real *value,
                 int64_t *index)
{
    for (int64_t i = 0, held = 0; i < size; i++) {
        real v = x[i * stride];
        if (held == k && !larger(v, value[(k - 1) * stride]))
            continue;
        int64_t place = held < k ? held++ : k - 1;
        for (; place > 0 && larger(v, value[(place - 1) * stride]); place--) {
            value[place * stride] = value[(place - 1) * stride];
            index[place * stride] = index[(place - 1) * stride];
        }
        value[place * stride] = v;
        index[place * stride] = i;
    }
}

void KERNEL(topk)(wg_call *c)
{
    const wg_topk_attrs *a = c->node->attrs;
    wgi_axis s = axis_of(c, a->axis);
    int64_t lines = a->k ? s.outer * s.inner : 0;
    int threads = cpu_threads(c, lines * s.size);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t line = 0; line < lines; line++) {
        int64_t outer = line / s.inner * s.inner, inner = line % s.inner, to = outer * a->k + inner;
        topk((const real *)c->in[0] + outer * s.size + inner, s.size, s.inner, a->k,
             (real *)c->out[0] + to, (int64_t *)c->out[1] + to);
    }
}
