/* Substitution: row after row of the solution, a block of columns at a time, which threads share
 * out.  Each element is a sum in `wide`, in one order. */
#include "backends/batch.h"
#include "backends/cpu/kernel.h"
#include "wengert/ops/triangle.h"

enum { COLUMNS = 64 /* of a block */ };

/* The matrix as it is read: element [i, j] of op(a) is at[i row + j column]. */
typedef struct matrix {
    const real *at;
    int64_t size, row, column;
    bool unit, lower; /* after the transpose */
} matrix;

static matrix matrix_of(const wg_triangular_solve_attrs *t, const real *a, int64_t n)
{
    bool lower = t->triangle == WG_LOWER;
    return t->transpose ? (matrix){a, n, 1, n, t->unit_diagonal, !lower}
                        : (matrix){a, n, n, 1, t->unit_diagonal, lower};
}

/* x[i] = (b[i] - sum of a[i, j] x[j] over the rows j that are known) / a[i, i], for `width` columns
 * of x, which holds b; its rows are `stride` apart. */
static void substitute(const matrix *a, real *x, int64_t stride, int64_t width)
{
    int64_t n = a->size;
    wide sum[COLUMNS];
    for (int64_t k = 0; k < n; k++) {
        int64_t i = a->lower ? k : n - 1 - k, first = a->lower ? 0 : i + 1;
        const real *row = a->at + i * a->row;
        for (int64_t c = 0; c < width; c++)
            sum[c] = (wide)x[i * stride + c];
        for (int64_t j = first; j < first + k; j++) {
            wide factor = (wide)row[j * a->column];
            for (int64_t c = 0; c < width; c++)
                sum[c] -= factor * (wide)x[j * stride + c];
        }
        wide pivot = a->unit ? 1 : (wide)row[i * a->column];
        for (int64_t c = 0; c < width; c++)
            x[i * stride + c] = (real)(sum[c] / pivot);
    }
}

/* The first zero on the diagonals of the matrices. */
static int64_t first_fault(const wg_call *c, const real *a, wgi_batch m)
{
    const wg_triangular_solve_attrs *t = c->node->attrs;
    int64_t fault = WGI_NO_FAULT;
    for (int64_t k = 0; k < m.count && fault == WGI_NO_FAULT && !t->unit_diagonal; k++)
        for (int64_t i = 0; i < m.rows; i++)
            if (a[(k * m.rows + i) * m.columns + i] == 0)
                wgi_note_fault(&fault, k, m.rows, i + 1);
    return fault;
}

void KERNEL(triangular_solve)(wg_call *c)
{
    const wg_shape *as = &c->node->in[0]->shape, *bs = &c->node->in[1]->shape,
                   *xs = &c->node->out[0]->shape;
    const real *a = c->in[0], *b = c->in[1];
    wgi_batch x = wgi_batch_of(xs);
    int64_t n = x.rows, blocks = (x.columns + COLUMNS - 1) / COLUMNS;
    int64_t fault = first_fault(c, a, wgi_batch_of(as));
    wgi_report_fault(c, fault);
    if (fault != WGI_NO_FAULT)
        return;
#pragma omp parallel for schedule(static)                                                          \
    num_threads(cpu_threads(c, x.count *x.rows *x.rows *x.columns))
    for (int64_t task = 0; task < x.count * blocks; task++) {
        int64_t k = task / blocks, first = task % blocks * COLUMNS;
        int64_t width = x.columns - first < COLUMNS ? x.columns - first : COLUMNS;
        matrix m = matrix_of(c->node->attrs, a + wgi_batch_from(as, 2, xs, k) * n * n, n);
        const real *from = b + wgi_batch_from(bs, 2, xs, k) * n * x.columns + first;
        real *to = (real *)c->out[0] + k * n * x.columns + first;
        for (int64_t i = 0; i < n && to != from; i++)
            memcpy(to + i * x.columns, from + i * x.columns, sizeof *to * (size_t)width);
        substitute(&m, to, x.columns, width);
    }
}
