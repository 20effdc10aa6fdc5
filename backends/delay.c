/* Linux has for each thread /proc/self/task/ID/schedstat: "RAN DELAYED SLICES", in nanoseconds. */
#include "backends/delay.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

static int64_t delay_of(const char *thread)
{
    char path[300];
    int64_t delayed;
    snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", thread);
    FILE *f = fopen(path, "r");
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's number, which fits */
    int got = f ? fscanf(f, "%*s %" SCNd64, &delayed) : 0;
    if (f)
        fclose(f);
    return got == 1 ? delayed : 0;
}

int64_t wgi_run_delay(void)
{
    int64_t sum = 0;
    DIR *d = opendir("/proc/self/task");
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): d is ours alone */
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            sum += delay_of(e->d_name);
    if (d)
        closedir(d);
    return sum;
}
