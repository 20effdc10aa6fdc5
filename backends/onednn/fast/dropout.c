/* Dropout of a dense tensor, which is also its gradient. */
#include "backends/onednn/fast/mask.h"

#define X(name, args) void FAST(name)(const args *);
FAST_KERNELS(X)
#undef X

void FAST(dropout)(const fast_dropout *a)
{
    enum { PIECE = 32 * FAST_MASK_GROUP };
    int threads = a->count < 1 << 14 ? 1 : a->threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < a->count; i += PIECE)
        fast_drop(&a->mask, i, a->count - i < PIECE ? a->count - i : PIECE, a->x + i, NULL,
                  a->y + i);
}
