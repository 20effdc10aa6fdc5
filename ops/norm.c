/* layernorm and rmsnorm.  With rows of n numbers and
 *     h = (x - mean) rstd        (rmsnorm: h = x rstd),
 *     y = h gain + bias,   e = dy gain,
 * the gradients are
 *     dx = rstd (e - mean(e) - h mean(e h))       (rmsnorm: without mean(e)),
 *     dgain = sum over rows of dy h,   dbias = sum over rows of dy.
 * They are ops of their own, layernorm_grad and rmsnorm_grad, so that a backend can take them
 * whole. */
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

static const wg_attr norm_attrs[] = {
    WG_ATTR(INT, wg_rownorm_attrs, axes),
    WG_ATTR(REAL, wg_rownorm_attrs, eps),
};

/* ---- rows ------------------------------------------------------------------------------------ */

static int row_rank(const wg_node *n)
{
    const wg_rownorm_attrs *a = n->attrs;
    return a->axes == 0 ? 1 : (int)a->axes;
}

/* The last axes of x: one row. */
static wg_axes row_axes(const wg_node *n, const wg_value *x)
{
    wg_axes axes = {.count = row_rank(n)};
    for (int i = 0; i < axes.count; i++)
        axes.axis[i] = x->shape.rank - axes.count + i;
    return axes;
}

static wg_shape row_shape(const wg_node *n, const wg_value *x)
{
    int rank = row_rank(n);
    return wg_shape_make(rank, x->shape.dim + x->shape.rank - rank);
}

/* The shape of a number for each row, which broadcasts against x. */
static wg_shape statistic_shape(const wg_node *n, const wg_value *x)
{
    wg_axes axes = row_axes(n, x);
    return wg_shape_reduced(&x->shape, &axes, WG_KEEP);
}

/* 1 / n; the mean over no numbers is 0. */
static double one_over(int64_t n)
{
    return 1.0 / (double)(n > 0 ? n : 1);
}

static wg_value *row_mean(const wg_node *n, wg_value *x)
{
    if (!x)
        return NULL;
    wg_shape row = row_shape(n, x);
    return wg_scale(wg_sum(x, row_axes(n, x), WG_KEEP), one_over(wg_shape_count(&row)));
}

/* ---- shape rules ----------------------------------------------------------------------------- */

static bool need_attrs(wg_node *n, int x)
{
    const wg_rownorm_attrs *a = n->attrs;
    int rank = n->in[x]->shape.rank;
    if (!wg_need_float(n, x) || !wg_need_rank(n, x, 1, WG_MAX_RANK))
        return false;
    if (a->axes < 0 || a->axes > rank)
        return wg_fail(n, WG_ESHAPE, "axes is %lld, must be 1 to %d", (long long)a->axes, rank);
    return (a->eps >= 0 && a->eps < 1e30) ||
           wg_fail(n, WG_EINVAL, "eps is %g, must be 0 or more, below 1e30", a->eps);
}

/* Operand i, if there is one, must have that shape and x's dtype. */
static bool need_like(wg_node *n, int i, int x, wg_shape wanted)
{
    char name[64], is[160], must[160];
    if (i >= n->n_in)
        return true;
    return wg_need_same_dtype(n, i, x) && (wg_shape_equal(&n->in[i]->shape, &wanted) ||
                                           wg_fail(n, WG_ESHAPE, "%s is %s, must be %s",
                                                   wg_op_operand_name(n->op, i, name, sizeof name),
                                                   wg_shape_text(&n->in[i]->shape, is, sizeof is),
                                                   wg_shape_text(&wanted, must, sizeof must)));
}

static bool infer_layernorm(wg_node *n)
{
    if (!need_attrs(n, 0))
        return false;
    wg_value *x = n->in[0];
    wg_shape row = row_shape(n, x), statistic = statistic_shape(n, x);
    return need_like(n, 1, 0, row) && need_like(n, 2, 0, row) &&
           wg_set_result(n, 0, x->dtype, x->shape) && wg_set_result(n, 1, x->dtype, statistic) &&
           wg_set_result(n, 2, x->dtype, statistic);
}

