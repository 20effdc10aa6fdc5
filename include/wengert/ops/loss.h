/* Losses.  A loss over nothing (no elements, or every target ignored) is 0, not NaN. */
#ifndef WG_OPS_LOSS_H
#define WG_OPS_LOSS_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the losses of the elements are reduced. */
typedef enum wg_reduction {
    WG_LOSS_MEAN = 0,  /**< over elements; cross_entropy: over targets that are not ignored */
    WG_LOSS_SUM,       /**< over elements */
    WG_LOSS_NONE,      /**< not reduced: the shape of the operands */
    WG_LOSS_BATCH_MEAN /**< sum / size of the first axis; not for cross_entropy, ctc_loss */
} wg_reduction;

/** Where label smoothing puts its mass eps, for V classes. */
typedef enum wg_smoothing {
    WG_SMOOTH_UNIFORM = 0, /**< eps / V on every class, including the target */
    WG_SMOOTH_OFF_TARGET   /**< eps / (V - 1) on every class but the target */
} wg_smoothing;

/** Attributes of cross_entropy and weighted_cross_entropy.  Zero means the default in every
 * field. */
typedef struct wg_cross_entropy_attrs {
    double smoothing;       /**< eps in [0, 1] */
    wg_smoothing spread;    /**< where eps goes */
    bool use_ignore;        /**< targets equal to `ignore` do not count */
    int64_t ignore;         /**< any number, a class id or not */
    wg_reduction reduction; /**< over all rows */
} wg_cross_entropy_attrs;

/** Attributes of ctc_loss.  Zero means the default in every field. */
typedef struct wg_ctc_attrs {
    int64_t blank;          /**< the class that stands for no label */
    wg_reduction reduction; /**< over examples; mean: of loss / max(1, number of labels) */
    bool zero_infinity;     /**< a loss that is infinite, and its gradient, count as 0 */
} wg_ctc_attrs;

/** Attributes of mse, bce_with_logits and weighted_bce_with_logits. */
typedef struct wg_loss_attrs {
    wg_reduction reduction; /**< over all elements */
} wg_loss_attrs;

/** Attributes of huber. */
typedef struct wg_huber_attrs {
    double delta;           /**< where the parabola meets the line, > 0 */
    wg_reduction reduction; /**< over all elements */
} wg_huber_attrs;

/** Attributes of kl. */
typedef struct wg_kl_attrs {
    bool log_target;        /**< p is given as ln p */
    wg_reduction reduction; /**< over all elements */
} wg_kl_attrs;

/** The cross entropy of the distribution q (1 - eps on the target, eps spread by smoothing) and
 * softmax(logits):
 *      loss = -sum over classes c of q_c log softmax(logits)_c,  with 0 log 0 = 0.
 * logits [..., V] float; targets [...] i32 or i64 in [0, V).  The result is a scalar, or [...] for
 * WG_LOSS_NONE.  If `normaliser`, a float scalar, is not NULL, the mean divides by it (a number of
 * tokens) rather than by the number of targets that count; a divisor of 0 counts as 1.  The run
 * fails with WG_EDATA if a target that counts is outside [0, V).  Logits of ignored targets are not
 * read. */
WG_API wg_value *(wg_cross_entropy)(const char *at, wg_value *logits, wg_value *targets,
                                    wg_value *normaliser, const wg_cross_entropy_attrs *options);
#define wg_cross_entropy(...) wg_cross_entropy(WG_HERE, __VA_ARGS__)

/** The cross entropy with a weight [V] for each class, of the dtype of logits; otherwise like
 * wg_cross_entropy:
 *      loss = -sum over classes c of w_c q_c log softmax(logits)_c.
 * The mean divides by the sum of the weights of the targets that count, as that of
 * torch.nn.functional.cross_entropy does; a sum of 0 counts as 1.  An infinite loss times a weight
 * of 0 is NaN. */
WG_API wg_value *(wg_weighted_cross_entropy)(const char *at, wg_value *logits, wg_value *targets,
                                             wg_value *weight,
                                             const wg_cross_entropy_attrs *options);
