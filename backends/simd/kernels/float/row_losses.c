/* Cross-entropy of rows of logits, and its gradient. */
#include "backends/simd/kernels/row_loss.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/transpose.h"

#include <tgmath.h>

/* Rows of few classes are turned, TOGETHER of them: each step is then one of many columns.  From 64
 * classes on, the gradient takes as long either way. */
enum { SHORT = 60, TOGETHER = 64 };

static bool is_short(int64_t classes)
{
    return classes <= SHORT;
}

/* ---- a row ----------------------------------------------------------------------------------- */

static void one_row(const simd_row_losses *a, int64_t r)
{
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

/* ---- short rows ------------------------------------------------------------------------------ */

/* Rows `first` to `first + n`, and a number of each of them: x is [classes, TOGETHER], logits and
 * then exponentials.  Aligned, so that no loop has scalars before its vectors. */
typedef struct columns {
    _Alignas(64) real x[SHORT * TOGETHER];
    real top[TOGETHER], sum[TOGETHER], total[TOGETHER], log_sum[TOGETHER];
    real weight[TOGETHER], at_target[TOGETHER];
    int64_t target[TOGETHER]; /* of rows that count, else 0 */
    const simd_row_losses *a;
    int64_t first, n;
} columns;

static void turn_in(columns *c)
{
    const simd_row_losses *a = c->a;
    simd_turn_in((const real *)a->x + c->first * a->classes, c->n, a->classes, c->x, TOGETHER);
    for (int64_t j = 0; j < TOGETHER; j++) {
        c->weight[j] = j < c->n ? (real)a->weights[c->first + j] : 0;
        c->target[j] = c->weight[j] != 0 ? a->targets[c->first + j] : 0;
    }
}

/* exp(x - top), their sum and its logarithm, and the sum of x - top; columns beyond n are zeros */
static void sum_columns(columns *c)
{
    int64_t classes = c->a->classes;
    real *restrict top = c->top, *restrict sum = c->sum, *restrict total = c->total;
    for (int64_t j = 0; j < TOGETHER; j++) {
        top[j] = -INFINITY;
        sum[j] = total[j] = 0;
    }
    for (int64_t k = 0; k < classes; k++) {
        const real *restrict x = c->x + k * TOGETHER;
#pragma omp simd
        for (int64_t j = 0; j < TOGETHER; j++)
            top[j] = x[j] > top[j] ? x[j] : top[j];
    }
#pragma omp simd
    for (int64_t j = 0; j < TOGETHER; j++)
        top[j] = top[j] == -(real)INFINITY ? 0 : top[j]; /* as in softmax: none is probable */
    for (int64_t j = 0; j < c->n; j++)
        c->at_target[j] = c->x[c->target[j] * TOGETHER + j] - top[j];
    for (int64_t k = 0; k < classes; k++) {
        real *restrict x = c->x + k * TOGETHER;
#pragma omp simd
        for (int64_t j = 0; j < TOGETHER; j++) {
            real shifted = x[j] - top[j], e = simd_exp(shifted);
            sum[j] += e;
            total[j] += shifted;
            x[j] = e;
        }
    }
#pragma omp simd
    for (int64_t j = 0; j < TOGETHER; j++)
        c->log_sum[j] = sum[j] == 0 ? 0 : simd_log(sum[j]);
}

/* As loss_row has it */
static real loss_of(const columns *c, int64_t j)
{
    const simd_row_losses *a = c->a;
    real on = (real)a->on, off = (real)a->off, at = c->at_target[j], others = 0;
    if (at == -(real)INFINITY && off != 0)
        others = sum_of_others((const real *)a->x + (c->first + j) * a->classes, a->classes,
                               c->target[j], c->top[j]);
    if (at == -(real)INFINITY)
        return c->log_sum[j] - (on != 0 ? on * at : 0) - off * others;
    return c->log_sum[j] - (on - off) * at - (off != 0 ? off * c->total[j] : 0);
}

/* dx may be x, which nobody reads any more. */
static void turn_gradient_out(columns *c)
{
    const simd_row_losses *a = c->a;
    real on = (real)a->on, off = (real)a->off, of_target[TOGETHER];
    real *restrict scale = c->weight, *restrict inverse = c->sum;
#pragma omp simd
    for (int64_t j = 0; j < TOGETHER; j++)
        inverse[j] = inverse[j] == 0 ? 0 : 1 / inverse[j];
    for (int64_t j = 0; j < c->n; j++)
        of_target[j] = scale[j] * (c->x[c->target[j] * TOGETHER + j] * inverse[j] - on);
    for (int64_t k = 0; k < a->classes; k++) {
        real *restrict g = c->x + k * TOGETHER;
#pragma omp simd
        for (int64_t j = 0; j < TOGETHER; j++)
            g[j] = scale[j] * (g[j] * inverse[j] - off);
    }
    real *dx = (real *)a->dx + c->first * a->classes;
    simd_turn_out(c->x, TOGETHER, c->n, a->classes, dx);
    for (int64_t j = 0; j < c->n; j++, dx += a->classes)
        if (scale[j] != 0) /* NaN too: it must show */
            dx[c->target[j]] = of_target[j];
        else
            memset(dx, 0, (size_t)a->classes * sizeof *dx);
}

static void some_rows(const simd_row_losses *a, int64_t first)
{
    columns c; /* its numbers are written before they are read */
    c.a = a;
    c.first = first;
    c.n = simd_smaller(TOGETHER, a->rows - first);
    turn_in(&c);
    sum_columns(&c);
    for (int64_t j = 0; a->losses && j < c.n; j++)
        ((real *)a->losses)[first + j] = c.weight[j] != 0 ? c.weight[j] * loss_of(&c, j) : 0;
    if (a->dx)
        turn_gradient_out(&c);
}

/* ---- shared out ------------------------------------------------------------------------------ */

static void one_task(const void *args, int64_t i)
{
    const simd_row_losses *a = args;
    int64_t first = i * TOGETHER, end = simd_smaller(first + TOGETHER, a->rows);
    if (is_short(a->classes) && a->rows > 1) {
        some_rows(a, first);
        return;
    }
    for (int64_t r = first; r < end; r++)
        one_row(a, r);
}

void SIMD(row_losses)(const simd_row_losses *a)
{
    simd_tasks(a->threads, simd_divide_up(a->rows, TOGETHER), one_task, a);
}
