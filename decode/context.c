#include "decode/context.h"
#include "backends/fixed.h"
#include "decode/int8.h"
#include "decode/sizes.h"
#include "graph/error.h"
#include "graph/flag.h"
#include "wengert/backends/load.h"
#include "wengert/backends/simd.h"

static bool is_built_in(const wg_backend *b)
{
    const wg_backend_list all = wg_backend_list_built_in();
    size_t i = 0;
    while (i < all.count && all.backend[i] != b)
        i++;
    return i < all.count;
}

/* Whether products are left to `simd` where others would add up in another order: it is there, and
 * nobody's backend beside it. */
static bool has_own_products(const wg_search_model *m)
{
    bool simd = m->n_backends == 0, others = false;
    for (size_t i = 0; i < m->n_backends; i++) {
        simd = simd || m->backends[i] == wg_simd_backend();
        others = others || !is_built_in(m->backends[i]);
    }
    return simd && !others;
}

/* Products of a few terms with a fixed matrix have one order for any number of rows
 * (backends/fixed.h), and a row of a small model takes less time than WGI_LEAST_ROWS.  That of a
 * large one does not: it waits for the weights. */
static int64_t least_rows(const wg_search_model *m)
{
    const wg_transformer_config *c = m->config;
    bool few = c->d_model <= WGI_FEW_TERMS && c->d_ff <= WGI_FEW_TERMS &&
               c->heads * c->d_v <= WGI_FEW_TERMS;
    bool plain = c->dtype == WG_F32 && c->attention != WG_ATTENTION_ADDITIVE && !m->int8;
    return m->fixed && few && plain && has_own_products(m) ? 1 : WGI_LEAST_ROWS;
}

bool wgi_context_init(wgi_decode_context *c, const wg_search_model *model, int threads)
{
    *c = (wgi_decode_context){.model = model,
                              .threads = threads,
                              .least_rows = least_rows(model),
                              .workspace = wg_workspace_new()};
    return c->workspace != NULL;
}

void wgi_context_clear(wgi_decode_context *c)
{
    wg_workspace_free(c->workspace);
    c->workspace = NULL;
}

static wg_status create_plan(const wgi_decode_context *c, wg_plan **out, wg_graph *g,
                             wg_store *store, wg_error *error)
{
    const wg_plan_options options = {
        .backends = c->model->backends,
        .n_backends = c->model->n_backends,
        .threads = c->threads,
        .fixed_parameters = c->model->fixed,
        .store = store,
        .workspace = c->workspace,
    };
    wg_status status = wg_plan_create(out, g, &options);
    if (status != WG_OK)
        wgi_error_set(error, status, "%s", g ? wg_graph_message(g) : "out of memory");
    return status;
}

wg_status wgi_context_plan(const wgi_decode_context *c, wg_plan **out, wg_graph **g,
                           wg_store *store, wg_value **const *values, size_t n, wg_error *error)
{
    wg_status status = WG_OK;
    if (c->model->int8)
        status = wgi_int8_rewrite(c->model, g, values, n, error);
    return status == WG_OK ? create_plan(c, out, *g, store, error) : status;
}

wg_status wgi_context_run(wgi_decode_context *c, wg_plan *p)
{
    if (wgi_flag(c->stop))
        return wgi_error_set(&c->error, WG_ESTOPPED, "stopped");
    wg_status status = wg_plan_run(p, 0);
    return status == WG_OK ? status : wgi_error_set(&c->error, status, "%s", wg_plan_message(p));
}

wg_status wgi_context_quantize(wgi_decode_context *c, wg_plan **quantizer)
{
    if (!c->model->int8)
        return WG_OK;
    if (!*quantizer) {
        wg_graph *g;
        wg_status status = wgi_int8_quantizer(c->model, &g, &c->error);
        if (status == WG_OK)
            status = create_plan(c, quantizer, g, c->model->store, &c->error);
        wg_graph_free(g);
        if (status != WG_OK)
            return status;
    }
    return wgi_context_run(c, *quantizer);
}
