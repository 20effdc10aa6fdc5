/* From the user's graph to the private one: only what is needed, composites expanded where no
 * backend takes them whole. */
#include "backends/plan_internal.h"
#include "ops/table.h"

#include <stdlib.h>
#include <string.h>

static bool is_leaf(const wg_node *n)
{
    return (n->op->flags & WG_OP_LEAF) && n->op != &wg_op_constant;
}

/* needed[i]: node i leads to an output or an assignment, or is a leaf that the caller may fill. */
static bool *needed_nodes(const wg_plan *p, wg_graph *source)
{
    size_t count = wg_graph_node_count(source);
    bool *needed = calloc(count + 1, sizeof *needed);
    if (!needed)
        return NULL;
    for (size_t i = 0; i < p->n_outputs; i++)
        needed[p->outputs[i]->node->id] = true;
    for (size_t i = 0; i < 2 * p->n_assigns; i++)
        needed[p->assign[i]->node->id] = true;
    for (size_t i = count; i-- > 0;) {
        const wg_node *n = wg_graph_node(source, i);
        needed[i] |= is_leaf(n);
        for (int k = 0; needed[i] && k < n->n_in; k++)
            needed[n->in[k]->node->id] = true;
    }
    return needed;
}

static bool any_backend_takes(const wg_plan *p, const wg_node *n)
{
    for (size_t i = 0; i < p->n_backends; i++)
        if (!p->backends[i].backend->refuses(p->backends[i].state, n))
            return true;
    return false;
}

/* Where the values of the private graph have gone: an expanded node's to those of its expansion. */
typedef struct rewrite {
    wg_plan *p;
    wg_value **now; /* [capacity] by id in p->g, NULL: itself */
    size_t capacity;
} rewrite;

static wg_value *now(const rewrite *r, wg_value *v)
{
    return v->id < r->capacity && r->now[v->id] ? r->now[v->id] : v;
}

static bool redirect(rewrite *r, const wg_value *from, wg_value *to)
{
    if (from->id >= r->capacity) {
        size_t capacity = 2 * (size_t)from->id + 64;
        wg_value **bigger = realloc(r->now, capacity * sizeof(wg_value *));
        if (!bigger)
            return false;
        memset(bigger + r->capacity, 0, (capacity - r->capacity) * sizeof(wg_value *));
        r->now = bigger;
        r->capacity = capacity;
    }
    r->now[from->id] = to;
    return true;
}

/* n of the private graph: expanded if need be, and its expansion's nodes in turn. */
static bool settle(rewrite *r, wg_node *n)
{
    wg_graph *g = r->p->g;
    if ((n->op->flags & (WG_OP_LEAF | WG_OP_VIEW)) || !n->op->expand || any_backend_takes(r->p, n))
        return true;
    size_t first = wg_graph_node_count(g);
    wg_value **y = calloc((size_t)n->n_out + 1, sizeof *y);
    bool ok = y && wg_expand_node(n, y);
    size_t end = wg_graph_node_count(g);
    for (size_t i = first; ok && i < end; i++) {
        wg_node *e = wg_graph_node(g, i), *copy = e;
        wg_value **in = calloc((size_t)e->n_in + 1, sizeof *in);
        bool moved = false;
        for (int k = 0; in && k < e->n_in; k++) {
            in[k] = now(r, e->in[k]);
            moved |= in[k] != e->in[k];
        }
        if (in && moved)
            copy = wg_node_copy(g, e, in, WG_DTYPE_DEFAULT);
        ok = in && copy && settle(r, copy);
        for (int k = 0; ok && moved && k < e->n_out; k++)
            ok = redirect(r, e->out[k], now(r, copy->out[k]));
        free(in);
    }
    for (int k = 0; ok && k < n->n_out; k++)
        ok = redirect(r, n->out[k], now(r, y[k]));
    free(y);
    return ok;
}

static bool take(rewrite *r, const wg_node *n)
{
    wg_plan *p = r->p;
    wg_value **in = calloc((size_t)n->n_in + 1, sizeof *in);
    for (int k = 0; in && k < n->n_in; k++)
        in[k] = p->of[n->in[k]->id];
    wg_node *copy = in ? wg_node_copy(p->g, n, in, WG_DTYPE_DEFAULT) : NULL;
    free(in);
    if (!copy)
        return false;
    for (int k = 0; k < n->n_out; k++)
        if (!wg_name_copy(copy->out[k], n->out[k]))
            return false;
    if (!settle(r, copy))
        return false;
    for (int k = 0; k < n->n_out; k++)
        p->of[n->out[k]->id] = now(r, copy->out[k]);
    return true;
}

bool wg_plan_rewrite(wg_plan *p, wg_graph *source)
{
    rewrite r = {.p = p};
    bool *needed = needed_nodes(p, source), ok = needed != NULL;
    for (size_t i = 0; ok && i < wg_graph_node_count(source); i++)
        if (needed[i])
            ok = take(&r, wg_graph_node(source, i));
    for (size_t i = 0; ok && i < p->n_outputs; i++)
        p->outputs[i] = p->of[p->outputs[i]->id];
    for (size_t i = 0; ok && i < 2 * p->n_assigns; i++)
        p->assign[i] = p->of[p->assign[i]->id];
    free(needed);
    free(r.now);
    if (ok)
        return true;
    wg_status status = wg_graph_status(p->g);
    if (status == WG_OK)
        return wg_plan_refuse(source, WG_ENOMEM, "out of memory");
    return wg_plan_refuse(source, status, "%s", wg_graph_message(p->g));
}
