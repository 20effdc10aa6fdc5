/* A search whose products are in integers of 8 bits: the parameters' integers lie in a store over
 * the caller's, and every graph is rewritten to read them. */
#include "wengert/models/quantize.h"
#include "decode/internal.h"

#include <stdlib.h>

/* Every product of the model, whichever of its graphs it stands in. */
static wg_status quantize_model(const wg_search *s, wg_quantized *out)
{
    wg_graph *g = wg_graph_new();
    const wg_transformer_inputs in = wg_transformer_inputs_of(g, 1, 1, 1);
    wg_transformer m = wg_transformer_begin(g, &s->config, false);
    wg_output(wg_transformer_loss(&m, &in, NULL), "loss");
    wg_status status = wg_quantize_products(out, g, NULL);
    wg_graph_free(g);
    return status;
}

wg_status wgi_search_integers(wg_search *s)
{
    if (!s->int8)
        return WG_OK;
    if (!s->quantizer) {
        wg_quantized q;
        wg_status status = quantize_model(s, &q);
        if (status == WG_OK)
            status = wgi_search_plan(s, &s->quantizer, q.weights, s->store);
        else
            wgi_search_fail(s, status, "%s", wg_status_text(status));
        wg_quantized_free(&q);
        if (status != WG_OK)
            return status;
    }
    return wgi_search_run_plan(s, s->quantizer);
}

/* A state that the quantizer does not fill would be all zeros. */
static wg_status check_filled(wg_search *s, const wg_graph *weights)
{
    wg_value *leaf, *v;
    for (size_t i = 0; i < wg_graph_assign_count(weights); i++) {
        wg_graph_assign_at(weights, i, &leaf, &v);
        if (!wg_store_find(s->store, leaf->name))
            return wgi_search_fail(s, WG_EINVAL, "nothing fills %s", leaf->name);
    }
    return WG_OK;
}

wg_status wgi_search_in_integers(wg_search *s, wg_graph **g, wg_value **const *values, size_t n)
{
    if (!s->int8 || wg_graph_status(*g) != WG_OK) /* what is wrong with it, making its plan tells */
        return WG_OK;
    wg_quantized q = {.graph = NULL};
    wg_value **map = calloc(wg_graph_value_count(*g) + 1, sizeof *map);
    wg_status status = map ? wg_quantize_products(&q, *g, map) : WG_ENOMEM;
    if (status != WG_OK)
        wgi_search_fail(s, status, "%s", wg_status_text(status));
    else
        status = check_filled(s, q.weights);
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
