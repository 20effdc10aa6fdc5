/* The loop: updates, and what is due after them. */
#include "train/trainer.h"
#include "files/read.h"
#include "graph/error.h"
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

static bool finished(const wg_trainer *t)
{
    const wg_trainer_options *o = &t->options;
    return (o->after.n > 0 && wgi_done_in(&t->progress, o->after.unit) >= o->after.n) ||
           (o->patience > 0 && t->progress.stalled >= o->patience);
}

static bool stopped(const wg_trainer *t)
{
    return t->stop && *t->stop;
}

/* ---- an update ------------------------------------------------------------------------------- */

/* Cosine and linear schedules end with the run unless they say otherwise. */
static double rate_of(const wg_trainer *t, int64_t update)
{
    wg_schedule s = t->options.schedule;
    if (s.updates == 0) {
        wg_amount after = t->options.after;
        double per_epoch = (double)wgi_trainer_groups(t);
        double per_update =
            t->progress.update ? (double)t->progress.weight / (double)t->progress.update : 1;
        s.updates = after.unit == 'e'   ? after.n * (int64_t)per_epoch
                    : after.unit == 't' ? (int64_t)((double)after.n / per_update)
                                        : after.n;
    }
    return wg_schedule_rate(&s, update);
}

/* The step of the plan that runs batch k of an update: each step draws its own dropout masks. */
static uint64_t step_of(const wg_trainer *t, int64_t update, int64_t k)
{
    return (uint64_t)update * (uint64_t)t->options.accumulate + (uint64_t)k;
}

/* The batches of an update. */
typedef struct group {
    int64_t epoch, first, n;
    double total; /* weight of all of them */
    double rate;
} group;

/* The next update. */
static wg_status next_group(wg_trainer *t, group *g, wg_error *error)
{
    const wg_cursor *at = &t->progress.cursor;
    int64_t most = t->options.accumulate, left = t->train.s.batches - at->group * most, total = 0;
    wg_status status = WG_OK;
    *g = (group){at->epoch, at->group * most, left < most ? left : most, 0,
                 rate_of(t, t->progress.update + 1)};
    for (int64_t k = 0; k < g->n && status == WG_OK; k++) {
        wg_shape *shapes;
        wg_batch_size size;
        status = wgi_plans_describe(&t->plans, &t->train.s, g->epoch, g->first + k, &shapes, &size,
                                    error);
        total += size.weight;
    }
    g->total = (double)total;
    return status;
}

static wg_status fill(wg_trainer *t, const group *g, int64_t k, wgi_step_plan **p,
                      wg_batch_size *size, wg_error *error)
{
    int kind = (k > 0 ? WG_STEP_ADDS : 0) | (k + 1 == g->n ? WG_STEP_UPDATES : 0);
    const wgi_batch batch = {&t->train.s, g->epoch, g->first + k, kind, g->total, g->rate};
    return wgi_plans_fill(&t->plans, &batch, p, size, error);
}

/* `what` became non-finite in batch k: a message that names the first node to blame.  The
 * parameters are still those before the update. */
static wg_status blame(wg_trainer *t, const group *g, int64_t k, const char *what, wg_error *error)
{
    int64_t update = t->progress.update + 1;
    wgi_error_set(error, WG_ENONFINITE,
                  "update %" PRId64
                  ": %s is not finite; training stopped; the checkpoints are unchanged",
                  update, what);
    for (int64_t i = 0; i <= k; i++) {
        wgi_step_plan *p;
        wg_batch_size size;
        if (fill(t, g, i, &p, &size, NULL) == WG_OK &&
            wg_plan_first_nonfinite(p->plan, step_of(t, update, i))) {
            wgi_error_add(error, "; first in batch %" PRId64 " of the update: %s", i + 1,
                          wg_plan_message(p->plan));
            break;
        }
    }
    return WG_ENONFINITE;
}

