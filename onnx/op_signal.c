/* Fourier transforms of signals whose last axis has 1 or 2 parts: real numbers or pairs. */
#include "onnx/ops.h"

/* The transform along the axis of length N. */
typedef struct transform {
    ox_node *n;
    int64_t length; /* N */
    bool onesided, inverse;
} transform;

static bool check_length(const transform *t)
{
    return t->length >= 1 ||
           wgi_ox_refuse(t->n, "a transform of length %lld", (long long)t->length);
}

/* Of all N frequencies or, if it is one-sided, the first N / 2 + 1. */
static wg_value *apply(const transform *t, wg_value *x, int axis)
{
    if (!x || !check_length(t))
        return NULL;
    const int last = x->shape.rank - 1;
    const bool is_real = x->shape.dim[last] == 1;
    if (is_real && t->onesided && !t->inverse)
        return wg_rfft(wg_squeeze(x, last), axis);
    int64_t before[WG_MAX_RANK] = {0}, after[WG_MAX_RANK] = {0};
    after[last] = 1;
    if (is_real)
        x = wgi_ox_pad(t->n, x, before, after, 0);
    x = t->inverse ? wg_ifft(x, axis) : wg_fft(x, axis);
    return t->onesided ? wg_slice(x, axis, 0, t->length / 2 + 1, 1) : x;
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
    int64_t before[WG_MAX_RANK] = {0}, after[WG_MAX_RANK] = {0};
    after[axis] = t.length - x->shape.dim[axis];
    return wgi_ox_failed(n) || !check_length(&t)
               ? NULL
               : apply(&t, wgi_ox_pad(n, x, before, after, 0), axis);
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
    if (window)
        y = wg_mul(y, wg_reshape(window, WG_SHAPE(length, 1)));
    return apply(&t, y, 2);
}
