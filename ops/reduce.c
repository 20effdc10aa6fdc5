#include "ops/ops.h"
#include "ops/table.h"

static const wg_attr reduce_attrs[] = {
    WG_ATTR(AXES, wg_reduce_attrs, axes),
    WG_ATTR(BOOL, wg_reduce_attrs, keep),
};

static bool infer_reduce(wg_node *n)
{
    const wg_reduce_attrs *a = n->attrs;
    wg_axes axes;
    return wg_need_number(n, 0) && wg_need_axes(n, 0, &a->axes, &axes) &&
           wg_set_result(n, 0, n->in[0]->dtype, wg_shape_reduced(&n->in[0]->shape, &axes, a->keep));
}

/* y, or a cotangent of y, as it would be with the reduced axes kept: it then broadcasts against x. */
static wg_value *kept(const wg_node *n, wg_value *y)
{
    const wg_reduce_attrs *a = n->attrs;
    wg_axes axes = wg_axes_of(&a->axes, n->in[0]->shape.rank);
    return wg_reshape(y, wg_shape_reduced(&n->in[0]->shape, &axes, WG_KEEP));
}

static double reduce_flops(const wg_node *n)
{
    return (double)wg_value_count(n->in[0]);
}

static const wg_sample reduce_samples[] = {
    {"all", &(const wg_reduce_attrs){{0, {0}}, false}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"axis 0", &(const wg_reduce_attrs){{1, {0}}, false}, 1, {WG_FLOATS(-2, 2, 3, 3, 4, 2)}},
    {"middle axis kept", &(const wg_reduce_attrs){{1, {1}}, true}, 1, {WG_FLOATS(-2, 2, 3, 3, 4, 2)}},
    {"outer axes", &(const wg_reduce_attrs){{2, {0, -1}}, false}, 1, {WG_FLOATS(-2, 2, 3, 3, 4, 2)}},
    {"scalar", &(const wg_reduce_attrs){{0, {0}}, false}, 1, {WG_FLOATS(-2, 2, 0, 0)}},
};

#define REDUCE                                                                                     \
    .family = "reduction", .operands = "x", .results = "y",                                        \
    .attrs_size = sizeof(wg_reduce_attrs), .attrs = reduce_attrs,                                  \
    .n_attrs = WG_COUNT(reduce_attrs), .infer = infer_reduce, .flops = reduce_flops

static void grad_sum(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_expand(kept(n, dy[0]), n->in[0]->shape);
}
const wg_op wg_op_sum = {
    .name = "sum", .formula = "y = sum of x over axes", REDUCE, .smoothness = WG_PIECEWISE_LINEAR,
    .grad = grad_sum, .reads = WG_READS_NOTHING,
    .samples = reduce_samples, .n_samples = WG_COUNT(reduce_samples),
};

wg_value *(wg_sum)(const char *at, wg_value *x, wg_axes axes, bool keep)
{
    return wg_apply1(at, &wg_op_sum, &(wg_reduce_attrs){axes, keep}, x);
}

wg_value *(wg_sum_to)(const char *at, wg_value *x, wg_shape shape)
{
    if (!x || wg_shape_equal(&x->shape, &shape))
        return x;
    wg_axes axes = {0};
    int lead = x->shape.rank - shape.rank;
    for (int i = 0; i < x->shape.rank; i++)
        if (i < lead || (shape.dim[i - lead] == 1 && x->shape.dim[i] != 1))
            axes.axis[axes.count++] = i;
    wg_value *y = axes.count ? (wg_sum)(at, x, axes, WG_DROP) : x;
    return (wg_reshape)(at, y, shape);
}
