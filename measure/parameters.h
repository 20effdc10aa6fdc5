/* Random parameters for models that are only timed. */
#ifndef WG_MEASURE_PARAMETERS_H
#define WG_MEASURE_PARAMETERS_H

#include "wengert/backends/store.h"
#include "wengert/graph/graph.h"

/* Draws all parameters of g that the store lacks, by their initialisations.  It uses a plan of its
 * own, so that drawing counts neither as planning nor as a step.  A NULL store is WG_ENOMEM; g has
 * the message. */
wg_status bench_draw_parameters(wg_graph *g, wg_store *store);

#endif
