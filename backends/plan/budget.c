/* A limit on memory: if a plan needs more than its options allow, values are dropped after a use
 * and computed again before the next one (recompute.h).
 *
 * The program is complete when this pass begins, with order, kernels, scratch and layout, so the
 * question is exact: which values of this list of steps.  The answer is a longer list, of which a
 * graph is made, and the passes from values on are run on that graph once more, in a fork of the
 * planner.  The simulation knows sums of bytes, the layout also has gaps: where it exceeds the
 * budget by them, the simulation gets less, in steps that grow, until the layout fits; then the
 * cheapest sequence is looked for between the two.  Less memory costs operations, and a layout may
 * exceed the budget by a few bytes at one sequence and by none at the next.
 *
 * A copy of a node has its op, attributes and operands, so it computes the same bits; a random op
 * has its key among them. */
#include "backends/plan/budget.h"
#include "backends/memory.h"
#include "backends/plan/occupancy.h"
#include "graph/error.h"

#include <stdlib.h>

enum { MOST_TRIES = 8, MORE = 8, SHOWN = 4 };

static size_t plus(size_t a, size_t b)
{
    return a + b < a ? SIZE_MAX : a + b;
}

/* What counts in the limit beside the buffer. */
static size_t fixed_bytes(const wgi_planner *p)
{
    return plus(plus(p->options.memory_elsewhere, p->program.library_bytes), p->layout.leaf_bytes);
}

static size_t bytes_of(const wgi_planner *p)
{
    return plus(fixed_bytes(p), p->layout.buffer_bytes);
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

/* The fork takes the place of p. */
static void adopt(wgi_planner *p, wgi_planner *fork)
{
    wgi_planner kept = *fork;
    wgi_planner_leave(p);
    *p = kept;
}

/* ---- the message ----------------------------------------------------------------------------- */

/* Reports the smallest limit that would do: the memory of p, which recomputes nothing, or that of
 * `least`, which may be p itself. */
static bool fail_too_small(wgi_planner *p, const wgi_planner *least)
{
    char text[512];
    wg_error e = {0};
    bool again = bytes_of(least) < bytes_of(p);
    least = again ? least : p;
    const wgi_layout *l = &least->layout;
    size_t n = 0;
    bool scratch = false;
    wgi_occupant *live = wgi_occupants_at_peak(&least->program, l, &n);
    wgi_error_set(&e, WG_ENOMEM,
                  "a memory limit of %zu byte%s is too small: %s%zu bytes are enough, %zu for "
                  "parameters, states, inputs and constants, %zu for other values and the gaps "
                  "between them",
                  p->options.memory, p->options.memory == 1 ? "" : "s",
                  again ? "with recomputation " : "", bytes_of(least), l->leaf_bytes,
                  l->buffer_bytes);
    if (least->program.library_bytes)
        wgi_error_add(&e, ", %zu for libraries of backends", least->program.library_bytes);
    if (p->options.memory_elsewhere)
        wgi_error_add(&e, ", %zu elsewhere", p->options.memory_elsewhere);
    for (size_t i = 0; i < n && i < SHOWN; i++)
        scratch = scratch || !live[i].value;
    if (scratch && p->options.threads > 1)
        wgi_error_add(&e, "; fewer threads than %d may need less scratch", p->options.threads);
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

/* The plan of the cheapest sequence in `bytes` takes the place of *least if it needs less memory.
 * false after an error. */
static bool try_less(wgi_planner *p, const wgi_steps *s, size_t bytes, wgi_planner *least)
{
    wgi_planner fork;
    wgi_sequence q;
    wgi_outcome outcome = wgi_recompute_search(s, bytes, &q);
    if (outcome != WGI_FITS)
        return outcome == WGI_TOO_LARGE || wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    bool ok = plan_sequence(&fork, p, s, &q);
    if (ok && bytes_of(&fork) < bytes_of(least))
        adopt(least, &fork);
    else
        wgi_planner_leave(&fork);
    wgi_sequence_free(&q);
    return ok;
}

/* With the least memory, if that is little enough.  The sequence that is live in the fewest bytes
 * need not have the smallest layout, so sequences of a little more are tried as well. */
static bool shrink_most(wgi_planner *p, const wgi_steps *s)
{
    wgi_planner least;
    wgi_sequence q;
    size_t bytes;
    if (s->n_steps == 0)
        return fail_too_small(p, p);
    if (wgi_recompute_least(s, &bytes, &q) != WGI_FITS) {
        wgi_sequence_free(&q);
        return wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    }
    bool ok = plan_sequence(&least, p, s, &q);
    wgi_sequence_free(&q);
    for (size_t i = 1; ok && i <= MORE && bytes_of(&least) > p->options.memory; i++)
        ok = try_less(p, s, bytes + bytes / 32 * i, &least);
    if (ok && bytes_of(&least) > p->options.memory)
        ok = fail_too_small(p, &least);
    if (ok)
        adopt(p, &least);
    else
        wgi_planner_leave(&least);
    return ok;
}

/* Where the search for a sequence is whose layout fits. */
typedef struct hunt {
    size_t low, high; /* a target of which a layout fits or that is too small, one that is too
                           large; targets are bytes for the simulation */
    size_t excess;    /* of the last layout */
    double cost;      /* of the best sequence */
    wgi_planner best; /* its plan */
    bool found;       /* there is one */
} hunt;

/* Plans the cheapest sequence in `target` bytes and keeps it if it is the best.  false after an
 * error. */
static bool try_target(hunt *h, wgi_planner *p, const wgi_steps *s, size_t target)
{
    wgi_planner fork;
    wgi_sequence q;
    wgi_outcome outcome = wgi_recompute_search(s, target, &q);
    if (outcome != WGI_FITS) {
        h->low = target;
        return outcome == WGI_TOO_LARGE || wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    }
    bool ok = plan_sequence(&fork, p, s, &q), fits = ok && bytes_of(&fork) <= p->options.memory,
         better = fits && (!h->found || q.cost < h->cost);
    h->excess = ok && !fits ? bytes_of(&fork) - p->options.memory : 0;
    *(fits ? &h->low : &h->high) = target;
    if (better && h->found)
        adopt(&h->best, &fork);
    else if (better)
        h->best = fork;
    else
        wgi_planner_leave(&fork);
    h->cost = better ? q.cost : h->cost;
    h->found |= better;
    wgi_sequence_free(&q);
    return ok;
}

/* The next target: a little less than was too large, then much less, then between. */
static size_t next_target(const hunt *h, int tries)
{
    size_t third = wgi_round_up(h->excess / 3), part = h->high >> (MOST_TRIES - tries),
           less = tries < 2 || third > part ? third : part;
    if (h->low)
        return h->low + (h->high - h->low) / 2;
    return less < h->high ? h->high - less : 0;
}

/* *fits: whether p fits now.  false after an error. */
static bool shrink(wgi_planner *p, const wgi_steps *s, bool *fits)
{
    size_t leaves = fixed_bytes(p), memory = p->options.memory,
           target = memory > leaves ? memory - leaves : 0;
    hunt h = {.high = target};
    bool ok = true;
    for (int i = 0; ok && i < MOST_TRIES && target > h.low; i++) {
        ok = try_target(&h, p, s, target);
        if (h.low == memory - leaves || (h.found && h.high - h.low < memory / 64))
            break;
        target = next_target(&h, i + 1);
    }
    *fits = ok && h.found;
    if (*fits)
        adopt(p, &h.best);
    else if (h.found)
        wgi_planner_leave(&h.best);
    return ok;
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
