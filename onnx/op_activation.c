/* Activations and softmax. */
#include "onnx/ops.h"

#include <math.h>
#include <string.h>

static wg_value *x_of(ox_node *n)
{
    return wgi_ox_in(n, 0);
}

static wg_value *positive(wg_value *x)
{
    return x ? wg_greater(x, wg_scalar_like(x, 0)) : NULL;
}

wg_value *wgi_ox_relu(ox_node *n)
{
    wg_value *x = x_of(n);
    return !x || wg_dtype_is_float(x->dtype) ? wg_relu(x) : wg_maximum(x, wg_scalar_like(x, 0));
}

wg_value *wgi_ox_leaky_relu(ox_node *n)
{
    return wg_leaky_relu(x_of(n), wgi_ox_real(n, "alpha", 0.01));
}

wg_value *wgi_ox_elu(ox_node *n)
{
    return wg_elu(x_of(n), wgi_ox_real(n, "alpha", 1));
}

/* max(0, x) + min(0, alpha (exp(x / alpha) - 1)) = elu with x / alpha in its exponential */
wg_value *wgi_ox_celu(ox_node *n)
{
    double alpha = wgi_ox_real(n, "alpha", 1);
    return wg_scale(wg_elu(wg_scale(x_of(n), 1 / alpha), 1), alpha);
}

wg_value *wgi_ox_selu(ox_node *n)
{
    double alpha = wgi_ox_real(n, "alpha", 1.67326319217681884765625);
    return wg_scale(wg_elu(x_of(n), alpha), wgi_ox_real(n, "gamma", 1.05070102214813232421875));
}

wg_value *wgi_ox_thresholded_relu(ox_node *n)
{
    wg_value *x = x_of(n);
    if (!x)
        return NULL;
    wg_value *above = wg_greater(x, wg_scalar_like(x, wgi_ox_real(n, "alpha", 1)));
    return wg_where(above, x, wg_scalar_like(x, 0));
}

wg_value *wgi_ox_hard_sigmoid(ox_node *n)
{
    wg_value *y = wg_scale(x_of(n), wgi_ox_real(n, "alpha", 0.2));
    return wg_clamp(wg_shift(y, wgi_ox_real(n, "beta", 0.5)), 0, 1);
}

wg_value *wgi_ox_hard_swish(ox_node *n)
{
    return wg_hardswish(x_of(n));
}

/* x + bias below -lambd, x - bias above lambd, else 0. */
wg_value *wgi_ox_shrink(ox_node *n)
{
    wg_value *x = x_of(n);
    double bias = wgi_ox_real(n, "bias", 0), lambd = wgi_ox_real(n, "lambd", 0.5);
    if (!x)
        return NULL;
    wg_value *zero = wg_scalar_like(x, 0);
    wg_value *above = wg_where(wg_greater(x, wg_scalar_like(x, lambd)), wg_shift(x, -bias), zero);
    return wg_where(wg_less(x, wg_scalar_like(x, -lambd)), wg_shift(x, bias), above);
}

wg_value *wgi_ox_softsign(ox_node *n)
{
    return wg_div(x_of(n), wg_shift(wg_abs(x_of(n)), 1));
}

wg_value *wgi_ox_mish(ox_node *n)
{
    return wg_mul(x_of(n), wg_tanh(wg_softplus(x_of(n))));
}

wg_value *wgi_ox_prelu(ox_node *n)
{
    wg_value *x = x_of(n), *slope = wgi_ox_second(n);
    if (x && slope && n->opset < 7 && slope->shape.rank == 1 && x->shape.rank > 2 &&
        slope->shape.dim[0] == x->shape.dim[1]) { /* one slope for each channel */
        wg_shape s = x->shape;
        for (int k = 0; k < s.rank; k++)
            s.dim[k] = k == 1 ? slope->shape.dim[0] : 1;
        slope = wg_reshape(slope, s);
    }
    return wg_where(positive(x), x, wg_mul(slope, x));
}

