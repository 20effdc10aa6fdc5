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
    dx[0] = wg_take_grad(dy[0], n->in[1], axis, x->dim[axis]);
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

/* ---- take_grad ------------------------------------------------------------------------------- */

static const wg_attr take_grad_attrs[] = {
    WG_ATTR(AXIS, wg_take_grad_attrs, axis),
    WG_ATTR(INT, wg_take_grad_attrs, size),
};

/* dy is [a.., ids.., b..]: the axes of ids begin at axis, which counts in dx. */
static bool infer_take_grad(wg_node *n)
{
    const wg_take_grad_attrs *a = n->attrs;
    const wg_shape *dy = &n->in[0]->shape, *ids = &n->in[1]->shape;
    char text[160], more[160];
    if (!wg_need_number(n, 0) || !wg_need_int(n, 1))
        return false;
    wg_shape s = {.rank = dy->rank - ids->rank + 1};
    int axis = wg_normalize_axis(a->axis, s.rank);
    if (s.rank < 1 || s.rank > WG_MAX_RANK || axis < 0)
        return wg_fail(n, WG_ESHAPE, "ids of %s along axis %lld cannot have made %s",
                       wg_shape_text(ids, text, sizeof text), (long long)a->axis,
                       wg_shape_text(dy, more, sizeof more));
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i < axis ? dy->dim[i] : i == axis ? a->size : dy->dim[i + ids->rank - 1];
    for (int i = 0; i < ids->rank; i++)
        if (dy->dim[axis + i] != ids->dim[i])
            return wg_fail(n, WG_ESHAPE, "ids are %s but dy, %s, has %lld at axis %d",
                           wg_shape_text(ids, text, sizeof text),
                           wg_shape_text(dy, more, sizeof more), (long long)dy->dim[axis + i],
                           axis + i);
    return wg_set_result(n, 0, n->in[0]->dtype, s);
}

static void grad_take_grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_take_grad_attrs *a = n->attrs;
    dx[0] = wg_take(dy[0], n->in[1], (int)a->axis);
}

static double scatter_flops(const wg_node *n)
{
    return (double)wg_value_count(n->in[n->n_in - 1]);
}

static double take_grad_flops(const wg_node *n)
{
    return (double)wg_value_count(n->in[0]);
}

static const wg_sample take_grad_samples[] = {
    {"rows",
     &(const wg_take_grad_attrs){0, 4},
     2,
     {WG_FLOATS(-2, 2, 2, 6, 3), WG_INTS(0, 4, 1, 6)}},
    {"last axis, matrix of ids",
     &(const wg_take_grad_attrs){-1, 3},
     2,
     {WG_FLOATS(-2, 2, 3, 2, 2, 2), WG_INTS(0, 3, 2, 2, 2)}},
    {"no ids",
     &(const wg_take_grad_attrs){0, 4},
     2,
     {WG_FLOATS(-2, 2, 2, 0, 3), WG_INTS(0, 4, 1, 0)}},
};

const wg_op wg_op_take_grad = {
    .name = "take_grad",
    .formula = "dx[.., v, ..] = sum of dy[.., i, ..] over ids[i] = v",
    .family = WG_FAMILY_INDEXING,
    .operands = "dy ids",
    .results = "dx",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_take_grad_attrs, take_grad_attrs),
    .infer = infer_take_grad,
    .grad = grad_take_grad,
    .reads = WG_READS_X,
    .flops = take_grad_flops,
    WG_SAMPLES(take_grad_samples),
};

wg_value *(wg_take_grad)(const char *at, wg_value *dy, wg_value *ids, int axis, int64_t size)
{
    return wg_apply2(at, &wg_op_take_grad, &(wg_take_grad_attrs){axis, size}, dy, ids);
}

/* ---- embedding: take along axis 0 of a matrix, by its own name ------------------------------- */

static bool infer_embedding(wg_node *n)
{
    wg_shape y;
    return wg_need_float(n, 0) && wg_need_rank(n, 0, 2, 2) && wg_need_int(n, 1) &&
           taken(n, &n->in[0]->shape, &n->in[1]->shape, 0, &y) &&
           wg_set_result(n, 0, n->in[0]->dtype, y);
}

