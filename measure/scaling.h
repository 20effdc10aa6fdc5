/* A model of the seconds that an update takes on several machines (docs/scaling.md). */
#ifndef WG_MEASURE_SCALING_H
#define WG_MEASURE_SCALING_H

#include <stddef.h>

/* What carries the messages. */
typedef struct scaling_network {
    double latency;   /* seconds of a short message */
    double bandwidth; /* bytes per second that a machine sends while it receives as many */
    double adding;    /* bytes per second of copies that a rank adds; 0: no time */
} scaling_network;

/* An update on each machine: how long it computes, and when which gradients are there. */
typedef struct scaling_update {
    double seconds;      /* without sums */
    size_t buckets;      /* sums */
    const double *bytes; /* [buckets] in a message each */
    const double *ready; /* [buckets] seconds after the beginning, ascending */
} scaling_update;

/* What limits an update on several machines. */
typedef enum scaling_limit {
    SCALING_COMPUTE = 0, /* less than a twentieth of the time is waiting for sums */
    SCALING_LAST,        /* the last bucket, behind which nothing is left to compute */
    SCALING_LINK,        /* the bytes take longer than what they are hidden behind */
    SCALING_LATENCY      /* the number of messages does */
} scaling_limit;

/* The name of a limit, as in a table. */
const char *scaling_limit_name(scaling_limit limit);

/* Seconds of the sum of so many bytes over n machines:
 *
 *     2 latency + 2 (n - 1) / n bytes / bandwidth + bytes / adding */
double scaling_sum(const scaling_network *w, int n, double bytes);

/* Seconds of an update on n machines whose sums begin when all gradients are there. */
double scaling_after(const scaling_network *w, int n, const scaling_update *u);

/* Seconds of an update on n machines whose sums begin as gradients are there.  The link carries one
 * after the other: bucket k ends at
 *
 *     end(k) = max(end(k - 1), ready(k)) + sum(bytes(k))
 *
 * and what comes after the last one, the optimizer, is what is left of u->seconds after the last
 * ready(k).  *limit, if not NULL, is what it is limited by. */
double scaling_beside(const scaling_network *w, int n, const scaling_update *u,
                      scaling_limit *limit);

/* The network in which sums of few and of many bytes over n machines take those seconds. */
scaling_network scaling_fit(int n, double few, double few_seconds, double many,
                            double many_seconds);

#endif
