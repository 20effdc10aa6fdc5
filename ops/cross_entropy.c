/* Cross entropy with label smoothing.  For a row of V logits x, target t and p = softmax(x),
 *     loss = -on log p_t - off sum over c != t of log p_c,      d loss / dx_c = (sum q) p_c - q_c,
 * where q is `on` at t and `off` elsewhere.  A term of weight 0 is left out: 0 log 0 = 0. */
#include "wengert/ops/cross_entropy.h"
#include "wengert/ops/ops.h"
#include "ops/ops_internal.h"
#include "wengert/ops/table.h"

static const char *const spreads[] = {"uniform", "off_target", NULL};
static const char *const reductions[] = {"mean", "sum", "none", NULL};

const wg_attr wgi_cross_entropy_table[5] = {
    WG_ATTR(REAL, wg_cross_entropy_attrs, smoothing),
    WG_ATTR_NAMED(wg_cross_entropy_attrs, spread, spreads),
    WG_ATTR(BOOL, wg_cross_entropy_attrs, use_ignore),
    WG_ATTR(INT, wg_cross_entropy_attrs, ignore),
    WG_ATTR_NAMED(wg_cross_entropy_attrs, reduction, reductions),
};

/* ---- shape rules: logits at operand i, targets and normaliser after it ----------------------- */

static bool need_rows(wg_node *n, int i)
{
    const wg_cross_entropy_attrs *a = n->attrs;
    char is[160], must[160], logits[160];
    if (!wg_need_float(n, i) || !wg_need_rank(n, i, 1, WG_MAX_RANK) || !wg_need_int(n, i + 1))
        return false;
    wg_shape rows = n->in[i]->shape;
    rows.rank--;
    if (!wg_shape_equal(&n->in[i + 1]->shape, &rows))
        return wg_fail(n, WG_ESHAPE,
                       "targets is %s, must be %s: logits is %s, with the classes along its last "
                       "axis",
                       wg_shape_text(&n->in[i + 1]->shape, is, sizeof is),
                       wg_shape_text(&rows, must, sizeof must),
                       wg_shape_text(&n->in[i]->shape, logits, sizeof logits));
    if (!(a->smoothing >= 0 && a->smoothing <= 1))
        return wg_fail(n, WG_EINVAL, "smoothing is %g, must be in [0, 1]", a->smoothing);
    if (a->ignore < INT32_MIN || a->ignore > INT32_MAX)
        return wg_fail(n, WG_EINVAL, "ignore is %lld, must fit in 32 bits", (long long)a->ignore);
    return true;
}

static bool need_operands(wg_node *n, int i)
{
    const wg_cross_entropy_attrs *a = n->attrs;
    if (!need_rows(n, i))
        return false;
    if (n->n_in < i + 3)
        return true;
    if (a->reduction != WG_LOSS_MEAN)
        return wg_fail(n, WG_EINVAL, "a normaliser needs the reduction mean, not %s",
                       reductions[a->reduction]);
    return wg_need_same_dtype(n, i + 2, i) && wg_need_rank(n, i + 2, 0, 0);
}

static wg_shape loss_shape(const wg_node *n, const wg_value *targets)
{
    const wg_cross_entropy_attrs *a = n->attrs;
    return a->reduction == WG_LOSS_NONE ? targets->shape : WG_SCALAR;
}

static bool infer(wg_node *n)
{
    return need_operands(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, loss_shape(n, n->in[1]));
}

static bool infer_grad(wg_node *n)
{
    char is[160], must[160];
    if (!need_operands(n, 1) || !wg_need_same_dtype(n, 0, 1))
        return false;
    wg_shape dy = loss_shape(n, n->in[2]);
    if (!wg_shape_equal(&n->in[0]->shape, &dy))
        return wg_fail(n, WG_ESHAPE, "dy is %s, must be %s",
                       wg_shape_text(&n->in[0]->shape, is, sizeof is),
                       wg_shape_text(&dy, must, sizeof must));
    return wg_set_result(n, 0, n->in[1]->dtype, n->in[1]->shape);
}

/* ---- expansions ------------------------------------------------------------------------------ */

static int64_t classes_of(const wg_value *logits)
{
    return logits->shape.dim[logits->shape.rank - 1];
}

/* Which targets count; NULL where all do. */
static wg_value *kept(const wg_node *n, wg_value *targets)
{
    const wg_cross_entropy_attrs *a = n->attrs;
    return a->use_ignore ? wg_not_equal(targets, wg_scalar_like(targets, (double)a->ignore)) : NULL;
}

