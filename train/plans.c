#include "train/plans.h"
#include "backends/memory.h"
#include "backends/store.h"
#include "graph/element.h"
#include "graph/error.h"
#include "graph/grow.h"
#include "train/owner.h"
#include "wengert/distributed/ranks.h"
#include "wengert/ops/ops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* For inputs and outputs of plans: beyond it the least recently used plans are freed. */
#define MAX_BYTES ((size_t)2 << 30)

static const char who[] = "wg_trainer";

static wgi_place place_of(wg_plan *p, const wg_value *v)
{
    return v ? (wgi_place){wg_plan_data(p, v), v->dtype} : (wgi_place){NULL, WG_F32};
}

void wgi_averages_start(const wg_store *store, size_t from)
{
    const wg_tensor *t;
    for (size_t i = from; (t = wg_store_at(store, i)); i++) {
        bool owned = wgi_owner_of(t->name) == WGI_OWNER_AVERAGE;
        const wg_tensor *p = owned ? wg_store_find(store, wgi_owned_part(t->name)) : NULL;
        if (p)
            memcpy(t->data, p->data, wgi_tensor_bytes(t));
    }
}

/* ---- making a plan --------------------------------------------------------------------------- */

static void find_places(wgi_step_plan *io, wg_plan *plan, const wgi_step_graph *s, size_t n_fields)
{
    io->plan = plan;
    io->total = place_of(plan, s->total);
    io->share = place_of(plan, s->share);
    io->scale = place_of(plan, s->scale);
    io->rate = place_of(plan, s->rate);
    io->loss = place_of(plan, s->loss);
    io->norm = place_of(plan, s->norm);
    io->vote = place_of(plan, s->vote);
    io->votes = place_of(plan, s->votes);
    io->losses = place_of(plan, s->losses);
    io->adds_up = s->adds_up;
    io->n_metrics = s->n_metrics;
    for (size_t i = 0; i < s->n_metrics; i++)
        io->metric[i] = (wgi_placed_metric){s->metric[i], place_of(plan, s->metric[i].value)};
    for (size_t k = 0; k < n_fields; k++)
        io->inputs[k] = wg_plan_data(plan, s->inputs[k]);
}

/* "plan for a batch of x [32,784], label [32]: ..." */
static wg_status fail(const wgi_plans *p, const wg_shape *shapes, wg_status status,
                      const char *message, wg_error *error)
{
    char text[200];
    wgi_error_set(error, status, "plan for a batch of ");
    for (size_t k = 0; k < p->n_fields; k++)
        wgi_error_add(error, "%s%s %s", k ? ", " : "", p->fields[k].name,
                      wg_shape_text(&shapes[k], text, sizeof text));
    wgi_error_add(error, ": %s", message);
    return status;
}

static size_t store_bytes(const wg_store *store)
{
    const wg_tensor *t;
    size_t bytes = 0;
    for (size_t i = 0; (t = wg_store_at(store, i)); i++)
        bytes += wgi_round_up(wgi_tensor_bytes(t));
    return bytes;
}

static bool is_stored(const wg_value *v)
{
    return v->node->op->flags & (WG_OP_PARAMETER | WG_OP_STATE) && v->name;
}

/* Of tensors of the store that g does not have. */
static size_t bytes_of_others(const wgi_plans *p, const wg_graph *g)
{
    size_t others = store_bytes(p->store);
    for (uint32_t i = 0; i < wg_graph_value_count(g); i++) {
        const wg_value *v = wg_graph_value(g, i);
        if (is_stored(v) && wg_store_find(p->store, v->name))
            others -= wgi_round_up(wg_value_bytes(v));
    }
    return others;
}

/* Frees plans of other shapes until store, workspace and what plans have of their own are within
 * the memory; the workspace shrinks to what they need.  When such a plan is made again, and after
 * it others, they leave each other room: so shapes that alternate are planned twice or thrice, not
 * at each change. */
