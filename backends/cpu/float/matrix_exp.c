/* matrix_exp.  Threads share out the matrices of a batch. */
#include "backends/matrix_exp.h"
#include "backends/batch.h"
#include "backends/cpu/vectors.h"

static void multiply_add(const void *context, double *y, const double *a, const double *b,
                         int64_t n)
{
    (void)context;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            cpu_add_scaled(y + i * n, a[i * n + k], b + k * n, n);
}

static void exponential(real *to, const real *a, wide *memory, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++)
        memory[i] = a[i];
    const wide *y = wgi_matrix_exp(&(const wgi_exponential){n, memory, multiply_add, NULL});
    for (int64_t i = 0; i < n * n; i++)
        to[i] = (real)y[i];
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
                    (wide *)c->scratch + k * wgi_matrix_exp_numbers(n), n);
    }
    wgi_report_fault(c, fault);
}
