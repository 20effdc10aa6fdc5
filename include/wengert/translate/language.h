/* Use of a language model's folder, which `wengert train --type lm' writes: texts are generated,
 * and texts are measured.
 *
 *     wg_language_model *m;
 *     wg_text *found;
 *     const wg_generate_options o = {.sampling = {.temperature = 0.8, .top_p = 0.9}, .length = 50};
 *     if (wg_language_model_open(&m, "stories", NULL, &error) != WG_OK)
 *         return fprintf(stderr, "%s\n", error.text), 1;
 *     if (wg_language_model_generate(m, "once upon a", &o, &found) == WG_OK)
 *         puts(found[0].text);
 *     wg_texts_free(found, 1);
 *     wg_language_model_free(m); */
#ifndef WG_TRANSLATE_LANGUAGE_H
#define WG_TRANSLATE_LANGUAGE_H

#include "wengert/decode/generate.h"
#include "wengert/text/vocabulary.h"
#include "wengert/translate/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A language model with its vocabulary.  Only one thread may use it at a time. */
typedef struct wg_language_model wg_language_model;

/** How a folder is opened.  Zero means the default in every field. */
typedef struct wg_language_model_options {
    /** A file in the folder, or any path.  NULL: the best parameters by the first validation
     * metric, else by another metric, else the moving average, else the last parameters. */
    const char *weights;
    const wg_settings *settings;       /**< those of the folder, if already read; or NULL */
    const wg_backend *const *backends; /**< [n_backends] preferred ones first; NULL: all built in */
    size_t n_backends;                 /**< length of backends */
    int threads;                       /**< up to WG_MAX_THREADS; 0: what the process may use */
    bool int8; /**< generates with products in 8-bit integers, see wengert/models/quantize.h */
} wg_language_model_options;

/** Opens a folder written by training: config.yml, vocabulary, weights.  `options` may be NULL.  On
 * failure *out is NULL: WG_EINVAL (the model translates), WG_EIO, WG_EDATA (files that are damaged
 * or do not match), WG_ENONFINITE (a weight is NaN or infinite), WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_language_model_open(wg_language_model **out, const char *folder,
                                                    const wg_language_model_options *options,
                                                    wg_error *error);
/** Frees the model; NULL is allowed. */
WG_API void wg_language_model_free(wg_language_model *m);
/** Why the last call failed; "" if it did not.  Valid until the next call. */
WG_API const char *wg_language_model_message(const wg_language_model *m);
/** The vocabulary; owned by the model. */
WG_API const wg_vocabulary *wg_language_model_vocabulary(const wg_language_model *m);
/** The configuration, with the size of the vocabulary; owned by the model. */
WG_API const wg_transformer_config *wg_language_model_config(const wg_language_model *m);
/** The parameters that were opened; owned by the model. */
WG_API const wg_store *wg_language_model_store(const wg_language_model *m);

/** A text that was generated.  wg_texts_free frees what it has. */
typedef struct wg_text {
    char *text;          /**< the prompt and what was drawn; joined lines are ended by newlines */
    wg_generated tokens; /**< what was drawn */
    size_t unknown;      /**< tokens of the prompt that the vocabulary does not have */
} wg_text;

/** Continues a prompt, which is a line without its newline, "" for none; of a model of joined lines
 * (wg_settings.join_lines) also several, and it goes on over ends of lines.
 * (*results)[i] is sample i; the caller frees them by wg_texts_free.  Fails as wg_generator_run. */
WG_API WG_MUST_USE wg_status wg_language_model_generate(wg_language_model *m, const char *prompt,
                                                        const wg_generate_options *options,
                                                        wg_text **results);
/** Frees `count` results and what they own; NULL is allowed. */
WG_API void wg_texts_free(wg_text *results, size_t count);

/** How well a model predicts a text. */
typedef struct wg_text_score {
    int64_t texts;        /**< spans: lines, or parts of long ones */
    int64_t tokens;       /**< predicted, ends of lines included */
    double cross_entropy; /**< mean of -log p of a token, in nats */
    double perplexity;    /**< its exp */
    double accuracy;      /**< share of tokens that get the greatest probability */
} wg_text_score;

/** Measures a text file, cut as in training (wg_settings.max_length, .join_lines), in floating
 * point.  WG_EIO, WG_EDATA (there is no token in it), WG_ENOMEM, or what a plan's run returns. */
WG_API WG_MUST_USE wg_status wg_language_model_evaluate(wg_language_model *m, const char *path,
                                                        wg_text_score *score);

#ifdef __cplusplus
}
#endif
#endif
