/* A trained model in memory: what translation and generation have in common. */
#ifndef WG_PRIVATE_TRANSLATE_OPENED_H
#define WG_PRIVATE_TRANSLATE_OPENED_H

#include "translate/marks.h"
#include "wengert/backends/store.h"

typedef struct wgi_opened_model {
    wg_settings settings; /* of its folder, with the sizes of the vocabularies */
    wg_vocabularies vocabularies;
    wgi_sentence_marks marks;
    wg_store *store; /* the parameters */
} wgi_opened_model;

/* Opens the folder, with its settings or, if not NULL, those given; `weights` as in
 * wg_translator_options.  Close it also after a failure: WG_EINVAL if the model is not of that
 * type, or as wg_translator_open says. */
wg_status wgi_open_model(wgi_opened_model *m, wg_model_type type, const char *folder,
                         const wg_settings *settings, const char *weights, wg_error *error);
void wgi_close_model(wgi_opened_model *m);

#endif
