#include "backends/begin_with.h"

#include <string.h>

void wgi_begin_with(wg_call *c, int k)
{
    const char *from = c->in[k];
    char *to = c->out[0];
    size_t bytes = wg_value_bytes(c->node->out[0]), block = 1 << 16;
    int64_t blocks = from == to ? 0 : (int64_t)((bytes + block - 1) / block);
#pragma omp parallel for schedule(static) num_threads(c->threads) if (blocks > 1)
    for (int64_t i = 0; i < blocks; i++) {
        size_t at = (size_t)i * block;
        memcpy(to + at, from + at, bytes - at < block ? bytes - at : block);
    }
}
