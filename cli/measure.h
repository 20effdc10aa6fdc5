/* Shared by the commands that measure: limits of the machine, times of plans, and their output. */
#ifndef WG_CLI_MEASURE_H
#define WG_CLI_MEASURE_H

#include "measure/limits.h"
#include "cli/backends.h"
#include "graph/json.h"

/* Measures the machine; complains and returns an exit code other than EXIT_OK if that fails. */
int measure_limits(bench_limits *limits, int threads);
void print_limits(const bench_limits *limits);
void json_limits(wgi_json *j, const bench_limits *limits); /* as the JSON member "limits" */

void json_times(wgi_json *j, const char *key, const bench_times *times);

/* The exit code of timing plans that ended with `status`.  Unless that is WG_OK it complains, with
 * the message of the plan that failed if one has some. */
int code_of_times(wg_status status, const char *what, const wg_plan *const plan[], size_t n);

/* Prints the time of a profiled plan by op and kernel, the longest first; an exit code. */
int print_profile(const wg_plan *p, const char *name);
int json_profile(wgi_json *j, const wg_plan *p); /* as the JSON member "profile" */

/* Prints what the plan computes again by scope, if it does. */
void print_again(const wg_plan *p, const char *name);
void json_again(wgi_json *j, const wg_plan_stats *s); /* as members "again_..." */

/* Draws the integers of v from [lo, hi), floats from (lo, hi), into data: the same numbers each
 * time. */
void fill_random(const wg_value *v, void *data, double lo, double hi, uint64_t *state);

int bench_op(int argc, char **argv);
int bench_train_step(int argc, char **argv);
int bench_model(int argc, char **argv);

#endif