static bool infer_layernorm_grad(wg_node *n)
{
    if (!need_attrs(n, 1))
        return false;
    wg_value *x = n->in[1];
    wg_shape row = row_shape(n, x), statistic = statistic_shape(n, x);
    return need_like(n, 0, 1, x->shape) && need_like(n, 2, 1, statistic) &&
           need_like(n, 3, 1, statistic) && need_like(n, 4, 1, row) &&
           wg_set_result(n, 0, x->dtype, x->shape) && wg_set_result(n, 1, x->dtype, row) &&
           wg_set_result(n, 2, x->dtype, row);
}

static bool infer_rmsnorm(wg_node *n)
{
    if (!need_attrs(n, 0))
        return false;
    wg_value *x = n->in[0];
    return need_like(n, 1, 0, row_shape(n, x)) && wg_set_result(n, 0, x->dtype, x->shape) &&
           wg_set_result(n, 1, x->dtype, statistic_shape(n, x));
}

static bool infer_rmsnorm_grad(wg_node *n)
{
    if (!need_attrs(n, 1))
        return false;
    wg_value *x = n->in[1];
    wg_shape row = row_shape(n, x);
    return need_like(n, 0, 1, x->shape) && need_like(n, 2, 1, statistic_shape(n, x)) &&
           need_like(n, 3, 1, row) && wg_set_result(n, 0, x->dtype, x->shape) &&
           wg_set_result(n, 1, x->dtype, row);
}

/* ---- expansions ------------------------------------------------------------------------------ */

static wg_value *operand(const wg_node *n, int i)
{
    return i < n->n_in ? n->in[i] : NULL;
}

static wg_value *times(wg_value *x, wg_value *gain)
{
    return gain ? wg_mul(x, gain) : x;
}

static void expand_layernorm(wg_node *n, wg_value **y)
{
    const wg_rownorm_attrs *a = n->attrs;
    wg_value *x = n->in[0], *gain = operand(n, 1), *bias = operand(n, 2);
    wg_value *mean = row_mean(n, x), *centred = wg_sub(x, mean);
    wg_value *rstd = wg_rsqrt(wg_shift(row_mean(n, wg_mul(centred, centred)), a->eps));
    y[0] = times(wg_mul(centred, rstd), gain);
    if (bias)
        y[0] = wg_add(y[0], bias);
    y[1] = mean;
    y[2] = rstd;
}

static void expand_rmsnorm(wg_node *n, wg_value **y)
{
    const wg_rownorm_attrs *a = n->attrs;
    wg_value *x = n->in[0];
    wg_value *rstd = wg_rsqrt(wg_shift(row_mean(n, wg_mul(x, x)), a->eps));
    y[0] = times(wg_mul(x, rstd), operand(n, 1));
    y[1] = rstd;
}

static void expand_layernorm_grad(wg_node *n, wg_value **y)
{
    wg_value *dy = n->in[0], *x = n->in[1], *mean = n->in[2], *rstd = n->in[3];
    wg_value *h = wg_mul(wg_sub(x, mean), rstd), *e = times(dy, operand(n, 4));
    wg_value *along = wg_mul(h, row_mean(n, wg_mul(e, h)));
    y[0] = wg_mul(rstd, wg_sub(wg_sub(e, row_mean(n, e)), along));
    y[1] = wg_sum_to(wg_mul(dy, h), n->out[1]->shape);
    y[2] = wg_sum_to(dy, n->out[2]->shape);
}

static void expand_rmsnorm_grad(wg_node *n, wg_value **y)
{
    wg_value *dy = n->in[0], *x = n->in[1], *rstd = n->in[2];
    wg_value *h = wg_mul(x, rstd), *e = times(dy, operand(n, 3));
    y[0] = wg_mul(rstd, wg_sub(e, wg_mul(h, row_mean(n, wg_mul(e, h)))));
    y[1] = wg_sum_to(wg_mul(dy, h), n->out[1]->shape);
}

/* ---- gradients ------------------------------------------------------------------------------- */

static wg_value *sum_of(wg_value *a, wg_value *b) /* NULL is zero */
{
    return a && b ? wg_add(a, b) : a ? a : b;
}

/* The part of dx that comes through the statistic rstd:  d rstd / dx = -rstd^2 h / n. */
static wg_value *through_rstd(const wg_node *n, wg_value *drstd, wg_value *centred, wg_value *rstd)
{
    wg_shape row = row_shape(n, n->in[0]);
    wg_value *cube = wg_mul(rstd, wg_mul(rstd, rstd));
    return wg_mul(centred, wg_scale(wg_mul(drstd, cube), -one_over(wg_shape_count(&row))));
}

