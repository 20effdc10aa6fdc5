/* The trainer, its reports, and what a part of the library adds to it. */
#ifndef WG_PRIVATE_TRAIN_TRAINER_H
#define WG_PRIVATE_TRAIN_TRAINER_H

#include "wengert/train/trainer.h"
#include "files/lock.h"
#include "graph/clock.h"
#include "train/shards.h"
#include "train/source.h"
#include "train/validate.h"

enum { WGI_MAX_NAMES = 16, WGI_MAX_FACTS = 13, WGI_FACT_TEXT = 200 };

/* What a run is about, where wg_trainer_options do not say it: translation, say.  Zero means
 * nothing in every field but `words`.  Hooks report errors in t->error and return their status. */
typedef struct wgi_task {
    void *context;
    struct wgi_words {
        const char *loss, *loss_unit; /* "cost", " nats per token" */
        const char *weight; /* what batches count: key in metrics.jsonl, "target-tokens" */
        const char *speed;  /* the same per second: "words" */
        bool perplexity;    /* exp(loss) is reported as well */
        /* the options by which a user gives the training data, weights to start from, leave to
         * start anew, batches of an update, and validations without a better model: "train-sets",
         * "--pretrained-model", "--overwrite", "--optimizer-delay", "--early-stopping" */
        const char *data, *pretrained, *overwrite, *accumulate, *patience;
    } words;
    wg_checkpoint_options files; /* what they say before `open`, `open` may add to */
    uint64_t vocabularies;       /* of wg_progress */
    uint64_t measures;           /* hash of how metrics are measured, besides on which data */
    /* In the order of calls.  The folder is locked: opens the data, and sets t->options. */
    wg_status (*open)(void *context, wg_trainer *t);
    /* t->options.pretrained has been opened as f. */
    wg_status (*check_pretrained)(void *context, wg_trainer *t, const wg_safetensors *f);
    /* All is open: says what there is.  parameters: numbers in the model. */
    void (*note)(void *context, wg_trainer *t, int64_t parameters);
    /* t->progress was read from a checkpoint. */
    wg_status (*check_resumed)(void *context, wg_trainer *t);
    /* The run begins or goes on: writes what the folder must have. */
    wg_status (*save)(void *context, wg_trainer *t);
    /* Before each checkpoint: writes again what of that is no longer there.  May be NULL. */
    wg_status (*renew)(void *context, wg_trainer *t);
    /* Adds to the results of a validation; WG_ESTOPPED if *t->stop. */
    wg_status (*evaluate)(void *context, wg_trainer *t, wgi_means *m);
    void (*close)(void *context); /* also if `open` failed */
} wgi_task;

/* Sums since progress was last reported. */
typedef struct wgi_span {
    wgi_means means;   /* sums over updates, times their weight; of the batches of this rank */
    int64_t weight;    /* of the batches of all ranks */
    double norm, rate; /* of the last update */
    double start;      /* wgi_seconds         */
} wgi_span;

struct wg_trainer {
    wg_trainer_options options;
    wgi_task task;
    wgi_source train, valid;
    wg_store *store;
    wgi_plans plans;
    wgi_shards shards;
    wg_progress progress;
    wgi_span span;
    wgi_means validation;     /* the last one */
    wgi_lock lock;            /* of the folder */
    bool made_folder;         /* wg_trainer_create made it */
    bool resumes;             /* the folder has a checkpoint */
    bool saves;               /* there is a folder, if only on rank 0 */
    bool asked;               /* to stop, by a file in the folder or by a rank */
    bool states_checked;      /* those of the optimizer, by the first run */
    bool is_whole;            /* no batch of the next update has run */
    int64_t saved;            /* number of the last checkpoint, -1: none     */
    double start;             /* wgi_seconds of wg_trainer_create             */
    double seconds_until;     /* of training before wg_trainer_create */
    double run;               /* wgi_seconds of wg_trainer_run                */
    double done_until;        /* share of the run that was done by then */
    const volatile int *stop; /* of wg_trainer_run */
    FILE *metrics;
    wg_error error;
    wg_file_note fact[WGI_MAX_FACTS]; /* of files.settings, where the task has none of its own */
    char fact_text[WGI_MAX_FACTS][WGI_FACT_TEXT];
    const char *name[WGI_MAX_NAMES]; /* of files.metrics, likewise */
    char name_text[WGI_MAX_NAMES][WG_METRIC_NAME];
};

/* wg_trainer_create of a task; NULL: none. */
wg_status wgi_trainer_create(wg_trainer **out, const wg_trainer_options *options,
                             const wgi_task *task, wg_error *error);

/* Whether this process writes files and reports: rank 0, or the only one. */
static inline bool wgi_leads(const wg_trainer *t)
{
    return !t->options.ranks || wg_ranks_rank(t->options.ranks) == 0;
}

