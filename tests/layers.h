/* Graphs of layers: plans whose inputs are filled, and shapes. */
#ifndef WG_TESTS_LAYERS_H
#define WG_TESTS_LAYERS_H

#include "tests/numbers.h"
#include "wengert.h"

/* A plan of all outputs and assignments of g, whose inputs hold sin(k + id), integers k % 3. */
wg_plan *layers_plan(wg_graph *g, wg_store *store);

/* Runs it, or fails with its message. */
void layers_run(wg_plan *p, uint64_t step);

void layers_check_shape(const wg_value *v, wg_shape shape);

#endif
