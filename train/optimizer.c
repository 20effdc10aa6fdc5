#include "train/optimizer.h"
#include "graph/element.h"
#include "graph/error.h"
#include "models/update.h"
#include "train/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

wg_optimizer_numbers wgi_numbers_of(const wg_optimizer *o)
{
    return (wg_optimizer_numbers){.beta1 = o->beta1,
                                  .beta2 = o->beta2,
                                  .eps = o->eps,
                                  .momentum = o->momentum,
                                  .nesterov = o->nesterov,
                                  .momentum_decay = o->momentum_decay,
                                  .eta_minus = o->eta_minus,
                                  .eta_plus = o->eta_plus,
                                  .step_min = o->step_min,
                                  .step_max = o->step_max};
}

const wg_update_rule *wgi_rule_of(const wg_optimizer *o)
{
    const wg_optimizer_numbers numbers = wgi_numbers_of(o);
    return o->rule ? o->rule : wgi_optimizer_rule(o->kind, &numbers);
}

/* ---- what can be ----------------------------------------------------------------------------- */

static bool has_numbers(const wg_optimizer *o)
{
    const wg_optimizer_numbers numbers = wgi_numbers_of(o);
    wgi_optimizer_number list[WGI_OPTIMIZER_NUMBERS];
    bool some = o->kind != 0 || o->nesterov;
    wgi_optimizer_list(&numbers, list);
    for (int i = 0; i < WGI_OPTIMIZER_NUMBERS; i++)
        some = some || list[i].is != 0;
    return some;
}

static const char *wrong_rule(const wg_optimizer *o)
{
    const wg_update_rule *rule = o->rule;
    return !rule && o->rule_context ? "rule_context: there is no rule"
           : !rule                  ? NULL
           : !rule->step            ? "rule: it has no `step`"
           : !rule->name            ? "rule: it has no name"
           : has_numbers(o) ? "kind, beta1, beta2, eps, momentum and the other numbers have no "
                              "effect beside a rule, which has numbers of its own"
                            : NULL;
}

bool wgi_check_optimizer(const wg_optimizer *o, char *text, size_t size)
{
    const wg_optimizer_numbers numbers = wgi_numbers_of(o);
    const char *wrong = wrong_rule(o);
    if (wrong)
        snprintf(text, size, "%s", wrong);
    else if (!(o->weight_decay >= 0))
        snprintf(text, size, "weight_decay: expected 0 or more, got %.10g", o->weight_decay);
    else if (!(o->clip_norm >= 0))
        snprintf(text, size, "clip_norm: expected 0 or more, got %.10g", o->clip_norm);
    else
        return o->rule || wgi_optimizer_check(o->kind, &numbers, text, size);
    return false;
}

/* ---- its states ------------------------------------------------------------------------------ */

/* Whether a tensor of that name is a state that is never negative: "optimizer/v/w", and with a
 * group's own steps "optimizer/every 2/v/w". */
static bool is_never_negative(const wg_update_rule *rule, const char *tensor)
{
    static const char every[] = "every ";
    const char *name = wgi_owned_part(tensor);
    if (wgi_owner_of(tensor) != WGI_OWNER_OPTIMIZER)
        return false;
    if (strncmp(name, every, sizeof every - 1) == 0)
        name += strcspn(name, "/") + 1;
    const size_t n = strcspn(name, "/");
    for (int s = 0; s < WG_MOST_UPDATE_STATES && rule->states[s]; s++)
        if (rule->never_negative[s] && strlen(rule->states[s]) == n &&
            strncmp(rule->states[s], name, n) == 0)
            return true;
    return false;
}

wg_status wgi_check_states(const wg_optimizer *o, const wg_store *store, wg_error *error)
{
    const wg_update_rule *rule = wgi_rule_of(o);
    const wg_tensor *t;
    for (size_t i = 0; (t = wg_store_at(store, i)); i++)
        for (int64_t k = 0, n = is_never_negative(rule, t->name) ? wg_shape_count(&t->shape) : 0;
             k < n; k++)
            if (wgi_get_element(t->data, t->dtype, k) < 0)
                return wgi_error_set(error, WG_EDATA,
                                     "%s: expected no negative numbers, as it holds squares or "
                                     "magnitudes, got %g at element %" PRId64,
                                     t->name, wgi_get_element(t->data, t->dtype, k), k);
    return WG_OK;
}

/* ---- in words -------------------------------------------------------------------------------- */

static void describe_rule(const wg_update_rule *rule, char *text, size_t size)
{
    int n = snprintf(text, size, "rule %s%s", rule->name, rule->counts ? ", step" : "");
    for (int s = 0; s < WG_MOST_UPDATE_STATES && rule->states[s] && n < (int)size; s++)
        n += snprintf(text + n, size - (size_t)n, ", %s", rule->states[s]);
}

static void describe_kind(const wg_optimizer *o, char *text, size_t size)
{
    const wg_optimizer_numbers given = wgi_numbers_of(o),
                               all = wgi_optimizer_numbers(o->kind, &given);
    const wgi_optimizer *kind = wgi_optimizer_of(o->kind);
    wgi_optimizer_number list[WGI_OPTIMIZER_NUMBERS];
    wgi_optimizer_list(&all, list);
    int n = snprintf(text, size, "%s", kind->name);
    for (int i = 0; i < WGI_OPTIMIZER_NUMBERS && n < (int)size; i++)
        if (kind->has & list[i].bit)
            n += snprintf(text + n, size - (size_t)n, ", %s %.9g", list[i].name, list[i].is);
    if (all.nesterov && n < (int)size)
        snprintf(text + n, size - (size_t)n, ", Nesterov's");
}

void wgi_describe_optimizer(const wg_optimizer *o, char *text, size_t size)
{
    if (o->rule)
        describe_rule(o->rule, text, size);
    else
        describe_kind(o, text, size);
    const size_t n = strlen(text);
    snprintf(text + n, size - n, ", decay %.9g, clip-norm %.9g", o->weight_decay, o->clip_norm);
}
