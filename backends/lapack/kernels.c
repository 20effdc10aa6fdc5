/* Kernels by LAPACKE and CBLAS.  Compiled once for each element type, with REAL, its SUFFIX and the
 * LETTER that LAPACK has for it: float, f32, s; double, f64, d.
 *
 * LAPACK's matrices are stored by columns, so it sees each of ours transposed.  Its functions for
 * matrices stored by rows would copy them into memory that they allocate; those used here
 * (LAPACKE_..._work, for columns) allocate nothing.
 *
 * One thread at a time is within LAPACK or BLAS, in the whole process (`critical`): callers of a
 * serial OpenBLAS share its buffers, and two of them at once get wrong numbers.  What surrounds the
 * calls is shared out. */
#include "backends/batch.h"
#include "backends/lapack/kernels.h"
#include "backends/matrix_exp.h"
#include "backends/waiting.h"
#include "wengert/ops/factor.h"

#include <math.h>
#include <string.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define KERNEL(name) PASTE(wgi_lapack_##name##_, SUFFIX)
#define CALL(calls, name) (calls)->PASTE(LETTER, name)
typedef REAL real;

#include "backends/signs.h"

enum {
    TILE = 32,    /* rows and columns of a matrix that are moved together: they stay in the cache */
    COLUMNS = 128 /* of right-hand sides that are solved together */
};