wg_value *wgi_ox_gelu(ox_node *n)
{
    bool tanh = strcmp(wgi_ox_word(n, "approximate", "none"), "tanh") == 0;
    return wg_gelu(x_of(n), tanh ? WG_GELU_TANH : WG_GELU_ERF);
}

wg_value *wgi_ox_swish(ox_node *n)
{
    double alpha = wgi_ox_real(n, "alpha", 1);
    if (alpha == 1)
        return wg_silu(x_of(n));
    return wg_mul(x_of(n), wg_sigmoid(wg_scale(x_of(n), alpha)));
}

/* ---- along an axis --------------------------------------------------------------------------- */

/* From opset 13 on along one axis; before over all axes from `axis` on, as one row. */
static wg_value *along(ox_node *n, wg_value *(*f)(ox_node *n, wg_value *x, int axis))
{
    wg_value *x = x_of(n);
    if (!x)
        return NULL;
    int axis = wgi_ox_axis(n, wgi_ox_int(n, "axis", n->opset < 13 ? 1 : -1), x->shape.rank);
    if (axis < 0 || n->opset >= 13 || axis == x->shape.rank - 1)
        return axis < 0 ? NULL : f(n, x, axis);
    wg_value *y = f(n, wgi_ox_matrix(x, axis), 1);
    return wg_reshape(y, x->shape);
}

/* A row that is all -inf has the softmax NaN in ONNX, as in NumPy, and zeros here; a test of that
 * does not exist, and zeros are what a mask needs. */
static wg_value *softmax(ox_node *n, wg_value *x, int axis)
{
    (void)n;
    return wg_softmax(x, axis);
}

static wg_value *log_softmax(ox_node *n, wg_value *x, int axis)
{
    (void)n;
    return wg_log_softmax(x, axis);
}

/* 1 at the first maximum, else 0. */
static wg_value *hardmax(ox_node *n, wg_value *x, int axis)
{
    (void)n;
    wg_value *y = wg_one_hot(wg_argmax(x, axis, WG_DROP), x->shape.dim[axis], x->dtype);
    int order[WG_MAX_RANK], rank = x->shape.rank;
    for (int k = 0; k < rank; k++)
        order[k] = k < axis ? k : k == axis ? rank - 1 : k - 1;
    return wg_permute(y, wg_axes_make(rank, order));
}

wg_value *wgi_ox_softmax(ox_node *n)
{
    return along(n, softmax);
}

wg_value *wgi_ox_log_softmax(ox_node *n)
{
    return along(n, log_softmax);
}

wg_value *wgi_ox_hardmax(ox_node *n)
{
    return along(n, hardmax);
}

/* ---- dropout --------------------------------------------------------------------------------- */

static bool drops(ox_node *n, double *p)
{
    *p = n->opset >= 12 ? wgi_ox_real_in(n, 1, 0.5) : wgi_ox_real(n, "ratio", 0.5);
    bool training = n->opset >= 12 ? wgi_ox_real_in(n, 2, 0) != 0 : false;
    if (n->opset < 7)
        training = !wgi_ox_int(n, "is_test", 0) && n->import->options.train;
    if (!(*p >= 0 && *p < 1))
        wgi_ox_fail(n, WG_EDATA, "ratio is %g, must be at least 0 and less than 1", *p);
    return (training || n->import->options.train) && *p > 0;
}

/* The mask is drawn as dropout of ones; x times it is dropout of x. */
wg_value *wgi_ox_dropout(ox_node *n)
{
    wg_value *x = x_of(n);
    double p;
    if (!x || !drops(n, &p)) {
        if (x && wgi_ox_wants(n, 1))
            wgi_ox_set(n, 1, wg_fill(n->graph, WG_BOOL, x->shape, 1));
        return x;
    }
    if (!wgi_ox_wants(n, 1))
        return wg_dropout(x, p);
    wg_value *mask = wg_dropout(wg_fill(n->graph, x->dtype, x->shape, 1), p);
    wgi_ox_set(n, 1, wg_not_equal(mask, wg_scalar_like(x, 0)));
    return wg_mul(x, mask);
}
