/* Optimizers: they turn a graph with gradients into a training step.
 *
 *     wg_gradients d = wg_grad_all(loss);
 *     wg_clip_by_global_norm(d.grads, d.n, 1.0, d.grads);
 *     wg_adam_update(d.params, d.grads, d.n, lr, NULL);
 *
 * lr is a scalar value, often an input that a schedule fills before each run.  All nodes have the
 * phase WG_UPDATE, and are in a scope "clip", or one with the name of the optimizer. */
#ifndef WG_MODELS_OPTIMIZER_H
#define WG_MODELS_OPTIMIZER_H

#include "wengert/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/** clipped[i] = grads[i] min(1, max_norm / (norm + 1e-6)) for n gradients, where norm is the global
 * norm before clipping, which is returned.  A norm that is NaN or infinite stays visible in the
 * result and in `clipped`.  `clipped` may be `grads`. */
WG_API wg_value *(wg_clip_by_global_norm)(const char *at, wg_value *const *grads, size_t n,
                                          double max_norm, wg_value **clipped);
#define wg_clip_by_global_norm(...) wg_clip_by_global_norm(WG_HERE, __VA_ARGS__)

/** The optimizers, for those who choose one by its number. */
typedef enum wg_optimizer_kind {
    WG_OPTIMIZER_ADAM = 0, /**< Kingma and Ba 2015 */
    WG_OPTIMIZER_ADAMW,    /**< with decoupled weight decay: Loshchilov and Hutter 2019 */
    WG_OPTIMIZER_SGD       /**< with momentum */
} wg_optimizer_kind;

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

/** Options of wg_sgd_update.  Zero means the default in every field. */
typedef struct wg_sgd_options {
    double momentum;     /**< 0: none */
    double weight_decay; /**< 0: none */
    bool nesterov;       /**< Nesterov's momentum */
    /** A scalar that is at least the global norm of `grads`, for a check before the update: if a
     * new parameter or moment could overflow, the run ends with WG_ENONFINITE and nothing is
     * assigned.  The check reads parameters and first moments once more, which must be of one dtype
     * other than f16, and lets everything pass that is far from overflow.  NULL: no check */
    wg_value *norm;
    const char *name; /**< prefix of the states; NULL: "sgd".  Unique in the graph */
    /** [n] by which lr is multiplied for each parameter, from 0 on; NULL: 1 for all. */
    const double *rates;
    const double *decays; /**< [n] weight decay of each parameter; NULL: `weight_decay` for all */
    const wg_update_part *part; /**< of the process; NULL: the whole update */
} wg_sgd_options;

/** At the end of a run each of the n params[i] takes one step of wg_sgd with the gradient grads[i].
 * Velocities are states named "sgd/velocity/PARAMETER".  Returns the graph's status. */
WG_API wg_status(wg_sgd_update)(const char *at, wg_value *const *params, wg_value *const *grads,
                                size_t n, wg_value *lr, const wg_sgd_options *options);
#define wg_sgd_update(...) wg_sgd_update(WG_HERE, __VA_ARGS__)

/** A beta1 or beta2 of 0, where 0 itself stands for the default. */
#define WG_BETA_ZERO (-1.0)

/** Options of wg_adam_update.  Zero means the default in every field. */
typedef struct wg_adam_options {
    double beta1;               /**< 0: 0.9; WG_BETA_ZERO: 0 */
    double beta2;               /**< 0: 0.999; WG_BETA_ZERO: 0 */
    double eps;                 /**< 0: 1e-8 */
    double weight_decay;        /**< 0: none */
    bool decoupled;             /**< wg_adamw instead of wg_adam */
    wg_value *norm;             /**< as in wg_sgd_options */
    const char *name;           /**< prefix of the states; NULL: "adam".  Unique in the graph */
    const double *rates;        /**< as in wg_sgd_options */
    const double *decays;       /**< as in wg_sgd_options */
    const wg_update_part *part; /**< as in wg_sgd_options */
} wg_adam_options;

/** The same with Adam; the states are "adam/step" (i64, the number of steps done),
 * "adam/m/PARAMETER" and "adam/v/PARAMETER". */
WG_API wg_status(wg_adam_update)(const char *at, wg_value *const *params, wg_value *const *grads,
                                 size_t n, wg_value *lr, const wg_adam_options *options);
#define wg_adam_update(...) wg_adam_update(WG_HERE, __VA_ARGS__)

/** Moves the averages of a scope that is marked by wg_scope_average and has the given path: at the
 * end of each run, average <- decay average + (1 - decay) parameter, with the parameter's new value
 * if an optimizer before this call assigns one.  The first update starts from the parameter as it
 * was before.  `decay` is in [0, 1), such as 0.999.  Adds to the state PATH/updates. */
WG_API wg_status(wg_average_update)(const char *at, wg_graph *g, const char *path, double decay);
#define wg_average_update(...) wg_average_update(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
