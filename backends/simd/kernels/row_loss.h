/* The cross-entropy of a row of logits, and its gradient. */
#ifndef WG_BACKENDS_SIMD_KERNELS_ROW_LOSS_H
#define WG_BACKENDS_SIMD_KERNELS_ROW_LOSS_H

#include "backends/simd/kernels/functions.h"
#include "backends/simd/kernels/tail.h"
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

/* A row on the way to its loss; exponentials of its end are written last, since g may be x. */
typedef struct row_sums {
    real top, sum, total;
    real tail[SIMD_TAIL];
} row_sums;

/* The largest; with the end of the row, unless that is a whole vector. */
SIMD_INLINE void find_top(const real *x, int64_t n, row_sums *s)
{
    int64_t whole = n / SIMD_TAIL * SIMD_TAIL;
    real top = -INFINITY, last = -INFINITY;
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < whole; i++)
        top = x[i] > top ? x[i] : top;
    if (whole < n) {
        simd_tail_of(x, n, -INFINITY, s->tail);
#pragma omp simd reduction(max : last)
        for (int l = 0; l < SIMD_TAIL; l++)
            last = s->tail[l] > last ? s->tail[l] : last;
    }
    top = last > top ? last : top;
    s->top = top == -INFINITY ? 0 : top; /* as in softmax: no class is probable */
}

/* Sums of exp(x - top), which g becomes but for its end if it is `wanted`, and of x - top. */
SIMD_INLINE void add_up(const real *x, real *g, bool wanted, int64_t n, row_sums *s)
{
    int64_t whole = n / SIMD_TAIL * SIMD_TAIL;
    real top = s->top, sum = 0, total = 0, last_sum = 0, last_total = 0;
#pragma omp simd reduction(+ : sum, total)
    for (int64_t i = 0; i < whole; i++) {
        real shifted = x[i] - top, e = simd_exp(shifted);
        sum += e;
        total += shifted;
        if (wanted)
            g[i] = e;
    }
    if (whole < n) {
        const int before = SIMD_TAIL - (int)(n - whole);
#pragma omp simd reduction(+ : last_sum, last_total)
        for (int l = 0; l < SIMD_TAIL; l++) {
            real shifted = s->tail[l] - top, e = simd_exp(shifted);
            last_sum += e;
            last_total += l < before ? 0 : shifted;
            s->tail[l] = e;
        }
    }
    s->sum = sum + last_sum;
    s->total = total + last_total;
}

/* The loss of a row of n logits x; g, which may be x, becomes its gradient times
 * `scale`, unless it is not `wanted`, a constant where this is called.  `on` is q at the target,
 * `off` elsewhere; they sum to 1:  H = lse - on x_t - off (sum x - x_t) */
SIMD_INLINE real loss_row(const real *x, real *g, bool wanted, int64_t n, int64_t target, real on,
                          real off, real scale)
{
    row_sums s;
    find_top(x, n, &s);
    int64_t whole = n / SIMD_TAIL * SIMD_TAIL;
    real at_target = x[target] - s.top, others = 0;
    if (at_target == -(real)INFINITY && off != 0) /* `total` would lose them; g may be x */
        others = sum_of_others(x, n, target, s.top);
    add_up(x, g, wanted, n, &s);
    real log_sum = s.sum == 0 ? 0 : log(s.sum), inverse = s.sum == 0 ? 0 : 1 / s.sum;
    if (wanted) {
        if (whole < n)
            simd_put_tail(s.tail, g, n);
        real p = g[target] * inverse;
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            g[i] = scale * (g[i] * inverse - off);
        g[target] = scale * (p - on);
    }
    if (at_target == -(real)INFINITY)
        return log_sum - (on != 0 ? on * at_target : 0) - off * others;
    return log_sum - (on - off) * at_target - (off != 0 ? off * s.total : 0);
}

#endif
