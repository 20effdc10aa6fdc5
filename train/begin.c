/* How a run begins: options, folder, data, the first plan, a checkpoint. */
#include "train/trainer.h"
#include "backends/store.h"
#include "files/read.h"
#include "graph/error.h"
#include "train/checkpoint_files.h"
#include "train/finite.h"
#include "train/progress.h"
#include "train/stop.h"
#include "wengert/files/weights.h"
#include "wengert/models/optimizer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------- */

static bool share(double x)
{
    return x >= 0 && x < 1;
}

static bool is_beta(double x)
{
    return share(x) || x == WG_BETA_ZERO;
}

/* The first thing that cannot be; NULL if there is none. */
static const char *wrong_option(const wg_trainer_options *o)
{
    const wg_optimizer *opt = &o->optimizer;
    return !o->model == !o->loss                  ? "expected `model` or `loss`, and not both"
           : o->accumulate < 0                    ? "accumulate: expected 1 or more"
           : o->accumulate > 1 << WGI_MOST_LEVELS ? "accumulate: expected at most 16777216"
           : !share(o->average)                   ? "average: expected a number in [0, 1)"
           : !is_beta(opt->beta1) || !is_beta(opt->beta2) || !share(opt->momentum)
               ? "optimizer: expected beta1, beta2 and momentum in [0, 1)"
           : !(opt->eps >= 0) || !(opt->weight_decay >= 0) || !(opt->clip_norm >= 0)
               ? "optimizer: expected eps, weight_decay and clip_norm of 0 or more"
           : opt->kind < 0 || opt->kind > WG_OPTIMIZER_SGD
               ? "optimizer: expected a kind of wg_optimizer_kind"
           : o->n_groups && !o->groups                   ? "groups is NULL"
           : o->threads < 0                              ? "threads: expected 0 or more"
           : o->patience < 0                             ? "patience: expected 0 or more"
           : o->keep < 0                                 ? "keep: expected 0 or more"
           : o->dtype && !wg_dtype_is_float(o->dtype)    ? "dtype: expected a float"
           : o->reduce.wire && o->reduce.wire != WG_BF16 ? "reduce.wire: expected 0 or WG_BF16"
                                                         : NULL;
}

static const char *wrong_schedule(const wg_trainer_options *o)
{
    const wg_schedule *s = &o->schedule;
    double first = wg_schedule_rate(s, 1);
    if (s->kind < WG_SCHEDULE_NOAM || s->kind > WG_SCHEDULE_CONSTANT)
        return "schedule: expected a kind of wg_schedule_kind";
    if (!(s->rate >= 0) || !isfinite(first) || first < 0)
        return "schedule: expected rates of 0 or more";
    if (s->kind == WG_SCHEDULE_NOAM && s->d_model == 0)
        return "schedule: expected d_model, since WG_SCHEDULE_NOAM divides by its root";
    if ((s->kind == WG_SCHEDULE_COSINE || s->kind == WG_SCHEDULE_LINEAR) && s->updates == 0 &&
        o->after.n == 0)
        return "schedule: expected its updates, since `after` does not end the run";
    return NULL;
}

/* What has no effect, or never the one that it should have; a task gives all that it knows. */
static const char *idle_option(const wg_trainer_options *o)
{
    const wg_optimizer *opt = &o->optimizer;
    bool is_sgd = opt->kind == WG_OPTIMIZER_SGD, has_valid = o->valid || o->valid_source;
    return !is_sgd && opt->momentum != 0 ? "optimizer: momentum is of WG_OPTIMIZER_SGD"
           : is_sgd && (opt->beta1 != 0 || opt->beta2 != 0 || opt->eps != 0)
               ? "optimizer: beta1, beta2 and eps are of Adam"
           : o->schedule.rate == 0
               ? "schedule: expected a kind and a rate above 0, such as {WG_SCHEDULE_CONSTANT, "
                 ".rate = 1e-3}, got a rate of 0"
           : o->validate.n && !has_valid ? "validate: there is no validation data"
           : o->patience > 0 && !o->validate.n
               ? "patience: expected an interval of validations, `validate`"
               : NULL;
}

