/* A graph whose nodes are those of a sequence, in its order; some are there several times. */
#include "backends/plan/budget.h"
#include "backends/plan/copies.h"

/* A step that is run again, or that was so before there was a budget (norms.c). */
static bool copy_step(wgi_copies *c, const wgi_planner *p, const wg_node *n, bool again)
{
    wg_node *copy = wgi_copies_add(c, n);
    return again || (p->again && p->again[n->id]) ? wgi_copies_mark_again(c, copy) : copy != NULL;
}

static const wg_node *node_of(const wgi_planner *p, const wgi_steps *s, const wgi_sequence *q,
                              size_t i)
{
    return p->program.work[s->work[q->step[i]]].node;
}

/* Leaves and what is computed at plan time, then the steps; one that is run again is for the next
 * that is not. */
static bool copy_all(wgi_copies *c, const wgi_planner *p, const wgi_steps *s, const wgi_sequence *q)
{
    bool ok = true;
    for (size_t i = 0; ok && i < wg_graph_node_count(p->g); i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        if ((n->op->flags & WG_OP_LEAF) || p->folded[i])
            ok = wgi_copies_add(c, n) != NULL;
    }
    for (size_t i = 0, next = 0; ok && i < q->n; i++) {
        for (next = next > i ? next : i; next + 1 < q->n && q->again[next];)
            next++;
        c->phase = node_of(p, s, q, next)->phase;
        ok = copy_step(c, p, node_of(p, s, q, i), q->again[i]);
    }
    return ok;
}

bool wgi_sequence_graph(wgi_planner *fork, const wgi_planner *p, const wgi_steps *s,
                        const wgi_sequence *q)
{
    wgi_copies c;
    bool ok = wgi_copies_begin(&c, p->g, p->root, p->folded) && copy_all(&c, p, s, q);
    return wgi_copies_end(&c, fork, ok);
}
