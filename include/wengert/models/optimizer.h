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

#include "wengert/models/update.h"

#ifdef __cplusplus
extern "C" {
#endif

/** clipped[i] = grads[i] min(1, max_norm / (norm + 1e-6)) for n gradients, where norm is the global
 * norm before clipping, which is returned.  A norm that is NaN or infinite stays visible in the
 * result and in `clipped`.  `clipped` may be `grads`. */
WG_API wg_value *(wg_clip_by_global_norm)(const char *at, wg_value *const *grads, size_t n,
                                          double max_norm, wg_value **clipped);
#define wg_clip_by_global_norm(...) wg_clip_by_global_norm(WG_HERE, __VA_ARGS__)

/** The optimizers, for those who choose one by its number.  p: parameter, g: gradient, t: number of
 * the step, decay: weight decay, which all but AdamW, Lion and LAMB add to the gradient (g + decay
 * p).  beta1, beta2, eps and so on are wg_optimizer_numbers; their defaults follow in brackets. */
typedef enum wg_optimizer_kind {
    /** wg_adam: Kingma and Ba 2015 [0.9, 0.999, 1e-8] */
    WG_OPTIMIZER_ADAM = 0,
    /** wg_adamw, with decoupled weight decay: Loshchilov and Hutter 2019 [0.9, 0.999, 1e-8] */
    WG_OPTIMIZER_ADAMW,
    /** wg_sgd, with momentum [0], or Nesterov's */
    WG_OPTIMIZER_SGD,
    /** Tieleman and Hinton 2012 [beta2 0.99, eps 1e-8, momentum 0]:
     * s = beta2 s + (1 - beta2) g^2;  v = momentum v + g / (sqrt(s) + eps);  p = p - lr v */
    WG_OPTIMIZER_RMSPROP,
    /** Duchi et al. 2011 [eps 1e-10]: s = s + g^2;  p = p - lr g / (sqrt(s) + eps) */
    WG_OPTIMIZER_ADAGRAD,
    /** Zeiler 2012 [beta2 0.9, eps 1e-6], whose usual learning rate is 1:
     * s = beta2 s + (1 - beta2) g^2;  d = sqrt(e + eps) / sqrt(s + eps) g;
     * e = beta2 e + (1 - beta2) d^2;  p = p - lr d */
    WG_OPTIMIZER_ADADELTA,
    /** Adam with the maximum norm, section 7.1 of its paper [0.9, 0.999, 1e-8]:
     * m = beta1 m + (1 - beta1) g;  u = max(beta2 u, |g| + eps);
     * p = p - lr / (1 - beta1^t) m / u */
    WG_OPTIMIZER_ADAMAX,
    /** Chen et al. 2023 [0.9, 0.99], with a rate of a tenth of Adam's and ten times its decay:
     * d = sign(beta1 m + (1 - beta1) g) + decay p;  m = beta2 m + (1 - beta2) g;  p = p - lr d */
    WG_OPTIMIZER_LION,
    /** You et al. 2020 [0.9, 0.999, 1e-6]: with m and v of Adam, corrected by 1 - beta^t,
     * d = m / (sqrt(v) + eps) + decay p;  p = p - lr |p| / |d| d, where the quotient of the
     * norms is 1 if one of them is 0 */
    WG_OPTIMIZER_LAMB,
    /** Adam with Nesterov's momentum, Dozat 2016 [0.9, 0.999, 1e-8, momentum_decay 0.004]: with m
     * and v of Adam, v corrected by 1 - beta2^t, and the momenta
     * u(t) = beta1 (1 - 0.96^(t momentum_decay) / 2), whose product up to t is U(t),
     * d = (1 - u(t)) / (1 - U(t)) g + u(t+1) / (1 - U(t+1)) m;  p = p - lr d / (sqrt(v) + eps) */
    WG_OPTIMIZER_NADAM,
    /** Adam with a rectified variance, Liu et al. 2020 [0.9, 0.999, 1e-8]: with m and v of Adam,
     * m corrected by 1 - beta1^t, R = 2 / (1 - beta2) - 1 and
     * r = R - 2 t beta2^t / (1 - beta2^t),
     * p = p - lr m q / (sqrt(v) + eps) where r > 5, otherwise p = p - lr m;
     * q = sqrt((1 - beta2^t) (r - 4) (r - 2) R / ((R - 4) (R - 2) r)) */
    WG_OPTIMIZER_RADAM,
    /** Riedmiller and Braun 1993, for gradients of all examples at once [eta_minus 0.5, eta_plus
     * 1.2, step_min 1e-6, step_max 50].  Each element has a step size z, lr before the first step;
     * later rates have no effect.  With the gradient h of the step before, and 0 before the first,
     * z = z eta_plus where g h > 0, z eta_minus where g h < 0, from step_min to step_max;
     * g = 0 where g h < 0;  p = p - z sign(g);  h = g */
    WG_OPTIMIZER_RPROP
} wg_optimizer_kind;

/** A beta1 or beta2 of 0, where 0 itself stands for the default. */
#define WG_BETA_ZERO (-1.0)

/** The numbers of an optimizer; zero means its default.  Those that it does not have must be 0. */
typedef struct wg_optimizer_numbers {
    double beta1;          /**< WG_BETA_ZERO: 0 */
    double beta2;          /**< WG_BETA_ZERO: 0 */
    double eps;            /**< above 0 */
    double momentum;       /**< in [0, 1) */
    bool nesterov;         /**< SGD: Nesterov's momentum */
    double momentum_decay; /**< NAdam: above 0 */
    double eta_minus;      /**< Rprop: in (0, 1) */
    double eta_plus;       /**< Rprop: above 1 */
    double step_min;       /**< Rprop: above 0 */
    double step_max;       /**< Rprop: step_min or more */
} wg_optimizer_numbers;

/** wg_update_by_rule with one of the rules above.  The states are "sgd/velocity/PARAMETER" (with
 * momentum), "adam/m/..." and "adam/v/...", "rmsprop/velocity/..." (with momentum) and
 * "rmsprop/square/...", "adagrad/square/...", "adadelta/change/..." and "adadelta/square/...",
 * "adamax/m/..." and "adamax/max/...", "lion/m/...", "lamb/m/..." and "lamb/v/...", the same
 * of "nadam" and "radam", "rprop/gradient/..." and "rprop/size/..."; and "step" (i64, the number of
 * steps done) of those that read t.  `context` of the options is ignored.  `numbers` may be
 * NULL. */
WG_API wg_status(wg_optimizer_update)(const char *at, wg_value *const *params,
                                      wg_value *const *grads, size_t n, wg_value *lr,
                                      wg_optimizer_kind kind, const wg_optimizer_numbers *numbers,
                                      const wg_update_options *options);
#define wg_optimizer_update(...) wg_optimizer_update(WG_HERE, __VA_ARGS__)

/** Options of wg_sgd_update.  Zero means the default in every field. */
typedef struct wg_sgd_options {
    double momentum;            /**< 0: none */
    double weight_decay;        /**< 0: none */
    bool nesterov;              /**< Nesterov's momentum */
    wg_value *norm;             /**< as in wg_update_options */
    const char *name;           /**< prefix of the states; NULL: "sgd".  Unique in the graph */
    const double *rates;        /**< as in wg_update_options */
    const double *decays;       /**< as in wg_update_options */
    const wg_update_part *part; /**< as in wg_update_options */
} wg_sgd_options;

/** At the end of a run each of the n params[i] takes one step of wg_sgd with the gradient grads[i].
 * Velocities are states named "sgd/velocity/PARAMETER".  Returns the graph's status. */
WG_API wg_status(wg_sgd_update)(const char *at, wg_value *const *params, wg_value *const *grads,
                                size_t n, wg_value *lr, const wg_sgd_options *options);
#define wg_sgd_update(...) wg_sgd_update(WG_HERE, __VA_ARGS__)

/** Options of wg_adam_update.  Zero means the default in every field. */
typedef struct wg_adam_options {
    double beta1;               /**< 0: 0.9; WG_BETA_ZERO: 0 */
    double beta2;               /**< 0: 0.999; WG_BETA_ZERO: 0 */
    double eps;                 /**< 0: 1e-8 */
    double weight_decay;        /**< 0: none */
    bool decoupled;             /**< wg_adamw instead of wg_adam */
    wg_value *norm;             /**< as in wg_update_options */
    const char *name;           /**< prefix of the states; NULL: "adam".  Unique in the graph */
    const double *rates;        /**< as in wg_update_options */
    const double *decays;       /**< as in wg_update_options */
    const wg_update_part *part; /**< as in wg_update_options */
} wg_adam_options;

/** The same with Adam; the states are "adam/step" (i64, the number of steps done),
 * "adam/m/PARAMETER" and "adam/v/PARAMETER". */
WG_API wg_status(wg_adam_update)(const char *at, wg_value *const *params, wg_value *const *grads,
                                 size_t n, wg_value *lr, const wg_adam_options *options);
#define wg_adam_update(...) wg_adam_update(WG_HERE, __VA_ARGS__)

/** Moves the averages of a scope that is marked by wg_scope_average and has the given path: at the
 * end of each run, average <- decay average + (1 - decay) parameter, with the parameter's new value
 * if an optimizer assigns one, before this call or after it.  The first update starts from the
 * parameter as it was before.  `decay` is in [0, 1), such as 0.999.  Adds to the state
 * PATH/updates. */
WG_API wg_status(wg_average_update)(const char *at, wg_graph *g, const char *path, double decay);
#define wg_average_update(...) wg_average_update(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
