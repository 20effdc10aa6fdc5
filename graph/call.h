/* Builders that call other builders: which of them a message names. */
#ifndef WG_PRIVATE_GRAPH_CALL_H
#define WG_PRIVATE_GRAPH_CALL_H

#include "wengert/graph/graph.h"

/* From now on the messages of wg_graph_fail name `who`, the function that the caller knows, instead
 * of the functions wg_... that it calls, but not instead of ops; and if it was itself called by
 * such a function, that one.  Returns what wgi_graph_leave takes. */
const char *wgi_graph_enter(wg_graph *g, const char *who);
/* Ends this. */
void wgi_graph_leave(wg_graph *g, const char *entered);

#endif
