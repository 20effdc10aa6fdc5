#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

/* ---- argmax, argmin -------------------------------------------------------------------------- */

static const wg_attr arg_attrs[] = {
    WG_ATTR(AXIS, wg_arg_attrs, axis),
    WG_ATTR(BOOL, wg_arg_attrs, keep),
};

static bool infer_arg(wg_node *n)
{
    const wg_arg_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    char text[160];
    int axis;
    if (!wg_need_number(n, 0) || !wg_need_axis(n, 0, a->axis, &axis))
        return false;
    if (x->dim[axis] == 0)
        return wg_fail(n, WG_ESHAPE, "x is %s: an empty axis has no extreme element",
                       wg_shape_text(x, text, sizeof text));
    wg_axes set = {1, {axis}};
    return wg_set_result(n, 0, WG_I64, wg_shape_reduced(x, &set, a->keep));
}

static double arg_flops(const wg_node *n)
{
    return (double)wg_value_count(n->in[0]);
}

static const wg_sample arg_samples[] = {
    {"last axis", &(const wg_arg_attrs){-1, false}, 1, {WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"axis 0 kept", &(const wg_arg_attrs){0, true}, 1, {WG_FLOATS(-2, 2, 3, 3, 2, 2)}},
    {"ties", &(const wg_arg_attrs){1, false}, 1, {WG_INTS(0, 3, 2, 4, 6)}},
};

#define ARG                                                                                        \
    .family = WG_FAMILY_SELECTION, .operands = "x", .results = "index", .flags = WG_OP_DISCRETE,   \
    WG_ATTRS(wg_arg_attrs, arg_attrs), .infer = infer_arg, .flops = arg_flops,                     \
    WG_SAMPLES(arg_samples)

const wg_op wg_op_argmax = {
    .name = "argmax", .formula = "where along axis the largest x is, the first", ARG};
const wg_op wg_op_argmin = {
    .name = "argmin", .formula = "where along axis the smallest x is, the first", ARG};

wg_value *(wg_argmax)(const char *at, wg_value *x, int axis, wg_keep keep)
{
    return wg_apply1(at, &wg_op_argmax, &(wg_arg_attrs){axis, keep}, x);
}

wg_value *(wg_argmin)(const char *at, wg_value *x, int axis, wg_keep keep)
{
    return wg_apply1(at, &wg_op_argmin, &(wg_arg_attrs){axis, keep}, x);
}

/* ---- topk ------------------------------------------------------------------------------------ */

static const wg_attr topk_attrs[] = {
    WG_ATTR(INT, wg_topk_attrs, k),
    WG_ATTR(AXIS, wg_topk_attrs, axis),
};

static bool infer_topk(wg_node *n)
{
    const wg_topk_attrs *a = n->attrs;
    wg_shape s = n->in[0]->shape;
    char text[160];
    int axis;
    if (!wg_need_number(n, 0) || !wg_need_axis(n, 0, a->axis, &axis))
        return false;
    if (a->k < 0 || a->k > s.dim[axis])
        return wg_fail(n, WG_EINVAL, "k is %lld, must be 0 to the %lld of axis %d of %s",
                       (long long)a->k, (long long)s.dim[axis], axis,
                       wg_shape_text(&s, text, sizeof text));
    s.dim[axis] = a->k;
    return wg_set_result(n, 0, n->in[0]->dtype, s) && wg_set_result(n, 1, WG_I64, s);
}

/* Each value's cotangent goes back to where the value came from. */
static void grad_topk(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_topk_attrs *a = n->attrs;
    if (dy[0])
        dx[0] = wg_scatter_add(wg_zeros_like(n->in[0]), n->out[1], dy[0], (int)a->axis);
}

static double topk_flops(const wg_node *n)
{
    return (double)wg_value_count(n->in[0]);
}

static const wg_sample topk_samples[] = {
    {"last axis", &(const wg_topk_attrs){2, -1}, 1, {WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"axis 0", &(const wg_topk_attrs){3, 0}, 1, {WG_FLOATS(-2, 2, 3, 4, 2, 2)}},
    {"all, with ties", &(const wg_topk_attrs){6, 0}, 1, {WG_INTS(0, 3, 1, 6)}},
    {"none", &(const wg_topk_attrs){0, -1}, 1, {WG_FLOATS(-2, 2, 1, 4)}},
};

const wg_op wg_op_topk = {
    .name = "topk",
    .formula = "the k largest x along axis, descending, and where they are",
    .family = WG_FAMILY_SELECTION,
    .operands = "x",
    .results = "values indices",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_topk_attrs, topk_attrs),
    .infer = infer_topk,
    .grad = grad_topk,
    .reads = WG_READS_Y,
    .flops = topk_flops,
    WG_SAMPLES(topk_samples),
};

wg_value *(wg_topk)(const char *at, wg_value *x, int64_t k, int axis)
{
    return wg_apply1(at, &wg_op_topk, &(wg_topk_attrs){k, axis}, x);
}

/* ---- sort ------------------------------------------------------------------------------------ */

static const char *const order_names[] = {"ascending", "descending", NULL};
static const wg_attr sort_attrs[] = {
    WG_ATTR(AXIS, wg_sort_attrs, axis),
    WG_ATTR_NAMED(wg_sort_attrs, order, order_names),
};

static bool infer_sort(wg_node *n)
{
    const wg_sort_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    int axis;
    return wg_need_number(n, 0) && wg_need_axis(n, 0, a->axis, &axis) &&
           wg_set_result(n, 0, n->in[0]->dtype, *x) && wg_set_result(n, 1, WG_I64, *x);
}

/* The permutation backwards. */
static void grad_sort(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_sort_attrs *a = n->attrs;
    if (dy[0])
        dx[0] = wg_scatter(wg_zeros_like(n->in[0]), n->out[1], dy[0], (int)a->axis);
}

/* About n log2 n comparisons of each line. */
static double sort_flops(const wg_node *n)
{
    const wg_sort_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    double size = (double)x->dim[wg_normalize_axis(a->axis, x->rank)];
    return (double)wg_value_count(n->in[0]) * log2(size < 2 ? 2 : size);
}

static const wg_sample sort_samples[] = {
    {"last axis", &(const wg_sort_attrs){-1, WG_ASCENDING}, 1, {WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"axis 0, descending",
     &(const wg_sort_attrs){0, WG_DESCENDING},
     1,
     {WG_FLOATS(-2, 2, 3, 4, 2, 2)}},
    {"ties", &(const wg_sort_attrs){0, WG_ASCENDING}, 1, {WG_INTS(0, 4, 2, 40, 2)}},
    {"ties, descending", &(const wg_sort_attrs){-1, WG_DESCENDING}, 1, {WG_INTS(0, 4, 1, 40)}},
    {"empty", &(const wg_sort_attrs){-1, WG_DESCENDING}, 1, {WG_FLOATS(-2, 2, 2, 3, 0)}},
};

const wg_op wg_op_sort = {
    .name = "sort",
    .formula = "x in order along axis, and where each element was",
    .family = WG_FAMILY_SELECTION,
    .operands = "x",
    .results = "values indices",
    .smoothness = WG_PIECEWISE_LINEAR,
    .inplace = 1,
    WG_ATTRS(wg_sort_attrs, sort_attrs),
    .infer = infer_sort,
    .grad = grad_sort,
    .reads = WG_READS_Y,
    .flops = sort_flops,
    WG_SAMPLES(sort_samples),
};

wg_value *(wg_sort)(const char *at, wg_value *x, int axis, wg_order order)
{
    return wg_apply1(at, &wg_op_sort, &(wg_sort_attrs){axis, order}, x);
}

wg_value *(wg_argsort)(const char *at, wg_value *x, int axis, wg_order order)
{
    return wg_result_of((wg_sort)(at, x, axis, order), 1);
}
