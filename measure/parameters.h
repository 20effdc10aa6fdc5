/* Random parameters for models that are only timed. */
#ifndef WG_MEASURE_PARAMETERS_H
#define WG_MEASURE_PARAMETERS_H

#include "wengert/backends/store.h"
#include "wengert/graph/graph.h"

/* Initialises all parameters of g that the store lacks, with a plan of its own, so that this counts
 * neither as planning nor as a step.  A NULL store is WG_ENOMEM.  The message is in g. */
wg_status bench_draw_parameters(wg_graph *g, wg_store *store);

#endif
