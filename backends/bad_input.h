/* Where the numbers of a run came from that ended it. */
#ifndef WG_PRIVATE_BACKENDS_BAD_INPUT_H
#define WG_PRIVATE_BACKENDS_BAD_INPUT_H

#include "wengert/backends/plan.h"

/* The input, in the plan's private graph, in which the last run found the number that ended it (an
 * id out of range; NaN, if it was a checked run), and its element in row-major order.  NULL: it did
 * not fail, or not by a number of an input. */
const wg_value *wgi_plan_bad_input(const wg_plan *p, int64_t *element);

#endif
