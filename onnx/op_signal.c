/* Fourier transforms, as products with matrices of cosines and sines:
 *
 *      y_re = C x_re + S x_im,   y_im = C x_im - S x_re,   C, S[k, j] = cos, sin(2 pi k j / N)
 *
 * The inverse has the other sign before S and is divided by N. */
#include "onnx/ops.h"

#include <math.h>

/* The transform of x[before, n, behind, 1 or 2] along the axis of size n. */
typedef struct transform {
    ox_node *n;
    int64_t length; /* N */
    bool onesided, inverse;
} transform;

static wg_value *matrix(const transform *t, wg_dtype dtype, int64_t rows, double (*f)(double))
{
    int64_t size = t->length;
    double *m = wgi_ox_alloc(t->n, (size_t)(rows * size) * sizeof *m + 1);
    double sign = f == sin && t->inverse ? -1 : 1, factor = t->inverse ? 1 / (double)size : 1;
    for (int64_t k = 0; m && k < rows; k++)
        for (int64_t j = 0; j < size; j++) /* k j mod N: exact for angles of any size */
            m[k * size + j] = factor * sign *
                              f(2 * 3.14159265358979323846 * (double)(k * j % size) / (double)size);
    return m ? wgi_ox_constant(t->n->graph, dtype, WG_SHAPE(rows, size), m) : NULL;
}

/* Part 0 or 1 of the last axis; NULL if there is no part 1. */
static wg_value *component(wg_value *x, int64_t part)
{
    int last = x->shape.rank - 1;
    return part < x->shape.dim[last] ? wg_squeeze(wg_slice(x, last, part, part + 1, 1), last)
                                     : NULL;
}

static bool check_length(const transform *t)
{
    enum { MOST = 1 << 13 };
    return (t->length >= 1 && t->length <= MOST) ||
           wgi_ox_refuse(t->n, "a transform of length %lld", (long long)t->length);
}

static wg_value *apply(const transform *t, wg_value *x)
{
    if (!x || !check_length(t))
        return NULL;
    int64_t rows = t->onesided ? t->length / 2 + 1 : t->length;
    wg_value *c = matrix(t, x->dtype, rows, cos), *s = matrix(t, x->dtype, rows, sin);
    wg_value *re = component(x, 0), *im = component(x, 1);
    wg_value *y[2] = {wg_matmul(c, re), wg_neg(wg_matmul(s, re))};
    if (im) {
        y[0] = wg_add(y[0], wg_matmul(s, im));
        y[1] = wg_add(y[1], wg_matmul(c, im));
    }
    return wg_stack(y, 2, 3);
}

wg_value *wgi_ox_dft(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    if (!x || x->shape.rank < 2)
        return x ? wgi_ox_fail(n, WG_ESHAPE, "expected 2 axes or more") : NULL;
    int64_t given = n->opset < 20 ? wgi_ox_int(n, "axis", 1) : wgi_ox_int_in(n, 2, -2);
    int axis = wgi_ox_axis(n, given, x->shape.rank), last = x->shape.rank - 1;
    if (axis < 0 || axis == last)
        return axis < 0 ? NULL : wgi_ox_fail(n, WG_ESHAPE, "axis %d is that of the parts", axis);
    transform t = {n, x->shape.dim[axis], wgi_ox_int(n, "onesided", 0) != 0,
                   wgi_ox_int(n, "inverse", 0) != 0};
    t.length = wgi_ox_int_in(n, 1, t.length);
    int64_t before[WG_MAX_RANK] = {0}, after[WG_MAX_RANK] = {0}, front = 1, behind = 1;
    after[axis] = t.length - x->shape.dim[axis];
    x = wgi_ox_failed(n) || !check_length(&t) ? NULL : wgi_ox_pad(n, x, before, after, 0);
    if (!x)
        return NULL;
    wg_shape s = x->shape;
    for (int k = 0; k < last; k++)
        front *= k < axis ? s.dim[k] : 1, behind *= k > axis ? s.dim[k] : 1;
    wg_value *y = apply(&t, wg_reshape(x, WG_SHAPE(front, t.length, behind, s.dim[last])));
    s.dim[axis] = t.onesided ? t.length / 2 + 1 : t.length;
    s.dim[last] = 2;
    return wg_reshape(y, s);
}

/* Frame f is x[f step .. f step + length), times the window: [batch, frames, length, parts]. */
static wg_value *frames(ox_node *n, wg_value *x, int64_t step, int64_t length)
{
    int64_t count = step > 0 && length > 0 && length <= x->shape.dim[1]
                        ? (x->shape.dim[1] - length) / step + 1
                        : 0;
    if (count < 1 || (double)count * (double)length > 1 << 26)
        return wgi_ox_fail(n, WG_ESHAPE, "frames of %lld in steps of %lld, of a signal of %lld",
                           (long long)length, (long long)step, (long long)x->shape.dim[1]);
    wg_value *at = wg_add(wg_iota(n->graph, WG_I64, WG_SHAPE(count, 1), 0, 0, (double)step),
                          wg_iota(n->graph, WG_I64, WG_SHAPE(1, length), 1, 0, 1));
    return wg_take(x, at, 1);
}

wg_value *wgi_ox_stft(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0), *window = wgi_ox_in(n, 2);
    if (!x || x->shape.rank != 3)
        return x ? wgi_ox_refuse(n, "a signal of %d axes, 3 are", x->shape.rank) : NULL;
    int64_t step = wgi_ox_int_in(n, 1, 0);
    int64_t length = wgi_ox_int_in(n, 3, wg_value_count(window));
    transform t = {n, length, wgi_ox_int(n, "onesided", 1) != 0, false};
    wg_value *y = wgi_ox_failed(n) ? NULL : frames(n, x, step, length);
    if (!y)
        return NULL;
    wg_shape s = y->shape;
    if (window)
        y = wg_mul(y, wg_reshape(window, WG_SHAPE(length, 1)));
    /* [batch frames, length, 1, parts] */
    y = apply(&t, wg_reshape(y, WG_SHAPE(s.dim[0] * s.dim[1], length, 1, s.dim[3])));
    return wg_reshape(y, WG_SHAPE(s.dim[0], s.dim[1], t.onesided ? length / 2 + 1 : length, 2));
}
