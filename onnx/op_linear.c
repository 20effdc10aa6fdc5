/* Matrix products and quantised numbers. */
#include "onnx/limits.h"
#include "onnx/ops.h"
#include "wengert/graph/rule.h"
#include "wengert/ops/table.h"

#include <math.h>

/* ---- products of floats ---------------------------------------------------------------------- */

/* x if v is x with its last two axes exchanged, else NULL. */
static wg_value *transposed(const wg_value *v)
{
    if (!v || v->node->op != &wg_op_permute)
        return NULL;
    const wg_permute_attrs *a = v->node->attrs;
    int rank = a->order.count;
    for (int k = 0; k < rank; k++) {
        int from = k < rank - 2 ? k : 2 * rank - 3 - k;
        if (wg_normalize_axis(a->order.axis[k], rank) != from)
            return NULL;
    }
    return rank >= 2 ? v->node->in[0] : NULL;
}

/* The product with a transposed operand needs no copy of it, nor does its gradient. */
wg_value *wgi_ox_matmul(ox_node *n)
{
    wg_value *a = wgi_ox_in(n, 0), *b = wgi_ox_in(n, 1);
    if (!a || !b || a->shape.rank < 2 || b->shape.rank < 2)
        return wg_matmul(a, b);
    wg_value *at = transposed(a), *bt = transposed(b);
    return wg_matmul_t(at ? at : a, bt ? bt : b, (at ? WG_TN : WG_NN) | (bt ? WG_NT : WG_NN));
}

/* x w' + b, as most files have it: one op. */
static bool is_linear(ox_node *n, const wg_value *a, const wg_value *b, const wg_value *c)
{
    return !wgi_ox_int(n, "transA", 0) && wgi_ox_int(n, "transB", 0) &&
           wgi_ox_real(n, "alpha", 1) == 1 && wgi_ox_real(n, "beta", 1) == 1 &&
           a->shape.rank == 2 && b->shape.rank == 2 &&
           (!c || (c->shape.rank == 1 && c->shape.dim[0] == b->shape.dim[0]));
}

/* alpha A B + beta C */
wg_value *wgi_ox_gemm(ox_node *n)
{
    wg_value *a = wgi_ox_in(n, 0), *b = wgi_ox_in(n, 1), *c = wgi_ox_in(n, 2);
    if (!a || !b)
        return NULL;
    if (is_linear(n, a, b, c))
        return wg_linear(a, b, c, WG_ACTIVATION_NONE);
    double alpha = wgi_ox_real(n, "alpha", 1), beta = wgi_ox_real(n, "beta", 1);
    wg_value *y = wg_matmul_t(a, b,
                              (wgi_ox_int(n, "transA", 0) ? WG_TN : WG_NN) |
                                  (wgi_ox_int(n, "transB", 0) ? WG_NT : WG_NN));
    y = alpha == 1 ? y : wg_scale(y, alpha);
    return c ? wg_add(y, beta == 1 ? c : wg_scale(c, beta)) : y;
}

wg_value *wgi_ox_einsum(ox_node *n)
{
    const char *given = wgi_ox_word(n, "equation", "");
    wg_value **x = wgi_ox_alloc(n, (n->n_operands + 1) * sizeof(wg_value *));
    char spec[OX_MAX_EQUATION + 1];
    size_t used = 0;
    for (; *given && used + 1 < sizeof spec; given++)
        if (*given != ' ')
            spec[used++] = *given;
    spec[used] = 0;
    if (*given)
        return wgi_ox_refuse(n, "an equation of more than %d characters", OX_MAX_EQUATION);
    for (size_t i = 0; x && i < n->n_operands; i++)
        x[i] = wgi_ox_in(n, (int)i);
    return x ? wg_einsum(spec, x, n->n_operands) : NULL;
}

/* ---- integers of 8 bits ---------------------------------------------------------------------- */

/* x - zero, in f64, where sums of products of such integers are exact; zero is a scalar, or has one
 * number for each index of `axis`. */
static wg_value *centred(wg_value *x, wg_value *zero, int axis)
{
    if (!x || !zero)
        return wgi_ox_cast(x, WG_F64);
    wg_shape s = x->shape;
    for (int k = 0; k < s.rank; k++)
        s.dim[k] = k == axis ? s.dim[k] : 1;
    if (zero->shape.rank == 1 && zero->shape.dim[0] > 1)
        zero = wg_reshape(zero, s);
    else if (zero->shape.rank == 1)
        zero = wg_reshape(zero, WG_SCALAR);
    return wg_sub(wg_cast(x, WG_F64), wg_cast(zero, WG_F64));
}

wg_value *wgi_ox_matmul_integer(ox_node *n)
{
    wg_value *a = wgi_ox_in(n, 0), *b = wgi_ox_in(n, 1);
    if (!a || !b)
        return NULL;
    a = centred(a, wgi_ox_in(n, 2), a->shape.rank - 2);
    b = centred(b, wgi_ox_in(n, 3), b->shape.rank - 1);
    n->type[0] = wgi_ox_type_of(WG_I32);
    return wg_cast(wg_matmul(a, b), WG_I32);
}

