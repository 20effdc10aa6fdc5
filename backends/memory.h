/* Memory for kernels. */
#ifndef WG_PRIVATE_BACKENDS_MEMORY_H
#define WG_PRIVATE_BACKENDS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { WG_ALIGN = 64 }; /* bytes: of every buffer that a kernel sees */

static inline size_t wgi_round_up(size_t bytes)
{
    return (bytes + WG_ALIGN - 1) / WG_ALIGN * WG_ALIGN;
}

/* Aligned memory of at least one byte, for free(); NULL without memory. */
void *wgi_aligned_alloc(size_t bytes);

/* Zeros, not aligned, for free(); NULL without memory.  Large ones cost nothing before they are
 * used, but then large pages. */
void *wgi_zeroed_alloc(size_t bytes);

#endif
