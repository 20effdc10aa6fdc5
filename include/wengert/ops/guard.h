/* Checks within a computation: the nodes that depend on them run only if the check passes. */
#ifndef WG_OPS_GUARD_H
#define WG_OPS_GUARD_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of check_lengths. */
typedef struct wg_check_lengths_attrs {
    int64_t max;    /**< the largest that is allowed */
    const char *of; /**< whose lengths they are, for the message; or NULL */
} wg_check_lengths_attrs;

/** y = x, lengths of i32 or i64 and any shape.  If one is not in [0, max], the run ends here with
 * WG_EDATA and a message that has its place and names `of`, such as "lstm" (NULL: no name).
 * Recurrent layers and attention check their lengths by it. */
WG_API wg_value *(wg_check_lengths)(const char *at, wg_value *x, int64_t max, const char *of);
#define wg_check_lengths(...) wg_check_lengths(WG_HERE, __VA_ARGS__)

/** y = x.  If an element of `checks` (floats of any shapes) is NaN or infinite, the run ends here
 * with WG_ENONFINITE, and nothing that reads y is computed.  A learning rate after a guard of loss
 * and gradient norm prevents every update that would spoil the parameters. */
WG_API wg_value *(wg_guard)(const char *at, wg_value *x, wg_value *const *checks, size_t n_checks);
#define wg_guard(...) wg_guard(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
