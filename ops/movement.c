#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

static const wg_attr shape_attrs[] = {WG_ATTR(SHAPE, wg_shape_attrs, shape)};

/* ---- reshape --------------------------------------------------------------------------------- */

/* Fills in the one size of -1; leaves s alone if that cannot be. */
static void resolve(wg_shape *s, int64_t count)
{
    int64_t rest = 1;
    int unknown = -1;
    for (int i = 0; i < s->rank && i < WG_MAX_RANK; i++)
        if (s->dim[i] == -1 && unknown < 0)
            unknown = i;
        else
            rest *= s->dim[i] > 0 && s->dim[i] < INT32_MAX && rest < INT32_MAX ? s->dim[i] : 0;
    if (unknown >= 0 && rest > 0 && count % rest == 0)
        s->dim[unknown] = count / rest;
}

/* How many sizes are -1. */
static int count_unknown(const wg_shape *s)
{
    int count = 0;
    for (int i = 0; i < s->rank && i < WG_MAX_RANK; i++)
        count += s->dim[i] == -1;
    return count;
}

static bool infer_reshape(wg_node *n)
{
    const wg_shape_attrs *a = n->attrs;
    char from[160], to[160];
    wg_shape s = a->shape;
    resolve(&s, wg_value_count(n->in[0]));
    if (count_unknown(&a->shape) > 1)
        return wg_fail(n, WG_ESHAPE, "%s has more than one size of -1",
                       wg_shape_text(&a->shape, to, sizeof to));
    if (count_unknown(&s) && wg_value_count(n->in[0]) == 0)
        return wg_fail(
            n, WG_ESHAPE, "any size for the -1 of %s gives the 0 elements of %s: write the size",
            wg_shape_text(&s, to, sizeof to), wg_shape_text(&n->in[0]->shape, from, sizeof from));
    if (count_unknown(&s))
        return wg_fail(n, WG_ESHAPE, "no size for the -1 of %s gives the %lld elements of %s",
                       wg_shape_text(&s, to, sizeof to), (long long)wg_value_count(n->in[0]),
                       wg_shape_text(&n->in[0]->shape, from, sizeof from));
    if (!wg_set_result(n, 0, n->in[0]->dtype, s))
        return false;
    return wg_shape_count(&s) == wg_value_count(n->in[0]) ||
           wg_fail(n, WG_ESHAPE, "%s has %lld elements, %s has %lld",
                   wg_shape_text(&n->in[0]->shape, from, sizeof from),
                   (long long)wg_value_count(n->in[0]), wg_shape_text(&s, to, sizeof to),
                   (long long)wg_shape_count(&s));
}

static void grad_reshape(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_reshape(dy[0], n->in[0]->shape);
}

static const wg_sample reshape_samples[] = {
    {"flatten", &(const wg_shape_attrs){{1, {12}}}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"infer one", &(const wg_shape_attrs){{3, {2, -1, 2}}}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"scalar", &(const wg_shape_attrs){{0, {0}}}, 1, {WG_FLOATS(-2, 2, 2, 1, 1)}},
};

const wg_op wg_op_reshape = {
    .name = "reshape",
    .formula = "the same elements under another shape",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x",
    .results = "y",
    .flags = WG_OP_VIEW,
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_shape_attrs, shape_attrs),
    .infer = infer_reshape,
    .grad = grad_reshape,
    .reads = WG_READS_NOTHING,
    WG_SAMPLES(reshape_samples),
};

wg_value *(wg_reshape)(const char *at, wg_value *x, wg_shape shape)
{
    if (x && wg_shape_equal(&x->shape, &shape))
        return x;
    return wg_apply1(at, &wg_op_reshape, &(wg_shape_attrs){shape}, x);
}

wg_value *(wg_squeeze)(const char *at, wg_value *x, int axis)
{
    char text[160];
    if (!x)
        return NULL;
    int k = wg_normalize_axis(axis, x->shape.rank);
    if (k < 0)
        return wg_graph_fail(wg_graph_of(x), WG_ESHAPE, at, "squeeze",
                             "axis %d is outside x, which is %s", axis,
                             wg_shape_text(&x->shape, text, sizeof text));
    if (x->shape.dim[k] != 1)
        return wg_graph_fail(wg_graph_of(x), WG_ESHAPE, at, "squeeze",
                             "axis %d of %s is not of size 1", axis,
                             wg_shape_text(&x->shape, text, sizeof text));
    wg_axes gone = {1, {k}};
    return (wg_reshape)(at, x, wg_shape_reduced(&x->shape, &gone, WG_DROP));
}

wg_value *(wg_unsqueeze)(const char *at, wg_value *x, int axis)
{
    char text[160];
    if (!x)
        return NULL;
    int k = wg_normalize_axis(axis, x->shape.rank + 1);
    if (x->shape.rank == WG_MAX_RANK)
        return wg_graph_fail(wg_graph_of(x), WG_ESHAPE, at, "unsqueeze",
                             "%s takes no new axis: it has %d already, the most there are",
                             wg_shape_text(&x->shape, text, sizeof text), WG_MAX_RANK);
    if (k < 0)
        return wg_graph_fail(wg_graph_of(x), WG_ESHAPE, at, "unsqueeze", "%s takes no new axis %d",
                             wg_shape_text(&x->shape, text, sizeof text), axis);
    wg_shape s = {.rank = x->shape.rank + 1};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i == k ? 1 : x->shape.dim[i < k ? i : i - 1];
    return (wg_reshape)(at, x, s);
}

