/* The public face of plans. */
#include "backends/plan_internal.h"
#include "ops/leaf.h"
#include "ops/table.h"

#include <omp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool wg_plan_refuse(wg_graph *source, wg_status status, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wg_graph_fail(source, status, NULL, "wg_plan_create", "%s", text);
    return false;
}

/* ---- creation
 * ------------------------------------------------------------------------------------ */

static bool no_memory(wg_graph *source)
{
    return wg_plan_refuse(source, WG_ENOMEM, "out of memory");
}

static bool take_wishes(wg_plan *p, wg_graph *source)
{
    const wg_plan_options *o = &p->options;
    p->n_outputs = o->outputs ? o->n_outputs : wg_graph_output_count(source);
    p->n_assigns = o->outputs ? 0 : wg_graph_assign_count(source);
    p->outputs = calloc(p->n_outputs + 1, sizeof(wg_value *));
    p->assign = calloc(2 * p->n_assigns + 1, sizeof(wg_value *));
    if (!p->outputs || !p->assign)
        return no_memory(source);
    for (size_t i = 0; i < p->n_outputs; i++) {
        wg_value *v = o->outputs ? o->outputs[i] : wg_graph_output(source, i);
        if (!v || v->node->graph != source)
            return wg_plan_refuse(source, WG_EINVAL, "output %zu is %s", i,
                                  v ? "of another graph" : "NULL");
        p->outputs[i] = v;
    }
    for (size_t i = 0; i < p->n_assigns; i++) {
        wg_graph_assign_at(source, i, &p->assign[2 * i], &p->assign[2 * i + 1]);
        const wg_op *op = p->assign[2 * i]->node->op;
        if (op != &wg_op_parameter && op != &wg_op_state)
            return wg_plan_refuse(source, WG_EINVAL,
                                  "%s cannot be assigned: only a parameter or a state can",
                                  op->name);
    }
    return true;
}

static bool open_backends(wg_plan *p, wg_graph *source)
{
    const wg_plan_options *o = &p->options;
    p->backends = calloc(o->n_backends + 1, sizeof *p->backends);
    if (!p->backends)
        return no_memory(source);
    for (size_t i = 0; i <= o->n_backends; i++) {
        const wg_backend *b = i < o->n_backends ? o->backends[i] : wg_cpu_backend();
        if (!b || b->abi != WG_BACKEND_ABI)
            return wg_plan_refuse(source, WG_EINVAL, "backend %zu is %s", i,
                                  b ? "of another version of the interface" : "NULL");
        void *state = NULL;
        wg_status status = b->open ? b->open(&state, &(wg_backend_config){o->threads}) : WG_OK;
        if (status != WG_OK)
            return wg_plan_refuse(source, status, "backend %s: %s", b->name,
                                  wg_status_text(status));
        p->backends[p->n_backends++] = (wg_open_backend){b, state};
    }
    return true;
}

static bool runs(const wg_node *n)
{
    return !(n->op->flags & (WG_OP_LEAF | WG_OP_VIEW));
}

/* live[i]: node i of the private graph leads to an output or an assignment. */
static bool *live_nodes(const wg_plan *p)
{
    size_t count = wg_graph_node_count(p->g);
    bool *live = calloc(count + 1, sizeof *live);
    if (!live)
        return NULL;
    for (size_t i = 0; i < p->n_outputs; i++)
        live[p->outputs[i]->node->id] = true;
    for (size_t i = 0; i < 2 * p->n_assigns; i++)
        live[p->assign[i]->node->id] = true;
    for (size_t i = count; i-- > 0;) {
        const wg_node *n = wg_graph_node(p->g, i);
        for (int k = 0; live[i] && k < n->n_in; k++)
            live[n->in[k]->node->id] = true;
    }
    return live;
}

static bool prepare(wg_plan *p, wg_graph *source, wg_work *w, size_t *scratch)
{
    for (size_t i = 0; i < p->n_backends; i++) {
        const wg_open_backend *b = &p->backends[i];
        const char *why = b->backend->refuses(b->state, w->node);
        if (why || b->backend->prepare(b->state, w->node, &w->kernel) != WG_OK) {
            w->refused = why ? why : "could not be prepared";
            continue;
        }
        w->by = b;
        *scratch = w->kernel.scratch > *scratch ? w->kernel.scratch : *scratch;
        return true;
    }
    char text[512];
    return wg_plan_refuse(source, WG_EUNSUPPORTED, "%s",
                          wg_node_message(w->node, w->refused, text, sizeof text));
}

