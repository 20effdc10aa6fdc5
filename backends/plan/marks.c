/* What a plan is to compute: the outputs and assignments of the source, or the outputs that the
 * options name. */
#include "backends/plan/planner.h"

#include <stdlib.h>

/* A leaf of a user's own has no tensor in a store. */
static bool check_assignments(wgi_planner *p)
{
    char name[200];
    for (size_t i = 0; i < p->marks.n_assigns; i++) {
        const wg_value *leaf = p->marks.assigns[i].leaf;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an assignment has a leaf */
        if (!wgi_is_stored(leaf->node))
            return wgi_planner_fail(p, WG_EINVAL,
                                    "%s %s is assigned: only a parameter or a state can be",
                                    leaf->node->op->name, wg_value_text(leaf, name, sizeof name));
    }
    return true;
}

/* A graph of parameters and states alone may be planned: that gives their tensors values. */
static bool only_gives_values(const wg_graph *g)
{
    size_t i = wg_graph_node_count(g), stored = 0;
    while (i-- > 0) {
        const wg_node *n = wg_graph_node(g, i);
        if (n->n_in > 0)
            return false;
        stored += wgi_is_stored(n);
    }
    return stored > 0;
}

bool wgi_pass_marks(wgi_planner *p)
{
    char opened[200];
    if (*wg_scope_path(p->source))
        return wgi_planner_fail(p, WG_EINVAL, "the scope is still open: wg_scope_pop is missing%s",
                                wgi_scope_opened_before(p->source, opened, sizeof opened));
    const wg_plan_options *o = &p->options;
    wgi_marks own = wgi_graph_marks(p->source), *m = &p->marks;
    if (o->n_outputs && !o->outputs)
        return wgi_planner_fail(p, WG_EINVAL, "n_outputs is %zu, but outputs is NULL",
                                o->n_outputs);
    size_t n_outputs = o->outputs ? o->n_outputs : own.n_outputs;
    m->outputs = calloc(n_outputs + 1, sizeof *m->outputs);
    m->assigns = calloc(own.n_assigns + 1, sizeof *m->assigns);
    if (!m->outputs || !m->assigns)
        return wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    for (; m->n_outputs < n_outputs; m->n_outputs++) {
        wg_value *v = o->outputs ? o->outputs[m->n_outputs] : own.outputs[m->n_outputs].value;
        if (!v || v->node->graph != p->source)
            return wgi_planner_fail(p, WG_EINVAL, "output %zu is %s", m->n_outputs,
                                    v ? "of another graph" : "NULL");
        m->outputs[m->n_outputs] =
            o->outputs ? (wgi_named_value){v->name, v} : own.outputs[m->n_outputs];
    }
    for (; !o->outputs && m->n_assigns < own.n_assigns; m->n_assigns++)
        m->assigns[m->n_assigns] = own.assigns[m->n_assigns];
    if (!m->n_outputs && !m->n_assigns && !only_gives_values(p->source))
        return wgi_planner_fail(
            p, WG_EINVAL,
            "nothing to compute: the graph has no wg_output and no wg_assign (those of "
            "NULL do not count: see what built the value)");
    return check_assignments(p);
}
