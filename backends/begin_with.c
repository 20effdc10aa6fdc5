#include "backends/begin_with.h"

#include <string.h>

enum { BLOCK = 1 << 16 };

void wgi_begin_with(wg_call *c, int k)
{
    const char *from = c->in[k];
    char *to = c->out[0];
    size_t bytes = from == to ? 0 : wg_value_bytes(c->node->out[0]);
    int64_t blocks = (int64_t)((bytes + BLOCK - 1) / BLOCK);
    if (blocks <= 1 || c->threads <= 1) { /* a region for one thread would take longer */
        if (bytes)
            memcpy(to, from, bytes);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t i = 0; i < blocks; i++) {
        size_t at = (size_t)i * BLOCK;
        memcpy(to + at, from + at, bytes - at < BLOCK ? bytes - at : BLOCK);
    }
}
