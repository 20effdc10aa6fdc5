/* Rows written at positions that are data.  y = x, then y[ids[i]] = rows[i] in the order of i: of
 * equal ids the last counts, and the gradient goes to its row alone. */
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* rows must be [m, b..] for ids [m] and x [n, b..]. */
static bool infer(wg_node *n)
{
    const wg_shape *x = &n->in[0]->shape;
    if (!wg_need_rank(n, 0, 1, WG_MAX_RANK) || !wg_need_int(n, 1) || !wg_need_rank(n, 1, 1, 1) ||
        !wg_need_same_dtype(n, 2, 0) || !wg_need_rank(n, 2, x->rank, x->rank) ||
        !wg_need_dim(n, 2, 0, n->in[1]->shape.dim[0]))
        return false;
    for (int i = 1; i < x->rank; i++)
        if (!wg_need_dim(n, 2, i, x->dim[i]))
            return false;
    return wg_set_result(n, 0, n->in[0]->dtype, *x);
}

/* [m] bool: row i is the last of its id.  who[v] is the last i with ids[i] = v. */
static wg_value *lasts(wg_value *ids, int64_t size)
{
    wg_graph *g = wg_graph_of(ids);
    wg_value *i = wg_iota(g, WG_I64, ids->shape, 0, 0, 1);
    wg_value *who = wg_put_rows(wg_fill(g, WG_I64, WG_SHAPE(size), -1), ids, i);
    return wg_equal(wg_take(who, ids, 0), i);
}

static void grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *ids = n->in[1], *rows = n->in[2];
    wg_shape column = {.rank = rows->shape.rank, .dim = {ids->shape.dim[0]}};
    for (int i = 1; i < column.rank; i++)
        column.dim[i] = 1;
    wg_value *d = wg_take(dy[0], ids, 0), *zero = wg_zeros_like(rows);
    dx[0] = wg_put_rows(dy[0], ids, zero);
    dx[2] = wg_where(wg_reshape(lasts(ids, n->in[0]->shape.dim[0]), column), d, zero);
}

static double flops(const wg_node *n)
{
    (void)n;
    return 0;
}

static const wg_sample samples[] = {
    {"rows", NULL, 3, {WG_FLOATS(-2, 2, 2, 5, 3), WG_INTS(0, 5, 1, 4), WG_FLOATS(-2, 2, 2, 4, 3)}},
    {"numbers", NULL, 3, {WG_FLOATS(-2, 2, 1, 6), WG_INTS(0, 6, 1, 3), WG_FLOATS(-2, 2, 1, 3)}},
    {"planes",
     NULL,
     3,
     {WG_FLOATS(-2, 2, 3, 3, 2, 2), WG_INTS(0, 3, 1, 2), WG_FLOATS(-2, 2, 3, 2, 2, 2)}},
    {"no ids",
     NULL,
     3,
     {WG_FLOATS(-2, 2, 2, 4, 3), WG_INTS(0, 4, 1, 0), WG_FLOATS(-2, 2, 2, 0, 3)}},
};

const wg_op wg_op_put_rows = {
    .name = "put_rows",
    .formula = "y = x, but y[ids[i], ..] = rows[i, ..]",
    .family = WG_FAMILY_INDEXING,
    .operands = "x ids rows",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    .inplace = 1,
    .infer = infer,
    .grad = grad,
    .reads = WG_READS_X,
    .flops = flops,
    WG_SAMPLES(samples),
};

wg_value *(wg_put_rows)(const char *at, wg_value *x, wg_value *ids, wg_value *rows)
{
    return wg_apply3(at, &wg_op_put_rows, NULL, x, ids, rows);
}
