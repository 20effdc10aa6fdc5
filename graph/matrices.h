/* What makes the random matrices of samples invertible, and more: see wg_matrices. */
#ifndef WG_PRIVATE_GRAPH_MATRICES_H
#define WG_PRIVATE_GRAPH_MATRICES_H

#include "wengert/graph/op.h"

#include <math.h>

/* What is added to element i of a tensor of shape s that was drawn from (lo, hi). */
static inline double wgi_matrix_offset(wg_matrices kind, const wg_shape *s, int64_t i, double lo,
                                       double hi)
{
    if (kind == WG_MATRICES_ANY || s->rank < 2)
        return 0;
    int64_t columns = s->dim[s->rank - 1], rows = s->dim[s->rank - 2];
    int64_t row = i / columns % rows, column = i % columns;
    double much = 2 * (double)(rows > columns ? rows : columns) * fmax(fabs(lo), fabs(hi));
    if (kind == WG_MATRICES_ROTATED)
        row = (row + 1) % rows;
    if (kind == WG_MATRICES_SPREAD)
        much *= (double)(row + 1);
    return row == column ? much : 0;
}

#endif
