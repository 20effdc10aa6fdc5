/* The optimizer of a run (wg_optimizer): its rule and its numbers. */
#ifndef WG_TRAIN_OPTIMIZER_H
#define WG_TRAIN_OPTIMIZER_H

#include "wengert/train/trainer.h"

/* As wg_optimizer_update takes them. */
wg_optimizer_numbers wgi_numbers_of(const wg_optimizer *o);
/* The caller's rule, or that of the kind. */
const wg_update_rule *wgi_rule_of(const wg_optimizer *o);

/* False, and says in `text` what is wrong, unless the optimizer can be. */
bool wgi_check_optimizer(const wg_optimizer *o, char *text, size_t size);
/* WG_EDATA, and the first element in words: a state of the rule that is never negative has such an
 * element. */
wg_status wgi_check_states(const wg_optimizer *o, const wg_store *store, wg_error *error);
/* Its name and the numbers that it runs with: an option that is left 0 equals its default. */
void wgi_describe_optimizer(const wg_optimizer *o, char *text, size_t size);

#endif
