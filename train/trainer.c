/* The loop: updates (update.c), and what is due after them. */
#include "train/trainer.h"
#include "files/read.h"
#include "train/checkpoint_files.h"
#include "train/optimizer.h"
#include "train/stop.h"
#include "graph/error.h"
#include "graph/flag.h"
#include "wengert/train/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- amounts of training --------------------------------------------------------------------- */

/* True if the update from `before` to `now` completed another `every`. */
static bool due(wg_amount every, const wg_progress *before, const wg_progress *now)
{
    return every.n > 0 &&
           wgi_done_in(now, every.unit) / every.n > wgi_done_in(before, every.unit) / every.n;
}

static bool is_long_enough(const wg_trainer *t)
{
    wg_amount after = t->options.after;
    return after.n > 0 && wgi_done_in(&t->progress, after.unit) >= after.n;
}

static bool finished(const wg_trainer *t)
{
    int64_t patience = t->options.patience;
    return is_long_enough(t) || (patience > 0 && t->progress.stalled >= patience);
}

/* Whether the run is to end.  Ranks must stop after the same update, so there it is what they have
 * voted for. */
static bool stopped(const wg_trainer *t)
{
    return t->asked || (!t->options.ranks && wgi_flag(t->stop));
}

/* ---- validation ------------------------------------------------------------------------------ */

/* Saves the model if it is the best so far by that metric.  Called while parameters and averages
 * are swapped. */
static wg_status rank(wg_trainer *t, wg_metric *m)
{
    wg_progress *p = &t->progress;
    wg_best *best = wgi_best_of(p, m->name);
    m->is_best =
        !best || (m->better == WG_MORE_IS_BETTER ? m->value > best->value : m->value < best->value);
    if (!m->is_best || (!best && p->n_best == WG_MAX_METRICS))
        return WG_OK;
    if (!best) {
        best = &p->best[p->n_best++];
        snprintf(best->metric, sizeof best->metric, "%s", m->name);
    }
    best->value = m->value;
    best->update = p->update;
    return t->options.folder ? wgi_trainer_save_best(t, m->name) : WG_OK;
}

static wg_status no_metric(wg_trainer *t, const char *name)
{
    wgi_error_set(&t->error, WG_EINVAL, "metrics: the model reports no '%s', but", name);
    for (size_t i = 0; i < t->validation.n; i++)
        wgi_error_add(&t->error, "%s %s", i ? "," : "", t->validation.metric[i].name);
    return WG_EINVAL;
}

static wg_status rank_all(wg_trainer *t)
{
    char name[WG_METRIC_NAME];
    wg_status status = WG_OK;
    for (size_t i = 0; status == WG_OK && wgi_trainer_metric(t, i, name); i++) {
        wg_metric *m = wgi_means_find(&t->validation, name);
        if (!m)
            return no_metric(t, name);
        if (isfinite(m->value))
            status = rank(t, m);
        else if (strcmp(name, t->task.words.loss) != 0) /* of which the validation has told */
            wgi_report_note(t, "validation: %s is %g, which no best model can have", name,
                            m->value);
        if (i == 0)
            t->progress.stalled = m->is_best ? 0 : t->progress.stalled + 1;
    }
    return status;
}

/* With the averages, if there are any, in the place of the parameters. */
static wg_status measure(wg_trainer *t, bool ranked)
{
    const wgi_task *task = &t->task;
    wg_ranks_doing(t->options.ranks, "the validation after update %" PRId64, t->progress.update);
    wg_status status = wgi_shards_share_averages(t);
    if (status != WG_OK)
        return status;
    wg_checkpoint_swap_averages(t->store);
    *t->error.warning = '\0';
    status =
        wgi_validate(&t->validation, &t->plans, &t->valid.s, task->words.loss, t->stop, &t->error);
    if (*t->error.warning)
        wgi_report_note(t, "%s", t->error.warning);
    if (status == WG_OK && task->evaluate)
        status = task->evaluate(task->context, t, &t->validation);
    if (status == WG_OK && ranked)
        status = wgi_agree(t, rank_all(t));
    wg_checkpoint_swap_averages(t->store);
    return status;
}

/* If it is stopped, the validation is due when the run is resumed. */
static wg_status validate(wg_trainer *t)
{
    double start = wgi_seconds();
    wg_status status = measure(t, true);
    t->progress.validation_due = status != WG_OK;
    if (status == WG_ESTOPPED)
        return WG_OK;
    if (status == WG_OK)
        status = wgi_agree(t, wgi_report_validation(t));
    t->span.start += wgi_seconds() - start; /* validation does not count in the speed */
    return status;
}

