/* The trainer and its reports. */
#ifndef WG_PRIVATE_TRAIN_TRAINER_H
#define WG_PRIVATE_TRAIN_TRAINER_H

#include "wengert/train/checkpoint.h"
#include "wengert/train/trainer.h"
#include "files/lock.h"
#include "graph/clock.h"
#include "train/validate.h"

/* Sums since progress was last printed. */
typedef struct wgi_span {
    double cost; /* summed over target tokens, in nats */
    int64_t tokens, sentences, updates;
    double norm, rate; /* of the last update */
    double start;      /* wgi_seconds         */
} wgi_span;

struct wg_trainer {
    wg_settings settings;
    wg_listener listener;
    wg_backend_list backends;
    wgi_training_data data;
    wg_store *store;
    wgi_plans plans;
    wgi_validator validator;
    wg_batches *batches;
    wg_progress progress;
    wgi_span span;
    wgi_lock lock;            /* of the folder */
    bool made_folder;         /* wg_trainer_create made it */
    bool resumes;             /* the folder has a checkpoint */
    int64_t saved;            /* number of the last checkpoint, -1: none     */
    double start;             /* wgi_seconds of wg_trainer_create             */
    double seconds_until;     /* of training before wg_trainer_create */
    double run;               /* wgi_seconds of wg_trainer_run                */
    double done_until;        /* share of the run that was done by then */
    const volatile int *stop; /* of wg_trainer_run */
    FILE *metrics;
    wg_error error;
};

/* ---- state.c --------------------------------------------------------------------------------- */

/* How much is done, in the unit of an amount ('e', 'u', 't'); only whole epochs count. */
int64_t wgi_done_in(const wg_progress *p, char unit);
/* The best value of that metric so far; NULL if there is none. */
wg_best *wgi_best_of(wg_progress *p, const char *metric);
/* Fraction of settings.after that is done, 0 to 1; 0 if the run has no end. */
double wgi_trainer_done(const wg_trainer *t);

/* ---- report.c -------------------------------------------------------------------------------- */

/* Opens metrics.jsonl for appending, cut to progress.metrics_bytes bytes. */
wg_status wgi_report_open(wg_trainer *t);
wg_status wgi_report_close(wg_trainer *t);
void wgi_report_note(wg_trainer *t, const char *format, ...) WG_PRINTF(2, 3);
void wgi_report_update(wg_trainer *t);
/* Prints and records the span, and begins the next one. */
wg_status wgi_report_span(wg_trainer *t);
wg_status wgi_report_validation(wg_trainer *t, const wgi_validation *v);
/* Records a save before the checkpoint is written, which stores the length of metrics.jsonl.
 * wgi_report_saved prints the line afterwards. */
wg_status wgi_report_saving(wg_trainer *t);
void wgi_report_saved(wg_trainer *t);

#endif
