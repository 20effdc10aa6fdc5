/* What several files of ops/ share. */
#ifndef WG_OPS_OPS_INTERNAL_H
#define WG_OPS_OPS_INTERNAL_H

#include "wengert/graph/op.h"

/* x [..., d] as [rows, d]: one large product instead of a batch of small ones.  NULL passes
 * through. */
wg_value *wgi_as_rows(wg_value *x);

/* Attributes of ops that have their fused forms elsewhere. */
extern const wg_attr wgi_attention_table[5], wgi_cross_entropy_table[5], wgi_matmul_table[2];

#endif
