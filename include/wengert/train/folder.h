/* The files of a run's folder, whatever its model.
 *
 *     model.safetensors          the parameters last saved
 *     average.safetensors        the model with their moving average, if kept
 *     optimizer.safetensors      moments of the optimizer
 *     best-METRIC.safetensors    the best parameters on the validation data by that metric
 *     progress.json              the position in the run
 *     metrics.jsonl              a line for each progress message, validation and save
 *     checkpoints/               earlier states: wengert/train/checkpoint.h
 *     stop                       while a trainer is asked to stop
 *     .wengert.lock              while a trainer has the folder */
#ifndef WG_TRAIN_FOLDER_H
#define WG_TRAIN_FOLDER_H

#include "wengert/graph/error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WG_FILE_MODEL "model.safetensors"         /**< parameters last saved */
#define WG_FILE_AVERAGE "average.safetensors"     /**< of the moving average */
#define WG_FILE_OPTIMIZER "optimizer.safetensors" /**< moments */
#define WG_FILE_PROGRESS "progress.json"          /**< the position in the run */
#define WG_FILE_METRICS "metrics.jsonl"           /**< losses and metrics over time */
#define WG_FILE_STOP "stop"                       /**< asks the trainer to stop */
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

/** *is: whether a trainer has the folder; true if its file system cannot tell, which has no locks.
 * WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_folder_is_training(const char *folder, bool *is, wg_error *error);
/** Asks the trainer that has the folder, on this machine or another, to stop after the batch in
 * progress, as *stop of wg_trainer_run does (on several ranks: after the update in progress);
 * returns immediately.  WG_EINVAL: no trainer has it; WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_folder_stop(const char *folder, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
