/* Recomputation (activation checkpointing; Chen et al. 2016, "Training Deep Nets with Sublinear
 * Memory Cost").
 *
 * A region is a run of forward nodes, one after the other, in the same outermost marked scope. When
 * the first cotangent reaches a region, the walker copies the whole region behind it and lets the
 * gradient rules read the copies.  What the copies read from outside goes through a barrier, whose
 * second operand is that cotangent:
 *
 *     forward    x ---> [ a = f(x) ---> b = g(a) ] ---> ... ---> loss
 *     backward   x -> barrier(x, db) -> [ a' = f(.) -> b' = g(a') ] -> rules of g and f,
 *                                                                     which read a' and b'
 *
 * so that no copy equals its original (the planner may not merge them), and none can run before the
 * backward pass has reached the region.  The originals die where the forward pass leaves the
 * region.  A random op has its key in its attributes, so its copy draws the same numbers.  Copies
 * that no rule reads are dead code. */
#include "autograd/internal.h"
#include "graph/clone.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>

/* The outermost marked scope around n; NULL if its values are simply stored. */
static const wg_scope *region_scope(const wg_node *n)
{
    const wg_scope *found = NULL;
    for (const wg_scope *s = n->scope; s && n->phase == WG_FORWARD; s = s->parent)
        if (s->recompute)
            found = s;
    return found;
}

bool wgi_recompute_open(wgi_recompute *r, const wgi_path *p)
{
    bool any = false;
    *r = (wgi_recompute){.end = p->end};
    for (uint32_t id = p->first; id < p->end && !any; id++)
        any = region_scope(wg_graph_node(p->g, id)) != NULL;
    if (!any)
        return true;
    r->node = calloc((size_t)p->end + 1, sizeof *r->node);
    r->value = calloc((size_t)p->end_value + 1, sizeof *r->value);
    return r->node && r->value;
}

void wgi_recompute_close(wgi_recompute *r)
{
    free(r->node);
    free(r->value);
}

/* Made from nothing (constant, fill): read as it is.  A barrier would only hide it from folding. */
static bool is_constant(const wg_node *n)
{
    return n->n_in == 0 && !(n->op->flags & WG_OP_OPAQUE);
}

/* Puts what stands for v inside the region that starts at node `first` in its place: its copy, or v
 * behind a barrier. */
static void enter(wgi_recompute *r, uint32_t first, wg_value *v, wg_value *const *dy, int n_dy)
{
    wg_value **place = &r->value[v->id];
    if (!*place && is_constant(v->node))
        *place = v;
    if (!*place && (v->node->id < first || v->node->n_in == 0))
        *place = wg_barrier(v, dy, n_dy);
}

static void copy_node(wgi_recompute *r, uint32_t first, const wg_node *n, wg_value *const *dy,
                      int n_dy)
{
    wg_graph *g = n->graph;
    wg_graph_set_origin(g, (wg_origin){n->scope, n->at ? n->at : n->op->name, WG_BACKWARD});
    for (int i = 0; i < n->n_in; i++)
        enter(r, first, n->in[i], dy, n_dy);
    wg_node *copy = wgi_node_copy_mapped(g, n, r->value, WG_DTYPE_DEFAULT);
    if (copy) {
        copy->phase = WG_BACKWARD; /* so that it is not recomputed in its turn */
        r->node[n->id] = copy;
    }
}

/* The next region may hold the same values behind another barrier. */
static void forget(wgi_recompute *r, const wg_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        r->value[n->in[i]->id] = NULL;
    for (int i = 0; i < n->n_out; i++)
        r->value[n->out[i]->id] = NULL;
}

wg_node *wgi_recompute_node(wgi_recompute *r, wg_node *n, wg_value *const *dy)
{
    const wg_scope *scope = r->node ? region_scope(n) : NULL;
    if (!scope || n->n_in == 0)
        return n;
    if (r->node[n->id])
        return r->node[n->id];
    wg_graph *g = n->graph;
    uint32_t first = n->id, end = n->id + 1;
    while (first > 0 && region_scope(wg_graph_node(g, first - 1)) == scope)
        first--;
    while (end < r->end && region_scope(wg_graph_node(g, end)) == scope)
        end++;
    for (uint32_t id = first; id < end && wg_graph_status(g) == WG_OK; id++)
        if (wg_graph_node(g, id)->n_in)
            copy_node(r, first, wg_graph_node(g, id), dy, n->n_out);
    for (uint32_t id = first; id < end; id++)
        forget(r, wg_graph_node(g, id));
    return r->node[n->id]; /* NULL if the graph came into error */
}
