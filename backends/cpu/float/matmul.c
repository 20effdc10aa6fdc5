/* y[..., i, j] = sum over k of a[..., i, k] b[..., k, j], in the order of k: the same bits at any number of
 * threads.  The loop over j is innermost, so that it vectorises. */
#include "backends/cpu/kernel.h"
#include "ops/linalg.h"

typedef struct matrix {
    const real *at;
    int64_t row, column; /* strides */
} matrix;

static void one_row(real *restrict y, matrix a, matrix b, int64_t i, int64_t inner, int64_t columns)
{
    for (int64_t j = 0; j < columns; j++)
        y[j] = 0;
    if (b.column == 1) {
        for (int64_t k = 0; k < inner; k++) {
            const real *restrict row = b.at + k * b.row;
            real s = a.at[i * a.row + k * a.column];
            for (int64_t j = 0; j < columns; j++)
                y[j] += s * row[j];
        }
    } else {
        for (int64_t j = 0; j < columns; j++) {
            const real *restrict column = b.at + j * b.column;
            real s = 0;
            for (int64_t k = 0; k < inner; k++)
                s += a.at[i * a.row + k * a.column] * column[k * b.row];
            y[j] = s;
        }
    }
}

void KERNEL(matmul)(wg_call *c)
{
    const wg_node *n = c->node;
    const wg_matmul_attrs *t = n->attrs;
    const wg_shape *as = &n->in[0]->shape, *bs = &n->in[1]->shape, *ys = &n->out[0]->shape;
    int64_t rows = ys->dim[ys->rank - 2], columns = ys->dim[ys->rank - 1];
    int64_t inner = as->dim[as->rank - (t->transpose_a ? 2 : 1)];

    wg_shape batch = *ys, abatch = *as, bbatch = *bs;
    batch.rank -= 2, abatch.rank -= 2, bbatch.rank -= 2;
    int64_t sa[WG_MAX_RANK], sb[WG_MAX_RANK], batches = wg_shape_count(&batch);
    cpu_broadcast_strides(&abatch, &batch, sa);
    cpu_broadcast_strides(&bbatch, &batch, sb);

#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, batches * rows * columns * inner))
    for (int64_t r = 0; r < batches * rows; r++) {
        int64_t ia = 0, ib = 0, rest = r / rows;
        for (int axis = batch.rank - 1; axis >= 0; axis--) {
            ia += rest % batch.dim[axis] * sa[axis];
            ib += rest % batch.dim[axis] * sb[axis];
            rest /= batch.dim[axis];
        }
        matrix a = {(const real *)c->in[0] + ia * rows * inner, t->transpose_a ? 1 : inner,
                    t->transpose_a ? rows : 1};
        matrix b = {(const real *)c->in[1] + ib * inner * columns, t->transpose_b ? 1 : columns,
                    t->transpose_b ? inner : 1};
        one_row((real *)c->out[0] + r * columns, a, b, r % rows, inner, columns);
    }
}
