/* What the machine can do, measured: the rates that everything which prints shares divides by; and
 * how to time. */
#ifndef WG_MEASURE_LIMITS_H
#define WG_MEASURE_LIMITS_H

#include "wengert/backends/plan.h"

/* ---- timing ---------------------------------------------------------------------------------- */

/* Seconds of one call, over `runs` samples. */
typedef struct bench_times {
    double median, min, max;
    int runs;
} bench_times;

/* Of n > 0 samples, which it sorts. */
bench_times bench_summary(double *seconds, int n);

/* The slope of the line through (log x, log y) with the least sum of squares: y ~ x^slope. */
double bench_exponent(const double *x, const double *y, int count);

/* What is timed. */
typedef struct bench_subject {
    wg_status (*run)(void *context);
    void *context;
} bench_subject;

/* Zero means the default in every field. */
typedef struct bench_schedule {
    int runs;       /* samples of each subject; default 11                               */
    double seconds; /* no new round after so long, but 3 rounds at least; default 10     */
    double sample;  /* short calls are repeated until a sample takes so long; 0.002      */
} bench_schedule;

/* Seconds from some fixed moment on. */
double bench_now(void);

/* Most bytes that this process had in memory so far. */
double bench_resident_peak(void);

/* Times n subjects in turn, round by round, so that whatever else the machine does meanwhile is
 * shared among them. Each runs twice before that.  Ends at the first run that fails, with its
 * status. */
wg_status bench_interleaved(const bench_subject *subject, int n, const bench_schedule *schedule,
                            bench_times *times);

/* ---- limits ---------------------------------------------------------------------------------- */

/* Zero means the default in every field. */
typedef struct bench_limits_options {
    int threads;         /* as many as OpenMP gives                                      */
    int64_t matmul_size; /* 2048; plain kernels: less, if it took over two seconds       */
    size_t triad_bytes;  /* of an array: as the last cache, but from 64 to 256 MiB       */
} bench_limits_options;

typedef struct bench_limits {
    int threads;
    int64_t matmul_size; /* n: f32 [n, n] times [n, n] */
    char matmul_kernel[80];
    size_t triad_bytes;                   /* of one array                                 */
    double matmul_flops, triad_traffic;   /* of one call: 2 n^3; bytes of three arrays    */
    bench_times matmul, triad_one, triad; /* triad_one: with one thread                   */
} bench_limits;

/* Measures: matmul by the fastest backend that is built; the triad a = b + s c with one thread and
 * all (bytes counted as STREAM does: two arrays read, one written).  WG_ENOMEM, or what the plan
 * says. */
wg_status bench_limits_measure(bench_limits *out, const bench_limits_options *options);

/* One product of f32 matrices [n, n] by the fastest backend that is built, to be run again and
 * again. */
typedef struct bench_square {
    wg_graph *graph;
    wg_plan *plan;
    int64_t n;
} bench_square;

/* n 0: as in bench_limits_options.  The caller calls bench_square_free in any case. */
wg_status bench_square_make(bench_square *out, int64_t n, int threads);
void bench_square_free(bench_square *p);
/* A bench_subject's run, with the bench_square as context. */
wg_status bench_square_run(void *product);

/* The limits: operations, bytes a second, at the best of the runs. */
double bench_matmul_rate(const bench_limits *limits);
double bench_memory_rate(const bench_limits *limits);

#endif
