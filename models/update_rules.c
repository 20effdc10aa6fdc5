/* The optimizers of this library as update rules. */
#include "models/update.h"
#include "models/internal.h"

#include <math.h>

/* ---- parts of rules -------------------------------------------------------------------------- */

/* a x + (1 - a) y */
static wg_value *mix(double a, wg_value *x, wg_value *y)
{
    return wg_add(wg_scale(x, a), wg_scale(y, 1 - a));
}

/* x - lr y */
static wg_value *descend(const wg_update *u, wg_value *y)
{
    return wg_sub(u->p, wg_mul(u->lr, y));
}

/* y + decay p */
static wg_value *with_decay(const wg_update *u, wg_value *y)
{
    return u->weight_decay > 0 ? wg_add(y, wg_scale(u->p, u->weight_decay)) : y;
}

/* t; in f64, as numbers made of it lose digits otherwise */
static wg_value *step_number(const wg_update *u)
{
    return wg_cast(u->count, WG_F64);
}

/* x / (1 - beta^t), for a number beta */
static wg_value *corrected(const wg_update *u, wg_value *x, double beta)
{
    wg_value *t = step_number(u), *rest = wg_neg(wg_expm1(wg_scale(t, log(beta))));
    return beta == 0 || !x ? x : wg_div(x, wg_cast(rest, x->dtype));
}

/* ---- rules, and bounds of what they make ----------------------------------------------------- */

/* In bounds p, g, lr and the first state are global norms; what they add is what the step computes.
 * Second moments s hold (1 - beta2) g^2 <= s', so |g| / sqrt(s') <= 1 / sqrt(1 - beta2), and
 * s' <= max(s, g^2).  Each bound therefore has g^2. */

static wg_value *sum_of(wg_value *a, wg_value *b, wg_value *c)
{
    return wg_add(wg_add(a, b), c);
}

static wg_sgd_attrs sgd_attrs(const wg_update *u)
{
    const wg_optimizer_numbers *k = u->context;
    return (wg_sgd_attrs){k->momentum, u->weight_decay, k->nesterov};
}

static wg_value *sgd(const wg_update *u, wg_value **state)
{
    const wg_sgd_attrs a = sgd_attrs(u);
    wg_value *p = wg_sgd(u->p, u->g, u->lr, state[0], &a);
    if (state[0])
        state[0] = wg_result_of(p, 1);
    return p;
}

/* M' = momentum M + G + decay P,  P' = P + lr M' (1 + momentum, with Nesterov's) */
static wg_value *sgd_bound(const wg_update *u, wg_value *const *state)
{
    const wg_sgd_attrs a = sgd_attrs(u);
    wg_value *m = wg_add(u->g, wg_scale(u->p, a.weight_decay));
    if (state[0])
        m = wg_add(m, wg_scale(state[0], a.momentum));
    wg_name(m, "velocity bound");
    wg_value *move = wg_scale(wg_mul(u->lr, m), a.nesterov ? 1 + a.momentum : 1);
    return wg_add(m, wg_add(u->p, move));
}

static wg_adam_attrs adam_attrs(const wg_update *u)
{
    const wg_optimizer_numbers *k = u->context;
    return (wg_adam_attrs){k->beta1, k->beta2, k->eps, u->weight_decay};
}

static wg_value *adam_results(wg_value *p, wg_value **state)
{
    state[0] = wg_result_of(p, 1);
    state[1] = wg_result_of(p, 2);
    return p;
}

static wg_value *adam(const wg_update *u, wg_value **state)
{
    const wg_adam_attrs a = adam_attrs(u);
    return adam_results(wg_adam(u->p, u->g, state[0], state[1], u->lr, u->count, &a), state);
}

static wg_value *adamw(const wg_update *u, wg_value **state)
{
    const wg_adam_attrs a = adam_attrs(u);
    return adam_results(wg_adamw(u->p, u->g, state[0], state[1], u->lr, u->count, &a), state);
}

