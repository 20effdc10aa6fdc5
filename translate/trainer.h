/* A translation model in training. */
#ifndef WG_PRIVATE_TRANSLATE_TRAINER_H
#define WG_PRIVATE_TRANSLATE_TRAINER_H

#include "train/trainer.h"
#include "translate/data.h"
#include "translate/folder.h"
#include "translate/validate.h"
#include "wengert/backends/load.h"
#include "wengert/translate/trainer.h"

/* A corpus as a source of batches. */
typedef struct wgi_feed {
    wg_batches *batches;
    wg_cursor at;        /* of `now` */
    const wg_batch *now; /* the batch last read; NULL at first */
    size_t first;        /* wgi_first_field */
    wg_source source;
} wgi_feed;

typedef struct wgi_translation {
    wg_settings settings;
    wg_backend_list backends;
    wgi_training_data data;
    wgi_feed train, valid;
    wgi_validator validator;
    uint64_t vocabularies; /* their hash */
    char note_text[WGI_NOTE_SIZE];
    wg_file_note note;                 /* of the vocabularies */
    wg_file_note fact[WG_MAX_OPTIONS]; /* [n_facts] settings that must stay */
    size_t n_facts;
    const char *metric[WGI_METRICS];
} wgi_translation;

/* Of a trainer that wg_translation_trainer made. */
wgi_translation *wgi_translation_of(const wg_trainer *t);

/* Opens the feed of a corpus; fails as wgi_data_batches does. */
wg_status wgi_feed_open(wgi_feed *f, const wgi_training_data *d, const wg_corpus *corpus,
                        const wg_settings *settings, wg_error *error);

#endif
