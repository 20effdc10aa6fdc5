#include "train/plans.h"
#include "graph/element.h"
#include "graph/error.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>
#include <string.h>

/* For inputs and outputs of plans: beyond it the least recently used plans are freed. */
#define MAX_BYTES ((size_t)2 << 30)

static void *place_of(wg_plan *p, const wg_value *v)
{
    return v ? wg_plan_data(p, v) : NULL;
}

void wgi_averages_start(const wg_store *store, size_t from)
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

static wg_status make(void *plans, const wgi_plan_key *key, wg_plan **plan, void *io,
                      wg_error *error)
{
    const wgi_plans *p = plans;
    const int64_t *n = key->n;
    wgi_step_graph s;
    wgi_step_build(&s, p->settings, &(wgi_step_shape){n[0], n[1], n[2], (int)n[3]});
    size_t tensors = wg_store_count(p->store);
    wg_status status = wg_plan_create(plan, s.graph,
                                      &(wg_plan_options){.backends = p->backends->backend,
                                                         .n_backends = p->backends->count,
                                                         .threads = (int)p->settings->threads,
                                                         .store = p->store,
                                                         .workspace = p->workspace,
                                                         .seed = p->settings->seed});
    if (status == WG_OK) {
        wgi_averages_start(p->store, tensors);
        *(wgi_step_plan *)io = (wgi_step_plan){
            .plan = *plan,
            .source = place_of(*plan, s.in.source),
            .source_lengths = place_of(*plan, s.in.source_lengths),
            .target_in = place_of(*plan, s.in.target_in),
            .target_out = place_of(*plan, s.in.target_out),
            .normaliser = place_of(*plan, s.normaliser),
            .rate = place_of(*plan, s.rate),
            .cost = place_of(*plan, s.cost),
            .norm = place_of(*plan, s.norm),
            .nll = place_of(*plan, s.nll),
            .correct = place_of(*plan, s.correct),
        };
    } else {
        wgi_error_set(error, status, "plan for a batch [%lld, %lld, %lld]: %s", (long long)n[0],
                      (long long)n[1], (long long)n[2], wg_graph_message(s.graph));
    }
    wg_graph_free(s.graph);
    return status;
}

wg_status wgi_plans_init(wgi_plans *p, const wg_settings *settings, const wg_backend_list *backends,
                         wg_store *store)
{
    *p = (wgi_plans){
        .settings = settings,
        .backends = backends,
        .store = store,
        .workspace = wg_workspace_new(),
        .cache = {.make = make, .io_size = sizeof(wgi_step_plan), .max_bytes = MAX_BYTES},
    };
    return p->workspace ? WG_OK : WG_ENOMEM;
}

void wgi_plans_free(wgi_plans *p)
{
    wgi_plan_cache_clear(&p->cache);
    wg_workspace_free(p->workspace);
    *p = (wgi_plans){.settings = NULL};
}

wg_status wgi_plans_get(wgi_plans *p, const wgi_step_shape *shape, wgi_step_plan **out,
                        wg_error *error)
{
    const wgi_plan_key key = {
        {shape->rows, shape->source_length, shape->target_length, shape->kind}};
    void *io;
    wg_status status = wgi_plan_cache_get(&p->cache, p, &key, &io, error);
    *out = io;
    return status;
}

static void put_scalar(const wgi_plans *p, void *at, double x)
{
    if (at)
        wgi_put_element(at, p->settings->net.dtype, 0, x);
}

double wgi_plans_scalar(const wgi_plans *p, const void *at)
{
    return wgi_get_element(at, p->settings->net.dtype, 0);
}

wg_status wgi_plans_fill(wgi_plans *p, const wg_batch *batch, int kind, double normaliser,
                         double rate, wgi_step_plan **out, wg_error *error)
{
    wgi_step_shape shape = {batch->rows, batch->source_length, batch->target_length, kind};
    wg_status status = wgi_plans_get(p, &shape, out, error);
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
