/* The handle: its beginning and end, outputs and assignments, and reading it. */
#include "graph/internal.h"

#include <stdlib.h>
#include <string.h>

wg_graph *wg_graph_new(void)
{
    wg_graph *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->origin.scope = wgi_scope_intern(g, "");
    if (!g->origin.scope) {
        wg_graph_free(g);
        return NULL;
    }
    return g;
}

void wg_graph_free(wg_graph *g)
{
    if (!g)
        return;
    free(g->nodes);
    free(g->values);
    free(g->outputs);
    free(g->assigns);
    free(g->scopes.slot);
    free(g->names.slot);
    free(g->lines.slot);
    free(g->output_names.slot);
    free(g->assignment);
    free(g->message);
    wgi_arena_free(&g->arena);
    free(g);
}

/* ---- outputs, assignments -------------------------------------------------------------------- */

wg_graph *wg_graph_of(const wg_value *v)
{
    return v ? v->node->graph : NULL;
}

wg_value *wg_result_of(wg_value *v, int i)
{
    if (!v)
        return NULL;
    wg_node *n = v->node;
    if (i < 0 || i >= n->n_out)
        return wg_graph_fail(n->graph, WG_EINVAL, n->at, "wg_result_of",
                             "result %d of %s was asked for, it has %d", i, n->op->name, n->n_out);
    return n->out[i];
}

wg_value *wgi_graph_add_output(wg_value *v, const char *name)
{
    wg_graph *g = v->node->graph;
    if (g->status != WG_OK)
        return NULL;
    if (!wgi_graph_reserve(g, &g->outputs, &g->cap_outputs, g->n_outputs, sizeof *g->outputs))
        return NULL;
    char *own = wgi_arena_text(&g->arena, name ? name : "");
    if (!own)
        return wgi_graph_no_memory(g);
    if (*own && !wgi_names_get(&g->output_names, own) && !wgi_names_put(&g->output_names, own, v))
        return wgi_graph_no_memory(g);
    g->outputs[g->n_outputs++] = (wgi_named_value){own, v};
    return v;
}

wg_value *wg_output(wg_value *v, const char *name)
{
    if (!v)
        return NULL;
    wg_graph *g = v->node->graph;
    const wg_value *other = name && *name ? wgi_names_get(&g->output_names, name) : NULL;
    if (other && other != v)
        return wg_graph_fail(g, WG_EINVAL, NULL, "wg_output",
                             "the name '%s' is taken by the output of %s built at %s: that of %s "
                             "built at %s needs another",
                             name, other->node->op->name, wgi_line_of(other->node->at),
                             v->node->op->name, wgi_line_of(v->node->at));
    return wgi_graph_add_output(v, name);
}

const wgi_assignment *wgi_graph_assignment(const wg_graph *g, const wg_value *leaf)
{
    size_t number = g && leaf && leaf->id < g->cap_assignment ? g->assignment[leaf->id] : 0;
    return number ? &g->assigns[number - 1] : NULL;
}

static void add_assignment(wg_graph *g, const char *at, wg_value *leaf, wg_value *v)
{
    size_t before = g->cap_assignment;
    if (!wgi_graph_reserve(g, &g->assigns, &g->cap_assigns, g->n_assigns, sizeof *g->assigns) ||
        !wgi_graph_reserve(g, &g->assignment, &g->cap_assignment, leaf->id, sizeof *g->assignment))
        return;
    if (g->cap_assignment > before)
        memset(g->assignment + before, 0, (g->cap_assignment - before) * sizeof *g->assignment);
    g->assigns[g->n_assigns++] = (wgi_assignment){leaf, v, at};
    g->assignment[leaf->id] = g->n_assigns;
}

