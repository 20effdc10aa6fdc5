/* Losses of two equal shapes, element by element.  cross_entropy has a file of its own. */
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

static const char *const reductions[] = {"mean", "sum", "none", "batch_mean", NULL};

static bool infer_loss(wg_node *n, int reduction)
{
    if (!wg_need_float(n, 0) || !wg_need_same_dtype(n, 0, 1) || !wg_need_same_shape(n, 0, 1))
        return false;
    if (reduction == WG_LOSS_BATCH_MEAN && !wg_need_rank(n, 0, 1, WG_MAX_RANK))
        return false;
    return wg_set_result(n, 0, n->in[0]->dtype,
                         reduction == WG_LOSS_NONE ? n->in[0]->shape : WG_SCALAR);
}

/* What the sum is multiplied by; the mean of nothing is 0. */
static double factor_of(const wg_value *x, int reduction)
{
    int64_t count = reduction == WG_LOSS_MEAN         ? wg_value_count(x)
                    : reduction == WG_LOSS_BATCH_MEAN ? x->shape.dim[0]
                                                      : 1;
    return 1.0 / (double)(count > 0 ? count : 1);
}

static wg_value *reduced(wg_value *x, int reduction)
{
    if (!x || reduction == WG_LOSS_NONE)
        return x;
    wg_value *sum = wg_sum(x, WG_ALL_AXES, WG_DROP);
    return reduction == WG_LOSS_SUM ? sum : wg_scale(sum, factor_of(x, reduction));
}

/* The cotangent of each term of the loss of x. */
static wg_value *scaled(wg_value *dy, const wg_value *x, int reduction)
{
    bool is_mean = reduction == WG_LOSS_MEAN || reduction == WG_LOSS_BATCH_MEAN;
    return is_mean ? wg_scale(dy, factor_of(x, reduction)) : dy;
}

static double flops(const wg_node *n)
{
    return 4.0 * (double)wg_value_count(n->in[0]);
}

/* ---- mse ------------------------------------------------------------------------------------- */

static const wg_attr loss_attrs[] = {WG_ATTR_NAMED(wg_loss_attrs, reduction, reductions)};

static bool infer_plain(wg_node *n)
{
    const wg_loss_attrs *a = n->attrs;
    return infer_loss(n, a->reduction);
}

static void expand_mse(wg_node *n, wg_value **y)
{
    const wg_loss_attrs *a = n->attrs;
    wg_value *d = wg_sub(n->in[0], n->in[1]);
    y[0] = reduced(wg_mul(d, d), a->reduction);
}

/* ---- huber ----------------------------------------------------------------------------------- */

static const wg_attr huber_attrs[] = {
    WG_ATTR(REAL, wg_huber_attrs, delta),
    WG_ATTR_NAMED(wg_huber_attrs, reduction, reductions),
};

static bool infer_huber(wg_node *n)
{
    const wg_huber_attrs *a = n->attrs;
    if (!(a->delta > 0 && a->delta < 1e30))
        return wg_fail(n, WG_EINVAL, "delta is %g, must be positive, below 1e30", a->delta);
    return infer_loss(n, a->reduction);
}

/* With c = d clamped to [-delta, delta], both branches are c (d - c / 2). */
static void expand_huber(wg_node *n, wg_value **y)
{
    const wg_huber_attrs *a = n->attrs;
    wg_value *d = wg_sub(n->in[0], n->in[1]), *c = wg_clamp(d, -a->delta, a->delta);
    y[0] = reduced(wg_mul(c, wg_sub(d, wg_scale(c, 0.5))), a->reduction);
}

/* da = dy c, db = -dy c: the derivative of both branches, a product instead of eight steps. */
static void grad_huber(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_huber_attrs *a = n->attrs;
    wg_value *c = wg_clamp(wg_sub(n->in[0], n->in[1]), -a->delta, a->delta);
    dx[0] = wg_mul(scaled(dy[0], n->in[0], a->reduction), c);
    dx[1] = wg_neg(dx[0]);
}

