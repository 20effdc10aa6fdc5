/* An update: the batches of this rank, their gradients added up, and one step of the optimizer. */
#include "train/trainer.h"
#include "train/optimizer.h"
#include "train/scaling.h"
#include "graph/error.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A number of updates that may be more than there can be: then 2^53, which doubles can count to. */
static int64_t updates_of(double updates)
{
    return updates < 0x1p53 ? (int64_t)updates : INT64_C(1) << 53;
}

/* Cosine and linear schedules end with the run unless they say otherwise. */
static double rate_of(const wg_trainer *t, int64_t update)
{
    wg_schedule s = t->options.schedule;
    if (s.updates == 0) {
        wg_amount after = t->options.after;
        double per_epoch = (double)wgi_trainer_groups(t);
        double per_update =
            t->progress.update ? (double)t->progress.weight / (double)t->progress.update : 1;
        s.updates = after.unit == 'e'   ? updates_of((double)after.n * per_epoch)
                    : after.unit == 't' ? updates_of((double)after.n / per_update)
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
    bool is_bad;     /* a loss of this rank was not finite */
    bool is_skipped; /* the gradient was not finite, by which the scale of the loss falls */
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
    if (status == WG_OK && !(g->rate >= 0 && g->rate < INFINITY))
        return wgi_error_set(
            error, WG_EINVAL,
            "schedule: expected a finite rate of 0 or more, got %g at update %" PRId64, g->rate,
            t->progress.update + 1);
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
                                  .scale = t->progress.loss_scale,
                                  .rate = g->rate,
                                  .vote = !t->options.ranks ? 0
                                          : g->is_bad       ? NAN
                                                            : wgi_trainer_is_asked(t),
                                  .resting = g->resting};
    return wgi_plans_fill(&t->plans, &batch, p, size, error);
}

/* Which example the run of batch k failed by, if it did so by its data. */
static const char *row_of(const wg_trainer *t, const group *g, int64_t k, const wgi_step_plan *p,
                          char row[WGI_BLAME_TEXT])
{
    return wgi_source_blame(&t->train.s, p->plan, g->epoch, g->first + k, row);
}

/* Of the first batches of the group, up to `last`, that this rank computes: `found` names the first
 * with a number that is not finite, and the node; it stays as it is if there is none.  No parameter
 * changes, and no rank waits for another. */
static void find_bad_batch(wg_trainer *t, const group *g, int64_t last, char found[WG_ERROR_TEXT])
{
    char row[WGI_BLAME_TEXT];
    for (int64_t k = g->own; k <= last && k < g->own + g->own_n; k++) {
        wgi_step_plan *p;
        wg_batch_size size;
        /* together with others, no batch is the last: an update would wait for them */
        int kind = wgi_step_kind(k - g->own, t->options.ranks ? g->own_n + 1 : g->n);
        if (fill(t, g, k, kind, &p, &size, NULL) == WG_OK &&
            wg_plan_first_nonfinite(p->plan, step_of(t, t->progress.update + 1, k))) {
            snprintf(found, WG_ERROR_TEXT, "; first in batch %" PRId64 " of the update: %s%s",
                     k + 1, wg_plan_message(p->plan), row_of(t, g, k, p, row));
            return;
        }
    }
}

/* Adds a state of the optimizer to `found` whose root has made NaN of a parameter before. */
static void find_bad_state(const wg_trainer *t, char found[WG_ERROR_TEXT])
{
    wg_error why;
    const size_t n = strlen(found);
    if (wgi_check_states(&t->options.optimizer, t->store, &why) != WG_OK)
        snprintf(found + n, WG_ERROR_TEXT - n, "; %.400s", why.text);
}

/* `what` became non-finite in batch k at the latest: a message that names the first node to blame.
 * The parameters are still those before the update. */
