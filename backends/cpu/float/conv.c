/* Direct convolution, and its two adjoints: no copy of the input, innermost loops along W, each row
 * of the result by one thread in one order.  Rows and taps that meet only padding are left out by
 * their ranges. */
#include "backends/cpu/kernel.h"
#include "wengert/ops/conv.h"

/* y[q] += s x[position of tap l of window q] for the windows whose tap l is inside x, and back. */
static void gather_row(real *restrict y, real s, const real *restrict x, const wg_sliding *w,
                       int64_t l)
{
    int64_t first, end, start = wg_sliding_position(w, 0, l), stride = w->stride;
    wg_sliding_range(w, l, &first, &end);
    if (stride == 1)
        for (int64_t q = first; q < end; q++)
            y[q] += s * x[start + q];
    else
        for (int64_t q = first; q < end; q++)
            y[q] += s * x[start + q * stride];
}

static void scatter_row(real *restrict x, real s, const real *restrict y, const wg_sliding *w,
                        int64_t l)
{
    int64_t first, end, start = wg_sliding_position(w, 0, l), stride = w->stride;
    wg_sliding_range(w, l, &first, &end);
    if (stride == 1)
        for (int64_t q = first; q < end; q++)
            x[start + q] += s * y[q];
    else
        for (int64_t q = first; q < end; q++)
            x[start + q * stride] += s * y[q];
}

static wide dot_row(const real *x, const real *y, const wg_sliding *w, int64_t l)
{
    int64_t first, end, start = wg_sliding_position(w, 0, l), stride = w->stride;
    wide sum = 0;
    wg_sliding_range(w, l, &first, &end);
#pragma omp simd reduction(+ : sum)
    for (int64_t q = first; q < end; q++)
        sum += (wide)x[start + q * stride] * (wide)y[q];
    return sum;
}

/* y[b, o, p, :] = bias[o] + sum over c, k, l of w[o, c, k, l] x[b, c, row(p, k), l + ...] */
void KERNEL(conv2d)(wg_call *call)
{
    const wg_node *n = call->node;
    wg_conv_geometry g =
        wg_conv_geometry_of(n->attrs, &n->in[0]->shape, &n->in[1]->shape, &n->out[0]->shape);
    const real *x = call->in[0], *w = call->in[1], *bias = n->n_in > 2 ? call->in[2] : NULL;
    real *y = call->out[0];
    int64_t taps = g.in * g.h.kernel * g.w.kernel, rows = g.batch * g.groups * g.out * g.h.count;
    int threads = cpu_threads(call, rows * g.w.count * taps);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < rows; row++) {
        int64_t p = row % g.h.count, map = row / g.h.count; /* map = (b, group, o) */
        int64_t o = map % (g.groups * g.out), first_c = map / g.out * g.in;
        real *to = y + row * g.w.count;
        for (int64_t q = 0; q < g.w.count; q++)
            to[q] = bias ? bias[o] : 0;
        for (int64_t c = 0; c < g.in; c++)
            for (int64_t k = 0; k < g.h.kernel; k++) {
                int64_t i = wg_sliding_position(&g.h, p, k);
                if (i < 0 || i >= g.h.size)
                    continue;
                const real *from = x + ((first_c + c) * g.h.size + i) * g.w.size;
                const real *weight = w + ((o * g.in + c) * g.h.kernel + k) * g.w.kernel;
                for (int64_t l = 0; l < g.w.kernel; l++)
                    gather_row(to, weight[l], from, &g.w, l);
            }
    }
}

/* dx[b, c, i, :] = sum over o, k, l of w[o, c, k, l] dy[b, o, window with tap k at i, ...] */
void KERNEL(conv2d_grad_x)(wg_call *call)
{
    const wg_node *n = call->node;
    wg_conv_geometry g =
        wg_conv_geometry_of(n->attrs, &n->out[0]->shape, &n->in[1]->shape, &n->in[0]->shape);
    const real *dy = call->in[0], *w = call->in[1];
    real *dx = call->out[0];
    int64_t taps = g.out * g.h.kernel * g.w.kernel, rows = g.batch * g.groups * g.in * g.h.size;
    int threads = cpu_threads(call, rows * g.w.size * taps);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < rows; row++) {
        int64_t i = row % g.h.size, map = row / g.h.size; /* map = (b, group, c) */
        int64_t c = map % g.in, b_group = map / g.in, group = b_group % g.groups;
        real *to = dx + row * g.w.size;
        for (int64_t j = 0; j < g.w.size; j++)
            to[j] = 0;
        for (int64_t o = 0; o < g.out; o++)
            for (int64_t k = 0; k < g.h.kernel; k++) {
                int64_t p = wg_sliding_at(&g.h, i, k);
                if (p < 0)
                    continue;
                const real *from = dy + ((b_group * g.out + o) * g.h.count + p) * g.w.count;
                const real *weight =
                    w + (((group * g.out + o) * g.in + c) * g.h.kernel + k) * g.w.kernel;
                for (int64_t l = 0; l < g.w.kernel; l++)
                    scatter_row(to, weight[l], from, &g.w, l);
            }
    }
}

/* dw[o, c, k, l] = sum over b, p, q of dy[b, o, p, q] x[b, c, row(p, k), column(q, l)] */
void KERNEL(conv2d_grad_w)(wg_call *call)
{
    const wg_node *n = call->node;
    wg_conv_geometry g =
        wg_conv_geometry_of(n->attrs, &n->in[0]->shape, &n->out[0]->shape, &n->in[1]->shape);
    const real *x = call->in[0], *dy = call->in[1];
    real *dw = call->out[0];
    int64_t weights = g.groups * g.out * g.in * g.h.kernel * g.w.kernel;
    int threads = cpu_threads(call, weights * g.batch * g.h.count * g.w.count);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t at = 0; at < weights; at++) {
        int64_t l = at % g.w.kernel, k = at / g.w.kernel % g.h.kernel;
        int64_t c = at / g.w.kernel / g.h.kernel % g.in, o = at / g.w.kernel / g.h.kernel / g.in;
        int64_t first, end;
        wide sum = 0;
        wg_sliding_range(&g.h, k, &first, &end);
        for (int64_t b = 0; b < g.batch; b++) {
            const real *from = x + ((b * g.groups + o / g.out) * g.in + c) * g.h.size * g.w.size;
            const real *cotangent = dy + (b * g.groups * g.out + o) * g.h.count * g.w.count;
            for (int64_t p = first; p < end; p++)
                sum += dot_row(from + wg_sliding_position(&g.h, p, k) * g.w.size,
                               cotangent + p * g.w.count, &g.w, l);
        }
        dw[at] = (real)sum;
    }
}
