/* chrF: F-score of character n-grams; chrF++: of word n-grams too. */
#include "text/tokens.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- options --------------------------------------------------------------------------------- */

enum { MAX_ORDER = 16 };

/* With defaults in place of zeros; false if an option is out of range. */
static bool complete(wg_chrf_options *o, const wg_chrf_options *options)
{
    *o = options ? *options : (wg_chrf_options){0};
    if (!o->character_order)
        o->character_order = 6;
    if (o->beta == 0)
        o->beta = 2;
    if (!o->references)
        o->references = 1;
    return o->character_order > 0 && o->character_order <= MAX_ORDER && o->word_order >= 0 &&
           o->word_order <= MAX_ORDER && o->beta > 0 && isfinite(o->beta);
}

/* ---- the score ------------------------------------------------------------------------------- */

/* Of one order: n-grams of hypothesis and reference, and those they share. */
typedef struct counts {
    int64_t hypothesis, reference, matches;
} counts;

static double f_score(double precision, double recall, double beta)
{
    double below = beta * beta * precision + recall;
    return below > 0 ? (1 + beta * beta) * precision * recall / below : 0;
}

/* 0 to 100.  With epsilon smoothing the mean of the orders' F-scores, else the F-score of the means
 * over those orders that both sides have. */
static double score_of(const counts *c, const wg_chrf_options *o)
{
    const double epsilon = 1e-16;
    int orders = o->character_order + o->word_order, effective = 0;
    double precisions = 0, recalls = 0, scores = 0;
    for (int i = 0; i < orders; i++) {
        double p = c[i].hypothesis ? (double)c[i].matches / (double)c[i].hypothesis : epsilon;
        double r = c[i].reference ? (double)c[i].matches / (double)c[i].reference : epsilon;
        scores += p > 0 || r > 0 ? f_score(p, r, o->beta) : epsilon;
        if (c[i].hypothesis && c[i].reference) {
            precisions += p;
            recalls += r;
            effective++;
        }
    }
    if (o->epsilon_smoothing)
        return 100 * scores / orders;
    return effective ? 100 * f_score(precisions / effective, recalls / effective, o->beta) : 0;
}

/* ---- counts ---------------------------------------------------------------------------------- */

typedef struct side {
    wgi_units characters, words;
} side;

typedef struct scorer {
    wg_chrf_options options;
    wgi_tokenizer *tokenizer;
    const char **texts; /* [options.references] of a line */
    side hypothesis, reference;
} scorer;

static wg_status cut(scorer *s, const char *line, side *to)
{
    const char *text;
    size_t size;
    wg_status status = wgi_tokenize(s->tokenizer, line, false, &text, &size);
    if (status == WG_OK)
        status = wgi_units_characters(&to->characters, text, size, s->options.keep_blanks);
    if (status == WG_OK && s->options.word_order)
        status = wgi_units_words(&to->words, text, size, true);
    return status;
}

/* Orders without an n-gram in the reference do not count for the hypothesis either. */
static wg_status count_order(const wgi_units *hypothesis, const wgi_units *reference, int n,
                             counts *c)
{
    *c = (counts){.reference = wgi_ngrams(reference, (size_t)n)};
    if (c->reference)
        c->hypothesis = wgi_ngrams(hypothesis, (size_t)n);
    return wgi_ngram_matches(hypothesis, reference, 1, (size_t)n, &c->matches);
}

static wg_status count_pair(const scorer *s, counts *c)
{
    wg_status status = WG_OK;
    for (int n = 1; n <= s->options.character_order && status == WG_OK; n++)
        status = count_order(&s->hypothesis.characters, &s->reference.characters, n, c++);
    for (int n = 1; n <= s->options.word_order && status == WG_OK; n++)
        status = count_order(&s->hypothesis.words, &s->reference.words, n, c++);
    return status;
}

/* Adds the counts of the reference that scores best. */
static wg_status count_line(scorer *s, const char *hypothesis, size_t n_references, counts *sum)
{
    counts best[2 * MAX_ORDER] = {0}, c[2 * MAX_ORDER];
    int orders = s->options.character_order + s->options.word_order;
    double best_score = -1;
    wg_status status = cut(s, hypothesis, &s->hypothesis);
    for (size_t r = 0; r < n_references && status == WG_OK; r++) {
        status = cut(s, s->texts[r], &s->reference);
        if (status == WG_OK)
            status = count_pair(s, c);
        double score = status == WG_OK ? score_of(c, &s->options) : -1;
        for (int i = 0; score > best_score && i < orders; i++)
            best[i] = c[i];
        if (score > best_score)
            best_score = score;
    }
    for (int i = 0; i < orders; i++) {
        sum[i].hypothesis += best[i].hypothesis;
        sum[i].reference += best[i].reference;
        sum[i].matches += best[i].matches;
    }
    return status;
}

wg_status wg_chrf_compute(double *score, const char *const *hypotheses,
                          const char *const *references, size_t lines,
                          const wg_chrf_options *options)
{
    scorer s = {0};
    if (!score || (lines && (!hypotheses || !references)) || !complete(&s.options, options))
        return WG_EINVAL;
    counts sum[2 * MAX_ORDER] = {0};
    s.texts = calloc(s.options.references, sizeof *s.texts);
    wg_status status =
        s.texts ? wgi_tokenizer_create(&s.tokenizer, WG_BLEU_NONE, s.options.lowercase) : WG_ENOMEM;
    for (size_t i = 0; i < lines && status == WG_OK; i++) {
        size_t n = wgi_references_of(references, s.options.references, lines, i, s.texts);
        status = n && hypotheses[i] ? count_line(&s, hypotheses[i], n, sum) : WG_EINVAL;
    }
    if (status == WG_OK)
        *score = score_of(sum, &s.options);
    wgi_units_free(&s.hypothesis.characters);
    wgi_units_free(&s.hypothesis.words);
    wgi_units_free(&s.reference.characters);
    wgi_units_free(&s.reference.words);
    wgi_tokenizer_free(s.tokenizer);
    free(s.texts);
    return status;
}

/* ---- words ----------------------------------------------------------------------------------- */

void wg_chrf_print(double score, const wg_chrf_options *options, char *text, size_t size)
{
    static const char plus[] = "++++++++++++++++";
    wg_chrf_options o;
    if (complete(&o, options))
        snprintf(text, size, "chrF%g%.*s = %.2f", o.beta, o.word_order, plus, score);
    else
        snprintf(text, size, "invalid");
}

void wg_chrf_signature(const wg_chrf_options *options, char *text, size_t size)
{
    wg_chrf_options o;
    if (complete(&o, options))
        snprintf(text, size,
                 "nrefs:%zu|case:%s|eff:%s|nc:%d|nw:%d|space:%s|version:wengert-" WG_VERSION,
                 o.references, o.lowercase ? "lc" : "mixed", o.epsilon_smoothing ? "no" : "yes",
                 o.character_order, o.word_order, o.keep_blanks ? "yes" : "no");
    else
        snprintf(text, size, "invalid");
}
