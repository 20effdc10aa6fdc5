#include "train/plans.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>
#include <string.h>

/* Beyond so many bytes in plans' own inputs and outputs those plans go that were not used for
 * longest. */
#define MAX_BYTES (UINT64_C(2) << 30)
/* What a plan takes beside its buffers, about: its graph, kernels, primitives. */
#define PLAN_BYTES (UINT64_C(2) << 20)

wg_status wgi_plans_init(wgi_plans *p, const wg_settings *settings, const wg_backend_list *backends,
                         wg_store *store)
{
    *p = (wgi_plans){.settings = settings,
                     .backends = backends,
                     .store = store,
                     .workspace = wg_workspace_new()};
    return p->workspace ? WG_OK : WG_ENOMEM;
}

static void free_plan(wgi_step_plan *p)
{
    if (p)
        wg_plan_free(p->plan);
    free(p);
}

void wgi_plans_free(wgi_plans *p)
{
    for (size_t i = 0; i < p->count; i++)
        free_plan(p->plan[i]);
    free(p->plan);
    wg_workspace_free(p->workspace);
    *p = (wgi_plans){.count = 0};
}

static void *place_of(wg_plan *p, const wg_value *v)
{
    return v ? wg_plan_data(p, v) : NULL;
}

/* A state under `prefix` of a parameter just drawn starts where the parameter does. */
static void start_averages(const wg_store *store, size_t from)
{
    const size_t n = strlen(WG_STATES_OF_AVERAGE);
    const wg_tensor *t;
    for (size_t i = from; (t = wg_store_at(store, i)); i++) {
        const wg_tensor *p = strncmp(t->name, WG_STATES_OF_AVERAGE, n) == 0
                                 ? wg_store_find(store, t->name + n)
                                 : NULL;
        if (p)
            memcpy(t->data, p->data, (size_t)wg_shape_count(&t->shape) * wg_dtype_size(t->dtype));
    }
}

static wg_status make(const wgi_plans *p, const wgi_step_shape *shape, wgi_step_plan *out,
                      wgi_message *m)
{
    wgi_step s;
    wgi_step_build(&s, p->settings, shape);
    size_t tensors = wg_store_count(p->store);
    wg_status status = wg_plan_create(&out->plan, s.graph,
                                      &(wg_plan_options){.backends = p->backends->backend,
                                                         .n_backends = p->backends->count,
                                                         .threads = (int)p->settings->threads,
                                                         .store = p->store,
                                                         .workspace = p->workspace,
                                                         .seed = p->settings->seed});
    if (status == WG_OK) {
        start_averages(p->store, tensors);
        wg_plan *plan = out->plan;
        out->shape = *shape;
        out->source = place_of(plan, s.in.source);
        out->source_lengths = place_of(plan, s.in.source_lengths);
        out->target_in = place_of(plan, s.in.target_in);
        out->target_out = place_of(plan, s.in.target_out);
        out->normaliser = place_of(plan, s.normaliser);
        out->rate = place_of(plan, s.rate);
        out->cost = place_of(plan, s.cost);
        out->norm = place_of(plan, s.norm);
        out->nll = place_of(plan, s.nll);
        out->hits = place_of(plan, s.hits);
        wg_plan_stats stats = wg_plan_statistics(plan);
        out->bytes = stats.buffer_bytes - stats.shared_bytes + PLAN_BYTES;
    } else {
        wgi_message_add(m, "plan for a batch [%lld, %lld, %lld]: %s", (long long)shape->rows,
                        (long long)shape->source_length, (long long)shape->target_length,
                        wg_graph_message(s.graph));
    }
    wg_graph_free(s.graph);
    return status;
}

/* Frees those not used for longest until `bytes` more have room. */
static void evict(wgi_plans *p, size_t bytes)
{
    while (p->count && p->bytes + bytes > MAX_BYTES) {
        size_t oldest = 0;
        for (size_t i = 1; i < p->count; i++)
            if (p->plan[i]->used < p->plan[oldest]->used)
                oldest = i;
        p->bytes -= p->plan[oldest]->bytes;
        free_plan(p->plan[oldest]);
        p->plan[oldest] = p->plan[--p->count];
    }
}

static bool same_shape(const wgi_step_shape *a, const wgi_step_shape *b)
{
    return a->rows == b->rows && a->source_length == b->source_length &&
           a->target_length == b->target_length && a->kind == b->kind;
}

wg_status wgi_plans_get(wgi_plans *p, const wgi_step_shape *shape, wgi_step_plan **out,
                        wgi_message *m)
{
    for (size_t i = 0; i < p->count; i++)
        if (same_shape(&p->plan[i]->shape, shape)) {
            *out = p->plan[i];
            (*out)->used = ++p->clock;
            return WG_OK;
        }
    if (p->count == p->room) {
        size_t room = p->room ? 2 * p->room : 32;
        wgi_step_plan **plan = realloc(p->plan, room * sizeof(wgi_step_plan *));
        if (!plan)
            return wgi_message_add(m, "out of memory"), WG_ENOMEM;
        p->plan = plan;
        p->room = room;
    }
    wgi_step_plan *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return wgi_message_add(m, "out of memory"), WG_ENOMEM;
    wg_status status = make(p, shape, fresh, m);
    if (status != WG_OK) {
        free_plan(fresh);
        return status;
    }
    evict(p, fresh->bytes);
    fresh->used = ++p->clock;
    p->bytes += fresh->bytes;
    p->plan[p->count++] = *out = fresh;
    return WG_OK;
}

static void put_scalar(const wgi_plans *p, void *at, double x)
{
    if (at && p->settings->net.dtype == WG_F64)
        *(double *)at = x;
    else if (at)
        *(float *)at = (float)x;
}

double wgi_plans_scalar(const wgi_plans *p, const void *at)
{
    return p->settings->net.dtype == WG_F64 ? *(const double *)at : (double)*(const float *)at;
}

wg_status wgi_plans_fill(wgi_plans *p, const wg_batch *batch, int kind, double normaliser,
                         double rate, wgi_step_plan **out, wgi_message *m)
{
    wgi_step_shape shape = {batch->rows, batch->source_length, batch->target_length, kind};
    wg_status status = wgi_plans_get(p, &shape, out, m);
    if (status != WG_OK)
        return status;
    size_t rows = (size_t)batch->rows, row = sizeof(int32_t);
    memcpy((*out)->source, batch->source, rows * (size_t)batch->source_length * row);
    memcpy((*out)->source_lengths, batch->source_lengths, rows * row);
    memcpy((*out)->target_in, batch->target_in, rows * (size_t)batch->target_length * row);
    memcpy((*out)->target_out, batch->target_out, rows * (size_t)batch->target_length * row);
    put_scalar(p, (*out)->normaliser, normaliser);
    put_scalar(p, (*out)->rate, rate);
    return WG_OK;
}
