/* A graph whose nodes are those of a sequence, in its order; some are there several times, and each
 * reads the last copies of its operands.  The order is that of execution, so neither barriers nor
 * further edges are needed: after this pass nobody merges or moves nodes. */
#include "backends/plan/budget.h"
#include "graph/grow.h"

#include <stdlib.h>
#include <string.h>

typedef struct build {
    const wgi_planner *p;
    wg_graph *to;
    wg_value **map; /* [values of p->g] the last copy of each */
    wg_value **chain;
    size_t room;
    bool *again; /* [nodes of to] */
    size_t again_room;
} build;

static bool is_mere_view(const build *b, const wg_node *n)
{
    return wgi_is_view(n) && !b->p->folded[n->id];
}

/* A view over the last copy of its operand.  Other operands, the tokens of a barrier, only order
 * nodes; of one that was not copied the root will do. */
static bool copy_view(build *b, const wg_value *v)
{
    const wg_node *n = v->node;
    wg_value *copy = b->map[v->id];
    wgi_operands operands;
    if (copy && copy->node->in[0] == b->map[n->in[0]->id])
        return true;
    wg_value **in = wgi_operands_new(&operands, n->n_in);
    for (int k = 0; in && k < n->n_in; k++) {
        in[k] = b->map[n->in[k]->id];
        if (k > 0 && !in[k])
            in[k] = b->map[b->p->root[n->in[k]->id]];
    }
    wg_node *node = in ? wg_node_copy(b->to, n, in, WG_DTYPE_DEFAULT) : NULL;
    wgi_operands_free(&operands);
    if (!node || !wg_name_copy(node->out[0], v))
        return false;
    b->map[v->id] = node->out[0];
    return true;
}

/* Makes map[v] a value of the last copy of v's root. */
static bool refresh(build *b, wg_value *v)
{
    size_t n = 0;
    for (; is_mere_view(b, v->node); v = v->node->in[0]) {
        if (!WGI_RESERVE(b->chain, b->room, n + 1))
            return false;
        b->chain[n++] = v;
    }
    bool ok = true;
    while (ok && n)
        ok = copy_view(b, b->chain[--n]);
    return ok;
}

static bool mark_again(build *b, const wg_node *n)
{
    size_t before = b->again_room;
    if (!WGI_RESERVE(b->again, b->again_room, (size_t)n->id + 1))
        return false;
    memset(b->again + before, 0, (b->again_room - before) * sizeof *b->again);
    b->again[n->id] = true;
    return true;
}

static bool copy_step(build *b, const wg_node *n, bool again)
{
    bool ok = true;
    for (int k = 0; ok && k < n->n_in; k++)
        ok = refresh(b, n->in[k]);
    for (int k = 0; k < n->n_out; k++)
        b->map[n->out[k]->id] = NULL;
    wg_node *copy = ok ? wgi_node_copy_mapped(b->to, n, b->map, WG_DTYPE_DEFAULT) : NULL;
    if (copy && again && copy->phase == WG_FORWARD)
        copy->phase = WG_BACKWARD;
    return copy && (!again || mark_again(b, copy));
}

/* Leaves and what is computed at plan time, then the steps, then views that are outputs. */
static bool copy_all(build *b, const wgi_steps *s, const wgi_sequence *q)
{
    const wgi_planner *p = b->p;
    bool ok = b->to && b->map;
    for (size_t i = 0; ok && i < wg_graph_node_count(p->g); i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        if ((n->op->flags & WG_OP_LEAF) || p->folded[i])
            ok = wgi_node_copy_mapped(b->to, n, b->map, WG_DTYPE_DEFAULT) != NULL;
    }
    for (size_t i = 0; ok && i < q->n; i++)
        ok = copy_step(b, p->program.work[s->work[q->step[i]]].node, q->again[i]);
    for (size_t i = 0; ok && i < p->marks.n_outputs; i++)
        ok = refresh(b, p->marks.outputs[i].value);
    for (size_t i = 0; ok && i < p->marks.n_assigns; i++)
        ok = refresh(b, p->marks.assigns[i].value);
    return ok && wgi_graph_copy_marks(b->to, p->marks, b->map);
}

bool wgi_sequence_graph(wgi_planner *fork, const wgi_planner *p, const wgi_steps *s,
                        const wgi_sequence *q)
{
    build b = {.p = p,
               .to = wg_graph_new(),
               .map = calloc(wg_graph_value_count(p->g) + 1, sizeof(wg_value *))};
    bool ok = copy_all(&b, s, q);
    size_t nodes = ok ? wg_graph_node_count(b.to) : 0, before = b.again_room;
    if (ok && WGI_RESERVE(b.again, b.again_room, nodes + 1)) {
        memset(b.again + before, 0, (b.again_room - before) * sizeof *b.again);
        wgi_planner_adopt(fork, b.to, b.map);
        fork->again = b.again;
    } else {
        ok = wgi_planner_fail_as(fork, b.to);
        wg_graph_free(b.to);
        free(b.map);
        free(b.again);
    }
    free(b.chain);
    return ok;
}