/* M' = M + G,  P' = P + lr (M' / (1 - beta1) / eps + extra) */
static wg_value *moments_bound(const wg_update *u, wg_value *m, wg_value *g, wg_value *extra)
{
    const wg_optimizer_numbers *k = u->context;
    m = wg_name(wg_add(m, g), "moment bound");
    wg_value *move = wg_scale(m, 1 / ((1 - k->beta1) * k->eps));
    move = wg_name(extra ? wg_add(move, extra) : move, "step bound");
    return sum_of(m, wg_mul(g, g), wg_add(u->p, wg_mul(u->lr, move)));
}

static wg_value *adam_bound(const wg_update *u, wg_value *const *state)
{
    wg_value *g = wg_add(u->g, wg_scale(u->p, u->weight_decay));
    return moments_bound(u, state[0], wg_name(g, "gradient bound"), NULL);
}

static wg_value *adamw_bound(const wg_update *u, wg_value *const *state)
{
    return moments_bound(u, state[0], u->g, wg_scale(u->p, u->weight_decay));
}

/* states: square, or velocity and square */
static wg_value *rmsprop(const wg_update *u, wg_value **state)
{
    const wg_optimizer_numbers *k = u->context;
    wg_value **square = state + (k->momentum > 0), *g = with_decay(u, u->g);
    *square = mix(k->beta2, *square, wg_square(g));
    wg_value *move = wg_div(g, wg_shift(wg_sqrt(*square), k->eps));
    if (k->momentum > 0)
        move = state[0] = wg_add(wg_scale(state[0], k->momentum), move);
    return descend(u, move);
}

/* V' = momentum V + 1 / sqrt(1 - beta2),  P' = P + lr V' */
static wg_value *rmsprop_bound(const wg_update *u, wg_value *const *state)
{
    const wg_optimizer_numbers *k = u->context;
    const double most = 1 / sqrt(1 - k->beta2);
    wg_value *g = wg_name(with_decay(u, u->g), "gradient bound");
    wg_value *v = k->momentum > 0 ? wg_shift(wg_scale(state[0], k->momentum), most)
                                  : wg_scalar_like(u->p, most);
    return sum_of(v, wg_mul(g, g), wg_add(u->p, wg_mul(u->lr, v)));
}

static wg_value *adagrad(const wg_update *u, wg_value **state)
{
    const wg_optimizer_numbers *k = u->context;
    wg_value *g = with_decay(u, u->g);
    state[0] = wg_add(state[0], wg_square(g));
    return descend(u, wg_div(g, wg_shift(wg_sqrt(state[0]), k->eps)));
}

/* S' = S + G^2,  P' = P + lr, since g^2 <= s' */
static wg_value *adagrad_bound(const wg_update *u, wg_value *const *state)
{
    wg_value *g = wg_name(with_decay(u, u->g), "gradient bound");
    return sum_of(state[0], wg_mul(g, g), wg_add(u->p, u->lr));
}

/* states: change, square */
static wg_value *adadelta(const wg_update *u, wg_value **state)
{
    const wg_optimizer_numbers *k = u->context;
    wg_value *g = with_decay(u, u->g);
    state[1] = mix(k->beta2, state[1], wg_square(g));
    wg_value *scale =
        wg_div(wg_sqrt(wg_shift(state[0], k->eps)), wg_sqrt(wg_shift(state[1], k->eps)));
    wg_value *move = wg_mul(scale, g);
    state[0] = mix(k->beta2, state[0], wg_square(move));
    return descend(u, move);
}

/* D' = sqrt(E + eps) / sqrt(1 - beta2), and e' <= max(e, d'^2).  On the way there,
 * sqrt(e + eps) / sqrt(s' + eps) is at most sqrt(E + eps) / sqrt(eps). */
static wg_value *adadelta_bound(const wg_update *u, wg_value *const *state)
{
    const wg_optimizer_numbers *k = u->context;
    wg_value *g = wg_name(with_decay(u, u->g), "gradient bound");
    wg_value *root = wg_sqrt(wg_shift(state[0], k->eps));
    wg_value *d = wg_scale(root, 1 / sqrt(1 - k->beta2));
    wg_value *way = wg_add(state[0], wg_scale(root, 1 / sqrt(k->eps)));
    return sum_of(wg_add(way, wg_mul(g, g)), wg_mul(d, d), wg_add(u->p, wg_mul(u->lr, d)));
}

