#define _DEFAULT_SOURCE /* madvise */
#include "graph/large_pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void *wgi_in_large_pages(void *memory, size_t bytes)
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
