/* The measured limits of the machine, with which programs compare their rates. */
#ifndef WG_MEASURE_LIMITS_H
#define WG_MEASURE_LIMITS_H

#include "measure/timing.h"
#include "wengert/backends/plan.h"

/* Zero means the default in every field. */
typedef struct bench_limits_options {
    int threads;         /* default: what the process may use */
    int64_t matmul_size; /* 2048; plain kernels: less, if it took over two seconds       */
    size_t triad_bytes;  /* of an array: as the last-level cache, within 64 to 256 MiB   */
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

/* One product of f32 matrices [n, n] by the fastest backend that is built, to be run repeatedly. */
typedef struct bench_square {
    wg_graph *graph;
    wg_plan *plan;
    int64_t n;
} bench_square;

/* n = 0 is the default of bench_limits_options.  Call bench_square_free even after a failure. */
wg_status bench_square_make(bench_square *out, int64_t n, int threads);
void bench_square_free(bench_square *p);
/* A bench_subject's run, with the bench_square as context. */
wg_status bench_square_run(void *product);

/* The instruction set of the kernels, "AVX2" or "AVX2, capped by WENGERT_MAX_CPU_ISA". */
const char *bench_isa_text(char *text, size_t size);

/* The limits, from the best run: operations per second, bytes per second. */
double bench_matmul_rate(const bench_limits *limits);
double bench_memory_rate(const bench_limits *limits);

#endif
