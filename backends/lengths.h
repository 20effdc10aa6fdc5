/* Lengths of sequences, which are data: a run checks them. */
#ifndef WG_BACKENDS_LENGTHS_H
#define WG_BACKENDS_LENGTHS_H

#include "wengert/graph/op.h"

/* True if all lengths, i32 or i64, in operand i of the call are in [0, max]; otherwise the call has
 * failed with the place and the value of the first that is not.  `of` names whose they are where
 * the node does not; or NULL. */
bool wgi_lengths_valid(wg_call *c, int i, int64_t max, const char *of);

#endif
