/* The loop: updates, and what is due after them. */
#include "train/trainer.h"
#include "files/read.h"
#include "train/checkpoint_files.h"
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

/* Whether somebody wants it to end: by *stop, or by a file in the folder. */
static bool is_asked(const wg_trainer *t)
{
    return wgi_flag(t->stop) || (t->options.folder && wgi_stop_is_asked(t->options.folder));
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

/* The batches of an update, [first, first + n) of an epoch.  This rank computes own_n of them, from
 * number `own` on; without any, it takes part in the sums with number 0, which then counts as
 * nothing. */
typedef struct group {
    int64_t epoch, first, n, own, own_n;
    int64_t weight, examples; /* of all of them */
    double total;             /* the weight */
    double rate;
    wgi_group_set resting;
    bool is_bad; /* a loss of this rank was not finite */
} group;

/* Of each update every rank has the same part, as far as there are batches. */
static void take_part(const wg_trainer *t, group *g)
{
    const wg_ranks *ranks = t->options.ranks;
    int64_t rank = ranks ? wg_ranks_rank(ranks) : 0, count = ranks ? wg_ranks_count(ranks) : 1;
    int64_t part = t->options.accumulate / count, left = g->n - rank * part;
    g->own = rank * part;
    g->own_n = left < 0 ? 0 : left < part ? left : part;
}

/* The next update. */
static wg_status next_group(wg_trainer *t, group *g, wg_error *error)
{
    const wg_cursor *at = &t->progress.cursor;
    int64_t most = t->options.accumulate, left = t->train.s.batches - at->group * most;
    wg_status status = WG_OK;
    *g = (group){.epoch = at->epoch,
                 .first = at->group * most,
                 .n = left < most ? left : most,
                 .rate = rate_of(t, t->progress.update + 1),
                 .resting = wgi_resting(&t->options, t->progress.update + 1)};
    take_part(t, g);
    for (int64_t k = 0; k < g->n && status == WG_OK; k++) {
        wg_shape *shapes;
        wg_batch_size size;
        status = wgi_plans_describe(&t->plans, &t->train.s, g->epoch, g->first + k, &shapes, &size,
                                    error);
        g->weight += size.weight;
        g->examples += size.examples;
    }
    g->total = (double)g->weight;
    return status;
}

static wg_status fill(wg_trainer *t, const group *g, int64_t k, int kind, wgi_step_plan **p,
                      wg_batch_size *size, wg_error *error)
{
    const wgi_step_batch batch = {.source = &t->train.s,
                                  .epoch = g->epoch,
                                  .i = g->first + k,
                                  .kind = kind,
                                  .total = g->total,
                                  .rate = g->rate,
                                  .vote = !t->options.ranks ? 0
                                          : g->is_bad       ? NAN
                                                            : is_asked(t),
                                  .resting = g->resting};
    return wgi_plans_fill(&t->plans, &batch, p, size, error);
}

/* Of the first batches of the group, up to `last`, that this rank computes: *at is the first with a
 * number that is not finite, and the plan's message names the node; NULL if there is none.  No
 * parameter changes, and no rank waits for another. */
static const char *find_bad_batch(wg_trainer *t, const group *g, int64_t last, int64_t *at)
{
    for (int64_t k = g->own; k <= last && k < g->own + g->own_n; k++) {
        wgi_step_plan *p;
        wg_batch_size size;
        /* together with others, no batch is the last: an update would wait for them */
        int kind = wgi_step_kind(k - g->own, t->options.ranks ? g->own_n + 1 : g->n);
        if (fill(t, g, k, kind, &p, &size, NULL) == WG_OK &&
            wg_plan_first_nonfinite(p->plan, step_of(t, t->progress.update + 1, k))) {
            *at = k;
            return wg_plan_message(p->plan);
        }
    }
    return NULL;
}

/* `what` became non-finite in batch k at the latest: a message that names the first node to blame.
 * The parameters are still those before the update. */
static wg_status blame(wg_trainer *t, const group *g, int64_t k, const char *what)
{
    int64_t at = 0;
    char found[WG_ERROR_TEXT] = "";
    const char *text = find_bad_batch(t, g, k, &at);
    if (text)
        snprintf(found, sizeof found, "; first in batch %" PRId64 " of the update: %s", at + 1,
                 text);
    wgi_ranks_first_text(t, found, sizeof found);
    return wgi_error_set(
        &t->error, WG_ENONFINITE, "update %" PRId64 ": %s is not finite; training stopped; %s%s",
        t->progress.update + 1, what,
        t->saved >= 0 ? "the checkpoints are unchanged" : "nothing was saved yet", found);
}

/* "the loss of group 0, generator," if that metric is not finite; false if those of all groups are
 * that do not rest */
static bool find_bad_loss(const wg_trainer *t, const group *g, const wgi_step_plan *p, char *what,
                          size_t size)
{
    for (size_t i = 0; i < t->options.n_groups; i++)
        for (size_t m = 0; t->options.groups[i].loss && m < p->n_metrics; m++)
            if (!wgi_group_rests(&t->options, &t->options.groups[i], g->resting) &&
                strcmp(p->metric[m].metric.name, t->options.groups[i].loss) == 0 &&
                !isfinite(wgi_place_get(&p->metric[m].place))) {
                snprintf(what, size, "the loss of group %zu, %s,", i, p->metric[m].metric.name);
                return true;
            }
    return false;
}

/* The plan of an update has failed, or a loss is not finite. */
static wg_status fail_batch(wg_trainer *t, const group *g, int64_t k, const wgi_step_plan *p,
                            wg_status status)
{
    char what[80], metric[80];
    const wgi_place *loss = t->options.ranks ? &p->losses : &p->loss;
    if (status != WG_OK && status != WG_ENONFINITE)
        return wgi_error_set(&t->error, status, "update %" PRId64 ": %s", t->progress.update + 1,
                             wg_plan_message(p->plan));
    snprintf(what, sizeof what, "the %s", t->task.words.loss);
    bool lost =
        !isfinite(wgi_place_get(loss)) || (p->votes.at && !isfinite(wgi_place_get(&p->votes)));
    bool norm = p->norm.at && !isfinite(wgi_place_get(&p->norm));
    return blame(t, g, k,
                 lost                                            ? what
                 : find_bad_loss(t, g, p, metric, sizeof metric) ? metric
                 : norm                                          ? "the gradient's norm"
                        : "a bound of the new parameters and moments");
}

/* Runs batch k of the group and adds its loss and metrics, times their weight, to *m. */
static wg_status run_batch(wg_trainer *t, group *g, int64_t k, int kind, wgi_step_plan **p,
                           wgi_means *m)
{
    wg_batch_size size;
    wg_status status = fill(t, g, k, kind, p, &size, &t->error);
    if (status != WG_OK)
        return status;
    t->is_whole = false;
    status = wg_plan_run((*p)->plan, step_of(t, t->progress.update + 1, k));
    char what[80];
    bool counts = !(kind & WG_STEP_EMPTY);
    bool lost = counts && (!isfinite(wgi_place_get(&(*p)->loss)) ||
                           find_bad_loss(t, g, *p, what, sizeof what));
    if (status == WG_OK && lost)
        status = WG_ENONFINITE;
    if (status == WG_ENONFINITE && t->options.ranks && !(kind & WG_STEP_UPDATES)) {
        g->is_bad = true; /* the others hear of it at the end of the update */
        return WG_OK;
    }
    if (status != WG_OK)
        return fail_batch(t, g, k, *p, status);
    bool mean = t->options.scale == WG_LOSS_OF_BATCH;
    if (counts)
        wgi_means_add(m, t->task.words.loss, *p, mean ? (double)size.weight : g->total, &size);
    return WG_OK;
}

/* The batches of an update that are this rank's; WG_ESTOPPED between two of them leaves the
 * parameters as they were. */
static wg_status run_own(wg_trainer *t, group *g, wgi_step_plan **p, wgi_means *m)
{
    wg_status status = WG_OK;
    if (g->own_n == 0) {
        g->own = 0;
        return run_batch(t, g, 0, WG_STEP_UPDATES | WG_STEP_EMPTY, p, m);
    }
    for (int64_t i = 0; i < g->own_n && status == WG_OK; i++) {
        bool ends = i > 0 && !t->options.ranks && is_asked(t);
        status = ends ? WG_ESTOPPED : run_batch(t, g, g->own + i, wgi_step_kind(i, g->own_n), p, m);
    }
    return status;
}

/* What fails on one rank alone keeps the others waiting for its part of the sums. */
static void end_all_ranks(const wg_trainer *t, wg_status status)
{
    if (t->options.ranks && status != WG_OK && status != WG_ENONFINITE)
        wg_ranks_abort(t->options.ranks, t->error.text);
}

/* All batches of an update. */
static wg_status run_group(wg_trainer *t, group *g)
{
    wgi_means m = {.n = 0};
    wgi_step_plan *p = NULL;
    wg_ranks_doing(t->options.ranks, "update %" PRId64, t->progress.update + 1);
    wg_status status = run_own(t, g, &p, &m);
    if (status == WG_OK)
        status = wgi_shards_share(t);
    end_all_ranks(t, status);
    if (status != WG_OK)
        return status;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a run that has succeeded has a plan */
    if (p->votes.at)
        t->asked = wgi_place_get(&p->votes) != 0;
    wgi_means_merge(&t->span.means, &m);
    t->span.weight += g->weight;
    t->progress.examples += g->examples;
    t->progress.weight += g->weight;
    t->span.norm = wgi_place_get(&p->norm);
    t->span.rate = g->rate;
    return WG_OK;
}

static wg_status update(wg_trainer *t)
{
    group g;
    wg_status status = next_group(t, &g, &t->error);
    end_all_ranks(t, status);
    if (status == WG_OK)
        status = run_group(t, &g);
    if (status != WG_OK)
        return status;
    wg_cursor *at = &t->progress.cursor;
    t->is_whole = true;
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
    bool training = mode == WG_MODE_TRAINING;
    const wg_source *source = training || !t->valid.s.batches ? &t->train.s : &t->valid.s;
    wg_shape *shapes;
    wg_batch_size size;
    wgi_step_graph s;
    wgi_error_clear(&t->error);
    if (wgi_plans_describe(&t->plans, source, 0, 0, &shapes, &size, &t->error) != WG_OK)
        return NULL;
    wgi_step_build(&s, &t->options, source->fields, source->n_fields, shapes,
                   training ? WG_STEP_UPDATES : WG_STEP_EVALUATES, 0);
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
    wg_status status = update(t);
    if (status == WG_OK && !o->ranks && is_asked(t))
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

wg_status wg_trainer_run(wg_trainer *t, const volatile int *stop)
{
    if (!t)
        return WG_EINVAL;
    wgi_error_clear(&t->error);
    t->stop = stop;
    t->run = t->span.start = wgi_seconds();
    t->done_until = wgi_trainer_done(t);
    t->asked = false;
    wg_status status = validate_late(t);
    if (status == WG_OK && finished(t) && t->resumes)
        wgi_report_note(t, "nothing is left to train: %s ended the run, at update %" PRId64,
                        is_long_enough(t) ? "'after'" : "early stopping", t->progress.update);
    while (status == WG_OK && !finished(t) && !stopped(t))
        status = advance(t);
    if (status == WG_OK || status == WG_ESTOPPED)
        status = wgi_shards_share_averages(t);
    if (status == WG_OK)
        status = wgi_trainer_save(t, WG_CHECKPOINT_STOPPED);
    note_request(t);
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
