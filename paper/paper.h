/* Claims of "Attention Is All You Need" (Vaswani et al. 2017) as experiments. */
#ifndef WG_PAPER_PAPER_H
#define WG_PAPER_PAPER_H

#include "paper/report.h"

/* Zero means the default in every field. */
typedef struct paper_options {
    bool small;         /* the form of some seconds, which the tests run */
    const char *folder; /* keeps what is done (paper/state.h); NULL: nothing is kept */
    int threads;        /* 0: what the process may use */
    void (*tell)(void *context, const char *line); /* progress; NULL: nobody listens */
    void *context;
} paper_options;

typedef struct paper_run paper_run; /* paper/run.h */

typedef struct paper_experiment {
    const char *name, *claim;
    wg_status (*run)(paper_run *r); /* fills the report; on failure the error */
} paper_experiment;

/* The i-th experiment; NULL past the end. */
const paper_experiment *paper_experiment_at(size_t i);
/* The one of that name, or NULL. */
const paper_experiment *paper_experiment_find(const char *name);

/* Runs it.  The caller frees the report, also after a failure.  Fails as the state's folder, a
 * graph, a plan or a training does. */
wg_status paper_experiment_run(const paper_experiment *e, const paper_options *options,
                               paper_report *report, wg_error *error);

#endif
