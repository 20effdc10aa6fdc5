/* Order without data: what recomputation waits for. */
#ifndef WG_OPS_BARRIER_H
#define WG_OPS_BARRIER_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = x, but computed (and whatever reads it) only after the tokens, of which those that are NULL
 * are left out. The planner keeps it apart from x: a computation on y is not merged with the same
 * one on x.  The bytes are x's own, nothing is copied.  x and tokens: any shapes and dtypes. */
WG_API wg_value *(wg_barrier)(const char *at, wg_value *x, wg_value *const *tokens,
                              size_t n_tokens);
#define wg_barrier(...) wg_barrier(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
