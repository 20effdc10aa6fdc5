/* Learning rates as functions of the number of the update, and amounts of training. */
#ifndef WG_TRAIN_SCHEDULE_H
#define WG_TRAIN_SCHEDULE_H

#include "wengert/graph/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The rate at update t = 1, 2, ...; all but noam rise linearly from `start` to `rate` during the
 * warm-up. */
typedef enum wg_schedule_kind {
    WG_SCHEDULE_NOAM = 0,     /**< rate d^-.5 min(t^-.5, t warmup^-1.5)  (Vaswani et al. 2017) */
    WG_SCHEDULE_INVERSE_SQRT, /**< then rate sqrt(warmup / t)  (fairseq) */
    WG_SCHEDULE_COSINE,       /**< then down to `floor` at `updates` by half a cosine */
    WG_SCHEDULE_LINEAR,       /**< then down to `floor` at `updates` in a straight line */
    WG_SCHEDULE_CONSTANT,     /**< then `rate` */
    WG_SCHEDULE_STEP,         /**< then times `factor` after each `every` updates */
    WG_SCHEDULE_RESTARTS /**< then half a cosine from `rate` to `floor` in every `every` updates
                                   (Loshchilov and Hutter 2017) */
} wg_schedule_kind;

/** A schedule and its parameters. */
typedef struct wg_schedule {
    int kind;        /**< wg_schedule_kind */
    double rate;     /**< the peak; for noam a factor, typically 1 */
    int64_t warmup;  /**< updates; 0: none */
    double start;    /**< rate before the first update of the warm-up */
    double floor;    /**< cosine, linear, step, restarts: the lowest rate */
    int64_t updates; /**< cosine, linear: when the floor is reached */
    int64_t d_model; /**< noam: d */
    double factor;   /**< step: above 0 */
    int64_t every;   /**< step, restarts: updates */
    /** A schedule of one's own, in place of all of the above: the rate at update t = 1, 2, ...; a
     * finite number of 0 or more, and the same whenever it is asked for, so that a resumed run goes
     * on as it would have.  NULL: `kind` */
    double (*rate_at)(const void *context, int64_t t);
    const void *context; /**< of rate_at */
} wg_schedule;

/** An amount of training: 100u updates, 2e epochs, 5000000t of what batches count, such as target
 * tokens (wg_batch_size.weight). */
typedef struct wg_amount {
    int64_t n; /**< 0: never */
    char unit; /**< 'u', 'e' or 't'; 0: 'u' */
} wg_amount;

/** The rate at update t = 1, 2, ...; for t < 1 that of t = 1; NaN for an unknown kind.  Without a
 * warm-up, inverse_sqrt is at its peak at update 1.  Cosine and linear stay at the floor from
 * `updates` on, but finish the warm-up first. */
WG_API double wg_schedule_rate(const wg_schedule *s, int64_t t);

#ifdef __cplusplus
}
#endif
#endif