/* What is assigned must be a parameter or a state, and each once. */
static bool check_assigned(wg_graph *g, const char *at, const wg_value *leaf)
{
    char name[200];
    const wgi_assignment *before = wgi_graph_assignment(g, leaf);
    wg_value_text(leaf, name, sizeof name);
    if (!(leaf->node->op->flags & (WG_OP_PARAMETER | WG_OP_STATE)))
        wg_graph_fail(g, WG_EINVAL, at, "wg_assign",
                      "%s is an %s: only a parameter or a state can be assigned", name,
                      leaf->node->op->name);
    else if (before)
        wg_graph_fail(g, WG_EINVAL, at, "wg_assign", "%s is assigned already at %s", name,
                      wgi_line_of(before->at));
    return g->status == WG_OK;
}

void(wg_assign)(const char *at, wg_value *leaf, wg_value *v)
{
    wg_graph *g = wg_graph_of(leaf ? leaf : v);
    if (!g || g->status != WG_OK)
        return;
    char a[96], b[96];
    if (!leaf || !v)
        wg_graph_fail(g, WG_EINVAL, at, "wg_assign", "the %s is NULL", leaf ? "value" : "leaf");
    else if (v->node->graph != g)
        for (int i = 0; i < 2; i++) /* the error of both */
            wg_graph_fail(wg_graph_of(i ? v : leaf), WG_EINVAL, at, "wg_assign",
                          "leaf and value are of two graphs");
    else if (!(leaf->node->op->flags & WG_OP_LEAF))
        wg_graph_fail(g, WG_EINVAL, at, "wg_assign", "%s is not a leaf but a result of %s",
                      wg_value_text(leaf, a, sizeof a), leaf->node->op->name);
    else if (leaf->dtype != v->dtype || !wg_shape_equal(&leaf->shape, &v->shape))
        wg_graph_fail(g, WG_ESHAPE, at, "wg_assign", "%s%s cannot take %s%s",
                      wg_dtype_name(leaf->dtype), wg_shape_text(&leaf->shape, a, sizeof a),
                      wg_dtype_name(v->dtype), wg_shape_text(&v->shape, b, sizeof b));
    else if (check_assigned(g, at, leaf))
        add_assignment(g, at, leaf, v);
}

/* ---- reading --------------------------------------------------------------------------------- */

size_t wg_graph_node_count(const wg_graph *g)
{
    return g ? g->n_nodes : 0;
}

wg_node *wg_graph_node(const wg_graph *g, size_t i)
{
    return g && i < g->n_nodes ? g->nodes[i] : NULL;
}

size_t wg_graph_value_count(const wg_graph *g)
{
    return g ? g->n_values : 0;
}

wg_value *wg_graph_value(const wg_graph *g, size_t i)
{
    return g && i < g->n_values ? g->values[i] : NULL;
}

size_t wg_graph_output_count(const wg_graph *g)
{
    return g ? g->n_outputs : 0;
}

wg_value *wg_graph_output(const wg_graph *g, size_t i)
{
    return g && i < g->n_outputs ? g->outputs[i].value : NULL;
}

const char *wg_graph_output_name(const wg_graph *g, size_t i)
{
    return g && i < g->n_outputs ? g->outputs[i].name : NULL;
}

wg_value *wg_graph_find_output(const wg_graph *g, const char *name)
{
    return g && name && *name ? wgi_names_get(&g->output_names, name) : NULL;
}

size_t wg_graph_assign_count(const wg_graph *g)
{
    return g ? g->n_assigns : 0;
}

void wg_graph_assign_at(const wg_graph *g, size_t i, wg_value **leaf, wg_value **v)
{
    bool there = g && i < g->n_assigns;
    *leaf = there ? g->assigns[i].leaf : NULL;
    *v = there ? g->assigns[i].value : NULL;
}

size_t wg_graph_parameters(const wg_graph *g, wg_value **out, size_t max)
{
    size_t found = 0;
    for (size_t i = 0; g && i < g->n_nodes; i++) {
        wg_node *n = g->nodes[i];
        if (!(n->op->flags & WG_OP_PARAMETER))
            continue;
        if (found < max && out)
            out[found] = n->out[0];
        found++;
    }
    return found;
}
