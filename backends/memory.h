/* Memory for kernels. */
#ifndef WG_PRIVATE_BACKENDS_MEMORY_H
#define WG_PRIVATE_BACKENDS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WGI_ALIGN = 64 }; /* bytes: of every buffer that a kernel sees */

static inline size_t wgi_round_up(size_t bytes)
{
    return (bytes + WGI_ALIGN - 1) / WGI_ALIGN * WGI_ALIGN;
}

/* The most that the parts of a plan may add up to, so that sums of such sums do not wrap, and
 * int64_t has room for them. */
#define WGI_MOST_BYTES (SIZE_MAX / 2)

/* Adds them, rounded up, to a total; false, and nothing is added, if there would be more. */
static inline bool wgi_add_bytes(size_t *total, size_t bytes)
{
    if (bytes > WGI_MOST_BYTES - WGI_ALIGN || wgi_round_up(bytes) > WGI_MOST_BYTES - *total)
        return false;
    *total += wgi_round_up(bytes);
    return true;
}

/* What a plan takes beside tensors, buffer and libraries, roughly, for each of its nodes. */
enum { WGI_NODE_BYTES = 5 << 10 };

/* Aligned memory of at least one byte, for free(); NULL without memory. */
void *wgi_aligned_alloc(size_t bytes);

/* Zeros, not aligned, for free(); NULL without memory.  Large ones cost nothing before they are
 * used, but then large pages. */
void *wgi_zeroed_alloc(size_t bytes);

#endif