static void grad_embedding(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_embedding_grad(dy[0], n->in[1], n->in[0]->shape.dim[0]);
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

static const wg_attr embedding_grad_attrs[] = {WG_ATTR(INT, wg_embedding_grad_attrs, rows)};

static bool infer_embedding_grad(wg_node *n)
{
    const wg_embedding_grad_attrs *a = n->attrs;
    const wg_shape *dy = &n->in[0]->shape, *ids = &n->in[1]->shape;
    char text[160], more[160];
    if (!wg_need_float(n, 0) || !wg_need_int(n, 1))
        return false;
    bool fits = dy->rank == ids->rank + 1;
    for (int i = 0; fits && i < ids->rank; i++)
        fits = dy->dim[i] == ids->dim[i];
    if (!fits)
        return wg_fail(n, WG_ESHAPE, "dy is %s, must be the shape of ids, %s, and one axis more",
                       wg_shape_text(dy, text, sizeof text), wg_shape_text(ids, more, sizeof more));
    return wg_set_result(n, 0, n->in[0]->dtype, WG_SHAPE(a->rows, dy->dim[dy->rank - 1]));
}

static void grad_embedding_grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_embedding(dy[0], n->in[1]);
}

static const wg_sample embedding_grad_samples[] = {
    {"sentences",
     &(const wg_embedding_grad_attrs){5},
     2,
     {WG_FLOATS(-2, 2, 3, 2, 4, 3), WG_INTS(0, 5, 2, 2, 4)}},
    {"no ids",
     &(const wg_embedding_grad_attrs){5},
     2,
     {WG_FLOATS(-2, 2, 2, 0, 3), WG_INTS(0, 5, 1, 0)}},
};

const wg_op wg_op_embedding_grad = {
    .name = "embedding_grad",
    .formula = "dweight[v, :] = sum of dy[i, :] over ids[i] = v",
    .family = WG_FAMILY_INDEXING,
    .operands = "dy ids",
    .results = "dweight",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_embedding_grad_attrs, embedding_grad_attrs),
    .infer = infer_embedding_grad,
    .grad = grad_embedding_grad,
    .reads = WG_READS_X,
    .flops = take_grad_flops,
    WG_SAMPLES(embedding_grad_samples),
};

wg_value *(wg_embedding_grad)(const char *at, wg_value *dy, wg_value *ids, int64_t rows)
{
    return wg_apply2(at, &wg_op_embedding_grad, &(wg_embedding_grad_attrs){rows}, dy, ids);
}

/* ---- gather and scatter_add: one id for each element ----------------------------------------- */

/* ids must fit into operand i along every axis but `free` (-1: every axis). */
static bool need_fit(wg_node *n, int ids, int i, int free)
{
    char name[64], a[160], b[160];
    const wg_shape *s = &n->in[ids]->shape, *x = &n->in[i]->shape;
    wg_op_operand_name(n->op, i, name, sizeof name);
    if (s->rank != x->rank)
        return wg_fail(n, WG_ESHAPE, "ids are %s of rank %d, but %s is %s of rank %d",
                       wg_shape_text(s, a, sizeof a), s->rank, name, wg_shape_text(x, b, sizeof b),
                       x->rank);
    for (int k = 0; k < s->rank; k++)
        if (k != free && s->dim[k] > x->dim[k])
            return wg_fail(n, WG_ESHAPE,
                           "ids are %s, too large for %s, %s, at axis %d: %lld and %lld",
                           wg_shape_text(s, a, sizeof a), name, wg_shape_text(x, b, sizeof b), k,
                           (long long)s->dim[k], (long long)x->dim[k]);
    return true;
}

static bool infer_gather(wg_node *n)
{
    const wg_index_attrs *a = n->attrs;
    int axis;
    return wg_need_int(n, 1) && wg_need_axis(n, 0, a->axis, &axis) && need_fit(n, 1, 0, axis) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[1]->shape);
}

static void grad_gather(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_index_attrs *a = n->attrs;
    dx[0] = wg_scatter_add(wg_zeros_like(n->in[0]), n->in[1], dy[0], (int)a->axis);
}

