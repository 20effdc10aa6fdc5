/* Dropout of a dense tensor, which is also its gradient. */
#include "backends/simd/kernels/mask.h"

#define X(name, args) void SIMD(name)(const args *);
SIMD_KERNELS(X)
#undef X

void SIMD(dropout)(const simd_dropout *a)
{
    enum { PIECE = 32 * SIMD_MASK_GROUP };
    int threads = a->count < 1 << 14 ? 1 : a->threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < a->count; i += PIECE)
        simd_drop(&a->mask, i, a->count - i < PIECE ? a->count - i : PIECE, a->x + i, NULL,
                  a->y + i);
}
