/* Cross-entropy of rows of logits, and its gradient. */
#include "backends/simd/kernels/row_loss.h"
#include "backends/simd/kernels/team.h"

static void one_row(const void *args, int64_t r)
{
    const simd_row_losses *a = args;
    int64_t n = a->classes, target = a->targets[r];
    const real *x = (const real *)a->x + r * n, on = (real)a->on, off = (real)a->off;
    real weight = (real)a->weights[r], loss = 0, *losses = a->losses;
    real *dx = a->dx ? (real *)a->dx + r * n : NULL;
    if (weight != 0 && dx) /* NaN too: it must show */
        loss = weight * loss_row(x, dx, true, n, target, on, off, weight);
    else if (weight != 0)
        loss = weight * loss_row(x, NULL, false, n, target, on, off, 0);
    else if (dx)
        memset(dx, 0, (size_t)n * sizeof *dx);
    if (losses)
        losses[r] = loss;
}

void SIMD(row_losses)(const simd_row_losses *a)
{
    simd_tasks(a->threads, a->rows, one_row, a);
}