static wg_value *only(wg_value *mask, wg_value *x) /* 0 where masked, whatever x is there */
{
    return mask && x ? wg_where(mask, x, wg_scalar_like(x, 0)) : x;
}

/* What the mean divides by: the normaliser, or how many targets count; 1 for 0. */
static wg_value *divisor(const wg_node *n, int i)
{
    wg_value *logits = n->in[i], *targets = n->in[i + 1], *count;
    if (n->n_in > i + 2) {
        count = n->in[i + 2];
    } else {
        wg_value *mask = kept(n, targets);
        double all = (double)wg_value_count(targets);
        count = mask ? wg_sum(wg_cast(mask, logits->dtype), WG_ALL_AXES, WG_DROP)
                     : wg_scalar_like(logits, all);
    }
    wg_value *zero = wg_equal(count, wg_scalar_like(count, 0));
    return zero ? wg_add(count, wg_cast(zero, count->dtype)) : NULL;
}

static wg_value *last_sum(wg_value *x)
{
    return wg_sum(x, WG_AXES(-1), WG_DROP);
}

static void expand(wg_node *n, wg_value **y)
{
    const wg_cross_entropy_attrs *a = n->attrs;
    wg_value *logits = n->in[0], *targets = n->in[1];
    wg_target_weights q = wg_target_weights_of(a, classes_of(logits));
    wg_value *log_p = wg_log_softmax(logits, -1), *none = wg_scalar_like(logits, 0);
    wg_value *hot = wg_one_hot(targets, classes_of(logits), WG_BOOL);
    wg_value *loss = wg_fill(n->graph, logits->dtype, targets->shape, 0);
    if (q.on != 0)
        loss = wg_sub(loss, wg_scale(last_sum(wg_where(hot, log_p, none)), q.on));
    if (q.off != 0)
        loss = wg_sub(loss, wg_scale(last_sum(wg_where(hot, none, log_p)), q.off));
    loss = only(kept(n, targets), loss);
    if (a->reduction != WG_LOSS_NONE)
        loss = wg_sum(loss, WG_ALL_AXES, WG_DROP);
    y[0] = a->reduction == WG_LOSS_MEAN ? wg_div(loss, divisor(n, 0)) : loss;
}

static wg_value *column(wg_value *v) /* [...] as [..., 1] */
{
    if (!v)
        return NULL;
    wg_shape s = v->shape;
    s.dim[s.rank++] = 1;
    return wg_reshape(v, s);
}

static void expand_grad(wg_node *n, wg_value **y)
{
    const wg_cross_entropy_attrs *a = n->attrs;
    wg_value *dy = n->in[0], *logits = n->in[1], *targets = n->in[2];
    wg_target_weights w = wg_target_weights_of(a, classes_of(logits));
    wg_value *hot = wg_one_hot(targets, classes_of(logits), WG_BOOL);
    wg_value *q = wg_where(hot, wg_scalar_like(logits, w.on), wg_scalar_like(logits, w.off));
    wg_value *d = wg_sub(wg_scale(wg_softmax(logits, -1), w.sum), q);
    wg_value *weight = a->reduction == WG_LOSS_NONE   ? column(dy)
                       : a->reduction == WG_LOSS_MEAN ? wg_div(dy, divisor(n, 1))
                                                      : dy;
    y[0] = only(column(kept(n, targets)), wg_mul(d, weight));
}

/* ---- gradient -------------------------------------------------------------------------------- */

/* loss = sum / normaliser:  d loss / d normaliser = -loss / normaliser */
static void grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *in[] = {dy[0], n->in[0], n->in[1], n->n_in > 2 ? n->in[2] : NULL};
    dx[0] = wgi_apply_list(WG_HERE, &wg_op_cross_entropy_grad, n->attrs, in, 4);
    if (n->n_in > 2)
        dx[2] = wg_neg(wg_div(wg_mul(dy[0], n->out[0]), divisor(n, 0)));
}

/* ---- the ops --------------------------------------------------------------------------------- */

static double flops(const wg_node *n)
{
    return 5.0 * (double)wg_value_count(n->in[0]);
}

static double flops_grad(const wg_node *n)
{
    return 7.0 * (double)wg_value_count(n->in[1]);
}

static const wg_cross_entropy_attrs plain = {0, WG_SMOOTH_UNIFORM, false, 0, WG_LOSS_MEAN},
                                    smooth_ignore = {0.1, WG_SMOOTH_UNIFORM, true, 1, WG_LOSS_MEAN},
                                    off_target_sum = {0.2, WG_SMOOTH_OFF_TARGET, false, 0,
                                                      WG_LOSS_SUM},
                                    each_ignore = {0.1, WG_SMOOTH_OFF_TARGET, true, 0,
                                                   WG_LOSS_NONE};

