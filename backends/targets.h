/* Targets of cross_entropy that are no classes. */
#ifndef WG_PRIVATE_BACKENDS_TARGETS_H
#define WG_PRIVATE_BACKENDS_TARGETS_H

#include "wengert/graph/op.h"
#include "wengert/ops/loss.h"

/* The call fails: target i, of operand k, counts and is outside [0, classes).  An `ignore` other
 * than 0 was meant to be used. */
static inline void wgi_refuse_target(wg_call *c, int k, const wg_cross_entropy_attrs *a, int64_t i,
                                     int64_t target, int64_t classes)
{
    const bool unused = !a->use_ignore && a->ignore != 0 && target == a->ignore;
    wg_call_fail_at(c, k, i, "target %lld at position %lld is outside [0, %lld)%s",
                    (long long)target, (long long)i, (long long)classes,
                    unused ? "; it equals `ignore`, but use_ignore is false" : "");
}

#endif