static wg_value *adamax(const wg_update *u, wg_value **state)
{
    const wg_optimizer_numbers *k = u->context;
    wg_value *g = with_decay(u, u->g);
    state[0] = mix(k->beta1, state[0], g);
    state[1] = wg_maximum(wg_scale(state[1], k->beta2), wg_shift(wg_abs(g), k->eps));
    return wg_sub(u->p, wg_mul(corrected(u, u->lr, k->beta1), wg_div(state[0], state[1])));
}

static wg_value *lion(const wg_update *u, wg_value **state)
{
    const wg_optimizer_numbers *k = u->context;
    wg_value *move = wg_sign(mix(k->beta1, state[0], u->g));
    state[0] = mix(k->beta2, state[0], u->g);
    return descend(u, with_decay(u, move));
}

/* M' = M + G,  P' = P + lr (1 + decay P) */
static wg_value *lion_bound(const wg_update *u, wg_value *const *state)
{
    wg_value *move = wg_name(wg_shift(wg_scale(u->p, u->weight_decay), 1), "step bound");
    wg_value *m = wg_name(wg_add(state[0], u->g), "moment bound");
    return wg_add(m, wg_add(u->p, wg_mul(u->lr, move)));
}

static wg_value *norm_of(wg_value *x)
{
    return wg_global_norm(&x, 1);
}

/* It has no bound: the quotient of the norms may be as large as |p| over the smallest number. */
static wg_value *lamb(const wg_update *u, wg_value **state)
{
    const wg_optimizer_numbers *k = u->context;
    state[0] = mix(k->beta1, state[0], u->g);
    state[1] = mix(k->beta2, state[1], wg_square(u->g));
    wg_value *m = corrected(u, state[0], k->beta1), *v = corrected(u, state[1], k->beta2);
    wg_value *d = with_decay(u, wg_div(m, wg_shift(wg_sqrt(v), k->eps)));
    wg_value *p_norm = norm_of(u->p), *d_norm = norm_of(d), *zero = wg_scalar_like(p_norm, 0),
             *one = wg_scalar_like(p_norm, 1);
    wg_value *is_zero = wg_logical_or(wg_equal(p_norm, zero), wg_equal(d_norm, zero));
    wg_value *trust = wg_where(is_zero, one, wg_div(p_norm, wg_where(is_zero, one, d_norm)));
    return descend(u, wg_mul(trust, d));
}

/* NAdam's momentum of step t: beta1 (1 - q^t / 2), where log_q = log 0.96^momentum_decay */
static wg_value *nadam_momentum(wg_value *t, double beta1, double log_q)
{
    return wg_scale(wg_shift(wg_scale(wg_exp(wg_scale(t, log_q)), -0.5), 1), beta1);
}

/* 1 - the product of the momenta of steps 1 to t.  The series log(1 - x) = -(x + x^2/2 + ...),
 * added up over these steps first, gives the product from t alone, so it is no state:
 *     log product = t log beta1 - sum over k of 2^-k / k q^k (1 - q^(k t)) / (1 - q^k)
 * Terms fall by half or more; what 60 of them leave out is below the rounding of f64. */
static wg_value *nadam_correction(wg_value *t, double beta1, double log_q)
{
    enum { TERMS = 60 };
    double powers[TERMS], weights[TERMS];
    for (int k = 1; k <= TERMS; k++) {
        powers[k - 1] = k * log_q;
        weights[k - 1] = ldexp(1.0 / k, -k) * exp(k * log_q) / -expm1(k * log_q);
    }
    wg_graph *g = wg_graph_of(t);
    if (beta1 == 0 || !g)
        return wg_scalar_like(t, 1);
    wg_value *terms = wg_mul(wg_constant(g, WG_F64, WG_SHAPE(TERMS), weights),
                             wg_expm1(wg_mul(wg_constant(g, WG_F64, WG_SHAPE(TERMS), powers), t)));
    wg_value *log_product = wg_add(wg_scale(t, log(beta1)), wg_sum(terms, WG_ALL_AXES, WG_DROP));
    return wg_neg(wg_expm1(log_product));
}