wg_status wg_trainer_validate(wg_trainer *t, const wg_metric **metrics, size_t *n)
{
    if (!t)
        return WG_EINVAL;
    wgi_error_clear(&t->error);
    t->stop = NULL;
    wg_status status = t->valid.s.batches
                           ? measure(t, false)
                           : wgi_error_set(&t->error, WG_EINVAL, "there is no validation data");
    if (metrics)
        *metrics = t->validation.metric;
    if (n)
        *n = status == WG_OK ? t->validation.n : 0;
    return status;
}

double wg_trainer_metric(wg_trainer *t, const char *name)
{
    const wg_metric *m = t && name ? wgi_means_find(&t->validation, name) : NULL;
    return m ? m->value : NAN;
}

/* ---- its graph ------------------------------------------------------------------------------- */

wg_graph *wg_trainer_graph(wg_trainer *t, wg_mode mode)
{
    if (!t)
        return NULL;
    bool training = mode == WG_MODE_TRAINING;
    const wg_source *source = training || !t->valid.s.batches ? &t->train.s : &t->valid.s;
    wg_shape *shapes;
    wg_batch_size size;
    wgi_step_graph s;
    wgi_error_clear(&t->error);
    if (wgi_plans_describe(&t->plans, source, 0, 0, &shapes, &size, &t->error) != WG_OK)
        return NULL;
    wgi_step_build(&s, &t->options, source->fields, source->n_fields, shapes,
                   training ? WGI_STEP_UPDATES : WGI_STEP_EVALUATES, 0);
    if (wg_graph_status(s.graph) == WG_OK)
        return s.graph;
    wgi_error_set(&t->error, wg_graph_status(s.graph), "%s",
                  s.graph ? wg_graph_message(s.graph) : "out of memory");
    wg_graph_free(s.graph);
    return NULL;
}

