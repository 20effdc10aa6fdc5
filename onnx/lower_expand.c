/* Ops that neither ONNX has nor their own expansion makes simpler, by ops that ONNX has: those of
 * backward passes and updates above all. */
#include "graph/element.h"
#include "onnx/limits.h"
#include "onnx/lower.h"
#include "wengert/graph/rule.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <string.h>

typedef void expansion(wg_node *n, wg_value **y);

/* ---- windows --------------------------------------------------------------------------------- */

/* x with its first two axes exchanged. */
static wg_value *swapped(wg_value *x)
{
    return x ? wg_permute(x, ((wg_axes){x->shape.rank, {1, 0, 2, 3, 4}})) : NULL;
}

/* [N, g in, ...] as [in, g N, ...]. */
static wg_value *channels_first(wg_value *x, int64_t groups)
{
    wg_shape s = x->shape, split = {s.rank + 1, {s.dim[0], groups, s.dim[1] / groups}};
    memcpy(split.dim + 3, s.dim + 2, (size_t)(s.rank - 2) * sizeof *s.dim);
    x = wg_permute(wg_reshape(x, split), ((wg_axes){split.rank, {2, 1, 0, 3, 4, 5}}));
    s.dim[1] = groups * s.dim[0];
    s.dim[0] = split.dim[2];
    return wg_reshape(x, s);
}

/* dw[o, c, k] = sum over b and p of dy[b, o, p] x[b, c', p stride - padding + k dilation] is a
 * convolution of x with dy in which batch and channels change places, and so do stride and
 * dilation.  Windows that a stride left over at the end make rows that are cut off. */
static void conv_grad_w(wg_node *n, wg_value **y)
{
    const wg_conv_attrs *a = n->attrs;
    const wg_shape *w = &n->out[0]->shape;
    wg_conv_attrs turned = {.groups = a->groups};
    for (int k = 0; k < WG_COUNT(turned.stride); k++) {
        turned.stride[k] = a->dilation[k];
        turned.dilation[k] = a->stride[k];
        turned.padding[k] = a->padding[k];
    }
    wg_value *dw = wg_apply2(n->at, w->rank == 5 ? &wg_op_conv3d : &wg_op_conv2d, &turned,
                             channels_first(n->in[0], a->groups), swapped(n->in[1]));
    for (int k = 2; dw && k < w->rank; k++)
        if (dw->shape.dim[k] != w->dim[k])
            dw = wg_slice(dw, k, 0, w->dim[k], 1);
    y[0] = swapped(dw);
}

/* How many elements of x, or also of its padding, each window covers along one axis. */
static void cover(const wg_sliding *s, bool padding, double *count)
{
    for (int64_t o = 0; o < s->count; o++) {
        int64_t first, end;
        wg_sliding_taps(s, o, &first, &end);
        count[o] = (double)(padding ? wg_sliding_padded_taps(s, o) : end - first);
    }
}

/* How far the last window reaches behind the padding. */
static int64_t beyond(const wg_sliding *s)
{
    int64_t end = (s->count - 1) * s->stride + s->kernel, padded = s->size + 2 * s->padding;
    return end > padded ? end - padded : 0;
}

/* What the mean over each window divides by: a number, or a plane of them. */
static wg_value *window_sizes(const wg_node *n, const wg_sliding *h, const wg_sliding *w)
{
    const wg_pool_attrs *a = n->attrs;
    wg_dtype dtype = n->in[0]->dtype;
    if (!a->exclude_padding && !beyond(h) && !beyond(w))
        return wg_scalar_like(n->in[0], (double)(a->kernel_h * a->kernel_w));
    double *rows = wg_graph_alloc(n->graph, (size_t)(h->count + w->count + 1) * sizeof *rows);
    char *plane =
        wg_graph_alloc(n->graph, (size_t)(h->count * w->count) * wg_dtype_size(dtype) + 1);
    if (!rows || !plane)
        return NULL;
    double *columns = rows + h->count;
    cover(h, !a->exclude_padding, rows);
    cover(w, !a->exclude_padding, columns);
    for (int64_t i = 0; i < h->count * w->count; i++)
        wgi_put_element(plane, dtype, i, rows[i / w->count] * columns[i % w->count]);
    return wg_constant(n->graph, dtype, WG_SHAPE(h->count, w->count), plane);
}

