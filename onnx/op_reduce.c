/* Reductions, and what is found or summed along an axis. */
#include "onnx/ops.h"

typedef wg_value *reduction(wg_value *x, wg_axes axes, wg_keep keep);

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
static wg_value *reduce(ox_node *n, reduction *f)
{
    wg_value *x = wgi_ox_in(n, 0);
    wg_axes axes;
    if (!x || !take_axes(n, x->shape.rank, &axes))
        return NULL;
    if (!axes.count && wgi_ox_int(n, "noop_with_empty_axes", 0))
        return x;
    return f(x, axes, wgi_ox_int(n, "keepdims", 1) ? WG_KEEP : WG_DROP);
}

/* Floats as they are, integers by way of f64. */
static wg_value *in_floats(wg_value *x, wg_axes axes, wg_keep keep, reduction *f)
{
    return wgi_ox_cast(f(wg_dtype_is_float(x->dtype) ? x : wg_cast(x, WG_F64), axes, keep),
                       x->dtype);
}

static wg_value *sum(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_sum(x, axes, keep);
}

static wg_value *float_mean(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_mean(x, axes, keep);
}

static wg_value *mean(wg_value *x, wg_axes axes, wg_keep keep)
{
    return in_floats(x, axes, keep, float_mean);
}

static wg_value *max(wg_value *x, wg_axes axes, wg_keep keep)
{
    return x->dtype == WG_BOOL ? wg_any(x, axes, keep) : wg_max(x, axes, keep);
}

static wg_value *min(wg_value *x, wg_axes axes, wg_keep keep)
{
    return x->dtype == WG_BOOL ? wg_all(x, axes, keep) : wg_min(x, axes, keep);
}

static wg_value *prod(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_prod(x, axes, keep);
}

static wg_value *l1(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_sum(wg_abs(x), axes, keep);
}

static wg_value *float_l2(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_vector_norm(x, axes, keep, 2);
}

static wg_value *l2(wg_value *x, wg_axes axes, wg_keep keep)
{
    return in_floats(x, axes, keep, float_l2);
}

static wg_value *float_log_sum(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_log(wg_sum(x, axes, keep));
}

static wg_value *log_sum(wg_value *x, wg_axes axes, wg_keep keep)
{
    return in_floats(x, axes, keep, float_log_sum);
}

static wg_value *float_log_sum_exp(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_logsumexp(x, axes, keep);
}

static wg_value *log_sum_exp(wg_value *x, wg_axes axes, wg_keep keep)
{
    return in_floats(x, axes, keep, float_log_sum_exp);
}

static wg_value *sum_square(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_sum(wg_square(x), axes, keep);
}

wg_value *wgi_ox_reduce_sum(ox_node *n)
{
    return reduce(n, sum);
}

wg_value *wgi_ox_reduce_mean(ox_node *n)
{
    return reduce(n, mean);
}

wg_value *wgi_ox_reduce_max(ox_node *n)
{
    return reduce(n, max);
}

wg_value *wgi_ox_reduce_min(ox_node *n)
{
    return reduce(n, min);
}

wg_value *wgi_ox_reduce_prod(ox_node *n)
{
    return reduce(n, prod);
}

wg_value *wgi_ox_reduce_l1(ox_node *n)
{
    return reduce(n, l1);
}

wg_value *wgi_ox_reduce_l2(ox_node *n)
{
    return reduce(n, l2);
}

wg_value *wgi_ox_reduce_log_sum(ox_node *n)
{
    return reduce(n, log_sum);
}

wg_value *wgi_ox_reduce_log_sum_exp(ox_node *n)
{
    return reduce(n, log_sum_exp);
}

wg_value *wgi_ox_reduce_sum_square(ox_node *n)
{
    return reduce(n, sum_square);
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
    int axis = x ? wgi_ox_axis(n, (int64_t)wgi_ox_real_in(n, 1, 0), x->shape.rank) : -1;
    int flags = (wgi_ox_int(n, "reverse", 0) ? WG_CUMSUM_REVERSE : 0) |
                (wgi_ox_int(n, "exclusive", 0) ? WG_CUMSUM_EXCLUSIVE : 0);
    return axis < 0 ? NULL : wg_cumsum(x, axis, flags);
}