static wg_value *nadam(const wg_update *u, wg_value **state)
{
    const wg_optimizer_numbers *k = u->context;
    const double log_q = k->momentum_decay * log(0.96);
    wg_value *t = step_number(u), *g = with_decay(u, u->g);
    wg_value *now = nadam_momentum(t, k->beta1, log_q),
             *next = nadam_momentum(wg_shift(t, 1), k->beta1, log_q),
             *correction = nadam_correction(t, k->beta1, log_q);
    wg_value *one = wg_scalar_like(t, 1);
    /* 1 - U(t+1) = 1 - u(t+1) + u(t+1) (1 - U(t)) */
    wg_value *of_g = wg_div(wg_sub(one, now), correction),
             *of_m = wg_div(next, wg_add(wg_sub(one, next), wg_mul(next, correction)));
    state[0] = mix(k->beta1, state[0], g);
    state[1] = mix(k->beta2, state[1], wg_square(g));
    wg_value *move =
        wg_add(wg_mul(wg_cast(of_g, g->dtype), g), wg_mul(wg_cast(of_m, g->dtype), state[0]));
    wg_value *root = wg_sqrt(corrected(u, state[1], k->beta2));
    return descend(u, wg_div(move, wg_shift(root, k->eps)));
}

/* (1 - u(t)) / (1 - U(t)) <= 1, and u(t+1) / (1 - U(t+1)) <= 1 / (1 - beta1) */
static wg_value *nadam_bound(const wg_update *u, wg_value *const *state)
{
    const wg_optimizer_numbers *k = u->context;
    wg_value *g = wg_name(with_decay(u, u->g), "gradient bound");
    return moments_bound(u, state[0], g, wg_scale(g, 1 / k->eps));
}

/* What sqrt(v) + eps is divided into where r > 5; *is_large says where that is so.  NULL: for no
 * t, since r is below R.  Otherwise the root is of a number that is at least 0 for every t. */
static wg_value *rectification(wg_value *t, double beta2, wg_value **is_large)
{
    const double most = 2 / (1 - beta2) - 1;
    if (most <= 5)
        return NULL;
    wg_value *power = wg_scale(t, log(beta2)), *rest = wg_neg(wg_expm1(power));
    wg_value *r = wg_neg(wg_shift(wg_scale(wg_div(wg_mul(t, wg_exp(power)), rest), 2), -most));
    wg_value *five = wg_scalar_like(r, 5);
    *is_large = wg_greater(r, five);
    r = wg_maximum(r, five);
    wg_value *part = wg_div(wg_mul(wg_shift(r, -4), wg_shift(r, -2)), r);
    return wg_sqrt(wg_mul(rest, wg_scale(part, most / ((most - 4) * (most - 2)))));
}

static wg_value *radam(const wg_update *u, wg_value **state)
{
    const wg_optimizer_numbers *k = u->context;
    wg_value *g = with_decay(u, u->g), *is_large = NULL;
    state[0] = mix(k->beta1, state[0], g);
    state[1] = mix(k->beta2, state[1], wg_square(g));
    wg_value *m = corrected(u, state[0], k->beta1),
             *q = rectification(step_number(u), k->beta2, &is_large);
    if (!q)
        return descend(u, m);
    wg_value *scaled = wg_div(wg_cast(q, g->dtype), wg_shift(wg_sqrt(state[1]), k->eps));
    return descend(u, wg_mul(m, wg_where(is_large, scaled, wg_scalar_like(g, 1))));
}

/* q <= 1 */
static wg_value *radam_bound(const wg_update *u, wg_value *const *state)
{
    const wg_optimizer_numbers *k = u->context;
    wg_value *g = wg_name(with_decay(u, u->g), "gradient bound");
    return moments_bound(u, state[0], g, wg_scale(wg_add(state[0], g), 1 / (1 - k->beta1)));
}

