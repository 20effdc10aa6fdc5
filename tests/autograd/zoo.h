/* Models on which the gradient check has to be right: those of the examples, and small versions of
 * what people write, with sums over large batches, constants added to a loss, kinks, steep and flat
 * places, and stop_gradient. */
#ifndef WG_TESTS_ZOO_H
#define WG_TESTS_ZOO_H

#include "wengert/autograd/gradcheck.h"

/* A model in a graph of its own, with the ranges of its integers. */
typedef struct zoo {
    wg_graph *g;
    wg_gradcheck_leaf leaf[16];
    size_t n_leaves;
} zoo;

/* The i-th model of the zoo, then the built-in models; false past the end. */
bool zoo_build(zoo *z, size_t i, const char **name);

/* Into a new graph of z: a variational autoencoder, and x stop_gradient(x^2). */
void zoo_vae(zoo *z);
void zoo_stopped(zoo *z);

#endif
