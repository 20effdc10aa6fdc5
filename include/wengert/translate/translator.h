/* Translation of text with a trained model folder. */
#ifndef WG_TRANSLATE_TRANSLATOR_H
#define WG_TRANSLATE_TRANSLATOR_H

#include "wengert/decode/search.h"
#include "wengert/text/vocabulary.h"
#include "wengert/translate/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A model with its vocabularies.  Only one thread may use it at a time. */
typedef struct wg_translator wg_translator;

/** Tokens of a line, unless wg_translator_options says otherwise. */
#define WG_LINE_TOKENS 1000

/** How a folder is opened.  Zero means the default in every field. */
typedef struct wg_translator_options {
    /** A file in the folder, or any path.  NULL: the best parameters by the first validation
     * metric, else by another metric, else the moving average, else the last parameters. */
    const char *weights;
    const wg_settings *settings;       /**< those of the folder, if already read; or NULL */
    const wg_backend *const *backends; /**< [n_backends] preferred ones first; NULL: all built in */
    size_t n_backends;                 /**< length of backends */
    int threads;                       /**< up to WG_MAX_THREADS; 0: what the process may use */
    /** Lines of more tokens, end of sentence not counted, are cut there (wg_translation.cut), since
     * memory and time grow with the square of the longest.  0: WG_LINE_TOKENS; below 0: no limit.
     * Learned positions are always a limit. */
    int64_t max_tokens;
    bool int8; /**< products with weights in 8-bit integers, see wengert/models/quantize.h */
} wg_translator_options;

/** Opens a folder written by training: config.yml, vocabularies, weights.  `options` may be NULL.
 * On failure *out is NULL: WG_EIO, WG_EDATA (files that are damaged or do not match), WG_ENONFINITE
 * (a weight is NaN or infinite; the error names its tensor), WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_translator_open(wg_translator **out, const char *folder,
                                                const wg_translator_options *options,
                                                wg_error *error);
/** Frees the translator; NULL is allowed. */
WG_API void wg_translator_free(wg_translator *t);
/** Why the last call failed; "" if it did not.  Valid until the next call. */
WG_API const char *wg_translator_message(const wg_translator *t);
/** The vocabulary of the source (0) or the target (1); owned by the translator. */
WG_API const wg_vocabulary *wg_translator_vocabulary(const wg_translator *t, int side);
/** The configuration of the model, with the sizes of its vocabularies; owned by the translator. */
WG_API const wg_transformer_config *wg_translator_config(const wg_translator *t);
/** The parameters that were opened; owned by the translator. */
WG_API const wg_store *wg_translator_store(const wg_translator *t);

/** A line's translation, or the score of a given one. */
typedef struct wg_translation {
    char *text;               /**< NULL: there are fewer than n_best */
    wg_hypothesis hypothesis; /**< its tokens and scores */
    size_t cut; /**< tokens beyond the limit, which were left out: of the line, or of both sides */
} wg_translation;

/** Translates n lines, each without its newline.  (*results)[i * n_best + k] is the k-th best
 * translation of line i; text is NULL if there are fewer.  The caller frees the results by
 * wg_translations_free.  A blank line has an empty translation.  Attention has a column for each
 * source token, the last of which is the end of sentence. */
WG_API WG_MUST_USE wg_status wg_translator_run(wg_translator *t, const char *const *lines, size_t n,
                                               const wg_search_options *options,
                                               wg_translation **results);
/** Scores n given pairs of lines: (*results)[i] is the score of pair i.  The caller frees the
 * results by wg_translations_free. */
WG_API WG_MUST_USE wg_status wg_translator_score(wg_translator *t, const char *const *sources,
                                                 const char *const *targets, size_t n,
                                                 const wg_search_options *options,
                                                 wg_translation **results);
/** Frees `count` results and what they own; NULL is allowed. */
WG_API void wg_translations_free(wg_translation *results, size_t count);

#ifdef __cplusplus
}
#endif
#endif
