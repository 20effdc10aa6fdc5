/* What the kernels of a run report besides bad data. */
#ifndef WG_BACKENDS_CALL_H
#define WG_BACKENDS_CALL_H

#include "wengert/graph/op.h"

/* The run ends with WG_ENOMEM: a library that the kernel uses has no memory for `what`. */
static inline void wgi_call_lacks_memory(wg_call *c, const char *what)
{
    if (c->status != WG_OK)
        return;
    wg_call_fail(c, "no memory for %s", what);
    c->status = WG_ENOMEM;
}

#endif
