/* The loops of elementwise kernels: UNARY(exp, exp(x)) and BINARY(add, a + b) each define one kernel.  The
 * formula is written in the names x, or a and b, of type `real`. */
#ifndef WG_BACKENDS_CPU_ELEMENTWISE_H
#define WG_BACKENDS_CPU_ELEMENTWISE_H

#include "backends/cpu/kernel.h"

#define UNARY(name, formula) UNARY_TO(name, real, formula)
#define BINARY(name, formula) BINARY_TO(name, real, formula)

#define UNARY_TO(name, type, formula)                                                              \
    void KERNEL(name)(wg_call * c)                                                                 \
    {                                                                                              \
        const real *in = c->in[0];                                                                 \
        type *out = c->out[0];                                                                     \
        int64_t count = cpu_count(c->node->out[0]);                                                \
        _Pragma("omp parallel for simd schedule(static) num_threads(cpu_threads(c, count))")       \
        for (int64_t i = 0; i < count; i++) {                                                      \
            real x = in[i];                                                                        \
            out[i] = (type)(formula);                                                              \
        }                                                                                          \
    }

/* One row: the innermost axis, along which each operand moves by 1 or stays. */
#define BINARY_ROW(type, formula)                                                                  \
    for (int64_t j = 0; j < size; j++) {                                                           \
        real a = pa[j * sa], b = pb[j * sb];                                                       \
        out[row * size + j] = (type)(formula);                                                     \
    }

#define BINARY_TO(name, type, formula)                                                             \
    void KERNEL(name)(wg_call * c)                                                                 \
    {                                                                                              \
        cpu_rows r = cpu_rows_of(c);                                                               \
        type *out = c->out[0];                                                                     \
        int64_t size = r.size, sa = r.stride[0][r.rank], sb = r.stride[1][r.rank];                 \
        _Pragma("omp parallel for schedule(static) num_threads(cpu_threads(c, r.rows * r.size))")  \
        for (int64_t row = 0; row < r.rows; row++) {                                               \
            const real *pa = (const real *)c->in[0] + cpu_row_offset(&r, 0, row);                  \
            const real *pb = (const real *)c->in[1] + cpu_row_offset(&r, 1, row);                  \
            if (sa == 1 && sb == 1) {                                                              \
                BINARY_ROW_UNIT(type, formula)                                                     \
            } else {                                                                               \
                BINARY_ROW(type, formula)                                                          \
            }                                                                                      \
        }                                                                                          \
    }

#define BINARY_ROW_UNIT(type, formula)                                                             \
    for (int64_t j = 0; j < size; j++) {                                                           \
        real a = pa[j], b = pb[j];                                                                 \
        out[row * size + j] = (type)(formula);                                                     \
    }

/* The result seen as rows along its last axis, with the strides of each broadcast operand.  Axes along which
 * all operands are dense are merged first, so that equal shapes make one long row, cut into pieces for
 * threads. */
typedef struct cpu_rows {
    int64_t rows, size;
    int rank;                      /* of the outer axes                     */
    int64_t dim[WG_MAX_RANK];      /* outer axes                            */
    int64_t stride[3][WG_MAX_RANK + 1]; /* of each operand; [rank] is the row's */
} cpu_rows;

static inline cpu_rows cpu_rows_of(const wg_call *c)
{
    enum { PIECE = 4096 };
    const wg_node *n = c->node;
    const wg_shape *y = &n->out[0]->shape;
    cpu_rows r = {.rows = 1, .size = 1};
    int count = n->n_in < 3 ? n->n_in : 3, rank = 0;
    int64_t dim[WG_MAX_RANK + 1] = {0}, stride[3][WG_MAX_RANK + 1] = {{0}};
    for (int k = 0; k < count; k++)
        cpu_broadcast_strides(&n->in[k]->shape, y, stride[k]);
    for (int i = 0; i < y->rank; i++) { /* merge axis i into the one before where all operands allow */
        bool merge = rank > 0;
        for (int k = 0; merge && k < count; k++)
            merge = stride[k][rank - 1] == y->dim[i] * stride[k][i];
        if (!merge)
            rank++;
        dim[rank - 1] = merge ? dim[rank - 1] * y->dim[i] : y->dim[i];
        for (int k = 0; k < count; k++)
            stride[k][rank - 1] = stride[k][i];
    }
    if (rank == 0) { /* a scalar is one row of one */
        r.rank = 0;
        return r;
    }
    if (rank == 1 && dim[0] % PIECE == 0 && dim[0] > PIECE) {
        for (int k = 0; k < count; k++) {
            stride[k][1] = stride[k][0];
            stride[k][0] *= PIECE;
        }
        dim[0] /= PIECE;
        dim[1] = PIECE;
        rank = 2;
    }
    r.rank = rank - 1;
    r.size = dim[rank - 1];
    for (int i = 0; i < r.rank; i++) {
        r.dim[i] = dim[i];
        r.rows *= dim[i];
    }
    for (int k = 0; k < count; k++)
        memcpy(r.stride[k], stride[k], sizeof r.stride[k]);
    return r;
}

static inline int64_t cpu_row_offset(const cpu_rows *r, int operand, int64_t row)
{
    int64_t offset = 0;
    for (int i = r->rank - 1; i >= 0; i--) {
        offset += row % r->dim[i] * r->stride[operand][i];
        row /= r->dim[i];
    }
    return offset;
}

#endif
