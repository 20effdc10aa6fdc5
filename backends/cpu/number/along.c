/* Along one axis: cumsum, argmax, argmin, topk.  x is seen as [outer, size, inner]; each (outer,
 * inner) is a line. */
#include "backends/cpu/kernel.h"
#include "wengert/ops/reduce.h"
#include "wengert/ops/select.h"

static cpu_axis axis_of(const wg_call *c, int64_t axis)
{
    const wg_shape *x = &c->node->in[0]->shape;
    return cpu_axis_split(x, wg_normalize_axis(axis, x->rank));
}

/* ---- cumsum ---------------------------------------------------------------------------------- */

enum { BLOCK = 64 };

static void cumsum_line(const wg_cumsum_attrs *a, int64_t size, const real *x, real *y)
{
    wide sum = 0;
    for (int64_t k = 0; k < size; k++) {
        int64_t i = a->reverse ? size - 1 - k : k;
        wide before = sum;
        sum += x[i];
        y[i] = (real)(a->exclusive ? before : sum);
    }
}

/* `width` lines beside each other, so that memory is read in its order */
static void cumsum_lines(const wg_cumsum_attrs *a, int64_t size, int64_t stride, int64_t width,
                         const real *x, real *y)
{
    wide sum[BLOCK] = {0};
    for (int64_t k = 0; k < size; k++) {
        int64_t i = (a->reverse ? size - 1 - k : k) * stride;
        for (int64_t j = 0; j < width; j++) {
            wide before = sum[j];
            sum[j] += x[i + j];
            y[i + j] = (real)(a->exclusive ? before : sum[j]);
        }
    }
}

void KERNEL(cumsum)(wg_call *c)
{
    const wg_cumsum_attrs *a = c->node->attrs;
    cpu_axis s = axis_of(c, a->axis);
    int64_t across = (s.inner + BLOCK - 1) / BLOCK;
    int threads = cpu_threads(c, s.outer * s.size * s.inner);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t block = 0; block < s.outer * across; block++) {
        int64_t first = block % across * BLOCK, at = block / across * s.size * s.inner + first;
        int64_t width = s.inner - first < BLOCK ? s.inner - first : BLOCK;
        const real *x = (const real *)c->in[0] + at;
        real *y = (real *)c->out[0] + at;
        if (s.inner == 1)
            cumsum_line(a, s.size, x, y);
        else
            cumsum_lines(a, s.size, s.inner, width, x, y);
    }
}

/* ---- argmax, argmin -------------------------------------------------------------------------- */

/* NaN comes before everything else */
static inline bool larger(real a, real b)
{
    return a > b || (cpu_is_nan(a) && !cpu_is_nan(b));
}

static inline bool smaller(real a, real b)
{
    return a < b || (cpu_is_nan(a) && !cpu_is_nan(b));
}

static inline void arg(const wg_call *c, bool (*better)(real, real))
{
    const wg_arg_attrs *a = c->node->attrs;
    cpu_axis s = axis_of(c, a->axis);
    int64_t *out = c->out[0], lines = s.outer * s.inner;
    int threads = cpu_threads(c, lines * s.size);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t line = 0; line < lines; line++) {
        int64_t from = line / s.inner * s.size * s.inner + line % s.inner, best = 0;
        const real *x = (const real *)c->in[0] + from;
        real top = x[0];
        for (int64_t i = 1; i < s.size; i++)
            if (better(x[i * s.inner], top)) {
                top = x[i * s.inner];
                best = i;
            }
        out[line] = best;
    }
}

void KERNEL(argmax)(wg_call *c)
{
    arg(c, larger);
}

void KERNEL(argmin)(wg_call *c)
{
    arg(c, smaller);
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
    cpu_axis s = axis_of(c, a->axis);
    int64_t lines = a->k ? s.outer * s.inner : 0;
    int threads = cpu_threads(c, lines * s.size);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t line = 0; line < lines; line++) {
        int64_t outer = line / s.inner * s.inner, inner = line % s.inner, to = outer * a->k + inner;
        topk((const real *)c->in[0] + outer * s.size + inner, s.size, s.inner, a->k,
             (real *)c->out[0] + to, (int64_t *)c->out[1] + to);
    }
}
