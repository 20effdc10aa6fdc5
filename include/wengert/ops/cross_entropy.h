/* The smoothed target distribution of cross_entropy, for its rules and its kernels. */
#ifndef WG_OPS_CROSS_ENTROPY_H
#define WG_OPS_CROSS_ENTROPY_H

#include "wengert/ops/loss.h"

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast" /* C has no others */
extern "C" {
#endif

/** The distribution q: `on` at the target, `off` at each other class.  `sum` is 1, except for a
 * single class with WG_SMOOTH_OFF_TARGET, where no other class can take the smoothing mass. */
typedef struct wg_target_weights {
    double on;  /**< q of the target */
    double off; /**< q of each other class */
    double sum; /**< of q */
} wg_target_weights;

/** q for `classes` classes. */
static inline wg_target_weights wg_target_weights_of(const wg_cross_entropy_attrs *a,
                                                     int64_t classes)
{
    bool uniform = a->spread == WG_SMOOTH_UNIFORM;
    double others = (double)(classes > 1 ? classes - 1 : 0);
    wg_target_weights q = {1 - a->smoothing, 0, 1};
    if (uniform && classes > 0)
        q.off = a->smoothing / (double)classes;
    else if (others > 0)
        q.off = a->smoothing / others;
    if (uniform)
        q.on += q.off;
    q.sum = uniform || others > 0 ? 1 : q.on;
    return q;
}

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
#endif