static void grad_layernorm(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *x = n->in[0], *mean = n->out[1], *rstd = n->out[2];
    if (dy[0]) {
        wg_value *in[] = {dy[0], x, mean, rstd, operand(n, 1)};
        wg_node *d = wg_apply(WG_HERE, NULL, &wg_op_layernorm_grad, n->attrs, in, 5);
        for (int i = 0; d && i < n->n_in; i++)
            dx[i] = d->out[i];
    }
    if (dy[1]) {
        wg_shape row = row_shape(n, x);
        dx[0] = sum_of(dx[0], wg_scale(wg_expand(dy[1], x->shape), one_over(wg_shape_count(&row))));
    }
    if (dy[2])
        dx[0] = sum_of(dx[0], through_rstd(n, dy[2], wg_sub(x, mean), rstd));
}

static void grad_rmsnorm(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *x = n->in[0], *rstd = n->out[1];
    if (dy[0]) {
        wg_value *in[] = {dy[0], x, rstd, operand(n, 1)};
        wg_node *d = wg_apply(WG_HERE, NULL, &wg_op_rmsnorm_grad, n->attrs, in, 4);
        for (int i = 0; d && i < n->n_in; i++)
            dx[i] = d->out[i];
    }
    if (dy[1])
        dx[0] = sum_of(dx[0], through_rstd(n, dy[1], x, rstd));
}

/* ---- the ops --------------------------------------------------------------------------------- */

static double flops(const wg_node *n) /* mean, variance, subtract, scale, gain, bias */
{
    return 8.0 * (double)wg_value_count(n->in[0]);
}

static double flops_grad(const wg_node *n)
{
    return 14.0 * (double)wg_value_count(n->in[0]);
}

static const wg_rownorm_attrs one_axis = {1, 1e-5}, two_axes = {2, 1e-5}, large_eps = {0, 0.5};

static const wg_sample layernorm_samples[] = {
    {"gain and bias",
     &one_axis,
     3,
     {WG_FLOATS(-3, 3, 2, 3, 7), WG_FLOATS(-2, 2, 1, 7), WG_FLOATS(-2, 2, 1, 7)}},
    {"gain", &one_axis, 2, {WG_FLOATS(-3, 3, 2, 3, 7), WG_FLOATS(-2, 2, 1, 7)}},
    {"plain, large eps", &large_eps, 1, {WG_FLOATS(-3, 3, 3, 2, 2, 6)}},
    {"two axes",
     &two_axes,
     3,
     {WG_FLOATS(-3, 3, 3, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 3)}},
    {"one row",
     &one_axis,
     3,
     {WG_FLOATS(-3, 3, 1, 8), WG_FLOATS(-2, 2, 1, 8), WG_FLOATS(-2, 2, 1, 8)}},
    {"no rows",
     &one_axis,
     3,
     {WG_FLOATS(-3, 3, 2, 0, 4), WG_FLOATS(-2, 2, 1, 4), WG_FLOATS(-2, 2, 1, 4)}},
    {"empty rows",
     &one_axis,
     3,
     {WG_FLOATS(-3, 3, 2, 4, 0), WG_FLOATS(-2, 2, 1, 0), WG_FLOATS(-2, 2, 1, 0)}},
    {"rows of one, large eps", &large_eps, 1, {WG_FLOATS(-3, 3, 2, 3, 1)}},
};
static const wg_sample layernorm_grad_samples[] = {
    {"gain",
     &one_axis,
     5,
     {WG_FLOATS(-2, 2, 2, 3, 7), WG_FLOATS(-3, 3, 2, 3, 7), WG_FLOATS(-1, 1, 2, 3, 1),
      WG_FLOATS(0.5, 1.5, 2, 3, 1), WG_FLOATS(-2, 2, 1, 7)}},
    {"plain",
     &large_eps,
     4,
     {WG_FLOATS(-2, 2, 3, 2, 2, 5), WG_FLOATS(-3, 3, 3, 2, 2, 5), WG_FLOATS(-1, 1, 3, 2, 2, 1),
      WG_FLOATS(0.5, 1.5, 3, 2, 2, 1)}},
    {"two axes",
     &two_axes,
     5,
     {WG_FLOATS(-2, 2, 3, 2, 3, 3), WG_FLOATS(-3, 3, 3, 2, 3, 3), WG_FLOATS(-1, 1, 3, 2, 1, 1),
      WG_FLOATS(0.5, 1.5, 3, 2, 1, 1), WG_FLOATS(-2, 2, 2, 3, 3)}},
    {"no rows",
     &one_axis,
     4,
     {WG_FLOATS(-2, 2, 2, 0, 4), WG_FLOATS(-3, 3, 2, 0, 4), WG_FLOATS(-1, 1, 2, 0, 1),
      WG_FLOATS(0.5, 1.5, 2, 0, 1)}},
};
static const wg_sample rmsnorm_samples[] = {
    {"gain", &one_axis, 2, {WG_FLOATS(-3, 3, 2, 3, 7), WG_FLOATS(-2, 2, 1, 7)}},
    {"plain, large eps", &large_eps, 1, {WG_FLOATS(-3, 3, 3, 2, 2, 6)}},
    {"two axes", &two_axes, 2, {WG_FLOATS(-3, 3, 3, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 3)}},
    {"one row", &one_axis, 2, {WG_FLOATS(-3, 3, 1, 8), WG_FLOATS(-2, 2, 1, 8)}},
    {"no rows", &one_axis, 2, {WG_FLOATS(-3, 3, 2, 0, 4), WG_FLOATS(-2, 2, 1, 4)}},
};
static const wg_sample rmsnorm_grad_samples[] = {
    {"gain",
     &one_axis,
     4,
     {WG_FLOATS(-2, 2, 2, 3, 7), WG_FLOATS(-3, 3, 2, 3, 7), WG_FLOATS(0.5, 1.5, 2, 3, 1),
      WG_FLOATS(-2, 2, 1, 7)}},
    {"plain",
     &large_eps,
     3,
     {WG_FLOATS(-2, 2, 2, 3, 5), WG_FLOATS(-3, 3, 2, 3, 5), WG_FLOATS(0.5, 1.5, 2, 3, 1)}},
};