/* How many threads a batch is worth, of so many operations. */
static int threads_for(const wg_call *c, double operations)
{
    return operations < 1 << 17 ? 1 : c->threads;
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- BLAS's own threads ---------------------------------------------------------------------- */

/* A call of BLAS, within the critical section.  OpenBLAS's threads wait for each other in a loop:
 * where cores are missing, two of them take ten times as long as one, and small matrices gain
 * nothing from them anywhere.  Returns what end_call is to restore. */
static int begin_call(const wg_call *c, double operations)
{
    const double large = 1 << 27;
    const wgi_lapack_calls *blas = c->state;
    if (!blas->set_threads)
        return 0;
    int before = blas->threads();
    bool alone = operations < large || wgi_threads_lack_cores();
    blas->set_threads(alone ? 1 : (int)min(before, c->threads));
    return before;
}

static void end_call(const wg_call *c, int before)
{
    const wgi_lapack_calls *blas = c->state;
    if (before)
        blas->set_threads(before);
}

/* Of a matrix of n rows, and `width` right-hand sides or n */
static double operations_of(int64_t n, int64_t width)
{
    return (double)n * (double)n * (double)width;
}

/* ---- cholesky -------------------------------------------------------------------------------- */

/* One triangle of (a + a') / 2, and zeros in the other. */
static void symmetric_triangle(real *y, const real *a, int64_t n, bool upper)
{
    for (int64_t top = 0; top < n; top += TILE)
        for (int64_t left = 0; left <= top; left += TILE)
            for (int64_t i = top; i < min(top + TILE, n); i++)
                for (int64_t j = left; j < min(left + TILE, i + 1); j++) {
                    real mean = a[i * n + j] / 2 + a[j * n + i] / 2;
                    y[i * n + j] = 0;
                    y[j * n + i] = 0;
                    y[upper ? j * n + i : i * n + j] = mean;
                }
}

static lapack_int factorise(const wg_call *c, real *y, int64_t n, bool upper)
{
    const wgi_lapack_calls *calls = c->state;
    lapack_int row;
#pragma omp critical(wgi_blas)
    {
        int before = begin_call(c, operations_of(n, n));
        row = CALL(calls, potrf)(LAPACK_COL_MAJOR, upper ? 'L' : 'U', (lapack_int)n, y,
                                 (lapack_int)(n ? n : 1));
        end_call(c, before);
    }
    return row;
}

void KERNEL(cholesky)(wg_call *c)
{
    const wg_cholesky_attrs *t = c->node->attrs;
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t n = b.rows, fault = WGI_NO_FAULT;
    bool upper = t->triangle == WG_UPPER;
    double operations = (double)b.count * operations_of(n, n);
#pragma omp parallel for schedule(static) num_threads(threads_for(c, operations))
    for (int64_t k = 0; k < b.count; k++) {
        const real *a = (const real *)c->in[0] + k * n * n;
        real *y = (real *)c->out[0] + k * n * n;
        bool finite = wgi_all_finite(a, c->node->in[0]->dtype, n * n);
        symmetric_triangle(y, a, n, upper);
        lapack_int row = finite ? factorise(c, y, n, upper) : WGI_NOT_FINITE;
        if (!finite || row > 0)
            wgi_note_fault(&fault, k, n, row);
    }
    wgi_report_fault(c, fault);
}

/* ---- lu -------------------------------------------------------------------------------------- */

/* y = a' */
static void transpose(real *restrict y, const real *restrict a, int64_t n)
{
    for (int64_t top = 0; top < n; top += TILE)
        for (int64_t left = 0; left < n; left += TILE)
            for (int64_t i = top; i < min(top + TILE, n); i++)
                for (int64_t j = left; j < min(left + TILE, n); j++)
                    y[i * n + j] = a[j * n + i];
}

/* y = y' */
static void transpose_in_place(real *y, int64_t n)
{
    for (int64_t top = 0; top < n; top += TILE)
        for (int64_t left = 0; left <= top; left += TILE)
            for (int64_t i = top; i < min(top + TILE, n); i++)
                for (int64_t j = left; j < min(left + TILE, i); j++) {
                    real was = y[i * n + j];
                    y[i * n + j] = y[j * n + i];
                    y[j * n + i] = was;
                }
}

/* LAPACK says which row, from 1, each row was exchanged with, in turn. */
static real permutation(int64_t *p, const lapack_int *exchanged, int64_t n)
{
    real sign = 1;
    for (int64_t i = 0; i < n; i++)
        p[i] = i;
    for (int64_t i = 0; i < n; i++) {
        int64_t other = exchanged[i] - 1, was = p[i];
        p[i] = p[other];
        p[other] = was;
        sign = other == i ? sign : -sign;
    }
    return sign;
}

/* Stored by columns, the transpose of a is a; so rows are exchanged, as for the reference. */
void KERNEL(lu)(wg_call *c)
{
    const wgi_lapack_calls *calls = c->state;
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t n = b.rows, fault = WGI_NO_FAULT;
    double operations = 2 * (double)b.count * operations_of(n, n);
#pragma omp parallel for schedule(static) num_threads(threads_for(c, operations))
    for (int64_t k = 0; k < b.count; k++) {
        const real *a = (const real *)c->in[0] + k * n * n;
        real *y = (real *)c->out[0] + k * n * n;
        lapack_int *exchanged = (lapack_int *)c->scratch + k * n, size = (lapack_int)n;
        if (!wgi_all_finite(a, c->node->in[0]->dtype, n * n)) {
            wgi_note_fault(&fault, k, n, WGI_NOT_FINITE);
            continue;
        }
        transpose(y, a, n);
        lapack_int row;
#pragma omp critical(wgi_blas)
        {
            int before = begin_call(c, operations_of(n, n));
            row = CALL(calls, getrf)(LAPACK_COL_MAJOR, size, size, y, size ? size : 1, exchanged);
            end_call(c, before);
        }
        transpose_in_place(y, n);
        ((real *)c->out[2])[k] = permutation((int64_t *)c->out[1] + k * n, exchanged, n);
        if (row > 0)
            wgi_note_fault(&fault, k, n, row);
    }
    wgi_report_fault(c, fault);
}

/* ---- triangular_solve ------------------------------------------------------------------------ */

/* trsm does not look for zeros. */
static int64_t zero_on_diagonal(const wg_call *c, wgi_batch m)
{
    const real *a = c->in[0];
    int64_t fault = WGI_NO_FAULT, count = m.count * m.rows;
    for (int64_t row = 0; row < count; row++)
        if (a[row * m.columns + row % m.rows] == 0)
            wgi_note_fault(&fault, row / m.rows, m.rows, row % m.rows + 1);
    return fault;
}

/* Columns of x, `stride` apart, which hold those of b. */
static void solve_columns(const wg_call *c, const real *a, int64_t n, real *x, int64_t width,
                          int64_t stride)
{
    const wgi_lapack_calls *calls = c->state;
    const wg_triangular_solve_attrs *t = c->node->attrs;
#pragma omp critical(wgi_blas)
    {
        int before = begin_call(c, operations_of(n, width));
        CALL(calls, trsm)
        (CblasRowMajor, CblasLeft, t->triangle == WG_UPPER ? CblasUpper : CblasLower,
         t->transpose ? CblasTrans : CblasNoTrans, t->unit_diagonal ? CblasUnit : CblasNonUnit,
         (int)n, (int)width, 1, a, (int)n, x, (int)stride);
        end_call(c, before);
    }
}

void KERNEL(triangular_solve)(wg_call *c)
{
    const wg_triangular_solve_attrs *t = c->node->attrs;
    const wg_shape *as = &c->node->in[0]->shape, *bs = &c->node->in[1]->shape;
    const wg_shape *xs = &c->node->out[0]->shape;
    wgi_batch m = wgi_batch_of(xs);
    int64_t n = m.rows, blocks = (m.columns + COLUMNS - 1) / COLUMNS;
    int64_t fault = t->unit_diagonal ? WGI_NO_FAULT : zero_on_diagonal(c, wgi_batch_of(as));
    double operations = (double)m.count * operations_of(n, m.columns);
    if (fault != WGI_NO_FAULT) {
        wgi_report_fault(c, fault);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(threads_for(c, operations))
    for (int64_t task = 0; task < m.count * blocks; task++) {
        int64_t k = task / blocks, first = task % blocks * COLUMNS;
        int64_t width = min(COLUMNS, m.columns - first);
        const real *a = (const real *)c->in[0] + wgi_batch_from(as, 2, xs, k) * n * n;
        const real *b = (const real *)c->in[1] + wgi_batch_from(bs, 2, xs, k) * n * m.columns;
        real *x = (real *)c->out[0] + k * n * m.columns;
        for (int64_t i = 0; i < n && x != b; i++)
            memcpy(x + i * m.columns + first, b + i * m.columns + first, sizeof *x * (size_t)width);
        solve_columns(c, a, n, x + first, width, m.columns);
    }
}

/* ---- qr -------------------------------------------------------------------------------------- */

/* By columns, a [m, n] is its transpose, which is l p for l = r' and p = q': the same memory. */
typedef struct lq {
    lapack_int m, n, k;
    real *q;    /* [m, k] */
    real *r;    /* [k, n] */
    real *tau;  /* [k] */
    real *work; /* behind it */
    lapack_int work_size;
} lq;

/* The power of two by which numbers up to the largest of `count` become less than 2, and that one
 * at least 1; 1 of zeros.  Reciprocals of numbers close to the largest float are subnormal, and
 * count as 0. */
static real unit_of(const real *a, int64_t count)
{
    double largest = 0;
    int exponent = 1;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)a[i]));
    if (largest > 0)
        (void)frexp(largest, &exponent);
    return (real)ldexp(1, exponent - 1);
}