/* round(x) + zero, within the range of the type. */
static wg_value *saturated(wg_value *x, wg_value *zero, const ox_type *type)
{
    if (!x || !type)
        return NULL;
    double range = ldexp(1, type->bits), low = type->is_signed ? -range / 2 : 0;
    wg_value *y = wg_round(x);
    if (zero)
        y = wg_add(y, wg_cast(zero, x->dtype));
    return wg_cast(wg_clamp(y, low, low + range - 1), WG_I32);
}

/* A scalar, or the numbers of `axis` in a shape that broadcasts to x. */
static wg_value *along(wg_value *v, const wg_value *x, int64_t axis)
{
    if (!v || !x || v->shape.rank != 1 || v->shape.dim[0] == 1)
        return v && v->shape.rank == 1 ? wg_reshape(v, WG_SCALAR) : v;
    wg_shape s = x->shape;
    axis = axis < 0 ? axis + s.rank : axis;
    for (int k = 0; k < s.rank; k++)
        s.dim[k] = k == axis ? v->shape.dim[0] : 1;
    return wg_reshape(v, s);
}

/* With block_size, v has one number for as many neighbours along the axis. */
static wg_value *blocks(ox_node *n, wg_value *v, const wg_value *x, int64_t axis)
{
    int64_t size = wgi_ox_int(n, "block_size", 0);
    if (!v || !x || size < 1 || v->shape.rank != x->shape.rank || x->shape.rank == WG_MAX_RANK)
        return v;
    int k = wgi_ox_axis(n, axis, x->shape.rank);
    wg_shape s = v->shape;
    wg_value *each = k < 0 ? NULL : wg_unsqueeze(v, k + 1);
    if (!each)
        return NULL;
    wg_shape wide = each->shape;
    wide.dim[k + 1] = size;
    if (!(each = wg_expand(each, wide)))
        return NULL;
    s.dim[k] *= size;
    v = wg_reshape(each, s);
    return s.dim[k] > x->shape.dim[k] ? wg_slice(v, k, 0, x->shape.dim[k], 1) : v;
}

/* Operand i as something that broadcasts to x. */
static wg_value *scale_of(ox_node *n, int i, const wg_value *x)
{
    int64_t axis = wgi_ox_int(n, "axis", 1);
    return along(blocks(n, wgi_ox_in(n, i), x, axis), x, axis);
}

static const ox_type *quantised_type(ox_node *n, int zero)
{
    const ox_type *type = wgi_ox_type_in(n, zero);
    type = type ? type : wgi_ox_type(wgi_ox_int(n, "output_dtype", 2));
    if (!type || !type->bits || type->bits > 16)
        wgi_ox_refuse(n, "integers other than of 8 or 16 bits");
    return wgi_ox_failed(n) ? NULL : type;
}

wg_value *wgi_ox_quantize(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    wg_value *scale = scale_of(n, 1, x), *zero = scale_of(n, 2, x);
    n->type[0] = quantised_type(n, 2);
    return saturated(wg_div(x, scale), zero, n->type[0]);
}

wg_value *wgi_ox_dequantize(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    wg_value *scale = scale_of(n, 1, x), *zero = scale_of(n, 2, x);
    if (!scale)
        return NULL;
    wg_value *y = wg_cast(zero ? wg_sub(x, zero) : x, scale->dtype);
    n->type[0] = wgi_ox_type_in(n, 1);
    return wg_mul(y, scale);
}

/* The scale and the zero that make the range of x, with 0 in it, the 256 numbers of uint8. */
wg_value *wgi_ox_dynamic_quantize(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    if (!x)
        return NULL;
    wg_value *nil = wg_scalar_like(x, 0);
    wg_value *high = wg_maximum(wg_max(x, WG_ALL_AXES, WG_DROP), nil);
    wg_value *low = wg_minimum(wg_min(x, WG_ALL_AXES, WG_DROP), nil);
    wg_value *scale = wg_scale(wg_sub(high, low), 1.0 / 255);
    const ox_type *type = wgi_ox_type(2);
    wg_value *zero = saturated(wg_div(wg_neg(low), scale), NULL, type);
    n->type[0] = n->type[2] = type;
    n->type[1] = wgi_ox_type_in(n, 0);
    wgi_ox_set(n, 1, scale);
    wgi_ox_set(n, 2, zero);
    return saturated(wg_div(x, scale), zero, type);
}

/* Operands: a, its scale, its zero, the same of b, scale and zero of the result. */
wg_value *wgi_ox_qlinear_matmul(ox_node *n)
{
    wg_value *a = wgi_ox_in(n, 0), *b = wgi_ox_in(n, 3);
    if (!a || !b)
        return NULL;
    wg_value *y = wg_matmul(centred(a, wgi_ox_in(n, 2), a->shape.rank - 2),
                            centred(b, wgi_ox_in(n, 5), b->shape.rank - 1));
    wg_value *sa = wgi_ox_cast(along(wgi_ox_in(n, 1), y, -2), WG_F64),
             *sb = wgi_ox_cast(along(wgi_ox_in(n, 4), y, -1), WG_F64),
             *sy = wgi_ox_cast(along(wgi_ox_in(n, 6), y, -1), WG_F64);
    n->type[0] = quantised_type(n, 7);
    wg_value *zero = along(wgi_ox_in(n, 7), y, -1);
    return saturated(wg_div(wg_mul(wg_mul(y, sa), sb), sy), zero, n->type[0]);
}
