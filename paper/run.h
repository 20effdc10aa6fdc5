/* What an experiment sees of its run. */
#ifndef WG_PAPER_RUN_H
#define WG_PAPER_RUN_H

#include "paper/paper.h"
#include "paper/state.h"
#include "wengert/backends/plan.h"

struct paper_run {
    const paper_options *options;
    bool small;
    paper_report *report;
    paper_state state;
    wg_error error;
};

/* One line of progress. */
void paper_tell(paper_run *r, const char *format, ...) WG_PRINTF(2, 3);

/* Work that makes n numbers. */
typedef wg_status paper_work(paper_run *r, const void *what, double *values, wg_error *error);

/* The n numbers of the piece of work `key`: from the state, or made now and kept.  Several threads
 * may call it at once, for different keys. */
wg_status paper_once(paper_run *r, const char *key, double *values, int n, paper_work *work,
                     const void *what);

/* Calls f(r, context, i) for i = 0, ..., n - 1, as many at a time as the run has threads; ends with
 * the first failure. */
wg_status paper_in_parallel(paper_run *r, int n, wg_status (*f)(paper_run *r, void *context, int i),
                            void *context);

/* A plan of the graph's outputs, or its message as the error. */
wg_status paper_plan(wg_plan **out, wg_graph *g, const wg_plan_options *options, wg_error *error);
/* A run of it, or its message as the error. */
wg_status paper_plan_run(wg_plan *p, wg_error *error);

#endif