#define NORM .family = WG_FAMILY_NORMALISATION, WG_ATTRS(wg_rownorm_attrs, norm_attrs)

const wg_op wg_op_layernorm = {
    .name = "layernorm",
    .formula = "y = (x - mean x) / sqrt(var x + eps) * gain + bias",
    NORM,
    .operands = "x gain? bias?",
    .results = "y mean rstd",
    .flops = flops,
    .infer = infer_layernorm,
    .expand = expand_layernorm,
    .grad = grad_layernorm,
    .reads = WG_READS_X | WG_READS_Y,
    WG_SAMPLES(layernorm_samples),
};
const wg_op wg_op_layernorm_grad = {
    .name = "layernorm_grad",
    .formula = "dx = rstd (e - mean e - h mean(e h)), h = (x - mean) rstd, e = dy gain",
    NORM,
    .operands = "dy x mean rstd gain?",
    .results = "dx dgain dbias",
    .flops = flops_grad,
    .infer = infer_layernorm_grad,
    .expand = expand_layernorm_grad,
    WG_SAMPLES(layernorm_grad_samples),
};
const wg_op wg_op_rmsnorm = {
    .name = "rmsnorm",
    .formula = "y = x / sqrt(mean x^2 + eps) * gain",
    NORM,
    .operands = "x gain?",
    .results = "y rstd",
    .flops = flops,
    .infer = infer_rmsnorm,
    .expand = expand_rmsnorm,
    .grad = grad_rmsnorm,
    .reads = WG_READS_X | WG_READS_Y,
    WG_SAMPLES(rmsnorm_samples),
};
const wg_op wg_op_rmsnorm_grad = {
    .name = "rmsnorm_grad",
    .formula = "dx = rstd (e - h mean(e h)), h = x rstd, e = dy gain",
    NORM,
    .operands = "dy x rstd gain?",
    .results = "dx dgain",
    .flops = flops_grad,
    .infer = infer_rmsnorm_grad,
    .expand = expand_rmsnorm_grad,
    WG_SAMPLES(rmsnorm_grad_samples),
};

wg_value *(wg_layernorm)(const char *at, wg_value *x, wg_value *gain, wg_value *bias, int last_axes,
                         double eps)
{
    return wg_apply3(at, &wg_op_layernorm, &(wg_rownorm_attrs){last_axes, eps}, x, gain, bias);
}

wg_value *(wg_rmsnorm)(const char *at, wg_value *x, wg_value *gain, int last_axes, double eps)
{
    return wg_apply2(at, &wg_op_rmsnorm, &(wg_rownorm_attrs){last_axes, eps}, x, gain);
}