/* Runs batch k and adds its loss and metrics, times their weight, to *m. */
static wg_status run_batch(wg_trainer *t, const group *g, int64_t k, wgi_step_plan **p,
                           wgi_means *m, wg_error *error)
{
    wg_batch_size size;
    wg_status status = fill(t, g, k, p, &size, error);
    if (status != WG_OK)
        return status;
    status = wg_plan_run((*p)->plan, step_of(t, t->progress.update + 1, k));
    double loss = wgi_place_get(&(*p)->loss);
    if (status == WG_OK && isfinite(loss)) {
        bool mean = t->options.scale == WG_LOSS_OF_BATCH;
        wgi_means_add(m, t->task.words.loss, *p, mean ? (double)size.weight : g->total, &size);
        return WG_OK;
    }
    if (status != WG_OK && status != WG_ENONFINITE)
        return wgi_error_set(error, status, "update %" PRId64 ": %s", t->progress.update + 1,
                             wg_plan_message((*p)->plan));
    char what[40];
    snprintf(what, sizeof what, "the %s", t->task.words.loss);
    bool norm = (*p)->norm.at && !isfinite(wgi_place_get(&(*p)->norm));
    return blame(t, g, k,
                 !isfinite(loss) ? what
                 : norm          ? "the gradient's norm"
                                 : "a bound of the new parameters and moments",
                 error);
}

/* All batches of an update; WG_ESTOPPED between two of them leaves the parameters as they were. */
static wg_status run_group(wg_trainer *t, const group *g, wg_error *error)
{
    wgi_means m = {.n = 0};
    wgi_step_plan *p = NULL;
    for (int64_t k = 0; k < g->n; k++) {
        wg_status status = k > 0 && stopped(t) ? WG_ESTOPPED : run_batch(t, g, k, &p, &m, error);
        if (status != WG_OK)
            return status;
    }
    wgi_means_merge(&t->span.means, &m);
    t->progress.examples += m.examples;
    t->progress.weight += m.weight;
    t->span.norm = wgi_place_get(&p->norm);
    t->span.rate = g->rate;
    return WG_OK;
}

static wg_status update(wg_trainer *t)
{
    group g;
    wg_status status = next_group(t, &g, &t->error);
    if (status == WG_OK)
        status = run_group(t, &g, &t->error);
    if (status != WG_OK)
        return status;
    wg_cursor *at = &t->progress.cursor;
    t->progress.update++;
    if (++at->group == wgi_trainer_groups(t))
        *at = (wg_cursor){at->epoch + 1, 0};
    t->progress.seconds = t->seconds_until + wgi_seconds() - t->start;
    wgi_report_update(t);
    return WG_OK;
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
    const char *folder = t->options.folder;
    if (!folder)
        return WG_OK;
    char *path = wg_folder_path(folder, "best-%s.safetensors", m->name);
    wg_status status =
        path ? wg_checkpoint_write_model(t->store, &t->task.files, path, &t->error)
             : wgi_error_file(&t->error, WG_ENOMEM, folder, "no memory to save the best model");
    free(path);
    return status;
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
        if (i == 0)
            t->progress.stalled = m->is_best ? 0 : t->progress.stalled + 1;
    }
    return status;
}

/* With the averages, if there are any, in the place of the parameters. */
static wg_status measure(wg_trainer *t, bool ranked)
{
    const wgi_task *task = &t->task;
    wg_checkpoint_swap_averages(t->store);
    wg_status status =
        wgi_validate(&t->validation, &t->plans, &t->valid.s, task->words.loss, t->stop, &t->error);
    if (status == WG_OK && task->evaluate)
        status = task->evaluate(task->context, t, &t->validation);
    if (status == WG_OK && ranked)
        status = rank_all(t);
    wg_checkpoint_swap_averages(t->store);
    return status;
}

/* If it is stopped, the validation is due when the run is resumed. */
static wg_status validate(wg_trainer *t)
{
    double start = wgi_seconds();
    wg_status status = measure(t, true);
    t->progress.validation_due = status == WG_ESTOPPED;
    if (status == WG_ESTOPPED)
        return WG_OK;
    if (status == WG_OK)
        status = wgi_report_validation(t);
    t->span.start += wgi_seconds() - start; /* validation does not count in the speed */
    return status;
}

