/* Vocabularies and corpora of a run. */
#ifndef WG_TRANSLATE_DATA_H
#define WG_TRANSLATE_DATA_H

#include "wengert/translate/batches.h"
#include "wengert/translate/folder.h"
#include "wengert/translate/settings.h"

typedef struct wgi_training_data {
    wg_vocabularies vocabularies;
    bool of_folder;           /* the vocabularies came from the model's folder */
    wg_corpus *train, *valid; /* valid: NULL without a validation set */
} wgi_training_data;

/* Of one text, for a language model: both vocabularies are then the same, and the corpora have
 * spans. */
wg_status wgi_data_spans(wg_corpus **out, const char *path, const wg_vocabularies *vocabularies,
                         const wg_settings *settings, wg_error *error);

/* The vocabularies are the folder's if it has them and is not to be overwritten, else those given,
 * else built from the training sets.  Writes nothing. */
wg_status wgi_data_open(wgi_training_data *out, const wg_settings *settings, wg_error *error);
void wgi_data_free(wgi_training_data *d);
/* Batches of a corpus with the special tokens of its vocabularies. */
wg_status wgi_data_batches(wg_batches **out, const wgi_training_data *d, const wg_corpus *corpus,
                           const wg_settings *settings, wg_error *error);

#endif
