/* Direct convolution, and its two adjoints, in three dimensions; two are the case of depth 1.  No
 * copy of the input, innermost loops along W, each row of the result by one thread in one order.
 * Rows and taps that meet only padding are left out by their ranges. */
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

/* to += what row p of windows takes from a plane of x, by the taps of a plane of weights. */
static void gather_plane(real *to, const real *x, const real *weight, const wg_conv_geometry *g,
                         int64_t p)
{
    for (int64_t k = 0; k < g->h.kernel; k++) {
        int64_t i = wg_sliding_position(&g->h, p, k);
        if (i < 0 || i >= g->h.size)
            continue;
        for (int64_t l = 0; l < g->w.kernel; l++)
            gather_row(to, weight[k * g->w.kernel + l], x + i * g->w.size, &g->w, l);
    }
}

/* to, row i of a plane of dx, += what it gave to a plane of dy. */
static void scatter_plane(real *to, const real *dy, const real *weight, const wg_conv_geometry *g,
                          int64_t i)
{
    for (int64_t k = 0; k < g->h.kernel; k++, weight += g->w.kernel) {
        int64_t p = wg_sliding_at(&g->h, i, k);
        if (p < 0)
            continue;
        const real *from = dy + p * g->w.count;
        for (int64_t l = 0; l < g->w.kernel; l++)
            scatter_row(to, weight[l], from, &g->w, l);
    }
}

/* y[b, o, r, p, :] = bias[o] + sum over c, m, k, l of
 *                    w[o, c, m, k, l] x[b, c, plane(r, m), row(p, k), l + ...] */
static void conv(wg_call *call)
{
    const wg_node *n = call->node;
    wg_conv_geometry g =
        wg_conv_geometry_of(n->attrs, &n->in[0]->shape, &n->in[1]->shape, &n->out[0]->shape);
    const real *x = call->in[0], *w = call->in[1], *bias = n->n_in > 2 ? call->in[2] : NULL;
    real *y = call->out[0];
    int64_t plane = g.h.size * g.w.size, taps = g.h.kernel * g.w.kernel;
    int64_t rows = g.batch * g.groups * g.out * g.d.count * g.h.count;
    int threads = cpu_threads(call, rows * g.w.count * g.in * g.d.kernel * taps);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < rows; row++) {
        int64_t p = row % g.h.count, r = row / g.h.count % g.d.count;
        int64_t map = row / g.h.count / g.d.count; /* map = (b, group, o) */
        int64_t o = map % (g.groups * g.out), first_c = map / g.out * g.in;
        real *to = y + row * g.w.count;
        for (int64_t q = 0; q < g.w.count; q++)
            to[q] = bias ? bias[o] : 0;
        for (int64_t c = 0; c < g.in; c++)
            for (int64_t m = 0; m < g.d.kernel; m++) {
                int64_t z = wg_sliding_position(&g.d, r, m);
                if (z >= 0 && z < g.d.size)
                    gather_plane(to, x + ((first_c + c) * g.d.size + z) * plane,
                                 w + ((o * g.in + c) * g.d.kernel + m) * taps, &g, p);
            }
    }
}

/* Row number `row` of dx. */
static void scatter_to_row(real *to, const real *dy, const real *w, const wg_conv_geometry *g,
                           int64_t row)
{
    int64_t plane = g->h.count * g->w.count, taps = g->h.kernel * g->w.kernel;
    int64_t i = row % g->h.size, z = row / g->h.size % g->d.size;
    int64_t map = row / g->h.size / g->d.size; /* map = (b, group, c) */
    int64_t c = map % g->in, b_group = map / g->in, group = b_group % g->groups;
    for (int64_t j = 0; j < g->w.size; j++)
        to[j] = 0;
    for (int64_t o = 0; o < g->out; o++)
        for (int64_t m = 0; m < g->d.kernel; m++) {
            int64_t r = wg_sliding_at(&g->d, z, m);
            if (r >= 0)
                scatter_plane(to, dy + ((b_group * g->out + o) * g->d.count + r) * plane,
                              w + (((group * g->out + o) * g->in + c) * g->d.kernel + m) * taps, g,
                              i);
        }
}

