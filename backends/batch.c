#include "backends/batch.h"
#include "graph/element.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <stdio.h>

wgi_batch wgi_batch_of(const wg_shape *s)
{
    wgi_batch b = {1, s->dim[s->rank - 2], s->dim[s->rank - 1]};
    for (int i = 0; i < s->rank - 2; i++)
        b.count *= s->dim[i];
    return b;
}

int64_t wgi_batch_from(const wg_shape *from, int axes, const wg_shape *to, int64_t k)
{
    int64_t at = 0, stride = 1;
    for (int i = from->rank - axes - 1, j = to->rank - 3; i >= 0; i--, j--) {
        at += from->dim[i] == 1 ? 0 : k % to->dim[j] * stride;
        k /= to->dim[j];
        stride *= from->dim[i];
    }
    return at;
}

/* x * 0 is 0 for a finite x, and NaN for all others. */
bool wgi_all_finite(const void *data, wg_dtype dtype, int64_t count)
{
    double sum = 0;
    if (dtype == WG_F32) {
        const float *x = data;
        float zeros = 0;
#pragma omp simd reduction(+ : zeros)
        for (int64_t i = 0; i < count; i++)
            zeros += x[i] * 0;
        sum = (double)zeros;
    } else {
        const double *x = data;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < count; i++)
            sum += x[i] * 0;
    }
    return sum == 0;
}

void wgi_note_fault(int64_t *first, int64_t matrix, int64_t n, int64_t row)
{
    int64_t fault = matrix * (n + 1) + row;
#pragma omp critical(wgi_note_fault)
    if (fault < *first)
        *first = fault;
}

/* "matrix [2,1]" of a batch, "the matrix" if there is only one. */
static void name_matrix(const wg_shape *s, int64_t matrix, char *text, size_t size)
{
    wg_shape index = *s;
    char at[160];
    index.rank -= 2;
    for (int i = index.rank - 1; i >= 0; i--) {
        index.dim[i] = matrix % s->dim[i];
        matrix /= s->dim[i];
    }
    if (index.rank)
        snprintf(text, size, "matrix %s", wg_shape_text(&index, at, sizeof at));
    else
        snprintf(text, size, "the matrix");
}

/* What it means that row k has no pivot. */
static void describe_row(const wg_op *op, int64_t k, char *text, size_t size)
{
    long long row = k;
    if (op == &wg_op_cholesky)
        snprintf(text, size,
                 "is not positive definite: its leading minor of order %lld is not positive", row);
    else if (op == &wg_op_lu)
        snprintf(text, size, "is singular: pivot %lld of elimination is 0", row);
    else if (op == &wg_op_eigh || op == &wg_op_svd)
        snprintf(text, size, "has %svalues that were not found: the method does not converge",
                 op == &wg_op_eigh ? "eigen" : "singular ");
    else
        snprintf(text, size, "is singular: element [%lld,%lld] of its diagonal is 0", row - 1,
                 row - 1);
}

void wgi_report_fault(wg_call *c, int64_t fault)
{
    if (fault == WGI_NO_FAULT)
        return;
    const wg_value *a = c->node->in[0];
    wgi_batch b = wgi_batch_of(&a->shape);
    int64_t matrix = fault / (b.columns + 1), row = fault % (b.columns + 1);
    int64_t first = matrix * b.rows * b.columns, i = first;
    char name[200], why[160];
    name_matrix(&a->shape, matrix, name, sizeof name);
    if (row != WGI_NOT_FINITE) {
        describe_row(c->node->op, row, why, sizeof why);
        wg_call_fail(c, "%s %s", name, why);
        return;
    }
    while (isfinite(wgi_get_element(c->in[0], a->dtype, i)))
        i++;
    wg_call_fail(c, "%s has %s at [%lld,%lld]", name,
                 isnan(wgi_get_element(c->in[0], a->dtype, i)) ? "NaN" : "an infinite element",
                 (long long)((i - first) / b.columns), (long long)((i - first) % b.columns));
}
