/* The engine of updates; not installed. */
#ifndef WG_MODELS_UPDATE_INTERNAL_H
#define WG_MODELS_UPDATE_INTERNAL_H

#include "wengert/models/optimizer.h"

/* ---- update_phase.c -------------------------------------------------------------------------- */

/* From here on nodes are of the update phase and in the scope `name`, which may have slashes;
 * returns what to go back to. */
wg_origin wgi_update_enter(wg_graph *g, const char *name);

/* ---- update.c -------------------------------------------------------------------------------- */

/* wg_update_by_rule.  What a rule of this library builds is at the caller's line; other rules have
 * lines of their own. */
wg_status wgi_update(const char *at, wg_value *const *params, wg_value *const *grads, size_t n,
                     wg_value *lr, const wg_update_rule *rule, const wg_update_options *options,
                     bool is_ours);

/* ---- averages.c ------------------------------------------------------------------------------ */

/* p will be `next` after the run: of the first n assignments of the graph, the averages that
 * wg_average_update has moved after p move after `next`, as if they had been told later. */
void wgi_averages_follow(wg_value *p, wg_value *next, size_t n);

/* ---- update_rules.c -------------------------------------------------------------------------- */

/* Numbers that an optimizer may have. */
enum {
    WGI_BETA1 = 1,
    WGI_BETA2 = 2,
    WGI_BETAS = WGI_BETA1 | WGI_BETA2,
    WGI_EPS = 4,
    WGI_MOMENTUM = 8,
    WGI_NESTEROV = 16,
    WGI_MOMENTUM_DECAY = 32,
    WGI_ETAS_AND_STEPS = 64
};
enum { WGI_OPTIMIZER_NUMBERS = 9 };

/* One of the wg_optimizer_numbers, without `nesterov`. */
typedef struct wgi_optimizer_number {
    const char *name; /* "beta1" */
    unsigned bit;     /* of the enumeration above */
    double is;
} wgi_optimizer_number;

typedef struct wgi_optimizer {
    const char *name; /* "Adam" */
    unsigned has;     /* numbers */
    wg_optimizer_numbers usual;
    const wg_update_rule *rule, *with_momentum; /* NULL: momentum changes no state */
} wgi_optimizer;

/* Whether a step of the rule is one op, which reads the learning rate. */
bool wgi_rule_is_op(const wg_update_rule *rule);
/* NULL for no wg_optimizer_kind. */
const wgi_optimizer *wgi_optimizer_of(int kind);
/* Its rule with those numbers; NULL for no kind. */
const wg_update_rule *wgi_optimizer_rule(int kind, const wg_optimizer_numbers *k);

/* ---- update_numbers.c ------------------------------------------------------------------------ */

/* False, and says in `text` what is wrong, unless there is such a kind, which has these numbers in
 * their ranges. */
bool wgi_optimizer_check(int kind, const wg_optimizer_numbers *k, char *text, size_t size);
/* The numbers as they are. */
void wgi_optimizer_list(const wg_optimizer_numbers *k,
                        wgi_optimizer_number list[WGI_OPTIMIZER_NUMBERS]);
/* The numbers that a kind runs with: those given, or its defaults. */
wg_optimizer_numbers wgi_optimizer_numbers(int kind, const wg_optimizer_numbers *k);

#endif
