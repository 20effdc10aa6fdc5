#include "train/validate.h"
#include "train/source.h"
#include "graph/error.h"
#include "graph/flag.h"
#include "wengert/distributed/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wg_metric *wgi_means_find(wgi_means *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->metric[i].name, name) == 0)
            return &m->metric[i];
    return NULL;
}

void wgi_means_put(wgi_means *m, const char *name, double value, wg_better better, int decimals)
{
    if (m->n == WG_MAX_METRICS)
        return;
    wg_metric *to = &m->metric[m->n++];
    *to = (wg_metric){.value = value, .better = better, .decimals = decimals};
    snprintf(to->name, sizeof to->name, "%s", name);
}

static void add(wgi_means *m, const char *name, double value, wg_better better)
{
    wg_metric *to = wgi_means_find(m, name);
    if (to)
        to->value += value;
    else
        wgi_means_put(m, name, value, better, 0);
}

void wgi_means_add(wgi_means *m, const char *loss, const wgi_step_plan *p, double total,
                   const wg_batch_size *size)
{
    const double weight = (double)size->weight;
    m->weight += size->weight;
    m->examples += size->examples;
    add(m, loss, (p->adds_up ? total : weight) * wgi_place_get(&p->loss), WG_LESS_IS_BETTER);
    for (size_t i = 0; i < p->n_metrics; i++) {
        const wgi_step_metric *metric = &p->metric[i].metric;
        add(m, metric->name,
            (metric->adds_up ? total : weight) * wgi_place_get(&p->metric[i].place),
            metric->better);
    }
}

void wgi_means_merge(wgi_means *to, const wgi_means *from)
{
    for (size_t i = 0; i < from->n; i++)
        add(to, from->metric[i].name, from->metric[i].value, from->metric[i].better);
    to->weight += from->weight;
    to->examples += from->examples;
}

void wgi_means_finish(wgi_means *m, double weight)
{
    for (size_t i = 0; i < m->n; i++)
        m->metric[i].value /= weight;
}

/* A warning that names the batch and the first node to blame, for the first such batch. */
static void warn_if_not_finite(const wgi_step_plan *p, const wg_source *source, int64_t i,
                               const char *loss, wg_error *error)
{
    if (isfinite(wgi_place_get(&p->loss)) || !error || *error->warning)
        return;
    char row[WGI_BLAME_TEXT];
    bool found = wg_plan_first_nonfinite(p->plan, 0) != NULL;
    wgi_error_warn(error, "validation: the %s of batch %" PRId64 " is not finite%s%s%s", loss,
                   i + 1, found ? "; " : "", found ? wg_plan_message(p->plan) : "",
                   wgi_source_blame(source, p->plan, 0, i, row));
}

static wg_status add_batch(wgi_means *m, wgi_plans *plans, const wg_source *source, int64_t i,
                           const char *loss, wg_error *error)
{
    wgi_step_plan *p;
    wg_batch_size size;
    char row[WGI_BLAME_TEXT];
    const wgi_step_batch batch = {.source = source, .i = i, .kind = WGI_STEP_EVALUATES, .total = 1};
    wg_status status = wgi_plans_fill(plans, &batch, &p, &size, error);
    if (status != WG_OK)
        return wgi_error_prefix(error, status, "validation: ");
    status = wg_plan_run(p->plan, 0);
    if (status != WG_OK)
        return wgi_error_set(error, status, "validation: %s%s", wg_plan_message(p->plan),
                             wgi_source_blame(source, p->plan, 0, i, row));
    wgi_means_add(m, loss, p, batch.total, &size);
    warn_if_not_finite(p, source, i, loss, error);
    return WG_OK;
}

/* ---- on several ranks ------------------------------------------------------------------------ */

/* The sums of one batch, as numbers that are added over ranks: zero but on one. */
enum { WEIGHT, EXAMPLES, FIRST_METRIC, ROW = FIRST_METRIC + WG_MAX_METRICS };

static void put_row(double row[ROW], const wgi_means *m)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without memory the status says so */
    row[WEIGHT] = (double)m->weight;
    row[EXAMPLES] = (double)m->examples;
    for (size_t k = 0; k < m->n; k++)
        row[FIRST_METRIC + k] = m->metric[k].value;
}

/* The sums of all batches, in their order, so that they do not depend on the number of ranks.
 * Rank 0 has batch 0, and with it the names. */
static void add_rows(wgi_means *out, const double *rows, int64_t n)
{
    out->weight = out->examples = 0;
    for (size_t k = 0; k < out->n; k++)
        out->metric[k].value = 0;
    for (int64_t i = 0; i < n; i++, rows += ROW) {
        out->weight += (int64_t)rows[WEIGHT];
        out->examples += (int64_t)rows[EXAMPLES];
        for (size_t k = 0; k < out->n; k++)
            out->metric[k].value += rows[FIRST_METRIC + k];
    }
}

/* Batch i is that of rank i modulo their number. */
static wg_status validate_own(wgi_means *out, double *rows, wgi_plans *plans,
                              const wg_source *source, const char *loss, wg_error *error)
{
    const wg_ranks *ranks = plans->options->ranks;
    wg_status status = rows ? WG_OK : wgi_error_set(error, WG_ENOMEM, "out of memory");
    for (int64_t i = wg_ranks_rank(ranks); i < source->batches && status == WG_OK;
         i += wg_ranks_count(ranks)) {
        wgi_means one = {.n = 0};
        status = add_batch(&one, plans, source, i, loss, error);
        put_row(rows + i * ROW, &one);
        *out = one;
    }
    return status;
}

static wg_status validate_shared(wgi_means *out, wgi_plans *plans, const wg_source *source,
                                 const char *loss, wg_error *error)
{
    wg_ranks *ranks = plans->options->ranks;
    size_t n = (size_t)source->batches * ROW;
    double *rows = calloc(n + 1, sizeof *rows);
    wg_status status = validate_own(out, rows, plans, source, loss, error);
    status = wg_ranks_agree(ranks, status, error);
    if (status == WG_OK)
        status = wg_ranks_sum(ranks, rows, n, error);
    if (status == WG_OK) {
        add_rows(out, rows, source->batches);
        wg_ranks_broadcast(ranks, out, sizeof *out, 0);
    }
    free(rows);
    return status;
}

/* ---- any ------------------------------------------------------------------------------------- */

wg_status wgi_validate(wgi_means *out, wgi_plans *plans, const wg_source *source, const char *loss,
                       const volatile int *stop, wg_error *error)
{
    wg_status status = WG_OK;
    *out = (wgi_means){.n = 0};
    if (plans->options->ranks)
        status = validate_shared(out, plans, source, loss, error);
    for (int64_t i = 0; i < source->batches && status == WG_OK && !plans->options->ranks; i++)
        status = wgi_flag(stop) ? WG_ESTOPPED : add_batch(out, plans, source, i, loss, error);
    wgi_means_finish(out, out->weight ? (double)out->weight : 1);
    return status;
}
