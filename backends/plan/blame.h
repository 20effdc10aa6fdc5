/* Which step of a fused_elementwise made a number that is not finite.  Its kernel does not keep the
 * values between steps, and may have overwritten what it read; so operands that a call overwrites
 * are copied before, and afterwards the steps are computed again for the one element. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_BLAME_H
#define WG_PRIVATE_BACKENDS_PLAN_BLAME_H

#include "backends/plan/plan.h"
#include "ops/steps.h"

/* Operands of one call. */
typedef struct wgi_witness {
    const void *in[WGI_STEP_OPERANDS];
    void *copy[WGI_STEP_OPERANDS]; /* of those that are overwritten */
    bool complete;
} wgi_witness;

/* Before the call; of another op, or without memory, the witness is not complete. */
void wgi_witness_begin(wgi_witness *w, const wgi_work *work);
void wgi_witness_end(wgi_witness *w);

/* The step to blame for element `at` of the results, in a graph of its own that p keeps; NULL if
 * the witness is not complete, or no step can be found. */
const wg_node *wgi_blame_step(wg_plan *p, const wgi_work *work, const wgi_witness *w, int64_t at);

#endif
