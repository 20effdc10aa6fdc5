/* Copying nodes through a map, and the marks of a graph (its outputs and assignments): for code
 * that makes one graph from another. */
#ifndef WG_PRIVATE_GRAPH_CLONE_H
#define WG_PRIVATE_GRAPH_CLONE_H

#include "graph/marks.h"
#include "wengert/graph/op.h"

/* ---- outputs and assignments ----------------------------------------------------------------- */

/* The graph's own, valid until the next wg_output or wg_assign. */
wgi_marks wgi_graph_marks(const wg_graph *g);

/* Sets needed[i], which was false, for each node i of g that leads to a mark. */
void wgi_graph_needed(const wg_graph *g, wgi_marks marks, bool *needed);

/* Gives `to` the same marks, at the values map[id]; false if `to` is or comes into error. */
bool wgi_graph_copy_marks(wg_graph *to, wgi_marks marks, wg_value *const *map);

/* ---- nodes ----------------------------------------------------------------------------------- */

/* An array of operands that is rarely long. */
typedef struct wgi_operands {
    wg_value *small[16], **in;
} wgi_operands;

/* Room for n operands, all NULL; NULL without memory.  wgi_operands_free in either case. */
wg_value **wgi_operands_new(wgi_operands *o, int n);
void wgi_operands_free(wgi_operands *o);

/* A copy of n in `to`.  Operand k is map[n->in[k]->id].  A result takes its place in the map where
 * that is still NULL, and with it the name, unless both are of one graph.  `floats_as` as in
 * wg_node_copy.  NULL if `to` is or comes into error. */
wg_node *wgi_node_copy_mapped(wg_graph *to, const wg_node *n, wg_value **map, wg_dtype floats_as);

#endif
