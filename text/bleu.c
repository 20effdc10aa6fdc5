/* BLEU: counts over a corpus, and the score from them. */
#include "text/tokens.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    double value; /* default value; 0: takes no value */
} smoothings[] = {
    [WG_BLEU_EXP] = {"exp", 0},
    [WG_BLEU_UNSMOOTHED] = {"none", 0},
    [WG_BLEU_FLOOR] = {"floor", 0.1},
    [WG_BLEU_ADD_K] = {"add-k", 1},
};

const char *wg_bleu_smoothing_name(int smoothing)
{
    return smoothing >= 0 && smoothing < WG_COUNT(smoothings) ? smoothings[smoothing].name : NULL;
}

static const wg_bleu_options defaults;

static double smoothing_value(const wg_bleu_options *o)
{
    return o->smoothing_value != 0 ? o->smoothing_value : smoothings[o->smoothing].value;
}

static bool valid(const wg_bleu_options *o)
{
    return wg_bleu_tokenizer_name(o->tokenizer) && wg_bleu_smoothing_name(o->smoothing) &&
           o->smoothing_value >= 0 && isfinite(o->smoothing_value);
}

/* ---- the score ------------------------------------------------------------------------------- */

/* p_n in percent, n = 1, 2, ...; *halving is 2^k after k orders without a match. */
static double precision(double matches, double total, const wg_bleu_options *o, double *halving)
{
    if (matches > 0)
        return 100 * matches / total;
    switch (o->smoothing) {
    case WG_BLEU_EXP: *halving *= 2; return 100 / (*halving * total);
    case WG_BLEU_FLOOR: return 100 * smoothing_value(o) / total;
    default: return 0;
    }
}

wg_status wg_bleu_score(wg_bleu *b, const wg_bleu_options *options)
{
    const wg_bleu_options *o = options ? options : &defaults;
    if (!b || !valid(o))
        return WG_EINVAL;
    double ours = (double)b->hypothesis_length, theirs = (double)b->reference_length;
    b->ratio = theirs > 0 ? ours / theirs : 0;
    b->brevity_penalty = ours >= theirs ? 1 : ours > 0 ? exp(1 - theirs / ours) : 0;
    b->score = 0;
    bool any = false;
    for (int n = 0; n < WG_BLEU_ORDER; n++) {
        b->precisions[n] = 0;
        any = any || b->matches[n] > 0;
    }
    if (!any)
        return WG_OK;
    double logarithms = 0, halving = 1;
    int orders = 0; /* orders that have n-grams */
    bool zero = false;
    for (; orders < WG_BLEU_ORDER; orders++) {
        double more = o->smoothing == WG_BLEU_ADD_K && orders > 0 ? smoothing_value(o) : 0;
        double total = (double)b->totals[orders] + more;
        if (!(total > 0))
            break;
        double p = precision((double)b->matches[orders] + more, total, o, &halving);
        b->precisions[orders] = p;
        zero = zero || !(p > 0);
        logarithms += p > 0 ? log(p) : 0;
    }
    int mean_over = o->effective_order ? orders : WG_BLEU_ORDER;
    if (!zero && orders == mean_over) /* an order left out counts as log 0 */
        b->score = b->brevity_penalty * exp(logarithms / mean_over);
    return WG_OK;
}

/* ---- counts ---------------------------------------------------------------------------------- */

typedef struct scorer {
    const wg_bleu_options *options;
    wgi_tokenizer *tokenizer;
    size_t sets;        /* number of references */
    const char **texts; /* [sets] the references of a line    */
    wgi_units *units;   /* [1 + sets] hypothesis, references  */
} scorer;

static void close_scorer(scorer *s)
{
    for (size_t r = 0; s->units && r <= s->sets; r++)
        wgi_units_free(&s->units[r]);
    free(s->units);
    free(s->texts);
    wgi_tokenizer_free(s->tokenizer);
}

static wg_status open_scorer(scorer *s, const wg_bleu_options *o)
{
    *s = (scorer){.options = o, .sets = o->references ? o->references : 1};
    wg_status status = wgi_tokenizer_create(&s->tokenizer, o->tokenizer, o->lowercase);
    if (status != WG_OK)
        return status;
    s->texts = calloc(s->sets, sizeof *s->texts);
    s->units = calloc(s->sets + 1, sizeof *s->units);
    return s->texts && s->units ? WG_OK : WG_ENOMEM;
}

