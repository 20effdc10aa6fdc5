/* A plan is a graph made ready to run: a private, simplified copy of it (without dead code and
 * common subexpressions, constant parts computed, composites expanded where no backend takes them
 * whole), a kernel for each node, an order of execution, and one buffer in which values that are
 * never live at the same time share memory (several plans may share the buffer: workspace.h).
 *
 *     wg_plan *p;
 *     if (wg_plan_create(&p, g, &(wg_plan_options){.store = store}) != WG_OK)
 *         return fprintf(stderr, "%s\n", wg_graph_message(g)), 1;
 *     memcpy(wg_plan_f32(p, x), batch, bytes);
 *     if (wg_plan_run(p, step) != WG_OK)
 *         fprintf(stderr, "%s\n", wg_plan_message(p));
 *     printf("%g\n", wg_plan_scalar(p, loss));
 */
#ifndef WG_BACKENDS_PLAN_H
#define WG_BACKENDS_PLAN_H

#include "wengert/backends/backend.h"
#include "wengert/backends/store.h"
#include "wengert/backends/workspace.h"
#include "wengert/graph/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A graph made ready to run. */
typedef struct wg_plan wg_plan;

/** How a plan is made.  Zero means the default in every field. */
typedef struct wg_plan_options {
    /** Values of the graph to compute; NULL: its outputs and assignments. */
    wg_value *const *outputs;
    size_t n_outputs; /**< length of `outputs` */
    /** Backends in the order in which they are asked; cpu is always asked last. */
    const wg_backend *const *backends;
    size_t n_backends; /**< length of `backends`; 0: all that are built in, fastest first */
    bool reference;    /**< the readable reference kernels of cpu only, without `backends` */
    /** The caller promises that from the first run on no parameter changes, as where a model only
     * predicts: kernels may then keep them in layouts of their own, a second copy that
     * wg_plan_stats does not count.  Without effect if the plan itself assigns to a parameter, or
     * with a limit of `memory`. */
    bool fixed_parameters;
    int threads;             /**< of a run, up to WG_MAX_THREADS; 0: as many as the process may
                                use, within that maximum, or one if the graph is too small to
                                gain from more, or in a parallel region of OpenMP; other values:
                                WG_EINVAL.  Never more than OMP_THREAD_LIMIT. */
    wg_store *store;         /**< parameters and states; NULL: the plan makes its own */
    wg_workspace *workspace; /**< shared with other plans; NULL or keep_all: its own */
    uint64_t seed;           /**< of random ops */
    /** Stop a run at the first node that has NaN, or that makes infinity from finite operands (a
     * mask of -inf passes); the message tells NaN that the node made from NaN that an input, a
     * parameter or a state held before the run.  A run with an input that was never filled fails
     * with WG_EINVAL. */
    bool check_nonfinite;
    /** Fill dead memory and inputs with 0xff, to expose reads of memory that was never written, and
     * check inputs as check_nonfinite does. */
    bool poison;
    bool profile;    /**< time each node */
    bool keep_all;   /**< do not reuse buffers: every value can be read after a run */
    bool no_inplace; /**< do not write results over operands */
    bool no_cse;     /**< do not merge equal nodes */
    bool no_fold;    /**< do not compute constant parts when the plan is created */
    bool no_fuse;    /**< do not replace patterns of nodes by fused ops, nor read transposed
                        matrices in place, nor recompute norms to lower the memory peak */
    /** Bytes that parameters, states, inputs, constants, buffer and the libraries of backends may
     * take (leaf_bytes, buffer_bytes and library_bytes of wg_plan_stats); 0: no limit.  A plan that
     * needs more drops values and recomputes them, at the lowest cost that it finds; the results
     * have the same bits.  WG_ENOMEM if even that does not suffice; the message gives the smallest
     * limit found that would.  The graph, the plan itself (some 5 KiB for each node) and the rest
     * of the process are not counted, but see memory_elsewhere. */
    size_t memory;
    /** Bytes of `memory` that others take, such as tensors of the store that this plan does not
     * have, or the process itself: so much less is left for the plan. */
    size_t memory_elsewhere;
} wg_plan_options;

/** Creates a plan of g.  The plan copies what it needs, so g may be freed before the plan; but
 * wg_plan_data and wg_plan_bind take values of g.  A store or a workspace of the options must
 * outlive it.  `options` may be NULL.  On failure *out is NULL and wg_graph_message(g) says why;
 * another call, with other options, may succeed. */
WG_API WG_MUST_USE wg_status wg_plan_create(wg_plan **out, wg_graph *g,
                                            const wg_plan_options *options);
/** Frees the plan; NULL is allowed. */
WG_API void wg_plan_free(wg_plan *p);

/** The memory of a leaf (to read or write), of an output (to read after a run) or, with keep_all,
 * of any value; otherwise NULL, and wg_plan_message says why.  `v` is a value of the graph that the
 * plan was made from.  Addresses stay the same for the life of the plan, so they may be asked for
 * before the first run; computed values are zeros until then (with `poison`, bytes of 0xff).  An
 * input that nothing reads has memory too, so that it may be filled. */
WG_API void *wg_plan_data(wg_plan *p, const wg_value *v);
/** The same for a value that must be f32: NULL and a message if it is of another dtype. */
WG_API float *wg_plan_f32(wg_plan *p, const wg_value *v);
/** The same for f64. */
WG_API double *wg_plan_f64(wg_plan *p, const wg_value *v);
/** The same for i32. */
WG_API int32_t *wg_plan_i32(wg_plan *p, const wg_value *v);
/** The same for i64. */
WG_API int64_t *wg_plan_i64(wg_plan *p, const wg_value *v);
/** The number in a value of one element, of any dtype, such as a loss; NaN and a message if v has
 * more elements or no memory, or is to be computed and no run has finished. */
