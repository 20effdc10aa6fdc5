/* The trainer and its reports; not installed. */
#ifndef WG_TRAIN_TRAINER_INTERNAL_H
#define WG_TRAIN_TRAINER_INTERNAL_H

#include "train/checkpoint.h"
#include "train/trainer.h"
#include "train/validate.h"

/* Sums since the last display. */
typedef struct wg_span {
    double cost; /* summed over target tokens, in nats */
    int64_t tokens, sentences, updates;
    double norm, rate; /* of the last update */
    double start;      /* wg_seconds         */
} wg_span;

struct wg_trainer {
    wg_settings settings;
    wg_listener listener;
    wg_backend_list backends;
    wg_training_data data;
    wg_store *store;
    wg_plans plans;
    wg_validator validator;
    wg_batches *batches;
    wg_progress progress;
    wg_span span;
    bool made_folder;     /* it was not there before                     */
    int64_t saved;        /* number of the last checkpoint, -1: none     */
    double start;         /* wg_seconds of wg_trainer_create             */
    double seconds_until; /* of training before that                     */
    double run;           /* wg_seconds of wg_trainer_run                */
    double done_until;    /* share of the training that was done by then */
    FILE *metrics;
    char message[2048];
};

/* Of a clock that only goes forward. */
double wg_seconds(void);

/* ---- trainer.c ---- */

/* Share of settings.after that is done, 0 to 1; 0 if there is no end. */
double wg_trainer_done(const wg_trainer *t);

/* ---- report.c ---- */

/* Opens metrics.jsonl behind the first progress.metrics_bytes bytes. */
wg_status wg_report_open(wg_trainer *t);
wg_status wg_report_close(wg_trainer *t);
void wg_report_note(wg_trainer *t, const char *format, ...) WG_PRINTF(2, 3);
void wg_report_update(wg_trainer *t);
/* A line and a record of the span, and the next one begins. */
wg_status wg_report_span(wg_trainer *t);
/* `news` tells what is best or stalled. */
wg_status wg_report_validation(wg_trainer *t, const wg_validation *v, const char *news);
/* Before the checkpoint is written, since it tells how far metrics.jsonl belongs to it; the line comes after. */
wg_status wg_report_saving(wg_trainer *t);
void wg_report_saved(wg_trainer *t);

#endif
