/* Training a Transformer: data, one plan per shape of a batch, updates, validation, checkpoints.
 *
 * The folder (wengert/train/folder.h) holds the whole state of a run.  A trainer created on a
 * folder with a progress.json resumes that run, and keeps other trainers out of the folder until it
 * is freed.  On the same machine with the same number of
 * threads, the final parameters are bit for bit those of an uninterrupted run. */
#ifndef WG_TRAIN_TRAINER_H
#define WG_TRAIN_TRAINER_H

#include "wengert/train/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A training run. */
typedef struct wg_trainer wg_trainer;

/** Kinds of events. */
typedef enum wg_event_kind {
    WG_EVENT_NOTE = 0, /**< a remark: sizes, a damaged checkpoint */
    WG_EVENT_UPDATE,   /**< an update was done; no text */
    WG_EVENT_DISPLAY,  /**< progress, every settings.disp_freq */
    WG_EVENT_VALID,    /**< validation metrics, every settings.valid_freq */
    WG_EVENT_SAVED     /**< a checkpoint was written */
} wg_event_kind;

/** An event of a run.  `text` is valid only during the call. */
typedef struct wg_event {
    int kind;                    /**< wg_event_kind */
    const char *text;            /**< one line of text, without newline */
    int64_t epoch;               /**< 1, 2, ... */
    int64_t update;              /**< updates done in the whole run */
    int64_t updates_in_epoch;    /**< done in this epoch */
    int64_t of_updates_in_epoch; /**< updates in one epoch */
    double cost;                 /**< label-smoothed nats per target token since the last display */
    double rate;                 /**< learning rate of the last update */
    double gradient_norm;        /**< of the last update, before clipping */
    double words_per_second;     /**< target tokens per second since the last display */
    double done;                 /**< fraction of settings.after, 0 to 1 */
    double seconds_left;         /**< NaN: unknown */
} wg_event;

/** A receiver of events. */
typedef struct wg_listener {
    void (*tell)(void *context, const wg_event *event); /**< NULL: nobody */
    void *context;                                      /**< first argument of `tell` */
} wg_listener;

/** Creates a trainer: locks the folder, reads or trains vocabularies, reads data, restores a
 * checkpoint.  The settings are copied; `listener` may be NULL.  On failure *out is NULL: WG_EINVAL
 * (settings, or a folder with weights but without their run), WG_EDATA (texts or a folder's files),
 * WG_EIO (also: another trainer has the folder), WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_trainer_create(wg_trainer **out, const wg_settings *settings,
                                               const wg_listener *listener, wg_error *error);
/** Frees the trainer; NULL is allowed. */
WG_API void wg_trainer_free(wg_trainer *t);
/** Trains until settings->after, until early stopping, or until *stop is nonzero, and saves at the
 * set frequency and at the end.  It stops after the batch in progress: an update of several batches
 * is begun anew when the run is resumed, and so is a validation.  Returns WG_OK if it was stopped.
 * `stop` may be NULL.  WG_ENONFINITE: a loss or a gradient was not finite, or a new parameter or
 * moment could be none; that update was not applied, and nothing was saved after it. */
WG_API WG_MUST_USE wg_status wg_trainer_run(wg_trainer *t, const volatile int *stop);
/** Why the last run failed; valid as long as t. */
WG_API const char *wg_trainer_message(const wg_trainer *t);

#ifdef __cplusplus
}
#endif
#endif
