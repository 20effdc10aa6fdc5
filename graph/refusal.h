/* Errors of a request rather than of the graph: wrong options of a plan, a lack of memory.  The
 * graph keeps their message, but its status is WG_OK: it can be extended, copied and planned again.
 */
#ifndef WG_PRIVATE_GRAPH_REFUSAL_H
#define WG_PRIVATE_GRAPH_REFUSAL_H

#include "wengert/graph/graph.h"

/* Makes the error of g, which had none before the request, one of the request; returns its
 * status. */
wg_status wgi_graph_refuse(wg_graph *g);
/* Drops the message of an earlier request. */
void wgi_graph_forget_refusal(wg_graph *g);

#endif
