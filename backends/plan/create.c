/* The public face of plans. */
#include "wengert/backends/isa.h"
#include "backends/plan/planner.h"

#include <omp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool wgi_plan_refuse(wg_graph *source, wg_status status, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wg_graph_fail(source, status, NULL, "wg_plan_create", "%s", text);
    return false;
}

bool wgi_plan_refuse_private(const wg_plan *p, wg_graph *source)
{
    wg_status status = wg_graph_status(p->g);
    if (status == WG_OK)
        return wgi_plan_refuse(source, WG_ENOMEM, "out of memory");
    return wgi_plan_refuse(source, status, "%s", wg_graph_message(p->g));
}

/* ---- creation -------------------------------------------------------------------------------- */

/* An assignment needs a parameter or a state, and each of these takes one. */
static bool check_assignments(const wg_plan *p, wg_graph *source)
{
    bool *assigned = calloc(wg_graph_value_count(source) + 1, sizeof *assigned);
    if (!assigned)
        return wgi_plan_refuse_private(p, source);
    bool ok = true;
    char name[200];
    for (size_t i = 0; ok && i < p->n_assigns; i++) {
        const wg_value *leaf = p->assigns[i].leaf;
        wg_value_text(leaf, name, sizeof name);
        if (!wgi_is_stored(leaf->node))
            ok = wgi_plan_refuse(source, WG_EINVAL,
                                 "%s %s is assigned: only a parameter or a state can be",
                                 leaf->node->op->name, name);
        else if (assigned[leaf->id])
            ok = wgi_plan_refuse(source, WG_EINVAL, "%s is assigned twice", name);
        assigned[leaf->id] = true;
    }
    free(assigned);
    return ok;
}

/* It has more than leaves, for which a plan may be made to give their store its first values. */
static bool computes(const wg_graph *g)
{
    size_t i = wg_graph_node_count(g);
    while (i-- > 0)
        if (wg_graph_node(g, i)->n_in > 0)
            return true;
    return false;
}

static bool take_wishes(wg_plan *p, wg_graph *source)
{
    const wg_plan_options *o = &p->options;
    p->n_outputs = o->outputs ? o->n_outputs : wg_graph_output_count(source);
    p->n_assigns = o->outputs ? 0 : wg_graph_assign_count(source);
    p->outputs = calloc(p->n_outputs + 1, sizeof(wg_value *));
    p->assigns = calloc(p->n_assigns + 1, sizeof *p->assigns);
    p->output_names = calloc(p->n_outputs + 1, sizeof *p->output_names);
    if (!p->outputs || !p->assigns || !p->output_names)
        return wgi_plan_refuse_private(p, source);
    for (size_t i = 0; i < p->n_outputs; i++) {
        wg_value *v = o->outputs ? o->outputs[i] : wg_graph_output(source, i);
        if (!v || v->node->graph != source)
            return wgi_plan_refuse(source, WG_EINVAL, "output %zu is %s", i,
                                   v ? "of another graph" : "NULL");
        p->outputs[i] = v;
        p->output_names[i] = o->outputs ? v->name : wg_graph_output_name(source, i);
    }
    for (size_t i = 0; i < p->n_assigns; i++)
        wg_graph_assign_at(source, i, &p->assigns[i].leaf, &p->assigns[i].value);
    if (!p->n_outputs && !p->n_assigns && computes(source))
        return wgi_plan_refuse(source, WG_EINVAL,
                               "nothing to compute: the graph has no wg_output and no wg_assign");
    return check_assignments(p, source);
}

static bool open_backends(wg_plan *p, wg_graph *source)
{
    const wg_plan_options *o = &p->options;
    wg_isa cap;
    char problem[128];
    if (wg_isa_cap(&cap, problem, sizeof problem) != WG_OK)
        return wgi_plan_refuse(source, WG_EINVAL, "%s", problem);
    p->backends = calloc(o->n_backends + 1, sizeof *p->backends);
    if (!p->backends)
        return wgi_plan_refuse_private(p, source);
    for (size_t i = 0; i <= o->n_backends; i++) {
        const wg_backend *b = i < o->n_backends ? o->backends[i] : wg_cpu_backend();
        if (!b || b->abi != WG_BACKEND_ABI)
            return wgi_plan_refuse(source, WG_EINVAL, "backend %zu is %s", i,
                                   b ? "of another version of the interface" : "NULL");
        void *state = NULL;
        wg_status status =
            b->open ? b->open(&state, &(wg_backend_config){o->threads, o->check_nonfinite}) : WG_OK;
        if (status != WG_OK)
            return wgi_plan_refuse(source, status, "backend %s: %s", b->name,
                                   wg_status_text(status));
        p->backends[p->n_backends++] = (wgi_open_backend){b, state};
    }
    return true;
}

