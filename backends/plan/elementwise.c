/* Elementwise nodes of one shape become one node, fused_elementwise, which computes them strip by
 * strip: values that only they read are never written to memory, and threads meet once for all.
 * What a step reads may be broadcast, so an expand before it is left out; a fill is a number.
 *
 * In a checked plan each node stays by itself, so that a message can name it; in others,
 * wg_plan_first_nonfinite finds the step (run.c). */
#include "backends/plan/elementwise.h"

#include <stdlib.h>

static bool start(wgi_groups *s)
{
    size_t nodes = wg_graph_node_count(s->g), values = wg_graph_value_count(s->g);
    s->group = malloc((nodes + 1) * sizeof *s->group);
    s->of = calloc(nodes + 1, sizeof *s->of);
    s->foldable = wgi_foldable_nodes(s->g, !s->p->options.no_fold);
    s->root = wgi_roots(s->g);
    s->last = malloc((values + 1) * sizeof *s->last);
    s->is_marked = calloc(values + 1, sizeof *s->is_marked);
    s->is_read = calloc(nodes + 1, sizeof *s->is_read);
    s->map = calloc(values + 1, sizeof(wg_value *));
    return s->group && s->of && s->foldable && s->root && s->last && s->is_marked && s->is_read &&
           s->map;
}

static bool found_any(const wgi_groups *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->group[i].into == i && wgi_is_worth_it(&s->group[i]))
            return true;
    return false;
}

bool wgi_pass_elementwise(wgi_planner *p)
{
    const wg_plan_options *o = &p->options;
    if (p->backends.count < 2 || o->no_fuse || o->keep_all || o->check_nonfinite)
        return true;
    wgi_groups s = {.p = p, .g = p->g};
    bool ok = start(&s);
    if (ok) {
        wgi_find_groups(&s);
        ok = wgi_compute_again(&s);
        wgi_find_superfluous(&s);
    }
    if (ok && found_any(&s)) {
        s.to = wg_graph_new();
        ok = s.to && wgi_build_groups(&s) && wgi_graph_copy_marks(s.to, p->marks, s.map);
    }
    ok = wgi_planner_end(p, ok, s.to, s.map);
    free(s.group);
    free(s.of);
    free(s.foldable);
    free(s.root);
    free(s.last);
    free(s.is_marked);
    free(s.is_read);
    return ok;
}
