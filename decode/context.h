/* What plans of a model's graphs are made and run with. */
#ifndef WG_PRIVATE_DECODE_CONTEXT_H
#define WG_PRIVATE_DECODE_CONTEXT_H

#include "wengert/backends/workspace.h"
#include "wengert/decode/search.h"

typedef struct wgi_decode_context {
    const wg_search_model *model; /* the search's copy, which has been checked */
    int threads;                  /* of each plan; 0: as many as there are     */
    wg_workspace *workspace;
    wg_error error; /* of what failed last */
} wgi_decode_context;

bool wgi_context_init(wgi_decode_context *c, const wg_search_model *model, int threads);
void wgi_context_clear(wgi_decode_context *c);

/* Makes a plan of the outputs and assignments of *g on `store`.  In 8 bits *g is first replaced by
 * its copy in integers, and each *values[i] that is not NULL by the copy's.  The caller frees
 * *g. */
wg_status wgi_context_plan(const wgi_decode_context *c, wg_plan **out, wg_graph **g,
                           wg_store *store, wg_value **const *values, size_t n, wg_error *error);
wg_status wgi_context_run(wgi_decode_context *c, wg_plan *p);

/* In 8 bits quantises the parameters as they are now; else does nothing.  *quantizer is the plan
 * for it, made the first time. */
wg_status wgi_context_quantize(wgi_decode_context *c, wg_plan **quantizer);

#endif