static wg_status cut(scorer *s, const char *line, wgi_units *units)
{
    const char *text;
    size_t size;
    wg_status status = wgi_tokenize(s->tokenizer, line, true, &text, &size);
    if (status != WG_OK)
        return status;
    return s->options->tokenizer == WG_BLEU_CHAR ? wgi_units_characters(units, text, size, false)
                                                 : wgi_units_words(units, text, size, false);
}

/* The length of a reference nearest to n; of two equally near ones the shorter. */
static size_t nearest_length(size_t n, const wgi_units *references, size_t n_references)
{
    size_t nearest = references[0].n;
    for (size_t r = 1; r < n_references; r++) {
        size_t length = references[r].n, off = length > n ? length - n : n - length;
        size_t min = nearest > n ? nearest - n : n - nearest;
        if (off < min || (off == min && length < nearest))
            nearest = length;
    }
    return nearest;
}

/* Adds a line's counts; s->texts has n_references texts. */
static wg_status count_line(scorer *s, const char *hypothesis, size_t n_references, wg_bleu *sum)
{
    wg_status status = cut(s, hypothesis, &s->units[0]);
    for (size_t r = 0; r < n_references && status == WG_OK; r++)
        status = cut(s, s->texts[r], &s->units[1 + r]);
    for (size_t n = 1; n <= WG_BLEU_ORDER && status == WG_OK; n++) {
        sum->totals[n - 1] += wgi_ngrams(&s->units[0], n);
        status =
            wgi_ngram_matches(&s->units[0], &s->units[1], n_references, n, &sum->matches[n - 1]);
    }
    if (status == WG_OK) {
        sum->hypothesis_length += (int64_t)s->units[0].n;
        sum->reference_length += (int64_t)nearest_length(s->units[0].n, &s->units[1], n_references);
    }
    return status;
}

wg_status wg_bleu_compute(wg_bleu *out, const char *const *hypotheses,
                          const char *const *references, size_t lines,
                          const wg_bleu_options *options)
{
    const wg_bleu_options *o = options ? options : &defaults;
    if (!out || (lines && (!hypotheses || !references)) || !valid(o))
        return WG_EINVAL;
    wg_bleu sum = {0};
    scorer s;
    wg_status status = open_scorer(&s, o);
    for (size_t i = 0; i < lines && status == WG_OK; i++) {
        size_t n = wgi_references_of(references, s.sets, lines, i, s.texts);
        status = n && hypotheses[i] ? count_line(&s, hypotheses[i], n, &sum) : WG_EINVAL;
    }
    close_scorer(&s);
    if (status == WG_OK)
        status = wg_bleu_score(&sum, o);
    if (status == WG_OK)
        *out = sum;
    return status;
}

/* ---- words ----------------------------------------------------------------------------------- */

void wg_bleu_print(const wg_bleu *b, char *text, size_t size)
{
    const double *p = b->precisions;
    snprintf(
        text, size,
        "BLEU = %.2f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)",
        b->score, p[0], p[1], p[2], p[3], b->brevity_penalty, b->ratio,
        (long long)b->hypothesis_length, (long long)b->reference_length);
}

void wg_bleu_signature(const wg_bleu_options *options, char *text, size_t size)
{
    const wg_bleu_options *o = options ? options : &defaults;
    char value[32] = "";
    if (!valid(o)) {
        snprintf(text, size, "invalid");
        return;
    }
    if (smoothings[o->smoothing].value > 0)
        snprintf(value, sizeof value, "[%.2f]", smoothing_value(o));
    snprintf(text, size, "nrefs:%zu|case:%s|eff:%s|tok:%s|smooth:%s%s|version:wengert-" WG_VERSION,
             o->references ? o->references : 1, o->lowercase ? "lc" : "mixed",
             o->effective_order ? "yes" : "no", wg_bleu_tokenizer_name(o->tokenizer),
             wg_bleu_smoothing_name(o->smoothing), value);
}
