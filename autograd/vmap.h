/* One node of a vectorised computation (vmap.c), and the rules of single ops (vmap_rules.c). */
#ifndef WG_PRIVATE_AUTOGRAD_VMAP_H
#define WG_PRIVATE_AUTOGRAD_VMAP_H

#include "wengert/graph/op.h"

/* A node to be built for K examples.  Where batched[i], in[i] is [K, shape of node->in[i]]; else
 * it is the operand itself. */
typedef struct wgi_vmap_node {
    const wg_node *node;
    int64_t size;  /* K */
    wg_value **in; /* node->n_in */
    bool *batched; /* node->n_in, at least one true */
    wg_value **y;  /* node->n_out results, to be set: [K, ...], or without K where it is shared */
} wgi_vmap_node;

/* Builds the node as one node for all examples.  false, and nothing built, if there is no rule for
 * it, or none for these operands. */
bool wgi_vmap_by_rule(wgi_vmap_node *m);

/* [K, shape]: v repeated K times. */
wg_value *wgi_vmap_repeat(wg_value *v, int64_t K);

/* `shape` with the axis K before it. */
wg_shape wgi_vmap_shape(int64_t K, const wg_shape *shape);

#endif