/* Each number of dy, shared among its window: a transposed convolution of each channel by itself,
 * with a kernel of ones. */
static void avg_pool_grad(wg_node *n, wg_value **y)
{
    const wg_pool_attrs *a = n->attrs;
    const wg_shape *x = &n->out[0]->shape;
    wg_sliding h, w;
    wg_pool_windows(a, x, &n->in[0]->shape, &h, &w);
    const wg_conv_attrs conv = {.stride = {1, a->stride_h, a->stride_w},
                                .padding = {0, a->padding_h, a->padding_w},
                                .dilation = {1, 1, 1},
                                .groups = x->dim[1],
                                .size = {0, x->dim[2] + beyond(&h), x->dim[3] + beyond(&w)}};
    wg_value *ones =
        wg_fill(n->graph, n->in[0]->dtype, WG_SHAPE(x->dim[1], 1, a->kernel_h, a->kernel_w), 1);
    wg_value *dx = wg_conv2d_grad_x(wg_div(n->in[0], window_sizes(n, &h, &w)), ones, &conv);
    for (int k = 2; dx && k < 4; k++)
        if (dx->shape.dim[k] != x->dim[k])
            dx = wg_slice(dx, k, 0, x->dim[k], 1);
    y[0] = dx;
}

/* The matrix [from, to] whose transpose resamples an axis. */
static wg_value *spreading(wg_node *n, int64_t from, int64_t to)
{
    const wg_upsample_attrs *a = n->attrs;
    wg_dtype dtype = n->in[0]->dtype;
    if (from > WGI_OX_RESIZE / to) {
        wg_fail(n, WG_EUNSUPPORTED, "an axis from %lld to %lld has more than %d weights",
                (long long)from, (long long)to, WGI_OX_RESIZE);
        return NULL;
    }
    double *row = wg_graph_alloc(n->graph, (size_t)from * sizeof *row);
    char *matrix = wg_graph_alloc(n->graph, (size_t)(from * to) * wg_dtype_size(dtype));
    for (int64_t o = 0; row && matrix && o < to; o++) {
        wg_upsample_taps t = wg_upsample_taps_of(a, from, to, o);
        memset(row, 0, (size_t)from * sizeof *row);
        for (int k = 0; k < t.count; k++)
            row[t.index[k]] += t.weight[k];
        for (int64_t i = 0; i < from; i++)
            wgi_put_element(matrix, dtype, i * to + o, row[i]);
    }
    return row && matrix ? wg_constant(n->graph, dtype, WG_SHAPE(from, to), matrix) : NULL;
}

/* A product along the rows and one along the columns. */
static void upsample_grad(wg_node *n, wg_value **y)
{
    const int64_t *dx = n->out[0]->shape.dim, *dy = n->in[0]->shape.dim;
    wg_value *rows = spreading(n, dx[2], dy[2]), *columns = spreading(n, dx[3], dy[3]);
    y[0] = wg_matmul(rows, wg_matmul_t(n->in[0], columns, WG_NT));
}

/* [N, C, H, W] as [N, C, H W]. */
static wg_value *flat(wg_value *x)
{
    const wg_shape *s = &x->shape;
    return wg_reshape(x, WG_SHAPE(s->dim[0], s->dim[1], s->dim[2] * s->dim[3]));
}

static void pool_scatter(wg_node *n, wg_value **y)
{
    const wg_shape *x = &n->out[0]->shape;
    wg_value *zeros = wg_fill(n->graph, n->in[0]->dtype,
                              WG_SHAPE(x->dim[0], x->dim[1], x->dim[2] * x->dim[3]), 0);
    y[0] = wg_reshape(wg_scatter_add(zeros, flat(n->in[1]), flat(n->in[0]), 2), *x);
}

