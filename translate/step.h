/* The Transformer as a model that is trained. */
#ifndef WG_TRANSLATE_STEP_H
#define WG_TRANSLATE_STEP_H

#include "wengert/train/trainer.h"
#include "wengert/translate/settings.h"

enum { WGI_SOURCE = 0, WGI_SOURCE_LENGTHS, WGI_TARGET_IN, WGI_TARGET_OUT, WGI_TRANSLATION_FIELDS };
extern const wg_field wgi_translation_fields[WGI_TRANSLATION_FIELDS];

/* The fields of the model: those from the first on, which is the target's of a language model. */
static inline size_t wgi_first_field(const wg_settings *s)
{
    return s->type == WG_TYPE_LM ? WGI_TARGET_IN : WGI_SOURCE;
}

/* The shapes of all fields for a batch of B rows. */
void wgi_translation_shapes(wg_shape shapes[WGI_TRANSLATION_FIELDS], int64_t rows,
                            int64_t source_length, int64_t target_length);

/* What the settings say of the model and its updates: the graph of a step depends on nothing else.
 * The settings must outlive it. */
wg_trainer_options wgi_translation_options(const wg_settings *settings);

#endif
