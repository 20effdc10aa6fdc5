/* The files of a model's folder, by name; its settings and its vocabularies.
 *
 *     config.yml                 all settings of the run
 *     vocab.spm | vocab.txt      the joint vocabulary; or vocab.source.*, vocab.target.*, two
 *     model.safetensors          the parameters last saved
 *     average.safetensors        their exponential average, if one is kept
 *     optimizer.safetensors      moments
 *     best-METRIC.safetensors    the parameters that were best on the validation set
 *     progress.json              where the run stands
 *     metrics.jsonl              a line for each display, validation and save
 *     checkpoints/               the same after certain updates: wengert/train/checkpoint.h */
#ifndef WG_TRAIN_FOLDER_H
#define WG_TRAIN_FOLDER_H

#include "wengert/text/vocabulary.h"
#include "wengert/train/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WG_FILE_CONFIG "config.yml"               /**< settings */
#define WG_FILE_MODEL "model.safetensors"         /**< parameters last saved */
#define WG_FILE_AVERAGE "average.safetensors"     /**< their exponential average */
#define WG_FILE_OPTIMIZER "optimizer.safetensors" /**< moments */
#define WG_FILE_PROGRESS "progress.json"          /**< where the run stands */
#define WG_FILE_METRICS "metrics.jsonl"           /**< what was measured */
#define WG_FOLDER_CHECKPOINTS "checkpoints"       /**< earlier states */

/** "folder/name", the caller's to free; name by printf's rules.  NULL without memory. */
WG_API char *wg_folder_path(const char *folder, const char *format, ...) WG_PRINTF(2, 3);
/** Does the folder have a file of that name? */
WG_API bool wg_folder_has(const char *folder, const char *name);
/** Makes the folder and those above it that are missing.  WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_folder_make(const char *folder, wg_error *error);

/** WG_EIO unless the folder has a config.yml, as each model's folder does. */
WG_API WG_MUST_USE wg_status wg_folder_check(const char *folder, wg_error *error);
/** Reads the folder's config.yml; the caller calls wg_settings_free.  On failure (wg_folder_check,
 * wg_settings_read_yaml) *out is empty. */
WG_API WG_MUST_USE wg_status wg_folder_settings(wg_settings *out, const char *folder,
                                                wg_error *error);

/** Source and target vocabulary; a joint one stands in both places. */
typedef struct wg_vocabularies {
    wg_vocabulary *side[2]; /**< source, target */
} wg_vocabularies;

/** Does the folder have vocabularies? */
WG_API bool wg_vocabularies_exist(const char *folder);
/** Those of the folder; wg_vocabularies_free frees them.  On failure (WG_EIO, WG_EDATA, WG_ENOMEM)
 * both are NULL. */
WG_API WG_MUST_USE wg_status wg_vocabularies_open(wg_vocabularies *out, const char *folder,
                                                  wg_error *error);
/** From two files; target NULL, or the source's path again: one for both sides. */
WG_API WG_MUST_USE wg_status wg_vocabularies_read(wg_vocabularies *out, const char *source,
                                                  const char *target, wg_error *error);
/** WG_EINVAL unless the files have the vocabularies that the folder has; else as
 * wg_vocabularies_read. */
WG_API WG_MUST_USE wg_status wg_vocabularies_expect(const char *folder, const char *source,
                                                    const char *target, wg_error *error);
/** Replaces the vocabularies that were there.  WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_vocabularies_save(const wg_vocabularies *v, const char *folder,
                                                  wg_error *error);
/** Frees both and sets them to NULL. */
WG_API void wg_vocabularies_free(wg_vocabularies *v);

#ifdef __cplusplus
}
#endif
#endif
