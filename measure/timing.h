/* How to time. */
#ifndef WG_MEASURE_TIMING_H
#define WG_MEASURE_TIMING_H

#include "graph/clock.h"
#include "wengert/graph/status.h"

#include <stdbool.h>

/* Seconds of one call, over `runs` samples. */
typedef struct bench_times {
    double median, min, max;
    int runs;
} bench_times;

/* Statistics of n > 0 samples, which it sorts. */
bench_times bench_summary(double *seconds, int n);

/* The slope of the line through (log x, log y) with the least sum of squares: y ~ x^slope. */
double bench_exponent(const double *x, const double *y, int count);

/* A function to time. */
typedef struct bench_subject {
    wg_status (*run)(void *context);
    void *context;
} bench_subject;

/* Zero means the default in every field. */
typedef struct bench_schedule {
    int runs;       /* samples of each subject; default 11                               */
    double seconds; /* no new round after so long, but at least 3; default 10 */
    double sample;  /* short calls are repeated to fill a sample; default 0.002           */
    bool cpu_time;  /* of all threads of this process, instead of time on the wall: what  */
                    /* one thread does while other programs take turns with it            */
} bench_schedule;

/* The maximum resident set of this process so far, in bytes. */
double bench_resident_peak(void);

/* Times n subjects in turn, round by round, so that other load on the machine affects all of them.
 * Each runs twice before that.  Ends at the first run that fails, with its status. */
wg_status bench_interleaved(const bench_subject *subject, int n, const bench_schedule *schedule,
                            bench_times *times);

/* Seconds of one of `calls` calls in a row. */
wg_status bench_time_calls(const bench_subject *subject, int calls, double *seconds);

#endif
