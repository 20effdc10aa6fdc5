/* Tables of the values of the final graph. */
#include "backends/plan/planner.h"

#include <stdlib.h>

/* Keeps in p->of what wg_plan_data gives: leaves, outputs and, with keep_all, all. */
static bool hide_unreadable(wgi_planner *p)
{
    bool *readable = calloc(wg_graph_value_count(p->g) + 1, sizeof *readable);
    for (size_t i = 0; readable && i < p->marks.n_outputs; i++)
        readable[p->marks.outputs[i].value->id] = true;
    for (size_t i = 0; readable && i < p->n_source; i++) {
        const wg_value *v = p->of[i];
        if (v && !readable[v->id] && !(v->node->op->flags & WG_OP_LEAF))
            p->of[i] = NULL;
    }
    free(readable);
    return readable != NULL;
}

bool wgi_pass_values(wgi_planner *p)
{
    size_t values = wg_graph_value_count(p->g), nodes = wg_graph_node_count(p->g);
    wgi_layout *l = &p->layout;
    p->root = wgi_roots(p->g);
    l->storage_of = malloc((values + 1) * sizeof *l->storage_of);
    l->storage = calloc(values + nodes + 1, sizeof *l->storage); /* nodes: their scratch */
    for (size_t i = 0; l->storage_of && i < values; i++)
        l->storage_of[i] = WGI_NONE;
    bool ok = p->root && l->storage_of && l->storage;
    ok = ok && (p->options.keep_all || hide_unreadable(p));
    return ok || wgi_planner_fail(p, WG_ENOMEM, "out of memory");
}
