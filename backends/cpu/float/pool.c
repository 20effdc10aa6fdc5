/* Pooling, plane by plane: windows run along a row of the result, taps along W are innermost. */
#include "backends/cpu/kernel.h"
#include "wengert/ops/pool.h"

/* The first largest element of a window; a NaN is larger than any number. */
void KERNEL(max_pool2d)(wg_call *c)
{
    const wg_node *n = c->node;
    wg_sliding h, w;
    wg_pool_windows(n->attrs, &n->in[0]->shape, &n->out[0]->shape, &h, &w);
    const real *x = c->in[0];
    real *y = c->out[0];
    int64_t *index = c->out[1], count = cpu_count(n->out[0]);
    int threads = cpu_threads(c, count * h.kernel * w.kernel);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t o = 0; o < count; o++) {
        int64_t q = o % w.count, p = o / w.count % h.count, plane = o / w.count / h.count;
        const real *from = x + plane * h.size * w.size;
        int64_t k, k_end, l_first, l_end, best = -1;
        wg_sliding_taps(&w, q, &l_first, &l_end);
        for (wg_sliding_taps(&h, p, &k, &k_end); k < k_end; k++)
            for (int64_t l = l_first; l < l_end; l++) {
                int64_t i = wg_sliding_position(&h, p, k) * w.size + wg_sliding_position(&w, q, l);
                if (best < 0 || from[i] > from[best] ||
                    (from[i] != from[i] && from[best] == from[best]))
                    best = i;
            }
        y[o] = from[best];
        index[o] = best;
    }
}

/* Of an [N, C, ...] shape: elements of one plane, and how many planes. */
static int64_t plane_size(const wg_value *v)
{
    return v->shape.dim[2] * v->shape.dim[3];
}

static int64_t plane_count(const wg_value *v)
{
    return v->shape.dim[0] * v->shape.dim[1];
}

static bool indices_inside(wg_call *c, int64_t size)
{
    const int64_t *index = c->in[1];
    int64_t count = cpu_count(c->node->in[1]);
    for (int64_t o = 0; o < count; o++)
        if (index[o] < 0 || index[o] >= size) {
            wg_call_fail(c, "index %lld is outside [0,%lld)", (long long)index[o], (long long)size);
            return false;
        }
    return true;
}

void KERNEL(pool_gather)(wg_call *c)
{
    const wg_node *n = c->node;
    int64_t size = plane_size(n->in[0]), windows = plane_size(n->out[0]),
            planes = plane_count(n->out[0]);
    const real *x = c->in[0];
    const int64_t *index = c->in[1];
    real *y = c->out[0];
    if (!indices_inside(c, size))
        return;
    int threads = cpu_threads(c, planes * windows);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t plane = 0; plane < planes; plane++)
        for (int64_t o = plane * windows; o < (plane + 1) * windows; o++)
            y[o] = x[plane * size + index[o]];
}

void KERNEL(pool_scatter)(wg_call *c)
{
    const wg_node *n = c->node;
    int64_t size = plane_size(n->out[0]), windows = plane_size(n->in[0]),
            planes = plane_count(n->out[0]);
    const real *y = c->in[0];
    const int64_t *index = c->in[1];
    real *x = c->out[0];
    if (!indices_inside(c, size))
        return;
    int threads = cpu_threads(c, planes * (size + windows));

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t plane = 0; plane < planes; plane++) {
        for (int64_t i = plane * size; i < (plane + 1) * size; i++)
            x[i] = 0;
        for (int64_t o = plane * windows; o < (plane + 1) * windows; o++)
            x[plane * size + index[o]] += y[o];
    }
}

/* What the mean of window p, q divides by, given how many of its elements lie inside. */
static wide divisor(const wg_pool_attrs *a, const wg_sliding *h, int64_t p, const wg_sliding *w,
                    int64_t q, int64_t inside)
{
    return (wide)(a->exclude_padding ? inside
                                     : wg_sliding_padded_taps(h, p) * wg_sliding_padded_taps(w, q));
}

void KERNEL(avg_pool2d)(wg_call *c)
{
    const wg_node *n = c->node;
    const wg_pool_attrs *a = n->attrs;
    wg_sliding h, w;
    wg_pool_windows(a, &n->in[0]->shape, &n->out[0]->shape, &h, &w);
    const real *x = c->in[0];
    real *y = c->out[0];
    int64_t count = cpu_count(n->out[0]);
    int threads = cpu_threads(c, count * h.kernel * w.kernel);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t o = 0; o < count; o++) {
        int64_t q = o % w.count, p = o / w.count % h.count, plane = o / w.count / h.count;
        int64_t k_first, k_end, l_first, l_end;
        wide sum = 0;
        wg_sliding_taps(&h, p, &k_first, &k_end);
        wg_sliding_taps(&w, q, &l_first, &l_end);
        for (int64_t k = k_first; k < k_end; k++) {
            const real *from = x + (plane * h.size + wg_sliding_position(&h, p, k)) * w.size;
            for (int64_t l = l_first; l < l_end; l++)
                sum += from[wg_sliding_position(&w, q, l)];
        }
        int64_t inside = (k_end - k_first) * (l_end - l_first);
        y[o] = (real)(sum / divisor(a, &h, p, &w, q, inside));
    }
}

void KERNEL(avg_pool2d_grad)(wg_call *c)
{
    const wg_node *n = c->node;
    const wg_pool_attrs *a = n->attrs;
    wg_sliding h, w;
    wg_pool_windows(a, &n->out[0]->shape, &n->in[0]->shape, &h, &w);
    const real *dy = c->in[0];
    real *dx = c->out[0];
    int64_t planes = plane_count(n->out[0]), size = h.size * w.size;
    int threads = cpu_threads(c, cpu_count(n->in[0]) * h.kernel * w.kernel);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t plane = 0; plane < planes; plane++) {
        real *to = dx + plane * size;
        for (int64_t i = 0; i < size; i++)
            to[i] = 0;
        for (int64_t o = 0; o < h.count * w.count; o++) {
            int64_t p = o / w.count, q = o % w.count, k_first, k_end, l_first, l_end;
            wg_sliding_taps(&h, p, &k_first, &k_end);
            wg_sliding_taps(&w, q, &l_first, &l_end);
            int64_t inside = (k_end - k_first) * (l_end - l_first);
            real each =
                (real)(dy[plane * h.count * w.count + o] / divisor(a, &h, p, &w, q, inside));
            for (int64_t k = k_first; k < k_end; k++)
                for (int64_t l = l_first; l < l_end; l++)
                    to[wg_sliding_position(&h, p, k) * w.size + wg_sliding_position(&w, q, l)] +=
                        each;
        }
    }
}
