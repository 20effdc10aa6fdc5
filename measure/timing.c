#include "measure/timing.h"

#include <math.h>
#include <stdlib.h>
#include <stddef.h>
#include <sys/resource.h>
#include <time.h>

double bench_resident_peak(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1024.0 * (double)u.ru_maxrss;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bench_times bench_summary(double *seconds, int n)
{
    qsort(seconds, (size_t)n, sizeof *seconds, by_size);
    return (bench_times){.median = (seconds[(n - 1) / 2] + seconds[n / 2]) / 2,
                         .min = seconds[0],
                         .max = seconds[n - 1],
                         .runs = n};
}

double bench_exponent(const double *x, const double *y, int count)
{
    double mx = 0, my = 0, xy = 0, xx = 0;
    for (int i = 0; i < count; i++) {
        mx += log(x[i]) / count;
        my += log(y[i]) / count;
    }
    for (int i = 0; i < count; i++) {
        xy += (log(x[i]) - mx) * (log(y[i]) - my);
        xx += (log(x[i]) - mx) * (log(x[i]) - mx);
    }
    return xy / xx;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static wg_status time_calls(const bench_subject *s, int calls, double now(void), double *seconds)
{
    wg_status status = WG_OK;
    double start = now();
    for (int i = 0; i < calls && status == WG_OK; i++)
        status = s->run(s->context);
    *seconds = (now() - start) / calls;
    return status;
}

wg_status bench_time_calls(const bench_subject *s, int calls, double *seconds)
{
    return time_calls(s, calls, wgi_seconds, seconds);
}

/* Warms a subject up, and finds how many calls make a sample. */
static wg_status calibrate(const bench_subject *s, double sample, int *calls)
{
    enum { MAX_CALLS = 100000 };
    double seconds;
    wg_status status = bench_time_calls(s, 1, &seconds);
    if (status == WG_OK)
        status = bench_time_calls(s, 1, &seconds);
    double wanted = seconds > 0 ? sample / seconds : MAX_CALLS;
    *calls = wanted < 1 ? 1 : wanted > MAX_CALLS ? MAX_CALLS : (int)wanted;
    return status;
}

wg_status bench_interleaved(const bench_subject *subject, int n, const bench_schedule *schedule,
                            bench_times *times)
{
    enum { MIN_ROUNDS = 3 };
    const bench_schedule o = schedule ? *schedule : (bench_schedule){0};
    int runs = o.runs > 0 ? o.runs : 11;
    double limit = o.seconds > 0 ? o.seconds : 10, sample = o.sample > 0 ? o.sample : 0.002;
    double (*now)(void) = o.cpu_time ? cpu_seconds : wgi_seconds;
    int *calls = calloc((size_t)n + 1, sizeof *calls);
    double *seconds = calloc((size_t)n * (size_t)runs + 1, sizeof *seconds);
    wg_status status = calls && seconds ? WG_OK : WG_ENOMEM;

    for (int i = 0; i < n && status == WG_OK; i++)
        status = calibrate(&subject[i], sample, &calls[i]);
    double start = wgi_seconds();
    int rounds = 0;
    while (status == WG_OK && rounds < runs &&
           (rounds < MIN_ROUNDS || wgi_seconds() - start < limit)) {
        for (int i = 0; i < n && status == WG_OK; i++)
            status = time_calls(&subject[i], calls[i], now, &seconds[i * runs + rounds]);
        rounds++;
    }
    for (int i = 0; i < n && status == WG_OK; i++)
        times[i] = bench_summary(&seconds[(ptrdiff_t)i * runs], rounds);
    free(calls);
    free(seconds);
    return status;
}
