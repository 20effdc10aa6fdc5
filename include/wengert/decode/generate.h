/* Texts drawn from a language model, a Transformer with only a decoder (encoder_layers = 0), token
 * by token with a KV cache: the cost of a token is linear, not quadratic, in the number of tokens
 * before it.
 *
 *     wg_generator *g;
 *     wg_generated *found;
 *     const wg_generate_options o = {.sampling = {.temperature = 0.8, .top_p = 0.9}, .length = 50};
 *     if (wg_generator_create(&g, &model, &error) != WG_OK)
 *         return fprintf(stderr, "%s\n", error.text), 1;
 *     if (wg_generator_run(g, prompt, n, &o, &found) != WG_OK)
 *         fprintf(stderr, "%s\n", wg_generator_message(g));
 *     ...
 *     wg_generated_free(found, 1);
 *     wg_generator_free(g);
 *
 * What is drawn is a function of the model, the prompt, the sampling and the seed.  Sample i of a
 * seed is the same however many samples there are and whatever the length, except for the rounding
 * of a backend whose products depend on the number of rows, as in wengert/decode/search.h. */
#ifndef WG_DECODE_GENERATE_H
#define WG_DECODE_GENERATE_H

#include "wengert/decode/sample.h"
#include "wengert/decode/search.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A generator: its model and the plans created so far.  Only one thread may use it at a time. */
typedef struct wg_generator wg_generator;

/** How texts are drawn. */
typedef struct wg_generate_options {
    wg_sampling sampling; /**< WG_SAMPLING_PLAIN: from the model's own distribution */
    /** Maximum number of tokens drawn, the end included.  With learned positions a text also ends
     * at the last of them. */
    int64_t length;
    int64_t samples; /**< texts, each from the prompt on; 0: 1 */
    uint64_t seed;   /**< of the random numbers */
    bool go_on;      /**< treat the end token like any other: only `length` ends a text */
    /** NULL, or ends a call with WG_ESTOPPED soon after it becomes nonzero. */
    const volatile int *stop;
} wg_generate_options;

/** A text drawn, without its prompt. */
typedef struct wg_generated {
    int32_t *ids;           /**< [n], the end token included if it was drawn */
    size_t n;               /**< tokens */
    double log_probability; /**< of all of them by the model itself, in nats */
    bool ended;             /**< the last token is the end */
} wg_generated;

/** Creates a generator of a model without an encoder.  bos is read first; pad, and bos unless it is
 * eos, are never drawn, nor is unk with no_unk.  The values of the parameters may change between
 * runs.
 * @return WG_EINVAL for a bad model, WG_ESHAPE for a parameter of another shape or dtype,
 *         WG_ENOMEM */
WG_API WG_MUST_USE wg_status wg_generator_create(wg_generator **out, const wg_search_model *model,
                                                 wg_error *error);
/** Frees the generator; NULL is allowed. */
WG_API void wg_generator_free(wg_generator *g);

/** Continues a prompt.
 * @param g the generator
 * @param prompt [n] ids, without the begin; NULL if n is 0
 * @param n tokens of the prompt
 * @param options how
 * @param results (*results)[i] is sample i.  The caller frees them by wg_generated_free; NULL on
 *        failure
 * @return WG_EINVAL for bad options, WG_EDATA for a bad id or a prompt that leaves no learned
 *         position, WG_ENONFINITE if the next token has no finite probability, WG_ESTOPPED,
 *         WG_ENOMEM, or what a plan's run returns; wg_generator_message says why */
WG_API WG_MUST_USE wg_status wg_generator_run(wg_generator *g, const int32_t *prompt, size_t n,
                                              const wg_generate_options *options,
                                              wg_generated **results);

/** Frees `count` results and what they own; NULL is allowed. */
WG_API void wg_generated_free(wg_generated *results, size_t count);

/** Why the last run failed; "" if it did not.  Valid until the next call. */
WG_API const char *wg_generator_message(const wg_generator *g);

#ifdef __cplusplus
}
#endif
#endif
