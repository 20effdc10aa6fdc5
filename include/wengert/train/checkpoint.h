/* Checkpoints: all that a run needs to go on as if it had never stopped.
 *
 * The checkpoint after update N is a set of files in the folder's checkpoints/:
 *
 *     model-N.safetensors      parameters; named stopped-N.safetensors if the run merely ended
 *                              there, not at a multiple of --save-freq
 *     average-N.safetensors    their exponential averages, under the parameters' names; only if
 *                              there are any
 *     optimizer-N.safetensors  moments and the count of steps
 *     progress-N.json          where the run stood, with fingerprints of the files above
 *
 * (N has 8 digits or more), of which progress-N.json is written last: without it there is no
 * checkpoint N.  So whatever happens while one is written, the one before is whole.  Then the same
 * files become model.safetensors, ... of the folder, as hard links where the file system has them,
 * progress.json last.  The last two checkpoints stay, and the models of some more for averaging:
 * the mean is one over even distances, whether the run was interrupted or not, so where it merely
 * ended does not count. */
#ifndef WG_TRAIN_CHECKPOINT_H
#define WG_TRAIN_CHECKPOINT_H

#include "wengert/backends/store.h"
#include "wengert/train/batches.h"
#include "wengert/train/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A metric's best value on the validation set. */
typedef struct wg_best {
    char metric[24]; /**< "bleu" */
    double value;    /**< as reported */
    int64_t update;  /**< after which it was measured */
} wg_best;

enum {
    WG_MAX_METRICS = 8,     /**< capacity of wg_progress.best */
    WG_CHECKPOINT_FILES = 3 /**< files of tensors: model, average, optimizer */
};

/** Where a run stands. */
typedef struct wg_progress {
    int64_t update;               /**< updates done */
    int64_t tokens;               /**< target tokens seen */
    int64_t sentences;            /**< pairs seen */
    wg_cursor cursor;             /**< of the batches; its epoch also counts those that are done */
    int64_t stalled;              /**< validations since the first metric was at its best */
    wg_best best[WG_MAX_METRICS]; /**< [n_best] in the order in which they were first measured */
    size_t n_best;                /**< metrics measured so far */
    double seconds;               /**< of training */
    int64_t metrics_bytes;        /**< of metrics.jsonl that belong to it */
    uint64_t data;                /**< fingerprint of the training set */
    uint64_t vocabularies;        /**< fingerprint of both vocabularies */
    uint64_t files[WG_CHECKPOINT_FILES]; /**< fingerprints of the files; set by saving */
} wg_progress;

/** Saves store and progress as the checkpoint of that update, which is one of settings->save_freq
 * or (`stopped`) where the run ended, and removes what is older than the last two checkpoints and
 * the last settings->keep models of save_freq (at least two).  On failure (WG_EIO, WG_ENOMEM) the
 * checkpoints that there were are whole. */
WG_API WG_MUST_USE wg_status wg_checkpoint_save(const char *folder, const wg_store *store,
                                                wg_progress *progress, const wg_settings *settings,
                                                bool stopped, wg_error *error);

/** Is there a run to go on with? */
WG_API bool wg_checkpoint_exists(const char *folder);
/** Restores the newest checkpoint that is whole into the store, whose tensors must be those of the
 * checkpoint.  If a newer one is damaged, error->warning says so and the status is WG_OK.
 * WG_EINVAL: a setting differs that may not; WG_EDATA or WG_EIO: none is whole. */
WG_API WG_MUST_USE wg_status wg_checkpoint_load(const char *folder, wg_store *store,
                                                wg_progress *progress, const wg_settings *settings,
                                                wg_error *error);
/** Removes all checkpoints, the last and the best models and the metrics.  WG_EIO: some stay. */
WG_API WG_MUST_USE wg_status wg_checkpoint_clear(const char *folder, wg_error *error);

/** Writes the store's parameters alone.  Fails as wg_safetensors_write does. */
WG_API WG_MUST_USE wg_status wg_checkpoint_write_model(const wg_store *store, const char *path,
                                                       wg_error *error);
/** Exchanges parameters and their averages; without averages nothing happens. */
WG_API void wg_checkpoint_swap_averages(wg_store *store);
/** The paths of the newest models of save_freq, at most `max`, oldest first: the array and each are
 * the caller's to free.  WG_EIO: there is none; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_checkpoint_models(const char *folder, size_t max, char ***paths,
                                                  size_t *n, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
