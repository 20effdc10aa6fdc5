/* Optimizer updates.  Training does not differentiate them, but all have a gradient (for learned
 * learning rates, say). */
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

static wg_value *operand(const wg_node *n, int i)
{
    return i < n->n_in ? n->in[i] : NULL;
}

/* 0 <= x < limit */
static bool need_range(wg_node *n, const char *name, double x, double limit)
{
    return (x >= 0 && x < limit) ||
           wg_fail(n, WG_EINVAL, "%s is %g, must be in [0, %g)", name, x, limit);
}

static bool need_like_first(wg_node *n, int i)
{
    return wg_need_same_dtype(n, i, 0) && wg_need_same_shape(n, i, 0);
}

/* y = a x + b z, for numbers a and b */
static wg_value *combine(double a, wg_value *x, double b, wg_value *z)
{
    return wg_add(wg_scale(x, a), wg_scale(z, b));
}

/* ---- sgd ------------------------------------------------------------------------------------- */

static const wg_attr sgd_attrs[] = {
    WG_ATTR(REAL, wg_sgd_attrs, momentum),
    WG_ATTR(REAL, wg_sgd_attrs, weight_decay),
    WG_ATTR(BOOL, wg_sgd_attrs, nesterov),
};

static bool infer_sgd(wg_node *n)
{
    const wg_sgd_attrs *a = n->attrs;
    const wg_value *p = n->in[0];
    if (!wg_need_float(n, 0) || !need_like_first(n, 1) || !wg_need_same_dtype(n, 2, 0) ||
        !wg_need_rank(n, 2, 0, 0) || (n->n_in > 3 && !need_like_first(n, 3)) ||
        !need_range(n, "momentum", a->momentum, 1) ||
        !need_range(n, "weight_decay", a->weight_decay, 1e30))
        return false;
    if (a->momentum > 0 && n->n_in < 4)
        return wg_fail(n, WG_EINVAL, "momentum is %g, but there is no velocity", a->momentum);
    if (!wg_set_result_count(n, n->n_in > 3 ? 2 : 1) || !wg_set_result(n, 0, p->dtype, p->shape))
        return false;
    return n->n_in < 4 || wg_set_result(n, 1, p->dtype, p->shape);
}

static void expand_sgd(wg_node *n, wg_value **y)
{
    const wg_sgd_attrs *a = n->attrs;
    wg_value *p = n->in[0], *g = n->in[1], *lr = n->in[2], *velocity = operand(n, 3);
    wg_value *d = wg_add(g, wg_scale(p, a->weight_decay)), *move = d;
    if (velocity) {
        y[1] = wg_add(wg_scale(velocity, a->momentum), d);
        move = a->nesterov ? wg_add(d, wg_scale(y[1], a->momentum)) : y[1];
    }
    y[0] = wg_sub(p, wg_mul(lr, move));
}

static double flops_sgd(const wg_node *n)
{
    return 6.0 * (double)wg_value_count(n->in[0]);
}

/* ---- adam, adamw ----------------------------------------------------------------------------- */

static const wg_attr adam_attrs[] = {
    WG_ATTR(REAL, wg_adam_attrs, beta1),
    WG_ATTR(REAL, wg_adam_attrs, beta2),
    WG_ATTR(REAL, wg_adam_attrs, eps),
    WG_ATTR(REAL, wg_adam_attrs, weight_decay),
};

bool wgi_need_adam_attrs(wg_node *n)
{
    const wg_adam_attrs *a = n->attrs;
    return need_range(n, "beta1", a->beta1, 1) && need_range(n, "beta2", a->beta2, 1) &&
           need_range(n, "eps", a->eps, 1e30) &&
           need_range(n, "weight_decay", a->weight_decay, 1e30);
}

static bool infer_adam(wg_node *n)
{
    const wg_value *p = n->in[0];
    if (!wg_need_float(n, 0) || !need_like_first(n, 1) || !need_like_first(n, 2) ||
        !need_like_first(n, 3) || !wg_need_same_dtype(n, 4, 0) || !wg_need_rank(n, 4, 0, 0) ||
        !wg_need_number(n, 5) || !wg_need_rank(n, 5, 0, 0) || !wgi_need_adam_attrs(n))
        return false;
    for (int i = 0; i < 3; i++)
        if (!wg_set_result(n, i, p->dtype, p->shape))
            return false;
    return true;
}

/* 1 - beta^t */
static wg_value *bias_correction(wg_value *t, double beta)
{
    if (beta == 0)
        return t ? wg_scalar_like(t, 1) : NULL;
    return wg_shift(wg_neg(wg_exp(wg_scale(t, log(beta)))), 1);
}

/* sqrt(x), with derivative 0 rather than infinite at 0 */
static wg_value *root(wg_value *x)
{
    if (!x)
        return NULL;
    wg_value *zero = wg_scalar_like(x, 0), *is_zero = wg_equal(x, zero);
    return wg_where(is_zero, zero, wg_sqrt(wg_where(is_zero, wg_scalar_like(x, 1), x)));
}

