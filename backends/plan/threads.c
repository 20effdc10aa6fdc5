/* How many threads a run has, where the options leave it open, and each of its calls.
 *
 * To wake a team and to wait for it takes 2 to 5 us, milliseconds if another process has the core;
 * and what one core has written, another reads slowly.  So a plan runs on one thread unless its
 * large nodes together are worth a team; but then nodes of medium size use it too, since their
 * operands lie in the caches of all.  docs/notes/performance.md has the measurements. */
#include "backends/plan/planner.h"
#include "graph/threads.h"

#include <stdlib.h>

/* In floating-point operations and bytes together */
static const double WORTH_A_TEAM = 1 << 23, LARGE = 1 << 21, WORTH_SHARING = 1 << 15, FUNCTION = 32;

/* Whether each element costs some tens of operations, where FLOP are counted as one: functions such
 * as tanh, and random numbers. */
static bool is_function(const wg_node *n)
{
    const wg_op *op = n->op;
    if (op->family == WG_FAMILY_RANDOM || op == &wg_op_pow || op == &wg_op_atan2)
        return true;
    return (op->flags & WG_OP_ELEMENTWISE) && n->n_in == 1;
}

static double work_of(const wg_node *n)
{
    double elements = is_function(n) && n->n_out ? (double)wg_value_count(n->out[0]) : 0;
    return wg_node_flops(n) + wg_node_bytes(n) + FUNCTION * elements;
}

int wgi_threads_of_call(const wg_node *n, int threads)
{
    return work_of(n) < WORTH_SHARING ? 1 : threads;
}

bool wgi_pass_threads(wgi_planner *p)
{
    if (p->options.threads > 0) {
        p->options.threads = wgi_threads(p->options.threads);
        return true;
    }
    bool *needed = wgi_needed_nodes(p->g, p->marks);
    double large = 0;
    if (!needed)
        return wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    for (size_t i = 0; i < wg_graph_node_count(p->g); i++) {
        double work = needed[i] ? work_of(wg_graph_node(p->g, i)) : 0;
        large += work >= LARGE ? work : 0;
    }
    free(needed);
    p->options.threads = large >= WORTH_A_TEAM ? wgi_threads(0) : 1;
    return true;
}
