/* The numbers of the optimizers: their ranges and defaults. */
#include "models/update.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

static bool is_growth(double x)
{
    return x == 0 || (x > 1 && x < 1e30);
}

/* In the order of the fields. */
static const struct number {
    const char *name;
    unsigned bit;
    size_t offset; /* of a double */
    bool (*is_right)(double x);
    const char *must_be;
} number_list[] = {
    {"beta1", WGI_BETA1, offsetof(wg_optimizer_numbers, beta1), is_beta, "a number in [0, 1)"},
    {"beta2", WGI_BETA2, offsetof(wg_optimizer_numbers, beta2), is_beta, "a number in [0, 1)"},
    {"eps", WGI_EPS, offsetof(wg_optimizer_numbers, eps), is_positive, "0 or more"},
    {"momentum", WGI_MOMENTUM, offsetof(wg_optimizer_numbers, momentum), is_share,
     "a number in [0, 1)"},
    {"momentum_decay", WGI_MOMENTUM_DECAY, offsetof(wg_optimizer_numbers, momentum_decay),
     is_positive, "0 or more"},
    {"eta_minus", WGI_ETAS_AND_STEPS, offsetof(wg_optimizer_numbers, eta_minus), is_share,
     "a number in [0, 1)"},
    {"eta_plus", WGI_ETAS_AND_STEPS, offsetof(wg_optimizer_numbers, eta_plus), is_growth,
     "0 or a number above 1"},
    {"step_min", WGI_ETAS_AND_STEPS, offsetof(wg_optimizer_numbers, step_min), is_positive,
     "0 or more"},
    {"step_max", WGI_ETAS_AND_STEPS, offsetof(wg_optimizer_numbers, step_max), is_positive,
     "0 or more"},
};
static double get_number(const wg_optimizer_numbers *k, const struct number *n)
{
    double x;
    memcpy(&x, (const char *)k + n->offset, sizeof x);
    return x;
}

void wgi_optimizer_list(const wg_optimizer_numbers *k,
                        wgi_optimizer_number list[WGI_OPTIMIZER_NUMBERS])
{
    for (int i = 0; i < WGI_OPTIMIZER_NUMBERS; i++)
        list[i] = (wgi_optimizer_number){number_list[i].name, number_list[i].bit,
                                         get_number(k, &number_list[i])};
}

/* The step sizes must have room between them. */
static bool check_steps(int kind, const wg_optimizer_numbers *k, char *text, size_t size)
{
    const wg_optimizer_numbers all = wgi_optimizer_numbers(kind, k);
    if (all.step_min <= all.step_max)
        return true;
    snprintf(text, size, "step_min: expected at most step_max, %.10g, got %.10g", all.step_max,
             all.step_min);
    return false;
}

bool wgi_optimizer_check(int kind, const wg_optimizer_numbers *k, char *text, size_t size)
{
    const wgi_optimizer *o = wgi_optimizer_of(kind);
    if (!o) {
        snprintf(text, size, "kind: expected one of wg_optimizer_kind, got %d", kind);
        return false;
    }
    for (int i = 0; i < WGI_OPTIMIZER_NUMBERS; i++) {
        const struct number *n = &number_list[i];
        const double is = get_number(k, n);
        if (!n->is_right(is))
            snprintf(text, size, "%s: expected %s, got %.10g", n->name, n->must_be, is);
        else if (is != 0 && !(o->has & n->bit))
            snprintf(text, size, "%s: %s does not use it: expected 0, got %.10g", n->name, o->name,
                     is);
        else
            continue;
        return false;
    }
    if (k->nesterov && !(o->has & WGI_NESTEROV)) {
        snprintf(text, size, "nesterov: %s does not use it: expected false, got true", o->name);
        return false;
    }
    return check_steps(kind, k, text, size);
}

wg_optimizer_numbers wgi_optimizer_numbers(int kind, const wg_optimizer_numbers *k)
{
    const wg_optimizer_numbers *usual = &wgi_optimizer_of(kind)->usual;
    wg_optimizer_numbers all = *k;
    for (int i = 0; i < WGI_OPTIMIZER_NUMBERS; i++) {
        const struct number *n = &number_list[i];
        const double given = get_number(k, n);
        if (given == 0)
            memcpy((char *)&all + n->offset, (const char *)usual + n->offset, sizeof given);
        else if (given == WG_BETA_ZERO) /* of a beta: no other number can be negative */
            memset((char *)&all + n->offset, 0, sizeof given);
    }
    return all;
}
