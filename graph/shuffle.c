/* Reproducible random order. */
#include "graph/shuffle.h"

#include <Random123/philox.h>

uint64_t wgi_draw(uint64_t seed, uint64_t epoch, uint32_t stream, uint32_t i)
{
    philox4x32_ctr_t counter = {{i, stream, (uint32_t)epoch, (uint32_t)(epoch >> 32)}};
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t y = philox4x32(counter, key);
    return y.v[0] | (uint64_t)y.v[1] << 32;
}

void wgi_shuffle(uint32_t *item, uint32_t n, uint64_t seed, uint64_t epoch, uint32_t stream)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = (uint32_t)(wgi_draw(seed, epoch, stream, i) % i), other = item[k];
        item[k] = item[i - 1];
        item[i - 1] = other;
    }
}
