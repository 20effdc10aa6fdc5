#include "train/shards.h"
#include "backends/store.h"
#include "graph/error.h"
#include "train/optimizer.h"
#include "train/owner.h"
#include "train/rows.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening --------------------------------------------------------------------------------- */

/* Where the part of rank r begins in parameter i, in bytes; r may be the number of ranks. */
static size_t begin_in(const wgi_shards *s, size_t i, int r, int size)
{
    const wg_shape *shape = &s->parameter[i]->shape;
    const int64_t rows = wgi_rows_in(shape);
    if (r == size || rows == 0)
        return s->bytes[i];
    return s->bytes[i] / (size_t)rows *
           (size_t)wgi_first_row(shape, s->before[i], s->total, r, size);
}

static wg_status allocate(wg_trainer *t, size_t n)
{
    wgi_shards *s = &t->shards;
    s->parameter = calloc(n + 1, sizeof *s->parameter);
    s->data = calloc(n + 1, sizeof *s->data);
    s->averages = calloc(n + 1, sizeof *s->averages);
    s->bytes = calloc(n + 1, sizeof *s->bytes);
    s->before = calloc(n + 1, sizeof *s->before);
    s->cut = calloc((size_t)wg_ranks_count(t->options.ranks) + 1, sizeof *s->cut);
    return s->parameter && s->data && s->averages && s->bytes && s->before && s->cut
               ? WG_OK
               : wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
}

/* The average of a parameter, which the plan of a rank that does not update it lacks. */
static wg_status add_average(wg_trainer *t, size_t i)
{
    char name[WGI_OWNED_NAME];
    const wg_tensor *p = t->shards.parameter[i], *average;
    if (t->options.average <= 0)
        return WG_OK;
    wgi_owned_name(name, WGI_OWNER_AVERAGE, "", p->name);
    if (wg_store_add(t->store, name, p->dtype, &p->shape, &average) != WG_OK)
        return wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    memcpy(average->data, p->data, wgi_tensor_bytes(p)); /* nothing is trained yet */
    t->shards.averages[i] = average->data;
    return WG_OK;
}

/* The parameters of that list, as the store has them. */
static wg_status take_parameters(wg_trainer *t, wg_value *const *trained, size_t n)
{
    wgi_shards *s = &t->shards;
    const int size = wg_ranks_count(t->options.ranks);
    wg_status status = allocate(t, n);
    for (size_t i = 0; i < n && status == WG_OK; i++) {
        s->parameter[i] = wg_store_find(t->store, trained[i]->name);
        s->data[i] = s->parameter[i]->data;
        s->bytes[i] = wgi_tensor_bytes(s->parameter[i]);
        status = add_average(t, i);
    }
    if (status != WG_OK)
        return status;
    s->n = n;
    for (size_t i = 0; i < n; i++)
        s->total += wg_shape_count(&s->parameter[i]->shape);
    for (size_t i = 1; i < n; i++)
        s->before[i] = s->before[i - 1] + wg_shape_count(&s->parameter[i - 1]->shape);
    for (size_t i = 0; i < n; i++)
        for (int r = 0; r <= size; r++)
            s->cut[r] += begin_in(s, i, r, size);
    return WG_OK;
}

static void note_moments(wg_trainer *t)
{
    const wg_tensor *x;
    size_t own = 0;
    for (size_t i = 0; (x = wg_store_at(t->store, i)); i++)
        if (wgi_owner_of(x->name) == WGI_OWNER_OPTIMIZER)
            own += wgi_tensor_bytes(x);
    wgi_report_note(t, "each of %d ranks has a part of the optimizer's moments: %.1f MiB on rank 0",
                    wg_ranks_count(t->options.ranks), (double)own / (1 << 20));
}

wg_status wgi_shards_open(wg_trainer *t)
{
    wg_shape *shapes;
    wg_batch_size size;
    wgi_step_graph s;
    if (!t->options.shard_optimizer)
        return WG_OK;
    const wg_source *source = &t->train.s;
    wg_status status = wgi_plans_describe(&t->plans, source, 0, 0, &shapes, &size, &t->error);
    if (status != WG_OK)
        return status;
    wgi_step_build(&s, &t->options, source->fields, source->n_fields, shapes, WGI_STEP_UPDATES, 0);
    status = wg_graph_status(s.graph); /* it was planned before */
    status = status == WG_OK ? take_parameters(t, s.trained, s.n_trained)
                             : wgi_error_set(&t->error, status, "out of memory");
    wgi_plans_keep(&t->plans, s.graph);
    if (status == WG_OK)
        note_moments(t);
    return status;
}

void wgi_shards_close(wgi_shards *s)
{
    wgi_shards_free_whole(s);
    free(s->parameter);
    free(s->data);
    free(s->averages);
    free(s->bytes);
    free(s->before);
    free(s->cut);
    *s = (wgi_shards){.n = 0};
}

/* ---- parameters and averages ----------------------------------------------------------------- */

static wg_status share(wg_trainer *t, void *const *data)
{
    const wgi_shards *s = &t->shards;
    return s->n ? wg_ranks_share(t->options.ranks, data, s->bytes, s->n, s->cut, &t->error) : WG_OK;
}

wg_status wgi_shards_share(wg_trainer *t)
{
    return share(t, t->shards.data);
}

wg_status wgi_shards_share_averages(wg_trainer *t)
{
    return t->options.average > 0 ? share(t, t->shards.averages) : WG_OK;
}

/* ---- moments --------------------------------------------------------------------------------- */

/* The k-th moment of parameters, as their names begin after that of the optimizer; NULL past the
 * last. */
static const char *moment(const wg_trainer *t, int k)
{
    return k < WG_MOST_UPDATE_STATES ? wgi_rule_of(&t->options.optimizer)->states[k] : NULL;
}

