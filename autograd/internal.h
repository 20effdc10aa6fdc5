/* The inside of autograd/: what the walker, its coverage check, recomputation and the gradient
 * check share. */
#ifndef WG_AUTOGRAD_INTERNAL_H
#define WG_AUTOGRAD_INTERNAL_H

#include "wengert/graph/op.h"

/* A range of nodes [first, end) and which of them matter: a wanted value (wrt) leads to the node
 * and the node leads to y, through float values and through ops that have a derivative.  Wanted
 * values may lie before the range. */
typedef struct wgi_path {
    wg_graph *g;
    uint32_t first, end;             /* nodes                                       */
    uint32_t first_value, end_value; /* the values that these nodes make            */
    wg_value *const *wrt;
    size_t n_wrt;
    bool *matters; /* [end - first]                                                 */
    bool *reached; /* [end_value - first_value]: is among wrt, or leads from one    */
} wgi_path;

/* The path from wrt to y over the nodes [first, present end).  false without memory (the graph is
 * then in error).  Freed by wgi_path_free in either case. */
bool wgi_path_find(wgi_path *p, wg_graph *g, uint32_t first, wg_value *const *y, size_t n_y,
                   wg_value *const *wrt, size_t n_wrt);
void wgi_path_free(wgi_path *p);

/* v is made in the range. */
static inline bool wgi_path_holds(const wgi_path *p, const wg_value *v)
{
    return v->id >= p->first_value && v->id < p->end_value;
}

/* The first place of v in wrt; n_wrt if it is not wanted. */
size_t wgi_path_wrt_place(const wgi_path *p, const wg_value *v);

/* what[i], v, is of another graph than g: an error of both, since a program may check either.
 * (grad.c) */
void wgi_refuse_foreign(wg_graph *g, const char *who, const char *what, size_t i,
                        const wg_value *v);

/* A derivative with respect to some wanted value can flow through v. */
bool wgi_path_reaches(const wgi_path *p, const wg_value *v);

/* Every op that matters has a rule, or an expansion whose ops have; else the graph's error lists
 * all that have none.  Builds nothing in the graph. */
bool wgi_path_check_rules(const wgi_path *p);

/* ---- recomputation (recompute.c) ------------------------------------------------------------- */

typedef struct wgi_recompute {
    wg_node **node;   /* by id: the recomputed copy, NULL before its region is built; NULL: no scope
                         is marked */
    wg_value **value; /* by id, while a region is built: the copy, or the barrier before it */
    uint32_t end;     /* of the nodes that the walk covers     */
} wgi_recompute;

/* Nothing is allocated unless a scope of the graph is marked. */
bool wgi_recompute_open(wgi_recompute *r, const wgi_path *p);
void wgi_recompute_close(wgi_recompute *r);

/* The node that the rule of n may read: n itself, or, where n lies in a scope that is recomputed,
 * its copy.  The copies of n's region are built when its first cotangents `dy` arrive and wait for
 * them. */
wg_node *wgi_recompute_node(wgi_recompute *r, wg_node *n, wg_value *const *dy);

#endif