static wg_status keep_within(wgi_plans *p)
{
    const size_t memory = p->options->memory;
    const size_t fixed = p->options->memory_elsewhere + store_bytes(p->store);
    while (memory) {
        size_t own = wgi_plan_cache_own_bytes(&p->cache);
        size_t shared = wgi_plan_cache_shared_bytes(&p->cache);
        if (fixed + wg_workspace_bytes(p->workspace) + own <= memory)
            break;
        if (wg_workspace_bytes(p->workspace) > shared) {
            wg_status status = wg_workspace_shrink(p->workspace, shared);
            if (status != WG_OK)
                return status;
        } else if (wgi_plan_cache_evict(&p->cache)) {
            p->reserve += own - wgi_plan_cache_own_bytes(&p->cache);
            p->reserve = p->reserve < memory / 4 ? p->reserve : memory / 4;
        } else {
            break;
        }
    }
    return WG_OK;
}

static void compare_leaf(const wgi_plans *p, const wg_value *v)
{
    const wg_tensor *t = wg_store_find(p->store, v->name);
    char have[160], want[160];
    if (!t && v->node->op->flags & WG_OP_PARAMETER)
        wg_graph_fail(v->node->graph, WG_EINVAL, v->node->at, who,
                      "expected the parameters that the model has for the first batch, got another "
                      "one, %s, which would not be trained",
                      v->name);
    else if (t && (t->dtype != v->dtype || !wg_shape_equal(&t->shape, &v->shape)))
        wg_graph_fail(v->node->graph, t->dtype == v->dtype ? WG_ESHAPE : WG_EDTYPE, v->node->at,
                      who, "expected %s to be %s%s, as for the first batch, got %s%s", v->name,
                      wg_dtype_name(t->dtype), wg_shape_text(&t->shape, have, sizeof have),
                      wg_dtype_name(v->dtype), wg_shape_text(&v->shape, want, sizeof want));
}

/* Training would go on with what a validation leaves in a state. */
static void refuse_assignments(const wgi_plans *p, wg_graph *g)
{
    for (size_t i = 0; i < wg_graph_assign_count(g); i++) {
        wg_value *leaf, *value;
        wg_graph_assign_at(g, i, &leaf, &value);
        if (wg_graph_status(g) == WG_OK && wg_store_find(p->store, leaf->name))
            wg_graph_fail(g, WG_EINVAL, value->node->at, who,
                          "the model assigns to %s in validation too, and training would go on "
                          "with that: where step->mode is WG_MODE_INFERENCE, build it without "
                          "(wg_batchnorm_layer: `training` false)",
                          leaf->name);
    }
}

/* The first plan has made what is trained and saved.  A parameter that only another graph has, of
 * validation or of a batch of another shape, would keep its initial value. */
bool wgi_plans_accept(const wgi_plans *p, wg_graph *g, int kind)
{
    for (size_t i = 0; wg_store_count(p->store) && i < wg_graph_value_count(g); i++) {
        const wg_value *v = wg_graph_value(g, i);
        if (wg_graph_status(g) == WG_OK && is_stored(v))
            compare_leaf(p, v);
    }
    if (kind & WGI_STEP_EVALUATES && wg_graph_status(g) == WG_OK)
        refuse_assignments(p, g);
    return wg_graph_status(g) == WG_OK;
}

