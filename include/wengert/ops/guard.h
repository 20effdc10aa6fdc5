/* A check within a computation: what comes after it runs only on finite numbers. */
#ifndef WG_OPS_GUARD_H
#define WG_OPS_GUARD_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = x; but if an element of `checks` (floats; any shapes) is NaN or infinite, the run ends here
 * with WG_ENONFINITE,
 * and whatever reads y does not run.  A learning rate behind a guard of loss and gradient norm
 * keeps every update from happening that one of these would spoil. */
WG_API wg_value *(wg_guard)(const char *at, wg_value *x, wg_value *const *checks, size_t n_checks);
#define wg_guard(...) wg_guard(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
