/* Decoding: finds the best translations of sentences with a Transformer, greedily or by beam
 * search, with a KV cache; and scores given translations.
 *
 *     wg_error error;
 *     wg_search *s;
 *     wg_hypothesis *best;
 *     if (wg_search_create(&s, &model, &error) != WG_OK)
 *         return fprintf(stderr, "%s\n", error.text), 1;
 *     if (wg_search_run(s, sources, lengths, n, &(wg_search_options){.beam = 5}, &best) != WG_OK)
 *         fprintf(stderr, "%s\n", wg_search_message(s));
 *     ...
 *     wg_hypotheses_free(best, n);
 *     wg_search_free(s);
 *
 * Sentences are batched longest first, and a finished sentence makes room for the next one.  Many
 * sentences are divided among the threads, which decode their shares independently; with few
 * sentences the threads work on each step together.
 *
 * The result of a sentence depends neither on the order of the sentences nor on which others are in
 * the same call, except for the rounding of a backend whose products depend on the number of rows
 * (those of the cpu backend do not).  The same call with the same number of threads gives the same
 * bits. */
#ifndef WG_DECODE_SEARCH_H
#define WG_DECODE_SEARCH_H

#include "wengert/backends/plan.h"
#include "wengert/graph/error.h"
#include "wengert/models/transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The divisor of log p of a translation of L tokens, end of sentence included. */
typedef enum wg_length_penalty {
    WG_PENALTY_LENGTH = 0, /**< L^alpha: the normalisation of fairseq and Marian */
    WG_PENALTY_GNMT        /**< ((5 + L) / 6)^alpha: Wu et al. 2016, equation 14 */
} wg_length_penalty;

/** Options of a search.  Zero means the default in every field; alpha 0: no penalty. */
typedef struct wg_search_options {
    int64_t beam;   /**< hypotheses kept at each step; default 1: greedy */
    int64_t n_best; /**< translations of each sentence, at most `beam`; default 1 */
    int penalty;    /**< wg_length_penalty */
    double alpha;   /**< exponent of the length penalty */
    /** The maximum length of a translation of S source tokens, in tokens, is the smaller of
     * max_length (0: no such limit) and max_factor S + max_extra (both 0: S + 50). */
    int64_t max_length;
    double max_factor; /**< see max_length */
    int64_t max_extra; /**< see max_length */
    /** Maximum size of a step: hypotheses times the longest source; 0: chosen automatically. */
    int64_t batch_tokens;
    bool attention; /**< also return attention weights */
    /** Of which attention: its scope, "encoder/layer0", "decoder/layer3/self_attn" or
     * "decoder/layer3/cross_attn"; NULL: the cross-attention of the last layer. */
    const char *attention_of;
    bool each_head; /**< the weights of each head instead of their mean */
    bool uncached;  /**< recompute all positions at each step: slow, for checks */
    /** The caller needs no scores of a greedy search, which is faster without: log_probability and
     * score are then NaN, token_scores is NULL.  The translations are the same; beam search
     * computes scores in any case. */
    bool without_scores;
    /** NULL, or ends a call with WG_ESTOPPED soon after it becomes nonzero. */
    const volatile int *stop;
} wg_search_options;

/** A translation or a scored target.  wg_hypotheses_free frees its arrays. */
typedef struct wg_hypothesis {
    /** [n] without begin of sentence; the last is end of sentence unless the maximum length was
     * reached.  NULL if there is no such hypothesis. */
    int32_t *ids;
    size_t n;               /**< tokens */
    double log_probability; /**< sum of token_scores; NaN without scores */
    double score;           /**< log_probability divided by the length penalty; the same */
    float *token_scores;    /**< [n] log p of each token; NULL without scores */
    size_t n_correct;       /**< scored target: number of tokens that the model ranks first */
    /** [attention_maps, attention_rows, attention_columns]: a row for each query, which is a source
     * token in the encoder and a token of `ids` in the decoder; a column for each key, which is a
     * source token, or in the decoder's self-attention the begin of sentence, ids[0], ids[1], ...
     * NULL unless requested. */
    float *attention;
    size_t attention_maps;    /**< the number of heads; 1: their mean */
    size_t attention_rows;    /**< source_tokens or n */
    size_t attention_columns; /**< source_tokens or n */
    size_t source_tokens;     /**< end of sentence included */
} wg_hypothesis;

