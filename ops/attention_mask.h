/* Which keys a query of attention may see: rules for the attributes, and masks as nodes.  For the
 * files of attention alone. */
#ifndef WG_OPS_ATTENTION_MASK_H
#define WG_OPS_ATTENTION_MASK_H

#include "wengert/ops/attention.h"

/* Checks of a shape rule: 0 <= dropout < 1 and 32 bits for the offset; lengths at operand i, which
 * may be missing, are [B] integers. */
bool wgi_need_mask_attrs(wg_node *n, int64_t causal_offset, double dropout);
bool wgi_need_lengths(wg_node *n, int i);

/* Operand i as lengths; NULL if it is missing, or a fill of at least `keys`, which hides none. */
wg_value *wgi_lengths_of(const wg_node *n, int i, int64_t keys);

/* Bools broadcastable to scores [B, 1.., T, S] of the given rank; NULL: every query sees all. */
wg_value *wgi_seen_keys(wg_graph *g, wg_value *lengths, wg_key_span span, int64_t queries,
                        int64_t keys, int rank);

/* x where the mask is set, else `otherwise`; x where the mask is NULL. */
wg_value *wgi_only(wg_value *mask, wg_value *x, double otherwise);

/* k or v [B, .., S, d] with rows past the lengths made 0: a weight of 0 does not remove a NaN. */
wg_value *wgi_live(wg_value *v, wg_value *lengths);

/* The dropout of weights that has this key. */
wg_value *wgi_drop_weights(wg_value *w, double p, int64_t key);

/* The shape of v with another size of the last axis. */
wg_shape wgi_with_last(const wg_value *v, int64_t size);

#endif