/* q and r hold what is below: the larger of them has room for all of a.  Of r only elements on and
 * above the diagonal are l. */
static void factorise_lq(const wg_call *c, const lq *f)
{
    const wgi_lapack_calls *calls = c->state;
    real *a = f->n > f->m ? f->r : f->q;
    CALL(calls, gelqf)(LAPACK_COL_MAJOR, f->n, f->m, a, f->n, f->tau, f->work, f->work_size);
    for (int64_t i = 0; i < f->k; i++)
        for (int64_t j = 0; j < f->n; j++) {
            if (a == f->q)
                f->r[i * f->n + j] = a[i * f->n + j];
            else if (j < f->k)
                f->q[i * f->k + j] = a[i * f->n + j];
            f->r[i * f->n + j] = j < i ? 0 : f->r[i * f->n + j];
        }
    CALL(calls, orglq)
    (LAPACK_COL_MAJOR, f->k, f->m, f->k, f->q, f->k, f->tau, f->work, f->work_size);
}

/* Rows of r are multiplied by `unit`.  Row i, and column i of q, change their signs where the
 * diagonal of r is negative. */
static void finish_qr(const lq *f, real unit)
{
    for (int64_t i = 0; i < f->k; i++) {
        const bool negative = f->r[i * f->n + i] < 0;
        for (int64_t j = i; j < f->n; j++)
            f->r[i * f->n + j] *= negative ? -unit : unit;
        for (int64_t j = 0; j < f->m && negative; j++)
            f->q[j * f->k + i] = -f->q[j * f->k + i];
    }
}

void KERNEL(qr)(wg_call *c)
{
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t m = b.rows, n = b.columns, k = min(m, n), fault = WGI_NO_FAULT;
    lq f = {.m = (lapack_int)m, .n = (lapack_int)n, .k = (lapack_int)k, .tau = c->scratch};
    f.work = f.tau + k;
    f.work_size = (lapack_int)(wgi_lapack_qr_work(m, n).reals - k);
    for (int64_t at = 0; at < b.count; at++) {
        const real *a = (const real *)c->in[0] + at * m * n;
        f.q = (real *)c->out[0] + at * m * k;
        f.r = (real *)c->out[1] + at * k * n;
        if (!wgi_all_finite(a, c->node->in[0]->dtype, m * n)) {
            wgi_note_fault(&fault, at, n, WGI_NOT_FINITE);
            continue;
        }
        const real unit = unit_of(a, m * n);
        for (int64_t i = 0; i < m * n; i++)
            (n > m ? f.r : f.q)[i] = a[i] / unit;
#pragma omp critical(wgi_blas)
        {
            int before = begin_call(c, operations_of(k, m + n));
            factorise_lq(c, &f);
            end_call(c, before);
        }
        finish_qr(&f, unit);
    }
    wgi_report_fault(c, fault);
}

/* ---- eigh ------------------------------------------------------------------------------------ */

