/* Windows whose place is data. */
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* A window of that size, which comes from `whose`, must fit into x, and start have a place for each
 * axis. */
static bool need_window(wg_node *n, const wg_shape *size, const char *whose)
{
    const wg_shape *x = &n->in[0]->shape;
    char text[160], more[160];
    if (!wg_need_int(n, 1) || !wg_need_rank(n, 1, 1, 1) || !wg_need_dim(n, 1, 0, x->rank))
        return false;
    bool fits = size->rank == x->rank;
    for (int k = 0; fits && k < x->rank; k++)
        fits = size->dim[k] >= 0 && size->dim[k] <= x->dim[k];
    return fits || wg_fail(n, WG_ESHAPE, "%s %s does not fit into x, %s", whose,
                           size->rank >= 0 && size->rank <= WG_MAX_RANK
                               ? wg_shape_text(size, text, sizeof text)
                               : "of no valid rank",
                           wg_shape_text(x, more, sizeof more));
}

/* ---- dynamic_slice --------------------------------------------------------------------------- */

static const wg_attr dynamic_slice_attrs[] = {WG_ATTR(SHAPE, wg_dynamic_slice_attrs, size)};

static bool infer_dynamic_slice(wg_node *n)
{
    const wg_dynamic_slice_attrs *a = n->attrs;
    return need_window(n, &a->size, "the size") && wg_set_result(n, 0, n->in[0]->dtype, a->size);
}

static void grad_dynamic_slice(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_dynamic_update_slice(wg_zeros_like(n->in[0]), n->in[1], dy[0]);
}

static const wg_sample dynamic_slice_samples[] = {
    {"matrix",
     &(const wg_dynamic_slice_attrs){{2, {3, 4}}},
     2,
     {WG_FLOATS(-2, 2, 2, 5, 6), WG_INTS(0, 3, 1, 2)}},
    {"one axis",
     &(const wg_dynamic_slice_attrs){{1, {4}}},
     2,
     {WG_FLOATS(-2, 2, 1, 6), WG_INTS(0, 3, 1, 1)}},
    {"nothing",
     &(const wg_dynamic_slice_attrs){{1, {0}}},
     2,
     {WG_FLOATS(-2, 2, 1, 3), WG_INTS(0, 4, 1, 1)}},
    {"scalar",
     &(const wg_dynamic_slice_attrs){{0, {0}}},
     2,
     {WG_FLOATS(-2, 2, 0, 0), WG_INTS(0, 1, 1, 0)}},
};

const wg_op wg_op_dynamic_slice = {
    .name = "dynamic_slice",
    .formula = "y[i] = x[start + i], i in size",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x start",
    .results = "y",
    .flags = WG_OP_SELECTS,
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_dynamic_slice_attrs, dynamic_slice_attrs),
    .infer = infer_dynamic_slice,
    .grad = grad_dynamic_slice,
    .reads = WG_READS_X,
    WG_SAMPLES(dynamic_slice_samples),
};

wg_value *(wg_dynamic_slice)(const char *at, wg_value *x, wg_value *start, wg_shape size)
{
    return wg_apply2(at, &wg_op_dynamic_slice, &(wg_dynamic_slice_attrs){size}, x, start);
}

/* ---- dynamic_update_slice -------------------------------------------------------------------- */

static bool infer_dynamic_update_slice(wg_node *n)
{
    return wg_need_same_dtype(n, 0, 2) && need_window(n, &n->in[2]->shape, "update") &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static void grad_dynamic_update_slice(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_dynamic_update_slice(dy[0], n->in[1], wg_zeros_like(n->in[2]));
    dx[2] = wg_dynamic_slice(dy[0], n->in[1], n->in[2]->shape);
}

static double no_flops(const wg_node *n)
{
    (void)n;
    return 0;
}

static const wg_sample dynamic_update_slice_samples[] = {
    {"matrix",
     NULL,
     3,
     {WG_FLOATS(-2, 2, 2, 5, 6), WG_INTS(0, 3, 1, 2), WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"one axis", NULL, 3, {WG_FLOATS(-2, 2, 1, 6), WG_INTS(0, 3, 1, 1), WG_FLOATS(-2, 2, 1, 4)}},
    {"nothing", NULL, 3, {WG_FLOATS(-2, 2, 1, 3), WG_INTS(0, 4, 1, 1), WG_FLOATS(-2, 2, 1, 0)}},
};

const wg_op wg_op_dynamic_update_slice = {
    .name = "dynamic_update_slice",
    .formula = "y = x, but y[start + i] = update[i]",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x start update",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    .inplace = 1,
    .infer = infer_dynamic_update_slice,
    .grad = grad_dynamic_update_slice,
    .reads = WG_READS_X,
    .flops = no_flops,
    WG_SAMPLES(dynamic_update_slice_samples),
};

wg_value *(wg_dynamic_update_slice)(const char *at, wg_value *x, wg_value *start, wg_value *update)
{
    return wg_apply3(at, &wg_op_dynamic_update_slice, NULL, x, start, update);
}
