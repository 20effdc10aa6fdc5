/* Training a Transformer: data, a plan for each shape of batch, updates, validation, checkpoints.
 *
 * All that belongs to a run stands in its folder (wengert/train/folder.h).  Creating a trainer on a
 * folder that has a progress.json resumes the run: final parameters are then bit-identical to those
 * of a run that was never interrupted. */
#ifndef WG_TRAIN_TRAINER_H
#define WG_TRAIN_TRAINER_H

#include "wengert/train/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A run of training, from wg_trainer_create to wg_trainer_free. */
typedef struct wg_trainer wg_trainer;

/** What an event is about. */
typedef enum wg_event_kind {
    WG_EVENT_NOTE = 0, /**< something to know: sizes, a damaged checkpoint */
    WG_EVENT_UPDATE,   /**< an update was done; no text */
    WG_EVENT_DISPLAY,  /**< settings.disp_freq: how training goes */
    WG_EVENT_VALID,    /**< settings.valid_freq: metrics of the validation set */
    WG_EVENT_SAVED     /**< a checkpoint was written */
} wg_event_kind;

/** What is reported while training; `text` lives during the call only. */
typedef struct wg_event {
    int kind;                    /**< wg_event_kind */
    const char *text;            /**< one line for people */
    int64_t epoch;               /**< 1, 2, ... */
    int64_t update;              /**< updates done in the whole run */
    int64_t updates_in_epoch;    /**< done in this epoch */
    int64_t of_updates_in_epoch; /**< of so many */
    double cost;                 /**< label-smoothed nats a target token since the last display */
    double rate;                 /**< learning rate of the last update */
    double gradient_norm;        /**< of the last update, before clipping */
    double words_per_second;     /**< target tokens since the last display */
    double done;                 /**< share of settings.after, 0 to 1 */
    double seconds_left;         /**< NaN: not known */
} wg_event;

/** Who is told. */
typedef struct wg_listener {
    void (*tell)(void *context, const wg_event *event); /**< NULL: nobody */
    void *context;                                      /**< for tell */
} wg_listener;

/** Reads or makes vocabularies, reads data, restores a checkpoint.  The settings are copied;
 * `listener` may be NULL.  On failure *out is NULL: WG_EINVAL (settings), WG_EDATA (texts or a
 * folder's files), WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_trainer_create(wg_trainer **out, const wg_settings *settings,
                                               const wg_listener *listener, wg_error *error);
/** NULL is allowed. */
WG_API void wg_trainer_free(wg_trainer *t);
/** Trains until settings->after, early stopping, or *stop becomes nonzero (then after the update in
 * progress), saving as set and at the end; a run that was stopped is WG_OK.  `stop` may be NULL.
 * WG_ENONFINITE: a loss or a gradient was not finite; that update was not carried out and nothing
 * is saved after it. */
WG_API WG_MUST_USE wg_status wg_trainer_run(wg_trainer *t, const volatile int *stop);
/** Why the last run failed; lives as long as t. */
WG_API const char *wg_trainer_message(const wg_trainer *t);

#ifdef __cplusplus
}
#endif
#endif
