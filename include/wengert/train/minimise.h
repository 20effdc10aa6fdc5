/* Minimisation of a loss that is the same function in every run, such as that of all examples at
 * once: L-BFGS, and Newton's method with conjugate gradients.  A physics-informed network, a fit to
 * measurements or the tuning of a trained model ends many digits lower than by Adam.
 *
 *     wg_minimiser *m;
 *     wg_minimised found;
 *     if (wg_minimiser_create(&m, loss, NULL, &error) != WG_OK) ...
 *     fill(wg_plan_f64(wg_minimiser_plan(m), x));
 *     if (wg_minimiser_run(m, &found) != WG_OK) ...
 *     printf("loss %g after %zu steps\n", found.loss, found.steps);
 */
#ifndef WG_TRAIN_MINIMISE_H
#define WG_TRAIN_MINIMISE_H

#include "wengert/backends/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the next step is found.  Numbers are those of f64, whatever the dtype of the parameters. */
typedef enum wg_minimise_method {
    /** From the gradients of the last steps, along a line (Liu and Nocedal 1989), to a point that
     * fulfils the strong Wolfe conditions. */
    WG_MINIMISE_LBFGS = 0,
    /** From products of the Hessian with vectors, by conjugate gradients within a trust region
     * (Steihaug 1983).  Fewer steps, many more runs; for losses that L-BFGS creeps along. */
    WG_MINIMISE_NEWTON
} wg_minimise_method;

/** Why a run ended. */
typedef enum wg_minimise_end {
    WG_MINIMISE_PRECISION = 0, /**< no step makes the loss or the gradient less: rounding is left */
    WG_MINIMISE_GRADIENT,      /**< the gradient is within options.gradient */
    WG_MINIMISE_CHANGE,        /**< the last step changed the loss by no more than options.change */
    WG_MINIMISE_STEPS,         /**< options.steps were taken */
    WG_MINIMISE_RUNS,          /**< options.runs of the plans were made */
    WG_MINIMISE_STOPPED        /**< options.tell returned false */
} wg_minimise_end;

/** Where a minimiser is. */
typedef struct wg_minimised {
    wg_minimise_end end; /**< why it ended; in `tell`, of no meaning */
    double loss;         /**< there */
    double gradient;     /**< the largest magnitude in the gradient there */
    size_t steps;        /**< since the call of wg_minimiser_run */
    size_t runs;         /**< of the plans, since then; most of the time goes there */
} wg_minimised;

/** Options of a minimiser.  Zero means the default in every field. */
typedef struct wg_minimiser_options {
    wg_minimise_method method; /**< how steps are found */
    /** Parameters to change, f32 or f64; NULL: all float parameters that the loss depends on.  The
     * array is not kept. */
    wg_value *const *params;
    size_t n_params; /**< length of `params` */
    /** Of the plans.  `outputs`, by default those of the graph, are computed beside loss and
     * gradients; `memory` limits each plan, of which Newton's method has two.  NULL: defaults.
     * What it points to must outlive the minimiser. */
    const wg_plan_options *plan;
    size_t steps;    /**< the most; 0: 1000 */
    size_t runs;     /**< the most; 0: no limit.  Kept to within the few of a step's search */
    double gradient; /**< ends where no element of the gradient is larger; 0: goes on */
    /** Ends after a step that lowers the loss by no more than this part of it; 0: goes on. */
    double change;
    size_t history; /**< L-BFGS: steps remembered, two vectors of f64 each; 0: 20 */
    /** Called before the first step and after each; false: ends.  NULL: nobody */
    bool (*tell)(void *context, const wg_minimised *at);
    void *context; /**< first argument of `tell` */
} wg_minimiser_options;

/** A loss, its plans and what is remembered of earlier steps. */
typedef struct wg_minimiser wg_minimiser;

/** Creates a minimiser of the float scalar `loss`: appends the gradients, and for Newton's method
 * inputs "minimiser/v0", ... (the first free names) and products of the Hessian with them, to the
 * graph and makes plans of it, which carry out no assignments.  `options` may be NULL, and is not
 * kept.  The graph may be freed before the minimiser, but wg_plan_data takes values of it.  On
 * failure *out is NULL: the graph's error, WG_EINVAL, WG_EDTYPE (a parameter that is neither f32
 * nor f64), WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_minimiser_create(wg_minimiser **out, wg_value *loss,
                                                 const wg_minimiser_options *options,
                                                 wg_error *error);
/** Frees the minimiser; NULL is allowed. */
WG_API void wg_minimiser_free(wg_minimiser *m);
/** The plan of loss, gradients and outputs: for inputs to be filled before a run, and outputs and
 * parameters to be read after it.  Inputs are filled in the plan's own memory (wg_plan_data): what
 * is bound instead (wg_plan_bind) not all of the minimiser would see.  Owned by it.  NULL for
 * NULL. */
WG_API wg_plan *wg_minimiser_plan(wg_minimiser *m);

/** Minimises from where the parameters are, until an end.  They are then where the loss was lowest,
 * or, of losses that rounding cannot tell apart, the gradient; and the plan has run there.  Every
 * run of the plans has the same step number, so random ops draw the same numbers.  Another call
 * goes on; what is remembered is forgotten if parameters have been changed since.  `found` may be
 * NULL.  WG_ENONFINITE: loss or gradient are not finite where it begins; what a step tries may make
 * them so, or fail with WG_EDATA, such as a matrix that is not positive definite, and the step is
 * then shorter.  Other failures are those of wg_plan_run. */
WG_API WG_MUST_USE wg_status wg_minimiser_run(wg_minimiser *m, wg_minimised *found);
/** Why the last run failed, or "".  Valid until the next call.  Of NULL: that it is NULL. */
WG_API const char *wg_minimiser_message(const wg_minimiser *m);

#ifdef __cplusplus
}
#endif
#endif
