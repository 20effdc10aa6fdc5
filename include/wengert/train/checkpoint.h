/* Checkpoints: everything needed to resume a training run as if it had never stopped.
 *
 * The checkpoint after update N is a set of files in the folder's checkpoints/:
 *
 *     model-N.safetensors      parameters, saved at a set interval
 *     stopped-N.safetensors    the same where the run ended at another update
 *     average-N.safetensors    moving averages of the parameters, under the same names, if kept
 *     optimizer-N.safetensors  moments and the number of steps
 *     progress-N.json          the position in the run, and hashes of the files above
 *
 * Each has checksums of its own.  N has at least 8 digits.  progress-N.json is written last, and
 * without it there is no checkpoint N; so if writing fails, the previous checkpoint is still
 * complete.  Then model.safetensors, ... in the folder itself are replaced by the same files,
 * progress.json last, as hard links where the file system supports them.
 *
 * The last two checkpoints are kept, and the models of more checkpoints for averaging.  Averages
 * leave out stopped-N, so that they are over equal distances even if the run was interrupted.
 *
 * A checkpoint that is damaged when a run is resumed is moved to checkpoints/damaged/. */
#ifndef WG_TRAIN_CHECKPOINT_H
#define WG_TRAIN_CHECKPOINT_H

#include "wengert/backends/store.h"
#include "wengert/files/safetensors.h"
#include "wengert/train/folder.h"
#include "wengert/train/source.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WG_METRIC_NAME = 24,    /**< bytes of a metric's name, NUL included */
    WG_MAX_METRICS = 8,     /**< capacity of wg_progress.best; the loss is one of them */
    WG_CHECKPOINT_FILES = 3 /**< files of tensors: model, average, optimizer */
};

/** The best value of a metric on the validation data. */
typedef struct wg_best {
    char metric[WG_METRIC_NAME]; /**< "bleu" */
    double value;                /**< as reported */
    int64_t update;              /**< after which it was measured */
} wg_best;

/** The position in a run. */
typedef struct wg_progress {
    int64_t format;               /**< of the file it was read from, 1 or 2; saving ignores it */
    int64_t update;               /**< updates done */
    int64_t weight;               /**< sum of wg_batch_size.weight over all batches seen */
    int64_t examples;             /**< examples seen */
    wg_cursor cursor;             /**< the next batches; `epoch` is the number of finished epochs */
    int64_t stalled;              /**< validations since the first metric last improved */
    int64_t validation_due;       /**< 1: the validation after this update was stopped; else 0 */
    wg_best best[WG_MAX_METRICS]; /**< [n_best] in the order in which they were first measured */
    size_t n_best;                /**< metrics measured so far */
    double seconds;               /**< time spent in training */
    double loss_scale;            /**< of the next update; 0: the loss is not scaled */
    int64_t scale_updates;        /**< updates in a row that were applied at this scale */
    int64_t skipped;              /**< updates skipped, as their gradients were not finite */
    int64_t metrics_bytes;        /**< length of metrics.jsonl at this update */
    uint64_t data;                /**< hash of the training data; 0: not known */
    uint64_t validation;          /**< hash of what metrics are measured on; 0: not known */
    uint64_t vocabularies;        /**< hash of the vocabularies; 0: there are none */
    uint64_t files[WG_CHECKPOINT_FILES]; /**< hashes of the files; set by saving */
} wg_progress;

/** Options of a folder of checkpoints: what it keeps, and records about its run.  Zero means the
 * default in every field. */
typedef struct wg_checkpoint_options {
    int64_t keep; /**< models kept for averaging; fewer than 2: 2 */
    /** [n_settings] names and values that may not change when the run is resumed. */
    const wg_file_note *settings;
    size_t n_settings;         /**< length of `settings` */
    const wg_file_note *notes; /**< [n_notes] metadata of the files of parameters */
    size_t n_notes;            /**< length of `notes` */
    const char *const
        *metrics;      /**< [n_metrics] those whose best-METRIC.safetensors are the run's */
    size_t n_metrics;  /**< length of `metrics` */
    const char *other; /**< a file that wg_checkpoint_clear removes too; NULL: none */
    /** The store of the optimizer's states, "optimizer/...", where they are not in that of the
     * parameters; NULL: they are. */
    const wg_store *moments;
} wg_checkpoint_options;

/** Why a checkpoint is saved. */
typedef enum wg_checkpoint_reason {
    WG_CHECKPOINT_DUE = 0, /**< the interval between checkpoints has passed */
    WG_CHECKPOINT_STOPPED  /**< the run ends, at whatever update */
} wg_checkpoint_reason;

/** Saves store and progress as the checkpoint of progress->update.  Keeps the last two checkpoints
 * and the last options->keep models that were due (at least two), and removes older files.  On
 * failure (WG_EIO, WG_ENOMEM) the previous checkpoints are intact.  WG_ENONFINITE: a parameter, an
 * average or a moment is NaN or infinite, and nothing was saved; the error names the tensors. */
WG_API WG_MUST_USE wg_status wg_checkpoint_save(const char *folder, const wg_store *store,
                                                wg_progress *progress,
                                                const wg_checkpoint_options *options,
                                                wg_checkpoint_reason reason, wg_error *error);

/** *exists: whether the folder has a run to resume.  WG_EIO or WG_ENOMEM: it cannot be told. */
WG_API WG_MUST_USE wg_status wg_checkpoint_exists(const char *folder, bool *exists,
                                                  wg_error *error);
/** Restores the newest intact checkpoint into the store, which must have the same tensors.  A newer
 * one that is damaged, lacks a file or has numbers that are not finite is moved to
 * checkpoints/damaged/; error->warning then says so and the status is WG_OK.  WG_EINVAL: a setting
 * differs that must not; WG_EDATA: no checkpoint is intact; WG_EUNSUPPORTED: the newest is of a
 * later version.  WG_EIO, WG_ENOMEM: files could not be read now; nothing was changed. */
WG_API WG_MUST_USE wg_status wg_checkpoint_load(const char *folder, wg_store *store,
                                                wg_progress *progress,
                                                const wg_checkpoint_options *options,
                                                wg_error *error);
/** Removes all checkpoints, damaged ones too, the last and the best models, and the metrics.
 * WG_EIO: some could not be removed. */
WG_API WG_MUST_USE wg_status wg_checkpoint_clear(const char *folder,
                                                 const wg_checkpoint_options *options,
                                                 wg_error *error);

/** Writes the store's parameters and states of the model, and options->notes.  Fails as
 * wg_safetensors_write does. */
WG_API WG_MUST_USE wg_status wg_checkpoint_write_model(const wg_store *store,
                                                       const wg_checkpoint_options *options,
                                                       const char *path, wg_error *error);
/** Exchanges the parameters with their averages; does nothing without averages. */
WG_API void wg_checkpoint_swap_averages(wg_store *store);
/** The paths of the newest models that were due, at most `max`, oldest first.  The caller frees the
 * array and each path.  WG_EIO: there is none; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_checkpoint_models(const char *folder, size_t max, char ***paths,
                                                  size_t *n, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
