/* What a worker needs to create and run plans of a model's graphs. */
#ifndef WG_PRIVATE_DECODE_CONTEXT_H
#define WG_PRIVATE_DECODE_CONTEXT_H

#include "wengert/backends/workspace.h"
#include "wengert/decode/search.h"

typedef struct wgi_decode_context {
    const wg_search_model *model; /* the search's copy, which has been checked */
    int threads;                  /* of each plan; 0: all */
    int64_t least_rows;           /* of a step */
    wg_workspace *workspace;
    const volatile int *stop; /* of the call in progress: wg_search_options.stop */
    wg_error error;           /* the last failure */
} wgi_decode_context;

bool wgi_context_init(wgi_decode_context *c, const wg_search_model *model, int threads);
void wgi_context_clear(wgi_decode_context *c);

/* Creates a plan of the outputs and assignments of *g on `store`.  With int8, *g is first replaced
 * by its copy in integers, and each *values[i] that is not NULL by the value of the copy.  The
 * caller frees *g. */
wg_status wgi_context_plan(const wgi_decode_context *c, wg_plan **out, wg_graph **g,
                           wg_store *store, wg_value **const *values, size_t n, wg_error *error);
/* WG_ESTOPPED instead of a run if *c->stop is nonzero. */
wg_status wgi_context_run(wgi_decode_context *c, wg_plan *p);

/* With int8, quantises the parameters as they are now; otherwise does nothing.  *quantizer is the
 * plan for it, created at first use. */
wg_status wgi_context_quantize(wgi_decode_context *c, wg_plan **quantizer);

#endif
