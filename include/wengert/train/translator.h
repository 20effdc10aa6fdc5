/* A trained model folder in use: text in, text out. */
#ifndef WG_TRAIN_TRANSLATOR_H
#define WG_TRAIN_TRANSLATOR_H

#include "wengert/decode/search.h"
#include "wengert/text/vocabulary.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_translator wg_translator;

/** Zero means the default in every field. */
typedef struct wg_translator_options {
    const char *
        weights; /* file within the folder, or any path; NULL: the best by the metric that decided, else by
                            another, else the average, else the last */
    const wg_backend *const *backends;
    size_t n_backends;
    int threads;
    bool int8; /* products with weights in integers of 8 bits, see wengert/models/quantize.h */
} wg_translator_options;

/** Opens a folder written by training: config.yml, vocabularies, weights. */
WG_API WG_MUST_USE wg_status wg_translator_open(wg_translator **out, const char *folder,
                                                const wg_translator_options *options, char *message,
                                                size_t message_size);
WG_API void wg_translator_free(wg_translator *t);
WG_API const char *wg_translator_message(const wg_translator *t);
/** Of source (0) or target (1); owned by the translator. */
WG_API const wg_vocabulary *wg_translator_vocabulary(const wg_translator *t, int side);
WG_API const wg_transformer_config *wg_translator_config(const wg_translator *t);

typedef struct wg_translation {
    char *text;
    wg_hypothesis hypothesis;
} wg_translation;

/** n lines, each without its newline: results[i * n_best + k], the k-th best of line i (fewer: text
 * NULL), freed by
 *  wg_translations_free.  A blank line has an empty translation.  Attention has a column for each
 *  source token, the last of which is the end of sentence. */
WG_API WG_MUST_USE wg_status wg_translator_run(wg_translator *t, const char *const *lines, size_t n,
                                               const wg_search_options *options,
                                               wg_translation **results);
/** Scores given pairs of lines. */
WG_API WG_MUST_USE wg_status wg_translator_score(wg_translator *t, const char *const *sources,
                                                 const char *const *targets, size_t n,
                                                 const wg_search_options *options,
                                                 wg_translation **results);
WG_API void wg_translations_free(wg_translation *results, size_t count);

#ifdef __cplusplus
}
#endif
#endif
