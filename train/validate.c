#include "train/validate.h"
#include "graph/error.h"

#include <stdio.h>
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

void wgi_means_add(wgi_means *m, const char *loss, const wgi_step_plan *p, double factor,
                   const wg_batch_size *size)
{
    m->weight += size->weight;
    m->examples += size->examples;
    add(m, loss, factor * wgi_place_get(&p->loss), WG_LESS_IS_BETTER);
    for (size_t i = 0; i < p->n_metrics; i++)
        add(m, p->metric[i].metric.name, factor * wgi_place_get(&p->metric[i].place),
            p->metric[i].metric.better);
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

static wg_status add_batch(wgi_means *m, wgi_plans *plans, const wg_source *source, int64_t i,
                           const char *loss, wg_error *error)
{
    wgi_step_plan *p;
    wg_batch_size size;
    const wgi_batch batch = {source, 0, i, WG_STEP_EVALUATES, 1, 0};
    wg_status status = wgi_plans_fill(plans, &batch, &p, &size, error);
    if (status != WG_OK)
        return wgi_error_prefix(error, status, "validation: ");
    status = wg_plan_run(p->plan, 0);
    if (status != WG_OK)
        return wgi_error_set(error, status, "validation: %s", wg_plan_message(p->plan));
    bool mean = plans->options->scale == WG_LOSS_OF_BATCH;
    wgi_means_add(m, loss, p, mean ? (double)size.weight : 1, &size);
    return WG_OK;
}

wg_status wgi_validate(wgi_means *out, wgi_plans *plans, const wg_source *source, const char *loss,
                       const volatile int *stop, wg_error *error)
{
    wg_status status = WG_OK;
    *out = (wgi_means){.n = 0};
    for (int64_t i = 0; i < source->batches && status == WG_OK; i++)
        status = stop && *stop ? WG_ESTOPPED : add_batch(out, plans, source, i, loss, error);
    wgi_means_finish(out, out->weight ? (double)out->weight : 1);
    return status;
}
