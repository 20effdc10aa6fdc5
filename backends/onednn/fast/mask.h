/* wg_mask_group of backends/mask.h, sixteen blocks side by side: each statement is one vector instruction or two. */
#ifndef WG_BACKENDS_ONEDNN_FAST_MASK_H
#define WG_BACKENDS_ONEDNN_FAST_MASK_H

#include "backends/mask.h"

static inline void fast_mask_group(const wg_mask *m, uint64_t g, uint16_t *restrict number)
{
    uint32_t x0[16], x1[16], x2[16], x3[16], k0 = m->key[0], k1 = m->key[1];
    for (int b = 0; b < 16; b++) {
        uint64_t block = g * 16 + (uint64_t)b;
        x0[b] = (uint32_t)block;
        x1[b] = (uint32_t)(block >> 32);
        x2[b] = (uint32_t)m->step;
        x3[b] = (uint32_t)(m->step >> 32);
    }
    for (int round = 0; round < 10; round++) {
#pragma omp simd
        for (int b = 0; b < 16; b++) {
            uint64_t p = (uint64_t)x0[b] * 0xD2511F53u, q = (uint64_t)x2[b] * 0xCD9E8D57u;
            x0[b] = (uint32_t)(q >> 32) ^ x1[b] ^ k0;
            x1[b] = (uint32_t)q;
            x2[b] = (uint32_t)(p >> 32) ^ x3[b] ^ k1;
            x3[b] = (uint32_t)p;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
#pragma omp simd
    for (int b = 0; b < 16; b++) {
        number[b] = (uint16_t)x0[b];
        number[16 + b] = (uint16_t)(x0[b] >> 16);
        number[32 + b] = (uint16_t)x1[b];
        number[48 + b] = (uint16_t)(x1[b] >> 16);
        number[64 + b] = (uint16_t)x2[b];
        number[80 + b] = (uint16_t)(x2[b] >> 16);
        number[96 + b] = (uint16_t)x3[b];
        number[112 + b] = (uint16_t)(x3[b] >> 16);
    }
}

/* The numbers of the elements first ... first + count - 1; room has count + 256 places.  Returns where they start. */
static inline const uint16_t *fast_mask_range(const wg_mask *m, uint64_t first, uint64_t count,
                                              uint16_t *room)
{
    for (uint64_t g = first / 128, to = 0; g * 128 < first + count; g++, to += 128)
        fast_mask_group(m, g, room + to);
    return room + first % 128;
}

#endif
