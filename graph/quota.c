/* A control group of Linux may run its processes for `quota` microseconds in each `period`:
 *
 *     version 2   MOUNT/GROUP/cpu.max                              "QUOTA PERIOD" or "max PERIOD"
 *     version 1   MOUNT/cpu/GROUP/cpu.cfs_quota_us, ..._period_us  QUOTA is -1 without a limit
 *
 * The limits of all groups above hold as well.  A container sees its own group as the root. */
#include "graph/quota.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 4096 };

typedef struct limits {
    const char *mount;
    double processors; /* the lowest found; 0: none */
} limits;

static void note(limits *l, double quota, double period)
{
    double processors = quota > 0 && period > 0 ? quota / period : 0;
    if (processors > 0 && (l->processors == 0 || processors < l->processors))
        l->processors = processors;
}

/* The first two numbers of the file; false if it has not got as many as are wanted. */
static bool read_numbers(const char *mount, const char *hierarchy, const char *group,
                         const char *file, int wanted, double *a, double *b)
{
    char path[LONGEST];
    int n = snprintf(path, sizeof path, "%s%s%s/%s", mount, hierarchy, group, file);
    FILE *f = n > 0 && n < (int)sizeof path ? fopen(path, "r") : NULL;
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers, which fit */
    int got = f ? fscanf(f, "%lf %lf", a, b) : 0;
    if (f)
        fclose(f);
    return got >= wanted;
}

static void look_at(limits *l, bool second_version, const char *group)
{
    double quota, period, none;
    if (second_version) {
        if (read_numbers(l->mount, "", group, "cpu.max", 2, &quota, &period))
            note(l, quota, period);
    } else if (read_numbers(l->mount, "/cpu", group, "cpu.cfs_quota_us", 1, &quota, &none) &&
               read_numbers(l->mount, "/cpu", group, "cpu.cfs_period_us", 1, &period, &none))
        note(l, quota, period);
}

/* The group and all above it. */
static void climb(limits *l, bool second_version, char *group)
{
    for (char *slash; *group; *slash = '\0') {
        look_at(l, second_version, strcmp(group, "/") == 0 ? "" : group);
        slash = strrchr(group, '/');
        if (!slash)
            break;
    }
    look_at(l, second_version, "");
}

/* Is "cpu" among the controllers, "cpu,cpuacct"? */
static bool has_cpu(const char *controllers)
{
    const char *at = controllers;
    for (size_t n; *at; at += n + (at[n] == ',')) {
        n = strcspn(at, ",");
        if (n == 3 && strncmp(at, "cpu", n) == 0)
            return true;
    }
    return false;
}

/* "0::/user.slice" or "4:cpu,cpuacct:/user.slice" */
static void take_membership(limits *l, char *line)
{
    char *controllers = strchr(line, ':'),
         *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return;
    *group++ = '\0';
    controllers++;
    group[strcspn(group, "\n")] = '\0';
    if (!*controllers || has_cpu(controllers))
        climb(l, !*controllers, group);
}

int wgi_quota_in(const char *memberships, const char *mount)
{
    limits l = {.mount = mount};
    char line[LONGEST];
    FILE *f = fopen(memberships, "r");
    while (f && fgets(line, sizeof line, f))
        take_membership(&l, line);
    if (f)
        fclose(f);
    int whole = (int)l.processors;
    return whole + (l.processors > whole);
}

int wgi_quota_processors(void)
{
    return wgi_quota_in("/proc/self/cgroup", "/sys/fs/cgroup");
}