wg_status wg_trainer_validate(wg_trainer *t, const wg_metric **metrics, size_t *n)
{
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
    const wg_metric *m = wgi_means_find(&t->validation, name);
    return m ? m->value : NAN;
}

/* ---- its graph ------------------------------------------------------------------------------- */

wg_graph *wg_trainer_graph(wg_trainer *t, wg_mode mode)
{
    bool training = mode == WG_MODE_TRAINING;
    const wg_source *source = training || !t->valid.s.batches ? &t->train.s : &t->valid.s;
    wg_shape *shapes;
    wg_batch_size size;
    wgi_step_graph s;
    wgi_error_clear(&t->error);
    if (wgi_plans_describe(&t->plans, source, 0, 0, &shapes, &size, &t->error) != WG_OK)
        return NULL;
    wgi_step_build(&s, &t->options, source->fields, source->n_fields, shapes,
                   training ? WG_STEP_UPDATES : WG_STEP_EVALUATES);
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
        return t->error.status;
    wg_status status = wg_picture_save(g, path, options, &t->error);
    wg_graph_free(g);
    return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

static wg_status save(wg_trainer *t, wg_checkpoint_reason reason)
{
    double start = wgi_seconds();
    if (t->saved == t->progress.update || !t->options.folder)
        return WG_OK;
    wg_status status = wgi_report_saving(t);
    if (status == WG_OK)
        status = wg_checkpoint_save(t->options.folder, t->store, &t->progress, &t->task.files,
                                    reason, &t->error);
    if (status != WG_OK)
        return status;
    t->saved = t->progress.update;
    t->span.start += wgi_seconds() - start;
    wgi_report_saved(t);
    return WG_OK;
}

/* Whether the checkpoint of the last update is one that was due. */
static wg_status was_due(wg_trainer *t, bool *due)
{
    char *path =
        wg_folder_path(t->options.folder, WG_FOLDER_CHECKPOINTS "/model-%08" PRId64 ".safetensors",
                       t->progress.update);
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
    if (status != WG_OK || t->progress.validation_due || !t->options.folder)
        return status;
    status = was_due(t, &due);
    if (status != WG_OK)
        return status;
    t->saved = -1;
    return save(t, due ? WG_CHECKPOINT_DUE : WG_CHECKPOINT_STOPPED);
}

/* An update and what is due after it. */
static wg_status advance(wg_trainer *t)
{
    const wg_trainer_options *o = &t->options;
    wg_progress before = t->progress;
    wg_status status = update(t);
    if (status == WG_OK && due(o->report, &before, &t->progress))
        status = wgi_report_span(t);
    if (status == WG_OK && t->valid.s.batches && due(o->validate, &before, &t->progress))
        status = validate(t);
    if (status == WG_OK && due(o->save, &before, &t->progress))
        status = save(t, WG_CHECKPOINT_DUE);
    return status;
}

wg_status wg_trainer_run(wg_trainer *t, const volatile int *stop)
{
    wgi_error_clear(&t->error);
    t->stop = stop;
    t->run = t->span.start = wgi_seconds();
    t->done_until = wgi_trainer_done(t);
    wg_status status = validate_late(t);
    while (status == WG_OK && !finished(t) && !stopped(t))
        status = advance(t);
    status = status == WG_OK || status == WG_ESTOPPED ? save(t, WG_CHECKPOINT_STOPPED) : status;
    t->stop = NULL;
    return status;
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
    return wgi_trainer_create(out, options, NULL, error);
}

void wg_trainer_free(wg_trainer *t)
{
    if (!t)
        return;
    if (t->metrics)
        wgi_report_close(t);
    wgi_plans_free(&t->plans);
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
    return t->error.text;
}

int64_t wg_trainer_updates(const wg_trainer *t)
{
    return t->progress.update;
}

wg_store *wg_trainer_store(const wg_trainer *t)
{
    return t->store;
}
