/* The export of a model: tensors, config.json and vocabularies in another program's form. */
#ifndef WG_TRANSLATE_FOREIGN_EXPORT_H
#define WG_TRANSLATE_FOREIGN_EXPORT_H

#include "translate/foreign/layout.h"
#include "translate/translator.h"
#include "wengert/translate/foreign.h"

typedef struct wgi_export {
    const wgi_layout *layout;
    const wg_translator *model;
    const char *folder;
    const wg_vocabulary *side[2];
    int32_t *order[2]; /* [tokens] our ids in the order of theirs; NULL: the same */
    wg_foreign_report *report;
    wg_error *error;
} wgi_export;

/* Our id of their token i. */
static inline int32_t wgi_export_id(const wgi_export *x, int side, int64_t i)
{
    return x->order[side] ? x->order[side][i] : (int32_t)i;
}

/* weights.c: model.safetensors */
wg_status wgi_export_weights(wgi_export *x);
/* describe.c: config.json and what others need beside it */
wg_status wgi_export_config(const wgi_export *x);
/* dictionary.c: vocabularies */
wg_status wgi_export_order(wgi_export *x);
wg_status wgi_export_vocabularies(const wgi_export *x);

/* file.c: replaces the file of that name in the folder by what `put` writes, which may lack
 * memory (WG_ENOMEM). */
wg_status wgi_export_file(const wgi_export *x, const char *name,
                          wg_status (*put)(FILE *f, const wgi_export *x, int side), int side);

#endif
