/* The optimizers of this library as update rules, and the numbers that each of them has. */
#include "models/update.h"
#include "models/internal.h"

#include <math.h>
#include <stdio.h>

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

/* x / (1 - beta^t), for a number beta; in f64, since the difference loses digits */
static wg_value *corrected(const wg_update *u, wg_value *x, double beta)
{
    wg_value *t = wg_cast(u->count, WG_F64), *rest = wg_neg(wg_expm1(wg_scale(t, log(beta))));
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
};

const wgi_optimizer *wgi_optimizer_of(int kind)
{
    return kind >= 0 && kind < WG_COUNT(optimizers) ? &optimizers[kind] : NULL;
}

const wg_update_rule *wgi_optimizer_rule(int kind, const wg_optimizer_numbers *k)
{
    const wgi_optimizer *o = wgi_optimizer_of(kind);
    return o && o->with_momentum && k->momentum > 0 ? o->with_momentum : o ? o->rule : NULL;
}

/* ---- their numbers --------------------------------------------------------------------------- */

static bool is_share(double x)
{
    return x >= 0 && x < 1;
}

static bool is_beta(double x)
{
    return is_share(x) || x == WG_BETA_ZERO;
}

static bool is_positive(double x)
{
    return x >= 0 && x < 1e30;
}

bool wgi_optimizer_check(int kind, const wg_optimizer_numbers *k, char *text, size_t size)
{
    static const char share[] = "a number in [0, 1)", positive[] = "0 or more";
    const struct {
        const char *name;
        unsigned bit;
        double is;
        bool right;
        const char *must_be;
    } numbers[] = {
        {"beta1", WGI_BETA1, k->beta1, is_beta(k->beta1), share},
        {"beta2", WGI_BETA2, k->beta2, is_beta(k->beta2), share},
        {"eps", WGI_EPS, k->eps, is_positive(k->eps), positive},
        {"momentum", WGI_MOMENTUM, k->momentum, is_share(k->momentum), share},
        {"nesterov", WGI_NESTEROV, k->nesterov, true, share},
    };
    const wgi_optimizer *o = wgi_optimizer_of(kind);
    if (!o) {
        snprintf(text, size, "kind: expected one of wg_optimizer_kind, got %d", kind);
        return false;
    }
    for (int i = 0; i < WG_COUNT(numbers); i++) {
        if (!numbers[i].right)
            snprintf(text, size, "%s: expected %s, got %.10g", numbers[i].name, numbers[i].must_be,
                     numbers[i].is);
        else if (numbers[i].is != 0 && !(o->has & numbers[i].bit))
            snprintf(text, size, "%s: %s does not use it: expected 0, got %.10g", numbers[i].name,
                     o->name, numbers[i].is);
        else
            continue;
        return false;
    }
    return true;
}

static double beta_of(double x, double usual)
{
    return x == 0 ? usual : x == WG_BETA_ZERO ? 0 : x;
}

wg_optimizer_numbers wgi_optimizer_numbers(int kind, const wg_optimizer_numbers *k)
{
    const wg_optimizer_numbers *usual = &wgi_optimizer_of(kind)->usual;
    return (wg_optimizer_numbers){.beta1 = beta_of(k->beta1, usual->beta1),
                                  .beta2 = beta_of(k->beta2, usual->beta2),
                                  .eps = k->eps == 0 ? usual->eps : k->eps,
                                  .momentum = k->momentum,
                                  .nesterov = k->nesterov};
}
