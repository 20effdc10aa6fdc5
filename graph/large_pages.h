/* Large pages of memory. */
#ifndef WG_PRIVATE_GRAPH_LARGE_PAGES_H
#define WG_PRIVATE_GRAPH_LARGE_PAGES_H

#include <stddef.h>

/* Asks for large pages for memory that was just allocated and not yet written (NULL is fine), and
 * returns it.  With pages of 4 KiB, each costs a fault when it is first written and a walk of the
 * page table ever after.  They make no difference but time, so the system may refuse. */
void *wgi_in_large_pages(void *memory, size_t bytes);

#endif
