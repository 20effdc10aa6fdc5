#include "train/validate.h"
#include "wengert/text/bleu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const wgi_metric_kind wgi_metric_kinds[WG_METRICS] = {
    [WG_METRIC_CROSS_ENTROPY] = {"cross-entropy", false},
    [WG_METRIC_PERPLEXITY] = {"perplexity", false},
    [WG_METRIC_ACCURACY] = {"accuracy", true},
    [WG_METRIC_BLEU] = {"bleu", true},
    [WG_METRIC_CHRF] = {"chrf", true},
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
    for (int k = 0; n && k < WG_METRICS; k++)
        if (strlen(wgi_metric_kinds[k].name) == n &&
            memcmp(wgi_metric_kinds[k].name, words, n) == 0)
            return k;
    return -1;
}

/* Sums over the whole validation set. */
typedef struct sums {
    double cost, nll, correct;
    int64_t tokens, sentences;
} sums;

static wg_status add_batch(sums *s, wgi_plans *plans, const wg_batch *batch, wg_error *error)
{
    wgi_step_plan *p;
    wg_status status = wgi_plans_fill(plans, batch, WG_STEP_EVALUATES, 1, 0, &p, error);
    if (status != WG_OK)
        return status;
    status = wg_plan_run(p->plan, 0);
    if (status != WG_OK)
        return wgi_error_set(error, status, "validation: %s", wg_plan_message(p->plan));
    s->cost += wgi_plans_scalar(plans, p->cost);
    s->nll += wgi_plans_scalar(plans, p->nll);
    s->correct += wgi_plans_scalar(plans, p->correct);
    s->tokens += batch->target_tokens;
    s->sentences += batch->sentences;
    return WG_OK;
}

static wg_status add_all(sums *s, const wgi_validator *v, wg_error *error)
{
    wg_batches *batches;
    wg_status status =
        wgi_data_batches(&batches, v->data, v->data->valid, v->plans->settings, error);
    if (status != WG_OK)
        return wgi_error_prefix(error, status, "validation set: ");
    for (int64_t i = 0, n = wg_batches_groups(batches); i < n && status == WG_OK; i++) {
        const wg_batch *batch;
        size_t count = 0;
        status = wg_batches_next(batches, &batch, &count);
        if (status != WG_OK)
            wgi_error_set(error, status, "validation set: %s", wg_status_text(status));
        for (size_t k = 0; k < count && status == WG_OK; k++)
            status = v->stop && *v->stop ? WG_ESTOPPED : add_batch(s, v->plans, &batch[k], error);
    }
    wg_batches_free(batches);
    return status;
}

/* BLEU and chrF of the translations, against the target lines as read. */
static wg_status score_translations(wgi_validation *out, wgi_validator *v, bool bleu, bool chrf,
                                    wg_error *error)
{
    const wg_corpus *c = v->data->valid;
    size_t n = wg_corpus_count(c);
    char **texts = NULL;
    const char **references = calloc(n + 1, sizeof(char *));
    if (!references)
        return wgi_error_set(error, WG_ENOMEM, "scores of translations: out of memory");
    wg_status status = wgi_translate_corpus(v, c, &texts, error);
    bool translated = status == WG_OK;
    if (status == WG_ENONFINITE) { /* it diverges: there is nothing to score */
        free(references);
        out->left_out = *error;
        wgi_error_clear(error);
        return WG_OK;
    }
    for (size_t i = 0; i < n && status == WG_OK; i++)
        references[i] = wg_corpus_text(c, i, 1);
    if (status == WG_OK && bleu) {
        wg_bleu b;
        status =
            wg_bleu_compute(&b, (const char *const *)texts, references, n,
                            &(wg_bleu_options){.tokenizer = v->plans->settings->bleu_tokenizer});
        out->value[WG_METRIC_BLEU] = b.score;
    }
    if (status == WG_OK && chrf)
        status = wg_chrf_compute(&out->value[WG_METRIC_CHRF], (const char *const *)texts,
                                 references, n, NULL);
    if (translated && status != WG_OK)
        wgi_error_set(error, status, "scores of translations: %s", wg_status_text(status));
    wgi_translated_free(texts, n);
    free(references);
    return status;
}

static bool asked_for(const char *words, int metric)
{
    int k;
    for (size_t i = 0; (k = wgi_metric_named(words, i)) >= 0; i++)
        if (k == metric)
            return true;
    return false;
}

wg_status wgi_validate(wgi_validation *out, wgi_validator *v, wg_error *error)
{
    sums s = {0};
    const char *metrics = v->plans->settings->valid_metrics;
    bool bleu = asked_for(metrics, WG_METRIC_BLEU), chrf = asked_for(metrics, WG_METRIC_CHRF);
    wg_status status = add_all(&s, v, error);
    double n = s.tokens ? (double)s.tokens : 1;
    *out = (wgi_validation){.cost = s.cost / n, .tokens = s.tokens, .sentences = s.sentences};
    for (int i = 0; i < WG_METRICS; i++)
        out->value[i] = NAN;
    out->value[WG_METRIC_CROSS_ENTROPY] = s.nll / n;
    out->value[WG_METRIC_PERPLEXITY] = exp(s.nll / n);
    out->value[WG_METRIC_ACCURACY] = s.correct / n;
    return status == WG_OK && (bleu || chrf) ? score_translations(out, v, bleu, chrf, error)
                                             : status;
}

void wgi_validator_free(wgi_validator *v)
{
    wg_search_free(v->search);
    v->search = NULL;
}