static bool list_work(wg_plan *p, wg_graph *source)
{
    size_t count = wg_graph_node_count(p->g), scratch = 0;
    bool *live = live_nodes(p), ok = true;
    for (size_t i = 0; live && i < count; i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        live[i] &= runs(n);
        p->n_work += live[i];
        p->n_slots += live[i] ? (size_t)(n->n_in + n->n_out) : 0;
    }
    p->work = calloc(p->n_work + 1, sizeof *p->work);
    p->slots = calloc(p->n_slots + 1, sizeof *p->slots);
    if (!live || !p->work || !p->slots) {
        free(live);
        p->n_work = 0;
        return no_memory(source);
    }
    p->n_work = 0;
    for (size_t i = 0; ok && i < count; i++)
        if (live[i]) {
            p->work[p->n_work].node = wg_graph_node(p->g, i);
            ok = prepare(p, source, &p->work[p->n_work], &scratch);
            p->n_work += ok;
        }
    free(live);
    if (ok && scratch && !(p->scratch = wg_aligned_alloc(scratch)))
        return no_memory(source);
    return ok;
}

static bool is_stored(const wg_node *n)
{
    return n->op == &wg_op_parameter || n->op == &wg_op_state;
}

/* Each value in its own place; views in that of their operand, parameters and states in the store.
 */
static bool place_values(wg_plan *p, wg_graph *source)
{
    size_t count = wg_graph_value_count(p->g), total = 0;
    p->data = calloc(count + 1, sizeof *p->data);
    size_t *offset = calloc(count + 1, sizeof *offset);
    bool ok = p->data && offset;
    for (size_t i = 0; ok && i < count; i++) {
        const wg_value *v = wg_graph_value(p->g, i);
        offset[i] = total;
        if (is_stored(v->node) || (v->node->op->flags & WG_OP_VIEW))
            continue;
        total += (wg_value_bytes(v) + WG_ALIGN - 1) / WG_ALIGN * WG_ALIGN;
        ok = total < SIZE_MAX / 4;
    }
    ok = ok && (p->buffer = wg_aligned_alloc(total)) != NULL;
    if (!ok) {
        free(offset);
        return no_memory(source);
    }
    memset(p->buffer, 0, total);
    for (size_t i = 0; ok && i < count; i++) {
        const wg_value *v = wg_graph_value(p->g, i);
        wg_status status;
        if (is_stored(v->node)) {
            const wg_tensor *t = wg_store_leaf(p->store, v, &status);
            ok = t ? true
                   : wg_plan_refuse(source, status, "%s: %s in the store", v->name,
                                    wg_status_text(status));
            p->data[i] = t ? t->data : NULL;
        } else {
            bool view = v->index == 0 && (v->node->op->flags & WG_OP_VIEW);
            p->data[i] = view ? p->data[v->node->in[0]->id] : p->buffer + offset[i];
        }
        if (ok && v->node->op == &wg_op_constant) {
            const wg_constant_attrs *a = v->node->attrs;
            if (a->data.size)
                memcpy(p->data[i], a->data.bytes, a->data.size);
        }
    }
    free(offset);
    return ok;
}

static void wire(wg_plan *p)
{
    void **slot = p->slots;
    for (size_t i = 0; i < p->n_work; i++) {
        wg_work *w = &p->work[i];
        const wg_node *n = w->node;
        w->call = (wg_call){.node = n,
                            .in = (const void *const *)slot,
                            .out = slot + n->n_in,
                            .state = w->kernel.state,
                            .scratch = p->scratch,
                            .threads = p->options.threads,
                            .seed = p->options.seed,
                            .message = p->call_message};
        for (int k = 0; k < n->n_in; k++)
            *slot++ = p->data[n->in[k]->id];
        for (int k = 0; k < n->n_out; k++)
            *slot++ = p->data[n->out[k]->id];
    }
}

