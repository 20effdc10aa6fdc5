/* The planner: how a plan is made from the user's graph.
 *
 * Planning is a list of passes (create.c), each of which reads and writes the planner.  The early
 * ones replace the graph by a better one; the later ones say how the last graph is run.  In the end
 * what a run needs moves into a wg_plan, and the rest is freed.
 *
 * Includes go one way: create.c knows the passes, a pass knows the planner, and the planner knows
 * the facts about graphs (facts.h), the backends and the plan. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_PLANNER_H
#define WG_PRIVATE_BACKENDS_PLAN_PLANNER_H

#include "backends/plan/facts.h"
#include "backends/plan/plan.h"

typedef struct wgi_planner {
    wg_plan_options options; /* with defaults filled in, the threads by their pass              */
    wg_graph *source;        /* the user's graph, which gets the error if planning fails        */

    /* The graph as the passes so far have made it.  At first it is the source itself, and `of` is
     * NULL; later it is the planner's own, and of[i] its value for value i of the source, NULL
     * where that was not needed. */
    wg_graph *g;
    wg_value **of;
    size_t n_source;
    wgi_marks marks; /* outputs and assignments of g; both arrays are the planner's */

    wgi_backends backends;
    wg_store *store;
    wg_workspace *workspace;

    /* Of the last graph, by node or value. */
    uint32_t *root;
    bool *folded; /* computed when the plan is made               */
    bool *again;  /* computed for a second time; NULL: none       */
    wgi_program program;
    wgi_layout layout;
    wgi_memory memory;
} wgi_planner;

/* ---- passes ---------------------------------------------------------------------------------- */

/* false after an error, which is then in the source. */
typedef struct wgi_pass {
    const char *name;
    bool (*run)(wgi_planner *p);
} wgi_pass;

bool wgi_pass_marks(wgi_planner *p);      /* marks.c: outputs and assignments, checked           */
bool wgi_pass_threads(wgi_planner *p);    /* threads.c: their number                             */
bool wgi_pass_backends(wgi_planner *p);   /* kernels.c: backends are opened                      */
bool wgi_pass_transposes(wgi_planner *p); /* transposes.c: products read matrices as they lie    */
bool wgi_pass_blocks(wgi_planner *p);     /* blocks.c: convolutions keep a layout of their own   */
bool wgi_pass_fuse(wgi_planner *p);       /* fuse.c: patterns of nodes become one                */
bool wgi_pass_rewrite(wgi_planner *p);    /* rewrite.c: only needed nodes, none twice, expanded  */
bool wgi_pass_order(wgi_planner *p);      /* order.c: the nodes of g are in order of execution   */
bool wgi_pass_elementwise(
    wgi_planner *p); /* elementwise.c: elementwise nodes are computed strip by strip */
bool wgi_pass_norms(wgi_planner *p);    /* norms.c: their results are not held across the peak */
bool wgi_pass_values(wgi_planner *p);   /* values.c: tables of the values of g, now final      */
bool wgi_pass_fold(wgi_planner *p);     /* fold.c: constant nodes are computed                 */
bool wgi_pass_kernels(wgi_planner *p);  /* kernels.c: a prepared kernel for each other node    */
bool wgi_pass_leaves(wgi_planner *p);   /* leaves.c: storages of parameters, states, inputs    */
bool wgi_pass_memory(wgi_planner *p);   /* liveness.c: storages and offsets of results         */
bool wgi_pass_budget(wgi_planner *p);   /* budget.c: values are dropped until all of it fits   */
bool wgi_pass_allocate(wgi_planner *p); /* allocate.c: the memory itself                       */

/* All passes, in the order in which they run (create.c). */
const wgi_pass *wgi_passes(size_t *count);

/* ---- the planner (create.c) ------------------------------------------------------------------ */

/* A planner for g: passes can run.  false after an error, which is then in g. */
bool wgi_planner_open(wgi_planner *p, wg_graph *g, const wg_plan_options *options);
/* Moves what a run needs into *plan, which was zero, and frees the rest.  A planner of which not
 * all passes have run leaves a plan that can only be freed. */
void wgi_planner_close(wgi_planner *p, wg_plan *plan);

/* ---- for passes (planner.c) ------------------------------------------------------------------ */

/* Sticks an error to the source; returns false. */
bool wgi_planner_fail(wgi_planner *p, wg_status status, const char *format, ...) WG_PRINTF(3, 4);
/* The same with the error of g, which may be NULL; without one, memory is out. */
bool wgi_planner_fail_as(wgi_planner *p, const wg_graph *g);
/* The results are more bytes than are counted. */
bool wgi_planner_fail_results(wgi_planner *p);

/* Another planner of what p has: with marks and a map of its own, and without what is known of the
 * last graph, which stays that of p.  false without memory; wgi_planner_leave in either case. */
bool wgi_planner_fork(wgi_planner *fork, const wgi_planner *p);
/* Frees what a fork has of its own, or all that p has where the fork takes its place. */
void wgi_planner_leave(wgi_planner *p);

/* What runs assign to and readers still want is copied first (old_values.c).  false without
 * memory. */
bool wgi_save_old_values(wgi_planner *p);

/* Goes on with `to`, in which map[id] stands for the values of g: outputs, assignments and p->of
 * move there.  Takes both over, and frees g if it was the planner's. */
void wgi_planner_adopt(wgi_planner *p, wg_graph *to, wg_value **map);
/* The end of a pass: that if all went well and there is a new graph; without one, nothing changes;
 * and otherwise the error of `to` sticks to the source.  Takes both over.  Returns ok. */
bool wgi_planner_end(wgi_planner *p, bool ok, wg_graph *to, wg_value **map);

#endif
