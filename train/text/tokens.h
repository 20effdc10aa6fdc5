/* Lines made ready for scores: lower-cased, tokenised, cut into units whose n-grams are counted.  Not installed. */
#ifndef WG_TRAIN_TOKENS_H
#define WG_TRAIN_TOKENS_H

#include "train/text/bleu.h"

/* ---- lines ----------------------------------------------------------------------------------- */

typedef struct wg_tokenizer wg_tokenizer;

/* For one thread at a time.  WG_EINVAL: no such tokenizer; WG_ENOMEM. */
wg_status wg_tokenizer_create(wg_tokenizer **out, int tokenizer, bool lowercase);
void wg_tokenizer_free(wg_tokenizer *t);
/* The line with tokens between blanks, *size bytes of valid UTF-8 in t's memory until the next call; trimmed: blanks at
 * the end are dropped first.  WG_BLEU_CHAR is left to wg_units_characters. */
wg_status wg_tokenize(wg_tokenizer *t, const char *line, bool trimmed, const char **text,
                      size_t *size);

/* ---- units ----------------------------------------------------------------------------------- */

/* A text in units, either words with one blank between them, or characters: an n-gram is a piece of the text. */
typedef struct wg_units {
    char *text;
    struct wg_unit {
        size_t begin, end;
    } * at; /* [n] unit i is text[begin..end) */
    size_t n, size, n_room, size_room;
} wg_units;

void wg_units_free(wg_units *u);
/* What stands between blanks.  punctuation: one mark of ASCII punctuation is split off a word, at its end or else at
 * its beginning, as chrF++ does. */
wg_status wg_units_words(wg_units *u, const char *text, size_t size, bool punctuation);
wg_status wg_units_characters(wg_units *u, const char *text, size_t size, bool keep_blanks);

/* Number of n-grams of order n. */
int64_t wg_ngrams(const wg_units *u, size_t n);
/* Adds to *matches  sum over n-grams g of min(count of g in u, max over r of count of g in references[r]). */
wg_status wg_ngram_matches(const wg_units *u, const wg_units *references, size_t n_references,
                           size_t n, int64_t *matches);

/* ---- references ------------------------------------------------------------------------------ */

/* The references of line i: those that are neither NULL nor empty, or else the first that is not NULL.  text[] gets up
 * to `sets` pointers; the result is their count, 0 if all are NULL. */
size_t wg_references_of(const char *const *references, size_t sets, size_t lines, size_t i,
                        const char **text);

#endif
