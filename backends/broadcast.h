/* Operands of elementwise ops, broadcast to the shape of the result. */
#ifndef WG_BACKENDS_BROADCAST_H
#define WG_BACKENDS_BROADCAST_H

#include "wengert/graph/op.h"

/* Strides, in elements, with which an operand of shape `from` is read as if broadcast to `to`: 0
 * along broadcast axes. */
static inline void wgi_broadcast_strides(const wg_shape *from, const wg_shape *to,
                                         int64_t stride[WG_MAX_RANK])
{
    int64_t dense[WG_MAX_RANK];
    wg_shape_strides(from, dense);
    for (int i = 0; i < to->rank; i++) {
        int k = i - (to->rank - from->rank);
        stride[i] = k < 0 || from->dim[k] == 1 ? 0 : dense[k];
    }
}

/* The result seen as rows along its last axis, with the strides of each operand.  Axes of size 1
 * are left out and axes along which all operands are dense are merged, so that equal shapes make
 * one long row.  Rows are shared out as tasks of about PIECE elements: several short rows, or a
 * piece of a long one. */
enum { WGI_PIECE = 4096, WGI_MAX_OPERANDS = 3 };

typedef struct wgi_rows {
    int64_t rows, size;
    int64_t step[WGI_MAX_OPERANDS]; /* of an operand along a row: 1, or 0 where it is broadcast */
    int rank;                       /* of the outer axes, which count the rows */
    int64_t dim[WG_MAX_RANK];
    int64_t stride[WGI_MAX_OPERANDS][WG_MAX_RANK];
    int64_t tasks, pieces, rows_a_task;
} wgi_rows;

static inline wgi_rows wgi_rows_of(const wg_node *n)
{
    const wg_shape *y = &n->out[0]->shape;
    wgi_rows r = {.rows = 1, .size = 1, .step = {1, 1, 1}};
    int operands = n->n_in < WGI_MAX_OPERANDS ? n->n_in : WGI_MAX_OPERANDS;
    int64_t stride[WGI_MAX_OPERANDS][WG_MAX_RANK] = {{0}};
    for (int k = 0; k < operands; k++)
        wgi_broadcast_strides(&n->in[k]->shape, y, stride[k]);
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
    r.pieces = (r.size + WGI_PIECE - 1) / WGI_PIECE;
    r.rows_a_task = r.size && r.size < WGI_PIECE ? WGI_PIECE / r.size : 1;
    r.tasks = r.pieces > 1 ? r.rows * r.pieces
              : r.size     ? (r.rows + r.rows_a_task - 1) / r.rows_a_task
                           : 0;
    return r;
}

/* Where a task stands: a row or a piece of one, and how many rows are still to come. */
typedef struct wgi_cursor {
    int64_t at[WGI_MAX_OPERANDS], out, size, left;
    int64_t index[WG_MAX_RANK];
} wgi_cursor;

static inline wgi_cursor wgi_cursor_at(const wgi_rows *r, int64_t task)
{
    wgi_cursor k = {.size = r->size};
    int64_t row = r->pieces > 1 ? task / r->pieces : task * r->rows_a_task;
    int64_t start = r->pieces > 1 ? task % r->pieces * WGI_PIECE : 0;
    k.left = row + r->rows_a_task > r->rows ? r->rows - row : r->rows_a_task;
    k.size = r->pieces > 1 && r->size - start > WGI_PIECE ? WGI_PIECE : r->size - start;
    k.out = row * r->size + start;
    for (int o = 0; o < WGI_MAX_OPERANDS; o++)
        k.at[o] = start * r->step[o];
    for (int i = r->rank - 1; i >= 0; i--) {
        k.index[i] = row % r->dim[i];
        row /= r->dim[i];
        for (int o = 0; o < WGI_MAX_OPERANDS; o++)
            k.at[o] += k.index[i] * r->stride[o][i];
    }
    return k;
}

static inline void wgi_cursor_next(const wgi_rows *r, wgi_cursor *k)
{
    k->left--;
    k->out += r->size;
    for (int i = r->rank - 1; i >= 0; i--) {
        bool wrap = ++k->index[i] == r->dim[i];
        int64_t steps = wrap ? 1 - r->dim[i] : 1;
        for (int o = 0; o < WGI_MAX_OPERANDS; o++)
            k->at[o] += steps * r->stride[o][i];
        if (!wrap)
            return;
        k->index[i] = 0;
    }
}

#endif
