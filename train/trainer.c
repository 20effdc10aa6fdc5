#include "train/trainer.h"
#include "backends/load.h"
#include "files/checksum.h"
#include "files/read.h"
#include "graph/error.h"
#include "train/checkpoint_files.h"
#include "train/finite.h"
#include "train/folder.h"
#include "wengert/files/weights.h"

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
    const wg_settings *s = &t->settings;
    return (s->after.n > 0 && wgi_done_in(&t->progress, s->after.unit) >= s->after.n) ||
           (s->early_stopping > 0 && t->progress.stalled >= s->early_stopping);
}

static bool stopped(const wg_trainer *t)
{
    return t->stop && *t->stop;
}

/* ---- an update ------------------------------------------------------------------------------- */

/* Cosine and linear schedules end with the run unless lr-updates says otherwise. */
static double rate_of(const wg_trainer *t, int64_t update)
{
    wg_schedule s = t->settings.schedule;
    s.d_model = t->settings.net.d_model;
    if (s.updates == 0) {
        wg_amount after = t->settings.after;
        double per_epoch = (double)wg_batches_groups(t->batches);
        double per_update =
            t->progress.update ? (double)t->progress.tokens / (double)t->progress.update : 1;
        s.updates = after.unit == 'u'   ? after.n
                    : after.unit == 'e' ? after.n * (int64_t)per_epoch
                                        : (int64_t)((double)after.n / per_update);
    }
    return wg_schedule_rate(&s, update);
}

/* The step of the plan that runs batch k of an update: each step draws its own dropout masks. */
static uint64_t step_of(const wg_trainer *t, int64_t update, size_t k)
{
    return (uint64_t)update * (uint64_t)t->settings.delay + k;
}

typedef struct group {
    const wg_batch *batch; /* [n] */
    size_t n;
    double tokens; /* of all targets */
    double rate;
} group;

static wg_status fill(wg_trainer *t, const group *g, size_t k, wgi_step_plan **p, wg_error *error)
{
    int kind = (k > 0 ? WG_STEP_ADDS : 0) | (k + 1 == g->n ? WG_STEP_UPDATES : 0);
    return wgi_plans_fill(&t->plans, &g->batch[k], kind, g->tokens, g->rate, p, error);
}

/* `what` became non-finite in batch k: a message that names the first node to blame.  The
 * parameters are still those before the update. */
static wg_status blame(wg_trainer *t, const group *g, size_t k, const char *what, wg_error *error)
{
    int64_t update = t->progress.update + 1;
    wgi_error_set(error, WG_ENONFINITE,
                  "update %" PRId64
                  ": %s is not finite; training stopped; the checkpoints are unchanged",
                  update, what);
    for (size_t i = 0; i <= k; i++) {
        wgi_step_plan *p;
        if (fill(t, g, i, &p, NULL) == WG_OK &&
            wg_plan_first_nonfinite(p->plan, step_of(t, update, i))) {
            wgi_error_add(error, "; first in batch %zu of the update: %s", i + 1,
                          wg_plan_message(p->plan));
            break;
        }
    }
    return WG_ENONFINITE;
}

/* Runs batch k and adds its cost. */
static wg_status run_batch(wg_trainer *t, const group *g, size_t k, wgi_step_plan **p, double *cost,
                           wg_error *error)
{
    wg_status status = fill(t, g, k, p, error);
    if (status != WG_OK)
        return status;
    status = wg_plan_run((*p)->plan, step_of(t, t->progress.update + 1, k));
    double part = wgi_plans_scalar(&t->plans, (*p)->cost);
    if (status == WG_OK && isfinite(part)) {
        *cost += part;
        return WG_OK;
    }
    if (status != WG_OK && status != WG_ENONFINITE)
        return wgi_error_set(error, status, "update %" PRId64 ": %s", t->progress.update + 1,
                             wg_plan_message((*p)->plan));
    const char *what = !isfinite(part) ? "the cost"
                       : !isfinite(wgi_plans_scalar(&t->plans, (*p)->norm))
                           ? "the gradient's norm"
                           : "a bound of the new parameters and moments";
    return blame(t, g, k, what, error);
}

