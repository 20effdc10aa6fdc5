/* A check within a computation: nodes after it run only if certain numbers are finite. */
#ifndef WG_OPS_GUARD_H
#define WG_OPS_GUARD_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = x.  If an element of `checks` (floats of any shapes) is NaN or infinite, the run ends here
 * with WG_ENONFINITE, and nothing that reads y is computed.  A learning rate behind a guard of loss
 * and gradient norm prevents every update that would spoil the parameters. */
WG_API wg_value *(wg_guard)(const char *at, wg_value *x, wg_value *const *checks, size_t n_checks);
#define wg_guard(...) wg_guard(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
