/* Leaves (parameter, input, state, constant) and tensors made from nothing (fill, iota,
 * one_hot). */
#include "wengert/ops/leaf.h"
#include "graph/leaf.h"
#include "wengert/ops/table.h"

/* ---- parameter, state, input: dtype and shape are attributes --------------------------------- */

static const char *const init_names[] = {
    "constant",   "normal",           "uniform",    "xavier", "he_normal",
    "he_uniform", "truncated_normal", "orthogonal", "values", NULL};

static const wg_attr leaf_attrs[] = {
    WG_ATTR(DTYPE, wg_leaf_attrs, dtype),           WG_ATTR(SHAPE, wg_leaf_attrs, shape),
    WG_ATTR_NAMED(wg_leaf_attrs, init, init_names), WG_ATTR(REAL, wg_leaf_attrs, scale),
    WG_ATTR(DATA, wg_leaf_attrs, values),
};

/* As many bytes as the result has; or none, for a distribution. */
static bool need_bytes(wg_node *n, const char *what, const wg_data *data, size_t bytes)
{
    return data->size == bytes ||
           wg_fail(n, WG_EINVAL, "%zu bytes of %s, the shape needs %zu", data->size, what, bytes);
}

static bool infer_leaf(wg_node *n)
{
    const wg_leaf_attrs *a = n->attrs;
    if (!wg_set_result(n, 0, a->dtype, a->shape))
        return false;
    if (a->init == WG_INIT_VALUES)
        return need_bytes(n, "initial values", &a->values, wg_value_bytes(n->out[0]));
    if (a->values.size)
        return wg_fail(n, WG_EINVAL, "initial values are given, but init is not WG_INIT_VALUES");
    if (a->init == WG_INIT_CONSTANT)
        return wg_need_held(n, "the initial value", a->scale, a->dtype);
    return wg_dtype_is_float(a->dtype) ||
           wg_fail(
               n, WG_EDTYPE,
               "initial values of %s cannot be random (%s): wg_zeros() or wg_values_init() give "
               "others",
               wg_dtype_name(a->dtype), init_names[a->init]);
}

static const double sample_numbers[] = {1, -2, 3};
static const wg_leaf_attrs sample_leaf = {.dtype = WG_F64, .shape = {2, {2, 3}}},
                           sample_values = {.dtype = WG_F64,
                                            .shape = {1, {3}},
                                            .init = WG_INIT_VALUES,
                                            .values = {sample_numbers, sizeof sample_numbers}};
static const wg_sample leaf_samples[] = {{"matrix", &sample_leaf, 0, {{0}}},
                                         {"given values", &sample_values, 0, {{0}}}};

#define LEAF_OP(flag)                                                                              \
    .family = WG_FAMILY_LEAF, .operands = "", .results = "y",                                      \
    .flags = WG_OP_LEAF | WG_OP_OPAQUE | (flag), WG_ATTRS(wg_leaf_attrs, leaf_attrs),              \
    .infer = infer_leaf, WG_SAMPLES(leaf_samples)

const wg_op wg_op_parameter = {
    .name = "parameter", .formula = "a trained tensor of the store", LEAF_OP(WG_OP_PARAMETER)};
const wg_op wg_op_state = {
    .name = "state", .formula = "an updated tensor of the store", LEAF_OP(WG_OP_STATE)};
const wg_op wg_op_input = {
    .name = "input", .formula = "a tensor that the caller fills", LEAF_OP(WG_OP_INPUT)};

wg_value *(wg_input)(const char *at, wg_graph *g, const char *name, wg_dtype dtype, wg_shape shape)
{
    wg_leaf_attrs a = {.dtype = dtype, .shape = shape};
    return wgi_graph_leaf(at, g, &wg_op_input, &a, name);
}

/* ---- constant -------------------------------------------------------------------------------- */

static const wg_attr constant_attrs[] = {
    WG_ATTR(DTYPE, wg_constant_attrs, dtype),
    WG_ATTR(SHAPE, wg_constant_attrs, shape),
    WG_ATTR(DATA, wg_constant_attrs, data),
};

static bool infer_constant(wg_node *n)
{
    const wg_constant_attrs *a = n->attrs;
    if (!wg_set_result(n, 0, a->dtype, a->shape))
        return false;
    return need_bytes(n, "data", &a->data, wg_value_bytes(n->out[0]));
}

static const wg_constant_attrs sample_constant = {
    WG_F64, {1, {3}}, {sample_numbers, sizeof sample_numbers}};
static const wg_sample constant_samples[] = {{"vector", &sample_constant, 0, {{0}}}};

const wg_op wg_op_constant = {
    .name = "constant",
    .formula = "the given numbers",
    .family = WG_FAMILY_LEAF,
    .operands = "",
    .flags = WG_OP_LEAF,
    WG_ATTRS(wg_constant_attrs, constant_attrs),
    .infer = infer_constant,
    WG_SAMPLES(constant_samples),
};

wg_value *(wg_constant)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape,
                        const void *data)
{
    wg_constant_attrs a = {dtype, shape, {data, 0}};
    if (wg_shape_valid(&shape, dtype))
        a.data.size = wg_shape_bytes(&shape, dtype);
    return wg_apply0(at, g, &wg_op_constant, &a);
}

/* ---- fill ------------------------------------------------------------------------------------ */

static const wg_attr fill_attrs[] = {
    WG_ATTR(DTYPE, wg_fill_attrs, dtype),
    WG_ATTR(SHAPE, wg_fill_attrs, shape),
    WG_ATTR(REAL, wg_fill_attrs, value),
};

