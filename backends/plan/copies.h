/* A copy of a graph in order of execution, in which nodes may be there several times: each reads
 * the last copies of its operands.  Neither barriers nor further edges are needed for that, since
 * after the pass nobody merges or moves nodes. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_COPIES_H
#define WG_PRIVATE_BACKENDS_PLAN_COPIES_H

#include "backends/plan/planner.h"

/* Of a graph `from`. */
typedef struct wgi_copies {
    const uint32_t *root; /* [values of from] */
    const bool *folded;   /* [nodes of from] computed when the plan is made; NULL: not known yet */
    wg_graph *to;
    wg_value **map; /* [values of from] the last copy of each */
    bool *again;    /* [nodes of to] computed for a second time; NULL: none so far */
    wg_phase phase; /* of the node for which values are computed again           */
    size_t again_room;
    wg_value **chain;
    size_t room;
} wgi_copies;

/* false without memory; wgi_copies_end in either case. */
bool wgi_copies_begin(wgi_copies *c, const wg_graph *from, const uint32_t *root,
                      const bool *folded);

/* Appends a copy of n, which is a node of `from` or has operands from there; views that its
 * operands are, of values that have been copied again, are copied again first.  NULL after an
 * error. */
wg_node *wgi_copies_add(wgi_copies *c, const wg_node *n);

/* Notes that `copy`, the last one made, computes a value for a second time, in the phase that it is
 * needed in; true if it does, false if `copy` is NULL or without memory. */
bool wgi_copies_mark_again(wgi_copies *c, wg_node *copy);

/* Makes map[v] a value of the last copy of v's root. */
bool wgi_copies_refresh(wgi_copies *c, wg_value *v);

/* If all went well p goes on with the copy; if not, it has the error, and returns false. */
bool wgi_copies_end(wgi_copies *c, wgi_planner *p, bool ok);

#endif
