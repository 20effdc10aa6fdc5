/* Leaves with names. */
#ifndef WG_PRIVATE_GRAPH_LEAF_H
#define WG_PRIVATE_GRAPH_LEAF_H

#include "wengert/graph/op.h"

/* wg_apply0 and wg_name_leaf in one, so that messages about its shape or initial values have its
 * name. */
wg_value *wgi_graph_leaf(const char *at, wg_graph *g, const wg_op *op, const void *attrs,
                         const char *name);

#endif