static bool infer_fill(wg_node *n)
{
    const wg_fill_attrs *a = n->attrs;
    return wg_set_result(n, 0, a->dtype, a->shape) && wg_need_held(n, "value", a->value, a->dtype);
}

static const wg_fill_attrs sample_fill = {WG_F64, {2, {2, 3}}, 1.5};
static const wg_sample fill_samples[] = {{"matrix", &sample_fill, 0, {{0}}}};

const wg_op wg_op_fill = {
    .name = "fill",
    .formula = "y = value",
    .family = WG_FAMILY_LEAF,
    .operands = "",
    .flags = WG_OP_FILL,
    WG_ATTRS(wg_fill_attrs, fill_attrs),
    .infer = infer_fill,
    WG_SAMPLES(fill_samples),
};

wg_value *(wg_fill)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape, double value)
{
    wg_fill_attrs a = {dtype, shape, value};
    return wg_apply0(at, g, &wg_op_fill, &a);
}

wg_value *(wg_scalar_like)(const char *at, wg_value *x, double value)
{
    return x ? (wg_fill)(at, wg_graph_of(x), x->dtype, WG_SCALAR, value) : NULL;
}

wg_value *(wg_zeros_like)(const char *at, wg_value *x)
{
    return x ? (wg_fill)(at, wg_graph_of(x), x->dtype, x->shape, 0) : NULL;
}

/* ---- iota ------------------------------------------------------------------------------------ */

static const wg_attr iota_attrs[] = {
    WG_ATTR(DTYPE, wg_iota_attrs, dtype), WG_ATTR(SHAPE, wg_iota_attrs, shape),
    WG_ATTR(AXIS, wg_iota_attrs, axis),   WG_ATTR(REAL, wg_iota_attrs, start),
    WG_ATTR(REAL, wg_iota_attrs, step),
};

static bool infer_iota(wg_node *n)
{
    const wg_iota_attrs *a = n->attrs;
    char text[160];
    if (!wg_set_result(n, 0, a->dtype, a->shape))
        return false;
    if (wg_normalize_axis(a->axis, a->shape.rank) < 0)
        return wg_fail(n, WG_ESHAPE, "axis %lld is outside %s", (long long)a->axis,
                       wg_shape_text(&a->shape, text, sizeof text));
    if (a->dtype == WG_BOOL)
        return wg_fail(n, WG_EDTYPE, "bool cannot count");
    int64_t size = a->shape.dim[wg_normalize_axis(a->axis, a->shape.rank)];
    double last = a->start + (double)(size > 0 ? size - 1 : 0) * a->step;
    return wg_need_held(n, "start", a->start, a->dtype) &&
           wg_need_held(n, "the last number", last, a->dtype) &&
           (size < 2 || wg_need_held(n, "step", a->step, a->dtype));
}

static const wg_iota_attrs sample_iota = {WG_F64, {2, {2, 3}}, -1, 1, 0.5};
static const wg_sample iota_samples[] = {{"last axis", &sample_iota, 0, {{0}}}};

const wg_op wg_op_iota = {
    .name = "iota",
    .formula = "y[i along axis] = start + i step",
    .family = WG_FAMILY_LEAF,
    .operands = "",
    WG_ATTRS(wg_iota_attrs, iota_attrs),
    .infer = infer_iota,
    WG_SAMPLES(iota_samples),
};

wg_value *(wg_iota)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape, int axis,
                    double start, double step)
{
    wg_iota_attrs a = {dtype, shape, axis, start, step};
    return wg_apply0(at, g, &wg_op_iota, &a);
}

/* ---- one_hot --------------------------------------------------------------------------------- */

static const wg_attr one_hot_attrs[] = {
    WG_ATTR(INT, wg_one_hot_attrs, depth),
    WG_ATTR(DTYPE, wg_one_hot_attrs, dtype),
};

static bool infer_one_hot(wg_node *n)
{
    const wg_one_hot_attrs *a = n->attrs;
    if (!wg_need_int(n, 0) || !wg_need_rank(n, 0, 0, WG_MAX_RANK - 1))
        return false;
    if (a->depth < 0)
        return wg_fail(n, WG_EINVAL, "depth is %lld", (long long)a->depth);
    wg_shape s = n->in[0]->shape;
    s.dim[s.rank++] = a->depth;
    return wg_set_result(n, 0, a->dtype, s);
}

static const wg_one_hot_attrs sample_one_hot = {5, WG_F64};
static const wg_sample one_hot_samples[] = {
    {"matrix", &sample_one_hot, 1, {WG_INTS(0, 5, 2, 2, 3)}}};

const wg_op wg_op_one_hot = {
    .name = "one_hot",
    .formula = "y[..., c] = (ids[...] == c)",
    .family = WG_FAMILY_LEAF,
    .operands = "ids",
    .flags = WG_OP_DISCRETE,
    WG_ATTRS(wg_one_hot_attrs, one_hot_attrs),
    .infer = infer_one_hot,
    WG_SAMPLES(one_hot_samples),
};

wg_value *(wg_one_hot)(const char *at, wg_value *ids, int64_t depth, wg_dtype dtype)
{
    return wg_apply1(at, &wg_op_one_hot, &(wg_one_hot_attrs){depth, dtype}, ids);
}

wg_value *(wg_eye)(const char *at, wg_graph *g, wg_dtype dtype, int64_t n)
{
    if (n < 0)
        return wg_graph_fail(g, WG_ESHAPE, at, "eye", "n is %lld, must be 0 or more", (long long)n);
    return (wg_one_hot)(at, (wg_iota)(at, g, WG_I64, WG_SHAPE(n), 0, 0, 1), n, dtype);
}
