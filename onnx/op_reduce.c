/* Reductions, and what is found or summed along an axis. */
#include "onnx/ops.h"
#include "wengert/graph/rule.h"

#include <math.h>

/* ---- reductions ------------------------------------------------------------------------------ */

static bool take_axes(ox_node *n, int rank, wg_axes *axes)
{
    ox_ints given = {0};
    *axes = (wg_axes){0};
    if (wgi_ox_ints_of(n, 1, "axes", &given) && given.n > WG_MAX_RANK)
        wgi_ox_fail(n, WG_ESHAPE, "%zu axes", given.n);
    for (size_t i = 0; i < given.n && !wgi_ox_failed(n); i++) {
        int axis = wgi_ox_axis(n, given.at[i], rank);
        if (axis >= 0)
            axes->axis[axes->count++] = axis;
    }
    return !wgi_ox_failed(n);
}

/* No axes: all, unless noop_with_empty_axes says none. */
wg_value *wgi_ox_reduce(ox_node *n, ox_reduction *f)
{
    wg_value *x = wgi_ox_in(n, 0);
    wg_axes axes;
    if (!x || !take_axes(n, x->shape.rank, &axes))
        return NULL;
    if (!axes.count && wgi_ox_int(n, "noop_with_empty_axes", 0))
        return x;
    bool wide = n->op->flags & OX_IN_FLOATS && !wg_dtype_is_float(x->dtype);
    wg_value *y = f(NULL, wide ? wg_cast(x, WG_F64) : x, axes,
                    wgi_ox_int(n, "keepdims", 1) ? WG_KEEP : WG_DROP);
    return wgi_ox_cast(y, x->dtype);
}

/* The extreme of no numbers, or NULL if there are some. */
static wg_value *extreme_of_none(wg_value *x, wg_axes axes, wg_keep keep, double infinity)
{
    wg_shape s = wg_shape_reduced(&x->shape, &axes, keep);
    bool none = wg_dtype_is_float(x->dtype) && !wg_value_count(x) && wg_shape_count(&s);
    return none ? wg_fill(wg_graph_of(x), x->dtype, s, infinity) : NULL;
}

wg_value *wgi_ox_largest_of(const char *at, wg_value *x, wg_axes axes, wg_keep keep)
{
    wg_value *none = extreme_of_none(x, axes, keep, -INFINITY);
    return none                  ? none
           : x->dtype == WG_BOOL ? (wg_any)(at, x, axes, keep)
                                 : (wg_max)(at, x, axes, keep);
}

wg_value *wgi_ox_smallest_of(const char *at, wg_value *x, wg_axes axes, wg_keep keep)
{
    wg_value *none = extreme_of_none(x, axes, keep, INFINITY);
    return none                  ? none
           : x->dtype == WG_BOOL ? (wg_all)(at, x, axes, keep)
                                 : (wg_min)(at, x, axes, keep);
}

wg_value *wgi_ox_sum_of_magnitudes(const char *at, wg_value *x, wg_axes axes, wg_keep keep)
{
    return (wg_sum)(at, wg_abs(x), axes, keep);
}

wg_value *wgi_ox_sum_of_squares(const char *at, wg_value *x, wg_axes axes, wg_keep keep)
{
    return (wg_sum)(at, wg_square(x), axes, keep);
}

wg_value *wgi_ox_norm_of(const char *at, wg_value *x, wg_axes axes, wg_keep keep)
{
    return (wg_vector_norm)(at, x, axes, keep, 2);
}

wg_value *wgi_ox_log_of_sum(const char *at, wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_log((wg_sum)(at, x, axes, keep));
}

/* ---- positions ------------------------------------------------------------------------------- */

typedef wg_value *finder(const char *at, wg_value *x, int axis, wg_keep keep);

/* The last of equal ones is the first of the reversed axis. */
static wg_value *find(ox_node *n, finder *f)
{
    wg_value *x = wgi_ox_in(n, 0);
    int axis = x ? wgi_ox_axis(n, wgi_ox_int(n, "axis", 0), x->shape.rank) : -1;
    wg_keep keep = wgi_ox_int(n, "keepdims", 1) ? WG_KEEP : WG_DROP;
    n->type[0] = wgi_ox_type_of(WG_I64);
    if (axis < 0)
        return NULL;
    if (!wgi_ox_int(n, "select_last_index", 0))
        return f(NULL, x, axis, keep);
    wg_value *y = f(NULL, wg_flip(x, WG_AXES(axis)), axis, keep);
    return wg_shift(wg_neg(y), (double)(x->shape.dim[axis] - 1));
}

wg_value *wgi_ox_arg_max(ox_node *n)
{
    return find(n, (wg_argmax));
}

wg_value *wgi_ox_arg_min(ox_node *n)
{
    return find(n, (wg_argmin));
}

/* The k smallest are the first of the sorted axis. */
wg_value *wgi_ox_top_k(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    int axis = x ? wgi_ox_axis(n, wgi_ox_int(n, "axis", -1), x->shape.rank) : -1;
    ox_ints k = {0};
    bool is_operand = n->opset >= 10 && wgi_ox_ints_in(n, 1, &k);
    if (axis < 0 || wgi_ox_failed(n) || (is_operand && k.n != 1))
        return axis < 0 ? NULL : wgi_ox_fail(n, WG_ESHAPE, "k: expected one number, got %zu", k.n);
    int64_t count = is_operand ? k.at[0] : wgi_ox_int(n, "k", 0);
    bool largest = wgi_ox_int(n, "largest", 1);
    wg_value *y = largest ? wg_topk(x, count, axis) : wg_sort(x, axis, WG_ASCENDING);
    wg_value *index = wg_result_of(y, 1);
    if (!largest && (count < 0 || count > x->shape.dim[axis]))
        return wgi_ox_fail(n, WG_ESHAPE, "k = %lld", (long long)count);
    n->type[1] = wgi_ox_type_of(WG_I64);
    wgi_ox_set(n, 1, largest ? index : wg_slice(index, axis, 0, count, 1));
    return largest ? y : wg_slice(y, axis, 0, count, 1);
}

wg_value *wgi_ox_cumsum(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    int axis = x ? wgi_ox_axis(n, wgi_ox_int_in(n, 1, 0), x->shape.rank) : -1;
    int flags = (wgi_ox_int(n, "reverse", 0) ? WG_CUMSUM_REVERSE : 0) |
                (wgi_ox_int(n, "exclusive", 0) ? WG_CUMSUM_EXCLUSIVE : 0);
    return axis < 0 ? NULL : wg_cumsum(x, axis, flags);
}
