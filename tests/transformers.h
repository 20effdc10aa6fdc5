/* Small Transformers in tests: graphs with a batch of random sentences. */
#ifndef WG_TESTS_TRANSFORMERS_H
#define WG_TESTS_TRANSFORMERS_H

#include "models/internal.h"
#include "tests/plans.h"
#include "wengert.h"

enum { TRANSFORMER_MAX_PARAMETERS = 512 };

typedef struct transformer {
    wg_graph *g;
    wg_transformer_config config;
    wg_transformer_inputs in;
    wg_value *logits, *loss;
} transformer;

/* The whole model with logits and loss as outputs; the caller frees t.g. */
transformer transformer_of(const wg_transformer_config *c, int64_t rows, int64_t source,
                           int64_t target, bool training);

/* A named configuration with a vocabulary. */
wg_transformer_config transformer_sized(const char *name, int64_t vocabulary);

uint32_t transformer_random(uint64_t *seed);

/* Random ids everywhere, lengths 1..S, of which the first is S; the last position of the last row
 * is no target. */
void transformer_fill(wg_plan *p, const transformer *t, uint64_t seed);

/* The gradient of the loss for all parameters; returns how many there are. */
size_t transformer_gradients(const transformer *t, wg_value **w, wg_value **dw);

/* A plan of all outputs. */
wg_plan *transformer_plan(const transformer *t, wg_backend_list list, wg_store *store, int threads);

/* Copies what a run makes of the logits. */
void transformer_logits(wg_plan *p, const transformer *t, float *logits);

/* How many of the floats [from, to) of a and b have other bits. */
static inline int64_t different(const float *a, const float *b, int64_t from, int64_t to)
{
    int64_t n = 0;
    for (int64_t i = from; i < to; i++)
        n += memcmp(&a[i], &b[i], sizeof *a) != 0;
    return n;
}

#endif
