/* Batches of matrices [..., rows, columns], for the kernels that factorise and solve. */
#ifndef WG_BACKENDS_BATCH_H
#define WG_BACKENDS_BATCH_H

#include "wengert/graph/op.h"

/* The row at which a matrix is found wrong: from 1, one without a pivot. */
enum {
    WGI_NOT_FINITE = 0,   /* before the first: some element is NaN or infinite */
    WGI_NOT_CONVERGED = 1 /* of eigh and svd, whose methods end at no row */
};

/* A fault is a number, matrix (n + 1) + row for n columns, so that the least is that of the first
 * matrix. */
#define WGI_NO_FAULT INT64_MAX

/* How many matrices s holds, and their rows and columns. */
typedef struct wgi_batch {
    int64_t count, rows, columns;
} wgi_batch;
wgi_batch wgi_batch_of(const wg_shape *s);

/* The matrix of operand `from` that belongs to matrix k of the result `to`: leading axes broadcast.
 * `axes` of `from` are not leading: 2 of a matrix, 1 of a permutation. */
int64_t wgi_batch_from(const wg_shape *from, int axes, const wg_shape *to, int64_t k);

/* True if all elements are finite.  f32 and f64 only. */
bool wgi_all_finite(const void *data, wg_dtype dtype, int64_t count);

/* Row `row` (see above) of a matrix of n columns is at fault: *first becomes that fault unless it
 * is an earlier one.  Several threads may note faults at once. */
void wgi_note_fault(int64_t *first, int64_t matrix, int64_t n, int64_t row);

/* Ends the run: says which matrix of operand 0 is at fault, where, and what that means for the op:
 * cholesky, lu, triangular_solve, qr, eigh, svd or matrix_exp.  No effect for WGI_NO_FAULT. */
void wgi_report_fault(wg_call *c, int64_t fault);

#endif
