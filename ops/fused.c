#include "wengert/ops/fused.h"
#include "wengert/ops/ops.h"
#include "ops/ops_internal.h"
#include "wengert/ops/table.h"

/* ---- layernorm(x + dropout(branch)) ---------------------------------------------------------- */

static wg_value *drop(const wg_node *n, wg_value *x)
{
    const wg_residual_layernorm_attrs *a = n->attrs;
    return a->p > 0 ? wg_apply1(WG_HERE, &wg_op_dropout, &(wg_dropout_attrs){a->p, a->key}, x) : x;
}

static wg_rownorm_attrs rows_of(const wg_node *n)
{
    return (wg_rownorm_attrs){1, ((const wg_residual_layernorm_attrs *)n->attrs)->eps};
}

static bool need_probability(wg_node *n)
{
    const wg_residual_layernorm_attrs *a = n->attrs;
    if (!(a->p >= 0 && a->p < 1))
        return wg_fail(n, WG_EINVAL, "p is %g, must be in [0, 1)", a->p);
    return (a->eps >= 0 && a->eps < 1e30) ||
           wg_fail(n, WG_EINVAL, "eps is %g, must be 0 or more, below 1e30", a->eps);
}

static bool need_row(wg_node *n, int i, const wg_shape *x)
{
    return n->n_in <= i || (wg_need_same_dtype(n, 0, i) && wg_need_rank(n, i, 1, 1) &&
                            wg_need_dim(n, i, 0, x->dim[x->rank - 1]));
}

static bool infer_residual(wg_node *n)
{
    const wg_shape *x = &n->in[0]->shape;
    if (!need_probability(n) || !wg_need_float(n, 0) || !wg_need_rank(n, 0, 1, WG_MAX_RANK) ||
        !wg_need_same_dtype(n, 0, 1) || !wg_need_same_shape(n, 0, 1) || !need_row(n, 2, x) ||
        !need_row(n, 3, x))
        return false;
    wg_shape statistics = *x;
    statistics.dim[x->rank - 1] = 1;
    return wg_set_result(n, 0, n->in[0]->dtype, *x) &&
           wg_set_result(n, 1, n->in[0]->dtype, statistics) &&
           wg_set_result(n, 2, n->in[0]->dtype, statistics) &&
           wg_set_result(n, 3, n->in[0]->dtype, *x);
}

static void expand_residual(wg_node *n, wg_value **y)
{
    wg_rownorm_attrs rows = rows_of(n);
    wg_value *sum = wg_add(n->in[0], drop(n, n->in[1]));
    wg_value *in[] = {sum, n->n_in > 2 ? n->in[2] : NULL, n->n_in > 3 ? n->in[3] : NULL};
    wg_node *norm = wg_apply(WG_HERE, n->graph, &wg_op_layernorm, &rows, in, 3);
    for (int i = 0; norm && i < 3; i++)
        y[i] = norm->out[i];
    y[3] = sum;
}

static bool infer_residual_grad(wg_node *n)
{
    const wg_shape *x = &n->in[1]->shape;
    if (!need_probability(n) || !wg_need_float(n, 0) || !wg_need_rank(n, 1, 1, WG_MAX_RANK) ||
        !wg_need_same_shape(n, 0, 1) || !need_row(n, 4, x) ||
        (n->n_in > 5 && (!wg_need_same_dtype(n, 0, 5) || !wg_need_same_shape(n, 0, 5))))
        return false;
    wg_shape statistics = *x, row = WG_SHAPE(x->dim[x->rank - 1]);
    statistics.dim[x->rank - 1] = 1;
    char is[160], must[160];
    for (int i = 1; i < 4; i++) {
        if (!wg_need_same_dtype(n, 0, i))
            return false;
        if (i > 1 && !wg_shape_equal(&n->in[i]->shape, &statistics))
            return wg_fail(n, WG_ESHAPE, "%s is %s, must be %s", i == 2 ? "mean" : "rstd",
                           wg_shape_text(&n->in[i]->shape, is, sizeof is),
                           wg_shape_text(&statistics, must, sizeof must));
    }
    wg_dtype dtype = n->in[0]->dtype;
    return wg_set_result(n, 0, dtype, *x) && wg_set_result(n, 1, dtype, row) &&
           wg_set_result(n, 2, dtype, row) && wg_set_result(n, 3, dtype, *x);
}