static void pool_gather(wg_node *n, wg_value **y)
{
    y[0] = wg_reshape(wg_gather(flat(n->in[0]), flat(n->in[1]), 2), n->out[0]->shape);
}

/* ---- movement -------------------------------------------------------------------------------- */

/* Position i of dy in the whole tensor. */
static int64_t place_of(const wg_node *n, int64_t i)
{
    const wg_slice_grad_attrs *a = n->attrs;
    int64_t place = 0, pitch = 1;
    for (int k = a->shape.rank - 1; k >= 0; k--) {
        int64_t size = n->in[0]->shape.dim[k];
        place += (a->start.dim[k] + i % size * a->step.dim[k]) * pitch;
        pitch *= a->shape.dim[k];
        i /= size;
    }
    return place;
}

/* Each number of dy is put where the slice had read it. */
static void slice_grad(wg_node *n, wg_value **y)
{
    const wg_shape *s = &n->out[0]->shape;
    int64_t count = wg_value_count(n->in[0]);
    int64_t *at = wg_graph_alloc(n->graph, ((size_t)count + 1) * sizeof *at);
    for (int64_t i = 0; at && i < count; i++)
        at[i] = place_of(n, i);
    wg_value *ids = at ? wg_constant(n->graph, WG_I64, WG_SHAPE(count), at) : NULL;
    wg_value *zeros = wg_fill(n->graph, n->in[0]->dtype, WG_SHAPE(wg_shape_count(s)), 0);
    y[0] = wg_reshape(wg_put_rows(zeros, ids, wg_reshape(n->in[0], WG_SHAPE(count))), *s);
}

/* ---- rotary positions ------------------------------------------------------------------------ */

/* The angles [.., T, d / 2] in f64; one row for each sequence if positions are data. */
static wg_value *angles_of(const wg_node *n)
{
    const wg_rotary_attrs *a = n->attrs;
    const wg_shape *s = &n->in[0]->shape;
    int64_t steps = s->dim[s->rank - 2], half = s->dim[s->rank - 1] / 2;
    double base = a->base != 0 ? a->base : 10000;
    double *turn = wg_graph_alloc(n->graph, ((size_t)half + 1) * sizeof *turn);
    for (int64_t i = 0; turn && i < half; i++)
        turn[i] = pow(base, -(double)i / (double)half) * (a->inverse ? -1 : 1);
    wg_value *t = wg_iota(n->graph, WG_F64, WG_SHAPE(steps, 1), 0, (double)a->first, 1);
    if (n->n_in > 1) {
        wg_shape first = *s;
        for (int k = 1; k < s->rank; k++)
            first.dim[k] = 1;
        t = wg_add(t, wg_reshape(wg_cast(n->in[1], WG_F64), first));
    }
    return turn ? wg_mul(t, wg_constant(n->graph, WG_F64, WG_SHAPE(half), turn)) : NULL;
}

/* Pairs (a, b) become (a cos - b sin, a sin + b cos); `axis` counts the two of a pair. */
static wg_value *rotated(wg_value *pairs, int axis, wg_value *cos, wg_value *sin)
{
    wg_value *a = wg_slice(pairs, axis, 0, 1, 1), *b = wg_slice(pairs, axis, 1, 2, 1);
    wg_value *turned[] = {wg_sub(wg_mul(a, cos), wg_mul(b, sin)),
                          wg_add(wg_mul(a, sin), wg_mul(b, cos))};
    return wg_concat(turned, 2, axis);
}

