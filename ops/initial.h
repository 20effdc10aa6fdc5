/* The first numbers of a parameter or a state, for stores and for the gradient check. */
#ifndef WG_PRIVATE_OPS_INITIAL_H
#define WG_PRIVATE_OPS_INITIAL_H

#include "wengert/graph/graph.h"

/* Fills data, which is zeros, as the wg_init of `leaf` asks, a parameter or a state: a function of
 * the seed and the name, the same on any number of threads.  WG_ENOMEM. */
wg_status wgi_initial_values(void *data, uint64_t seed, const char *name, const wg_value *leaf,
                             int threads);

#endif
