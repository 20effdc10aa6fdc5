/* Updates of parameters as ops, and builders that make a whole training step of them.
 *
 *     wg_grad(loss, params, n, grads);
 *     wg_clip_by_global_norm(grads, n, 1.0, grads);
 *     wg_adam_update(params, grads, n, lr, NULL);
 *
 * lr is a scalar value, usually an input that a schedule fills before each run. */
#ifndef WG_OPS_OPTIMIZER_H
#define WG_OPS_OPTIMIZER_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_sgd_attrs {
    double momentum, weight_decay;
    bool nesterov;
} wg_sgd_attrs;

typedef struct wg_adam_attrs {
    double beta1, beta2, eps, weight_decay;
} wg_adam_attrs;

typedef struct wg_moving_average_attrs {
    double decay;
} wg_moving_average_attrs;

/* ---- ops ------------------------------------------------------------------------------------- */

/* p, g and moments have one shape and one float dtype; lr is a scalar of that dtype. */

/** One step of gradient descent (formulas as torch.optim.SGD with dampening 0):
 *      d = g + weight_decay p;  velocity' = momentum velocity + d;
 *      p' = p - lr (d + momentum velocity' if nesterov, else velocity')
 *  velocity may be NULL if momentum is 0.  Result 0 is p', result 1 velocity' if there is one. */
WG_API wg_value *(wg_sgd)(const char *at, wg_value *p, wg_value *g, wg_value *lr,
                          wg_value *velocity, const wg_sgd_attrs *a);
#define wg_sgd(...) wg_sgd(WG_HERE, __VA_ARGS__)

/** One step of Adam (Kingma, Ba 2015, algorithm 1); t = `step` is a scalar, int or float, 1 at
 *  the first step:
 *      m' = beta1 m + (1 - beta1) g;  v' = beta2 v + (1 - beta2) g^2;
 *      p' = p - lr (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + eps)
 *  with weight_decay p added to g first.  Results 0, 1, 2 are p', m', v'.  The run fails with
 *  WG_EDATA if t is not positive. */
WG_API wg_value *(wg_adam)(const char *at, wg_value *p, wg_value *g, wg_value *m, wg_value *v,
                           wg_value *lr, wg_value *step, const wg_adam_attrs *a);
#define wg_adam(...) wg_adam(WG_HERE, __VA_ARGS__)

/** The same with weight decay apart from the gradient (Loshchilov, Hutter 2019): p' loses lr
 *  weight_decay p. */
WG_API wg_value *(wg_adamw)(const char *at, wg_value *p, wg_value *g, wg_value *m, wg_value *v,
                            wg_value *lr, wg_value *step, const wg_adam_attrs *a);
#define wg_adamw(...) wg_adamw(WG_HERE, __VA_ARGS__)

/** y = decay avg + (1 - decay) x. */
WG_API wg_value *(wg_moving_average)(const char *at, wg_value *avg, wg_value *x, double decay);
#define wg_moving_average(...) wg_moving_average(WG_HERE, __VA_ARGS__)

/** The Euclidean norm of n tensors of one dtype taken as one vector: a scalar. */
WG_API wg_value *(wg_global_norm)(const char *at, wg_value *const *g, size_t n);
#define wg_global_norm(...) wg_global_norm(WG_HERE, __VA_ARGS__)

/* ---- builders -------------------------------------------------------------------------------- */

/** out[i] = g[i] min(1, max_norm / (norm + 1e-6)) with the global norm before clipping, which is
 *  returned.  A norm of NaN or infinity stays visible, in the norm and in out.  out may be g. */
WG_API wg_value *(wg_clip_by_global_norm)(const char *at, wg_value *const *g, size_t n,
                                          double max_norm, wg_value **out);
#define wg_clip_by_global_norm(...) wg_clip_by_global_norm(WG_HERE, __VA_ARGS__)

/** Zero means the default in every field. */
typedef struct wg_sgd_options {
    double momentum;     /* 0 */
    double weight_decay; /* 0 */
    bool nesterov;
    const char *name; /* of the states, "sgd": two updates in one graph need two names */
} wg_sgd_options;

/** At the end of a run each params[i] takes one step against grads[i].  Velocities are states
 *  named "sgd/velocity/PARAMETER".  The nodes are of phase WG_UPDATE.  Returns the graph's
 *  status. */
WG_API wg_status(wg_sgd_update)(const char *at, wg_value *const *params, wg_value *const *grads,
                                size_t n, wg_value *lr, const wg_sgd_options *options);
#define wg_sgd_update(...) wg_sgd_update(WG_HERE, __VA_ARGS__)

typedef struct wg_adam_options {
    double beta1, beta2; /* 0.9, 0.999 */
    double eps;          /* 1e-8 */
    double weight_decay; /* 0 */
    bool decoupled;      /* adamw */
    const char *name;    /* of the states, "adam" */
} wg_adam_options;

/** The same with Adam; the states are "adam/step" (i64, the number of steps done),
 *  "adam/m/PARAMETER" and "adam/v/PARAMETER". */
WG_API wg_status(wg_adam_update)(const char *at, wg_value *const *params, wg_value *const *grads,
                                 size_t n, wg_value *lr, const wg_adam_options *options);
#define wg_adam_update(...) wg_adam_update(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
