/* The graph of a sequence of steps. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_BUDGET_H
#define WG_PRIVATE_BACKENDS_PLAN_BUDGET_H

#include "backends/plan/planner.h"
#include "backends/plan/recompute.h"

/* Makes the graph of q, a sequence of s, the steps of p's program, the last graph of `fork`, a fork
 * of p.  false after an error, which is then in the source. */
bool wgi_sequence_graph(wgi_planner *fork, const wgi_planner *p, const wgi_steps *s,
                        const wgi_sequence *q);

#endif
