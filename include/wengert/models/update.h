/* Update rules: how an optimizer makes the new value of a parameter.
 *
 * A rule is a function that builds one step of one parameter, written like its equations, and the
 * names of the states that it needs for each.  Lion (Chen et al. 2023):
 *
 *     static wg_value *lion(const wg_update *u, wg_value **state)
 *     {
 *         wg_value *m = state[0];
 *         wg_value *move = wg_sign(wg_add(wg_scale(m, 0.9), wg_scale(u->g, 0.1)));
 *         state[0] = wg_add(wg_scale(m, 0.99), wg_scale(u->g, 0.01));
 *         return wg_sub(u->p, wg_mul(u->lr, wg_add(move, wg_scale(u->p, u->weight_decay))));
 *     }
 *     static const wg_update_rule rule = {.name = "lion", .states = {"m"}, .step = lion};
 *
 * wg_update_by_rule adds such updates to a graph; the trainer takes a rule in its options
 * (wg_optimizer.rule).  The optimizers of optimizer.h are such rules. */
#ifndef WG_MODELS_UPDATE_H
#define WG_MODELS_UPDATE_H

#include "wengert/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Rows of a parameter: entries of its first axis; of a scalar, its one element. */
typedef struct wg_rows {
    int64_t first; /**< number of the first one */
    int64_t count; /**< how many; 0: none */
} wg_rows;

/** The part of an update that one of several processes does, with moments for only this part: the
 * processes share out the work and the memory of an optimizer (ZeRO, Rajbhandari et al. 2020).  The
 * other rows keep their values, and must be fetched from the processes that update them
 * (wg_ranks_share).  All processes need the same gradients.  The new values are bit for bit those
 * of one process that updates everything. */
typedef struct wg_update_part {
    const wg_rows *rows; /**< [n] of each parameter */
    /** A wg_all_reduce of this bucket adds the norms of all processes' moments, where the update
     * has a check (`norm`), so that all pass it or none does; the checked lr is then an output. */
    int64_t bucket;
} wg_update_part;

/** What a rule reads: one parameter in one step. */
typedef struct wg_update {
    wg_value *p;     /**< the parameter before the step, or the rows of it that are updated */
    wg_value *g;     /**< its gradient, like p */
    wg_value *lr;    /**< learning rate: a scalar of p's dtype, times the parameter's own rate */
    wg_value *count; /**< number of this step: 1, 2, ..., i64 scalar; NULL without `counts` */
    double weight_decay; /**< of this parameter */
    const void *context; /**< of the options */
} wg_update;

/** The most states that a rule can have for each parameter. */
#define WG_MOST_UPDATE_STATES 4

/** An update rule. */
typedef struct wg_update_rule {
    const char *name; /**< the scope of what it builds, and prefix of the states: "lion" */
    /** Names of the states, as many as there are: "m" is the state NAME/m/PARAMETER, like the
     * parameter, and 0 before the first step. */
    const char *states[WG_MOST_UPDATE_STATES];
    /** Of each state, whether its elements are never negative, such as means of squares: a trainer
     * refuses one that has such an element before the root of it makes NaN. */
    bool never_negative[WG_MOST_UPDATE_STATES];
    bool counts; /**< the number of steps is kept in the state NAME/step */
    /** New elements depend on other elements of the parameter, as by a norm or a matrix product: so
     * a part of it cannot be updated alone (wg_update_part). */
    bool mixes;
    /** Builds the step.  Returns the new value of the parameter, and writes the new values of the
     * states over the old ones, `state[0]` of the first name; one that is left alone keeps its
     * value.  All are like the parameter. */
    wg_value *(*step)(const wg_update *u, wg_value **state);
    /** A number that no new element of the parameter or its states exceeds in magnitude, nor what
     * is computed on the way to them: made from the global norms that `u` and state[0] have here in
     * place of the tensors (other states are NULL).  With it, an update that could overflow is
     * refused before it begins, and new values are written over the old ones.  NULL: what is new is
     * checked itself, so all old and new values are in memory at the same time. */
    wg_value *(*bound)(const wg_update *u, wg_value *const *state);
} wg_update_rule;

/** Options of an update.  Zero means the default in every field. */
typedef struct wg_update_options {
    double weight_decay; /**< what a rule makes of it; 0: none */
    /** A scalar that is at least the global norm of the gradients, for a check of the update: if a
     * new parameter or state could overflow, the run ends with WG_ENONFINITE and nothing is
     * assigned.  The check reads parameters and first states once more, which must be of one dtype
     * other than f16.  NULL: no check */
    wg_value *norm;
    const char *name; /**< in place of the rule's.  Unique in the graph */
    /** [n] by which lr is multiplied for each parameter, from 0 on; NULL: 1 for all. */
    const double *rates;
    const double *decays; /**< [n] weight decay of each parameter; NULL: `weight_decay` for all */
    const wg_update_part *part; /**< of the process; NULL: the whole update */
    const void *context;        /**< passed to the rule while the graph is built, and not kept */
} wg_update_options;

/** At the end of a run each of the n params[i] takes one step by a rule with the gradient grads[i].
 * lr: scalar.  What is built has the phase WG_UPDATE.  Returns the graph's status. */
WG_API wg_status(wg_update_by_rule)(const char *at, wg_value *const *params, wg_value *const *grads,
                                    size_t n, wg_value *lr, const wg_update_rule *rule,
                                    const wg_update_options *options);
#define wg_update_by_rule(...) wg_update_by_rule(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
