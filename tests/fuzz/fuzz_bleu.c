/* Any bytes as hypotheses and up to three sets of references, parted by lines "===": BLEU and chrF
 * by every tokenizer and smoothing are in range, agree with their parts, and are 100 of a text with
 * itself. */
#include "wengert/text/bleu.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 3, MAX_LINES = 64 };

/* Lines as C strings, which a NUL ends early. */
typedef struct lines {
    char *text;
    const char *line[MAX_LINES];
    size_t n;
} lines;

static lines lines_of(const fuzz_part *part)
{
    lines l = {.text = malloc(part->size + 1)};
    NEED(l.text);
    memcpy(l.text, part->text, part->size);
    l.text[part->size] = '\0';
    for (size_t at = 0; at < part->size && l.n < MAX_LINES; l.n++) {
        char *newline = memchr(l.text + at, '\n', part->size - at);
        l.line[l.n] = l.text + at;
        at = newline ? (size_t)(newline - l.text) + 1 : part->size;
        if (newline)
            *newline = '\0';
    }
    return l;
}

static void need_bleu(const wg_bleu *b, const wg_bleu_options *o)
{
    wg_bleu again = *b;
    char text[100];
    NEED(b->score >= 0 && b->score <= 100 + 1e-9);
    NEED(b->brevity_penalty >= 0 && b->brevity_penalty <= 1);
    for (int k = 0; k < WG_BLEU_ORDER; k++) {
        NEED(b->matches[k] >= 0 && b->matches[k] <= b->totals[k]);
        NEED(!k || b->totals[k] <= b->totals[k - 1]);
    }
    NEED(b->totals[0] == b->hypothesis_length);
    NEED(wg_bleu_score(&again, o) == WG_OK && again.score == b->score);
    for (size_t size = 0; size < sizeof text; size += 33) {
        wg_bleu_print(b, text, size);
        wg_bleu_signature(o, text, size);
    }
}

/* A text is like itself: each n-gram is found, and the score is 100 if there are any. */
static void with_itself(const lines *h, const wg_bleu_options *o)
{
    wg_bleu b;
    wg_bleu_options one = *o;
    one.references = 1;
    NEED(wg_bleu_compute(&b, h->line, h->line, h->n, &one) == WG_OK);
    need_bleu(&b, &one);
    for (int k = 0; k < WG_BLEU_ORDER; k++)
        NEED(b.matches[k] == b.totals[k]);
    NEED(b.hypothesis_length == b.reference_length);
    NEED(b.totals[WG_BLEU_ORDER - 1] == 0 || fabs(b.score - 100) < 1e-9);
}

static void chrf(const lines *h, const char *const *references, size_t sets, unsigned bits)
{
    double score = -1;
    char text[100];
    const wg_chrf_options o = {.word_order = bits % 3,
                               .keep_blanks = bits & 4,
                               .lowercase = bits & 8,
                               .epsilon_smoothing = bits & 16,
                               .references = sets};
    NEED(wg_chrf_compute(&score, h->line, references, h->n, &o) == WG_OK);
    NEED(score >= 0 && score <= 100 + 1e-9);
    wg_chrf_print(score, &o, text, sizeof text);
    wg_chrf_signature(&o, text, sizeof text);
}

static void score(const lines *h, const char *const *references, size_t sets, unsigned bits)
{
    for (int tokenizer = WG_BLEU_13A; tokenizer <= WG_BLEU_CHAR; tokenizer++) {
        wg_bleu b;
        const wg_bleu_options o = {.tokenizer = tokenizer,
                                   .smoothing = (int)((bits + (unsigned)tokenizer) % 4),
                                   .lowercase = bits & 32,
                                   .effective_order = bits & 64,
                                   .references = sets};
        NEED(wg_bleu_compute(&b, h->line, references, h->n, &o) == WG_OK);
        need_bleu(&b, &o);
        with_itself(h, &o);
    }
    chrf(h, references, sets, bits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_part part[1 + SETS];
    lines text[1 + SETS];
    const char *references[SETS * MAX_LINES];
    size_t sets = 0, n = MAX_LINES;
    fuzz_cut(data, size, part, 1 + SETS);
    for (int i = 0; i < 1 + SETS; i++) {
        text[i] = lines_of(&part[i]);
        if (i < 2 || text[i].n)
            n = text[i].n < n ? text[i].n : n;
    }
    text[0].n = n;
    for (int i = 1; i <= SETS && text[i].n; i++, sets++)
        memcpy(references + sets * n, text[i].line, n * sizeof *references);
    fuzz_accepted(n > 0);
    if (n > 0)
        score(&text[0], references, sets, size & 0xff);
    for (int i = 0; i < 1 + SETS; i++)
        free(text[i].text);
    return 0;
}
