/* The files of a model folder, its settings and its vocabularies.
 *
 *     config.yml                 all settings of the run
 *     vocab.spm | vocab.txt      the joint vocabulary; two are vocab.source.*, vocab.target.*
 *     model.safetensors          the parameters last saved
 *     average.safetensors        their moving average, if kept
 *     optimizer.safetensors      moments of the optimizer
 *     best-METRIC.safetensors    the best parameters on the validation set by that metric
 *     progress.json              the position in the run
 *     metrics.jsonl              a line for each progress message, validation and save
 *     checkpoints/               earlier states: wengert/train/checkpoint.h
 *     .wengert.lock              while a trainer has the folder */
#ifndef WG_TRAIN_FOLDER_H
#define WG_TRAIN_FOLDER_H

#include "wengert/text/vocabulary.h"
#include "wengert/train/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WG_FILE_CONFIG "config.yml"               /**< settings */
#define WG_FILE_MODEL "model.safetensors"         /**< parameters last saved */
#define WG_FILE_AVERAGE "average.safetensors"     /**< their moving average */
#define WG_FILE_OPTIMIZER "optimizer.safetensors" /**< moments */
#define WG_FILE_PROGRESS "progress.json"          /**< the position in the run */
#define WG_FILE_METRICS "metrics.jsonl"           /**< losses and metrics over time */
#define WG_FOLDER_CHECKPOINTS "checkpoints"       /**< earlier states */

/** "folder/name", with the name formatted as by printf.  The caller frees it.  NULL if out of
 * memory. */
WG_API char *wg_folder_path(const char *folder, const char *format, ...) WG_PRINTF(2, 3);
/** *has: whether the folder has a file of that name; false if the folder itself is missing.  WG_EIO
 * or WG_ENOMEM: it cannot be told. */
WG_API WG_MUST_USE wg_status wg_folder_has(const char *folder, const char *name, bool *has,
                                           wg_error *error);
/** Creates the folder and missing parent folders.  WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_folder_make(const char *folder, wg_error *error);

/** WG_EIO unless the folder has a config.yml, as every model folder does.  WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_folder_check(const char *folder, wg_error *error);
/** Reads the folder's config.yml; the caller calls wg_settings_free.  On failure *out is empty: as
 * wg_folder_check or wg_settings_read_yaml, or WG_EDATA if the file does not match the checksum in
 * its first line.  A file without that line is read as it is. */
WG_API WG_MUST_USE wg_status wg_folder_settings(wg_settings *out, const char *folder,
                                                wg_error *error);

/** Source and target vocabulary; a joint one is in both entries. */
typedef struct wg_vocabularies {
    wg_vocabulary *side[2]; /**< source, target */
} wg_vocabularies;

/** *exist: whether the folder has vocabularies.  WG_EIO or WG_ENOMEM: it cannot be told. */
WG_API WG_MUST_USE wg_status wg_vocabularies_exist(const char *folder, bool *exist,
                                                   wg_error *error);
/** Opens the vocabularies of the folder; wg_vocabularies_free frees them.  On failure (WG_EIO,
 * WG_EDATA, WG_ENOMEM) both are NULL. */
WG_API WG_MUST_USE wg_status wg_vocabularies_open(wg_vocabularies *out, const char *folder,
                                                  wg_error *error);
/** Opens two files.  If `target` is NULL or the same path, one vocabulary serves both sides.  Fails
 * as wg_vocabularies_open does. */
WG_API WG_MUST_USE wg_status wg_vocabularies_read(wg_vocabularies *out, const char *source,
                                                  const char *target, wg_error *error);
/** Checks that the files have the same vocabularies as the folder: WG_EINVAL if not.  Fails as
 * wg_vocabularies_read does, too. */
WG_API WG_MUST_USE wg_status wg_vocabularies_expect(const char *folder, const char *source,
                                                    const char *target, wg_error *error);
/** Writes the vocabularies into the folder, in place of any that are there.  WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_vocabularies_save(const wg_vocabularies *v, const char *folder,
                                                  wg_error *error);
/** Frees both and sets them to NULL. */
WG_API void wg_vocabularies_free(wg_vocabularies *v);

#ifdef __cplusplus
}
#endif
#endif