#define wg_weighted_cross_entropy(...) wg_weighted_cross_entropy(WG_HERE, __VA_ARGS__)

/** Connectionist temporal classification (Graves et al. 2006): -log of the probability that a
 * sequence of frames spells a sequence of labels, in any alignment.  A path chooses a class at each
 * frame; it spells what is left when repeated classes are made one and blanks are then removed.
 *      loss[n] = -log sum over the paths that spell targets[n] of
 *                exp(sum over frames t of log_probs[n, t, class of the path at t])
 * log_probs [N, T, C] float, such as wg_log_softmax(logits, -1); targets [N, S] i32 or i64 in
 * [0, C), none of them the blank; input_lengths [N] and target_lengths [N] i32 or i64: how many
 * frames and labels example n has, 0 to T and 0 to S.  What is beyond these is not read.  The
 * result is a scalar, or [N] for WG_LOSS_NONE.  `options` may be NULL.
 *
 * Where no path exists (too few frames, or every path has probability 0) the loss is +inf and its
 * gradient NaN, or both are 0 with `zero_infinity`.  The run fails with WG_EDATA if a length or a
 * label is out of range.  Time and the gradient's memory are in O(N T S).
 *
 * torch.nn.functional.ctc_loss has log_probs [T, N, C]: wg_permute(x, WG_AXES(1, 0, 2)) turns it
 * into ours.  Its gradient for log_probs, exp(log_probs) - occupation, is meant to go through the
 * log_softmax that made them; ours, -occupation, is the derivative itself.  For the logits both are
 * the same. */
WG_API wg_value *(wg_ctc_loss)(const char *at, wg_value *log_probs, wg_value *targets,
                               wg_value *input_lengths, wg_value *target_lengths,
                               const wg_ctc_attrs *options);
#define wg_ctc_loss(...) wg_ctc_loss(WG_HERE, __VA_ARGS__)

/* The operands of each of these have one shape and one float dtype. */

/** (a - b)^2. */
WG_API wg_value *(wg_mse)(const char *at, wg_value *a, wg_value *b, wg_reduction reduction);
#define wg_mse(...) wg_mse(WG_HERE, __VA_ARGS__)

/** d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), for d = a - b and delta > 0. */
WG_API wg_value *(wg_huber)(const char *at, wg_value *a, wg_value *b, double delta,
                            wg_reduction reduction);
#define wg_huber(...) wg_huber(WG_HERE, __VA_ARGS__)

/** -t ln p - (1 - t) ln(1 - p) for p = sigmoid(x), computed as
 *      max(x, 0) - x t + ln(1 + exp(-|x|)). */
WG_API wg_value *(wg_bce_with_logits)(const char *at, wg_value *x, wg_value *t,
                                      wg_reduction reduction);
#define wg_bce_with_logits(...) wg_bce_with_logits(WG_HERE, __VA_ARGS__)

/** The same with the first term, that of positive examples, times `pos_weight`:
 *      -w t ln p - (1 - t) ln(1 - p) for p = sigmoid(x),
 * where w broadcasts to the shape of x: a scalar, or [V] for x [..., V].  The mean is over
 * elements, whatever their weights, as that of
 * torch.nn.functional.binary_cross_entropy_with_logits. */
WG_API wg_value *(wg_weighted_bce_with_logits)(const char *at, wg_value *x, wg_value *t,
                                               wg_value *pos_weight, wg_reduction reduction);
#define wg_weighted_bce_with_logits(...) wg_weighted_bce_with_logits(WG_HERE, __VA_ARGS__)

/** How wg_kl takes the distribution p. */
typedef enum wg_kl_target {
    WG_KL_P = 0, /**< as p */
    WG_KL_LOG_P  /**< as ln p */
} wg_kl_target;

/** The Kullback-Leibler divergence of p from q, p (ln p - ln q); where p is 0, the constant 0.
 * `log_q` is ln q; `p` is p or ln p, as `given` says.  (The order is that of
 * torch.nn.functional.kl_div.) */
WG_API wg_value *(wg_kl)(const char *at, wg_value *log_q, wg_value *p, wg_kl_target given,
                         wg_reduction reduction);
#define wg_kl(...) wg_kl(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
