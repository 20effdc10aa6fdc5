#include "translate/validate.h"
#include "graph/error.h"
#include "wengert/text/bleu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const wgi_metric_kind wgi_metric_kinds[WGI_METRICS] = {
    [WGI_METRIC_CROSS_ENTROPY] = {"cross-entropy", WG_LESS_IS_BETTER, 4},
    [WGI_METRIC_PERPLEXITY] = {"perplexity", WG_LESS_IS_BETTER, 4},
    [WGI_METRIC_ACCURACY] = {"accuracy", WG_MORE_IS_BETTER, 4},
    [WGI_METRIC_BLEU] = {"bleu", WG_MORE_IS_BETTER, 2},
    [WGI_METRIC_CHRF] = {"chrf", WG_MORE_IS_BETTER, 2},
};

int wgi_metric_named(const char *words, size_t i)
{
    static const char blanks[] = " ,\t";
    words = words ? words : wgi_metric_kinds[0].name;
    for (words += strspn(words, blanks); *words && i; i--) {
        words += strcspn(words, blanks);
        words += strspn(words, blanks);
    }
    size_t n = strcspn(words, blanks);
    for (int k = 0; n && k < WGI_METRICS; k++)
        if (strlen(wgi_metric_kinds[k].name) == n &&
            memcmp(wgi_metric_kinds[k].name, words, n) == 0)
            return k;
    return -1;
}

static bool asked_for(const char *words, int metric)
{
    int k;
    for (size_t i = 0; (k = wgi_metric_named(words, i)) >= 0; i++)
        if (k == metric)
            return true;
    return false;
}

/* value[k] of each metric that is asked for, of the texts against the target lines as read. */
static wg_status score(double value[WGI_METRICS], const wgi_validator *v, const bool *asked,
                       char **texts, const char **references, wg_error *error)
{
    const wg_corpus *c = v->data->valid;
    size_t n = wg_corpus_count(c);
    wg_status status = WG_OK;
    for (size_t i = 0; i < n; i++)
        references[i] = wg_corpus_text(c, i, 1);
    if (asked[WGI_METRIC_BLEU]) {
        wg_bleu b = {.score = 0};
        status = wg_bleu_compute(&b, (const char *const *)texts, references, n,
                                 &(wg_bleu_options){.tokenizer = v->settings->bleu_tokenizer});
        value[WGI_METRIC_BLEU] = b.score;
    }
    if (status == WG_OK && asked[WGI_METRIC_CHRF])
        status = wg_chrf_compute(&value[WGI_METRIC_CHRF], (const char *const *)texts, references, n,
                                 NULL);
    return status == WG_OK
               ? WG_OK
               : wgi_error_set(error, status, "scores of translations: %s", wg_status_text(status));
}

static wg_status score_translations(double value[WGI_METRICS], wgi_validator *v, const bool *asked,
                                    wg_error *left_out, wg_error *error)
{
    size_t n = wg_corpus_count(v->data->valid);
    char **texts = NULL;
    const char **references = calloc(n + 1, sizeof(char *));
    if (!references)
        return wgi_error_set(error, WG_ENOMEM, "scores of translations: out of memory");
    wg_error why;
    wg_status status = wgi_translate_corpus(v, v->data->valid, &texts, &why);
    if (status == WG_OK)
        status = score(value, v, asked, texts, references, error);
    else if (status == WG_ENONFINITE) { /* it diverges: there is nothing to score */
        *left_out = why;
        status = WG_OK;
    } else if (error)
        *error = why;
    wgi_translated_free(texts, n);
    free(references);
    return status;
}

wg_status wgi_validate_translations(wgi_means *m, wgi_validator *v, wg_error *left_out,
                                    wg_error *error)
{
    double value[WGI_METRICS];
    bool asked[WGI_METRICS];
    wg_status status = WG_OK;
    wgi_error_clear(left_out);
    for (int k = 0; k < WGI_METRICS; k++) {
        const wg_metric *measured = wgi_means_find(m, wgi_metric_kinds[k].name);
        value[k] = measured ? measured->value : NAN;
        asked[k] = asked_for(v->settings->valid_metrics, k);
    }
    value[WGI_METRIC_PERPLEXITY] = exp(value[WGI_METRIC_CROSS_ENTROPY]);
    if (asked[WGI_METRIC_BLEU] || asked[WGI_METRIC_CHRF])
        status = score_translations(value, v, asked, left_out, error);
    m->n = 1; /* after the cost, in the order of the table */
    for (int k = 0; k < WGI_METRICS; k++) {
        const wgi_metric_kind *kind = &wgi_metric_kinds[k];
        wgi_means_put(m, kind->name, value[k], kind->better, kind->decimals);
    }
    return status;
}

void wgi_validator_free(wgi_validator *v)
{
    wg_search_free(v->search);
    v->search = NULL;
}