/* The graph of the key, and its plan, which leaves room to others if it is to. */
static wg_status make_within(const wgi_plans *p, const wgi_plan_key *key, bool leaves_room,
                             wgi_step_graph *s, wg_plan **plan)
{
    const wg_trainer_options *o = p->options;
    const wg_shape *shapes = p->shapes + (size_t)key->n[0] * p->n_fields;
    wgi_step_build(s, o, p->fields, p->n_fields, shapes, (int)key->n[1], (wgi_group_set)key->n[2]);
    *plan = NULL;
    if (!wgi_plans_accept(p, s->graph, (int)key->n[1]))
        return wg_graph_status(s->graph);
    size_t others = o->memory_elsewhere;
    if (s->graph)
        others += bytes_of_others(p, s->graph) + wg_graph_node_count(s->graph) * WGI_NODE_BYTES;
    if (leaves_room)
        others += p->reserve + wgi_plan_cache_own_bytes(&p->cache);
    return wg_plan_create(plan, s->graph,
                          &(wg_plan_options){.backends = p->backends,
                                             .n_backends = p->n_backends,
                                             .threads = o->threads,
                                             .store = p->store,
                                             .workspace = p->workspace,
                                             .seed = o->seed,
                                             .memory = o->memory,
                                             .memory_elsewhere = others});
}

void wgi_plans_keep(wgi_plans *p, wg_graph *g)
{
    wg_graph_free(p->last);
    p->last = g;
}

static wg_status make(void *plans, const wgi_plan_key *key, wg_plan **plan, void *io,
                      wg_error *error)
{
    wgi_plans *p = plans;
    size_t tensors = wg_store_count(p->store);
    wgi_step_graph s;
    wg_status status = make_within(p, key, p->reserve > 0, &s, plan);
    if (status == WG_ENOMEM && p->reserve > 0) {
        wgi_plans_keep(p, s.graph);
        status = make_within(p, key, false, &s, plan);
    }
    if (status == WG_OK) {
        wgi_averages_start(p->store, tensors);
        find_places(io, *plan, &s, p->n_fields);
    } else {
        fail(p, p->shapes + (size_t)key->n[0] * p->n_fields, status,
             s.graph ? wg_graph_message(s.graph) : "out of memory", error);
    }
    wgi_plans_keep(p, s.graph);
    return status;
}

/* Those of the options; the backend of the ranks must be named beside those that are built in. */
static bool list_backends(wgi_plans *p)
{
    const wg_trainer_options *o = p->options;
    const wg_backend_list built = wg_backend_list_built_in();
    bool all = o->ranks && !o->n_backends;
    size_t n = all ? built.count : o->n_backends;
    p->backends = calloc(n + 1, sizeof *p->backends);
    if (!p->backends)
        return false;
    if (o->ranks)
        p->backends[p->n_backends++] = wg_ranks_backend(o->ranks);
    for (size_t i = 0; i < n; i++)
        p->backends[p->n_backends++] = all ? built.backend[i] : o->backends[i];
    return true;
}

wg_status wgi_plans_init(wgi_plans *p, const wg_trainer_options *options, const wg_field *fields,
                         size_t n_fields, wg_store *store)
{
    *p = (wgi_plans){
        .options = options,
        .fields = fields,
        .n_fields = n_fields,
        .store = store,
        .workspace = wg_workspace_new(),
        .cache = {.make = make,
                  .io_size = sizeof(wgi_step_plan) + n_fields * sizeof(void *),
                  .max_bytes = MAX_BYTES},
    };
    if (p->workspace && list_backends(p) && WGI_RESERVE(p->shapes, p->capacity, n_fields))
        return WG_OK;
    wgi_plans_free(p);
    return WG_ENOMEM;
}

void wgi_plans_free(wgi_plans *p)
{
    wgi_plan_cache_clear(&p->cache);
    wg_workspace_free(p->workspace);
    wg_graph_free(p->last);
    free(p->shapes);
    free(p->backends);
    *p = (wgi_plans){.options = NULL};
}

/* ---- the plan of a batch --------------------------------------------------------------------- */

/* That function of the source has failed with batch i. */
static wg_status batch_failed(const char *function, wg_status status, int64_t epoch, int64_t i,
                              wg_error *error)
{
    if (error && !*error->text)
        wgi_error_set(error, status, "`%s` returned \"%s\" without a message", function,
                      wg_status_text(status));
    return wgi_error_prefix(error, status, "batch %" PRId64 " of epoch %" PRId64 ": ", i + 1,
                            epoch + 1);
}

