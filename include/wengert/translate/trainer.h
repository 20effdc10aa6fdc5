/* Training a Transformer on parallel text: a run of wengert/train/trainer.h from the settings of
 * `wengert train`.
 *
 * The folder also holds the settings and the vocabularies (wengert/translate/folder.h). */
#ifndef WG_TRANSLATE_TRAINER_H
#define WG_TRANSLATE_TRAINER_H

#include "wengert/train/trainer.h"
#include "wengert/translate/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Creates a trainer: locks the folder settings->model, reads or trains vocabularies, reads data,
 * restores a checkpoint.  The settings are copied; `listener` may be NULL.  Batches count target
 * tokens, which are the unit 't' of an amount; the loss of events is the label-smoothed cost in
 * nats per target token.  On failure *out is NULL: WG_EINVAL (settings, or a folder with weights
 * but without their run), WG_EDATA (texts or a folder's files), WG_EIO (also: another trainer
 * has the folder), WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_translation_trainer(wg_trainer **out, const wg_settings *settings,
                                                    const wg_listener *listener, wg_error *error);

/** The same on several ranks (wg_trainer_options.ranks), all of which read the same texts and the
 * same folder.  `ranks` may be NULL. */
WG_API WG_MUST_USE wg_status wg_translation_trainer_on(wg_trainer **out,
                                                       const wg_settings *settings,
                                                       const wg_listener *listener, wg_ranks *ranks,
                                                       wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
