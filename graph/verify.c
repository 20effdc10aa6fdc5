/* Re-derivation: what a graph says about itself must follow from its ops, operands and
 * attributes. */
#include "graph/internal.h"

#include <stdlib.h>

static bool verify_wiring(wg_node *n, size_t place)
{
    if (n->id != place)
        return wg_fail(n, WG_EINVAL, "its id %u is not its place %zu", n->id, place);
    for (int i = 0; i < n->n_in; i++) {
        const wg_value *v = n->in[i];
        if (!v || v->node->graph != n->graph)
            return wg_fail(n, WG_EINVAL, "operand %d is of no or another graph", i);
        if (v->node->id >= n->id)
            return wg_fail(n, WG_EINVAL, "operand %d is computed later, by node %u", i,
                           v->node->id);
        if (v->index >= v->node->n_out || v->node->out[v->index] != v)
            return wg_fail(n, WG_EINVAL, "operand %d is not a result of its node", i);
    }
    return true;
}

static bool verify_types(wg_node *n)
{
    char was[160], is[160];
    size_t count = (size_t)n->n_out;
    wg_value *fresh = calloc(count ? count : 1, sizeof *fresh);
    wg_value **out = calloc(count ? count : 1, sizeof *out);
    bool ok = fresh && out;
    if (!ok)
        wgi_graph_no_memory(n->graph);
    wg_node again = *n;
    again.out = out;
    for (size_t i = 0; ok && i < count; i++) {
        fresh[i] = (wg_value){.node = &again, .index = (int)i};
        out[i] = &fresh[i];
    }
    ok = ok && again.op->infer(&again);
    for (size_t i = 0; ok && i < count; i++) {
        const wg_value *v = n->out[i];
        if (fresh[i].dtype != v->dtype || !wg_shape_equal(&fresh[i].shape, &v->shape))
            ok = wg_fail(n, WG_ESHAPE, "result %zu is %s%s, its shape rule says %s%s", i,
                         wg_dtype_name(v->dtype), wg_shape_text(&v->shape, was, sizeof was),
                         wg_dtype_name(fresh[i].dtype),
                         wg_shape_text(&fresh[i].shape, is, sizeof is));
    }
    free(fresh);
    free(out);
    return ok;
}

static bool is_within(const wg_scope *s, const wg_scope *outer)
{
    while (s && s != outer)
        s = s->parent;
    return s != NULL;
}

/* The scope was opened before the nodes of the model that were built last and are all inside. */
const char *wgi_scope_opened_before(const wg_graph *g, char *text, size_t size)
{
    const wg_node *first = NULL;
    for (size_t i = g->n_nodes; i-- > 0;) {
        const wg_node *n = g->nodes[i];
        if (n->phase != WG_FORWARD)
            continue;
        if (!is_within(n->scope, g->origin.scope))
            break;
        first = n;
    }
    *text = '\0';
    if (first)
        snprintf(text, size, "; it was opened before %s", wgi_line_of(first->at));
    return text;
}

wg_status wg_graph_verify(wg_graph *g)
{
    char opened[200];
    if (g && g->origin.scope->parent)
        wg_graph_fail(g, WG_EINVAL, NULL, "wg_graph_verify",
                      "the scope is still open: wg_scope_pop is missing%s",
                      wgi_scope_opened_before(g, opened, sizeof opened));
    for (size_t i = 0; g && g->status == WG_OK && i < g->n_nodes; i++)
        if (verify_wiring(g->nodes[i], i))
            verify_types(g->nodes[i]);
    return wg_graph_status(g);
}
