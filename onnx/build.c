/* What several ops are built of. */
#include "graph/element.h"
#include "onnx/op.h"

int wgi_ox_axis(ox_node *n, int64_t axis, int rank)
{
    if (axis >= -rank && axis < rank)
        return (int)(axis < 0 ? axis + rank : axis);
    wgi_ox_fail(n, WG_ESHAPE, "axis %lld, where the rank is %d", (long long)axis, rank);
    return -1;
}

wg_value *wgi_ox_second(ox_node *n)
{
    wg_value *a = wgi_ox_in(n, 0), *b = wgi_ox_in(n, 1);
    if (n->opset >= 7 || !a || !b || !wgi_ox_int(n, "broadcast", 0))
        return b;
    int64_t axis = wgi_ox_int(n, "axis", a->shape.rank - b->shape.rank);
    int behind = a->shape.rank - (int)axis - b->shape.rank;
    if (axis < 0 || axis > a->shape.rank || behind < 0)
        return wgi_ox_fail(n, WG_ESHAPE, "axis %lld of a broadcast of rank %d to rank %d",
                           (long long)axis, b->shape.rank, a->shape.rank);
    wg_shape s = b->shape;
    for (int k = 0; k < behind; k++)
        s.dim[s.rank++] = 1;
    return wg_reshape(b, s);
}

/* Modulo 2^bits, into [0, 2^bits) or [-2^(bits - 1), 2^(bits - 1)). */
wg_value *wgi_ox_wrap(wg_value *x, const ox_type *type)
{
    if (!x || !type || !type->bits || x->dtype != type->computed)
        return x;
    double range = (double)(INT64_C(1) << type->bits), half = type->is_signed ? range / 2 : 0;
    wg_value *y = wg_remainder(half > 0 ? wg_shift(x, half) : x, wg_scalar_like(x, range));
    return half > 0 ? wg_shift(y, -half) : y;
}

/* trunc(a / b): floor(a / b), and one more where that is below 0 and not the whole quotient */
wg_value *wgi_ox_divide(wg_value *a, wg_value *b)
{
    if (!a || !b)
        return NULL;
    wg_value *r = wg_remainder(a, b), *zero = wg_scalar_like(a, 0);
    wg_value *down = wg_floor_divide(a, b);
    wg_value *below = wg_logical_xor(wg_less(a, zero), wg_less(b, zero));
    wg_value *up = wg_logical_and(below, wg_not_equal(r, zero));
    return wg_add(down, wgi_ox_cast(up, a->dtype));
}

wg_value *wgi_ox_constant(wg_graph *g, wg_dtype dtype, wg_shape shape, const double *numbers)
{
    int64_t count = wg_shape_count(&shape);
    char *data = wg_shape_valid(&shape, dtype)
                     ? wg_graph_alloc(g, (size_t)count * wg_dtype_size(dtype) + 1)
                     : NULL;
    for (int64_t i = 0; data && i < count; i++)
        wgi_put_element(data, dtype, i, numbers[i]);
    return data ? wg_constant(g, dtype, shape, data) : NULL;
}

wg_value *wgi_ox_indices(wg_graph *g, const int64_t *numbers, int64_t n)
{
    return wg_constant(g, WG_I64, WG_SHAPE(n), numbers);
}

wg_value *wgi_ox_matrix(wg_value *x, int axis)
{
    if (!x)
        return NULL;
    int64_t rows = 1, columns = 1;
    for (int k = 0; k < x->shape.rank; k++)
        *(k < axis ? &rows : &columns) *= x->shape.dim[k];
    return wg_reshape(x, WG_SHAPE(rows, columns));
}

wg_value *wgi_ox_pad(ox_node *n, wg_value *x, const int64_t *before, const int64_t *after,
                     double value)
{
    if (!x)
        return NULL;
    wg_shape b = x->shape, a = x->shape;
    bool any = false;
    for (int k = 0; k < b.rank && x; k++) {
        int64_t size = x->shape.dim[k], cut = before[k] < 0 && before[k] >= -size ? -before[k] : 0;
        if (before[k] < -size || after[k] < -size || cut > size + (after[k] < 0 ? after[k] : 0))
            return wgi_ox_fail(n, WG_ESHAPE, "padding (%lld, %lld) of axis %d of size %lld",
                               (long long)before[k], (long long)after[k], k, (long long)size);
        b.dim[k] = before[k] > 0 ? before[k] : 0;
        a.dim[k] = after[k] > 0 ? after[k] : 0;
        any |= b.dim[k] || a.dim[k];
        if (cut || after[k] < 0)
            x = wg_slice(x, k, cut, after[k] < 0 ? size + after[k] : size, 1);
    }
    return any && x ? wg_pad(x, b, a, value) : x;
}

wg_value *wgi_ox_from_end(wg_value *ids, int64_t size)
{
    if (!ids)
        return NULL;
    wg_value *zero = wg_scalar_like(ids, 0);
    return wg_where(wg_less(ids, zero), wg_shift(ids, (double)size), ids);
}