/* dx[b, c, z, i, :] = sum over o, m, k, l of
 *                     w[o, c, m, k, l] dy[b, o, windows with tap m at z, with tap k at i, ...] */
static void conv_grad_x(wg_call *call)
{
    const wg_node *n = call->node;
    wg_conv_geometry g =
        wg_conv_geometry_of(n->attrs, &n->out[0]->shape, &n->in[1]->shape, &n->in[0]->shape);
    const real *dy = call->in[0], *w = call->in[1];
    real *dx = call->out[0];
    int64_t taps = g.d.kernel * g.h.kernel * g.w.kernel;
    int64_t rows = g.batch * g.groups * g.in * g.d.size * g.h.size;
    int threads = cpu_threads(call, rows * g.w.size * g.out * taps);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < rows; row++)
        scatter_to_row(dx + row * g.w.size, dy, w, &g, row);
}

/* sum + the sum over p, q of dy[p, q] x[row(p, k), column(q, l)], of one plane each. */
static wide dot_plane(wide sum, const real *x, const real *dy, const wg_conv_geometry *g, int64_t k,
                      int64_t l)
{
    int64_t first, end;
    wg_sliding_range(&g->h, k, &first, &end);
    for (int64_t p = first; p < end; p++)
        sum += dot_row(x + wg_sliding_position(&g->h, p, k) * g->w.size, dy + p * g->w.count, &g->w,
                       l);
    return sum;
}

/* dw[o, c, m, k, l] = sum over b, r, p, q of
 *                     dy[b, o, r, p, q] x[b, c, plane(r, m), row(p, k), column(q, l)] */
static void conv_grad_w(wg_call *call)
{
    const wg_node *n = call->node;
    wg_conv_geometry g =
        wg_conv_geometry_of(n->attrs, &n->in[0]->shape, &n->out[0]->shape, &n->in[1]->shape);
    const real *x = call->in[0], *dy = call->in[1];
    real *dw = call->out[0];
    int64_t x_plane = g.h.size * g.w.size, dy_plane = g.h.count * g.w.count;
    int64_t weights = g.groups * g.out * g.in * g.d.kernel * g.h.kernel * g.w.kernel;
    int threads = cpu_threads(call, weights * g.batch * g.d.count * dy_plane);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t at = 0; at < weights; at++) {
        int64_t l = at % g.w.kernel, k = at / g.w.kernel % g.h.kernel;
        int64_t volume = at / g.w.kernel / g.h.kernel, m = volume % g.d.kernel;
        int64_t c = volume / g.d.kernel % g.in, o = volume / g.d.kernel / g.in;
        int64_t first, end;
        wide sum = 0;
        wg_sliding_range(&g.d, m, &first, &end);
        for (int64_t b = 0; b < g.batch; b++) {
            const real *from = x + ((b * g.groups + o / g.out) * g.in + c) * g.d.size * x_plane;
            const real *cotangent = dy + (b * g.groups * g.out + o) * g.d.count * dy_plane;
            for (int64_t r = first; r < end; r++)
                sum = dot_plane(sum, from + wg_sliding_position(&g.d, r, m) * x_plane,
                                cotangent + r * dy_plane, &g, k, l);
        }
        dw[at] = (real)sum;
    }
}

void KERNEL(conv2d)(wg_call *call)
{
    conv(call);
}
void KERNEL(conv3d)(wg_call *call)
{
    conv(call);
}
void KERNEL(conv2d_grad_x)(wg_call *call)
{
    conv_grad_x(call);
}
void KERNEL(conv3d_grad_x)(wg_call *call)
{
    conv_grad_x(call);
}
void KERNEL(conv2d_grad_w)(wg_call *call)
{
    conv_grad_w(call);
}
void KERNEL(conv3d_grad_w)(wg_call *call)
{
    conv_grad_w(call);
}