/* ---- bce_with_logits ------------------------------------------------------------------------- */

static void expand_bce(wg_node *n, wg_value **y)
{
    const wg_loss_attrs *a = n->attrs;
    wg_value *x = n->in[0], *t = n->in[1];
    wg_value *linear = wg_sub(wg_relu(x), wg_mul(x, t));
    y[0] = reduced(wg_add(linear, wg_softplus(wg_neg(wg_abs(x)))), a->reduction);
}

/* dx = dy (sigmoid(x) - t), dt = -dy x: unlike the expansion's, right at x = 0 too. */
static void grad_bce(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_loss_attrs *a = n->attrs;
    wg_value *x = n->in[0], *t = n->in[1], *d = scaled(dy[0], x, a->reduction);
    dx[0] = wg_mul(d, wg_sub(wg_sigmoid(x), t));
    dx[1] = wg_neg(wg_mul(d, x));
}

/* ---- weighted_bce_with_logits ---------------------------------------------------------------- */

static bool infer_weighted_bce(wg_node *n)
{
    char is[160], must[160];
    wg_shape s;
    if (!infer_plain(n) || !wg_need_same_dtype(n, 2, 0) ||
        !wg_need_broadcast(n, &n->in[2]->shape, &n->in[0]->shape, &s))
        return false;
    return wg_shape_equal(&s, &n->in[0]->shape) ||
           wg_fail(n, WG_ESHAPE, "pos_weight is %s, must broadcast to %s",
                   wg_shape_text(&n->in[2]->shape, is, sizeof is),
                   wg_shape_text(&n->in[0]->shape, must, sizeof must));
}

/* With -ln p = softplus(-x) and -ln(1 - p) = x + softplus(-x):
 *     loss = (1 - t) x + (1 - t + w t) softplus(-x) */
static void expand_weighted_bce(wg_node *n, wg_value **y)
{
    const wg_loss_attrs *a = n->attrs;
    wg_value *x = n->in[0], *t = n->in[1], *w = n->in[2];
    wg_value *rest = wg_sub(wg_scalar_like(t, 1), t);
    wg_value *soft = wg_mul(wg_add(rest, wg_mul(w, t)), wg_softplus(wg_neg(x)));
    y[0] = reduced(wg_add(wg_mul(rest, x), soft), a->reduction);
}

/* ---- kl -------------------------------------------------------------------------------------- */

static const wg_attr kl_attrs[] = {
    WG_ATTR(BOOL, wg_kl_attrs, log_target),
    WG_ATTR_NAMED(wg_kl_attrs, reduction, reductions),
};

static bool infer_kl(wg_node *n)
{
    const wg_kl_attrs *a = n->attrs;
    return infer_loss(n, a->reduction);
}

/* Where p is 0, its place is taken by harmless numbers before any formula sees it: neither 0
 * (-inf) nor its derivative may come up. */
static void expand_kl(wg_node *n, wg_value **y)
{
    const wg_kl_attrs *a = n->attrs;
    wg_value *log_q = n->in[0], *p = n->in[1];
    wg_value *zero = wg_scalar_like(p, 0), *one = wg_scalar_like(p, 1);
    wg_value *is_zero = wg_equal(p, a->log_target ? wg_scalar_like(p, -HUGE_VAL) : zero);
    log_q = wg_where(is_zero, zero, log_q);
    p = wg_where(is_zero, a->log_target ? zero : one, p);
    wg_value *log_p = a->log_target ? p : wg_log(p);
    wg_value *each = wg_mul(a->log_target ? wg_exp(p) : p, wg_sub(log_p, log_q));
    y[0] = reduced(wg_where(is_zero, zero, each), a->reduction);
}

/* ---- the ops --------------------------------------------------------------------------------- */