/** A search: its model and the plans created so far.  Only one thread may use it at a time. */
typedef struct wg_search wg_search;

/** The model to search with. */
typedef struct wg_search_model {
    const wg_transformer_config *config; /**< copied */
    wg_store *store;                     /**< has all parameters; must outlive the search */
    int32_t bos;                         /**< target token: begin of sentence */
    int32_t eos;                         /**< target token: end of sentence */
    int32_t pad; /**< target token of padding, never produced; -1: there is none */
    int32_t unk; /**< target token of unknown words; -1: there is none */
    bool no_unk; /**< never produce unk */
    bool int8;   /**< products with parameters in 8 bits: wengert/models/quantize.h */
    bool fixed;  /**< no parameter changes from the first run on: see wg_plan_options */
    const wg_backend *const *backends; /**< [n_backends] copied; as in wg_plan_options */
    size_t n_backends;                 /**< 0: all that are built in */
    int threads;                       /**< up to WG_MAX_THREADS; 0: what the process may use */
} wg_search_model;

/** The divisor of log p, L^alpha or ((5 + L) / 6)^alpha with L = length; `penalty` is a
 * wg_length_penalty. */
WG_API double wg_length_penalty_of(int penalty, double alpha, size_t length);

/** Creates a search.  The values of the parameters may change between runs unless model->fixed.
 * @return WG_EINVAL for a bad model, WG_ESHAPE for a parameter of another shape or dtype,
 *         WG_ENOMEM */
WG_API WG_MUST_USE wg_status wg_search_create(wg_search **out, const wg_search_model *model,
                                              wg_error *error);

/** Frees the search; NULL is allowed. */
WG_API void wg_search_free(wg_search *s);

/** Translates n sentences.
 * @param s the search
 * @param sources [n] ids of each, with the end of sentence if the model was trained with it; a
 *        sentence without tokens has an empty translation
 * @param lengths [n] tokens of each
 * @param n sentences
 * @param options NULL: the defaults
 * @param results (*results)[i * n_best + k] is the k-th best translation of sentence i; where there
 *        are fewer, ids is NULL.  The caller frees them by wg_hypotheses_free; NULL on failure.
 * @return WG_EINVAL for bad options, WG_EDATA for a bad id or a sentence that is too long,
 *         WG_ENONFINITE if no next token has a finite probability, WG_ESTOPPED, WG_ENOMEM, or what
 *         a plan's run returns; wg_search_message says why */
WG_API WG_MUST_USE wg_status wg_search_run(wg_search *s, const int32_t *const *sources,
                                           const size_t *lengths, size_t n,
                                           const wg_search_options *options,
                                           wg_hypothesis **results);

/** Scores n given translations in one pass, without a search.
 * @param s the search
 * @param sources [n] ids of each, as in wg_search_run
 * @param source_lengths [n] tokens of each
 * @param targets [n] ids of each, with the end of sentence
 * @param target_lengths [n] tokens of each
 * @param n pairs of a source and a target
 * @param options NULL: the defaults; only penalty, alpha, attention and stop are used
 * @param results (*results)[i] has token_scores, log_probability, score, n_correct and, if
 *        requested, attention; all of it 0 or NULL where the target is empty.  A source without
 *        tokens leaves the decoder nothing to attend to.  The caller frees them by
 *        wg_hypotheses_free; NULL on failure.
 * @return as wg_search_run */
WG_API WG_MUST_USE wg_status wg_search_score(wg_search *s, const int32_t *const *sources,
                                             const size_t *source_lengths,
                                             const int32_t *const *targets,
                                             const size_t *target_lengths, size_t n,
                                             const wg_search_options *options,
                                             wg_hypothesis **results);

/** Frees the array and what its hypotheses hold; NULL is allowed. */
WG_API void wg_hypotheses_free(wg_hypothesis *results, size_t count);

/** Why the last run failed; "" if it did not.  Valid until the next call. */
WG_API const char *wg_search_message(const wg_search *s);

#ifdef __cplusplus
}
#endif
#endif
