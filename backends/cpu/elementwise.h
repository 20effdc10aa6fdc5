/* The loops of elementwise kernels: UNARY(exp, exp(x)) and BINARY(add, a + b) each define one
 * kernel; the formula is written in x, or in a and b.  cpu_rows and cpu_cursor walk up to three
 * broadcast operands.
 *
 * An element is computed the same way wherever it lies, so threads may share the work in any
 * manner.  `omp simd` is allowed because a result may take the buffer of an operand, but never lies
 * beside it. */
#ifndef WG_BACKENDS_CPU_ELEMENTWISE_H
#define WG_BACKENDS_CPU_ELEMENTWISE_H

#include "backends/cpu/kernel.h"

/* ---- one operand ----------------------------------------------------------------------------- */

/* clang-format off */
#define UNARY(name, formula) UNARY_OF(KERNEL(name), real, real, formula)

#define UNARY_OF(function, from, to, formula)                                                      \
    void function(wg_call *call)                                                                   \
    {                                                                                              \
        const from *in = call->in[0];                                                              \
        to *out = call->out[0];                                                                    \
        int64_t count = cpu_count(call->node->out[0]);                                             \
        _Pragma("omp parallel for simd schedule(static) num_threads(cpu_threads(call, count))")    \
        for (int64_t i = 0; i < count; i++) {                                                      \
            from x = in[i];                                                                        \
            out[i] = (to)(formula);                                                                \
        }                                                                                          \
    }
/* clang-format on */

/* ---- two and three operands, broadcast ------------------------------------------------------- */

/* The result seen as rows along its last axis, with the strides of each operand.  Axes of size 1
 * are left out and axes along which all operands are dense are merged, so that equal shapes make
 * one long row.  Rows are shared out as tasks of about PIECE elements: several short rows, or a
 * piece of a long one. */
enum { CPU_PIECE = 4096, CPU_MAX_OPERANDS = 3 };

typedef struct cpu_rows {
    int64_t rows, size;
    int64_t step[CPU_MAX_OPERANDS]; /* of an operand along a row: 1, or 0 where it is broadcast */
    int rank;                       /* of the outer axes, which count the rows */
    int64_t dim[WG_MAX_RANK];
    int64_t stride[CPU_MAX_OPERANDS][WG_MAX_RANK];
    int64_t tasks, pieces, rows_a_task;
} cpu_rows;

static inline cpu_rows cpu_rows_of(const wg_call *c)
{
    const wg_node *n = c->node;
    const wg_shape *y = &n->out[0]->shape;
    cpu_rows r = {.rows = 1, .size = 1, .step = {1, 1, 1}};
    int operands = n->n_in < CPU_MAX_OPERANDS ? n->n_in : CPU_MAX_OPERANDS;
    int64_t stride[CPU_MAX_OPERANDS][WG_MAX_RANK] = {{0}};
    for (int k = 0; k < operands; k++)
        cpu_broadcast_strides(&n->in[k]->shape, y, stride[k]);
    for (int i = 0; i < y->rank; i++) {
        if (y->dim[i] == 1)
            continue;
        bool merge = r.rank > 0;
        for (int k = 0; merge && k < operands; k++)
            merge = r.stride[k][r.rank - 1] == y->dim[i] * stride[k][i];
        if (!merge)
            r.dim[r.rank++] = 1;
        r.dim[r.rank - 1] *= y->dim[i];
        for (int k = 0; k < operands; k++)
            r.stride[k][r.rank - 1] = stride[k][i];
    }
    if (r.rank > 0) { /* the last axis is the row */
        r.size = r.dim[--r.rank];
        for (int k = 0; k < operands; k++)
            r.step[k] = r.stride[k][r.rank];
    }
    for (int i = 0; i < r.rank; i++)
        r.rows *= r.dim[i];
    r.pieces = (r.size + CPU_PIECE - 1) / CPU_PIECE;
    r.rows_a_task = r.size && r.size < CPU_PIECE ? CPU_PIECE / r.size : 1;
    r.tasks = r.pieces > 1 ? r.rows * r.pieces
              : r.size     ? (r.rows + r.rows_a_task - 1) / r.rows_a_task
                           : 0;
    return r;
}