#define TARGETS(...) WG_INTS(0, 5, __VA_ARGS__)
static const wg_sample samples[] = {
    {"mean", &plain, 2, {WG_FLOATS(-2, 2, 2, 4, 5), TARGETS(1, 4)}},
    {"smoothed, ignoring", &smooth_ignore, 2, {WG_FLOATS(-2, 2, 2, 6, 5), TARGETS(1, 6)}},
    {"off target, sum", &off_target_sum, 2, {WG_FLOATS(-2, 2, 3, 2, 3, 5), TARGETS(2, 2, 3)}},
    {"each, ignoring", &each_ignore, 2, {WG_FLOATS(-2, 2, 3, 2, 3, 5), TARGETS(2, 2, 3)}},
    {"normaliser",
     &smooth_ignore,
     3,
     {WG_FLOATS(-2, 2, 2, 4, 5), TARGETS(1, 4), WG_FLOATS(2, 5, 0, 0)}},
    {"one row", &plain, 2, {WG_FLOATS(-2, 2, 1, 5), TARGETS(0, 0)}},
    {"no rows", &smooth_ignore, 2, {WG_FLOATS(-2, 2, 2, 0, 5), TARGETS(1, 0)}},
    {"one class", &plain, 2, {WG_FLOATS(-2, 2, 2, 3, 1), WG_INTS(0, 1, 1, 3)}},
};
static const wg_sample grad_samples[] = {
    {"mean", &plain, 3, {WG_FLOATS(-2, 2, 0, 0), WG_FLOATS(-2, 2, 2, 4, 5), TARGETS(1, 4)}},
    {"smoothed, ignoring",
     &smooth_ignore,
     3,
     {WG_FLOATS(-2, 2, 0, 0), WG_FLOATS(-2, 2, 2, 6, 5), TARGETS(1, 6)}},
    {"off target, sum",
     &off_target_sum,
     3,
     {WG_FLOATS(-2, 2, 0, 0), WG_FLOATS(-2, 2, 3, 2, 3, 5), TARGETS(2, 2, 3)}},
    {"each, ignoring",
     &each_ignore,
     3,
     {WG_FLOATS(-2, 2, 2, 2, 3), WG_FLOATS(-2, 2, 3, 2, 3, 5), TARGETS(2, 2, 3)}},
    {"normaliser",
     &smooth_ignore,
     4,
     {WG_FLOATS(-2, 2, 0, 0), WG_FLOATS(-2, 2, 2, 4, 5), TARGETS(1, 4), WG_FLOATS(2, 5, 0, 0)}},
    {"normaliser, two axes",
     &plain,
     4,
     {WG_FLOATS(-2, 2, 0, 0), WG_FLOATS(-2, 2, 3, 2, 1, 5), TARGETS(2, 2, 1),
      WG_FLOATS(2, 5, 0, 0)}},
    {"no rows", &plain, 3, {WG_FLOATS(-2, 2, 0, 0), WG_FLOATS(-2, 2, 2, 0, 5), TARGETS(1, 0)}},
};

#define CROSS_ENTROPY                                                                              \
    .family = WG_FAMILY_LOSS, WG_ATTRS(wg_cross_entropy_attrs, wgi_cross_entropy_table)

const wg_op wg_op_cross_entropy = {
    .name = "cross_entropy",
    .formula = "loss = -sum q log softmax(logits), q = smoothed one-hot targets",
    .operands = "logits targets normaliser?",
    .results = "loss",
    CROSS_ENTROPY,
    .flops = flops,
    .infer = infer,
    .expand = expand,
    .grad = grad,
    .reads = WG_READS_X | WG_READS_Y,
    WG_SAMPLES(samples),
};
const wg_op wg_op_cross_entropy_grad = {
    .name = "cross_entropy_grad",
    .formula = "dlogits = dy (softmax(logits) - q) / normaliser",
    .operands = "dy logits targets normaliser?",
    .results = "dlogits",
    CROSS_ENTROPY,
    .flops = flops_grad,
    .inplace = 1 << 1,
    .infer = infer_grad,
    .expand = expand_grad,
    WG_SAMPLES(grad_samples),
};

/* ---- weighted_cross_entropy ------------------------------------------------------------------ */