bool *wgi_needed_nodes(const wg_plan *p, const wg_graph *g)
{
    size_t count = wg_graph_node_count(g);
    bool *needed = calloc(count + 1, sizeof *needed);
    if (!needed)
        return NULL;
    for (size_t i = 0; i < p->n_outputs; i++)
        needed[p->outputs[i]->node->id] = true;
    for (size_t i = 0; i < p->n_assigns; i++) {
        needed[p->assigns[i].leaf->node->id] = true;
        needed[p->assigns[i].value->node->id] = true;
    }
    for (size_t i = count; i-- > 0;) {
        const wg_node *n = wg_graph_node(g, i);
        for (int k = 0; needed[i] && k < n->n_in; k++)
            needed[n->in[k]->node->id] = true;
    }
    return needed;
}

/* Adds "backend: why" to the reasons; false without memory. */
static bool note_refusal(wg_plan *p, wgi_work *w, const char *backend, const char *why)
{
    const char *before = w->refused ? w->refused : "";
    size_t size = strlen(before) + strlen(backend) + strlen(why) + 5;
    char *text = wg_graph_alloc(p->g, size);
    if (!text)
        return false;
    snprintf(text, size, "%s%s%s: %s", before, *before ? "; " : "", backend, why);
    w->refused = text;
    return true;
}

static void compute_nothing(wg_call *c)
{
    (void)c;
}

void wgi_spare_if_empty(const wg_node *n, wg_kernel *k)
{
    bool empty = n->n_out > 0;
    for (int i = 0; i < n->n_out && empty; i++)
        empty = wg_value_count(n->out[i]) == 0;
    if (empty)
        k->run = compute_nothing;
}

/* The first backend that takes the node. */
static bool choose_kernel(wg_plan *p, wg_graph *source, wgi_work *w)
{
    char text[512];
    for (size_t i = 0; i < p->n_backends; i++) {
        const wgi_open_backend *b = &p->backends[i];
        const char *why = b->backend->refuses(b->state, w->node);
        wg_kernel kernel = {0};
        wg_status status = why ? WG_OK : b->backend->prepare(b->state, w->node, &kernel);
        if (!why && status == WG_OK) {
            w->kernel = kernel;
            w->by = b;
            wgi_spare_if_empty(w->node, &w->kernel);
            return true;
        }
        if (!note_refusal(p, w, b->backend->name, why ? why : wg_status_text(status)))
            return wgi_plan_refuse_private(p, source);
    }
    return wgi_plan_refuse(source, WG_EUNSUPPORTED, "%s",
                           wg_node_message(w->node, w->refused, text, sizeof text));
}

static bool is_work(const wg_plan *p, const wg_node *n)
{
    return !p->folded[n->id] && !(n->op->flags & WG_OP_LEAF) && !wgi_is_view(n);
}

bool wgi_plan_list_work(wg_plan *p, wg_graph *source)
{
    size_t count = wg_graph_node_count(p->g), n_work = 0;
    for (size_t i = 0; i < count; i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        n_work += is_work(p, n);
        p->n_slots += is_work(p, n) ? (size_t)n->n_in + (size_t)n->n_out : 0;
    }
    p->work = calloc(n_work + 1, sizeof *p->work);
    p->slots = calloc(p->n_slots + 1, sizeof *p->slots);
    p->next_slot = calloc(p->n_slots + 1, sizeof *p->next_slot);
    p->first_slot = calloc(wg_graph_value_count(p->g) + count + 1, sizeof *p->first_slot);
    if (!p->work || !p->slots || !p->next_slot || !p->first_slot)
        return wgi_plan_refuse_private(p, source);
    for (size_t i = 0; i < count; i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        if (!is_work(p, n))
            continue;
        p->work[p->n_work].node = n;
        if (!choose_kernel(p, source, &p->work[p->n_work]))
            return false;
        p->n_work++;
    }
    return true;
}

/* Room for what is said of each value of the final graph. */
static bool make_tables(wg_plan *p, wg_graph *source)
{
    size_t values = wg_graph_value_count(p->g), nodes = wg_graph_node_count(p->g);
    p->root = wgi_roots(p->g);
    p->readable = calloc(values + 1, sizeof *p->readable);
    p->storage_of = malloc((values + 1) * sizeof *p->storage_of);
    p->storage = calloc(values + nodes + 1, sizeof *p->storage);
    p->odd = calloc(values + nodes + 1, sizeof *p->odd);
    if (!p->root || !p->readable || !p->storage_of || !p->storage || !p->odd)
        return wgi_plan_refuse_private(p, source);
    for (size_t i = 0; i < values; i++) {
        p->storage_of[i] = WG_NONE;
        p->readable[i] =
            p->options.keep_all || (wg_graph_value(p->g, i)->node->op->flags & WG_OP_LEAF);
    }
    for (size_t i = 0; i < p->n_outputs; i++)
        p->readable[p->outputs[i]->id] = true;
    return true;
}

/* p->of leads from the values of the fused graph; with `map` it leads from those of the source. */
static bool lead_from_source(wg_plan *p, const wg_graph *source, wg_value *const *map)
{
    size_t count = wg_graph_value_count(source);
    wg_value **of = calloc(count + 1, sizeof *of);
    for (size_t i = 0; of && i < count; i++)
        of[i] = map[i] ? p->of[map[i]->id] : NULL;
    free(p->of);
    p->of = of;
    p->n_source = count;
    return of != NULL;
}

