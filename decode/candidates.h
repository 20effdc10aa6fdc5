/* The k most probable next tokens of rows: as part of a graph, and read from its plan. */
#ifndef WG_PRIVATE_DECODE_CANDIDATES_H
#define WG_PRIVATE_DECODE_CANDIDATES_H

#include "decode/beam.h"
#include "decode/context.h"

/* Of states [R, ..., d]: outputs "values", log p or logits, and "tokens", [R, ..., k] each,
 * descending. */
void wgi_candidates_build(wg_transformer *m, wg_value *states, int64_t k, bool logits,
                          wg_value **values, wg_value **tokens);

/* Scores as doubles, of which there are `capacity`. */
typedef struct wgi_scores {
    double *at;
    size_t capacity;
} wgi_scores;

/* Converts the first `count` of `values`, numbers of the model's dtype; WG_ENOMEM. */
wg_status wgi_candidates_read(wgi_decode_context *c, wgi_scores *scores, const void *values,
                              const int64_t *tokens, size_t count, wgi_candidates *out);

#endif
