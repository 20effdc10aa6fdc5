/* Training a Transformer: data, plans by length bucket, updates, validation, checkpoints, resume.
 *
 * All that a run is stands in its folder: config.yml, vocab.*, model.safetensors (last),
 * best-METRIC.safetensors, optimizer.safetensors, average.safetensors (exponential smoothing),
 * epoch checkpoints, progress.json, metrics.jsonl. Creating a trainer on a folder that has a
 * progress.json resumes it: final parameters are then bit-identical to those of a run that was
 * never interrupted. */
#ifndef WG_TRAIN_TRAINER_H
#define WG_TRAIN_TRAINER_H

#include "wengert/train/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_trainer wg_trainer;

/** What is told while training; `text` lives during the call only. */
typedef enum wg_event_kind {
    WG_EVENT_NOTE = 0,
    WG_EVENT_UPDATE,
    WG_EVENT_DISPLAY,
    WG_EVENT_VALID,
    WG_EVENT_SAVED
} wg_event_kind;

typedef struct wg_event {
    int kind;
    const char *text; /* one line for people                     */
    int64_t epoch, update, updates_in_epoch, of_updates_in_epoch;
    double cost; /* smoothed cross entropy a target token, in nats, over the displayed span */
    double rate, gradient_norm, words_per_second, done; /* done: share of `after`, 0 to 1 */
    double seconds_left;
} wg_event;

typedef struct wg_listener {
    void (*tell)(void *context, const wg_event *event);
    void *context;
} wg_listener;

/** Reads or makes vocabularies, reads data, restores a checkpoint.  The settings are copied.
 * `listener` may be NULL, and
 *  so may `message`.  On failure *out is NULL and the message says why: WG_EINVAL (settings),
 *  WG_EDATA (texts or a folder's files), WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_trainer_create(wg_trainer **out, const wg_settings *settings,
                                               const wg_listener *listener, char *message,
                                               size_t message_size);
WG_API void wg_trainer_free(wg_trainer *t); /* NULL is allowed */
/** Trains until settings->after, early stopping, or *stop becomes nonzero (then after the update in
 * progress), saving
 *  as set and at the end; a training that was stopped is WG_OK.  `stop` may be NULL.
 *  WG_ENONFINITE: a loss or a gradient was not finite; that update was not carried out and nothing
 *  is saved after it. */
WG_API WG_MUST_USE wg_status wg_trainer_run(wg_trainer *t, const volatile int *stop);
/** Why the last run failed; lives as long as t. */
WG_API const char *wg_trainer_message(const wg_trainer *t);

#ifdef __cplusplus
}
#endif
#endif