static void expand_adam(wg_node *n, wg_value **y)
{
    const wg_adam_attrs *a = n->attrs;
    bool decoupled = n->op == &wg_op_adamw;
    wg_value *p = n->in[0], *g = n->in[1], *lr = n->in[4], *t = wg_cast(n->in[5], p->dtype);
    if (!decoupled && a->weight_decay > 0)
        g = wg_add(g, wg_scale(p, a->weight_decay));
    wg_value *m = combine(a->beta1, n->in[2], 1 - a->beta1, g);
    wg_value *v = combine(a->beta2, n->in[3], 1 - a->beta2, wg_mul(g, g));
    wg_value *v_root = wg_div(root(v), wg_sqrt(bias_correction(t, a->beta2)));
    wg_value *move = wg_div(wg_div(m, bias_correction(t, a->beta1)), wg_shift(v_root, a->eps));
    if (decoupled && a->weight_decay > 0)
        p = wg_sub(p, wg_mul(wg_scale(lr, a->weight_decay), p));
    y[0] = wg_sub(p, wg_mul(lr, move));
    y[1] = m;
    y[2] = v;
}

static double flops_adam(const wg_node *n)
{
    return 14.0 * (double)wg_value_count(n->in[0]);
}

/* ---- moving_average -------------------------------------------------------------------------- */

static const wg_attr moving_average_attrs[] = {WG_ATTR(REAL, wg_moving_average_attrs, decay)};

static bool infer_moving_average(wg_node *n)
{
    const wg_moving_average_attrs *a = n->attrs;
    if (!(a->decay >= 0 && a->decay <= 1))
        return wg_fail(n, WG_EINVAL, "decay is %g, must be in [0, 1]", a->decay);
    return wg_need_float(n, 0) && need_like_first(n, 1) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static void grad_moving_average(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_moving_average_attrs *a = n->attrs;
    dx[0] = wg_scale(dy[0], a->decay);
    dx[1] = wg_scale(dy[0], 1 - a->decay);
}

static double flops_moving_average(const wg_node *n)
{
    return 3.0 * (double)wg_value_count(n->in[0]);
}

/* ---- global_norm ----------------------------------------------------------------------------- */

static bool infer_global_norm(wg_node *n)
{
    if (n->n_in == 0)
        return wg_fail(n, WG_EINVAL, "no operands");
    for (int i = 0; i < n->n_in; i++)
        if (!wg_need_float(n, i) || !wg_need_same_dtype(n, i, 0))
            return false;
    return wg_set_result(n, 0, n->in[0]->dtype, WG_SCALAR);
}

/* dg = dy (g / norm), and where all are 0 the constant 0; dy / norm could overflow */
static void grad_global_norm(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *norm = n->out[0], *is_zero = wg_equal(norm, wg_scalar_like(norm, 0));
    wg_value *divisor = wg_add(norm, wg_cast(is_zero, norm->dtype));
    wg_value *d = wg_where(is_zero, wg_scalar_like(norm, 0), dy[0]);
    for (int i = 0; i < n->n_in; i++)
        dx[i] = wg_mul(wg_div(n->in[i], divisor), d);
}

static void expand_global_norm(wg_node *n, wg_value **y)
{
    wg_value *sum = NULL;
    for (int i = 0; i < n->n_in; i++) {
        wg_value *square = wg_sum(wg_mul(n->in[i], n->in[i]), WG_ALL_AXES, WG_DROP);
        sum = sum ? wg_add(sum, square) : square;
    }
    y[0] = wg_sqrt(sum);
}

static double flops_global_norm(const wg_node *n)
{
    double flops = 0;
    for (int i = 0; i < n->n_in; i++)
        flops += 2.0 * (double)wg_value_count(n->in[i]);
    return flops;
}

/* ---- the ops --------------------------------------------------------------------------------- */

#define V(lo, hi) WG_FLOATS(lo, hi, 2, 2, 3)
#define SCALAR(lo, hi) WG_FLOATS(lo, hi, 0, 0)
static const wg_sgd_attrs sgd_plain = {0, 0.25, false}, sgd_momentum = {0.5, 0, false},
                          sgd_nesterov = {0.5, 0.25, true};
static const wg_sample sgd_samples[] = {
    {"plain, weight decay", &sgd_plain, 3, {V(-2, 2), V(-2, 2), SCALAR(0.1, 1)}},
    {"momentum", &sgd_momentum, 4, {V(-2, 2), V(-2, 2), SCALAR(0.1, 1), V(-2, 2)}},
    {"nesterov", &sgd_nesterov, 4, {V(-2, 2), V(-2, 2), SCALAR(0.1, 1), V(-2, 2)}},
};

static const wg_adam_attrs adam_plain = {0.9, 0.98, 1e-9, 0}, adam_decay = {0.8, 0.9, 1e-3, 0.1};
#define STEP WG_INTS(1, 6, 0, 0)
static const wg_sample adam_samples[] = {
    {"plain", &adam_plain, 6, {V(-2, 2), V(-2, 2), V(-2, 2), V(0.5, 2), SCALAR(0.01, 0.1), STEP}},
    {"weight decay",
     &adam_decay,
     6,
     {V(-2, 2), V(-2, 2), V(-2, 2), V(0.5, 2), SCALAR(0.01, 0.1), STEP}},
    {"float step",
     &adam_decay,
     6,
     {V(-2, 2), V(-2, 2), V(-2, 2), V(0.5, 2), SCALAR(0.01, 0.1), SCALAR(3, 6)}},
    {"g and m below 0",
     &adam_plain,
     6,
     {V(-2, 2), V(-2, -1), V(-2, -1), V(0.5, 2), SCALAR(0.01, 0.1), SCALAR(2, 4)}},
    {"g and m above 0",
     &adam_plain,
     6,
     {V(-2, 2), V(1, 2), V(1, 2), V(0.5, 2), SCALAR(0.01, 0.1), SCALAR(2, 4)}},
};

static const wg_moving_average_attrs three_quarters = {0.75};
static const wg_sample moving_average_samples[] = {
    {"matrix", &three_quarters, 2, {V(-2, 2), V(-2, 2)}},
    {"scalar", &three_quarters, 2, {SCALAR(-2, 2), SCALAR(-2, 2)}},
};

static const wg_sample global_norm_samples[] = {
    {"three", NULL, 3, {V(-2, 2), WG_FLOATS(-2, 2, 1, 5), WG_FLOATS(-2, 2, 1, 3)}},
    {"one", NULL, 1, {V(-2, 2)}},
    {"one empty", NULL, 2, {WG_FLOATS(-2, 2, 1, 0), V(-2, 2)}},
};

#define ADAM                                                                                       \
    .family = WG_FAMILY_OPTIMIZER, .operands = "p g m v lr step", .results = "p m v",              \
    .inplace = 15, .flags = WG_OP_UPDATE, WG_ATTRS(wg_adam_attrs, adam_attrs),                     \
    .infer = infer_adam, .expand = expand_adam, .flops = flops_adam, WG_SAMPLES(adam_samples)

const wg_op wg_op_sgd = {
    .name = "sgd",
    .formula = "velocity = momentum velocity + g + weight_decay p, p = p - lr velocity",
    .family = WG_FAMILY_OPTIMIZER,
    .operands = "p g lr velocity?",
    .results = "p*",
    .flags = WG_OP_UPDATE,
    .inplace = 11,
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_sgd_attrs, sgd_attrs),
    .infer = infer_sgd,
    .expand = expand_sgd,
    .flops = flops_sgd,
    WG_SAMPLES(sgd_samples),
};
const wg_op wg_op_adam = {
    .name = "adam",
    .formula = "p = p - lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)",
    ADAM,
};
const wg_op wg_op_adamw = {
    .name = "adamw",
    .formula = "p = p - lr (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay p)",
    ADAM,
};
const wg_op wg_op_moving_average = {
    .name = "moving_average",
    .formula = "y = decay avg + (1 - decay) x",
    .family = WG_FAMILY_OPTIMIZER,
    .operands = "avg x",
    .results = "y",
    .inplace = 3,
    .flags = WG_OP_ELEMENTWISE,
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_moving_average_attrs, moving_average_attrs),
    .infer = infer_moving_average,
    .grad = grad_moving_average,
    .reads = WG_READS_NOTHING,
    .flops = flops_moving_average,
    WG_SAMPLES(moving_average_samples),
};
const wg_op wg_op_global_norm = {
    .name = "global_norm",
    .formula = "y = sqrt(sum of all squares)",
    .family = WG_FAMILY_OPTIMIZER,
    .operands = "g*",
    .results = "norm",
    .infer = infer_global_norm,
    .expand = expand_global_norm,
    .grad = grad_global_norm,
    .reads = WG_READS_X | WG_READS_Y,
    .flops = flops_global_norm,
    WG_SAMPLES(global_norm_samples),
};