/* Where a task stands: a row or a piece of one, and how many rows are still to come. */
typedef struct cpu_cursor {
    int64_t at[CPU_MAX_OPERANDS], out, size, left;
    int64_t index[WG_MAX_RANK];
} cpu_cursor;

static inline cpu_cursor cpu_cursor_at(const cpu_rows *r, int64_t task)
{
    cpu_cursor k = {.size = r->size};
    int64_t row = r->pieces > 1 ? task / r->pieces : task * r->rows_a_task;
    int64_t start = r->pieces > 1 ? task % r->pieces * CPU_PIECE : 0;
    k.left = row + r->rows_a_task > r->rows ? r->rows - row : r->rows_a_task;
    k.size = r->pieces > 1 && r->size - start > CPU_PIECE ? CPU_PIECE : r->size - start;
    k.out = row * r->size + start;
    for (int o = 0; o < CPU_MAX_OPERANDS; o++)
        k.at[o] = start * r->step[o];
    for (int i = r->rank - 1; i >= 0; i--) {
        k.index[i] = row % r->dim[i];
        row /= r->dim[i];
        for (int o = 0; o < CPU_MAX_OPERANDS; o++)
            k.at[o] += k.index[i] * r->stride[o][i];
    }
    return k;
}

static inline void cpu_cursor_next(const cpu_rows *r, cpu_cursor *k)
{
    k->left--;
    k->out += r->size;
    for (int i = r->rank - 1; i >= 0; i--) {
        bool wrap = ++k->index[i] == r->dim[i];
        int64_t steps = wrap ? 1 - r->dim[i] : 1;
        for (int o = 0; o < CPU_MAX_OPERANDS; o++)
            k->at[o] += steps * r->stride[o][i];
        if (!wrap)
            return;
        k->index[i] = 0;
    }
}

/* clang-format off */
#define BINARY(name, formula) BINARY_OF(KERNEL(name), real, real, formula)
#define BINARY_TO(name, to, formula) BINARY_OF(KERNEL(name), real, to, formula)

#define BINARY_LOOP(from, to, first, second, formula)                                              \
    _Pragma("omp simd") for (int64_t j = 0; j < k.size; j++)                                       \
    {                                                                                              \
        from a = first, b = second;                                                                \
        y[j] = (to)(formula);                                                                      \
    }

#define BINARY_OF(function, from, to, formula)                                                     \
    void function(wg_call *call)                                                                   \
    {                                                                                              \
        cpu_rows r = cpu_rows_of(call);                                                            \
        int threads = cpu_threads(call, r.rows * r.size);                                          \
        _Pragma("omp parallel for schedule(static) num_threads(threads)")                          \
        for (int64_t task = 0; task < r.tasks; task++)                                             \
            for (cpu_cursor k = cpu_cursor_at(&r, task); k.left > 0; cpu_cursor_next(&r, &k)) {    \
                const from *p = (const from *)call->in[0] + k.at[0], p0 = *p;                      \
                const from *q = (const from *)call->in[1] + k.at[1], q0 = *q;                      \
                to *y = (to *)call->out[0] + k.out;                                                \
                if (r.step[0] && r.step[1]) {                                                      \
                    BINARY_LOOP(from, to, p[j], q[j], formula)                                     \
                } else if (r.step[0]) {                                                            \
                    BINARY_LOOP(from, to, p[j], q0, formula)                                       \
                } else {                                                                           \
                    BINARY_LOOP(from, to, p0, q[j], formula)                                       \
                }                                                                                  \
            }                                                                                      \
    }
/* clang-format on */

#endif
