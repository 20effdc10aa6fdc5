/* Plans that bench_kernels times in turn, and its tables that are files of their own. */
#ifndef WG_BENCH_SUBJECTS_H
#define WG_BENCH_SUBJECTS_H

#include "measure/timing.h"
#include "wengert/backends/plan.h"

/* An input in f32. */
wg_value *bench_input(wg_graph *g, const char *name, wg_shape shape);
/* Gradients, as outputs "d0", "d1", ... */
void bench_output_gradients(wg_value *const *dx, int n);

/* The plan of g on these backends, inputs filled with small numbers; NULL after a message. */
wg_plan *bench_plan_on(wg_graph *g, const wg_backend *const *backends, size_t n, bool fuse);
/* On all built-in backends. */
wg_plan *bench_plan_of(wg_graph *g, bool fuse);

/* A bench_subject's run, with the plan as context, and how often it is run. */
wg_status bench_run_plan(void *plan);
extern const bench_schedule bench_plan_schedule;

/* Times n plans in turn, on one thread in CPU time; false after a message. */
bool bench_time_plans(wg_plan **plan, int n, bench_times *times);

/* Tables of rows.c: what is bound by memory, against its bandwidth; false after a message. */
bool bench_rows(void);
bool bench_planes(void);
/* The table of chains.c. */
bool bench_chains(void);

#endif
