/* Questions about nodes and graphs that several passes ask.  Nothing here knows of plans.
 *
 * A view (reshape, barrier) has the bytes of its operand.  The root of a value is the value that a
 * kernel computes and that it is a view of, directly or through other views: itself in most
 * cases. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_FACTS_H
#define WG_PRIVATE_BACKENDS_PLAN_FACTS_H

#include "backends/all_reduce.h"
#include "graph/clone.h"
#include "wengert/ops/leaf.h"
#include "wengert/ops/table.h"

enum { WGI_NONE = -1 }; /* an index of nothing */

static inline bool wgi_is_constant(const wg_node *n)
{
    return n->op == &wg_op_constant;
}

/* A parameter, state or input; a leaf that a user defines counts as an input. */
static inline bool wgi_is_outer(const wg_node *n)
{
    return (n->op->flags & WG_OP_LEAF) && !wgi_is_constant(n);
}

static inline bool wgi_is_stored(const wg_node *n)
{
    return n->op == &wg_op_parameter || n->op == &wg_op_state;
}

/* Its results are whole only after the wait that reads them. */
static inline bool wgi_begins_sum(const wg_node *n)
{
    return n->op == &wgi_op_all_reduce_start;
}

static inline bool wgi_awaits_sum(const wg_node *n)
{
    return n->op == &wgi_op_all_reduce_wait;
}

static inline bool wgi_is_view(const wg_node *n)
{
    return (n->op->flags & WG_OP_VIEW) && n->n_in > 0 && n->n_out == 1 &&
           wg_value_bytes(n->out[0]) == wg_value_bytes(n->in[0]);
}

/* Whether an operand or a result of n is bf16 or f16. */
bool wgi_has_half(const wg_node *n);

/* root[i]: the id of the root of value i.  The caller frees it; NULL without memory. */
uint32_t *wgi_roots(const wg_graph *g);

/* Where each root is among the operands of a node.  It is kept for the node that was asked about
 * last: an update of all parameters has thousands of operands, and all of them are asked about. */
typedef struct wgi_uses {
    const uint32_t *root; /* [values] the caller's */
    const wg_node *node;  /* NULL: none yet */
    uint32_t *first;      /* [values] by root: its first operand of the node, plus 1; 0: none */
    uint32_t *next;       /* [operands] the next one with the same root, plus 1; 0: none */
} wgi_uses;

/* Of the nodes of g; false without memory, which is freed all the same by wgi_uses_free. */
bool wgi_uses_init(wgi_uses *u, const wg_graph *g, const uint32_t *root);
void wgi_uses_free(wgi_uses *u);

/* Whether n reads a value with that root. */
bool wgi_reads(wgi_uses *u, const wg_node *n, uint32_t r);

/* Whether result j of n may be written over root r: its op allows this wherever n reads r, and the
 * sizes are equal.  If two operands have that root the op must also work element by element. */
bool wgi_may_overwrite(wgi_uses *u, const wg_node *n, int j, uint32_t r);

/* needed[i]: node i leads to an output or an assignment.  The caller frees it; NULL without
 * memory. */
bool *wgi_needed_nodes(const wg_graph *g, wgi_marks marks);

/* foldable[i]: node i is a constant or, if `fold`, depends on constants alone and is small.  The
 * caller frees it; NULL without memory. */
bool *wgi_foldable_nodes(const wg_graph *g, bool fold);

#endif