/* ---- permute --------------------------------------------------------------------------------- */

static const wg_attr permute_attrs[] = {WG_ATTR(AXES, wg_permute_attrs, order)};

static bool infer_permute(wg_node *n)
{
    const wg_permute_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    char text[160];
    bool seen[WG_MAX_RANK] = {false};
    wg_shape s = {.rank = x->rank};
    if (a->order.count != x->rank)
        return wg_fail(n, WG_ESHAPE, "the order has %d axes, but %s has %d", a->order.count,
                       wg_shape_text(x, text, sizeof text), x->rank);
    for (int i = 0; i < x->rank; i++) {
        int axis;
        if (!wg_need_axis(n, 0, a->order.axis[i], &axis))
            return false;
        if (seen[axis])
            return wg_fail(n, WG_ESHAPE, "axis %d is given twice", a->order.axis[i]);
        seen[axis] = true;
        s.dim[i] = x->dim[axis];
    }
    return wg_set_result(n, 0, n->in[0]->dtype, s);
}

static void grad_permute(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_permute_attrs *a = n->attrs;
    wg_axes back = {.count = a->order.count};
    for (int i = 0; i < back.count; i++)
        back.axis[wg_normalize_axis(a->order.axis[i], back.count)] = i;
    dx[0] = wg_permute(dy[0], back);
}

static const wg_sample permute_samples[] = {
    {"matrix", &(const wg_permute_attrs){{2, {1, 0}}}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"cycle", &(const wg_permute_attrs){{3, {2, 0, 1}}}, 1, {WG_FLOATS(-2, 2, 3, 2, 3, 4)}},
    {"heads", &(const wg_permute_attrs){{4, {0, 2, 1, -1}}}, 1, {WG_FLOATS(-2, 2, 4, 2, 3, 2, 2)}},
};

const wg_op wg_op_permute = {
    .name = "permute",
    .formula = "axis i of y is axis order[i] of x",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_permute_attrs, permute_attrs),
    .infer = infer_permute,
    .grad = grad_permute,
    .reads = WG_READS_NOTHING,
    WG_SAMPLES(permute_samples),
};

wg_value *(wg_permute)(const char *at, wg_value *x, wg_axes order)
{
    bool moves = !x || order.count != x->shape.rank;
    for (int i = 0; !moves && i < order.count; i++)
        moves = wg_normalize_axis(order.axis[i], order.count) != i;
    if (!moves)
        return x;
    return wg_apply1(at, &wg_op_permute, &(wg_permute_attrs){order}, x);
}

wg_value *(wg_transpose)(const char *at, wg_value *x)
{
    wg_axes order = {.count = x ? x->shape.rank : 0};
    for (int i = 0; i < order.count; i++)
        order.axis[i] = i;
    if (order.count >= 2) {
        order.axis[order.count - 2] = order.count - 1;
        order.axis[order.count - 1] = order.count - 2;
    } else if (x) {
        return wg_graph_fail(wg_graph_of(x), WG_ESHAPE, at, "transpose",
                             "x has rank %d, must have 2 or more", x->shape.rank);
    }
    return (wg_permute)(at, x, order);
}

/* ---- expand ---------------------------------------------------------------------------------- */

static bool infer_expand(wg_node *n)
{
    const wg_shape_attrs *a = n->attrs;
    char from[160], to[160];
    wg_shape s;
    if (!wg_set_result(n, 0, n->in[0]->dtype, a->shape) ||
        !wg_need_broadcast(n, &n->in[0]->shape, &a->shape, &s))
        return false;
    return wg_shape_equal(&s, &a->shape) ||
           wg_fail(n, WG_ESHAPE, "%s does not broadcast to %s",
                   wg_shape_text(&n->in[0]->shape, from, sizeof from),
                   wg_shape_text(&a->shape, to, sizeof to));
}

static void grad_expand(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_sum_to(dy[0], n->in[0]->shape);
}

static const wg_sample expand_samples[] = {
    {"rows", &(const wg_shape_attrs){{2, {3, 4}}}, 1, {WG_FLOATS(-2, 2, 1, 4)}},
    {"middle", &(const wg_shape_attrs){{3, {2, 3, 4}}}, 1, {WG_FLOATS(-2, 2, 3, 2, 1, 4)}},
    {"scalar", &(const wg_shape_attrs){{2, {2, 2}}}, 1, {WG_FLOATS(-2, 2, 0, 0)}},
};

const wg_op wg_op_expand = {
    .name = "expand",
    .formula = "x broadcast to a shape",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_shape_attrs, shape_attrs),
    .infer = infer_expand,
    .grad = grad_expand,
    .reads = WG_READS_NOTHING,
    WG_SAMPLES(expand_samples),
};

wg_value *(wg_expand)(const char *at, wg_value *x, wg_shape shape)
{
    if (x && wg_shape_equal(&x->shape, &shape))
        return x;
    return wg_apply1(at, &wg_op_expand, &(wg_shape_attrs){shape}, x);
}
