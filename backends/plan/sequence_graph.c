/* A graph whose nodes are those of a sequence, in its order; some are there several times. */
#include "backends/plan/budget.h"
#include "backends/plan/copies.h"
#include "graph/grow.h"

#include <stdlib.h>
#include <string.h>

typedef struct build {
    const wgi_planner *p;
    wgi_copies copies;
    bool *again; /* [nodes of the copy] */
    size_t again_room;
} build;

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
    wg_node *copy = wgi_copies_add(&b->copies, n);
    if (copy && again && copy->phase == WG_FORWARD)
        copy->phase = WG_BACKWARD;
    return copy && (!again || mark_again(b, copy));
}

/* Leaves and what is computed at plan time, then the steps, then views that are outputs. */
static bool copy_all(build *b, const wgi_steps *s, const wgi_sequence *q)
{
    const wgi_planner *p = b->p;
    bool ok = true;
    for (size_t i = 0; ok && i < wg_graph_node_count(p->g); i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        if ((n->op->flags & WG_OP_LEAF) || p->folded[i])
            ok = wgi_copies_add(&b->copies, n) != NULL;
    }
    for (size_t i = 0; ok && i < q->n; i++)
        ok = copy_step(b, p->program.work[s->work[q->step[i]]].node, q->again[i]);
    return ok;
}

bool wgi_sequence_graph(wgi_planner *fork, const wgi_planner *p, const wgi_steps *s,
                        const wgi_sequence *q)
{
    build b = {.p = p};
    bool ok = wgi_copies_begin(&b.copies, p->g, p->root, p->folded) && copy_all(&b, s, q);
    size_t nodes = ok ? wg_graph_node_count(b.copies.to) : 0, before = b.again_room;
    if (ok && WGI_RESERVE(b.again, b.again_room, nodes + 1))
        memset(b.again + before, 0, (b.again_room - before) * sizeof *b.again);
    else
        ok = false;
    ok = wgi_copies_end(&b.copies, fork, ok);
    if (ok)
        fork->again = b.again;
    else
        free(b.again);
    return ok;
}