/* A value that lies in the memory of a leaf is first saved elsewhere, since that leaf may itself be
 * assigned: a
 * := b, b := a exchanges the two. */
static bool list_copies(wg_plan *p, wg_graph *source)
{
    size_t total = 0;
    p->copies = calloc(2 * p->n_assigns + 1, sizeof *p->copies);
    for (size_t i = 0; i < p->n_assigns; i++)
        total += (wg_value_bytes(p->assign[2 * i]) + WG_ALIGN - 1) / WG_ALIGN * WG_ALIGN;
    p->leaves = wg_aligned_alloc(total);
    if (!p->copies || !p->leaves)
        return no_memory(source);
    char *save = p->leaves;
    p->n_copies = 2 * p->n_assigns;
    for (size_t i = 0; i < p->n_assigns; i++) {
        size_t bytes = wg_value_bytes(p->assign[2 * i]);
        p->copies[i] = (wg_copy){save, p->data[p->assign[2 * i + 1]->id], bytes};
        p->copies[p->n_assigns + i] = (wg_copy){p->data[p->assign[2 * i]->id], save, bytes};
        save += (bytes + WG_ALIGN - 1) / WG_ALIGN * WG_ALIGN;
    }
    return true;
}

static bool build(wg_plan *p, wg_graph *source)
{
    p->n_source = wg_graph_value_count(source);
    p->of = calloc(p->n_source + 1, sizeof(wg_value *));
    p->g = wg_graph_new();
    if (!p->options.store)
        p->own_store = wg_store_new(p->options.seed);
    p->store = p->options.store ? p->options.store : p->own_store;
    if (!p->of || !p->g || !p->store)
        return no_memory(source);
    if (!take_wishes(p, source) || !open_backends(p, source) || !wg_plan_rewrite(p, source) ||
        !list_work(p, source) || !place_values(p, source) || !list_copies(p, source))
        return false;
    wire(p);
    return true;
}

wg_status wg_plan_create(wg_plan **out, wg_graph *g, const wg_plan_options *options)
{
    *out = NULL;
    if (wg_graph_status(g) != WG_OK)
        return wg_graph_status(g);
    wg_plan *p = calloc(1, sizeof *p);
    if (!p) {
        no_memory(g);
        return WG_ENOMEM;
    }
    p->source = g;
    if (options)
        p->options = *options;
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
        wg_work *w = &p->work[i];
        if (w->by && w->by->backend->finish)
            w->by->backend->finish(w->by->state, &w->kernel);
    }
    for (size_t i = 0; i < p->n_backends; i++)
        if (p->backends[i].backend->close)
            p->backends[i].backend->close(p->backends[i].state);
    free(p->backends);
    free(p->work);
    free(p->slots);
    free(p->data);
    free(p->buffer);
    free(p->leaves);
    free(p->scratch);
    free(p->copies);
    free(p->outputs);
    free(p->assign);
    free(p->of);
    wg_graph_free(p->g);
    wg_store_free(p->own_store);
    free(p);
}

/* ---- use
 * ----------------------------------------------------------------------------------------- */

void *wg_plan_data(wg_plan *p, const wg_value *v)
{
    if (!p || !v || v->node->graph != p->source || v->id >= p->n_source || !p->of[v->id])
        return NULL;
    return p->data[p->of[v->id]->id];
}

wg_status wg_plan_run(wg_plan *p, uint64_t step)
{
    if (!p)
        return WG_EINVAL;
    p->message[0] = '\0';
    for (size_t i = 0; i < p->n_work; i++) {
        wg_work *w = &p->work[i];
        w->call.step = step;
        w->call.status = WG_OK;
        w->kernel.run(&w->call);
        if (w->call.status != WG_OK) {
            wg_node_message(w->node, p->call_message, p->message, sizeof p->message);
            return w->call.status;
        }
    }
    for (size_t i = 0; i < p->n_copies; i++)
        memcpy(p->copies[i].to, p->copies[i].from, p->copies[i].bytes);
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

size_t wg_plan_step_count(const wg_plan *p)
{
    return p ? p->n_work : 0;
}

const wg_graph *wg_plan_graph(const wg_plan *p)
{
    return p ? p->g : NULL;
}