static const wg_sample gather_samples[] = {
    {"rows", &(const wg_index_attrs){0}, 2, {WG_FLOATS(-2, 2, 2, 4, 3), WG_INTS(0, 4, 2, 5, 3)}},
    {"last axis, fewer rows",
     &(const wg_index_attrs){-1},
     2,
     {WG_FLOATS(-2, 2, 2, 4, 3), WG_INTS(0, 3, 2, 2, 4)}},
    {"middle axis",
     &(const wg_index_attrs){1},
     2,
     {WG_FLOATS(-2, 2, 3, 2, 3, 2), WG_INTS(0, 3, 3, 2, 4, 2)}},
    {"no ids", &(const wg_index_attrs){0}, 2, {WG_FLOATS(-2, 2, 2, 4, 3), WG_INTS(0, 4, 2, 0, 3)}},
};

const wg_op wg_op_gather = {
    .name = "gather",
    .formula = "y[i, j, k] = x[i, ids[i, j, k], k]",
    .family = WG_FAMILY_INDEXING,
    .operands = "x ids",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_index_attrs, index_attrs),
    .infer = infer_gather,
    .grad = grad_gather,
    .reads = WG_READS_X,
    WG_SAMPLES(gather_samples),
};

wg_value *(wg_gather)(const char *at, wg_value *x, wg_value *ids, int axis)
{
    return wg_apply2(at, &wg_op_gather, &(wg_index_attrs){axis}, x, ids);
}

static bool infer_scatter_add(wg_node *n)
{
    const wg_index_attrs *a = n->attrs;
    int axis;
    return wg_need_number(n, 0) && wg_need_int(n, 1) && wg_need_same_dtype(n, 0, 2) &&
           wg_need_axis(n, 0, a->axis, &axis) && need_fit(n, 1, 0, axis) && need_fit(n, 1, 2, -1) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* Elements of src beyond the shape of ids are not read: their cotangent is 0. */
static void grad_scatter_add(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_index_attrs *a = n->attrs;
    const wg_shape *ids = &n->in[1]->shape, *src = &n->in[2]->shape;
    wg_value *d = wg_gather(dy[0], n->in[1], (int)a->axis);
    wg_shape before = {.rank = src->rank}, after = before;
    for (int i = 0; i < src->rank; i++)
        after.dim[i] = src->dim[i] - ids->dim[i];
    dx[0] = dy[0];
    dx[2] = wg_shape_equal(ids, src) ? d : wg_pad(d, before, after, 0);
}

static const wg_sample scatter_add_samples[] = {
    {"rows",
     &(const wg_index_attrs){0},
     3,
     {WG_FLOATS(-2, 2, 2, 3, 2), WG_INTS(0, 3, 2, 5, 2), WG_FLOATS(-2, 2, 2, 5, 2)}},
    {"last axis, part of src",
     &(const wg_index_attrs){-1},
     3,
     {WG_FLOATS(-2, 2, 2, 3, 2), WG_INTS(0, 2, 2, 2, 3), WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"no ids",
     &(const wg_index_attrs){0},
     3,
     {WG_FLOATS(-2, 2, 2, 3, 2), WG_INTS(0, 3, 2, 0, 2), WG_FLOATS(-2, 2, 2, 1, 2)}},
};

const wg_op wg_op_scatter_add = {
    .name = "scatter_add",
    .formula = "y = x, then y[i, ids[i, j, k], k] += src[i, j, k]",
    .family = WG_FAMILY_INDEXING,
    .operands = "x ids src",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    .inplace = 1,
    WG_ATTRS(wg_index_attrs, index_attrs),
    .infer = infer_scatter_add,
    .grad = grad_scatter_add,
    .reads = WG_READS_X,
    .flops = scatter_flops,
    WG_SAMPLES(scatter_add_samples),
};

wg_value *(wg_scatter_add)(const char *at, wg_value *x, wg_value *ids, wg_value *src, int axis)
{
    return wg_apply3(at, &wg_op_scatter_add, &(wg_index_attrs){axis}, x, ids, src);
}

/* ---- masked_fill ----------------------------------------------------------------------------- */

static const wg_attr masked_fill_attrs[] = {WG_ATTR(REAL, wg_masked_fill_attrs, value)};

static bool infer_masked_fill(wg_node *n)
{
    wg_shape y;
    return wg_need_dtype(n, 1, WG_BOOL) &&
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
