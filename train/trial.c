/* What is tried before a run trains, so that a mistake of the model or a limit that is too small is
 * found before hours of training: the plan of the first batch, which creates all tensors, the
 * graphs of batches of other sizes, the plans of all kinds of updates. */
#include "graph/error.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <string.h>

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
    wgi_plans_accept(&t->plans, s.graph, kind);
    status = wg_graph_status(s.graph);
    if (status != WG_OK)
        wgi_error_set(&t->error, status, "%sbatch %" PRId64 ": %s", evaluates ? "validation: " : "",
                      i + 1, s.graph ? wg_graph_message(s.graph) : "out of memory");
    else if (evaluates && t->options.metrics)
        status = check_metrics(t, &s);
    wgi_plans_keep(&t->plans, s.graph);
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

wg_status wgi_trial_run(wg_trainer *t)
{
    wg_status status = fill_store(t);
    if (status == WG_OK)
        status = try_batches(t);
    return status == WG_OK ? try_memory(t) : status;
}