/* All batches of an update; WG_ESTOPPED between two of them leaves the parameters as they were. */
static wg_status run_group(wg_trainer *t, const group *g, wg_error *error)
{
    double cost = 0;
    int64_t sentences = 0;
    wgi_step_plan *p = NULL;
    for (size_t k = 0; k < g->n; k++) {
        wg_status status = k > 0 && stopped(t) ? WG_ESTOPPED : run_batch(t, g, k, &p, &cost, error);
        if (status != WG_OK)
            return status;
        sentences += g->batch[k].sentences;
    }
    t->progress.sentences += sentences;
    t->span.sentences += sentences;
    t->span.cost += cost * g->tokens;
    t->span.tokens += (int64_t)g->tokens;
    t->span.updates++;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): each group has a batch */
    t->span.norm = wgi_plans_scalar(&t->plans, p->norm);
    t->span.rate = g->rate;
    return WG_OK;
}

static wg_status update(wg_trainer *t)
{
    group g = {.rate = rate_of(t, t->progress.update + 1)};
    wg_status status = wg_batches_next(t->batches, &g.batch, &g.n);
    if (status != WG_OK)
        return wgi_error_set(&t->error, status, "cannot read the next batches: %s",
                             wg_status_text(status));
    int64_t tokens = 0;
    for (size_t k = 0; k < g.n; k++)
        tokens += g.batch[k].target_tokens;
    g.tokens = (double)tokens;
    status = run_group(t, &g, &t->error);
    if (status == WG_ESTOPPED && wg_batches_seek(t->batches, t->progress.cursor) != WG_OK)
        return wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    if (status != WG_OK)
        return status;
    t->progress.update++;
    t->progress.tokens += tokens;
    t->progress.cursor = wg_batches_cursor(t->batches);
    t->progress.seconds = t->seconds_until + wgi_seconds() - t->start;
    wgi_report_update(t);
    return WG_OK;
}

/* ---- validation ------------------------------------------------------------------------------ */

/* Saves the model if it is the best so far by that metric.  Called while parameters and averages
 * are swapped. */
static wg_status rank(wg_trainer *t, int metric, double value, bool *is_best)
{
    const wgi_metric_kind *kind = &wgi_metric_kinds[metric];
    wg_progress *p = &t->progress;
    wg_best *best = wgi_best_of(p, kind->name);
    *is_best = !best || (kind->greater_is_better ? value > best->value : value < best->value);
    if (!*is_best)
        return WG_OK;
    if (!best) {
        best = &p->best[p->n_best++];
        snprintf(best->metric, sizeof best->metric, "%s", kind->name);
    }
    best->value = value;
    best->update = p->update;
    char *path = wg_folder_path(t->settings.model, "best-%s.safetensors", kind->name);
    wg_status status = path ? wg_checkpoint_write_model(t->store, p, path, &t->error)
                            : wgi_error_file(&t->error, WG_ENOMEM, t->settings.model,
                                             "no memory to save the best model");
    free(path);
    return status;
}

static wg_status rank_all(wg_trainer *t, wgi_validation *v)
{
    wg_status status = WG_OK;
    for (size_t i = 0; status == WG_OK && i < WG_METRICS; i++) {
        int metric = wgi_metric_named(t->settings.valid_metrics, i);
        if (metric < 0)
            break;
        if (isfinite(v->value[metric]))
            status = rank(t, metric, v->value[metric], &v->is_best[metric]);
        if (i == 0)
            t->progress.stalled = v->is_best[metric] ? 0 : t->progress.stalled + 1;
    }
    return status;
}