/* states: gradient, size.  Signs are multiplied, as a product of small gradients is 0. */
static wg_value *rprop(const wg_update *u, wg_value **state)
{
    const wg_optimizer_numbers *k = u->context;
    wg_value *g = with_decay(u, u->g), *zero = wg_scalar_like(g, 0), *one = wg_scalar_like(g, 1);
    wg_value *agree = wg_mul(wg_sign(g), wg_sign(state[0])), *turned = wg_less(agree, zero);
    wg_value *factor = wg_where(wg_greater(agree, zero), wg_scalar_like(g, k->eta_plus),
                                wg_where(turned, wg_scalar_like(g, k->eta_minus), one));
    wg_value *is_first = wg_equal(u->count, wg_scalar_like(u->count, 1));
    wg_value *size = wg_mul(wg_where(is_first, u->lr, state[1]), factor);
    state[1] = wg_clamp(size, k->step_min, k->step_max);
    state[0] = wg_where(turned, zero, g);
    return wg_sub(u->p, wg_mul(state[1], wg_sign(state[0])));
}

/* P' = P + step_max, the gradient that is kept, and what the step sizes are made of */
static wg_value *rprop_bound(const wg_update *u, wg_value *const *state)
{
    (void)state;
    const wg_optimizer_numbers *k = u->context;
    wg_value *g = wg_name(with_decay(u, u->g), "gradient bound");
    return sum_of(g, wg_shift(u->lr, k->eta_plus * k->step_max), u->p);
}

/* ---- the optimizers -------------------------------------------------------------------------- */

static const wg_update_rule sgd_rule = {.name = "sgd", .step = sgd, .bound = sgd_bound};
static const wg_update_rule sgd_with_momentum = {
    .name = "sgd", .states = {"velocity"}, .step = sgd, .bound = sgd_bound};
static const wg_update_rule adam_rule = {.name = "adam",
                                         .states = {"m", "v"},
                                         .never_negative = {false, true},
                                         .counts = true,
                                         .step = adam,
                                         .bound = adam_bound};
static const wg_update_rule adamw_rule = {.name = "adam",
                                          .states = {"m", "v"},
                                          .never_negative = {false, true},
                                          .counts = true,
                                          .step = adamw,
                                          .bound = adamw_bound};
static const wg_update_rule rmsprop_rule = {.name = "rmsprop",
                                            .states = {"square"},
                                            .never_negative = {true},
                                            .step = rmsprop,
                                            .bound = rmsprop_bound};
static const wg_update_rule rmsprop_with_momentum = {.name = "rmsprop",
                                                     .states = {"velocity", "square"},
                                                     .never_negative = {false, true},
                                                     .step = rmsprop,
                                                     .bound = rmsprop_bound};
static const wg_update_rule adagrad_rule = {.name = "adagrad",
                                            .states = {"square"},
                                            .never_negative = {true},
                                            .step = adagrad,
                                            .bound = adagrad_bound};
static const wg_update_rule adadelta_rule = {.name = "adadelta",
                                             .states = {"change", "square"},
                                             .never_negative = {true, true},
                                             .step = adadelta,
                                             .bound = adadelta_bound};
static const wg_update_rule adamax_rule = {.name = "adamax",
                                           .states = {"m", "max"},
                                           .never_negative = {false, true},
                                           .counts = true,
                                           .step = adamax,
                                           .bound = adam_bound};
static const wg_update_rule lion_rule = {
    .name = "lion", .states = {"m"}, .step = lion, .bound = lion_bound};
static const wg_update_rule lamb_rule = {.name = "lamb",
                                         .states = {"m", "v"},
                                         .never_negative = {false, true},
                                         .counts = true,
                                         .mixes = true,
                                         .step = lamb};
static const wg_update_rule nadam_rule = {.name = "nadam",
                                          .states = {"m", "v"},
                                          .never_negative = {false, true},
                                          .counts = true,
                                          .step = nadam,
                                          .bound = nadam_bound};