static void rotary(wg_node *n, wg_value **y)
{
    const wg_rotary_attrs *a = n->attrs;
    wg_value *x = n->in[0], *angles = angles_of(n);
    wg_shape s = x->shape, pairs = s;
    bool halves = a->pairs == WG_ROTARY_HALVES;
    int axis = halves ? s.rank - 1 : s.rank;
    if (!angles || s.rank == WG_MAX_RANK) {
        wg_fail(n, WG_EUNSUPPORTED, "%d axes, at most %d can be exported", s.rank, WG_MAX_RANK - 1);
        return;
    }
    pairs.rank++;
    pairs.dim[s.rank - 1] = halves ? 2 : s.dim[s.rank - 1] / 2;
    pairs.dim[s.rank] = halves ? s.dim[s.rank - 1] / 2 : 2;
    wg_shape one = angles->shape; /* with an axis of size 1 for the two */
    one.rank++;
    one.dim[one.rank - 1] = halves ? one.dim[one.rank - 2] : 1;
    one.dim[one.rank - 2] = halves ? 1 : one.dim[one.rank - 2];
    wg_value *cos = wg_reshape(wg_cast(wg_cos(angles), x->dtype), one),
             *sin = wg_reshape(wg_cast(wg_sin(angles), x->dtype), one);
    y[0] = wg_reshape(rotated(wg_reshape(x, pairs), axis, cos, sin), s);
}

/* ---- angles ---------------------------------------------------------------------------------- */

/* Whether x is below 0, or -0. */
static wg_value *is_negative(wg_value *x)
{
    wg_value *zero = wg_scalar_like(x, 0);
    return wg_less(wg_where(wg_equal(x, zero), wg_reciprocal(x), x), zero);
}

/* The arctangent of the smaller over the larger coordinate, an angle of the first eighth, is turned
 * to its own. */
static void atan2_of(wg_node *n, wg_value **y)
{
    wg_value *v = wg_abs(n->in[0]), *u = wg_abs(n->in[1]), *one = wg_scalar_like(v, 1);
    wg_value *small = wg_minimum(v, u), *large = wg_maximum(v, u), *zero = wg_scalar_like(v, 0);
    wg_value *same = wg_where(wg_equal(large, zero), zero, one); /* not 0 / 0, nor inf / inf */
    wg_value *arc = wg_atan(wg_where(wg_equal(small, large), same, wg_div(small, large)));
    arc = wg_where(wg_greater(v, u), wg_shift(wg_neg(arc), 1.57079632679489662), arc);
    arc = wg_where(is_negative(n->in[1]), wg_shift(wg_neg(arc), 3.14159265358979324), arc);
    y[0] = wg_where(is_negative(n->in[0]), wg_neg(arc), arc);
}

/* ---- updates --------------------------------------------------------------------------------- */

/* 1 - beta^t, in f64: in f32, 1 - 0.999 has four digits. */
static wg_value *correction(wg_value *t, double beta)
{
    return t ? wg_shift(wg_neg(wg_pow(wg_scalar_like(t, beta), t)), 1) : NULL;
}

/* As the kernels compute it: numbers of a step in f64, numbers of an element in its dtype. */
static void adam(wg_node *n, wg_value **y)
{
    const wg_adam_attrs *a = n->attrs;
    bool decoupled = n->op == &wg_op_adamw;
    wg_value *p = n->in[0], *g = n->in[1], *t = wg_cast(n->in[5], WG_F64);
    wg_value *lr = wg_cast(n->in[4], WG_F64);
    wg_value *rate = wg_cast(wg_div(lr, correction(t, a->beta1)), p->dtype);
    wg_value *root = wg_cast(wg_reciprocal(wg_sqrt(correction(t, a->beta2))), p->dtype);
    if (!decoupled && a->weight_decay > 0)
        g = wg_add(g, wg_scale(p, a->weight_decay));
    y[1] = wg_add(wg_scale(n->in[2], a->beta1), wg_scale(g, 1 - a->beta1));
    y[2] = wg_add(wg_scale(n->in[3], a->beta2), wg_mul(wg_scale(g, 1 - a->beta2), g));
    wg_value *by = wg_shift(wg_mul(wg_sqrt(y[2]), root), a->eps);
    if (decoupled && a->weight_decay > 0)
        p = wg_sub(p, wg_mul(wg_cast(wg_scale(lr, a->weight_decay), p->dtype), p));
    y[0] = wg_sub(p, wg_div(wg_mul(rate, y[1]), by));
}

static void moving_average(wg_node *n, wg_value **y)
{
    const wg_moving_average_attrs *a = n->attrs;
    y[0] = wg_add(wg_scale(n->in[0], a->decay), wg_scale(n->in[1], 1 - a->decay));
}