#define PAIR(lo, hi, ...)                                                                          \
    {                                                                                              \
        WG_FLOATS(lo, hi, __VA_ARGS__), WG_FLOATS(lo, hi, __VA_ARGS__)                             \
    }

static const wg_sample mse_samples[] = {
    {"mean", &(const wg_loss_attrs){WG_LOSS_MEAN}, 2, PAIR(-2, 2, 2, 3, 4)},
    {"sum", &(const wg_loss_attrs){WG_LOSS_SUM}, 2, PAIR(-2, 2, 1, 5)},
    {"none", &(const wg_loss_attrs){WG_LOSS_NONE}, 2, PAIR(-2, 2, 2, 2, 3)},
    {"batch mean", &(const wg_loss_attrs){WG_LOSS_BATCH_MEAN}, 2, PAIR(-2, 2, 2, 2, 3)},
    {"empty", &(const wg_loss_attrs){WG_LOSS_MEAN}, 2, PAIR(-2, 2, 2, 0, 3)},
};
static const wg_sample huber_samples[] = {
    /* differences all inside, and all outside, of delta */
    {"inside", &(const wg_huber_attrs){5, WG_LOSS_MEAN}, 2, PAIR(-2, 2, 2, 3, 4)},
    {"outside",
     &(const wg_huber_attrs){0.5, WG_LOSS_SUM},
     2,
     {WG_FLOATS(1, 2, 1, 5), WG_FLOATS(-2, 0, 1, 5)}},
    {"none",
     &(const wg_huber_attrs){0.5, WG_LOSS_NONE},
     2,
     {WG_FLOATS(-2, 0, 2, 2, 3), WG_FLOATS(1, 2, 2, 2, 3)}},
};
static const wg_sample bce_samples[] = {
    {"mean",
     &(const wg_loss_attrs){WG_LOSS_MEAN},
     2,
     {WG_FLOATS(-3, 3, 2, 3, 4), WG_FLOATS(0.1, 0.9, 2, 3, 4)}},
    {"none",
     &(const wg_loss_attrs){WG_LOSS_NONE},
     2,
     {WG_FLOATS(-3, 3, 1, 5), WG_FLOATS(0.1, 0.9, 1, 5)}},
    {"batch mean",
     &(const wg_loss_attrs){WG_LOSS_BATCH_MEAN},
     2,
     {WG_FLOATS(-3, 3, 2, 2, 3), WG_FLOATS(0.1, 0.9, 2, 2, 3)}},
};
static const wg_sample weighted_bce_samples[] = {
    {"mean",
     &(const wg_loss_attrs){WG_LOSS_MEAN},
     3,
     {WG_FLOATS(-3, 3, 2, 3, 4), WG_FLOATS(0.1, 0.9, 2, 3, 4), WG_FLOATS(0.5, 3, 1, 4)}},
    {"none",
     &(const wg_loss_attrs){WG_LOSS_NONE},
     3,
     {WG_FLOATS(-3, 3, 1, 5), WG_FLOATS(0.1, 0.9, 1, 5), WG_FLOATS(0.5, 3, 0, 0)}},
    {"batch mean",
     &(const wg_loss_attrs){WG_LOSS_BATCH_MEAN},
     3,
     {WG_FLOATS(-3, 3, 2, 2, 3), WG_FLOATS(0.1, 0.9, 2, 2, 3), WG_FLOATS(0.5, 3, 2, 2, 1)}},
};
static const wg_sample kl_samples[] = {
    {"mean",
     &(const wg_kl_attrs){false, WG_LOSS_MEAN},
     2,
     {WG_FLOATS(-3, -0.1, 2, 3, 4), WG_FLOATS(0.2, 2, 2, 3, 4)}},
    {"log target", &(const wg_kl_attrs){true, WG_LOSS_BATCH_MEAN}, 2, PAIR(-3, -0.1, 2, 3, 4)},
    {"none",
     &(const wg_kl_attrs){false, WG_LOSS_NONE},
     2,
     {WG_FLOATS(-3, -0.1, 1, 5), WG_FLOATS(0.2, 2, 1, 5)}},
    {"log target, sum", &(const wg_kl_attrs){true, WG_LOSS_SUM}, 2, PAIR(-3, -0.1, 1, 5)},
};

