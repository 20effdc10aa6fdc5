/* One id for each element: gather, and what writes where gather reads. */
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

static const wg_attr index_attrs[] = {WG_ATTR(AXIS, wg_index_attrs, axis)};

/* ---- gather ---------------------------------------------------------------------------------- */

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
    .flags = WG_OP_SELECTS,
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

/* ---- scatter: what all have in common -------------------------------------------------------- */

static bool infer_scatter(wg_node *n)
{
    const wg_index_attrs *a = n->attrs;
    int axis;
    return wg_need_int(n, 1) && wg_need_same_dtype(n, 0, 2) && wg_need_axis(n, 0, a->axis, &axis) &&
           need_fit(n, 1, 0, axis) && need_fit(n, 1, 2, -1) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static bool infer_scatter_number(wg_node *n)
{
    return wg_need_number(n, 0) && infer_scatter(n);
}

/* The cotangent of src from that of its elements [0, shape of ids): elements beyond are not read,
 * and theirs is 0. */
static wg_value *of_all_src(const wg_node *n, wg_value *d)
{
    const wg_shape *ids = &n->in[1]->shape, *src = &n->in[2]->shape;
    wg_shape before = {.rank = src->rank}, after = before;
    for (int i = 0; i < src->rank; i++)
        after.dim[i] = src->dim[i] - ids->dim[i];
    return wg_shape_equal(ids, src) ? d : wg_pad(d, before, after, 0);
}

/* The elements [0, shape of ids) of src. */
static wg_value *read_of_src(const wg_node *n)
{
    const wg_shape *ids = &n->in[1]->shape;
    wg_shape start = {.rank = ids->rank}, step = start;
    for (int i = 0; i < ids->rank; i++)
        step.dim[i] = 1;
    return wg_shape_equal(ids, &n->in[2]->shape) ? n->in[2]
                                                 : wg_window(n->in[2], start, *ids, step);
}

static double scatter_flops(const wg_node *n)
{
    return (double)wg_value_count(n->in[n->n_in - 1]);
}

static const wg_sample scatter_samples[] = {
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

#define SCATTER                                                                                    \
    .family = WG_FAMILY_INDEXING, .operands = "x ids src", .results = "y",                         \
    .smoothness = WG_PIECEWISE_LINEAR, .inplace = 1, WG_ATTRS(wg_index_attrs, index_attrs),        \
    .flops = scatter_flops, WG_SAMPLES(scatter_samples)

#define BUILDER(name)                                                                              \
    wg_value *(wg_##name)(const char *at, wg_value *x, wg_value *ids, wg_value *src, int axis)     \
    {                                                                                              \
        return wg_apply3(at, &wg_op_##name, &(wg_index_attrs){axis}, x, ids, src);                 \
    }

/* ---- scatter_add ----------------------------------------------------------------------------- */

static void grad_scatter_add(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_index_attrs *a = n->attrs;
    dx[0] = dy[0];
    dx[2] = of_all_src(n, wg_gather(dy[0], n->in[1], (int)a->axis));
}

const wg_op wg_op_scatter_add = {
    .name = "scatter_add",
    .formula = "y = x, then y[i, ids[i, j, k], k] += src[i, j, k]",
    SCATTER,
    .infer = infer_scatter_number,
    .grad = grad_scatter_add,
    .reads = WG_READS_X,
};
BUILDER(scatter_add)

/* ---- scatter --------------------------------------------------------------------------------- */

/* Which elements of src are the last at their place (bool): who is, at each place, the last that
 * writes there. */
static wg_value *lasts(const wg_node *n, int axis)
{
    wg_graph *g = n->graph;
    wg_value *ids = n->in[1];
    wg_dtype dtype = ids->shape.dim[axis] <= INT32_MAX ? WG_I32 : WG_I64;
    wg_value *turn = wg_iota(g, dtype, ids->shape, axis, 0, 1);
    wg_value *nobody = wg_fill(g, dtype, n->in[0]->shape, -1);
    return wg_equal(wg_gather(wg_scatter(nobody, ids, turn, axis), ids, axis), turn);
}

/* What was overwritten counts for nothing. */
static void grad_scatter(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_index_attrs *a = n->attrs;
    int axis = wg_normalize_axis(a->axis, n->in[0]->shape.rank);
    wg_value *ids = n->in[1], *zero = wg_scalar_like(dy[0], 0);
    dx[0] = wg_scatter(dy[0], ids, wg_fill(n->graph, dy[0]->dtype, ids->shape, 0), axis);
    dx[2] = of_all_src(n, wg_where(lasts(n, axis), wg_gather(dy[0], ids, axis), zero));
}

const wg_op wg_op_scatter = {
    .name = "scatter",
    .formula = "y = x, then y[i, ids[i, j, k], k] = src[i, j, k]",
    SCATTER,
    .infer = infer_scatter,
    .grad = grad_scatter,
    .reads = WG_READS_X,
};
BUILDER(scatter)

/* ---- scatter_max, scatter_min ---------------------------------------------------------------- */

/* All that equal y, the x and the src that compete for one place, share dy equally. */
static void grad_scatter_extreme(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_index_attrs *a = n->attrs;
    int axis = (int)a->axis;
    wg_value *x = n->in[0], *ids = n->in[1], *y = n->out[0], *zero = wg_scalar_like(dy[0], 0);
    wg_value *x_is_y = wg_equal(x, y),
             *src_is_y = wg_equal(read_of_src(n), wg_gather(y, ids, axis));
    wg_value *ties =
        wg_scatter_add(wg_cast(x_is_y, x->dtype), ids, wg_cast(src_is_y, x->dtype), axis);
    wg_value *share = wg_div(dy[0], ties);
    dx[0] = wg_where(x_is_y, share, zero);
    dx[2] = of_all_src(n, wg_where(src_is_y, wg_gather(share, ids, axis), zero));
}

#define EXTREME                                                                                    \
    SCATTER, .infer = infer_scatter_number, .grad = grad_scatter_extreme,                          \
             .reads = WG_READS_X | WG_READS_Y

const wg_op wg_op_scatter_max = {
    .name = "scatter_max",
    .formula = "y = x, then y[i, ids[i, j, k], k] = max(itself, src[i, j, k])",
    EXTREME,
};
const wg_op wg_op_scatter_min = {
    .name = "scatter_min",
    .formula = "y = x, then y[i, ids[i, j, k], k] = min(itself, src[i, j, k])",
    EXTREME,
};
BUILDER(scatter_max)
BUILDER(scatter_min)
