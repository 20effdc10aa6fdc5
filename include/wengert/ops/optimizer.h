/* Updates of parameters as ops.  wengert/models/optimizer.h builds whole training steps from
 * them. */
#ifndef WG_OPS_OPTIMIZER_H
#define WG_OPS_OPTIMIZER_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of sgd; all fields may be 0. */
typedef struct wg_sgd_attrs {
    double momentum;     /**< in [0, 1) */
    double weight_decay; /**< 0 or more */
    bool nesterov;       /**< Nesterov's momentum */
} wg_sgd_attrs;

/** Attributes of adam and adamw. */
typedef struct wg_adam_attrs {
    double beta1;        /**< decay of the mean m, in [0, 1) */
    double beta2;        /**< decay of the mean square v, in [0, 1) */
    double eps;          /**< added to the root of v */
    double weight_decay; /**< 0 or more */
} wg_adam_attrs;

/** Attributes of moving_average. */
typedef struct wg_moving_average_attrs {
    double decay; /**< in [0, 1] */
} wg_moving_average_attrs;

/* p, g and moments have one shape and one float dtype; lr is a scalar of that dtype. */

/** One step of gradient descent (formulas as torch.optim.SGD with dampening 0):
 *      d = g + weight_decay p;  velocity' = momentum velocity + d;
 *      p' = p - lr (d + momentum velocity' if nesterov, else velocity')
 * velocity may be NULL if momentum is 0.  Result 0 is p', result 1 velocity' if there is one. */
WG_API wg_value *(wg_sgd)(const char *at, wg_value *p, wg_value *g, wg_value *lr,
                          wg_value *velocity, const wg_sgd_attrs *a);
#define wg_sgd(...) wg_sgd(WG_HERE, __VA_ARGS__)

/** One step of Adam (Kingma, Ba 2015, algorithm 1); t = `step` is a scalar, int or float, 1 at
 * the first step:
 *      m' = beta1 m + (1 - beta1) g;  v' = beta2 v + (1 - beta2) g^2;
 *      p' = p - lr (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + eps)
 * with weight_decay p added to g first.  Results 0, 1, 2 are p', m', v'.  The run fails with
 * WG_EDATA if t is not positive. */
WG_API wg_value *(wg_adam)(const char *at, wg_value *p, wg_value *g, wg_value *m, wg_value *v,
                           wg_value *lr, wg_value *step, const wg_adam_attrs *a);
#define wg_adam(...) wg_adam(WG_HERE, __VA_ARGS__)

/** The same with decoupled weight decay (Loshchilov, Hutter 2019): lr weight_decay p is subtracted
 * from p', and nothing is added to g. */
WG_API wg_value *(wg_adamw)(const char *at, wg_value *p, wg_value *g, wg_value *m, wg_value *v,
                            wg_value *lr, wg_value *step, const wg_adam_attrs *a);
#define wg_adamw(...) wg_adamw(WG_HERE, __VA_ARGS__)

/** y = decay avg + (1 - decay) x. */
WG_API wg_value *(wg_moving_average)(const char *at, wg_value *avg, wg_value *x, double decay);
#define wg_moving_average(...) wg_moving_average(WG_HERE, __VA_ARGS__)

/** The Euclidean norm of n tensors of one dtype taken as one vector: a scalar. */
WG_API wg_value *(wg_global_norm)(const char *at, wg_value *const *x, size_t n);
#define wg_global_norm(...) wg_global_norm(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
