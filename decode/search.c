/* The public interface of decoding: checks arguments and hands the work to workers. */
#include "decode/check.h"
#include "decode/forced.h"
#include "decode/owned.h"
#include "decode/parallel.h"
#include "graph/error.h"

#include <stdlib.h>
#include <string.h>

struct wg_search {
    wgi_owned_model own;
    wgi_workers workers;
};

/* The context of the search is that of the shared worker. */
static wgi_decode_context *context_of(const wg_search *s)
{
    return &s->workers.shared->context;
}

static wg_status out_of_memory(wg_error *error)
{
    return wgi_error_set(error, WG_ENOMEM, "out of memory");
}

/* ---- creation -------------------------------------------------------------------------------- */

wg_status wg_search_create(wg_search **out, const wg_search_model *model, wg_error *error)
{
    wgi_error_clear(error);
    if (!out)
        return wgi_error_set(error, WG_EINVAL, "wg_search_create: out is NULL");
    *out = NULL;
    wg_status status = wgi_check_model(model, error);
    if (status != WG_OK)
        return status;
    if (model->config->encoder_layers == 0)
        return wgi_error_set(error, WG_EINVAL,
                             "wg_search_create: encoder_layers is 0: a language model does not "
                             "translate; wg_generator_create takes it");
    wg_search *s = calloc(1, sizeof *s);
    if (!s)
        return out_of_memory(error);
    if (!wgi_owned_copy(&s->own, model) || !wgi_workers_init(&s->workers, &s->own.model)) {
        wg_search_free(s);
        return out_of_memory(error);
    }
    *out = s;
    return WG_OK;
}

void wg_search_free(wg_search *s)
{
    if (!s)
        return;
    wgi_workers_clear(&s->workers);
    wgi_owned_clear(&s->own);
    free(s);
}

const char *wg_search_message(const wg_search *s)
{
    return s ? context_of(s)->error.text : "the search is NULL";
}

/* ---- translations ---------------------------------------------------------------------------- */

/* Sentences without a token have an empty translation. */
static bool add_empty_translations(wg_hypothesis *results, const wgi_sentences *sources,
                                   size_t n_best)
{
    bool ok = true;
    for (size_t i = 0; i < sources->n; i++)
        if (sources->length[i] == 0)
            ok &= (results[i * n_best].ids = calloc(1, sizeof(int32_t))) != NULL;
    return ok;
}

static wg_status translate(wg_search *s, const wgi_sentences *sources, const wg_search_options *o,
                           wg_hypothesis *found)
{
    const size_t n_best = (size_t)o->n_best;
    wg_status status = wgi_context_quantize(context_of(s), &s->own.quantizer);
    if (status == WG_OK)
        status = wgi_workers_run(&s->workers, sources, o, found);
    if (status == WG_OK && !add_empty_translations(found, sources, n_best))
        status = out_of_memory(&context_of(s)->error);
    if (status == WG_OK && o->attention)
        status = wgi_forced_run(context_of(s), sources, found, n_best, false, o);
    return status;
}

wg_status wg_search_run(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                        size_t n, const wg_search_options *options, wg_hypothesis **results)
{
    if (!s)
        return WG_EINVAL;
    wg_search_options o;
    wg_error *error = &context_of(s)->error;
    const wgi_sentences all = {sources, lengths, n};
    wgi_error_clear(error);
    if (!results || (n && (!sources || !lengths)))
        return wgi_error_set(error, WG_EINVAL, "wg_search_run: an argument is NULL");
    *results = NULL;
    wg_status status = wgi_check_options(&s->own.config, options, &o, error);
    context_of(s)->stop = o.stop;
    if (status == WG_OK)
        status = wgi_check_ids(&s->own.config, "the source", &all, s->own.config.source_vocabulary,
                               error);
    if (status != WG_OK)
        return status;
    const size_t count = n * (size_t)o.n_best;
    wg_hypothesis *found = calloc(count + 1, sizeof *found);
    if (!found)
        return out_of_memory(error);
    status = translate(s, &all, &o, found);
    if (status == WG_OK)
        *results = found;
    else
        wg_hypotheses_free(found, count);
    return status;
}

/* ---- given targets --------------------------------------------------------------------------- */

static bool copy_targets(wg_hypothesis *h, const wgi_sentences *sources,
                         const wgi_sentences *targets)
{
    for (size_t i = 0; i < targets->n; i++) {
        const size_t n = targets->length[i];
        h[i].ids = malloc((n + 1) * sizeof *h[i].ids);
        if (!h[i].ids)
            return false;
        if (n)
            memcpy(h[i].ids, targets->ids[i], n * sizeof *h[i].ids);
        h[i].n = n;
        h[i].source_tokens = sources->length[i];
    }
    return true;
}

static wg_status score(wg_search *s, const wgi_sentences *sources, const wgi_sentences *targets,
                       const wg_search_options *o, wg_hypothesis *h)
{
    if (!copy_targets(h, sources, targets))
        return out_of_memory(&context_of(s)->error);
    wg_status status = wgi_context_quantize(context_of(s), &s->own.quantizer);
    if (status == WG_OK)
        status = wgi_forced_run(context_of(s), sources, h, 1, true, o);
    for (size_t i = 0; status == WG_OK && i < sources->n; i++)
        if (h[i].n)
            h[i].score = h[i].log_probability / wg_length_penalty_of(o->penalty, o->alpha, h[i].n);
    return status;
}

wg_status wg_search_score(wg_search *s, const int32_t *const *sources, const size_t *source_lengths,
                          const int32_t *const *targets, const size_t *target_lengths, size_t n,
                          const wg_search_options *options, wg_hypothesis **results)
{
    if (!s)
        return WG_EINVAL;
    wg_search_options o;
    wg_error *error = &context_of(s)->error;
    const wgi_sentences from = {sources, source_lengths, n}, to = {targets, target_lengths, n};
    wgi_error_clear(error);
    if (!results || (n && (!sources || !source_lengths || !targets || !target_lengths)))
        return wgi_error_set(error, WG_EINVAL, "wg_search_score: an argument is NULL");
    *results = NULL;
    wg_status status = wgi_check_options(&s->own.config, options, &o, error);
    context_of(s)->stop = o.stop;
    if (status == WG_OK)
        status = wgi_check_ids(&s->own.config, "the source", &from, s->own.config.source_vocabulary,
                               error);
    if (status == WG_OK)
        status = wgi_check_ids(&s->own.config, "the target", &to, s->own.config.target_vocabulary,
                               error);
    if (status != WG_OK)
        return status;
    wg_hypothesis *h = calloc(n + 1, sizeof *h);
    if (!h)
        return out_of_memory(error);
    status = score(s, &from, &to, &o, h);
    if (status == WG_OK)
        *results = h;
    else
        wg_hypotheses_free(h, n);
    return status;
}
