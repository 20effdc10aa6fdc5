/* Parameters for models that nobody trained. */
#ifndef WG_MEASURE_PARAMETERS_H
#define WG_MEASURE_PARAMETERS_H

#include "wengert/backends/store.h"
#include "wengert/graph/graph.h"

/* Draws all parameters of g that the store has not yet, as their initialisations say, by a plan of
 * them alone: so that it counts neither as planning nor as a step.  The store may be NULL:
 * WG_ENOMEM.  g has the message. */
wg_status bench_draw_parameters(wg_graph *g, wg_store *store);

#endif
