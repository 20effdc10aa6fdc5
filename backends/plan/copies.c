#include "backends/plan/copies.h"
#include "graph/grow.h"

#include <stdlib.h>
#include <string.h>

bool wgi_copies_begin(wgi_copies *c, const wg_graph *from, const uint32_t *root, const bool *folded)
{
    *c = (wgi_copies){.root = root,
                      .folded = folded,
                      .to = wg_graph_new(),
                      .map = calloc(wg_graph_value_count(from) + 1, sizeof *c->map)};
    return c->to && c->map;
}

static wg_phase later(wg_phase a, wg_phase b)
{
    return a > b ? a : b;
}

static bool is_mere_view(const wgi_copies *c, const wg_node *n)
{
    return wgi_is_view(n) && !(c->folded && c->folded[n->id]);
}

/* A view over the last copy of its operand.  Other operands, the tokens of a barrier, only order
 * nodes: of one that was not copied the root will do, and where the order of the copies puts the
 * token after the barrier, operand 0 takes its place. */
static bool copy_view(wgi_copies *c, const wg_value *v)
{
    const wg_node *n = v->node;
    wg_value *copy = c->map[v->id];
    wgi_operands operands;
    if (copy && copy->node->in[0] == c->map[n->in[0]->id])
        return true;
    wg_value **in = wgi_operands_new(&operands, n->n_in);
    for (int k = 0; in && k < n->n_in; k++) {
        in[k] = c->map[n->in[k]->id];
        if (k > 0 && !in[k])
            in[k] = c->map[c->root[n->in[k]->id]];
        if (k > 0 && !in[k])
            in[k] = in[0];
    }
    wg_node *node = in ? wg_node_copy(c->to, n, in, WG_DTYPE_DEFAULT) : NULL;
    wgi_operands_free(&operands);
    if (!node || !wg_name_copy(node->out[0], v))
        return false;
    node->phase = later(node->phase, node->in[0]->node->phase);
    c->map[v->id] = node->out[0];
    return true;
}

bool wgi_copies_refresh(wgi_copies *c, wg_value *v)
{
    size_t n = 0;
    for (; is_mere_view(c, v->node); v = v->node->in[0]) {
        if (!WGI_RESERVE(c->chain, c->room, n + 1))
            return false;
        c->chain[n++] = v;
    }
    bool ok = true;
    while (ok && n)
        ok = copy_view(c, c->chain[--n]);
    return ok;
}

wg_node *wgi_copies_add(wgi_copies *c, const wg_node *n)
{
    bool ok = true;
    for (int k = 0; ok && k < n->n_in; k++)
        ok = wgi_copies_refresh(c, n->in[k]);
    for (int k = 0; k < n->n_out; k++)
        c->map[n->out[k]->id] = NULL;
    return ok ? wgi_node_copy_mapped(c->to, n, c->map, WG_DTYPE_DEFAULT) : NULL;
}

/* again[] has a place for each of the first n nodes of the copy. */
static bool reserve_again(wgi_copies *c, size_t n)
{
    size_t before = c->again_room;
    if (!WGI_RESERVE(c->again, c->again_room, n))
        return false;
    memset(c->again + before, 0, (c->again_room - before) * sizeof *c->again);
    return true;
}

bool wgi_copies_mark_again(wgi_copies *c, wg_node *copy)
{
    if (!copy || !reserve_again(c, (size_t)copy->id + 1))
        return false;
    copy->phase = later(copy->phase, c->phase);
    return c->again[copy->id] = true;
}

/* Outputs and assignments may be views of which nobody else asks. */
static bool finish(wgi_copies *c, const wgi_planner *p)
{
    bool ok = true;
    for (size_t i = 0; ok && i < p->marks.n_outputs; i++)
        ok = wgi_copies_refresh(c, p->marks.outputs[i].value);
    for (size_t i = 0; ok && i < p->marks.n_assigns; i++)
        ok = wgi_copies_refresh(c, p->marks.assigns[i].value);
    ok = ok && (!c->again || reserve_again(c, wg_graph_node_count(c->to)));
    return ok && wgi_graph_copy_marks(c->to, p->marks, c->map);
}

bool wgi_copies_end(wgi_copies *c, wgi_planner *p, bool ok)
{
    ok = ok && finish(c, p);
    free(c->chain);
    if (ok) {
        wgi_planner_adopt(p, c->to, c->map);
        p->again = c->again;
        return true;
    }
    free(c->again);
    wgi_planner_fail_as(p, c->to);
    wg_graph_free(c->to);
    free(c->map);
    return false;
}
