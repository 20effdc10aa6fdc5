/* The inside of a plan: for the files backends/plan*.c, run.c and report.c, and for the tests that
 * break plans on purpose.
 *
 *   plan_rewrite.c   the user's graph -> a private one: what is needed, merged, expanded
 *   plan.c           the public face */
#ifndef WG_BACKENDS_PLAN_INTERNAL_H
#define WG_BACKENDS_PLAN_INTERNAL_H

#include "backends/plan.h"
#include "backends/store_internal.h"

/* A backend with its state for this plan. */
typedef struct wg_open_backend {
    const wg_backend *backend;
    void *state;
} wg_open_backend;

/* A node that runs. */
typedef struct wg_work {
    const wg_node *node;
    const wg_open_backend *by;
    wg_kernel kernel;
    const char *refused;
    wg_call call;
    double seconds;
    uint64_t runs;
} wg_work;

typedef struct wg_copy { /* of an assignment, at the end of a run */
    void *to;
    const void *from;
    size_t bytes;
} wg_copy;

struct wg_plan {
    wg_plan_options options;
    const wg_graph *source; /* its address only: it may be gone */
    size_t n_source;        /* values of the source             */
    wg_value **of;          /* [n_source] private value, NULL where not needed */
    wg_graph *g;            /* private                          */
    wg_value **outputs;     /* private values                   */
    size_t n_outputs;
    wg_value **assign; /* pairs leaf, value                */
    size_t n_assigns;
    wg_open_backend *backends;
    size_t n_backends;
    wg_store *store, *own_store;
    wg_work *work;
    size_t n_work;
    void **slots; /* operands and results of all work */
    size_t n_slots;
    void **data; /* [values of g] memory of each     */
    char *buffer, *leaves;
    void *scratch;
    wg_copy *copies;
    size_t n_copies;
    char call_message[256];
    char message[1024];
};

/* Sticks an error of plan creation to the source graph; returns false. */
bool wg_plan_refuse(wg_graph *source, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

/* p->g, p->of, p->outputs and p->assign from the source.  false after an error in `source`. */
bool wg_plan_rewrite(wg_plan *p, wg_graph *source);

#endif
