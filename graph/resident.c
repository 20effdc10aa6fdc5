#include "graph/resident.h"

#include <stdio.h>
#include <unistd.h>

size_t wgi_resident_bytes(void)
{
    const size_t step = 4 << 20;
    size_t all, resident;
    FILE *f = fopen("/proc/self/statm", "r"); /* in pages */
    int n = f ? fscanf(f, "%zu %zu", &all, &resident) : 0;
    if (f)
        fclose(f);
    return n == 2 ? (resident * (size_t)sysconf(_SC_PAGESIZE) + step - 1) / step * step : 0;
}
