/* A run on several machines: one process on each, all with the same program, numbered from 0.
 *
 *     wg_ranks *ranks;
 *     if (wg_ranks_open(&ranks, NULL, &error) != WG_OK)               (once, at the beginning)
 *         return fail(error.text);
 *     ...
 *     wg_gradients d = wg_grad_all(loss);
 *     wg_all_reduce_gradients(d.grads, d.n, NULL);                    (in the graph of an update)
 *     ...
 *     wg_backend_list list = wg_ranks_backends(ranks);                (for the plan)
 *     wg_plan_create(&plan, g, &(wg_plan_options){.backends = list.backend,
 *                                                 .n_backends = list.count});
 *
 * Each rank takes batches of its own (wg_ranks_rank), all begin with the same parameters, and so
 * all end with the same ones.  `mpirun -n 4 --bind-to none ./program` starts four ranks.  The
 * trainer does all of it by wg_trainer_options.ranks.
 *
 * Messages travel in a thread of their own, by an engine that is loaded when it is asked for: the
 * library itself is not linked with MPI.  A rank of which nothing is heard for 20 seconds ends the
 * job, with a message that names it.  All functions but wg_ranks_rank, _count, _name and _waited
 * are called on all ranks in the same order, on each by one thread at a time. */
#ifndef WG_DISTRIBUTED_RANKS_H
#define WG_DISTRIBUTED_RANKS_H

#include "wengert/backends/load.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The processes of a run, seen from one of them. */
typedef struct wg_ranks wg_ranks;

/** Where wg_ranks_open looks first for its engines: the environment variable with a folder. */
#define WG_ENGINES_VARIABLE "WENGERT_ENGINES"

/** Joins the other processes.  `engine` is "openmpi", "mpich", "mpi" (that of these which has
 * started the process) or the path of a shared object; NULL: "mpi".  A process that was started
 * alone is rank 0 of 1.  The caller calls wg_ranks_close.  On failure *out is NULL:
 * WG_EUNSUPPORTED (the engine was not built, and the message says what to install), WG_EINVAL (it
 * is no engine), WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_ranks_open(wg_ranks **out, const char *engine, wg_error *error);
/** Waits for all ranks to come here, and leaves; plans with its backend must be freed before.  NULL
 * is allowed. */
WG_API void wg_ranks_close(wg_ranks *r);
/** Ends the processes of all ranks, this one included, after printing "rank 2 (host): what" to
 * standard error: for a failure that the others cannot know of. */
WG_API void wg_ranks_abort(wg_ranks *r, const char *what);

/** The number of this process, from 0. */
WG_API int wg_ranks_rank(const wg_ranks *r);
/** How many processes there are. */
WG_API int wg_ranks_count(const wg_ranks *r);
/** "rank 1 (node7)", with the host's name; lives as long as r. */
WG_API const char *wg_ranks_name(const wg_ranks *r, int rank);
/** Seconds that kernels have waited for sums so far: what did not overlap with computation. */
WG_API double wg_ranks_waited(const wg_ranks *r);
/** Says what this rank does from now on, for the message if nothing more is heard of it. */
WG_API void wg_ranks_doing(wg_ranks *r, const char *format, ...) WG_PRINTF(2, 3);

/** Everybody's bytes, `bytes` from each rank, in the order of ranks into `all` (on every rank). */
WG_API void wg_ranks_gather(wg_ranks *r, const void *own, size_t bytes, void *all);
/** data[0..bytes) of the rank `root`, on every rank. */
WG_API void wg_ranks_broadcast(wg_ranks *r, void *data, size_t bytes, int root);
/** Each of n numbers becomes its sum over the ranks, added in their order.  WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_ranks_sum(wg_ranks *r, double *x, size_t n, wg_error *error);
/** Gathers what each rank has a part of: n arrays, data[i] of bytes[i], are seen as one vector, of
 * which rank r has the bytes from cut[r] up to cut[r + 1] and gets all others.  `cut` has an entry
 * for each rank and one more: from 0 to the sum of `bytes`, and nowhere decreasing.  All but the
 * contents is the same on all ranks.  WG_ENOMEM, on all ranks. */
WG_API WG_MUST_USE wg_status wg_ranks_share(wg_ranks *r, void *const *data, const size_t *bytes,
                                            size_t n, const size_t *cut, wg_error *error);
/** The status of the first rank whose own is not WG_OK, with its error, whose text then begins with
 * the name of that rank; WG_OK if there is none.  Ranks that must fail together ask it. */
WG_API wg_status wg_ranks_agree(wg_ranks *r, wg_status own, wg_error *error);

/** The backend that carries wg_all_reduce of f32 and f64; it refuses all else.  Lives as long as
 * r. */
WG_API const wg_backend *wg_ranks_backend(const wg_ranks *r);
/** That backend and all built-in ones: for wg_plan_options. */
WG_API wg_backend_list wg_ranks_backends(const wg_ranks *r);

/** How gradients are summed over ranks.  Zero means the default in every field. */
typedef struct wg_reduce_options {
    size_t bucket_bytes; /**< gradients are summed in parts of about this size; 0: 8 MiB */
    /** WG_BF16: gradients of f32 travel as bf16, half the bytes.  Each rank's part is rounded once
     * to 8 bits, the parts are added in f32, and the sum is rounded once more; all ranks get the
     * same bits, which depend on the number of ranks.  0: as they are. */
    wg_dtype wire;
} wg_reduce_options;

/** wg_all_reduce of the gradients of a loss, in place: in buckets, from the last gradient to the
 * first, since the last parameters of a model have their gradients first.  Uses the buckets from 1
 * on; returns the number that is free after them.  `options` may be NULL. */
WG_API int64_t(wg_all_reduce_gradients)(const char *at, wg_value **grads, size_t n,
                                        const wg_reduce_options *options);
#define wg_all_reduce_gradients(...) wg_all_reduce_gradients(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
