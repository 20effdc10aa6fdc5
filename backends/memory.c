#include "backends/memory.h"
#include "graph/large_pages.h"

#include <stdlib.h>

void *wgi_aligned_alloc(size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * WGI_ALIGN)
        return NULL;
    bytes = bytes ? wgi_round_up(bytes) : WGI_ALIGN;
    return wgi_in_large_pages(aligned_alloc(WGI_ALIGN, bytes), bytes);
}

void *wgi_zeroed_alloc(size_t bytes)
{
    return wgi_in_large_pages(calloc(1, bytes), bytes);
}