static wg_status wrong_shape(const wg_field *f, const wg_shape *shape, int64_t epoch, int64_t i,
                             wg_error *error)
{
    char text[200];
    return wgi_error_set(error, WG_ESHAPE,
                         "batch %" PRId64 " of epoch %" PRId64
                         ": `describe`: expected a shape of at most %d axes and sizes of 0 or more "
                         "for %s, got %s",
                         i + 1, epoch + 1, WG_MAX_RANK, f->name,
                         wg_shape_text(shape, text, sizeof text));
}

wg_status wgi_plans_describe(wgi_plans *p, const wg_source *source, int64_t epoch, int64_t i,
                             wg_shape **shapes, wg_batch_size *size, wg_error *error)
{
    *shapes = p->shapes + p->n_sets * p->n_fields;
    memset(*shapes, 0, p->n_fields * sizeof **shapes); /* beyond the rank too, to be compared */
    *size = (wg_batch_size){.weight = 0};
    wg_status status = source->describe(source->context, epoch, i, *shapes, size, error);
    if (status != WG_OK)
        return batch_failed("describe", status, epoch, i, error);
    if (size->weight < 1)
        return wgi_error_set(error, WG_EINVAL,
                             "batch %" PRId64 " of epoch %" PRId64
                             ": expected a weight of at least 1, got %" PRId64,
                             i + 1, epoch + 1, size->weight);
    size->examples = size->examples ? size->examples : size->weight;
    for (size_t k = 0; k < p->n_fields; k++)
        if (!wg_shape_valid(&(*shapes)[k], p->fields[k].dtype))
            return wrong_shape(&p->fields[k], &(*shapes)[k], epoch, i, error);
    return WG_OK;
}

static bool same_set(const wgi_plans *p, const wg_shape *a, const wg_shape *b)
{
    for (size_t k = 0; k < p->n_fields; k++)
        if (!wg_shape_equal(&a[k], &b[k]))
            return false;
    return true;
}

/* The number of the set of shapes that is in the scratch; SIZE_MAX without memory. */
static size_t number_of(wgi_plans *p)
{
    size_t i = 0, n = p->n_sets;
    while (i < n && !same_set(p, p->shapes + i * p->n_fields, p->shapes + n * p->n_fields))
        i++;
    if (i < n)
        return i;
    if (!WGI_RESERVE(p->shapes, p->capacity, (n + 2) * p->n_fields))
        return SIZE_MAX;
    return p->n_sets++;
}

static void put(const wgi_place *place, double x)
{
    if (place->at)
        wgi_put_element(place->at, place->dtype, 0, x);
}

double wgi_place_get(const wgi_place *place)
{
    return wgi_get_element(place->at, place->dtype, 0);
}

wg_status wgi_plans_fill(wgi_plans *p, const wgi_step_batch *b, wgi_step_plan **out,
                         wg_batch_size *size, wg_error *error)
{
    wg_shape *shapes;
    void *io = NULL;
    wg_status status = wgi_plans_describe(p, b->source, b->epoch, b->i, &shapes, size, error);
    if (status != WG_OK)
        return status;
    size_t number = number_of(p);
    if (number == SIZE_MAX)
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    const wgi_plan_key key = {{(int64_t)number, b->kind, (int64_t)b->resting}};
    status = wgi_plan_cache_get(&p->cache, p, &key, &io, error);
    if (status != WG_OK)
        return status;
    *out = io;
    if (keep_within(p) != WG_OK)
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    status = b->source->fill(b->source->context, b->epoch, b->i, (*out)->inputs, error);
    if (status != WG_OK)
        return batch_failed("fill", status, b->epoch, b->i, error);
    put(&(*out)->total, b->total);
    put(&(*out)->share, (double)size->weight / b->total);
    put(&(*out)->scale, b->scale);
    put(&(*out)->rate, b->rate);
    put(&(*out)->vote, b->vote);
    return WG_OK;
}
