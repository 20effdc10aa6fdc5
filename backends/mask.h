/* The dropout mask, defined once for all backends: a pure function of (seed, step, key, element),
 * so that it is recomputed rather than stored, and is the same on every backend at any number of
 * threads.
 *
 * Philox4x32 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") turns a counter
 * into four words, that is eight numbers of 16 bits, lower half first.  Elements take them in
 * order:
 *
 *     element i:  block = i / 8, number = i % 8
 *     counter = {block, block >> 32, step, step >> 32},  key = both halves of a mix of seed and key
 *
 * 7 rounds instead of the customary 10: the fewest with which it passes all of BigCrush (same
 * paper, table 2), and a mask is drawn again for each pass over the activations.
 *
 * An element is kept, and multiplied by 1 / (1 - p), if its number is below keep = round((1 - p)
 * 65536): p is rounded to 16 bits, a relative error of the expectation below 2^-17 / (1 - p). */
#ifndef WG_BACKENDS_MASK_H
#define WG_BACKENDS_MASK_H

#include "graph/mix.h"

#include <math.h>
#include <stdint.h>

#include <Random123/philox.h>

enum { WGI_MASK_ROUNDS = 7, WGI_MASK_NUMBERS = 8 /* of a block */ };

typedef struct wgi_mask {
    uint32_t key[2];
    uint64_t step;
    uint32_t keep; /* of 65536 */
    double scale;
} wgi_mask;

static inline wgi_mask wgi_mask_of(uint64_t seed, uint64_t step, uint64_t key, double p)
{
    /* of seed and key together: close seeds and keys must not give close Philox keys */
    uint64_t z = wgi_mix64(seed + key * WGI_GOLDEN);
    long keep = lround((1 - p) * 65536);
    wgi_mask m = {
        {(uint32_t)z, (uint32_t)(z >> 32)}, step, (uint32_t)(keep < 1 ? 1 : keep), 1 / (1 - p)};
    return m;
}

/* The numbers of a block: those of the elements 8 block ... 8 block + 7. */
static inline void wgi_mask_block(const wgi_mask *m, uint64_t block,
                                  uint16_t number[WGI_MASK_NUMBERS])
{
    philox4x32_ctr_t counter = {
        {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)m->step, (uint32_t)(m->step >> 32)}};
    philox4x32_key_t key = {{m->key[0], m->key[1]}};
    philox4x32_ctr_t y = philox4x32_R(WGI_MASK_ROUNDS, counter, key);
    for (int i = 0; i < WGI_MASK_NUMBERS; i++)
        number[i] = (uint16_t)(y.v[i / 2] >> (16 * (i % 2)));
}

#endif