/* If it is stopped, the validation is due when the run is resumed. */
static wg_status validate(wg_trainer *t)
{
    double start = wgi_seconds();
    wgi_validation v;
    wg_checkpoint_swap_averages(t->store);
    wg_status status = wgi_validate(&v, &t->validator, &t->error);
    if (status == WG_OK)
        status = rank_all(t, &v);
    wg_checkpoint_swap_averages(t->store);
    t->progress.validation_due = status == WG_ESTOPPED;
    if (status == WG_ESTOPPED)
        return WG_OK;
    if (status == WG_OK && v.left_out.status != WG_OK)
        wgi_report_note(t, "update %" PRId64 ": validation without BLEU and chrF: %s",
                        t->progress.update, v.left_out.text);
    if (status == WG_OK)
        status = wgi_report_validation(t, &v);
    t->span.start += wgi_seconds() - start; /* validation does not count in words per second */
    return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

static wg_status save(wg_trainer *t, wg_checkpoint_reason reason)
{
    double start = wgi_seconds();
    if (t->saved == t->progress.update)
        return WG_OK;
    wg_status status = wgi_report_saving(t);
    if (status == WG_OK)
        status = wg_checkpoint_save(t->settings.model, t->store, &t->progress, &t->settings, reason,
                                    &t->error);
    if (status != WG_OK)
        return status;
    t->saved = t->progress.update;
    t->span.start += wgi_seconds() - start;
    wgi_report_saved(t);
    return WG_OK;
}

/* The validation that was stopped after the last update; its results replace those of the
 * checkpoint. */
static wg_status validate_late(wg_trainer *t)
{
    if (!t->progress.validation_due || !t->data.valid || stopped(t))
        return WG_OK;
    wg_status status = validate(t);
    if (status != WG_OK || t->progress.validation_due)
        return status;
    char *due =
        wg_folder_path(t->settings.model, WG_FOLDER_CHECKPOINTS "/model-%08" PRId64 ".safetensors",
                       t->progress.update);
    bool was_due = due && access(due, F_OK) == 0;
    free(due);
    t->saved = -1;
    return save(t, was_due ? WG_CHECKPOINT_DUE : WG_CHECKPOINT_STOPPED);
}

/* An update and what is due after it. */
static wg_status advance(wg_trainer *t)
{
    const wg_settings *s = &t->settings;
    wg_progress before = t->progress;
    wg_status status = update(t);
    if (status == WG_OK && due(s->disp_freq, &before, &t->progress))
        status = wgi_report_span(t);
    if (status == WG_OK && t->data.valid && due(s->valid_freq, &before, &t->progress))
        status = validate(t);
    if (status == WG_OK && due(s->save_freq, &before, &t->progress))
        status = save(t, WG_CHECKPOINT_DUE);
    return status;
}

wg_status wg_trainer_run(wg_trainer *t, const volatile int *stop)
{
    t->stop = t->validator.stop = stop;
    t->run = t->span.start = wgi_seconds();
    t->done_until = wgi_trainer_done(t);
    wg_status status = validate_late(t);
    while (status == WG_OK && !finished(t) && !stopped(t))
        status = advance(t);
    return status == WG_OK || status == WG_ESTOPPED ? save(t, WG_CHECKPOINT_STOPPED) : status;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* What progress.json of format 1 has: the hash of the pieces alone. */
static uint64_t hash_of_pieces(const wg_vocabularies *v)
{
    uint64_t h = 0;
    for (int side = 0; side < 2; side++)
        for (int32_t id = 0; id < wg_vocabulary_size(v->side[side]); id++) {
            const char *piece = wg_vocabulary_piece(v->side[side], id);
            h = wgi_xxh64(piece ? piece : "", piece ? strlen(piece) + 1 : 0, h);
        }
    return h;
}

/* Creates all tensors of the store, by planning the smallest batch. */
static wg_status fill_store(wg_trainer *t, wg_error *error)
{
    int64_t min = t->settings.length_multiple;
    wgi_step_plan *p;
    return wgi_plans_get(&t->plans, &(wgi_step_shape){1, min, min, WG_STEP_UPDATES}, &p, error);
}

/* Fills the parameters from the file of --pretrained-model, and starts their averages there. */
static wg_status load_pretrained(wg_trainer *t)
{
    const char *path = t->settings.pretrained;
    const wg_weights_options parameters = {.parameters_only = true};
    wg_load_report report;
    wg_error *error = &t->error;
    wg_status status = wg_store_load_weights(t->store, path, &parameters, &report, error);
    const char *note = wg_store_note(t->store, WGI_NOTE_VOCABULARIES);
    if (status == WG_OK)
        status =
            wgi_vocabularies_check(&t->data.vocabularies, t->settings.model, note, path, error);
    for (size_t i = 0; i < wg_store_count(t->store) && status == WG_OK; i++)
        status = wgi_check_finite(wg_store_at(t->store, i), 1, WG_ENONFINITE, path, error);
    if (status != WG_OK)
        return status;
    wgi_averages_start(t->store, 0);
    wgi_report_note(t, "starting from %zu tensors of %s", report.loaded, path);
    return WG_OK;
}

/* The parameters that the run starts from, before anything in the folder changes. */
static wg_status start_parameters(wg_trainer *t)
{
    const char *path = t->settings.pretrained;
    wg_status status = fill_store(t, &t->error);
    if (status != WG_OK || !path || !*path)
        return status;
    if (!t->resumes)
        return load_pretrained(t);
    wgi_report_note(t, "%s has begun: --pretrained-model is not read again", t->settings.model);
    return WG_OK;
}

static wg_status resume(wg_trainer *t, uint64_t data, uint64_t vocabularies)
{
    wg_progress *p = &t->progress;
    const char *folder = t->settings.model;
    wg_status status = wg_checkpoint_load(folder, t->store, p, &t->settings, &t->error);
    if (status != WG_OK)
        return status;
    if (p->format == 1 && p->vocabularies == hash_of_pieces(&t->data.vocabularies))
        p->vocabularies = vocabularies;
    if (p->data != data || p->vocabularies != vocabularies)
        return wgi_error_file(&t->error, WG_EINVAL, folder,
                              "%s: expected those that this run started with, got others",
                              p->vocabularies != vocabularies ? "vocabs" : "train-sets");
    status = wg_batches_seek(t->batches, p->cursor);
    if (status != WG_OK)
        return wgi_error_file(&t->error, status, folder,
                              "it has no epoch %" PRId64 ", group %" PRId64, p->cursor.epoch,
                              p->cursor.group);
    wgi_checkpoint_tidy(folder, t->settings.keep); /* which a process that died may not have done */
    t->saved = p->update;
    t->seconds_until = p->seconds;
    if (*t->error.warning)
        wgi_report_note(t, "%s", t->error.warning);
    wgi_report_note(t, "%s: resuming after update %" PRId64, folder, p->update);
    return WG_OK;
}

static void note_sizes(wg_trainer *t)
{
    const wg_corpus *c = t->data.train;
    int64_t parameters = 0;
    const wg_tensor *tensor;
    for (size_t i = 0; (tensor = wg_store_at(t->store, i)); i++)
        if (!strstr(tensor->name, WG_STATES_OF_OPTIMIZER) &&
            !strstr(tensor->name, WG_STATES_OF_AVERAGE))
            parameters += wg_shape_count(&tensor->shape);
    wgi_report_note(
        t,
        "%zu training pairs (%zu empty and %zu too long skipped), %zu validation pairs; "
        "vocabularies of %lld and %lld tokens; %" PRId64 " parameters",
        wg_corpus_count(c), wg_corpus_empty(c), wg_corpus_too_long(c),
        t->data.valid ? wg_corpus_count(t->data.valid) : 0,
        (long long)wg_vocabulary_size(t->data.vocabularies.side[0]),
        (long long)wg_vocabulary_size(t->data.vocabularies.side[1]), parameters);
}

/* A folder that has weights without the state of their run was copied, or lost it: training anew
 * would overwrite them. */
static wg_status refuse_stray_weights(wg_trainer *t)
{
    char name[64];
    const char *folder = t->settings.model;
    wg_status status = wgi_checkpoint_find_stray(folder, name, &t->error);
    return status != WG_OK || !*name
               ? status
               : wgi_error_file(&t->error, WG_EINVAL, folder,
                                "it has weights (%s), but no " WG_FILE_PROGRESS
                                " to resume their training from, and training anew would overwrite "
                                "them: copy " WG_FILE_PROGRESS " and " WG_FOLDER_CHECKPOINTS
                                " as well to resume, start from them by --pretrained-model %s/%s, "
                                "or use --overwrite to train from scratch",
                                name, folder, name);
}

/* Makes and locks the folder. */
static wg_status enter_folder(wg_trainer *t)
{
    const wg_settings *s = &t->settings;
    bool exists;
    wg_status status = wgi_file_exists(s->model, &exists, &t->error);
    t->made_folder = status == WG_OK && !exists;
    if (status == WG_OK)
        status = wg_folder_make(s->model, &t->error);
    if (status == WG_OK)
        status = wgi_lock_take(&t->lock, s->model, &t->error);
    if (status == WG_OK)
        status = wgi_checkpoint_check_place(s->model, &t->error);
    if (status != WG_OK || s->overwrite)
        return status;
    status = wg_checkpoint_exists(s->model, &t->resumes, &t->error);
    bool pretrained = s->pretrained && *s->pretrained;
    return status == WG_OK && !t->resumes && !pretrained ? refuse_stray_weights(t) : status;
}

/* Opens folder, backends and data.  Only the folder itself is created; nothing in it is changed. */
static wg_status open_all(wg_trainer *t, const wg_settings *settings)
{
    wg_error *error = &t->error;
    wg_status status = wg_settings_copy(&t->settings, settings);
    if (status != WG_OK)
        return wgi_error_set(error, status, "out of memory");
    wg_settings *s = &t->settings;
    if (!s->model || !*s->model)
        return wgi_error_set(error, WG_EINVAL, "model: expected a folder, got none");
    status = wg_settings_check(s, error);
    if (status == WG_OK)
        status = enter_folder(t);
    if (status == WG_OK)
        status = wg_backend_list_open(&t->backends, s->backend, error);
    if (status == WG_OK)
        status = wgi_data_open(&t->data, s, error);
    if (status != WG_OK)
        return status;
    s->net.source_vocabulary = wg_vocabulary_size(t->data.vocabularies.side[0]);
    s->net.target_vocabulary = wg_vocabulary_size(t->data.vocabularies.side[1]);
    t->store = wg_store_new(s->seed);
    t->validator = (wgi_validator){.plans = &t->plans, .data = &t->data};
    status = wgi_plans_init(&t->plans, s, &t->backends, t->store);
    if (status != WG_OK || !t->store)
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    return wgi_data_batches(&t->batches, &t->data, t->data.train, s, error);
}

/* The model can be trained, so the folder may change: removes an old run that is to be overwritten,
 * and saves new vocabularies. */
static wg_status start_folder(wg_trainer *t)
{
    wg_settings *s = &t->settings;
    char *checkpoints = wg_folder_path(s->model, WG_FOLDER_CHECKPOINTS);
    wg_status status = checkpoints ? WG_OK : wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    if (status == WG_OK && s->overwrite)
        status = wg_checkpoint_clear(s->model, &t->error);
    s->overwrite = false; /* config.yml must not ask for it again, nor for other weights */
    free(s->pretrained);
    s->pretrained = NULL;
    if (status == WG_OK && !t->data.of_folder)
        status = wg_vocabularies_save(&t->data.vocabularies, s->model, &t->error);
    if (status == WG_OK) /* the mark of a run, also of one that dies before its first checkpoint */
        status = wg_folder_make(checkpoints, &t->error);
    free(checkpoints);
    return status;
}

static void note_limits(wg_trainer *t)
{
    if (t->lock.unsupported)
        wgi_report_note(t,
                        "%s: its file system has no locks: make sure that no other process trains "
                        "in this folder",
                        t->settings.model);
    if (wgi_backends_have_object(t->settings.backend))
        wgi_report_note(t,
                        "backend %s has a shared object, which " WG_FILE_CONFIG
                        " does not keep: give --backend again to resume with it",
                        t->settings.backend);
}

static wg_status begin(wg_trainer *t, const wg_settings *settings)
{
    t->start = t->span.start = wgi_seconds();
    t->saved = -1;
    wg_status status = open_all(t, settings);
    if (status != WG_OK)
        return status;
    uint64_t data = wg_corpus_hash(t->data.train),
             vocabularies = wgi_vocabularies_hash(&t->data.vocabularies);
    status = start_parameters(t);
    if (status != WG_OK)
        return status;
    note_sizes(t);
    note_limits(t);
    status = start_folder(t);
    if (status == WG_OK && t->resumes)
        status = resume(t, data, vocabularies);
    t->progress.data = data;
    t->progress.vocabularies = vocabularies;
    if (status == WG_OK)
        status = wgi_folder_write_settings(t->settings.model, &t->settings, &t->error);
    return status == WG_OK ? wgi_report_open(t) : status;
}

wg_status wg_trainer_create(wg_trainer **out, const wg_settings *settings,
                            const wg_listener *listener, wg_error *error)
{
    wgi_error_clear(error);
    wg_trainer *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    if (listener)
        t->listener = *listener;
    wg_status status = begin(t, settings);
    if (status == WG_OK) {
        *out = t;
        return WG_OK;
    }
    wgi_error_set(error, status, "%s", *t->error.text ? t->error.text : wg_status_text(status));
    wgi_lock_release(&t->lock);
    if (t->made_folder)
        rmdir(t->settings.model); /* fails unless it is empty */
    wg_trainer_free(t);
    return status;
}

void wg_trainer_free(wg_trainer *t)
{
    if (!t)
        return;
    if (t->metrics)
        wgi_report_close(t);
    wgi_validator_free(&t->validator);
    wgi_plans_free(&t->plans);
    wg_batches_free(t->batches);
    wg_store_free(t->store);
    wgi_data_free(&t->data);
    wg_backend_list_close(&t->backends);
    wg_settings_free(&t->settings);
    wgi_lock_release(&t->lock);
    free(t);
}

const char *wg_trainer_message(const wg_trainer *t)
{
    return t->error.text;
}
