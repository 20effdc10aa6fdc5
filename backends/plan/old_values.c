/* Old values of assigned leaves.
 *
 * Within a run all readers see the old value of a leaf.  So do outputs that are views of an
 * assigned leaf, and assignments from one leaf to another (a := b, b := a): these read a copy. */
#include "backends/plan/facts.h"
#include "backends/plan/planner.h"

#include <stdlib.h>
#include <string.h>

static bool infer_copy(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static void run_copy(wg_call *c)
{
    size_t bytes = wg_value_bytes(c->node->in[0]);
    if (bytes)
        memcpy(c->out[0], c->in[0], bytes);
}

static const wg_op wgi_op_copy = {
    .name = "copy",
    .formula = "y = x, kept while x is assigned",
    .operands = "x",
    .results = "y",
    .flags = WG_OP_OPAQUE,
    .infer = infer_copy,
    .reference = run_copy,
};

bool wgi_save_old_values(wgi_planner *p)
{
    size_t count = wg_graph_value_count(p->g);
    const wgi_marks *m = &p->marks;
    uint32_t *root = wgi_roots(p->g);
    bool *assigned = calloc(count + 1, sizeof *assigned);
    wg_value **saved = calloc(count + 1, sizeof *saved); /* the copy of an output */
    bool ok = root && assigned && saved;
    for (size_t i = 0; ok && i < m->n_assigns; i++)
        assigned[m->assigns[i].leaf->id] = true;
    for (size_t i = 0; ok && i < m->n_outputs; i++) {
        wg_value *v = m->outputs[i].value;
        if (!assigned[root[v->id]] || root[v->id] == v->id)
            continue;
        if (!saved[v->id])
            saved[v->id] = wg_apply1(NULL, &wgi_op_copy, NULL, v);
        ok = saved[v->id] != NULL;
        if (ok)
            m->outputs[i].value = saved[v->id];
    }
    for (size_t i = 0; ok && i < p->n_source; i++)
        if (p->of[i] && saved[p->of[i]->id])
            p->of[i] = saved[p->of[i]->id];
    for (size_t i = 0; ok && i < m->n_assigns; i++) {
        wgi_assignment *a = &m->assigns[i];
        uint32_t from = root[a->value->id];
        if (assigned[from] && from != a->leaf->id)
            ok = (a->value = wg_apply1(NULL, &wgi_op_copy, NULL, a->value)) != NULL;
    }
    free(root);
    free(assigned);
    free(saved);
    return ok;
}