static wg_status blame(wg_trainer *t, const group *g, int64_t k, const char *what)
{
    char found[WG_ERROR_TEXT] = "";
    find_bad_batch(t, g, k, found);
    find_bad_state(t, found);
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

/* Whether nothing but the gradient of the update is not finite; all ranks see it alike. */
static bool only_gradient_is_bad(const wg_trainer *t, const group *g, const wgi_step_plan *p)
{
    char what[80];
    if (!p->norm.at || isfinite(wgi_place_get(&p->norm)))
        return false;
    return t->options.ranks
               ? isfinite(wgi_place_get(&p->losses)) && isfinite(wgi_place_get(&p->votes))
               : isfinite(wgi_place_get(&p->loss)) && !find_bad_loss(t, g, p, what, sizeof what);
}

/* The plan of an update has failed, or a loss is not finite. */
static wg_status fail_batch(wg_trainer *t, const group *g, int64_t k, const wgi_step_plan *p,
                            wg_status status)
{
    char what[80], metric[80], gradient[80] = "the gradient's norm", row[WGI_BLAME_TEXT];
    const wgi_place *loss = t->options.ranks ? &p->losses : &p->loss;
    if (status != WG_OK && status != WG_ENONFINITE)
        return wgi_error_set(&t->error, status, "update %" PRId64 ": %s%s", t->progress.update + 1,
                             wg_plan_message(p->plan), row_of(t, g, k, p, row));
    snprintf(what, sizeof what, "the %s", t->task.words.loss);
    if (wgi_is_scaled(&t->options))
        snprintf(gradient, sizeof gradient,
                 "the gradient's norm, at the lowest scale of the loss, %g,",
                 t->progress.loss_scale);
    bool lost =
        !isfinite(wgi_place_get(loss)) || (p->votes.at && !isfinite(wgi_place_get(&p->votes)));
    bool norm = p->norm.at && !isfinite(wgi_place_get(&p->norm));
    return blame(t, g, k,
                 lost                                            ? what
                 : find_bad_loss(t, g, p, metric, sizeof metric) ? metric
                 : norm                                          ? gradient
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
    bool counts = !(kind & WGI_STEP_EMPTY);
    bool lost = counts && (!isfinite(wgi_place_get(&(*p)->loss)) ||
                           find_bad_loss(t, g, *p, what, sizeof what));
    if (status == WG_OK && lost)
        status = WG_ENONFINITE;
    if (status == WG_ENONFINITE && t->options.ranks && !(kind & WGI_STEP_UPDATES)) {
        g->is_bad = true; /* the others hear of it at the end of the update */
        return WG_OK;
    }
    if (status == WG_ENONFINITE && only_gradient_is_bad(t, g, *p) &&
        wgi_scaling_skips(&t->options, &t->progress)) {
        g->is_skipped = true;
        status = WG_OK;
    }
    if (status != WG_OK)
        return fail_batch(t, g, k, *p, status);
    if (counts)
        wgi_means_add(m, t->task.words.loss, *p, g->total, &size);
    return WG_OK;
}

/* The batches of an update that are this rank's; WG_ESTOPPED between two of them leaves the
 * parameters as they were. */
static wg_status run_own(wg_trainer *t, group *g, wgi_step_plan **p, wgi_means *m)
{
    wg_status status = WG_OK;
    if (g->own_n == 0) {
        g->own = 0;
        return run_batch(t, g, 0, WGI_STEP_UPDATES | WGI_STEP_EMPTY, p, m);
    }
    for (int64_t i = 0; i < g->own_n && status == WG_OK; i++) {
        bool ends = i > 0 && !t->options.ranks && wgi_trainer_is_asked(t);
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
    if (status == WG_OK && !g->is_skipped)
        status = wgi_shards_share(t);
    end_all_ranks(t, status);
    if (status != WG_OK)
        return status;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a run that has succeeded has a plan */
    if (p->votes.at)
        t->asked = wgi_place_get(&p->votes) != 0;
    if (!g->is_skipped)
        wgi_scaling_applied(&t->options, &t->progress);
    wgi_means_merge(&t->span.means, &m);
    t->span.weight += g->weight;
    t->progress.examples += g->examples;
    t->progress.weight += g->weight;
    t->span.norm = wgi_place_get(&p->norm);
    t->span.rate = g->rate;
    return WG_OK;
}

wg_status wgi_trainer_update(wg_trainer *t)
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
