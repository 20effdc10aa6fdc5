/* What a kernel may derive once, where parameters do not change: wg_backend_config. */
#ifndef WG_BACKENDS_FIXED_H
#define WG_BACKENDS_FIXED_H

#include "wengert/graph/op.h"

#include <stdbool.h>

/* Rows of a product for which a fixed matrix of any size is packed, and terms of one that is packed
 * for more rows, at most: backends/simd/product.c.  `onednn` yields the former, so that one row
 * gets the bits that it gets among others. */
enum { WGI_FEW_ROWS = 7, WGI_FEW_TERMS = 256 };

/* A parameter, seen in any shape. */
static inline bool wgi_is_parameter(const wg_value *v)
{
    while ((v->node->op->flags & WG_OP_VIEW) && v->node->n_in == 1)
        v = v->node->in[0];
    return v->node->op->flags & WG_OP_PARAMETER;
}

#endif