/* By columns, the vectors are the rows of v. */
void KERNEL(eigh)(wg_call *c)
{
    const wgi_lapack_calls *calls = c->state;
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t n = b.rows, fault = WGI_NO_FAULT;
    wgi_lapack_work need = wgi_lapack_eigh_work(n);
    real *work = c->scratch;
    for (int64_t k = 0; k < b.count; k++) {
        const real *a = (const real *)c->in[0] + k * n * n;
        real *w = (real *)c->out[0] + k * n, *v = (real *)c->out[1] + k * n * n;
        if (!wgi_all_finite(a, c->node->in[0]->dtype, n * n)) {
            wgi_note_fault(&fault, k, n, WGI_NOT_FINITE);
            continue;
        }
        symmetric_triangle(v, a, n, false);
        lapack_int left;
#pragma omp critical(wgi_blas)
        {
            int before = begin_call(c, operations_of(n, n));
            left = CALL(calls, syevd)(LAPACK_COL_MAJOR, 'V', 'U', (lapack_int)n, v, (lapack_int)n,
                                      w, work, (lapack_int)need.reals,
                                      (lapack_int *)(void *)(work + need.reals),
                                      (lapack_int)need.integers);
            end_call(c, before);
        }
        if (left)
            wgi_note_fault(&fault, k, n, WGI_NOT_CONVERGED);
        transpose_in_place(v, n);
        signs_fix(v, n, n, NULL, 0);
    }
    wgi_report_fault(c, fault);
}

/* ---- svd ------------------------------------------------------------------------------------- */

/* By columns, a is its transpose, vt' diag(s) u': what LAPACK calls u is vt, and the reverse. */
void KERNEL(svd)(wg_call *c)
{
    const wgi_lapack_calls *calls = c->state;
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t m = b.rows, n = b.columns, k = min(m, n), fault = WGI_NO_FAULT;
    wgi_lapack_work need = wgi_lapack_svd_work(m, n);
    real *copy = c->scratch, *work = copy + m * n;
    for (int64_t at = 0; at < b.count; at++) {
        const real *a = (const real *)c->in[0] + at * m * n;
        real *u = (real *)c->out[0] + at * m * k, *s = (real *)c->out[1] + at * k;
        real *vt = (real *)c->out[2] + at * k * n;
        if (!wgi_all_finite(a, c->node->in[0]->dtype, m * n)) {
            wgi_note_fault(&fault, at, n, WGI_NOT_FINITE);
            continue;
        }
        memcpy(copy, a, sizeof *a * (size_t)(m * n));
        lapack_int left;
#pragma omp critical(wgi_blas)
        {
            int before = begin_call(c, operations_of(k, m + n));
            left = CALL(calls, gesdd)(LAPACK_COL_MAJOR, 'S', (lapack_int)n, (lapack_int)m, copy,
                                      (lapack_int)n, s, vt, (lapack_int)n, u, (lapack_int)k, work,
                                      (lapack_int)(need.reals - m * n),
                                      (lapack_int *)(void *)(copy + need.reals));
            end_call(c, before);
        }
        if (left)
            wgi_note_fault(&fault, at, n, WGI_NOT_CONVERGED);
        signs_fix(u, m, k, vt, n);
    }
    wgi_report_fault(c, fault);
}

/* ---- matrix_exp ------------------------------------------------------------------------------ */

/* By rows, which cblas has as well; in double for either type, as the reference. */
static void multiply_add(const void *context, double *y, const double *a, const double *b,
                         int64_t n)
{
    const wg_call *c = context;
    const wgi_lapack_calls *calls = c->state;
    const lapack_int size = (lapack_int)n;
#pragma omp critical(wgi_blas)
    {
        int before = begin_call(c, operations_of(n, n));
        calls->dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, a, size, b,
                     size, 1, y, size);
        end_call(c, before);
    }
}

void KERNEL(matrix_exp)(wg_call *c)
{
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t n = b.rows, fault = WGI_NO_FAULT;
    double *memory = c->scratch;
    for (int64_t k = 0; k < b.count; k++) {
        const real *a = (const real *)c->in[0] + k * n * n;
        real *to = (real *)c->out[0] + k * n * n;
        if (!wgi_all_finite(a, c->node->in[0]->dtype, n * n)) {
            wgi_note_fault(&fault, k, n, WGI_NOT_FINITE);
            continue;
        }
        for (int64_t i = 0; i < n * n; i++)
            memory[i] = (double)a[i];
        const double *y = wgi_matrix_exp(&(const wgi_exponential){n, memory, multiply_add, c});
        for (int64_t i = 0; i < n * n; i++)
            to[i] = (real)y[i];
    }
    wgi_report_fault(c, fault);
}
