/* Structural hash: ops, attributes, types and wiring; not names, scopes, phases or source lines. */
#include "graph/internal.h"

#include <string.h>

static uint64_t hash_value_ref(uint64_t h, const wg_value *v)
{
    return wgi_hash_u64(h, v->id);
}

static uint64_t hash_node(uint64_t h, const wg_node *n)
{
    h = wgi_hash_bytes(h, n->op->name, strlen(n->op->name) + 1);
    h = wgi_hash_u64(h, wg_node_attrs_hash(n->op, n->attrs));
    h = wgi_hash_u64(h, (uint64_t)n->n_in);
    for (int i = 0; i < n->n_in; i++)
        h = hash_value_ref(h, n->in[i]);
    for (int i = 0; i < n->n_out; i++) {
        h = wgi_hash_u64(h, (uint64_t)n->out[i]->dtype);
        h = wgi_hash_shape(h, &n->out[i]->shape);
    }
    return h;
}

uint64_t wg_graph_hash(const wg_graph *g)
{
    uint64_t h = WGI_HASH_START;
    for (size_t i = 0; g && i < g->n_nodes; i++)
        h = hash_node(h, g->nodes[i]);
    for (size_t i = 0; g && i < g->n_outputs; i++)
        h = hash_value_ref(h, g->outputs[i].value);
    for (size_t i = 0; g && i < g->n_assigns; i++)
        h = hash_value_ref(hash_value_ref(h, g->assigns[i].leaf), g->assigns[i].value);
    return h;
}
