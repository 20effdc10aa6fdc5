/* A search comes into being: its model is checked against the store.  And what its files share. */
#include "decode/internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

wg_status wgi_search_fail(wg_search *s, wg_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->message, sizeof s->message, format, args);
    va_end(args);
    return status;
}

/* ---- what the other files share -------------------------------------------------------------- */

wg_status wgi_search_plan(wg_search *s, wg_plan **out, wg_graph *g, wg_store *store)
{
    const wg_plan_options options = {
        .backends = s->backends,
        .n_backends = s->n_backends,
        .threads = s->threads,
        .store = store,
        .workspace = s->workspace,
    };
    wg_status status = wg_plan_create(out, g, &options);
    return status == WG_OK
               ? status
               : wgi_search_fail(s, status, "%s", g ? wg_graph_message(g) : "out of memory");
}

wg_status wgi_search_run_plan(wg_search *s, wg_plan *p)
{
    wg_status status = wg_plan_run(p, 0);
    return status == WG_OK ? status : wgi_search_fail(s, status, "%s", wg_plan_message(p));
}

void wgi_search_best(wg_transformer *m, wg_value *states, int64_t k, wg_value **values,
                     wg_value **tokens)
{
    *values = wg_topk(wg_log_softmax(wg_transformer_logits(m, states), -1), k, -1);
    *tokens = wg_result_of(*values, 1);
    wg_output(*values, "values");
    wg_output(*tokens, "tokens");
}

const double *wgi_search_numbers(wg_search *s, const void *from, size_t count)
{
    if (count > s->capacity) {
        double *more = realloc(s->scores, count * sizeof *more);
        if (!more)
            return NULL;
        s->scores = more;
        s->capacity = count;
    }
    for (size_t i = 0; i < count; i++)
        s->scores[i] = s->config.dtype == WG_F64 ? ((const double *)from)[i]
                                                 : (double)((const float *)from)[i];
    return s->scores;
}

int64_t wgi_search_round_up(int64_t n, int64_t min)
{
    int64_t up = min;
    while (up < n)
        up *= 2;
    return up;
}

/* ---- creation -------------------------------------------------------------------------------- */

/* Every parameter is in the store, in its shape: a plan would make what is missing. */
static wg_status check_parameters(const wg_search *s, char *message, size_t size)
{
    wg_graph *g = wg_graph_new();
    wg_transformer_inputs in = wg_transformer_inputs_of(g, 1, 1, 1);
    wg_transformer m = wg_transformer_begin(g, &s->config, false);
    wg_transformer_loss(&m, &in, NULL);
    wg_status status = wg_graph_status(g);
    if (status != WG_OK)
        snprintf(message, size, "%s", g ? wg_graph_message(g) : "out of memory");
    for (size_t i = 0; status == WG_OK && i < wg_graph_node_count(g); i++) {
        const wg_value *w = wg_graph_node(g, i)->out[0];
        const wg_tensor *t = wg_store_find(s->store, w->name);
        char have[160], want[160];
        if (w->node->op != &wg_op_parameter ||
            (t && t->dtype == w->dtype && wg_shape_equal(&t->shape, &w->shape)))
            continue;
        wg_shape_text(&w->shape, want, sizeof want);
        status = t ? WG_ESHAPE : WG_EINVAL;
        if (t)
            snprintf(message, size, "the parameter %s is %s%s, must be %s%s", w->name,
                     wg_dtype_name(t->dtype), wg_shape_text(&t->shape, have, sizeof have),
                     wg_dtype_name(w->dtype), want);
        else
            snprintf(message, size, "there is no parameter %s, %s%s", w->name,
                     wg_dtype_name(w->dtype), want);
    }
    wg_graph_free(g);
    return status;
}

static wg_status check_tokens(const wg_search_model *m, char *message, size_t size)
{
    const struct {
        const char *name;
        int32_t id, min;
    } tokens[] = {{"begin of sentence", m->bos, 0},
                  {"end of sentence", m->eos, 0},
                  {"padding", m->pad, -1},
                  {"unknown", m->unk, -1}};
    for (int i = 0; i < WG_COUNT(tokens); i++)
        if (tokens[i].id < tokens[i].min || tokens[i].id >= m->config->target_vocabulary) {
            snprintf(message, size, "%s is token %ld, must be in [0,%lld)", tokens[i].name,
                     (long)tokens[i].id, (long long)m->config->target_vocabulary);
            return WG_EINVAL;
        }
    return WG_OK;
}

wg_status wg_search_create(wg_search **out, const wg_search_model *model, char *message,
                           size_t message_size)
{
    char ignored[1];
    message = message ? message : ignored;
    message_size = message == ignored ? sizeof ignored : message_size;
    if (!out || !model || !model->config || !model->store)
        return snprintf(message, message_size, "wg_search_create: no configuration or no store"),
               WG_EINVAL;
    *out = NULL;
    wg_status status = check_tokens(model, message, message_size);
    if (status != WG_OK)
        return status;
    wg_search *s = calloc(1, sizeof *s);
    if (!s)
        return snprintf(message, message_size, "out of memory"), WG_ENOMEM;
    s->config = *model->config;
    s->config.name = NULL; /* the caller's */
    s->config.dtype = s->config.dtype ? s->config.dtype : WG_F32;
    s->store = model->store;
    s->bos = model->bos;
    s->eos = model->eos;
    s->pad = model->pad;
    s->unk = model->unk;
    s->no_unk = model->no_unk;
    s->int8 = model->int8;
    s->threads = model->threads;
    s->companions = 1;
    s->n_backends = model->n_backends;
    s->backends = calloc(s->n_backends + 1, sizeof *s->backends);
    s->workspace = wg_workspace_new();
    status = s->backends && s->workspace ? WG_OK : WG_ENOMEM;
    if (status != WG_OK)
        snprintf(message, message_size, "out of memory");
    for (size_t i = 0; status == WG_OK && i < s->n_backends; i++)
        s->backends[i] = model->backends[i];
    if (status == WG_OK)
        status = check_parameters(s, message, message_size);
    if (status == WG_OK && s->int8) {
        s->integers = wg_store_new_over(s->store);
        s->store = s->integers;
        if (!s->integers)
            status = (snprintf(message, message_size, "out of memory"), WG_ENOMEM);
    }
    if (status != WG_OK) {
        wg_search_free(s);
        return status;
    }
    *out = s;
    return WG_OK;
}

wg_search *wgi_search_lane(const wg_search *s, size_t companions)
{
    wg_search *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    *lane = (wg_search){
        .config = s->config,
        .store = s->store,
        .bos = s->bos,
        .eos = s->eos,
        .pad = s->pad,
        .unk = s->unk,
        .no_unk = s->no_unk,
        .int8 = s->int8,
        .threads = 1,
        .companions = companions,
        .n_backends = s->n_backends,
        .backends = calloc(s->n_backends + 1, sizeof *lane->backends),
        .workspace = wg_workspace_new(),
    };
    if (!lane->backends || !lane->workspace) {
        wg_search_free(lane);
        return NULL;
    }
    memcpy(lane->backends, s->backends, s->n_backends * sizeof *lane->backends);
    return lane;
}

void wg_search_free(wg_search *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_lanes; i++)
        wg_search_free(s->lanes[i]);
    free(s->lanes);
    wgi_cached_free(s);
    wgi_plain_free(s);
    wg_plan_free(s->quantizer);
    wg_store_free(s->integers);
    wg_workspace_free(s->workspace);
    free(s->backends);
    free(s->scores);
    free(s);
}

const char *wg_search_message(const wg_search *s)
{
    return s ? s->message : "the search is NULL";
}
