/* What a backend is: a const table of functions.  A plan asks an ordered list of backends, node by
 * node; the first that does not refuse prepares the kernel.  The cpu backend is always last and
 * refuses nothing that has a reference kernel. */
#ifndef WG_BACKENDS_BACKEND_H
#define WG_BACKENDS_BACKEND_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WG_BACKEND_ABI = 2 };

typedef struct wg_backend_config {
    int threads;   /* at least 1 */
    bool show_nan; /* no kernel may turn NaN into a number: a run looks for the node that made it */
} wg_backend_config;

/** A kernel prepared for one node. */
typedef struct wg_kernel {
    const char *name;        /* for reports: "brgemm:avx512"; static or in state */
    void (*run)(wg_call *c); /* must not allocate; reports by wg_call_fail */
    void *state;             /* the backend's own, handed back in wg_call.state, freed by finish */
    size_t scratch;          /* bytes of wg_call.scratch that it needs */
} wg_kernel;

/** What a backend promises about the bits of its results.  Always: the same node, operands, seed,
 * step, number of
 *  threads and processor give the same bits, in this run and in the next. */
typedef enum wg_reproducibility {
    WG_SAME_THREADS, /* no more than that: a sum may be divided among the threads */
    WG_ANY_THREADS   /* and so does any other number of threads */
} wg_reproducibility;

/** name, refuses and prepare are needed; the other functions may be NULL. */
typedef struct wg_backend {
    uint32_t abi;     /* WG_BACKEND_ABI    */
    const char *name; /* "cpu", "onednn"   */
    const char *doc;  /* one line          */
    wg_reproducibility reproducible;

    /** Makes the backend's state for one plan.  *state may stay NULL.  May fail with any status. */
    wg_status (*open)(void **state, const wg_backend_config *config);
    /** Frees it; called once after every kernel's finish. */
    void (*close)(void *state);
    /** NULL: takes the node.  Otherwise why not, in a few words (static text).  Pure: same answer
     * each
     *  time, no side effects.  A composite op that every backend refuses is expanded. */
    const char *(*refuses)(void *state, const wg_node *n);
    /** Fills *k at plan time.  After a failure the plan asks the next backend. */
    wg_status (*prepare)(void *state, const wg_node *n, wg_kernel *k);
    /** Frees k->state; may be NULL if prepare allocates nothing. */
    void (*finish)(void *state, wg_kernel *k);
    /** Around each run, on the thread that runs it (for floating-point modes, say); may be NULL. */
    void (*enter)(void *state);
    void (*leave)(void *state);
} wg_backend;

/** The readable reference: f32 and f64 (movement also for the other dtypes), OpenMP;
 * WG_ANY_THREADS. */
WG_API const wg_backend *wg_cpu_backend(void);

#ifdef __cplusplus
}
#endif
#endif
