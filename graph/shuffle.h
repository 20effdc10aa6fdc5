/* Reproducible random order, by Philox. */
#ifndef WG_PRIVATE_GRAPH_SHUFFLE_H
#define WG_PRIVATE_GRAPH_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* 64 random bits: a pure function of its arguments. */
uint64_t wgi_draw(uint64_t seed, uint64_t epoch, uint32_t stream, uint32_t i);

/* Puts n < 2^32 items into an order that (seed, epoch, stream) gives (Fisher and Yates).  The
 * remainder's bias is below n / 2^64. */
void wgi_shuffle(uint32_t *item, uint32_t n, uint64_t seed, uint64_t epoch, uint32_t stream);

#endif