wg_status wg_trainer_draw(wg_trainer *t, const char *path, const wg_picture_options *options)
{
    wg_graph *g = wg_trainer_graph(t, WG_MODE_INFERENCE);
    if (!g)
        return t ? t->error.status : WG_EINVAL;
    wg_status status = wg_picture_save(g, path, options, &t->error);
    wg_graph_free(g);
    return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Whether the checkpoint of the last update is one that was due. */
static wg_status was_due(wg_trainer *t, bool *due)
{
    char *path = wgi_checkpoint_path(t->options.folder, WGI_FILE_MODEL, t->progress.update);
    wg_status status = path ? wgi_file_exists(path, due, &t->error)
                            : wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    free(path);
    return status;
}

/* The validation that was stopped after the last update; its results replace those of the
 * checkpoint. */
static wg_status validate_late(wg_trainer *t)
{
    bool due;
    if (!t->progress.validation_due || !t->valid.s.batches || stopped(t))
        return WG_OK;
    wg_status status = validate(t);
    if (status != WG_OK || t->progress.validation_due || !t->saves)
        return status;
    due = false; /* on ranks without the folder, where it does not matter */
    status = wgi_agree(t, t->options.folder ? was_due(t, &due) : WG_OK);
    if (status != WG_OK)
        return status;
    t->saved = -1;
    return wgi_trainer_save(t, due ? WG_CHECKPOINT_DUE : WG_CHECKPOINT_STOPPED);
}

/* What was trained until a failure that is not of the numbers, nor of the disk, is not lost. */
static void save_before_failing(wg_trainer *t, wg_status status)
{
    bool lost = status == WG_ENONFINITE || status == WG_EIO || status == WG_ENOMEM;
    if (status == WG_OK || lost || !t->is_whole || !t->saves || t->options.ranks ||
        t->saved == t->progress.update)
        return;
    wg_error failure = t->error;
    wgi_error_clear(&t->error);
    wg_status saved = wgi_trainer_save(t, WG_CHECKPOINT_STOPPED);
    t->error = failure;
    if (saved == WG_OK)
        wgi_error_line(&t->error, status, "update %" PRId64 " is saved; the run resumes from it",
                       t->progress.update);
}

/* An update and what is due after it. */
static wg_status advance(wg_trainer *t)
{
    const wg_trainer_options *o = &t->options;
    wg_progress before = t->progress;
    wg_status status = wgi_trainer_update(t);
    if (status == WG_OK && !o->ranks && wgi_trainer_is_asked(t))
        t->asked = true;
    if (status == WG_OK && due(o->report, &before, &t->progress)) {
        status = wgi_ranks_add(t, &t->span.means);
        status = status == WG_OK ? wgi_agree(t, wgi_report_span(t)) : status;
    }
    if (status == WG_OK && t->valid.s.batches && due(o->validate, &before, &t->progress))
        status = validate(t);
    if (status == WG_OK && due(o->save, &before, &t->progress))
        status = wgi_trainer_save(t, WG_CHECKPOINT_DUE);
    save_before_failing(t, status);
    return status;
}

/* A request by a file has been heard. */
static void note_request(wg_trainer *t)
{
    if (!t->options.folder || !wgi_stop_is_asked(t->options.folder))
        return;
    wgi_stop_forget(t->options.folder);
    wgi_report_note(t, "%s: stopped after update %" PRId64 ", as its file " WG_FILE_STOP " asked",
                    t->options.folder, t->progress.update);
}

/* An end that the options do not tell beforehand. */
static void note_impatience(wg_trainer *t)
{
    char name[WG_METRIC_NAME];
    if (finished(t) && !is_long_enough(t) && wgi_trainer_metric(t, 0, name))
        wgi_report_note(t, "early stopping: %s has stalled as often as %s allows", name,
                        t->task.words.patience);
}

/* The optimizer's states as a checkpoint or the program has left them. */
static wg_status check_states(wg_trainer *t)
{
    if (t->states_checked)
        return WG_OK;
    wg_status status = wgi_agree(t, wgi_check_states(&t->options.optimizer, t->store, &t->error));
    t->states_checked = status == WG_OK;
    return status;
}

/* Trains until the run ends or, unless it is 0, that much more is done. */
static wg_status run_until(wg_trainer *t, wg_amount more, const volatile int *stop)
{
    t->stop = stop;
    t->run = t->span.start = wgi_seconds();
    t->done_until = wgi_trainer_done(t);
    t->asked = false;
    wg_status status = check_states(t);
    if (status == WG_OK)
        status = validate_late(t);
    const int64_t before = wgi_done_in(&t->progress, more.unit), update = t->progress.update;
    if (status == WG_OK && finished(t))
        wgi_report_note(t, "nothing is left to train: %s ended the run, at update %" PRId64,
                        is_long_enough(t) ? "'after'" : "early stopping", update);
    while (status == WG_OK && !finished(t) && !stopped(t) &&
           (more.n == 0 || wgi_done_in(&t->progress, more.unit) - before < more.n))
        status = advance(t);
    if (status == WG_OK && t->progress.update > update)
        note_impatience(t);
    if (status == WG_OK || status == WG_ESTOPPED)
        status = wgi_shards_share_averages(t);
    if (status == WG_OK)
        status = wgi_trainer_save(t, WG_CHECKPOINT_STOPPED);
    note_request(t);
    t->stop = NULL;
    return status;
}

wg_status wg_trainer_run(wg_trainer *t, const volatile int *stop)
{
    if (!t)
        return WG_EINVAL;
    wgi_error_clear(&t->error);
    return run_until(t, (wg_amount){0, 'u'}, stop);
}

wg_status wg_trainer_run_for(wg_trainer *t, wg_amount more, const volatile int *stop)
{
    if (!t)
        return WG_EINVAL;
    wgi_error_clear(&t->error);
    if (more.n < 1 || !wgi_is_amount(more))
        return wgi_error_set(&t->error, WG_EINVAL,
                             "wg_trainer_run_for: expected an amount of 1 or more in 'u', 'e' or "
                             "'t', got %" PRId64 " in '%c'",
                             more.n, more.unit ? more.unit : 'u');
    return run_until(t, more, stop);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

wg_status wgi_trainer_create(wg_trainer **out, const wg_trainer_options *options,
                             const wgi_task *task, wg_error *error)
{
    wgi_error_clear(error);
    wg_trainer *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t) {
        if (task && task->close)
            task->close(task->context);
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    }
    if (task)
        t->task = *task;
    wg_status status = wgi_trainer_begin(t, options);
    if (status == WG_OK) {
        *out = t;
        return WG_OK;
    }
    wgi_error_set(error, status, "%s", *t->error.text ? t->error.text : wg_status_text(status));
    wgi_lock_release(&t->lock);
    if (t->made_folder)
        rmdir(t->options.folder); /* fails unless it is empty */
    wg_trainer_free(t);
    return status;
}

wg_status wg_trainer_create(wg_trainer **out, const wg_trainer_options *options, wg_error *error)
{
    wgi_error_clear(error);
    if (out)
        *out = NULL;
    if (!out || !options)
        return wgi_error_set(error, WG_EINVAL, "wg_trainer_create: %s is NULL",
                             out ? "`options`" : "`out`");
    return wgi_trainer_create(out, options, NULL, error);
}

void wg_trainer_free(wg_trainer *t)
{
    if (!t)
        return;
    if (t->metrics)
        wgi_report_close(t);
    wgi_plans_free(&t->plans);
    wgi_shards_close(&t->shards);
    wgi_source_close(&t->train);
    wgi_source_close(&t->valid);
    if (t->task.close) /* it may have plans on the store */
        t->task.close(t->task.context);
    wg_store_free(t->store);
    wgi_lock_release(&t->lock);
    free(t);
}

const char *wg_trainer_message(const wg_trainer *t)
{
    return t ? t->error.text : "the trainer is NULL";
}

int64_t wg_trainer_updates(const wg_trainer *t)
{
    return t ? t->progress.update : 0;
}

wg_store *wg_trainer_store(const wg_trainer *t)
{
    return t ? t->store : NULL;
}