static void expand_residual_grad(wg_node *n, wg_value **y)
{
    wg_rownorm_attrs rows = rows_of(n);
    wg_node *norm =
        wg_apply(WG_HERE, n->graph, &wg_op_layernorm_grad, &rows, n->in, n->n_in < 5 ? n->n_in : 5);
    for (int i = 0; norm && i < 3; i++)
        y[i] = norm->out[i];
    if (norm && n->n_in > 5)
        y[0] = wg_add(y[0], n->in[5]);
    y[3] = norm ? drop(n, y[0]) : NULL;
}

static double flops_residual(const wg_node *n)
{
    return (n->op == &wg_op_residual_layernorm ? 10.0 : 15.0) * (double)wg_value_count(n->in[0]);
}

/* clang-format off */
static const wg_attr residual_attrs[] = {
    WG_ATTR(REAL, wg_residual_layernorm_attrs, p), WG_ATTR(KEY, wg_residual_layernorm_attrs, key),
    WG_ATTR(REAL, wg_residual_layernorm_attrs, eps),
};
static const wg_residual_layernorm_attrs sure = {0, 0, 1e-5}, chance = {0.25, 7, 1e-5};

#define R(...) WG_FLOATS(-3, 3, __VA_ARGS__)
static const wg_sample residual_samples[] = {
    {"no dropout", &sure, 4, {R(2, 3, 7), R(2, 3, 7), R(1, 7), R(1, 7)}},
    {"dropout", &chance, 4, {R(3, 2, 2, 8), R(3, 2, 2, 8), R(1, 8), R(1, 8)}},
    {"plain rows", &chance, 2, {R(2, 2, 6), R(2, 2, 6)}},
};
static const wg_sample residual_grad_samples[] = {
    {"gain", &sure, 5, {R(2, 3, 7), R(2, 3, 7), R(2, 3, 1), WG_FLOATS(0.5, 1.5, 2, 3, 1), R(1, 7)}},
    {"dropout", &chance, 4, {R(2, 3, 7), R(2, 3, 7), R(2, 3, 1), WG_FLOATS(0.5, 1.5, 2, 3, 1)}},
    {"dropout, gain, dsum", &chance, 6,
     {R(2, 3, 7), R(2, 3, 7), R(2, 3, 1), WG_FLOATS(0.5, 1.5, 2, 3, 1), R(1, 7), R(2, 3, 7)}},
};

#define RESIDUAL                                                                                   \
    .family = WG_FAMILY_FUSED, .flags = WG_OP_RANDOM, .flops = flops_residual,                     \
    WG_ATTRS(wg_residual_layernorm_attrs, residual_attrs)

const wg_op wg_op_residual_layernorm = {
    .name = "residual_layernorm", .formula = "sum = x + dropout(branch), y = layernorm(sum)",
    RESIDUAL,
    .operands = "x branch gain? bias?", .results = "y mean rstd sum",
    .infer = infer_residual, .expand = expand_residual,
    WG_SAMPLES(residual_samples),
};
const wg_op wg_op_residual_layernorm_grad = {
    .name = "residual_layernorm_grad",
    .formula = "dx = layernorm_grad(dy) + dsum, dbranch = dropout(dx)", RESIDUAL,
    .operands = "dy sum mean rstd gain? dsum?", .results = "dx dgain dbias dbranch",
    .infer = infer_residual_grad,
    .expand = expand_residual_grad, WG_SAMPLES(residual_grad_samples),
};
/* clang-format on */
