/* Drawing a token from the probabilities that a model gives: temperature, top-k and nucleus
 * sampling.  With logits z_i, temperature T and the set S of tokens that are kept,
 *
 *     p_i = exp(z_i / T) / sum of exp(z_j / T) over j in S    for i in S, else 0.
 *
 * S is found in this order: the top_k most probable tokens; of these, which then have probability 1
 * together, the fewest most probable ones whose probabilities sum to at least top_p (Holtzman et
 * al. 2020, "The curious case of neural text degeneration").  Of equally probable tokens, those
 * with smaller ids are kept first. */
#ifndef WG_DECODE_SAMPLE_H
#define WG_DECODE_SAMPLE_H

#include "wengert/graph/error.h"
#include "wengert/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a token is drawn.  Fields have no defaults: start from WG_SAMPLING_PLAIN. */
typedef struct wg_sampling {
    double temperature; /**< T; 0, the limit: the most probable token always */
    int64_t top_k;      /**< tokens kept; 0: all */
    double top_p;       /**< probability kept, in (0, 1]; 1: all */
} wg_sampling;

/** From the model's own distribution. */
#define WG_SAMPLING_PLAIN ((wg_sampling){1, 0, 1})

/** WG_EINVAL: the temperature is negative or not finite, top_k is negative, top_p is not in
 * (0, 1]. */
WG_API WG_MUST_USE wg_status wg_sampling_check(const wg_sampling *s, wg_error *error);

/** The probability with which each of n tokens is drawn.
 * @param p [n] the result
 * @param s how
 * @param logits [n] any that differ from log p by a constant; -infinity: never
 * @param n tokens
 * @param error says why it failed; may be NULL
 * @return WG_EINVAL as wg_sampling_check, or where n is 0 or an argument NULL; WG_ENONFINITE if a
 *         logit is NaN or infinity, or none is finite; WG_ENOMEM */
WG_API WG_MUST_USE wg_status wg_sampling_probabilities(double *p, const wg_sampling *s,
                                                       const double *logits, size_t n,
                                                       wg_error *error);

/** The token i with p_0 + ... + p_(i-1) <= u < p_0 + ... + p_i, for u uniform in [0, 1).  Tokens of
 * probability 0 are never drawn. */
WG_API size_t wg_sampling_draw(const double *p, size_t n, double u);

#ifdef __cplusplus
}
#endif
#endif