static void name_moment(const wg_trainer *t, size_t i, int k, char name[WGI_OWNED_NAME])
{
    char part[WGI_OWNED_NAME];
    snprintf(part, sizeof part, "%s/", moment(t, k));
    wgi_owned_name(name, WGI_OWNER_OPTIMIZER, part, t->shards.parameter[i]->name);
}

/* What ranks other than 0 need to receive a moment; freed by the caller. */
static wg_status make_scratch(wg_trainer *t, void **scratch)
{
    size_t most = 1;
    for (size_t i = 0; i < t->shards.n; i++)
        most = t->shards.bytes[i] > most ? t->shards.bytes[i] : most;
    *scratch = wgi_leads(t) ? NULL : malloc(most);
    return wgi_leads(t) || *scratch ? WG_OK : wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
}

/* The states of the optimizer that are no moments, such as the number of steps. */
static wg_status add_others(wg_trainer *t)
{
    const wg_tensor *own = wg_store_find(t->store, WGI_OPTIMIZER_STEP), *copy;
    if (!own)
        return WG_OK;
    if (wg_store_add(t->shards.whole, own->name, own->dtype, &own->shape, &copy) != WG_OK)
        return wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    memcpy(copy->data, own->data, wgi_tensor_bytes(own));
    return WG_OK;
}

wg_status wgi_shards_make_whole(wg_trainer *t)
{
    wgi_shards *s = &t->shards;
    char name[WGI_OWNED_NAME];
    if (!s->n || !wgi_leads(t))
        return WG_OK;
    wgi_shards_free_whole(s);
    s->whole = wg_store_new(0);
    wg_status status = s->whole ? add_others(t) : WG_ENOMEM;
    for (size_t i = 0; i < s->n && status == WG_OK; i++)
        for (int k = 0; moment(t, k) && status == WG_OK; k++) {
            name_moment(t, i, k, name);
            status =
                wg_store_add(s->whole, name, s->parameter[i]->dtype, &s->parameter[i]->shape, NULL);
        }
    return status == WG_OK ? WG_OK
                           : wgi_error_set(&t->error, WG_ENOMEM,
                                           "no memory for the optimizer's moments of all ranks, "
                                           "which a checkpoint has");
}

void wgi_shards_free_whole(wgi_shards *s)
{
    wg_store_free(s->whole);
    s->whole = NULL;
}

/* The k-th moment of parameter i: all rows are or come to *all, the rows of this rank at *own,
 * which is NULL where it has none. */
static void find_moment(wg_trainer *t, size_t i, int k, void *scratch, char **all,
                        const wg_tensor **own)
{
    char name[WGI_OWNED_NAME];
    name_moment(t, i, k, name);
    *all = wgi_leads(t) ? wg_store_find(t->shards.whole, name)->data : scratch;
    *own = wg_store_find(t->store, name);
}

/* Every moment in turn, from the ranks to rank 0 or back. */
static wg_status exchange_moments(wg_trainer *t, bool to_ranks, void *scratch, size_t *cut)
{
    const wgi_shards *s = &t->shards;
    const wg_ranks *ranks = t->options.ranks;
    const int rank = wg_ranks_rank(ranks), size = wg_ranks_count(ranks);
    wg_status status = WG_OK;
    for (size_t i = 0; i < s->n && status == WG_OK; i++) {
        for (int r = 0; r <= size; r++)
            cut[r] = begin_in(s, i, r, size);
        for (int k = 0; moment(t, k) && status == WG_OK; k++) {
            char *all;
            const wg_tensor *own;
            find_moment(t, i, k, scratch, &all, &own);
            if (to_ranks)
                wg_ranks_broadcast(t->options.ranks, all, s->bytes[i], 0);
            const size_t part = own ? cut[rank + 1] - cut[rank] : 0;
            if (part && to_ranks)
                /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): there is scratch */
                memcpy(own->data, all + cut[rank], part);
            else if (part)
                memcpy(all + cut[rank], own->data, part);
            if (!to_ranks)
                status = wg_ranks_share(t->options.ranks, (void *[]){all}, &s->bytes[i], 1, cut,
                                        &t->error);
        }
    }
    return status;
}

static wg_status move_moments(wg_trainer *t, bool to_ranks)
{
    void *scratch = NULL;
    size_t *cut = calloc((size_t)wg_ranks_count(t->options.ranks) + 1, sizeof *cut);
    wg_status status = cut ? WG_OK : wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    if (status == WG_OK)
        status = make_scratch(t, &scratch);
    if (status == WG_OK && !to_ranks)
        status = wgi_shards_make_whole(t);
    status = wgi_agree(t, status);
    if (cut && status == WG_OK)
        status = exchange_moments(t, to_ranks, scratch, cut);
    free(scratch);
    free(cut);
    return status;
}

wg_status wgi_shards_gather(wg_trainer *t)
{
    return t->shards.n ? move_moments(t, false) : WG_OK;
}

/* Beside the moments: the number of steps. */
static void broadcast_step(wg_trainer *t)
{
    const wg_tensor *own = wg_store_find(t->store, WGI_OPTIMIZER_STEP);
    if (own && wgi_leads(t))
        memcpy(own->data, wg_store_find(t->shards.whole, own->name)->data, wgi_tensor_bytes(own));
    if (own)
        wg_ranks_broadcast(t->options.ranks, own->data, wgi_tensor_bytes(own), 0);
}

wg_status wgi_shards_scatter(wg_trainer *t)
{
    if (!t->shards.n)
        return WG_OK;
    broadcast_step(t);
    wg_status status = move_moments(t, true);
    wgi_shards_free_whole(&t->shards);
    return status;
}