static bool fuse_and_rewrite(wg_plan *p, wg_graph *source)
{
    wg_graph *fused;
    wg_value **map;
    if (!wgi_plan_fuse(p, source, &fused, &map))
        return false;
    wg_graph *from = fused ? fused : source;
    p->n_source = wg_graph_value_count(from);
    p->of = calloc(p->n_source + 1, sizeof *p->of);
    bool ok = p->of || wgi_plan_refuse_private(p, source);
    ok = ok && wgi_plan_rewrite(p, from, source);
    if (ok && fused)
        ok = lead_from_source(p, source, map) || wgi_plan_refuse_private(p, source);
    wg_graph_free(fused);
    free(map);
    return ok;
}

static bool build(wg_plan *p, wg_graph *source)
{
    p->g = wg_graph_new();
    if (!p->options.store)
        p->own_store = wg_store_new(p->options.seed);
    p->store = p->options.store ? p->options.store : p->own_store;
    p->workspace =
        p->options.workspace ? wgi_workspace_hold(p->options.workspace) : wg_workspace_new();
    if (!p->g || !p->store || !p->workspace)
        return wgi_plan_refuse(source, WG_ENOMEM, "out of memory");
    bool ok = take_wishes(p, source) && open_backends(p, source) && fuse_and_rewrite(p, source) &&
              wgi_plan_order(p, source) && make_tables(p, source) && wgi_plan_fold(p, source) &&
              wgi_plan_list_work(p, source) && wgi_plan_place(p, source);
    if (ok)
        wgi_plan_wire(p);
    return ok;
}

wg_status wg_plan_create(wg_plan **out, wg_graph *g, const wg_plan_options *options)
{
    if (!out)
        return WG_EINVAL;
    *out = NULL;
    if (wg_graph_status(g) != WG_OK)
        return wg_graph_status(g);
    wg_plan *p = calloc(1, sizeof *p);
    if (!p) {
        wgi_plan_refuse(g, WG_ENOMEM, "out of memory");
        return WG_ENOMEM;
    }
    p->source = g;
    if (options)
        p->options = *options;
    if (p->options.keep_all)
        p->options.workspace = NULL;
    if (p->options.threads < 1)
        p->options.threads = omp_get_max_threads();
    if (!build(p, g)) {
        wg_plan_free(p);
        return wg_graph_status(g);
    }
    *out = p;
    return WG_OK;
}

void wg_plan_free(wg_plan *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_work; i++) {
        wgi_work *w = &p->work[i];
        if (w->by->backend->finish)
            w->by->backend->finish(w->by->state, &w->kernel);
    }
    for (size_t i = 0; i < p->n_backends; i++)
        if (p->backends[i].backend->close)
            p->backends[i].backend->close(p->backends[i].state);
    void *const owned[] = {p->backends, p->work,       p->slots,     p->next_slot,   p->root,
                           p->folded,   p->readable,   p->storage,   p->storage_of,  p->dying,
                           p->apart,    p->inputs,     p->outputs,   p->assigns,     p->odd,
                           p->of,       p->first_slot, p->constants, p->output_names};
    for (int i = 0; i < WG_COUNT(owned); i++)
        free(owned[i]);
    wg_graph_free(p->g);
    wg_store_free(p->own_store);
    wg_workspace_free(p->workspace);
    free(p);
}

/* ---- use ------------------------------------------------------------------------------------- */

/* The private value of a value of the user's graph, or NULL. */
static const wg_value *private_value(const wg_plan *p, const wg_value *v)
{
    return p && v && v->id < p->n_source && v->node->graph == p->source ? p->of[v->id] : NULL;
}

void *wg_plan_data(wg_plan *p, const wg_value *v)
{
    const wg_value *own = private_value(p, v);
    return own && p->readable[own->id] ? wgi_memory_of(p, own) : NULL;
}

wg_status wg_plan_bind(wg_plan *p, const wg_value *input, void *data)
{
    const wg_value *own = private_value(p, input);
    int64_t s = own ? p->storage_of[own->id] : WG_NONE;
    if (!p)
        return WG_EINVAL;
    if (s == WG_NONE || own->node->op != &wg_op_input || (uintptr_t)data % WG_ALIGN) {
        snprintf(p->message, sizeof p->message, "wg_plan_bind: %s",
                 s == WG_NONE || own->node->op != &wg_op_input
                     ? "not an input of this plan's graph"
                     : "the memory is not 64-byte aligned");
        return WG_EINVAL;
    }
    p->storage[s].memory = data ? data : p->inputs + p->storage[s].offset;
    for (uint32_t i = p->first_slot[s]; i; i = p->next_slot[i - 1])
        p->slots[i - 1] = p->storage[s].memory;
    return WG_OK;
}

const char *wg_plan_message(const wg_plan *p)
{
    return p ? p->message : "the plan is NULL";
}

wg_store *wg_plan_store(wg_plan *p)
{
    return p ? p->store : NULL;
}
