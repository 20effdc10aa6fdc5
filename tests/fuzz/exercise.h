/* A graph through everything that is done with graphs: verified, printed and parsed,
 * differentiated, planned in many ways, run on the reference and on all backends, and compared. */
#ifndef WG_TESTS_FUZZ_EXERCISE_H
#define WG_TESTS_FUZZ_EXERCISE_H

#include "wengert/graph/op.h"

/* The numbers of an input, by the id of its value; dtype and shape do not count.  NULL: floats of
 * (-2, 2), integers 0 and 1. */
typedef const wg_sample_operand *exercise_numbers(const void *context, uint32_t id);

/* Whether the graph is small enough to be run in a moment. */
bool exercise_is_small(const wg_graph *g);

/* The graph is printed, and what is printed is the same graph. */
void exercise_comes_back(const wg_graph *g);

/* The graph must verify and be small.  It may get nodes. */
void exercise(wg_graph *g, exercise_numbers *numbers, const void *context);

#endif
