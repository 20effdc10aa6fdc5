/* Memory for kernels. */
#ifndef WG_PRIVATE_BACKENDS_ALIGN_H
#define WG_PRIVATE_BACKENDS_ALIGN_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { WG_ALIGN = 64 }; /* bytes: of every buffer that a kernel sees */

static inline size_t wgi_round_up(size_t bytes)
{
    return (bytes + WG_ALIGN - 1) / WG_ALIGN * WG_ALIGN;
}

/* Aligned memory of at least one byte, for free(); NULL without memory. */
static inline void *wgi_aligned_alloc(size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * WG_ALIGN)
        return NULL;
    return aligned_alloc(WG_ALIGN, bytes ? wgi_round_up(bytes) : WG_ALIGN);
}

#endif
