#include "decode/int8.h"
#include "graph/error.h"
#include "models/parameters.h"
#include "wengert/models/quantize.h"

#include <stdlib.h>

wg_status wgi_int8_quantizer(const wg_search_model *model, wg_graph **out, wg_error *error)
{
    wg_quantized q;
    wg_graph *g = wgi_transformer_parameters(model->config);
    wg_status status = wg_quantize_products(&q, g, NULL);
    wg_graph_free(g);
    *out = q.weights;
    q.weights = NULL;
    wg_quantized_free(&q);
    return status == WG_OK ? status : wgi_error_set(error, status, "%s", wg_status_text(status));
}

/* A state that the quantizer does not fill would be all zeros. */
static wg_status check_filled(const wg_search_model *model, const wg_graph *weights,
                              wg_error *error)
{
    wg_value *leaf, *v;
    for (size_t i = 0; i < wg_graph_assign_count(weights); i++) {
        wg_graph_assign_at(weights, i, &leaf, &v);
        if (!wg_store_find(model->store, leaf->name))
            return wgi_error_set(error, WG_EINVAL, "the store has no state %s, which int8 needs",
                                 leaf->name);
    }
    return WG_OK;
}

wg_status wgi_int8_rewrite(const wg_search_model *model, wg_graph **g, wg_value **const *values,
                           size_t n, wg_error *error)
{
    if (wg_graph_status(*g) != WG_OK)
        return WG_OK;
    wg_quantized q = {.graph = NULL};
    wg_value **map = calloc(wg_graph_value_count(*g) + 1, sizeof *map);
    wg_status status = map ? wg_quantize_products(&q, *g, map) : WG_ENOMEM;
    if (status != WG_OK)
        wgi_error_set(error, status, "%s", wg_status_text(status));
    else
        status = check_filled(model, q.weights, error);
    if (status == WG_OK) {
        for (size_t i = 0; i < n; i++)
            if (*values[i])
                *values[i] = map[(*values[i])->id];
        wg_graph_free(*g);
        *g = q.graph;
        q.graph = NULL;
    }
    wg_quantized_free(&q);
    free(map);
    return status;
}
