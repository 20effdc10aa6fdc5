/* The memory that reference kernels need beside operands and results, in wg_call.scratch. */
#ifndef WG_BACKENDS_CPU_SCRATCH_H
#define WG_BACKENDS_CPU_SCRATCH_H

#include "wengert/graph/op.h"

/* Bytes for the kernel of n; 0 for most. */
size_t wgi_cpu_scratch(const wg_node *n);

/* ctc_loss keeps one row of alpha for an example; its gradient one for each frame, the one before
 * the first, and beta. */
enum { CPU_CTC_LOSS_ROWS = 1 };
static inline int64_t cpu_ctc_grad_rows(const wg_value *log_probs)
{
    return log_probs->shape.dim[1] + 2;
}

/* 8-byte numbers for an example: the symbols of its 2 S + 1 states and `rows` of as many. */
static inline int64_t cpu_ctc_numbers(const wg_value *targets, int64_t rows)
{
    return (rows + 1) * (2 * targets->shape.dim[1] + 1);
}

/* 8-byte numbers for a matrix [m, n], of which k = min(m, n) and q = max(m, n):
 * qr: the reflections [n, m], the factor q [k, m], and [k] twice;
 * eigh: the matrix and its vectors, [n, n];
 * svd: the vectors of both sides, [k, q] and [k, k]. */
static inline int64_t cpu_qr_numbers(int64_t m, int64_t n)
{
    int64_t k = m < n ? m : n;
    return n * m + k * m + 2 * k;
}

static inline int64_t cpu_eigh_numbers(int64_t n)
{
    return 2 * n * n;
}

static inline int64_t cpu_svd_numbers(int64_t m, int64_t n)
{
    int64_t k = m < n ? m : n;
    return k * (m + n);
}

#endif
