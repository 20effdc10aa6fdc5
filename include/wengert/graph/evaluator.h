/* How code that does not know backends (the gradient check) computes values of a graph: a const
 * table of functions, supplied by the caller (wengert/backends/evaluate.h has one). */
#ifndef WG_GRAPH_EVALUATOR_H
#define WG_GRAPH_EVALUATOR_H

#include "wengert/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A table of functions that compute values of a graph. */
typedef struct wg_evaluator {
    /** Makes g ready to compute `outputs`.  On failure *run is NULL and g's message says why.  The
     *  caller destroys *run, before or after g. */
    wg_status (*create)(void **run, wg_graph *g, wg_value *const *outputs, size_t n_outputs);
    /** The memory of a leaf (to read or write) or of an output (to read after a run): dense,
     *  row-major, the same address each time.  NULL for other values.  A leaf that no output needs
     *  has memory too. */
    void *(*data)(void *run, const wg_value *v);
    /** Computes the outputs; equal leaves and step give equal bits.  Performs no assignments. */
    wg_status (*run)(void *run, uint64_t step);
    /** Why the last run failed; "" if it did not. */
    const char *(*message)(void *run);
    /** Frees run; NULL is allowed. */
    void (*destroy)(void *run);
} wg_evaluator;

#ifdef __cplusplus
}
#endif
#endif
