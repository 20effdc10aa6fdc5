#define _DEFAULT_SOURCE /* madvise */
#include "backends/memory.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Large pages, where the system has them: a step walks through hundreds of megabytes, and with
 * pages of 4 KiB each new one costs a fault at first and a walk of the page table ever after.  They
 * make no difference but time, so an answer of no is as good. */
static void *in_large_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    enum { LARGE = 2 << 20 };
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)memory,
              from = (at + page - 1) / page * page, to = (at + bytes) / page * page;
    if (memory && bytes >= LARGE)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)bytes;
#endif
    return memory;
}

void *wgi_aligned_alloc(size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * WG_ALIGN)
        return NULL;
    bytes = bytes ? wgi_round_up(bytes) : WG_ALIGN;
    return in_large_pages(aligned_alloc(WG_ALIGN, bytes), bytes);
}

void *wgi_zeroed_alloc(size_t bytes)
{
    return in_large_pages(calloc(1, bytes), bytes);
}
