/* The cross-entropy of a row of logits, and its gradient. */
#ifndef WG_BACKENDS_SIMD_KERNELS_ROW_LOSS_H
#define WG_BACKENDS_SIMD_KERNELS_ROW_LOSS_H

#include "backends/simd/kernels/functions.h"
#include "backends/simd/kernels/unrolled.h"

#include <tgmath.h>

/* The sum of x - top but for the target's */
static inline real sum_of_others(const real *x, int64_t classes, int64_t target, real top)
{
    real sum = 0;
    for (int64_t i = 0; i < classes; i++)
        sum += i == target ? 0 : x[i] - top;
    return sum;
}

/* The loss of a row of logits x; g, which may be x, becomes its gradient times `scale`, unless it
 * is not `wanted`.  `on` is q at the target, `off` elsewhere; they sum to 1:
 * H = lse - on x_t - off (sum x - x_t).  Of the n numbers the first `classes` count; others are
 * -inf. */
SIMD_INLINE real filled_loss(const real *x, real *g, bool wanted, int64_t n, int64_t classes,
                             int64_t target, real on, real off, real scale)
{
    real top = -INFINITY, sum = 0, total = 0;
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; i++)
        top = x[i] > top ? x[i] : top;
    top = top == -INFINITY ? 0 : top; /* as in softmax: no class is probable */
    real at_target = x[target] - top, others = 0;
    if (at_target == -(real)INFINITY && off != 0) /* `total` would lose them; g may be x */
        others = sum_of_others(x, classes, target, top);
#pragma omp simd reduction(+ : sum, total)
    for (int64_t i = 0; i < n; i++) {
        real shifted = x[i] - top, e = simd_exp(shifted);
        sum += e;
        total += classes == n || i < classes ? shifted : 0;
        if (wanted)
            g[i] = e;
    }
    real log_sum = sum == 0 ? 0 : log(sum), inverse = sum == 0 ? 0 : 1 / sum;
    if (wanted) {
        real p = g[target] * inverse;
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            g[i] = scale * (g[i] * inverse - off);
        g[target] = scale * (p - on);
    }
    if (at_target == -(real)INFINITY)
        return log_sum - (on != 0 ? on * at_target : 0) - off * others;
    return log_sum - (on - off) * at_target - (off != 0 ? off * total : 0);
}

/* Fewer than a vector are filled up: number by number they would take three times as long. */
SIMD_INLINE real loss_row(const real *x, real *g, bool wanted, int64_t n, int64_t target, real on,
                          real off, real scale)
{
    enum { VECTOR = 16 };
    real filled[VECTOR];
    if (n >= VECTOR)
        return filled_loss(x, g, wanted, n, n, target, on, off, scale);
    for (int64_t i = 0; i < VECTOR; i++)
        filled[i] = i < n ? x[i] : -INFINITY;
    real loss = filled_loss(filled, filled, wanted, VECTOR, n, target, on, off, scale);
    if (wanted)
        memcpy(g, filled, (size_t)n * sizeof *g);
    return loss;
}

#endif
