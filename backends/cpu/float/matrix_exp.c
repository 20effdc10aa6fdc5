/* exp a = (exp(a / 2^s))^(2^s), where a / 2^s is so small that 16 terms of the series do (Higham,
 * Functions of Matrices, chapter 10).  Threads share out the matrices of a batch. */
#include "backends/batch.h"
#include "backends/cpu/scratch.h"
#include "backends/cpu/vectors.h"

enum { EACH = 4, DEGREE = EACH * EACH };

/* With a norm of 3/4, the term after the last is below 2^-55. */
#define MAX_NORM 0.75

/* The largest sum of magnitudes along a row */
static wide norm_of(const real *a, int64_t n)
{
    wide largest = 0;
    for (int64_t i = 0; i < n; i++) {
        wide sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += fabs((wide)a[i * n + j]);
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

/* y = a b + y */
static void multiply_add(wide *restrict y, const wide *a, const wide *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            cpu_add_scaled(y + i * n, a[i * n + k], b + k * n, n);
}

static void multiply(wide *restrict y, const wide *a, const wide *b, int64_t n)
{
    memset(y, 0, sizeof *y * (size_t)(n * n));
    multiply_add(y, a, b, n);
}

/* y = c[0] 1 + c[1] a + c[2] a^2 + c[3] a^3, where `power` holds a, a^2, a^3, ... */
static void combine(wide *y, const wide *power, const wide *c, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++)
        y[i] = c[1] * power[i] + c[2] * power[n * n + i] + c[3] * power[2 * n * n + i];
    for (int64_t i = 0; i < n; i++)
        y[i * n + i] += c[0];
}

/* The sum of a^i / i! up to DEGREE by Horner's rule in a^4 (Paterson and Stockmeyer): six products
 * in all.  Returns that of x and y which holds it. */
static wide *series(wide *power, wide *x, wide *y, int64_t n)
{
    wide c[DEGREE + 1] = {1};
    const wide *fourth = power + 3 * n * n;
    for (int i = 1; i <= DEGREE; i++)
        c[i] = c[i - 1] / i;
    for (int i = 1; i < EACH; i++)
        multiply(power + i * n * n, power, power + (i - 1) * n * n, n);
    combine(x, power, c + DEGREE - EACH, n);
    cpu_add_scaled(x, c[DEGREE], fourth, n * n);
    for (int i = DEGREE - 2 * EACH; i >= 0; i -= EACH) {
        combine(y, power, c + i, n);
        multiply_add(y, x, fourth, n);
        wide *was = x;
        x = y;
        y = was;
    }
    return x;
}

static void exponential(real *to, const real *a, wide *scratch, int64_t n)
{
    wide *power = scratch, *x = scratch + 4 * n * n, *y = scratch + 5 * n * n;
    int squarings;
    (void)frexp(norm_of(a, n) / MAX_NORM, &squarings);
    squarings = squarings > 0 ? squarings : 0;
    for (int64_t i = 0; i < n * n; i++)
        power[i] = ldexp((wide)a[i], -squarings);
    wide *sum = series(power, x, y, n), *other = sum == x ? y : x;
    for (int i = 0; i < squarings; i++) {
        multiply(other, sum, sum, n);
        wide *was = sum;
        sum = other;
        other = was;
    }
    for (int64_t i = 0; i < n * n; i++)
        to[i] = (real)sum[i];
}

void KERNEL(matrix_exp)(wg_call *c)
{
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t n = b.rows, fault = WGI_NO_FAULT;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, 20 * b.count * n * n * n))
    for (int64_t k = 0; k < b.count; k++) {
        const real *a = (const real *)c->in[0] + k * n * n;
        if (!wgi_all_finite(a, c->node->in[0]->dtype, n * n)) {
            wgi_note_fault(&fault, k, n, WGI_NOT_FINITE);
            continue;
        }
        exponential((real *)c->out[0] + k * n * n, a,
                    (wide *)c->scratch + k * cpu_matrix_exp_numbers(n), n);
    }
    wgi_report_fault(c, fault);
}
