#include "backends/plan/facts.h"

#include <stdlib.h>

bool wgi_has_half(const wg_node *n)
{
    bool has = false;
    for (int k = 0; k < n->n_in; k++)
        has |= wg_dtype_is_half(n->in[k]->dtype);
    for (int k = 0; k < n->n_out; k++)
        has |= wg_dtype_is_half(n->out[k]->dtype);
    return has;
}

/* ---- roots ----------------------------------------------------------------------------------- */

uint32_t *wgi_roots(const wg_graph *g)
{
    size_t count = wg_graph_value_count(g);
    uint32_t *root = malloc((count + 1) * sizeof *root);
    for (uint32_t i = 0; root && i < count; i++) {
        const wg_node *n = wg_graph_value(g, i)->node;
        root[i] = wgi_is_view(n) ? root[n->in[0]->id] : i;
    }
    return root;
}

/* ---- uses ------------------------------------------------------------------------------------ */

bool wgi_uses_init(wgi_uses *u, const wg_graph *g, const uint32_t *root)
{
    size_t most = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        size_t n = (size_t)wg_graph_node(g, i)->n_in;
        most = n > most ? n : most;
    }
    *u = (wgi_uses){.root = root,
                    .first = calloc(wg_graph_value_count(g) + 1, sizeof *u->first),
                    .next = calloc(most + 1, sizeof *u->next)};
    return u->first && u->next;
}

void wgi_uses_free(wgi_uses *u)
{
    free(u->first);
    free(u->next);
}

static void look_at(wgi_uses *u, const wg_node *n)
{
    if (u->node == n)
        return;
    for (int k = 0; u->node && k < u->node->n_in; k++)
        u->first[u->root[u->node->in[k]->id]] = 0;
    for (int k = n->n_in; k-- > 0;) { /* backward, so that each list is ascending */
        uint32_t r = u->root[n->in[k]->id];
        u->next[k] = u->first[r];
        u->first[r] = (uint32_t)k + 1;
    }
    u->node = n;
}

bool wgi_reads(wgi_uses *u, const wg_node *n, uint32_t r)
{
    look_at(u, n);
    return u->first[r] != 0;
}

/* Whether the op lets result j take the buffer of operand k. */
static bool allows(const wg_op *op, int j, int k)
{
    if (op->overwrites)
        return op->overwrites(j, k);
    return k < 31 && (op->inplace >> k & 1) && (j == 0 || (op->flags & WG_OP_UPDATE));
}

/* Of as many elements of the same size: a row that is broadcast may have as many bytes as a result
 * of smaller elements. */
static bool is_as_large(const wg_value *a, const wg_value *b)
{
    return wg_value_bytes(a) == wg_value_bytes(b) &&
           wg_dtype_size(a->dtype) == wg_dtype_size(b->dtype);
}

bool wgi_may_overwrite(wgi_uses *u, const wg_node *n, int j, uint32_t r)
{
    int times = 0;
    look_at(u, n);
    for (uint32_t at = u->first[r]; at; at = u->next[at - 1], times++) {
        int k = (int)at - 1;
        if (!allows(n->op, j, k) || !is_as_large(n->in[k], n->out[j]))
            return false;
    }
    return times == 1 || (times > 1 && (n->op->flags & (WG_OP_ELEMENTWISE | WG_OP_UPDATE)));
}

/* ---- sets of nodes --------------------------------------------------------------------------- */

bool *wgi_needed_nodes(const wg_graph *g, wgi_marks marks)
{
    bool *needed = calloc(wg_graph_node_count(g) + 1, sizeof *needed);
    if (needed)
        wgi_graph_needed(g, marks, needed);
    return needed;
}

enum { FOLD_LARGEST = 1 << 20, FOLD_ALL = 64 << 20 }; /* bytes: results of one node, of all */

static size_t result_bytes(const wg_node *n)
{
    size_t bytes = 0;
    for (int k = 0; k < n->n_out; k++) {
        size_t more = wg_value_bytes(n->out[k]);
        bytes = more > FOLD_LARGEST || bytes > FOLD_LARGEST ? FOLD_LARGEST + 1 : bytes + more;
    }
    return bytes;
}

bool *wgi_foldable_nodes(const wg_graph *g, bool fold)
{
    const unsigned never = WG_OP_LEAF | WG_OP_RANDOM | WG_OP_OPAQUE | WG_OP_UNFOLDED;
    size_t count = wg_graph_node_count(g), total = 0;
    bool *foldable = calloc(count + 1, sizeof *foldable);
    for (size_t i = 0; foldable && i < count; i++) {
        const wg_node *n = wg_graph_node(g, i);
        bool folds = fold && !(n->op->flags & never);
        for (int k = 0; folds && k < n->n_in; k++)
            folds = foldable[n->in[k]->node->id];
        size_t bytes = folds && !wgi_is_view(n) ? result_bytes(n) : 0;
        if (folds && bytes <= FOLD_LARGEST && total + bytes <= FOLD_ALL) {
            total += bytes;
            foldable[i] = true;
        }
        foldable[i] |= wgi_is_constant(n);
    }
    return foldable;
}
