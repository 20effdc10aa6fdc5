/* Random graphs for tests of plans: every kind of sharing that memory planning must survive. */
#ifndef WG_TESTS_RANDOM_GRAPH_H
#define WG_TESTS_RANDOM_GRAPH_H

#include "wengert/ops/ops.h"

#include <stdlib.h>

typedef struct random_graph {
    wg_graph *g;
    wg_value *input[3], *state[4];
    wg_value **value; /* all, of shapes [4,6], [6], [4,1], [24], ... */
    size_t count, capacity;
    uint64_t bits; /* xorshift */
} random_graph;

size_t rg_draw(random_graph *r, size_t n);

/* About n nodes; some values are outputs, the states are assigned.  Free with rg_free. */
random_graph rg_new(size_t n, uint64_t seed);

void rg_free(random_graph *r);

#endif
