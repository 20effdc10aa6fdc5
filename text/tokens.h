/* Lines prepared for scores: lower-cased, tokenised, cut into units whose n-grams are counted. */
#ifndef WG_TEXT_TOKENS_H
#define WG_TEXT_TOKENS_H

#include "wengert/text/bleu.h"

/* ---- lines ----------------------------------------------------------------------------------- */

typedef struct wgi_tokenizer wgi_tokenizer;

/* To be used by one thread at a time.  WG_EINVAL: no such tokenizer; WG_ENOMEM. */
wg_status wgi_tokenizer_create(wgi_tokenizer **out, int tokenizer, bool lowercase);
void wgi_tokenizer_free(wgi_tokenizer *t);
/* The line with tokens between blanks, *size bytes of valid UTF-8 in t's memory until the next
 * call; trimmed: blanks at the end are dropped first.  WG_BLEU_CHAR is left to
 * wgi_units_characters. */
wg_status wgi_tokenize(wgi_tokenizer *t, const char *line, bool trimmed, const char **text,
                       size_t *size);

/* ---- units ----------------------------------------------------------------------------------- */

/* A text in units, either words with one blank between them, or characters: an n-gram is a piece of
 * the text. */
typedef struct wgi_units {
    char *text;
    struct wgi_unit {
        size_t begin, end;
    } * at; /* [n] unit i is text[begin..end) */
    size_t n, size, n_room, size_room;
} wgi_units;

void wgi_units_free(wgi_units *u);
/* What stands between blanks.  punctuation: one mark of ASCII punctuation is split off a word, at
 * its end or else at its beginning, as chrF++ does. */
wg_status wgi_units_words(wgi_units *u, const char *text, size_t size, bool punctuation);
wg_status wgi_units_characters(wgi_units *u, const char *text, size_t size, bool keep_blanks);

/* Number of n-grams of order n. */
int64_t wgi_ngrams(const wgi_units *u, size_t n);
/* Adds to *matches  sum over n-grams g of min(count of g in u, max over r of count of g in
 * references[r]). */
wg_status wgi_ngram_matches(const wgi_units *u, const wgi_units *references, size_t n_references,
                            size_t n, int64_t *matches);

/* ---- references ------------------------------------------------------------------------------ */

/* The references of line i: those that are neither NULL nor empty, or else the first that is not
 * NULL.  text[] gets up to `sets` pointers; the result is their count, 0 if all are NULL. */
size_t wgi_references_of(const char *const *references, size_t sets, size_t lines, size_t i,
                         const char **text);

#endif