WG_API double wg_plan_scalar(wg_plan *p, const wg_value *v);

/** Makes an input read the caller's memory, which is dense, 64-byte aligned and must stay valid
 * until the next bind or the end of the plan.  NULL: the plan's own memory again.  WG_EINVAL: the
 * value is not an input, or the memory is not aligned. */
WG_API WG_MUST_USE wg_status wg_plan_bind(wg_plan *p, const wg_value *input, void *data);

/** One run: computes the outputs, then carries out the assignments.  `step` numbers the runs for
 * random ops: what backends promise about equal bits (wg_reproducibility) holds for equal store,
 * inputs, seed and step.  Allocates nothing.
 *
 * After WG_EDATA (a kernel found bad data) and WG_ENONFINITE, wg_plan_message names the node.  With
 * check_nonfinite, keep_all or no_inplace no assignment is then carried out.  Without these, new
 * values are written straight into leaves that no later node reads; so if a node fails late in a
 * step, some parameters may have been updated already. */
WG_API WG_MUST_USE wg_status wg_plan_run(wg_plan *p, uint64_t step);
/** Why the last function of this plan failed, or "".  Valid until the next call. */
WG_API const char *wg_plan_message(const wg_plan *p);
/** The store from the options, or the plan's own, which lives as long as the plan. */
WG_API wg_store *wg_plan_store(wg_plan *p);

/* ---- reports --------------------------------------------------------------------------------- */

/** Sizes and costs.  Each value in the buffer counts rounded up to 64 bytes. */
typedef struct wg_plan_stats {
    int threads;          /**< of a run */
    size_t nodes;         /**< nodes that a run computes */
    size_t buffer_bytes;  /**< of the buffer: intermediate values and scratch */
    size_t shared_bytes;  /**< the part of it that is in a workspace shared with other plans */
    size_t value_bytes;   /**< sum over its values, as if no memory were reused */
    size_t live_bytes;    /**< largest sum of values live at once: a lower bound of the buffer */
    size_t leaf_bytes;    /**< parameters, states, inputs and constants */
    size_t tensor_bytes;  /**< the part of it that is in the store: parameters and states */
    size_t library_bytes; /**< what libraries behind kernels take for themselves, at most */
    double flops;         /**< floating-point operations of one run */
    double bytes;         /**< bytes that its nodes read and write */
    size_t again_nodes;   /**< those of `nodes` that recompute a value: norms over rows, and what
                             wg_plan_options.memory demands */
    size_t again_bytes;   /**< bytes of their results */
    double again_flops;   /**< floating-point operations of theirs, part of `flops` */
} wg_plan_stats;

/** The sizes and costs of a plan; zeros for NULL. */
WG_API wg_plan_stats wg_plan_statistics(const wg_plan *p);

/** One node of a run. */
typedef struct wg_plan_step {
    const wg_node *node; /**< of the plan's private graph */
    const char *backend; /**< its name */
    const char *kernel;  /**< its name, "" if it has none */
    const char *refused; /**< why earlier backends refused the node, "" if none did */
    double flops;        /**< floating-point operations of one run */
    double bytes;        /**< read and written in one run */
    double seconds;      /**< over all runs so far, if profiled; see wg_plan_reset_profile */
    uint64_t runs;       /**< number of these runs */
    size_t offset;       /**< of result 0 in the buffer, SIZE_MAX if it is elsewhere */
    bool inplace;        /**< result 0 is written over an operand */
    bool again;          /**< computes a value that was dropped (wg_plan_options.memory) */
} wg_plan_step;

/** The number of nodes that a run computes. */
WG_API size_t wg_plan_step_count(const wg_plan *p);
/** The i-th step; zeros past the end. */
WG_API wg_plan_step wg_plan_step_at(const wg_plan *p, size_t i);
/** Forgets the seconds and runs of all steps.  The first run of a plan is slower than later ones,
 * because of page faults and the start of threads: run it once, then reset, then measure. */
WG_API void wg_plan_reset_profile(wg_plan *p);
/** The plan's private graph, for printing and drawing.  Owned by the plan. */
WG_API const wg_graph *wg_plan_graph(const wg_plan *p);
/** Writes one line for each step: number, node, backend, kernel, offset, bytes, time; then the
 * statistics and the values that are live at the peak.  WG_EIO if writing fails. */
WG_API WG_MUST_USE wg_status wg_plan_print(const wg_plan *p, FILE *file);
/** Appends a page for a browser to `file`, as wg_graph_write_page does, of the plan's private
 * graph: with the order of execution, the kernel of each node, the bytes that are live at each step
 * and, if the plan was profiled and has run, times.  The same arguments and errors. */
WG_API WG_MUST_USE wg_status wg_plan_write_page(const wg_plan *p, const char *title, FILE *file,
                                                wg_error *error);

/** Proves that no two values that are live at the same time overlap in the buffer; WG_EINVAL and a
 * message that names both if they do. */
WG_API WG_MUST_USE wg_status wg_plan_check(wg_plan *p);

/** The first node that makes NaN or infinity (as check_nonfinite says), found by one run with
 * checks on; wg_plan_message says where.  If NaN entered the run through a leaf, that leaf is
 * returned: once updates have spread NaN, the node that made it can be found only with the
 * parameters from before those updates.  Parameters and states are as before, outputs are those of
 * this run.  NULL if there is none, or if the run fails for another reason, which is then the
 * message. */
WG_API const wg_node *wg_plan_first_nonfinite(wg_plan *p, uint64_t step);

#ifdef __cplusplus
}
#endif
#endif
