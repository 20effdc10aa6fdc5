/* Units of a text, and how many n-grams two texts share. */
#include "graph/grow.h"
#include "text/tokens.h"
#include "text/unicode/unicode.h"

#include <stdlib.h>
#include <string.h>

/* ---- units ----------------------------------------------------------------------------------- */

void wgi_units_free(wgi_units *u)
{
    free(u->text);
    free(u->at);
    *u = (wgi_units){0};
}

/* Empty, with room for `size` bytes of text in at most as many units, and a blank behind each. */
static bool clear(wgi_units *u, size_t size)
{
    u->n = u->size = 0;
    return WGI_RESERVE(u->text, u->size_room, 2 * size + 1) &&
           WGI_RESERVE(u->at, u->n_room, size + 1);
}

static void add_unit(wgi_units *u, const char *begin, const char *end)
{
    size_t size = (size_t)(end - begin);
    memcpy(u->text + u->size, begin, size);
    u->at[u->n++] = (struct wgi_unit){u->size, u->size + size};
    u->size += size;
}

static void add_word(wgi_units *u, const char *begin, const char *end)
{
    add_unit(u, begin, end);
    u->text[u->size++] = ' ';
}

static bool is_mark(char c)
{
    return c > ' ' && c < 0x7f && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c);
}

static void add_split_word(wgi_units *u, const char *begin, const char *end)
{
    const char *second = begin;
    wgi_utf8_read(&second, end);
    if (second != end && is_mark(end[-1])) /* more than one character */
        second = end - 1;
    else if (!is_mark(*begin))
        second = end;
    add_word(u, begin, second);
    if (second < end)
        add_word(u, second, end);
}

wg_status wgi_units_words(wgi_units *u, const char *text, size_t size, bool punctuation)
{
    if (size > SIZE_MAX / 4 || !clear(u, size))
        return WG_ENOMEM;
    const char *end = text + size, *word = text;
    while (word < end) {
        const char *at = word, *behind = word;
        while (at < end && !wgi_is_blank(wgi_utf8_read(&at, end)))
            behind = at;
        if (behind > word)
            (punctuation ? add_split_word : add_word)(u, word, behind);
        word = at;
    }
    return WG_OK;
}

wg_status wgi_units_characters(wgi_units *u, const char *text, size_t size, bool keep_blanks)
{
    if (size > SIZE_MAX / 4 || !clear(u, size))
        return WG_ENOMEM;
    for (const char *end = text + size, *next = text; text < end; text = next)
        if (!wgi_is_blank(wgi_utf8_read(&next, end)) || keep_blanks)
            add_unit(u, text, next);
    return WG_OK;
}

/* ---- n-grams --------------------------------------------------------------------------------- */

typedef struct ngram {
    const char *text;
    size_t size;
} ngram;

static int compare(const void *pa, const void *pb)
{
    const ngram *a = pa, *b = pb;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return memcmp(a->text, b->text, a->size);
}

int64_t wgi_ngrams(const wgi_units *u, size_t n)
{
    return u->n >= n ? (int64_t)(u->n - n + 1) : 0;
}

/* Sorted, so that equal n-grams are adjacent. */
static size_t sorted_ngrams(const wgi_units *u, size_t n, ngram *out)
{
    size_t count = (size_t)wgi_ngrams(u, n);
    for (size_t i = 0; i < count; i++)
        out[i] = (ngram){u->text + u->at[i].begin, u->at[i + n - 1].end - u->at[i].begin};
    qsort(out, count, sizeof *out, compare);
    return count;
}

static size_t run_length(const ngram *sorted, size_t count)
{
    size_t n = 1;
    while (n < count && compare(&sorted[0], &sorted[n]) == 0)
        n++;
    return n;
}

/* best[i] of the first of each run in a: at least its count in b. */
static void merge(const ngram *a, size_t n_a, const ngram *b, size_t n_b, size_t *best)
{
    for (size_t i = 0, j = 0; i < n_a && j < n_b;) {
        int order = compare(&a[i], &b[j]);
        size_t in_a = order <= 0 ? run_length(a + i, n_a - i) : 0,
               in_b = order >= 0 ? run_length(b + j, n_b - j) : 0;
        size_t both = in_a < in_b ? in_a : in_b;
        if (both > best[i])
            best[i] = both;
        i += in_a;
        j += in_b;
    }
}

wg_status wgi_ngram_matches(const wgi_units *u, const wgi_units *references, size_t n_references,
                            size_t n, int64_t *matches)
{
    size_t count = (size_t)wgi_ngrams(u, n), max = 0;
    for (size_t r = 0; r < n_references; r++)
        if (references[r].n > max)
            max = references[r].n;
    if (!count || !max || max < n)
        return WG_OK;
    ngram *ours = calloc(count, sizeof *ours), *theirs = calloc(max, sizeof *theirs);
    size_t *best = calloc(count, sizeof *best);
    wg_status status = ours && theirs && best ? WG_OK : WG_ENOMEM;
    if (status == WG_OK) {
        sorted_ngrams(u, n, ours);
        for (size_t r = 0; r < n_references; r++)
            merge(ours, count, theirs, sorted_ngrams(&references[r], n, theirs), best);
        for (size_t i = 0; i < count; i++)
            *matches += (int64_t)best[i];
    }
    free(ours);
    free(theirs);
    free(best);
    return status;
}

/* ---- references ------------------------------------------------------------------------------ */

size_t wgi_references_of(const char *const *references, size_t sets, size_t lines, size_t i,
                         const char **text)
{
    const char *empty = NULL;
    size_t n = 0;
    for (size_t r = 0; r < sets; r++) {
        const char *line = references[r * lines + i];
        if (line && *line)
            text[n++] = line;
        else if (line && !empty)
            empty = line;
    }
    if (!n && empty)
        text[n++] = empty;
    return n;
}
