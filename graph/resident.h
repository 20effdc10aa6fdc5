/* The memory of the process. */
#ifndef WG_PRIVATE_GRAPH_RESIDENT_H
#define WG_PRIVATE_GRAPH_RESIDENT_H

#include <stddef.h>

/* Bytes of the process that are in memory now, its program and libraries included, rounded up to 4
 * MiB so that the next process like it most likely has as many; 0 where the system does not say. */
size_t wgi_resident_bytes(void);

#endif
