/* Errors of a request rather than of the graph, which stays usable: wrong options of a plan, a lack
 * of memory. */
#ifndef WG_PRIVATE_GRAPH_PASSING_H
#define WG_PRIVATE_GRAPH_PASSING_H

#include "wengert/graph/graph.h"

/* The error of g, which had none before, lasts until wgi_graph_retry. */
void wgi_graph_let_pass(wg_graph *g);
/* Ends such an error; any other stays. */
void wgi_graph_retry(wg_graph *g);
/* Its status; WG_OK with an error that passes: what has been built is whole. */
wg_status wgi_graph_lasting_status(const wg_graph *g);

#endif
