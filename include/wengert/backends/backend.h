/* The interface of a backend: a const table of functions.  A plan asks an ordered list of backends,
 * node by node; the first that does not refuse prepares the kernel, unless it yields to a later
 * one.  The cpu backend is always last and refuses nothing that has a reference kernel. */
#ifndef WG_BACKENDS_BACKEND_H
#define WG_BACKENDS_BACKEND_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the structs and functions of this header and of wg_call and wg_node. */
enum { WG_BACKEND_ABI = 6 };

/** How a plan opens a backend. */
typedef struct wg_backend_config {
    int threads; /* of a run; at least 1 */
    /** The table being opened; one built at run time may be part of a struct with its own data. */
    const struct wg_backend *self;
    /** Parameters do not change between runs: a kernel may keep what it derives from one in the
     * first run, such as a packed copy. */
    bool fixed_parameters;
} wg_backend_config;

/** A kernel prepared for one node. */
typedef struct wg_kernel {
    const char *name; /* for reports: "brgemm:avx512"; static or in state */
    /** Must not allocate; reports by wg_call_fail.  Results are NaN where those of the reference
     * are, or a check for NaN would miss it. */
    void (*run)(wg_call *c);
    void *state;    /* the backend's own, handed back in wg_call.state, freed by finish */
    size_t scratch; /* bytes of wg_call.scratch that it needs */
    /** Bytes that a library behind it takes for itself, at most: code, buffers of a call.  In a
     * limit on memory, the largest of each backend's kernels counts. */
    size_t library;
} wg_kernel;

/** What a backend promises about the bits of its results.  Every backend promises that the same
 * node, operands, seed, step, number of threads and processor give the same bits in every run. */
typedef enum wg_reproducibility {
    WG_SAME_THREADS, /* only that: a sum may be divided among the threads */
    WG_ANY_THREADS   /* also the same bits at any number of threads: a run may give its calls one
                        thread, fewer than those of wg_backend_config, where cores are short */
} wg_reproducibility;

/** A backend.  `name`, `refuses` and `prepare` are required; other functions may be NULL. */
typedef struct wg_backend {
    uint32_t abi;                    /* WG_BACKEND_ABI    */
    const char *name;                /* "cpu", "onednn"   */
    const char *doc;                 /* one line          */
    wg_reproducibility reproducible; /* what it promises about equal bits */

    /** Makes the backend's state for one plan.  *state may stay NULL.  May fail with any status. */
    wg_status (*open)(void **state, const wg_backend_config *config);
    /** Frees the state; called once, after `finish` of every kernel. */
    void (*close)(void *state);
    /** NULL if the backend takes the node; otherwise the reason why not, a short static text.  A
     * pure function: the same answer each time, no side effects.  A composite op that every backend
     * refuses is expanded. */
    const char *(*refuses)(void *state, const wg_node *n);
    /** NULL if the backend wants the node; otherwise the reason, a short static text, why it would
     * leave the node to a later backend of the list other than cpu.  If no such backend takes the
     * node, this one gets it after all.  Called only for nodes that the backend does not refuse; a
     * pure function, like `refuses`. */
    const char *(*yields)(void *state, const wg_node *n);
    /** Fills *k when the plan is created.  WG_ENOMEM ends planning, so that a lack of memory never
     * decides which backend computes a node; after any other failure the plan asks the next
     * backend. */
    wg_status (*prepare)(void *state, const wg_node *n, wg_kernel *k);
    /** Frees k->state; may be NULL if prepare allocates nothing. */
    void (*finish)(void *state, wg_kernel *k);
    /** Called before each run, on the thread that runs it: to set floating-point modes, say. */
    void (*enter)(void *state);
    /** Called after each run, on the same thread. */
    void (*leave)(void *state);
} wg_backend;

/** The reference backend: readable kernels for f32 and f64, and for all dtypes where an op only
 * moves data.  Uses OpenMP; promises WG_ANY_THREADS. */
WG_API const wg_backend *wg_cpu_backend(void);

#ifdef __cplusplus
}
#endif
#endif