static bool infer_weighted(wg_node *n)
{
    char is[160], must[160];
    if (!need_rows(n, 0) || !wg_need_same_dtype(n, 2, 0))
        return false;
    wg_shape classes = WG_SHAPE(classes_of(n->in[0]));
    if (!wg_shape_equal(&n->in[2]->shape, &classes))
        return wg_fail(n, WG_ESHAPE, "weight is %s, must be %s: one number for each class",
                       wg_shape_text(&n->in[2]->shape, is, sizeof is),
                       wg_shape_text(&classes, must, sizeof must));
    return wg_set_result(n, 0, n->in[0]->dtype, loss_shape(n, n->in[1]));
}

/* off sum over c of -w_c log p_c.  An ignored row becomes one of zeros first: what is in it must
 * reach neither the loss nor, as 0 times NaN, a gradient. */
static wg_value *spread_loss(wg_value *logits, wg_value *weight, wg_value *mask, double off)
{
    wg_value *log_p = wg_log_softmax(only(column(mask), logits), -1);
    return wg_scale(last_sum(wg_mul(log_p, weight)), -off);
}

/* loss = -(on - off) w_t log p_t - off sum over all c of w_c log p_c; the mean divides by the sum
 * of w_t, 1 for 0. */
static void expand_weighted(wg_node *n, wg_value **y)
{
    wg_cross_entropy_attrs each = *(const wg_cross_entropy_attrs *)n->attrs;
    wg_value *logits = n->in[0], *targets = n->in[1], *weight = n->in[2];
    wg_target_weights q = wg_target_weights_of(&each, classes_of(logits));
    int reduction = each.reduction;
    each.smoothing = 0;
    each.reduction = WG_LOSS_NONE;
    wg_value *mask = kept(n, targets);
    wg_value *w = only(mask, wg_take(weight, only(mask, targets), 0));
    wg_value *loss = wg_mul(w, wg_cross_entropy(logits, targets, NULL, &each));
    if (q.off != 0)
        loss = wg_add(wg_scale(loss, q.on - q.off),
                      only(mask, spread_loss(logits, weight, mask, q.off)));
    if (reduction != WG_LOSS_NONE)
        loss = wg_sum(loss, WG_ALL_AXES, WG_DROP);
    if (reduction == WG_LOSS_MEAN) {
        wg_value *all = wg_sum(w, WG_ALL_AXES, WG_DROP), *one = wg_scalar_like(w, 1);
        wg_value *zero = wg_equal(all, wg_scalar_like(w, 0));
        loss = wg_div(loss, wg_where(zero, one, all));
    }
    y[0] = loss;
}

#define WEIGHTS(n) WG_FLOATS(0.5, 2, 1, n)
static const wg_sample weighted_samples[] = {
    {"mean", &plain, 3, {WG_FLOATS(-2, 2, 2, 4, 5), TARGETS(1, 4), WEIGHTS(5)}},
    {"smoothed, ignoring",
     &smooth_ignore,
     3,
     {WG_FLOATS(-2, 2, 2, 6, 5), TARGETS(1, 6), WEIGHTS(5)}},
    {"off target, sum",
     &off_target_sum,
     3,
     {WG_FLOATS(-2, 2, 3, 2, 3, 5), TARGETS(2, 2, 3), WEIGHTS(5)}},
    {"each, ignoring",
     &each_ignore,
     3,
     {WG_FLOATS(-2, 2, 3, 2, 3, 5), TARGETS(2, 2, 3), WEIGHTS(5)}},
    {"one row", &plain, 3, {WG_FLOATS(-2, 2, 1, 5), TARGETS(0, 0), WEIGHTS(5)}},
    {"no rows", &smooth_ignore, 3, {WG_FLOATS(-2, 2, 2, 0, 5), TARGETS(1, 0), WEIGHTS(5)}},
};

const wg_op wg_op_weighted_cross_entropy = {
    .name = "weighted_cross_entropy",
    .formula = "loss = -sum w q log softmax(logits), q = smoothed one-hot targets",
    .operands = "logits targets weight",
    .results = "loss",
    CROSS_ENTROPY,
    .flops = flops,
    .infer = infer_weighted,
    .expand = expand_weighted,
    WG_SAMPLES(weighted_samples),
};

/* ---- builders -------------------------------------------------------------------------------- */

wg_value *(wg_cross_entropy)(const char *at, wg_value *logits, wg_value *targets,
                             wg_value *normaliser, const wg_cross_entropy_attrs *options)
{
    return wg_apply3(at, &wg_op_cross_entropy, options, logits, targets, normaliser);
}

wg_value *(wg_weighted_cross_entropy)(const char *at, wg_value *logits, wg_value *targets,
                                      wg_value *weight, const wg_cross_entropy_attrs *options)
{
    return wg_apply3(at, &wg_op_weighted_cross_entropy, options, logits, targets, weight);
}
