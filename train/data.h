/* Vocabularies and corpora of a training; not installed. */
#ifndef WG_TRAIN_DATA_H
#define WG_TRAIN_DATA_H

#include "train/batches.h"
#include "train/folder.h"
#include "train/settings.h"

typedef struct wg_training_data {
    wg_vocabularies vocabularies;
    bool of_folder;           /* the vocabularies are those that the model's folder has */
    wg_corpus *train, *valid; /* valid: NULL without a validation set */
} wg_training_data;

/* Vocabularies of the folder if it has some (and is not to be overwritten), else those given, else made from the
 * training sets.  Writes nothing. */
wg_status wg_data_open(wg_training_data *out, const wg_settings *settings, char *message, size_t message_size);
void wg_data_free(wg_training_data *d);
/* Batches of a corpus with the special tokens of its vocabularies. */
wg_status wg_data_batches(wg_batches **out, const wg_training_data *d, const wg_corpus *corpus,
                          const wg_settings *settings, char *message, size_t message_size);

#endif
