/* An order of computation without a flow of data, for recomputation. */
#ifndef WG_OPS_BARRIER_H
#define WG_OPS_BARRIER_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = x, but y and its readers are computed only after the tokens; NULL tokens are left out.  A
 * computation on y is not merged with the same one on x.  y shares the memory of x: nothing is
 * copied.  x and tokens have any shapes and dtypes. */
WG_API wg_value *(wg_barrier)(const char *at, wg_value *x, wg_value *const *tokens,
                              size_t n_tokens);
#define wg_barrier(...) wg_barrier(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
