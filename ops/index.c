#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* ---- take: whole rows (planes, ...) along one axis ------------------------------------------- */

static const wg_attr index_attrs[] = {WG_ATTR(AXIS, wg_index_attrs, axis)};

/* [a.., n, b..] with the axis replaced by the axes of ids. */
static bool taken(wg_node *n, const wg_shape *x, const wg_shape *ids, int axis, wg_shape *out)
{
    char text[160], more[160];
    wg_shape s = {.rank = x->rank - 1 + ids->rank};
    if (s.rank > WG_MAX_RANK)
        return wg_fail(n, WG_ESHAPE, "ids of %s along an axis of %s make rank %d, more than %d",
                       wg_shape_text(ids, text, sizeof text), wg_shape_text(x, more, sizeof more),
                       s.rank, WG_MAX_RANK);
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i < axis               ? x->dim[i]
                   : i < axis + ids->rank ? ids->dim[i - axis]
                                          : x->dim[i - ids->rank + 1];
    *out = s;
    return true;
}

static bool infer_take(wg_node *n)
{
    const wg_index_attrs *a = n->attrs;
    wg_shape y;
    int axis;
    return wg_need_int(n, 1) && wg_need_axis(n, 0, a->axis, &axis) &&
           taken(n, &n->in[0]->shape, &n->in[1]->shape, axis, &y) &&
           wg_set_result(n, 0, n->in[0]->dtype, y);
}

static void grad_take(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_index_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    int axis = wg_normalize_axis(a->axis, x->rank);
    dx[0] = wg_segment_sum(dy[0], n->in[1], axis, x->dim[axis]);
}

static const wg_sample take_samples[] = {
    {"rows", &(const wg_index_attrs){0}, 2, {WG_FLOATS(-2, 2, 2, 4, 3), WG_INTS(0, 4, 1, 6)}},
    {"last axis, matrix of ids",
     &(const wg_index_attrs){-1},
     2,
     {WG_FLOATS(-2, 2, 2, 2, 3), WG_INTS(0, 3, 2, 2, 2)}},
    {"middle axis, one id",
     &(const wg_index_attrs){1},
     2,
     {WG_FLOATS(-2, 2, 3, 2, 3, 2), WG_INTS(0, 3, 0, 0)}},
    {"no ids", &(const wg_index_attrs){0}, 2, {WG_FLOATS(-2, 2, 2, 4, 3), WG_INTS(0, 4, 1, 0)}},
};

const wg_op wg_op_take = {
    .name = "take",
    .formula = "y[.., i, ..] = x[.., ids[i], ..]",
    .family = WG_FAMILY_INDEXING,
    .operands = "x ids",
    .results = "y",
    .flags = WG_OP_SELECTS,
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_index_attrs, index_attrs),
    .infer = infer_take,
    .grad = grad_take,
    .reads = WG_READS_X,
    WG_SAMPLES(take_samples),
};

wg_value *(wg_take)(const char *at, wg_value *x, wg_value *ids, int axis)
{
    return wg_apply2(at, &wg_op_take, &(wg_index_attrs){axis}, x, ids);
}

/* ---- embedding: take along axis 0 of a matrix, by its own name ------------------------------- */

static bool infer_embedding(wg_node *n)
{
    wg_shape y = {0};
    return wg_need_float(n, 0) && wg_need_rank(n, 0, 2, 2) && wg_need_int(n, 1) &&
           taken(n, &n->in[0]->shape, &n->in[1]->shape, 0, &y) &&
           wg_set_result(n, 0, n->in[0]->dtype, y);
}

static void grad_embedding(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_segment_sum(dy[0], n->in[1], 0, n->in[0]->shape.dim[0]);
}

static const wg_sample embedding_samples[] = {
    {"sentences", NULL, 2, {WG_FLOATS(-2, 2, 2, 5, 3), WG_INTS(0, 5, 2, 2, 4)}},
    {"one id", NULL, 2, {WG_FLOATS(-2, 2, 2, 5, 3), WG_INTS(0, 5, 0, 0)}},
    {"no ids", NULL, 2, {WG_FLOATS(-2, 2, 2, 5, 3), WG_INTS(0, 5, 2, 0, 4)}},
};

const wg_op wg_op_embedding = {
    .name = "embedding",
    .formula = "y[..., :] = weight[ids[...], :]",
    .family = WG_FAMILY_INDEXING,
    .operands = "weight ids",
    .results = "y",
    .flags = WG_OP_SELECTS,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_embedding,
    .grad = grad_embedding,
    .reads = WG_READS_X,
    WG_SAMPLES(embedding_samples),
};

wg_value *(wg_embedding)(const char *at, wg_value *weight, wg_value *ids)
{
    return wg_apply2(at, &wg_op_embedding, NULL, weight, ids);
}

/* ---- masked_fill ----------------------------------------------------------------------------- */

static const wg_attr masked_fill_attrs[] = {WG_ATTR(REAL, wg_masked_fill_attrs, value)};

static bool infer_masked_fill(wg_node *n)
{
    wg_shape y;
    const wg_masked_fill_attrs *a = n->attrs;
    return wg_need_dtype(n, 1, WG_BOOL) && wg_need_held(n, "value", a->value, n->in[0]->dtype) &&
           wg_need_broadcast(n, &n->in[0]->shape, &n->in[1]->shape, &y) &&
           wg_set_result(n, 0, n->in[0]->dtype, y);
}

static void grad_masked_fill(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_masked_fill(dy[0], n->in[1], 0);
}

static const wg_sample masked_fill_samples[] = {
    {"same shape",
     &(const wg_masked_fill_attrs){-3},
     2,
     {WG_FLOATS(-2, 2, 2, 3, 4), WG_BOOLS(2, 3, 4)}},
    {"mask broadcast",
     &(const wg_masked_fill_attrs){0},
     2,
     {WG_FLOATS(-2, 2, 3, 2, 3, 4), WG_BOOLS(2, 3, 1)}},
    {"both broadcast",
     &(const wg_masked_fill_attrs){0.5},
     2,
     {WG_FLOATS(-2, 2, 2, 1, 4), WG_BOOLS(2, 3, 1)}},
    {"scalar", &(const wg_masked_fill_attrs){1}, 2, {WG_FLOATS(-2, 2, 0, 0), WG_BOOLS(0, 0)}},
};

const wg_op wg_op_masked_fill = {
    .name = "masked_fill",
    .formula = "y = value where mask, else x",
    .family = WG_FAMILY_INDEXING,
    .operands = "x mask",
    .results = "y",
    .flags = WG_OP_ELEMENTWISE,
    .smoothness = WG_PIECEWISE_LINEAR,
    .inplace = 1,
    WG_ATTRS(wg_masked_fill_attrs, masked_fill_attrs),
    .infer = infer_masked_fill,
    .grad = grad_masked_fill,
    .reads = WG_READS_X,
    WG_SAMPLES(masked_fill_samples),
};

wg_value *(wg_masked_fill)(const char *at, wg_value *x, wg_value *mask, double value)
{
    return wg_apply2(at, &wg_op_masked_fill, &(wg_masked_fill_attrs){value}, x, mask);
}
