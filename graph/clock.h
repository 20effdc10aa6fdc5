/* The clock of all time limits and measurements. */
#ifndef WG_PRIVATE_GRAPH_CLOCK_H
#define WG_PRIVATE_GRAPH_CLOCK_H

#include <time.h>

/* Seconds since an arbitrary moment; never goes backwards. */
static inline double wgi_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
