/* Processes that run a step on request, so that steps of several programs can alternate and each
 * has a resident peak of its own.  A child writes lines to its standard output:
 *
 *     ready BYTES NAME    once it has planned: bytes of the plan's buffer (0 if it has none), and
 *                         the rest of the line is its name
 *     SECONDS PEAK        for each line that it reads: it ran a step; maximum bytes in memory yet
 *
 * It ends at the end of its input.
 *
 * Only one child runs at a time.  The others are stopped (SIGSTOP), and the parent ends its own
 * threads: threads that wait for work may spin (OMP_WAIT_POLICY=active, PyTorch), which would take
 * the processor from the step that is measured.  Children do not outlive their parent, however it
 * ends. */
#ifndef WG_MEASURE_CHILD_H
#define WG_MEASURE_CHILD_H

#include "measure/limits.h"
#include "measure/train_step.h"

#include <stdio.h>
#include <sys/types.h>

/* What is run: a configuration of wg_transformer_find on a batch. */
typedef struct bench_case {
    const char *config;
    bench_batch batch;
    int64_t vocabulary;
    int threads;
} bench_case;

enum { BENCH_MAX_RUNS = 1000 };

typedef struct bench_child {
    pid_t pid; /* 0: none */
    FILE *to, *from;
    char name[160];      /* or why the child could not start */
    double buffer, peak; /* bytes */
    double seconds[BENCH_MAX_RUNS];
    int runs;
} bench_child;

/* Starts this very program as a child for the case (its main hands such arguments to
 * bench_child_serve); or, with a `script`, the Python interpreter with that script.  Waits until it
 * is ready, and stops it; on failure false, and c->name is the reason. */
bool bench_child_start(bench_child *c, const bench_case *what, const char *python,
                       const char *script);
/* The same for any command that speaks as above, ended by NULL. */
bool bench_child_spawn(bench_child *c, char *const *argv);
/* Continues the child for two steps: one that wakes its threads and fills the caches, and one that
 * is counted if `counts`.  false if the child has ended. */
bool bench_child_run(bench_child *c, bool counts);
/* Median, minimum and maximum of the counted runs. */
bench_times bench_child_times(const bench_child *c);
/* The same for the ratios of two children that took turns: seconds of `slow` over those of `fast`
 * in the same round. */
bench_times bench_child_ratio(const bench_child *slow, const bench_child *fast);
void bench_child_end(bench_child *c);

/* True if this process was started as such a child; it has then served until the end of its input,
 * and *code is its exit code. */
bool bench_child_serve(int argc, char **argv, int *code);

/* For a program that is the child of bench_child_spawn: says that it is ready, and runs a step for
 * each line that it reads, until the end of its input. */
wg_status bench_child_answer(size_t buffer_bytes, wg_status (*run)(void *), void *context);

double bench_case_flops(const bench_case *c);

#endif