#define LOSS(type, fields)                                                                         \
    .family = WG_FAMILY_LOSS, .results = "loss", .flops = flops, WG_ATTRS(type, fields)

const wg_op wg_op_mse = {
    .name = "mse",
    .formula = "loss = (a - b)^2",
    .operands = "a b",
    LOSS(wg_loss_attrs, loss_attrs),
    .infer = infer_plain,
    .expand = expand_mse,
    WG_SAMPLES(mse_samples),
};
const wg_op wg_op_huber = {
    .name = "huber",
    .formula = "loss = c (d - c / 2), d = a - b, c = d clamped to [-delta, delta]",
    .operands = "a b",
    LOSS(wg_huber_attrs, huber_attrs),
    .smoothness = WG_KINKED,
    .infer = infer_huber,
    .grad = grad_huber,
    .reads = WG_READS_X,
    .expand = expand_huber,
    WG_SAMPLES(huber_samples),
};
const wg_op wg_op_bce_with_logits = {
    .name = "bce_with_logits",
    .formula = "loss = max(x, 0) - x t + ln(1 + exp(-|x|))",
    .operands = "x t",
    LOSS(wg_loss_attrs, loss_attrs),
    .infer = infer_plain,
    .expand = expand_bce,
    .grad = grad_bce,
    .reads = WG_READS_X,
    WG_SAMPLES(bce_samples),
};
const wg_op wg_op_weighted_bce_with_logits = {
    .name = "weighted_bce_with_logits",
    .formula = "loss = (1 - t) x + (1 - t + w t) ln(1 + exp(-x)), w = pos_weight",
    .operands = "x t pos_weight",
    LOSS(wg_loss_attrs, loss_attrs),
    .infer = infer_weighted_bce,
    .expand = expand_weighted_bce,
    WG_SAMPLES(weighted_bce_samples),
};
const wg_op wg_op_kl = {
    .name = "kl",
    .formula = "loss = p (ln p - ln q)",
    .operands = "log_q p",
    LOSS(wg_kl_attrs, kl_attrs),
    .infer = infer_kl,
    .expand = expand_kl,
    WG_SAMPLES(kl_samples),
};

/* ---- builders -------------------------------------------------------------------------------- */

wg_value *(wg_mse)(const char *at, wg_value *a, wg_value *b, wg_reduction reduction)
{
    return wg_apply2(at, &wg_op_mse, &(wg_loss_attrs){reduction}, a, b);
}

wg_value *(wg_huber)(const char *at, wg_value *a, wg_value *b, double delta, wg_reduction reduction)
{
    return wg_apply2(at, &wg_op_huber, &(wg_huber_attrs){delta, reduction}, a, b);
}

wg_value *(wg_bce_with_logits)(const char *at, wg_value *x, wg_value *t, wg_reduction reduction)
{
    return wg_apply2(at, &wg_op_bce_with_logits, &(wg_loss_attrs){reduction}, x, t);
}

wg_value *(wg_weighted_bce_with_logits)(const char *at, wg_value *x, wg_value *t,
                                        wg_value *pos_weight, wg_reduction reduction)
{
    const wg_loss_attrs a = {reduction};
    return wg_apply3(at, &wg_op_weighted_bce_with_logits, &a, x, t, pos_weight);
}

wg_value *(wg_kl)(const char *at, wg_value *log_q, wg_value *p, wg_kl_target given,
                  wg_reduction reduction)
{
    return wg_apply2(at, &wg_op_kl, &(wg_kl_attrs){given == WG_KL_LOG_P, reduction}, log_q, p);
}
