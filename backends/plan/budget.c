/* A limit on memory: if a plan needs more than its options allow, values are dropped after a use
 * and computed again before the next one (recompute.h).
 *
 * The program is complete when this pass begins, with order, kernels, scratch and layout, so the
 * question is exact: which values of this list of steps.  The answer is a longer list, of which a
 * graph is made, and the passes from values on are run on that graph once more, in a fork of the
 * planner.  The simulation knows sums of bytes, the layout also has gaps: where it exceeds the
 * budget by them, the simulation gets a third of the excess less, and once more: gaps change with
 * the sequence, and less memory costs operations.
 *
 * A copy of a node has its op, attributes and operands, so it computes the same bits; a random op
 * has its key among them. */
#include "backends/plan/budget.h"
#include "backends/memory.h"
#include "backends/plan/occupancy.h"
#include "graph/error.h"

#include <stdlib.h>

enum { MOST_TRIES = 8, SHOWN = 4 };

/* What counts in the limit beside the buffer. */
static size_t fixed_bytes(const wgi_planner *p)
{
    return p->options.memory_elsewhere + p->layout.leaf_bytes;
}

static size_t bytes_of(const wgi_planner *p)
{
    return fixed_bytes(p) + p->layout.buffer_bytes;
}

/* The passes that describe the last graph. */
static bool describe(wgi_planner *p)
{
    return wgi_pass_values(p) && wgi_pass_fold(p) && wgi_pass_kernels(p) && wgi_pass_leaves(p) &&
           wgi_pass_memory(p);
}

static bool plan_sequence(wgi_planner *fork, const wgi_planner *p, const wgi_steps *s,
                          const wgi_sequence *q)
{
    if (!wgi_planner_fork(fork, p))
        return wgi_planner_fail(fork, WG_ENOMEM, "out of memory");
    return wgi_sequence_graph(fork, p, s, q) && describe(fork);
}

/* The fork takes the place of p if it fits; if it does not, it is gone. */
static bool accept(wgi_planner *p, wgi_planner *fork)
{
    bool fits = bytes_of(fork) <= p->options.memory;
    wgi_planner *gone = fits ? p : fork, kept = fits ? *fork : *p;
    wgi_planner_leave(gone);
    *p = kept;
    return fits;
}

/* ---- the message ----------------------------------------------------------------------------- */

/* Reports the smallest limit that would do: the memory of the fork. */
static bool fail_too_small(wgi_planner *p, const wgi_planner *least)
{
    char text[512];
    wg_error e = {0};
    const wgi_layout *l = &least->layout;
    size_t n = 0;
    wgi_occupant *live = wgi_occupants_at_peak(&least->program, l, &n);
    wgi_error_set(&e, WG_ENOMEM,
                  "a memory of %zu bytes is too small: with recomputation %zu are enough, %zu of "
                  "them for parameters, states, inputs and constants and %zu for other values and "
                  "the gaps between them",
                  p->options.memory, bytes_of(least), l->leaf_bytes, l->buffer_bytes);
    if (p->options.memory_elsewhere)
        wgi_error_add(&e, ", and %zu elsewhere", p->options.memory_elsewhere);
    for (size_t i = 0; i < n && i < SHOWN; i++)
        wgi_error_add(
            &e, "%s%zu bytes for %s", i ? "; " : ".  The largest of these: ", live[i].bytes,
            wg_node_message(live[i].node,
                            live[i].value ? wg_dtype_name(live[i].value->dtype) : "scratch", text,
                            sizeof text));
    free(live);
    wg_graph_fail(p->source, WG_ENOMEM, NULL, "wg_plan_create", "%s", e.text);
    return false;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* With the least memory, if that is little enough. */
static bool shrink_most(wgi_planner *p, const wgi_steps *s)
{
    wgi_planner least;
    wgi_sequence q;
    size_t bytes;
    if (wgi_recompute_least(s, &bytes, &q) != WGI_FITS) {
        wgi_sequence_free(&q);
        return wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    }
    bool ok = plan_sequence(&least, p, s, &q);
    wgi_sequence_free(&q);
    if (ok && bytes_of(&least) > p->options.memory)
        ok = fail_too_small(p, &least);
    if (ok)
        return accept(p, &least);
    wgi_planner_leave(&least);
    return false;
}

/* *fits: whether p fits now.  false after an error. */
static bool shrink(wgi_planner *p, const wgi_steps *s, bool *fits)
{
    size_t leaves = fixed_bytes(p), memory = p->options.memory;
    size_t target = memory > leaves ? memory - leaves : 0;
    *fits = false;
    for (int i = 0; i < MOST_TRIES && target && !*fits; i++) {
        wgi_planner fork;
        wgi_sequence q;
        wgi_outcome outcome = wgi_recompute_search(s, target, &q);
        if (outcome != WGI_FITS)
            return outcome == WGI_TOO_LARGE || wgi_planner_fail(p, WG_ENOMEM, "out of memory");
        bool ok = plan_sequence(&fork, p, s, &q);
        wgi_sequence_free(&q);
        if (!ok) {
            wgi_planner_leave(&fork);
            return false;
        }
        size_t excess = bytes_of(&fork) > memory ? bytes_of(&fork) - memory : 0;
        *fits = accept(p, &fork);
        size_t less = i + 2 < MOST_TRIES ? wgi_round_up(excess / 3) : excess;
        target = less < target ? target - less : 0;
    }
    return true;
}

bool wgi_pass_budget(wgi_planner *p)
{
    wgi_steps s;
    bool fits = false;
    if (!p->options.memory || bytes_of(p) <= p->options.memory)
        return true;
    bool ok = wgi_steps_of(p, &s) || wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    ok = ok && shrink(p, &s, &fits) && (fits || shrink_most(p, &s));
    wgi_steps_free(&s);
    return ok;
}
