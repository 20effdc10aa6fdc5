/* Several plain ops become one where a backend has a kernel for all of them: a model written from
 * plain ops gets the fast kernels without naming them.
 *
 * A fusion matches its pattern from one node, its anchor, outwards; where the pattern holds, it
 * names the op and the operands that replace the nodes, and the values that are replaced.  Values
 * inside the pattern that others still read are replaced as well, or the pattern does not hold. The
 * pass then copies the graph in order: a fused node takes the place of the first node whose value
 * it replaces, provided that a backend other than the reference takes it; all of its operands must
 * come before.  Leaves and other nodes without operands come first, so that a parameter made late
 * is no obstacle. */
#include "backends/plan/patterns.h"
#include "backends/plan/planner.h"
#include "graph/grow.h"

#include <stdlib.h>
#include <string.h>

/* ---- the pass -------------------------------------------------------------------------------- */

typedef struct pass {
    wgi_planner *p;
    const wg_graph *source;
    wg_graph *to;
    wgi_fusion_view view;
    wgi_fused *found; /* fusions that hold, in the order of their first replaced node */
    size_t n_found, room;
    int64_t *starts;              /* [nodes] fusion that starts here, or WGI_NONE */
    wg_value **map;               /* [values] in `to` */
    wg_value **lists, **list_end; /* of those fusions that have one */
} pass;

static wg_value **operands_of(wgi_fused *f)
{
    return f->n_replaces ? f->list : f->in;
}

/* The values that it replaces; *n is how many places there are. */
static wg_value **replaced_by(wgi_fused *f, int *n)
{
    *n = f->n_replaces ? f->n_replaces : WGI_FUSED_RESULTS;
    return f->n_replaces ? f->list + f->n_in : f->replaces;
}

/* Readers of each value: how many operands of needed nodes, outputs and assignments it is. */
static bool count_readers(pass *s)
{
    size_t values = wg_graph_value_count(s->source), operands = 0;
    wgi_fusion_view *v = &s->view;
    v->readers = calloc(values + 1, sizeof *v->readers);
    v->first_reader = calloc(values + 2, sizeof *v->first_reader);
    if (!v->readers || !v->first_reader)
        return false;
    for (size_t i = 0; i < wg_graph_node_count(s->source); i++)
        for (int k = 0; v->needed[i] && k < wg_graph_node(s->source, i)->n_in; k++, operands++)
            v->readers[wg_graph_node(s->source, i)->in[k]->id]++;
    v->reader = calloc(operands + 1, sizeof *v->reader);
    if (!v->reader)
        return false;
    for (size_t i = 0; i < values; i++)
        v->first_reader[i + 1] = v->first_reader[i] + v->readers[i];
    /* backward, so that each list ends up ascending */
    for (size_t i = wg_graph_node_count(s->source); i-- > 0;) {
        wg_node *n = wg_graph_node(s->source, i);
        for (int k = n->n_in; v->needed[i] && k-- > 0;)
            v->reader[v->first_reader[n->in[k]->id] + --v->readers[n->in[k]->id]] = n;
    }
    for (size_t i = 0; i < values; i++)
        v->readers[i] = (uint32_t)(v->first_reader[i + 1] - v->first_reader[i]);
    for (size_t i = 0; i < s->p->marks.n_outputs; i++)
        v->readers[s->p->marks.outputs[i].value->id]++;
    for (size_t i = 0; i < s->p->marks.n_assigns; i++)
        v->readers[s->p->marks.assigns[i].value->id]++;
    return true;
}

/* Without operands a node can stand anywhere. */
static bool is_leaf(const wg_node *n)
{
    return n->n_in == 0;
}

/* Keeps the fusion if it can be placed and does not meet another. */
static bool admit(pass *s, wgi_fused *f)
{
    uint32_t start = UINT32_MAX;
    int n;
    wg_value **in = operands_of(f), **replaces = replaced_by(f, &n);
    for (int i = 0; i < n; i++) {
        const wg_value *v = replaces[i];
        if (v && s->view.replaced_by[v->id] != WGI_NONE)
            return true;
        if (v && v->node->id < start)
            start = v->node->id;
    }
    for (int i = 0; i < f->n_in; i++)
        if (in[i] && !is_leaf(in[i]->node) && in[i]->node->id >= start)
            return true;
    if (start == UINT32_MAX || s->starts[start] != WGI_NONE)
        return true;
    if (!WGI_RESERVE(s->found, s->room, s->n_found + 1))
        return false;
    s->found[s->n_found] = *f;
    s->starts[start] = (int64_t)s->n_found;
    for (int i = 0; i < n; i++)
        if (replaces[i])
            s->view.replaced_by[replaces[i]->id] = (int64_t)s->n_found;
    s->n_found++;
    if (f->n_replaces)
        s->list_end += f->n_in + f->n_replaces;
    return true;
}