/* ---- together.c: what all ranks do together; without ranks, nothing -------------------------- */

/* The status of the first rank that failed, with its error in t->error; on one rank, its own. */
wg_status wgi_agree(wg_trainer *t, wg_status own);
/* WG_EINVAL: a rank has another program, model, data or settings; the error names the first. */
wg_status wgi_ranks_compare(wg_trainer *t);
/* The state from which rank 0 starts becomes that of all, and whether it was resumed. */
wg_status wgi_ranks_start(wg_trainer *t);
/* WG_EDATA: parameters or moments of a rank have become others; the error names the first. */
wg_status wgi_ranks_compare_state(wg_trainer *t);
/* The text of the first rank that has one, with that rank's name, becomes everybody's. */
void wgi_ranks_first_text(wg_trainer *t, char *text, size_t size);
/* Sums of all ranks. */
wg_status wgi_ranks_add(wg_trainer *t, wgi_means *m);
/* Says which ranks have fewer processors than threads. */
void wgi_ranks_note_binding(wg_trainer *t);

/* ---- begin.c --------------------------------------------------------------------------------- */

/* From the options to a trainer that can run; on failure the error is in t->error. */
wg_status wgi_trainer_begin(wg_trainer *t, const wg_trainer_options *options);

/* ---- options.c ------------------------------------------------------------------------------- */

/* WG_EINVAL, WG_EUNSUPPORTED: what is wrong with the options, in t->error. */
wg_status wgi_options_check(wg_trainer *t);

/* ---- trial.c --------------------------------------------------------------------------------- */

/* Creates all tensors of the store, and finds out whether all steps of the run can be planned. */
wg_status wgi_trial_run(wg_trainer *t);

/* ---- update.c -------------------------------------------------------------------------------- */

/* One update, and its report; WG_ESTOPPED between two of its batches. */
wg_status wgi_trainer_update(wg_trainer *t);

/* ---- state.c --------------------------------------------------------------------------------- */

/* Updates in an epoch. */
int64_t wgi_trainer_groups(const wg_trainer *t);
/* How much is done, in the unit of an amount ('e', 'u', 't'); only whole epochs count. */
int64_t wgi_done_in(const wg_progress *p, char unit);
/* 0 or more in a unit that there is. */
bool wgi_is_amount(wg_amount a);
/* Whether somebody wants the run to end: by *stop, or by a file in the folder. */
bool wgi_trainer_is_asked(const wg_trainer *t);
/* The best value of that metric so far; NULL if there is none. */
wg_best *wgi_best_of(wg_progress *p, const char *metric);
/* Fraction of options.after that is done, 0 to 1; 0 if the run has no end. */
double wgi_trainer_done(const wg_trainer *t);
/* The i-th metric by which best models are kept; false past the end. */
bool wgi_trainer_metric(const wg_trainer *t, size_t i, char name[WG_METRIC_NAME]);

/* ---- facts.c --------------------------------------------------------------------------------- */

/* Sets task.files for a run without a task: what may not change, and names of metrics. */
void wgi_trainer_facts(wg_trainer *t);
void wgi_trainer_names(wg_trainer *t);

/* ---- best.c ---------------------------------------------------------------------------------- */

/* On resuming: the files of the best models are whole, are made again, or no longer count. */
wg_status wgi_trainer_check_best(wg_trainer *t);

/* ---- save.c ---------------------------------------------------------------------------------- */

/* Saves a checkpoint of the last update, unless there is one.  Called on all ranks. */
wg_status wgi_trainer_save(wg_trainer *t, wg_checkpoint_reason reason);
/* `status` of writing to the folder.  Where the folder is gone, the message says so, rather than
 * which of its files could not be written; otherwise, what is left of the run. */
wg_status wgi_trainer_blame_folder(wg_trainer *t, wg_status status);
/* Saves the model as the best by that metric.  There is a folder. */
wg_status wgi_trainer_save_best(wg_trainer *t, const char *metric);

/* ---- report.c -------------------------------------------------------------------------------- */

/* Opens metrics.jsonl for appending, cut to progress.metrics_bytes bytes; nothing without a
 * folder. */
wg_status wgi_report_open(wg_trainer *t);
wg_status wgi_report_close(wg_trainer *t);
void wgi_report_note(wg_trainer *t, const char *format, ...) WG_PRINTF(2, 3);
void wgi_report_update(wg_trainer *t);
/* Prints and records the span, and begins the next one. */
wg_status wgi_report_span(wg_trainer *t);
wg_status wgi_report_validation(wg_trainer *t);
/* Records a save before the checkpoint is written, which stores the length of metrics.jsonl.
 * wgi_report_saved prints the line afterwards. */
wg_status wgi_report_saving(wg_trainer *t);
void wgi_report_saved(wg_trainer *t);

#endif