/* ---- Fourier transforms ---------------------------------------------------------------------- */

/* x [..., half, ..., 2] with frequencies 0 < k < n / 2 along its axis times `factor`. */
static wg_value *weighed(wg_value *x, int axis, int64_t n, double factor)
{
    if (!x)
        return NULL;
    const int64_t half = x->shape.dim[axis];
    wg_shape shape = {.rank = x->shape.rank - axis, .dim = {half, 1, 1, 1, 1, 1, 1, 1}};
    double *c = wg_graph_alloc(x->node->graph, (size_t)half * sizeof *c);
    for (int64_t k = 0; k < half && c; k++)
        c[k] = k > 0 && 2 * k < n ? factor : 1;
    wg_value *weights = c ? wg_constant(x->node->graph, WG_F64, shape, c) : NULL;
    return wg_mul(x, wg_cast(weights, x->dtype));
}

static void rfft(wg_node *n, wg_value **y)
{
    const wg_rfft_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    const int axis = wg_normalize_axis(a->axis, x->rank);
    y[0] = weighed(wg_rfft(n->in[0], axis), axis, x->dim[axis], 2);
}

/* By all frequencies, of which those beyond n / 2 are conjugates of others. */
static void irfft(wg_node *n, wg_value **y)
{
    const wg_rfft_attrs *a = n->attrs;
    wg_value *x = n->in[0];
    const int axis = wg_normalize_axis(a->axis, x->shape.rank);
    const int64_t others = a->n - x->shape.dim[axis];
    if (!a->weighted)
        x = weighed(x, axis, a->n, 0.5);
    static const double signs[] = {1, -1};
    wg_value *sign = wg_cast(wg_constant(n->graph, WG_F64, WG_SHAPE(2), signs), x->dtype);
    wg_value *conjugates =
        wg_mul(wg_flip(wg_slice(x, axis, 1, 1 + others, 1), WG_AXES(axis)), sign);
    wg_value *all[] = {x, conjugates};
    if (others > 0)
        x = wg_concat(all, 2, axis);
    y[0] = wg_real_part(wg_apply1(n->at, &wg_op_fft, &(const wg_fft_attrs){axis, true}, x));
}

/* ---- the table ------------------------------------------------------------------------------- */

static expansion *expansion_of(const wg_op *op)
{
    static const struct {
        const wg_op *op;
        expansion *expand;
    } table[] = {
        {&wg_op_conv2d_grad_w, conv_grad_w},
        {&wg_op_conv3d_grad_w, conv_grad_w},
        {&wg_op_avg_pool2d_grad, avg_pool_grad},
        {&wg_op_upsample2d_grad, upsample_grad},
        {&wg_op_pool_scatter, pool_scatter},
        {&wg_op_pool_gather, pool_gather},
        {&wg_op_slice_grad, slice_grad},
        {&wg_op_rotary, rotary},
        {&wg_op_atan2, atan2_of},
        {&wg_op_adam, adam},
        {&wg_op_adamw, adam},
        {&wg_op_moving_average, moving_average},
        {&wg_op_rfft, rfft},
        {&wg_op_irfft, irfft},
    };
    for (int i = 0; i < WG_COUNT(table); i++)
        if (table[i].op == op)
            return table[i].expand;
    return NULL;
}

bool wgi_ox_can_simplify(const wg_op *op)
{
    return op->expand || expansion_of(op);
}

bool wgi_ox_simplify(wg_node *n, wg_value **y)
{
    expansion *expand = expansion_of(n->op);
    if (!expand)
        return wg_expand_node(n, y);
    wg_origin before = wg_graph_origin(n->graph);
    wg_graph_set_origin(n->graph, (wg_origin){n->scope, n->at, n->phase});
    memset(y, 0, (size_t)n->n_out * sizeof *y);
    expand(n, y);
    wg_graph_set_origin(n->graph, before);
    return wg_graph_status(n->graph) == WG_OK;
}
