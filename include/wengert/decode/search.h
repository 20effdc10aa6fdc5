/* Decoding: the best translations of sentences by a Transformer, greedily or by beam search, with
 * keys and values of earlier positions kept; and the scores of given translations.
 *
 * Sentences are taken longest first, as many at once as make full steps; one that ends makes room
 * for the next.  Of many sentences each thread takes its share and decodes it alone, so that no
 * thread waits for another within a step; of few, the threads share each step.  Neither their order
 * nor the company in which a sentence is decoded matters: its result is the same as if it were
 * alone, but for the rounding of a backend whose products depend on the number of rows (the cpu
 * backend's do not).  The same call gives the same bits at the same number of threads. */
#ifndef WG_DECODE_SEARCH_H
#define WG_DECODE_SEARCH_H

#include "wengert/backends/plan.h"
#include "wengert/graph/error.h"
#include "wengert/models/transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wg_length_penalty {
    WG_PENALTY_LENGTH =
        0,          /* log p / L^alpha; fairseq's and Marian's normalisation                   */
    WG_PENALTY_GNMT /* log p / ((5 + L) / 6)^alpha; the paper's (Wu et al. 2016, eq. 14)       */
} wg_length_penalty;

/** L counts the end of sentence.  Zero means the default in every field but alpha, where 0 is no
 * penalty. */
typedef struct wg_search_options {
    int64_t beam;   /* 1: greedy                                                            */
    int64_t n_best; /* 1; at most beam                                                      */
    int penalty;    /* wg_length_penalty                                                    */
    double alpha;
    int64_t max_length; /* most tokens of a translation; 0: no limit but max_factor, max_extra  */
    double max_factor;  /* most tokens = max_factor * source tokens + max_extra; 0, 0: 1, 50    */
    int64_t max_extra;
    int64_t
        batch_tokens; /* source tokens times beam decoded together, counted at the longest sentence; 0: a good value */
    bool attention; /* keep the weights                                                    */
    bool uncached;  /* recompute all positions at each step: the plain decoder, for checks */
} wg_search_options;

typedef struct wg_hypothesis {
    int32_t *
        ids; /* n tokens, without begin of sentence; the last is end of sentence unless cut off by max_length */
    size_t n;
    double log_probability; /* sum of token_scores                                       */
    double score;           /* after the length penalty                                  */
    float *token_scores;    /* [n] log p of each token                                   */
    size_t hits;            /* of a scored target: tokens that no other exceeds in p     */
    float *
        attention; /* [n, source tokens] mean over heads of the last layer's cross-attention; NULL unless asked for */
    size_t source_tokens;
} wg_hypothesis;

typedef struct wg_search wg_search;

typedef struct wg_search_model {
    const wg_transformer_config *config;
    wg_store *store; /* has the parameters */
    int32_t bos, eos;
    int32_t pad, unk; /* never produced if not -1 (unk: may be, unless no_unk) */
    bool no_unk;
    bool int8; /* products with parameters in integers of 8 bits: see wengert/models/quantize.h */
    const wg_backend *const *backends;
    size_t n_backends;
    int threads;
} wg_search_model;

/** L^alpha or ((5 + L) / 6)^alpha, by which log p is divided. */
WG_API double wg_length_penalty_of(int penalty, double alpha, size_t length);

/** Keeps what it needs of `model` but not the store, which must outlive it and have every parameter;
 * their numbers may
 *  change between runs. */
WG_API wg_status wg_search_create(wg_search **out, const wg_search_model *model,
                                  wg_error *error);
WG_API void wg_search_free(wg_search *s);
/** Translates n sentences (ids with the end of sentence, as the model was trained): results[i *
 * n_best + k] is the k-th best of
 *  sentence i (fewer: ids NULL).  *results is freed by wg_hypotheses_free.  An empty source (n = 0)
 *  gives an empty result. */
WG_API wg_status wg_search_run(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                               size_t n, const wg_search_options *options, wg_hypothesis **results);
/** Scores given targets (with the end of sentence) in one pass: results[i] has token_scores,
 * log_probability, score and, if
 *  asked for, attention.  Where source or target is empty, there are none and the score is 0. */
WG_API wg_status wg_search_score(wg_search *s, const int32_t *const *sources,
                                 const size_t *source_lengths, const int32_t *const *targets,
                                 const size_t *target_lengths, size_t n,
                                 const wg_search_options *options, wg_hypothesis **results);
WG_API void wg_hypotheses_free(wg_hypothesis *results, size_t count);
WG_API const char *wg_search_message(const wg_search *s);

#ifdef __cplusplus
}
#endif
#endif
