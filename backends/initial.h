/* The first numbers of a parameter or a state. */
#ifndef WG_PRIVATE_BACKENDS_INITIAL_H
#define WG_PRIVATE_BACKENDS_INITIAL_H

#include "wengert/backends/store.h"
#include "wengert/ops/leaf.h"

/* Fills t, which is zeros, by a->init and a->scale: a function of the seed and the tensor's name,
 * the same at any number of threads.  WG_ENOMEM. */
wg_status wgi_initialise(const wg_tensor *t, uint64_t seed, const wg_leaf_attrs *a);

#endif