static bool find_all(pass *s)
{
    for (size_t i = 0; i < wg_graph_node_count(s->source); i++) {
        wg_node *n = wg_graph_node(s->source, i);
        for (const wgi_fusion *f = wgi_fusions; s->view.needed[i] && f->name; f++) {
            wgi_fused fused = {.fusion = f, .anchor = n, .list = s->list_end};
            if (f->anchor == n->op && f->matches(&s->view, n, &fused) && !admit(s, &fused))
                return false;
        }
    }
    return true;
}

/* Builds the fused node; false only after an error.  A node that no backend takes is left without
 * readers, as is one in bf16 or f16: the values within the pattern would not be rounded. */
static bool build(pass *s, wgi_fused *f)
{
    int results;
    wgi_operands operands;
    wg_value **from = operands_of(f), **replaces = replaced_by(f, &results);
    wg_value **in = wgi_operands_new(&operands, f->n_in);
    if (!in)
        return false;
    for (int i = 0; i < f->n_in; i++)
        in[i] = from[i] ? s->map[from[i]->id] : NULL;
    wg_node like = *f->anchor; /* scope, line and phase of the anchor */
    like.op = f->op;
    like.attrs = &f->attrs;
    like.n_in = f->n_in;
    wg_node *n = wg_node_copy(s->to, &like, in, WG_DTYPE_DEFAULT);
    wgi_operands_free(&operands);
    if (!n)
        return false;
    const wgi_backends *b = &s->p->backends;
    f->taken = !wgi_has_half(n) && wgi_is_taken(b, b->count - 1, n); /* the last is the reference */
    for (int i = 0; f->taken && i < n->n_out && i < results; i++)
        if (replaces[i])
            s->map[replaces[i]->id] = n->out[i];
    return true;
}

/* Unless fused nodes made all its results. */
static bool copy_node(pass *s, const wg_node *n)
{
    bool wanted = n->n_out == 0;
    for (int k = 0; k < n->n_out; k++)
        wanted |= !s->map[n->out[k]->id];
    return !wanted || wgi_node_copy_mapped(s->to, n, s->map, WG_DTYPE_DEFAULT);
}

/* Leaves stay even if nothing reads them: the caller may fill them. */
static bool is_wanted(const pass *s, const wg_node *n)
{
    return s->view.needed[n->id] || (n->op->flags & WG_OP_LEAF);
}

static bool copy_all(pass *s)
{
    size_t count = wg_graph_node_count(s->source);
    for (size_t i = 0; i < count; i++)
        if (is_leaf(wg_graph_node(s->source, i)) && is_wanted(s, wg_graph_node(s->source, i)) &&
            !copy_node(s, wg_graph_node(s->source, i)))
            return false;
    for (size_t i = 0; i < count; i++) {
        wg_node *n = wg_graph_node(s->source, i);
        if (!s->view.needed[i] || is_leaf(n))
            continue;
        if (s->starts[i] != WGI_NONE && !build(s, &s->found[s->starts[i]]))
            return false;
        if (!copy_node(s, n))
            return false;
    }
    return true;
}

static bool start(pass *s)
{
    size_t values = wg_graph_value_count(s->source), nodes = wg_graph_node_count(s->source);
    s->view.needed = wgi_needed_nodes(s->source, s->p->marks);
    s->view.replaced_by = malloc((values + 1) * sizeof *s->view.replaced_by);
    s->starts = malloc((nodes + 1) * sizeof *s->starts);
    s->map = calloc(values + 1, sizeof(wg_value *));
    s->lists = malloc((WGI_FUSED_PER_NODE * nodes + 1) * sizeof(wg_value *));
    s->list_end = s->lists;
    if (!s->view.needed || !s->view.replaced_by || !s->starts || !s->map || !s->lists)
        return false;
    for (size_t i = 0; i < values; i++)
        s->view.replaced_by[i] = WGI_NONE;
    for (size_t i = 0; i < nodes; i++)
        s->starts[i] = WGI_NONE;
    return count_readers(s);
}

static void finish(pass *s)
{
    free(s->view.needed);
    free(s->view.readers);
    free(s->view.first_reader);
    free(s->view.reader);
    free(s->view.replaced_by);
    free(s->starts);
    free(s->found);
    free(s->lists);
}

bool wgi_pass_fuse(wgi_planner *p)
{
    pass s = {.p = p, .source = p->g};
    if (p->backends.count < 2 || p->options.no_fuse)
        return true;
    bool ok = start(&s) && find_all(&s);
    if (ok && s.n_found) {
        s.to = wg_graph_new();
        ok = s.to && copy_all(&s);
    }
    ok = wgi_planner_end(p, ok, s.to, s.map);
    finish(&s);
    return ok;
}
