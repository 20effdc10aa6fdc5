#include "measure/parameters.h"
#include "wengert/backends/plan.h"

#include <stdlib.h>

wg_status bench_draw_parameters(wg_graph *g, wg_store *store)
{
    size_t n = wg_graph_parameters(g, NULL, 0);
    wg_value **w = calloc(n + 1, sizeof *w);
    wg_plan *p = NULL;
    if (!w || !store) {
        free(w);
        return wg_graph_fail(g, WG_ENOMEM, WG_HERE, "bench", "no memory for %zu parameters", n),
               WG_ENOMEM;
    }
    wg_graph_parameters(g, w, n);
    wg_status status =
        wg_plan_create(&p, g, &(wg_plan_options){.outputs = w, .n_outputs = n, .store = store});
    wg_plan_free(p);
    free(w);
    return status;
}
