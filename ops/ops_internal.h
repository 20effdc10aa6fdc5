/* What several files of ops/ share. */
#ifndef WG_OPS_OPS_INTERNAL_H
#define WG_OPS_OPS_INTERNAL_H

#include "wengert/graph/op.h"

/* x [..., d] as [rows, d]: one large product instead of a batch of small ones.  NULL passes
 * through. */
wg_value *wgi_as_rows(wg_value *x);

/* Result 0 of `op` on n operands, which may be any number; NULL after an error. */
wg_value *wgi_apply_list(const char *at, const wg_op *op, const void *attrs, wg_value *const *in,
                         size_t n);

/* Attributes of ops that have their fused forms elsewhere. */
extern const wg_attr wgi_attention_table[8], wgi_cross_entropy_table[5], wgi_matmul_table[2];

#endif
