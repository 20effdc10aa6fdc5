/* Factorisations, unblocked (Golub and Van Loan, Matrix Computations, chapters 3 and 4).  Threads
 * share out the matrices of a batch. */
#include "backends/batch.h"
#include "backends/cpu/kernel.h"
#include "graph/ids.h"
#include "wengert/ops/factor.h"

/* ---- cholesky -------------------------------------------------------------------------------- */

static wide dot(const real *x, const real *y, int64_t n)
{
    wide sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (wide)x[i] * (wide)y[i];
    return sum;
}

/* Row after row:  y[i, j] = (s[i, j] - sum over k < j of y[i, k] y[j, k]) / y[j, j],  and the root
 * of that difference on the diagonal, for s = (a + a') / 2.  Returns the row whose difference is
 * not positive, from 1; 0: none. */
static int64_t factor_lower(real *y, const real *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        real *row = y + i * n;
        for (int64_t j = 0; j <= i; j++) {
            wide s = ((wide)a[i * n + j] + (wide)a[j * n + i]) / 2 - dot(row, y + j * n, j);
            if (j < i)
                row[j] = (real)(s / (wide)y[j * n + j]);
            else if (!(s > 0))
                return i + 1;
            else
                row[i] = (real)sqrt(s);
        }
    }
    return 0;
}

/* Below the diagonal the factor is moved to its transposed place, or above it zeros are written. */
static void finish_triangle(real *y, int64_t n, bool upper)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            y[j * n + i] = upper ? y[i * n + j] : 0;
            y[i * n + j] = upper ? 0 : y[i * n + j];
        }
}

void KERNEL(cholesky)(wg_call *c)
{
    const wg_cholesky_attrs *t = c->node->attrs;
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t n = b.rows, fault = WGI_NO_FAULT;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, b.count *n *n *n))
    for (int64_t k = 0; k < b.count; k++) {
        const real *a = (const real *)c->in[0] + k * n * n;
        real *y = (real *)c->out[0] + k * n * n;
        bool finite = wgi_all_finite(a, c->node->in[0]->dtype, n * n);
        int64_t row = finite ? factor_lower(y, a, n) : WGI_NOT_FINITE;
        if (!finite || row)
            wgi_note_fault(&fault, k, n, row);
        finish_triangle(y, n, t->triangle == WG_UPPER);
    }
    wgi_report_fault(c, fault);
}

/* ---- lu -------------------------------------------------------------------------------------- */

static int64_t pivot_row(const real *y, int64_t n, int64_t k)
{
    int64_t best = k;
    for (int64_t i = k + 1; i < n; i++)
        if (fabs(y[i * n + k]) > fabs(y[best * n + k]))
            best = i;
    return best;
}

static void swap_rows(real *x, real *y, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        real was = x[j];
        x[j] = y[j];
        y[j] = was;
    }
}

/* Elimination in place: in step k the row with the largest element of column k becomes row k, and a
 * multiple of it is taken from each row below, the factor being kept in the place of the zero that
 * this makes.  Returns the step that finds only zeros, from 1; 0: none. */
static int64_t eliminate(real *y, int64_t *p, real *sign, int64_t n)
{
    *sign = 1;
    for (int64_t i = 0; i < n; i++)
        p[i] = i;
    for (int64_t k = 0; k < n; k++) {
        int64_t best = pivot_row(y, n, k), was = p[k];
        if (!(fabs(y[best * n + k]) > 0))
            return k + 1;
        if (best != k) {
            swap_rows(y + k * n, y + best * n, n);
            p[k] = p[best];
            p[best] = was;
            *sign = -*sign;
        }
        const real *from = y + k * n;
        for (int64_t i = k + 1; i < n; i++) {
            real *row = y + i * n, factor = row[k] / from[k];
            row[k] = factor;
            for (int64_t j = k + 1; j < n; j++)
                row[j] -= factor * from[j];
        }
    }
    return 0;
}

void KERNEL(lu)(wg_call *c)
{
    wgi_batch b = wgi_batch_of(&c->node->in[0]->shape);
    int64_t n = b.rows, fault = WGI_NO_FAULT;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, b.count *n *n *n))
    for (int64_t k = 0; k < b.count; k++) {
        real *y = (real *)c->out[0] + k * n * n;
        memcpy(y, (const real *)c->in[0] + k * n * n, sizeof *y * (size_t)(n * n));
        bool finite = wgi_all_finite(y, c->node->in[0]->dtype, n * n);
        int64_t row = WGI_NOT_FINITE;
        if (finite)
            row = eliminate(y, (int64_t *)c->out[1] + k * n, (real *)c->out[2] + k, n);
        if (!finite || row)
            wgi_note_fault(&fault, k, n, row);
    }
    wgi_report_fault(c, fault);
}

/* ---- permute_rows ---------------------------------------------------------------------------- */

/* Row i of x goes to row p[i] of y, to which other rows may have gone. */
static void scatter(real *y, const real *x, const wg_call *c, int64_t p, wgi_batch b)
{
    memset(y, 0, sizeof *y * (size_t)(b.rows * b.columns));
    for (int64_t i = 0; i < b.rows; i++, x += b.columns) {
        real *to = y + wgi_get_int(c->in[1], c->node->in[1]->dtype, p + i) * b.columns;
        for (int64_t j = 0; j < b.columns; j++)
            to[j] += x[j];
    }
}

void KERNEL(permute_rows)(wg_call *c)
{
    const wg_permute_rows_attrs *t = c->node->attrs;
    const wg_shape *xs = &c->node->in[0]->shape, *ps = &c->node->in[1]->shape,
                   *ys = &c->node->out[0]->shape;
    wgi_batch b = wgi_batch_of(ys);
    if (!wgi_ids_valid(c, 1, b.rows))
        return;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, b.count *b.rows *b.columns))
    for (int64_t k = 0; k < b.count; k++) {
        const real *x = (const real *)c->in[0] + wgi_batch_from(xs, 2, ys, k) * b.rows * b.columns;
        real *y = (real *)c->out[0] + k * b.rows * b.columns;
        int64_t p = wgi_batch_from(ps, 1, ys, k) * b.rows;
        if (t->inverse) {
            scatter(y, x, c, p, b);
            continue;
        }
        for (int64_t i = 0; i < b.rows; i++, y += b.columns)
            memcpy(y, x + wgi_get_int(c->in[1], c->node->in[1]->dtype, p + i) * b.columns,
                   sizeof *y * (size_t)b.columns);
    }
}
