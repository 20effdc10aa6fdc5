/* How a run begins: its folder, data, parameters, a checkpoint to resume from. */
#include "train/trainer.h"
#include "backends/store.h"
#include "files/checksum.h"
#include "files/read.h"
#include "graph/error.h"
#include "train/checkpoint_files.h"
#include "train/finite.h"
#include "train/progress.h"
#include "train/scaling.h"
#include "train/stop.h"
#include "wengert/files/weights.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void take_options(wg_trainer *t, const wg_trainer_options *options)
{
    static const struct wgi_words usual = {.loss = "loss",
                                           .loss_unit = "",
                                           .weight = "examples",
                                           .speed = "examples",
                                           .data = "the training data",
                                           .pretrained = "options.pretrained",
                                           .overwrite = "options.overwrite",
                                           .accumulate = "accumulate",
                                           .patience = "patience"};
    t->options = *options;
    t->options.accumulate = options->accumulate ? options->accumulate : 1;
    if (options->ranks && wg_ranks_count(options->ranks) == 1)
        t->options.ranks = NULL;
    if (!wgi_leads(t)) { /* files and reports are the business of rank 0 */
        t->options.folder = t->options.pretrained = NULL;
        t->options.overwrite = false;
        t->options.listener = (wg_listener){NULL, NULL};
    }
    t->saves = options->folder != NULL;
    if (!t->task.words.loss)
        t->task.words = usual;
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* A folder that has weights without the state of their run was copied, or lost it: whoever trains
 * there expects to go on from them. */
static wg_status refuse_stray_weights(wg_trainer *t)
{
    char name[WGI_NAME_SIZE];
    const char *folder = t->options.folder;
    wg_status status = wgi_checkpoint_find_stray(folder, name, &t->error);
    if (status != WG_OK || !*name)
        return status;
    return wgi_error_file(&t->error, WG_EINVAL, folder,
                          "it has %s (%s), but no " WG_FILE_PROGRESS
                          " to resume their training from, and a new run would lose or ignore "
                          "them: copy " WG_FILE_PROGRESS " and " WG_FOLDER_CHECKPOINTS
                          " as well to resume, start from weights by %s FILE, or use %s to train "
                          "from scratch",
                          strcmp(name, WG_FILE_OPTIMIZER) == 0 ? "moments" : "weights", name,
                          t->task.words.pretrained, t->task.words.overwrite);
}

/* Makes and locks the folder. */
static wg_status enter_folder(wg_trainer *t)
{
    const wg_trainer_options *o = &t->options;
    bool exists;
    if (!o->folder)
        return WG_OK;
    wg_status status = wgi_file_exists(o->folder, &exists, &t->error);
    t->made_folder = status == WG_OK && !exists;
    if (status == WG_OK)
        status = wg_folder_make(o->folder, &t->error);
    if (status == WG_OK)
        status = wgi_lock_take(&t->lock, o->folder, &t->error);
    if (status == WG_OK)
        status = wgi_checkpoint_check_place(o->folder, &t->error);
    if (status != WG_OK || o->overwrite)
        return status;
    status = wg_checkpoint_exists(o->folder, &t->resumes, &t->error);
    return status == WG_OK && !t->resumes && !o->pretrained ? refuse_stray_weights(t) : status;
}

/* ---- data and parameters --------------------------------------------------------------------- */

static wg_status check_names(wg_trainer *t)
{
    const wg_source *s = &t->train.s;
    for (size_t k = 0; k < s->n_fields; k++)
        for (size_t i = 0; i < k; i++)
            if (strcmp(s->fields[i].name, s->fields[k].name) == 0)
                return wgi_error_set(&t->error, WG_EINVAL,
                                     "the training data: expected fields of different names, got "
                                     "two called %s, fields %zu and %zu",
                                     s->fields[k].name, i, k);
    return WG_OK;
}

/* Training and validation must have the same inputs. */
static wg_status compare_fields(wg_trainer *t)
{
    const wg_source *a = &t->train.s, *b = &t->valid.s;
    if (a->n_fields != b->n_fields)
        return wgi_error_set(&t->error, WG_EINVAL,
                             "the validation data: expected as many fields as the training data "
                             "have, %zu, got %zu",
                             a->n_fields, b->n_fields);
    for (size_t k = 0; k < a->n_fields; k++) {
        const wg_field *want = &a->fields[k], *got = &b->fields[k];
        if (strcmp(want->name, got->name) != 0 || want->dtype != got->dtype)
            return wgi_error_set(&t->error, WG_EINVAL,
                                 "the validation data: field %zu: expected %s of %s, as in the "
                                 "training data, got %s of %s",
                                 k, want->name, wg_dtype_name(want->dtype), got->name,
                                 wg_dtype_name(got->dtype));
    }
    return WG_OK;
}

/* Every rank has the same number of batches of an update. */
static wg_status check_parts(wg_trainer *t)
{
    const int64_t batches = t->train.s.batches, given = t->options.accumulate;
    const int count = t->options.ranks ? wg_ranks_count(t->options.ranks) : 1;
    if (given % count == 0)
        return WG_OK;
    if (given == batches)
        return wgi_error_set(&t->error, WG_EINVAL,
                             "an epoch is one update of %" PRId64
                             " batches, which cannot be shared out evenly among %d ranks: use "
                             "smaller batches, or another number of ranks",
                             batches, count);
    return wgi_error_set(&t->error, WG_EINVAL,
                         "%s: expected a multiple of %d, so that each rank has as many of the "
                         "batches of an update, got %" PRId64,
                         t->task.words.accumulate, count, given);
}

static wg_status open_data(wg_trainer *t)
{
    const wg_trainer_options *o = &t->options;
    wg_status status = wgi_source_open(&t->train, o->train, o->train_source, o->seed,
                                       "the training data", &t->error);
    wg_examples valid = o->valid ? *o->valid : (wg_examples){.count = 0};
    valid.order = WG_ORDER_GIVEN;
    if (status == WG_OK)
        status = wgi_source_open(&t->valid, o->valid ? &valid : NULL, o->valid_source, o->seed,
                                 "the validation data", &t->error);
    if (status == WG_OK && !t->train.s.batches)
        return wgi_error_set(&t->error, WG_EINVAL, "there is no training data");
    if (status == WG_OK)
        status = check_names(t);
    if (status == WG_OK && t->valid.s.batches)
        status = compare_fields(t);
    if (status == WG_OK && t->options.accumulate > t->train.s.batches)
        t->options.accumulate = t->train.s.batches;
    return status == WG_OK ? check_parts(t) : status;
}

/* What the task has of its own, such as vocabularies, before tensors whose shapes depend on it. */
static wg_status check_pretrained(wg_trainer *t)
{
    wg_safetensors *f;
    if (!t->task.check_pretrained)
        return WG_OK;
    wg_status status = wg_safetensors_open(&f, t->options.pretrained, &t->error);
    if (status == WG_OK)
        status = t->task.check_pretrained(t->task.context, t, f);
    wg_safetensors_close(f);
    return status;
}

/* Fills the parameters from the file of weights, and starts their averages there. */
static wg_status load_pretrained(wg_trainer *t)
{
    const char *path = t->options.pretrained;
    const wg_weights_options parameters = {.parameters_only = true};
    wg_load_report report;
    wg_error *error = &t->error;
    wg_status status = check_pretrained(t);
    if (status == WG_OK)
        status = wg_store_load_weights(t->store, path, &parameters, &report, error);
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
    const char *path = t->options.pretrained;
    t->store = wg_store_new(t->options.seed);
    wg_status status =
        wgi_plans_init(&t->plans, &t->options, t->train.s.fields, t->train.s.n_fields, t->store);
    if (status != WG_OK || !t->store)
        return wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    status = wgi_trial_run(t);
    if (status != WG_OK || !path)
        return status;
    if (!t->resumes)
        return load_pretrained(t);
    wgi_report_note(t, "%s has begun: %s is not read again", t->options.folder,
                    t->task.words.pretrained);
    return WG_OK;
}

/* ---- resuming -------------------------------------------------------------------------------- */

static wg_status check_position(wg_trainer *t)
{
    const wg_progress *p = &t->progress;
    if (p->data && t->train.s.hash && p->data != t->train.s.hash)
        return wgi_error_file(&t->error, WG_EINVAL, t->options.folder,
                              "%s: expected those that this run started with, got others",
                              t->task.words.data);
    if (p->cursor.group >= wgi_trainer_groups(t) && p->cursor.group > 0)
        return wgi_error_file(&t->error, WG_EINVAL, t->options.folder,
                              "it has no epoch %" PRId64 ", group %" PRId64, p->cursor.epoch,
                              p->cursor.group);
    return WG_OK;
}

static uint64_t validation_hash(const wg_trainer *t)
{
    const uint64_t data = t->valid.s.hash;
    return data ? wgi_xxh64(&t->task.measures, sizeof t->task.measures, data) : 0;
}

/* Metrics of other validation data cannot be compared with the best so far. */
static void forget_best(wg_trainer *t)
{
    wg_progress *p = &t->progress;
    const uint64_t now = validation_hash(t);
    if (!p->validation || !now || p->validation == now || !p->n_best)
        return;
    p->n_best = 0;
    p->stalled = 0;
    wgi_report_note(t, "%s: the validation is another one, so the best model is looked for again",
                    t->options.folder);
}

/* The same on resuming.  If progress.json cannot be read, loading says so. */
static wg_status check_task(wg_trainer *t)
{
    wg_error unread;
    char *path = t->task.check_resumed ? wg_folder_path(t->options.folder, WG_FILE_PROGRESS) : NULL;
    bool read = path && wgi_progress_read(&t->progress, NULL, path, &unread) == WG_OK;
    free(path);
    return read ? t->task.check_resumed(t->task.context, t) : WG_OK;
}

static wg_status resume(wg_trainer *t)
{
    wg_progress *p = &t->progress;
    const char *folder = t->options.folder;
    wg_checkpoint_options files = t->task.files;
    wg_status status = check_task(t);
    if (status == WG_OK)
        status = wgi_shards_make_whole(t);
    files.moments = t->shards.whole;
    if (status == WG_OK)
        status = wg_checkpoint_load(folder, t->store, p, &files, &t->error);
    if (status == WG_OK && t->task.check_resumed)
        status = t->task.check_resumed(t->task.context, t);
    if (status == WG_OK)
        status = check_position(t);
    if (status != WG_OK)
        return status;
    if (*t->error.warning)
        wgi_report_note(t, "%s", t->error.warning);
    forget_best(t);
    status = wgi_trainer_check_best(t); /* before the checkpoint that it may need is removed */
    if (status != WG_OK)
        return status;
    wgi_checkpoint_tidy(folder,
                        t->task.files.keep); /* which a process that died may not have done */
    t->saved = p->update;
    t->seconds_until = p->seconds;
    wgi_report_note(t, "%s: resuming after update %" PRId64, folder, p->update);
    return WG_OK;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* A run to try something out may be as short; one that was meant is not. */
static void note_warmup(wg_trainer *t)
{
    const wg_schedule *s = &t->options.schedule;
    const wg_amount after = t->options.after;
    const double updates =
        (double)after.n * (after.unit == 'e' ? (double)wgi_trainer_groups(t) : 1);
    if (!t->task.open && after.n && after.unit != 't' && (double)s->warmup > updates)
        wgi_report_note(t,
                        "the run ends after %.0f updates, before the warm-up of %" PRId64
                        " has brought the learning rate to its peak",
                        updates, s->warmup);
}

static void note_sizes(wg_trainer *t)
{
    int64_t parameters = 0;
    const wg_tensor *tensor;
    for (size_t i = 0; (tensor = wg_store_at(t->store, i)); i++)
        if (wgi_store_role(t->store, i) == WGI_ROLE_PARAMETER)
            parameters += wg_shape_count(&tensor->shape);
    if (t->task.note)
        t->task.note(t->task.context, t, parameters);
    else
        wgi_report_note(t,
                        "%" PRId64 " batches in an epoch, %" PRId64 " for validation; %" PRId64
                        " parameters",
                        t->train.s.batches, t->valid.s.batches, parameters);
    note_warmup(t);
    if (t->lock.unsupported)
        wgi_report_note(t,
                        "%s: its file system has no locks: make sure that no other process trains "
                        "in this folder",
                        t->options.folder);
}

/* What a checkpoint could not hold is refused now, not after hours of training. */
static wg_status check_checkpoint(wg_trainer *t)
{
    wg_checkpoint_options files = t->task.files;
    wg_status status = wgi_shards_make_whole(t);
    files.moments = t->shards.whole;
    if (status == WG_OK)
        status = wgi_checkpoint_check(t->options.folder, t->store, &files, &t->error);
    wgi_shards_free_whole(&t->shards);
    return status;
}

/* The model can be trained, so the folder may change: removes an old run that is to be overwritten,
 * or goes on with it, and saves what the task has. */
static wg_status start_folder(wg_trainer *t)
{
    const char *folder = t->options.folder;
    if (!folder)
        return WG_OK;
    wg_status status = check_checkpoint(t);
    if (status == WG_OK && t->options.overwrite)
        status = wg_checkpoint_clear(folder, &t->task.files, &t->error);
    if (status == WG_OK && t->resumes)
        status = resume(t);
    if (status == WG_OK && t->task.save)
        status = wgi_trainer_blame_folder(t, t->task.save(t->task.context, t));
    if (status != WG_OK)
        return status;
    wgi_stop_forget(folder); /* which may be left of a run that has ended */
    /* the mark of a run, also of one that dies before its first checkpoint */
    status = wgi_folder_make_in(folder, WG_FOLDER_CHECKPOINTS, &t->error);
    return status == WG_OK ? wgi_report_open(t) : status;
}

/* What must be the same on all ranks, and what only rank 0 has. */
static wg_status come_together(wg_trainer *t)
{
    wg_status status = wgi_ranks_compare(t);
    if (status == WG_OK)
        status = wgi_agree(t, wgi_shards_open(t));
    if (status == WG_OK)
        status = wgi_agree(t, start_folder(t));
    if (status == WG_OK)
        status = wgi_ranks_start(t);
    if (status == WG_OK && t->resumes)
        status = wgi_shards_scatter(t);
    wgi_ranks_note_binding(t);
    return status;
}

wg_status wgi_trainer_begin(wg_trainer *t, const wg_trainer_options *options)
{
    t->start = t->span.start = wgi_seconds();
    t->saved = -1;
    take_options(t, options);
    wgi_trainer_names(t);
    wg_ranks_doing(t->options.ranks, "the beginning of the training");
    wg_status status = wgi_agree(t, enter_folder(t));
    if (status == WG_OK && t->task.open)
        status = wgi_agree(t, t->task.open(t->task.context, t)); /* and gives options */
    t->options.shard_optimizer = t->options.shard_optimizer && t->options.ranks;
    if (status == WG_OK)
        status = wgi_agree(t, wgi_options_check(t));
    if (status == WG_OK)
        status = wgi_agree(t, open_data(t));
    if (status == WG_OK)
        status = wgi_agree(t, start_parameters(t));
    if (status != WG_OK)
        return status;
    wgi_trainer_facts(t);
    wgi_trainer_names(t);
    note_sizes(t);
    status = come_together(t);
    if (status == WG_OK)
        status = wgi_scaling_begin(&t->options, &t->progress, &t->error);
    t->progress.data = t->train.s.hash;
    if (t->valid.s.hash) /* else the best so far is still that of the former data */
        t->progress.validation = validation_hash(t);
    t->progress.vocabularies = t->task.vocabularies;
    return status;
}
