#include "measure/scaling.h"

const char *scaling_limit_name(scaling_limit limit)
{
    static const char *const names[] = {"compute", "last", "link", "latency"};
    return names[limit];
}

/* Bytes that a machine sends in the sum of one byte. */
static double sent(int n)
{
    return 2.0 * (n - 1) / n;
}

double scaling_sum(const scaling_network *w, int n, double bytes)
{
    double added = w->adding > 0 ? bytes / w->adding : 0;
    return n < 2 ? 0 : 2 * w->latency + sent(n) * bytes / w->bandwidth + added;
}

double scaling_after(const scaling_network *w, int n, const scaling_update *u)
{
    double seconds = u->seconds;
    for (size_t k = 0; k < u->buckets; k++)
        seconds += scaling_sum(w, n, u->bytes[k]);
    return seconds;
}

/* When the last sum ends. */
static double last_end(const scaling_network *w, int n, const scaling_update *u)
{
    double end = 0;
    for (size_t k = 0; k < u->buckets; k++)
        end = (end > u->ready[k] ? end : u->ready[k]) + scaling_sum(w, n, u->bytes[k]);
    return end;
}

double scaling_beside(const scaling_network *w, int n, const scaling_update *u,
                      scaling_limit *limit)
{
    const size_t last = u->buckets - 1;
    scaling_network far = *w;
    far.latency = 0;
    const double end = u->buckets ? last_end(w, n, u) : 0;
    const double exposed = u->buckets && end > u->ready[last] ? end - u->ready[last] : 0;
    const double alone = u->buckets ? scaling_sum(w, n, u->bytes[last]) : 0;
    if (limit && exposed < 0.05 * (u->seconds + exposed))
        *limit = SCALING_COMPUTE;
    else if (limit && exposed < 2 * alone)
        *limit = SCALING_LAST;
    else if (limit)
        *limit = end - last_end(&far, n, u) > exposed / 2 ? SCALING_LATENCY : SCALING_LINK;
    return u->seconds + exposed;
}

scaling_network scaling_fit(int n, double few, double few_seconds, double many, double many_seconds)
{
    const double slope = (many_seconds - few_seconds) / (many - few); /* seconds for a byte */
    return (scaling_network){.latency = (few_seconds - slope * few) / 2,
                             .bandwidth = sent(n) / slope};
}
