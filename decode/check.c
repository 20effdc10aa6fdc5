#include "decode/check.h"
#include "graph/error.h"
#include "graph/threads.h"
#include "models/parameters.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <string.h>

/* ---- the model ------------------------------------------------------------------------------- */

/* Checks that the store has every parameter in its shape: a plan would create missing ones. */
static wg_status check_parameters(const wg_transformer_config *c, const wg_store *store,
                                  wg_error *error)
{
    wg_graph *g = wgi_transformer_parameters(c);
    wg_status status = wg_graph_status(g);
    if (status != WG_OK)
        wgi_error_set(error, status, "%s", g ? wg_graph_message(g) : "out of memory");
    for (size_t i = 0; status == WG_OK && i < wg_graph_node_count(g); i++) {
        const wg_value *w = wg_graph_node(g, i)->out[0];
        const wg_tensor *t = wg_store_find(store, w->name);
        char have[160], want[160];
        if (w->node->op != &wg_op_parameter ||
            (t && t->dtype == w->dtype && wg_shape_equal(&t->shape, &w->shape)))
            continue;
        wg_shape_text(&w->shape, want, sizeof want);
        if (t)
            status =
                wgi_error_set(error, WG_ESHAPE, "the parameter %s is %s%s, must be %s%s", w->name,
                              wg_dtype_name(t->dtype), wg_shape_text(&t->shape, have, sizeof have),
                              wg_dtype_name(w->dtype), want);
        else
            status = wgi_error_set(error, WG_EINVAL, "there is no parameter %s, %s%s", w->name,
                                   wg_dtype_name(w->dtype), want);
    }
    wg_graph_free(g);
    return status;
}

static wg_status check_tokens(const wg_search_model *m, wg_error *error)
{
    const struct {
        const char *name;
        int32_t id, min;
    } tokens[] = {{"begin of sentence", m->bos, 0},
                  {"end of sentence", m->eos, 0},
                  {"padding", m->pad, -1},
                  {"unknown", m->unk, -1}};
    for (int i = 0; i < WG_COUNT(tokens); i++)
        if (tokens[i].id < tokens[i].min || tokens[i].id >= m->config->target_vocabulary)
            return wgi_error_set(error, WG_EINVAL, "%s is token %ld, must be in [0,%lld)",
                                 tokens[i].name, (long)tokens[i].id,
                                 (long long)m->config->target_vocabulary);
    return WG_OK;
}

wg_status wgi_check_model(const wg_search_model *model, wg_error *error)
{
    if (!model || !model->config || !model->store)
        return wgi_error_set(error, WG_EINVAL, "wg_search_create: no configuration or no store");
    if (!wgi_threads_valid(model->threads))
        return wgi_error_set(error, WG_EINVAL, "wg_search_create: " WGI_THREADS_WRONG,
                             model->threads, WG_MAX_THREADS);
    wg_status status = check_tokens(model, error);
    return status == WG_OK ? check_parameters(model->config, model->store, error) : status;
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* Whether the scope is that of a stack of so many layers, of one of them, or of an attention in
 * one. */
static bool has_attention(const char *stack, int64_t layers, bool cross, const char *scope)
{
    const size_t n = strlen(stack);
    if (strncmp(scope, stack, n) != 0)
        return false;
    bool found = scope[n] == '\0';
    for (int64_t i = 0; i < layers && !found; i++) {
        char layer[40];
        size_t length = (size_t)snprintf(layer, sizeof layer, "/layer%lld", (long long)i);
        const char *rest = scope + n + length;
        found = strncmp(scope + n, layer, length) == 0 &&
                (*rest == '\0' || strcmp(rest, "/self_attn") == 0 ||
                 (cross && strcmp(rest, "/cross_attn") == 0));
    }
    return found;
}

static wg_status check_attention(const wg_transformer_config *c, const char *scope, wg_error *error)
{
    if (!scope || has_attention("encoder", c->encoder_layers, false, scope) ||
        has_attention("decoder", c->decoder_layers, true, scope))
        return WG_OK;
    return wgi_error_set(error, WG_EINVAL,
                         "there is no attention '%s', only encoder/layer0 to %lld, and in "
                         "decoder/layer0 to %lld self_attn and cross_attn",
                         scope, (long long)c->encoder_layers - 1, (long long)c->decoder_layers - 1);
}

wg_status wgi_check_options(const wg_transformer_config *c, const wg_search_options *given,
                            wg_search_options *o, wg_error *error)
{
    *o = given ? *given : (wg_search_options){0};
    o->beam = o->beam ? o->beam : 1;
    o->n_best = o->n_best ? o->n_best : 1;
    if (o->beam < 1 || o->beam > WGI_MAX_BEAM)
        return wgi_error_set(error, WG_EINVAL, "the beam is %lld, must be from 1 to %d",
                             (long long)o->beam, WGI_MAX_BEAM);
    if (o->n_best < 1 || o->n_best > o->beam)
        return wgi_error_set(error, WG_EINVAL, "n_best is %lld, must be from 1 to the beam, %lld",
                             (long long)o->n_best, (long long)o->beam);
    if (o->penalty != WG_PENALTY_LENGTH && o->penalty != WG_PENALTY_GNMT)
        return wgi_error_set(error, WG_EINVAL, "there is no length penalty %d", o->penalty);
    if (!isfinite(o->alpha) || !isfinite(o->max_factor) || o->max_factor < 0 || o->max_extra < 0 ||
        o->max_length < 0)
        return wgi_error_set(
            error, WG_EINVAL,
            "alpha is %g, max_factor %g, max_extra %lld, max_length %lld: all must be finite, and "
            "the last three not negative",
            o->alpha, o->max_factor, (long long)o->max_extra, (long long)o->max_length);
    if (o->max_factor == 0 && o->max_extra == 0) {
        o->max_factor = 1;
        o->max_extra = 50;
    }
    return check_attention(c, o->attention ? o->attention_of : NULL, error);
}

wg_status wgi_check_ids(const wg_transformer_config *c, const char *what,
                        const wgi_sentences *sentences, int64_t vocabulary, wg_error *error)
{
    for (size_t i = 0; i < sentences->n; i++) {
        const int32_t *ids = sentences->ids[i];
        const size_t n = sentences->length[i];
        for (size_t t = 0; t < n; t++)
            if (ids[t] < 0 || ids[t] >= vocabulary)
                return wgi_error_set(error, WG_EDATA,
                                     "%s of sentence %zu: token %ld is outside [0,%lld)", what,
                                     i + 1, (long)ids[t], (long long)vocabulary);
        if (c->positions == WG_POSITIONS_LEARNED && (int64_t)n > c->max_positions)
            return wgi_error_set(
                error, WG_EDATA,
                "%s of sentence %zu has %zu tokens, but only %lld positions were learned", what,
                i + 1, n, (long long)c->max_positions);
    }
    return WG_OK;
}