static void take_options(wg_trainer *t, const wg_trainer_options *options)
{
    static const struct wgi_words usual = {.loss = "loss",
                                           .loss_unit = "",
                                           .weight = "examples",
                                           .speed = "examples",
                                           .data = "the training data",
                                           .pretrained = "options.pretrained",
                                           .overwrite = "options.overwrite",
                                           .accumulate = "accumulate"};
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

static wg_status check_amounts(wg_trainer *t)
{
    const wg_trainer_options *o = &t->options;
    const struct {
        const char *name;
        wg_amount amount;
    } each[] = {
        {"after", o->after}, {"report", o->report}, {"validate", o->validate}, {"save", o->save}};
    for (int i = 0; i < WG_COUNT(each); i++)
        if (!wgi_is_amount(each[i].amount))
            return wgi_error_set(&t->error, WG_EINVAL,
                                 "%s: expected an amount of 0 or more in 'u', 'e' or 't', got "
                                 "%" PRId64 " in '%c'",
                                 each[i].name, each[i].amount.n,
                                 each[i].amount.unit ? each[i].amount.unit : 'u');
    return WG_OK;
}

static wg_status check_groups(wg_trainer *t)
{
    for (size_t i = 0; i < t->options.n_groups; i++) {
        const wg_parameter_group *g = &t->options.groups[i];
        if (!g->names || !(g->rate >= 0 && g->rate < INFINITY) ||
            !(g->weight_decay >= 0 && g->weight_decay < INFINITY))
            return wgi_error_set(&t->error, WG_EINVAL,
                                 "group %zu: expected names, and a rate and a decay of 0 or more, "
                                 "got '%s', %g and %g",
                                 i, g->names ? g->names : "NULL", g->rate, g->weight_decay);
        if (g->every < 0)
            return wgi_error_set(&t->error, WG_EINVAL,
                                 "group %zu: every: expected 0 or more, got %" PRId64, i, g->every);
        if (g->every > 1 && i >= WGI_MOST_RESTING)
            return wgi_error_set(&t->error, WG_EINVAL,
                                 "group %zu: expected groups that rest among the first %d", i,
                                 WGI_MOST_RESTING);
        if (g->frozen && (g->loss || g->every > 1))
            return wgi_error_set(&t->error, WG_EINVAL,
                                 "group %zu: frozen parameters have no loss of their own and no "
                                 "turn",
                                 i);
        if (g->every > 1 && t->options.shard_optimizer)
            return wgi_error_set(
                &t->error, WG_EUNSUPPORTED,
                "group %zu: with shard_optimizer no group may rest, expected every "
                "= 1, got %" PRId64,
                i, g->every);
    }
    return WG_OK;
}

static wg_status check_options(wg_trainer *t)
{
    const char *wrong = wrong_option(&t->options);
    wg_status status = wrong ? wgi_error_set(&t->error, WG_EINVAL, "%s", wrong) : check_amounts(t);
    if (status == WG_OK)
        status = check_groups(t);
    if (status != WG_OK)
        return status;
    wrong = t->task.open ? NULL : idle_option(&t->options);
    wrong = wrong ? wrong : wrong_schedule(&t->options);
    return wrong ? wgi_error_set(&t->error, WG_EINVAL, "%s", wrong) : WG_OK;
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

/* Training and validation must have the same inputs. */
static wg_status compare_fields(wg_trainer *t)
{
    const wg_source *a = &t->train.s, *b = &t->valid.s;
    bool same = a->n_fields == b->n_fields;
    for (size_t k = 0; same && k < a->n_fields; k++)
        same = strcmp(a->fields[k].name, b->fields[k].name) == 0 &&
               a->fields[k].dtype == b->fields[k].dtype;
    return same ? WG_OK
                : wgi_error_set(&t->error, WG_EINVAL,
                                "the validation data: expected the fields of the training data, "
                                "with their dtypes and in their order");
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
    if (status == WG_OK && t->valid.s.batches)
        status = compare_fields(t);
    if (status == WG_OK && t->options.accumulate > t->train.s.batches)
        t->options.accumulate = t->train.s.batches;
    return status == WG_OK ? check_parts(t) : status;
}

enum { MOST_TURNS = 64 }; /* that are tried: of groups, and of the batches of an update */

/* Creates all tensors of the store, by planning the first batch. */
static wg_status fill_store(wg_trainer *t)
{
    wgi_step_plan *p;
    wg_batch_size size;
    const wgi_step_batch first = {.source = &t->train.s, .kind = WGI_STEP_UPDATES, .total = 1};
    return wgi_plans_fill(&t->plans, &first, &p, &size, &t->error);
}

/* Whether an update before number u rests as it does; whether one of n batches before k is of its
 * kind. */
static bool rested_before(const wg_trainer_options *o, int64_t u)
{
    int64_t v = 1;
    while (v < u && wgi_resting(o, v) != wgi_resting(o, u))
        v++;
    return v < u;
}

static bool came_before(int64_t k, int64_t n)
{
    int64_t i = 0;
    while (i < k && wgi_step_kind(i, n) != wgi_step_kind(k, n))
        i++;
    return i < k;
}

/* With a limit of memory, plans all kinds of updates of the first batch: a limit that is too small
 * for one of them is found before anything is trained. */
static wg_status try_memory(wg_trainer *t)
{
    const wg_trainer_options *o = &t->options;
    const int64_t count = o->ranks ? wg_ranks_count(o->ranks) : 1, part = o->accumulate / count;
    wg_status status = WG_OK;
    for (int64_t u = 1; o->memory && u <= MOST_TURNS && status == WG_OK; u++)
        for (int64_t k = 0; k < part && k < MOST_TURNS && status == WG_OK; k++) {
            wgi_step_plan *p;
            wg_batch_size size;
            const wgi_step_batch batch = {.source = &t->train.s,
                                          .kind = wgi_step_kind(k, part),
                                          .total = 1,
                                          .resting = wgi_resting(o, u)};
            if (!rested_before(o, u) && !came_before(k, part))
                status = wgi_plans_fill(&t->plans, &batch, &p, &size, &t->error);
        }
    return status;
}

/* The metrics by which models are ranked must be reported by the model in validation. */
static wg_status check_metrics(wg_trainer *t, const wgi_step_graph *s)
{
    wg_status status = WG_OK;
    char name[WG_METRIC_NAME];
    for (size_t i = 0; status == WG_OK && wgi_trainer_metric(t, i, name); i++) {
        bool found = strcmp(name, t->task.words.loss) == 0;
        for (size_t k = 0; k < s->n_metrics; k++)
            found = found || strcmp(name, s->metric[k].name) == 0;
        if (found)
            continue;
        status = wgi_error_set(&t->error, WG_EINVAL, "metrics: the model reports no '%s', but %s",
                               name, t->task.words.loss);
        for (size_t k = 0; k < s->n_metrics; k++)
            wgi_error_add(&t->error, ", %s", s->metric[k].name);
    }
    return status;
}

/* Builds the graph of a batch, so that a mistake is found before hours of training. */
static wg_status try_batch(wg_trainer *t, const wg_source *source, int64_t i, int kind,
                           wgi_group_set resting)
{
    wg_shape *shapes;
    wg_batch_size size;
    wgi_step_graph s = {.graph = NULL};
    const bool evaluates = kind == WGI_STEP_EVALUATES;
    wg_status status = wgi_plans_describe(&t->plans, source, 0, i, &shapes, &size, &t->error);
    if (status != WG_OK)
        return status;
    wgi_step_build(&s, &t->options, source->fields, source->n_fields, shapes, kind, resting);
    wgi_plans_have_leaves(&t->plans, s.graph);
    status = wg_graph_status(s.graph);
    if (status != WG_OK)
        wgi_error_set(&t->error, status, "%sbatch %" PRId64 ": %s", evaluates ? "validation: " : "",
                      i + 1, s.graph ? wg_graph_message(s.graph) : "out of memory");
    else if (evaluates && t->options.metrics)
        status = check_metrics(t, &s);
    wg_graph_free(s.graph);
    return status;
}

/* Whether the run is to see each batch of the training data once at least. */
static bool sees_all(const wg_trainer *t)
{
    wg_amount after = t->options.after;
    return after.n == 0 || after.unit == 'e' ||
           (after.unit != 't' && after.n >= wgi_trainer_groups(t));
}

/* The last batch of the training data, and the first and the last of the validation: the last is
 * often smaller than others. */
static wg_status try_batches(wg_trainer *t)
{
    const wg_source *valid = &t->valid.s;
    const wgi_group_set resting = wgi_resting(&t->options, 1); /* more than in any other update */
    wg_status status = WG_OK;
    if (t->task.evaluate) /* it has graphs of its own */
        return WG_OK;
    if (resting)
        status = try_batch(t, &t->train.s, 0, WGI_STEP_UPDATES, resting);
    if (status == WG_OK && t->train.s.batches > 1 && sees_all(t))
        status = try_batch(t, &t->train.s, t->train.s.batches - 1, WGI_STEP_UPDATES, 0);
    if (status != WG_OK || !t->options.validate.n || !valid->batches)
        return status;
    status = try_batch(t, valid, 0, WGI_STEP_EVALUATES, 0);
    if (status == WG_OK && valid->batches > 1)
        status = try_batch(t, valid, valid->batches - 1, WGI_STEP_EVALUATES, 0);
    return status;
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
    status = fill_store(t);
    if (status == WG_OK)
        status = try_batches(t);
    if (status == WG_OK)
        status = try_memory(t);
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
    wgi_checkpoint_tidy(folder,
                        t->task.files.keep); /* which a process that died may not have done */
    t->saved = p->update;
    t->seconds_until = p->seconds;
    if (*t->error.warning)
        wgi_report_note(t, "%s", t->error.warning);
    wgi_report_note(t, "%s: resuming after update %" PRId64, folder, p->update);
    return WG_OK;
}

/* ---- beginning ------------------------------------------------------------------------------- */

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
        status = t->task.save(t->task.context, t);
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
        status = wgi_agree(t, check_options(t));
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
    t->progress.data = t->train.s.hash;
    t->progress.vocabularies = t->task.vocabularies;
    return status;
}
