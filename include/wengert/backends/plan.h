/* A plan is a graph made ready to run: a private, simplified copy of it (dead code, common
 * subexpressions and constants removed, composites expanded where no backend takes them whole), a
 * kernel for each node, an order of execution, and one buffer in which values that are never alive
 * together share their place (several plans may share its memory: workspace.h).
 *
 *     wg_plan *p;
 *     if (wg_plan_create(&p, g, &(wg_plan_options){.store = store}) != WG_OK)
 *         return fprintf(stderr, "%s\n", wg_graph_message(g)), 1;
 *     memcpy(wg_plan_data(p, x), batch, bytes);
 *     if (wg_plan_run(p, step) != WG_OK)
 *         fprintf(stderr, "%s\n", wg_plan_message(p));
 *     printf("%g\n", *(float *)wg_plan_data(p, loss));
 */
#ifndef WG_BACKENDS_PLAN_H
#define WG_BACKENDS_PLAN_H

#include "wengert/backends/backend.h"
#include "wengert/backends/store.h"
#include "wengert/backends/workspace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_plan wg_plan;

/** Zero means the default in every field. */
typedef struct wg_plan_options {
    wg_value *const *outputs; /* what to compute; NULL: the graph's outputs and assignments */
    size_t n_outputs;
    const wg_backend *const *backends; /* asked in this order; cpu is asked last in any case */
    size_t n_backends;
    int threads;             /* 0: as many as OpenMP gives                           */
    wg_store *store;         /* NULL: the plan makes one of its own                  */
    wg_workspace *workspace; /* shared with other plans; NULL, or keep_all: its own  */
    uint64_t seed;           /* of random ops                                        */
    bool check_nonfinite;    /* a run stops at the first node that makes NaN, or infinity where no
                             operand had it (a mask of -inf passes) */
    bool poison;             /* dead memory is filled with 0xff, so that stale reads show */
    bool profile;            /* time each node                     */
    bool keep_all;           /* no reuse of buffers: every value can be read after a run */
    bool no_inplace, no_cse, no_fold, no_fuse; /* switch off one pass           */
} wg_plan_options;

/** Makes *out from g, which it does not keep: g may be freed, its values remain valid as names only
 * while
 *  it lives.  On failure *out is NULL and g's message says why. */
WG_API wg_status wg_plan_create(wg_plan **out, wg_graph *g, const wg_plan_options *options);
WG_API void wg_plan_free(wg_plan *p); /* NULL is allowed */

/** The memory of a leaf (to read or write) or of an output (to read after a run); NULL for other
 * values
 *  (unless keep_all).  Addresses stay the same for the life of the plan.
 *  An unneeded input has memory as well, so that filling it is harmless. */
WG_API void *wg_plan_data(wg_plan *p, const wg_value *v);

/** Lets an input leaf read the caller's memory (dense, 64-byte aligned, alive until the next bind);
 * NULL: the
 *  plan's own again.  WG_EINVAL, with a message, for other values and unaligned memory. */
WG_API wg_status wg_plan_bind(wg_plan *p, const wg_value *input, void *data);

/** One run: computes the outputs, then carries out the assignments.  `step` numbers the runs for
 * random ops:
 *  same store, inputs, seed and step give the same bits at any number of threads.  Allocates
 *  nothing.
 *
 *  WG_EDATA (a kernel refuses the numbers) and WG_ENONFINITE name the node in wg_plan_message.
 *  With check_nonfinite, keep_all or no_inplace no assignment is then carried out.  Without these,
 *  new values are written straight into leaves whose readers have all run, so a node that refuses
 *  its data late in a step may find some parameters updated already. */
WG_API wg_status wg_plan_run(wg_plan *p, uint64_t step);
WG_API const char *wg_plan_message(const wg_plan *p);
WG_API wg_store *wg_plan_store(wg_plan *p);

/* ---- what the plan says of itself ------------------------------------------------------------ */

typedef struct wg_plan_stats {
    /* sizes of buffer values are rounded up to 64 bytes */
    size_t nodes;        /* steps of a run                                          */
    size_t buffer_bytes; /* the one buffer: intermediate values and scratch         */
    size_t shared_bytes; /* of these, in a workspace that other plans use as well   */
    size_t value_bytes;  /* sum over all those values, as if none were shared       */
    size_t live_bytes;   /* largest sum of values alive together: the lower bound   */
    size_t leaf_bytes;   /* parameters, states, inputs, constants                   */
    double flops, bytes; /* of one run                                              */
} wg_plan_stats;

WG_API wg_plan_stats wg_plan_statistics(const wg_plan *p);

typedef struct wg_plan_step {
    const wg_node *node; /* of the plan's private graph            */
    const char *backend;
    const char *kernel;
    const char *refused; /* why earlier backends refused, "" if none did */
    double flops, bytes;
    double seconds; /* over all runs since create, if profiled */
    uint64_t runs;
    size_t offset; /* of result 0 in the buffer, SIZE_MAX if it is elsewhere */
    bool inplace;  /* result 0 took the place of an operand  */
} wg_plan_step;

WG_API size_t wg_plan_step_count(const wg_plan *p);
WG_API wg_plan_step wg_plan_step_at(const wg_plan *p, size_t i);
/** The plan's private graph, for printing and drawing.  Owned by the plan. */
WG_API const wg_graph *wg_plan_graph(const wg_plan *p);
/** One line a step: order, node, backend, kernel, offset, bytes, time; then the statistics and who
 * is alive
 *  at the peak. */
WG_API wg_status wg_plan_print(const wg_plan *p, FILE *file);

/** Proves that no two values alive at the same time overlap in the buffer; WG_EINVAL with a message
 * naming
 *  both if they do. */
WG_API wg_status wg_plan_check(wg_plan *p);

/** The first node that makes NaN or infinity (as check_nonfinite says), found by one run with checks
 * on;
 *  wg_plan_message says where.  Parameters and states are as before, outputs are those of this run.
 *  NULL if there is none, or if the run fails for another reason, which the message then says. */
WG_API const wg_node *wg_plan_first_nonfinite(wg_plan *p, uint64_t step);

#ifdef __cplusplus
}
#endif
#endif