wg_value *(wg_sgd)(const char *at, wg_value *p, wg_value *g, wg_value *lr, wg_value *velocity,
                   const wg_sgd_attrs *a)
{
    wg_value *in[] = {p, g, lr, velocity};
    return wgi_apply_list(at, &wg_op_sgd, a, in, 4);
}

wg_value *(wg_adam)(const char *at, wg_value *p, wg_value *g, wg_value *m, wg_value *v,
                    wg_value *lr, wg_value *step, const wg_adam_attrs *a)
{
    wg_value *in[] = {p, g, m, v, lr, step};
    return wgi_apply_list(at, &wg_op_adam, a, in, 6);
}

wg_value *(wg_adamw)(const char *at, wg_value *p, wg_value *g, wg_value *m, wg_value *v,
                     wg_value *lr, wg_value *step, const wg_adam_attrs *a)
{
    wg_value *in[] = {p, g, m, v, lr, step};
    return wgi_apply_list(at, &wg_op_adamw, a, in, 6);
}

wg_value *(wg_moving_average)(const char *at, wg_value *avg, wg_value *x, double decay)
{
    return wg_apply2(at, &wg_op_moving_average, &(wg_moving_average_attrs){decay}, avg, x);
}

wg_value *(wg_global_norm)(const char *at, wg_value *const *x, size_t n)
{
    return wgi_apply_list(at, &wg_op_global_norm, NULL, x, n);
}