static const wg_update_rule radam_rule = {.name = "radam",
                                          .states = {"m", "v"},
                                          .never_negative = {false, true},
                                          .counts = true,
                                          .step = radam,
                                          .bound = radam_bound};
static const wg_update_rule rprop_rule = {.name = "rprop",
                                          .states = {"gradient", "size"},
                                          .never_negative = {false, true},
                                          .counts = true,
                                          .step = rprop,
                                          .bound = rprop_bound};

static const wgi_optimizer optimizers[] = {
    [WG_OPTIMIZER_ADAM] = {.name = "Adam",
                           .has = WGI_BETAS | WGI_EPS,
                           .usual = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
                           .rule = &adam_rule},
    [WG_OPTIMIZER_ADAMW] = {.name = "AdamW",
                            .has = WGI_BETAS | WGI_EPS,
                            .usual = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
                            .rule = &adamw_rule},
    [WG_OPTIMIZER_SGD] = {.name = "SGD",
                          .has = WGI_MOMENTUM | WGI_NESTEROV,
                          .rule = &sgd_rule,
                          .with_momentum = &sgd_with_momentum},
    [WG_OPTIMIZER_RMSPROP] = {.name = "RMSprop",
                              .has = WGI_BETA2 | WGI_EPS | WGI_MOMENTUM,
                              .usual = {.beta2 = 0.99, .eps = 1e-8},
                              .rule = &rmsprop_rule,
                              .with_momentum = &rmsprop_with_momentum},
    [WG_OPTIMIZER_ADAGRAD] = {.name = "Adagrad",
                              .has = WGI_EPS,
                              .usual = {.eps = 1e-10},
                              .rule = &adagrad_rule},
    [WG_OPTIMIZER_ADADELTA] = {.name = "Adadelta",
                               .has = WGI_BETA2 | WGI_EPS,
                               .usual = {.beta2 = 0.9, .eps = 1e-6},
                               .rule = &adadelta_rule},
    [WG_OPTIMIZER_ADAMAX] = {.name = "Adamax",
                             .has = WGI_BETAS | WGI_EPS,
                             .usual = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
                             .rule = &adamax_rule},
    [WG_OPTIMIZER_LION] = {.name = "Lion",
                           .has = WGI_BETAS,
                           .usual = {.beta1 = 0.9, .beta2 = 0.99},
                           .rule = &lion_rule},
    [WG_OPTIMIZER_LAMB] = {.name = "LAMB",
                           .has = WGI_BETAS | WGI_EPS,
                           .usual = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-6},
                           .rule = &lamb_rule},
    [WG_OPTIMIZER_NADAM] =
        {.name = "NAdam",
         .has = WGI_BETAS | WGI_EPS | WGI_MOMENTUM_DECAY,
         .usual = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .momentum_decay = 0.004},
         .rule = &nadam_rule},
    [WG_OPTIMIZER_RADAM] = {.name = "RAdam",
                            .has = WGI_BETAS | WGI_EPS,
                            .usual = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
                            .rule = &radam_rule},
    [WG_OPTIMIZER_RPROP] =
        {.name = "Rprop",
         .has = WGI_ETAS_AND_STEPS,
         .usual = {.eta_minus = 0.5, .eta_plus = 1.2, .step_min = 1e-6, .step_max = 50},
         .rule = &rprop_rule},
};

bool wgi_rule_is_op(const wg_update_rule *rule)
{
    return rule->step == sgd || rule->step == adam || rule->step == adamw;
}

const wgi_optimizer *wgi_optimizer_of(int kind)
{
    return kind >= 0 && kind < WG_COUNT(optimizers) ? &optimizers[kind] : NULL;
}

const wg_update_rule *wgi_optimizer_rule(int kind, const wg_optimizer_numbers *k)
{
    const wgi_optimizer *o = wgi_optimizer_of(kind);
    return o && o->with_momentum && k->momentum > 0 ? o->with_momentum : o ? o->rule : NULL;
}
