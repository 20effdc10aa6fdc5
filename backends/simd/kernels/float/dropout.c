/* Dropout of a dense tensor, which is also its gradient. */
#include "backends/simd/kernels/mask.h"
#include "backends/simd/kernels/team.h"

enum { PIECE = 32 * SIMD_MASK_GROUP };

static void drop_piece(const void *args, int64_t piece)
{
    const simd_dropout *a = args;
    const real *x = a->x;
    real *y = a->y;
    int64_t i = piece * PIECE;
    simd_drop(&a->mask, i, a->count - i < PIECE ? a->count - i : PIECE, x + i, NULL, y + i);
}

void SIMD(dropout)(const simd_dropout *a)
{
    simd_tasks(a->count < 1 << 14 ? 1 : a->threads, (a->count + PIECE - 1) / PIECE, drop_piece, a);
}
