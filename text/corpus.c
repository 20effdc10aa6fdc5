/* Pairs of sentences: two texts split into lines, encoded in parallel, and kept in one array.  A
 * single text is the target side of pairs whose sources are empty. */
#include "wengert/text/corpus.h"

#include "graph/threads.h"
#include "text/internal.h"
#include "wengert/graph/op.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { SIDES = 2 };

struct wg_corpus {
    size_t n, empty, too_long, repaired;
    size_t first_repaired[SIDES]; /* the number of the first such line, from 1; 0: none */
    int32_t *ids;                 /* of all sentences: pair by pair, source first */
    size_t *first;                /* [2 n + 1] where each begins                   */
    char *bytes;                  /* lines ended by NUL, or NULL                   */
    size_t *line;                 /* [2 n] where each begins in bytes              */
    uint64_t hash;
};

/* ---- under construction ---------------------------------------------------------------------- */

typedef struct reader {
    const char *name[SIDES];
    wgi_text text[SIDES];
    wgi_slice *lines[SIDES];
    size_t n_lines[SIDES];
    size_t repaired, first_repaired[SIDES]; /* lines that are not UTF-8 */
    wgi_encoded *sentence;                  /* [2 n_lines]: line i of side s at 2 i + s */
    wg_corpus_options options;
    const wg_span_options *spans; /* of a single text; NULL: there are two */
    wg_error *error;
} reader;

static wg_status no_memory(reader *r)
{
    return wgi_error_file(r->error, WG_ENOMEM, r->name[0], "no memory for a corpus");
}

static wg_status split(reader *r, int side)
{
    wgi_slice rest = {r->text[side].bytes, r->text[side].size}, line;
    size_t n = 0;
    while (wgi_next_line(&rest, &line))
        n++;
    rest = (wgi_slice){r->text[side].bytes, r->text[side].size};
    r->n_lines[side] = n;
    r->lines[side] = malloc((n + 1) * sizeof *r->lines[side]);
    if (!r->lines[side])
        return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        wgi_slice *at = &r->lines[side][i];
        wgi_next_line(&rest, at);
        if (wgi_text_clean(at->text, at->size))
            continue;
        r->repaired++;
        if (!r->first_repaired[side])
            r->first_repaired[side] = i + 1;
    }
    return WG_OK;
}

/* As many empty lines as the target has. */
static wg_status without_source(reader *r)
{
    r->n_lines[0] = r->n_lines[1];
    r->lines[0] = calloc(r->n_lines[0] + 1, sizeof *r->lines[0]);
    if (!r->lines[0])
        return no_memory(r);
    for (size_t i = 0; i < r->n_lines[0]; i++)
        r->lines[0][i].text = "";
    return WG_OK;
}

/* Adds to an error what explains it: a text whose lines end in a carriage return alone, as on old
 * Macs, is a single line here. */
static void hint_at_returns(reader *r)
{
    for (int side = 0; side < SIDES; side++) {
        const wgi_text *t = &r->text[side];
        const char *at = t->size ? memchr(t->bytes, '\r', t->size - 1) : NULL;
        bool named = side > 0 && strcmp(r->name[0], r->name[1]) == 0;
        if (at && !named && !memchr(t->bytes, '\n', t->size))
            wgi_error_add(r->error,
                          "; %s has carriage returns, but no newlines: tr '\\r' '\\n' makes "
                          "lines of it",
                          r->name[side]);
    }
}

static wg_status split_both(reader *r)
{
    wg_status status = split(r, 1);
    if (status == WG_OK)
        status = r->spans ? without_source(r) : split(r, 0);
    if (status != WG_OK || r->n_lines[0] == r->n_lines[1])
        return status;
    wgi_error_set(r->error, WG_EDATA, "%s and %s: expected equally many lines, got %zu and %zu",
                  r->name[0], r->name[1], r->n_lines[0], r->n_lines[1]);
    hint_at_returns(r);
    return WG_EDATA;
}

/* Encodes all lines in parallel.  Each result has its own place, so the order does not matter. */
static wg_status encode(reader *r, const wg_vocabulary *const vocabulary[SIDES])
{
    size_t n = SIDES * r->n_lines[0];
    int threads = wgi_threads(r->options.threads), worst = WG_OK;
    r->sentence = calloc(n + 1, sizeof *r->sentence);
    if (!r->sentence)
        return no_memory(r);
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads) reduction(max : worst)
    for (size_t i = 0; i < n; i++) {
        wgi_slice line = r->lines[i % SIDES][i / SIDES];
        int status = wg_vocabulary_encode(vocabulary[i % SIDES], line.text, line.size,
                                          &r->sentence[i].ids, &r->sentence[i].n);
        worst = status > worst ? status : worst;
    }
    if (worst == WG_ENOMEM)
        return no_memory(r);
    return worst == WG_OK ? WG_OK
                          : wgi_error_file(r->error, (wg_status)worst, r->name[0],
                                           "a line could not be encoded: %s",
                                           wg_status_text((wg_status)worst));
}

/* ---- choosing and keeping -------------------------------------------------------------------- */

static void free_sentences(reader *r)
{
    for (size_t i = 0; r->sentence && i < SIDES * r->n_lines[0]; i++)
        free(r->sentence[i].ids);
    free(r->sentence);
    r->sentence = NULL;
}

/* The spans of a single text, in place of its lines. */
static wg_status cut(wg_corpus *c, reader *r)
{
    size_t n = r->n_lines[1], n_spans = 0;
    wgi_encoded *spans = NULL, *line = calloc(n + 1, sizeof *line);
    for (size_t i = 0; line && i < n; i++) {
        line[i] = r->sentence[SIDES * i + 1];
        c->empty += line[i].n == 0;
    }
    wg_status status = line ? wgi_spans_cut(&spans, &n_spans, line, n, r->spans) : WG_ENOMEM;
    free(line);
    if (status != WG_OK)
        return no_memory(r);
    free_sentences(r);
    r->sentence = calloc(SIDES * n_spans + 1, sizeof *r->sentence);
    r->n_lines[0] = r->n_lines[1] = r->sentence ? n_spans : 0;
    for (size_t i = 0; i < n_spans; i++)
        if (r->sentence)
            r->sentence[SIDES * i + 1] = spans[i];
        else
            free(spans[i].ids);
    free(spans);
    c->n = n_spans; /* NOLINT(clang-analyzer-core.NullDereference): called with memory for c */
    return r->sentence ? WG_OK : no_memory(r);
}

/* True if pair i is kept; otherwise counts it. */
static bool keep(wg_corpus *c, const reader *r, size_t i)
{
    size_t s = r->sentence[SIDES * i].n, t = r->sentence[SIDES * i + 1].n,
           max = r->options.max_length;
    bool empty = !r->options.keep_empty && (!s || !t);
    bool too_long = !empty && max && (s > max || t > max);
    c->empty += empty;
    c->too_long += too_long;
    return !empty && !too_long;
}

/* Moves the sentences and lines that are kept to the front. */
static void close_up(wg_corpus *c, reader *r)
{
    for (size_t i = 0; i < r->n_lines[0]; i++) {
        if (!keep(c, r, i))
            continue;
        for (size_t side = 0; side < SIDES; side++) {
            wgi_encoded *to = &r->sentence[SIDES * c->n + side],
                        *from = &r->sentence[SIDES * i + side], left = *to;
            *to = *from;
            *from = left; /* what is left out is still freed with the rest */
            r->lines[side][c->n] = r->lines[side][i];
        }
        c->n++;
    }
}

static wg_status pack_ids(wg_corpus *c, reader *r)
{
    size_t n = SIDES * c->n, used = 0;
    for (size_t i = 0; i < n; i++)
        used += r->sentence[i].n;
    c->ids = malloc((used + 1) * sizeof *c->ids);
    c->first = malloc((n + 1) * sizeof *c->first);
    if (!c->ids || !c->first)
        return no_memory(r);
    used = 0;
    for (size_t i = 0; i < n; i++) {
        c->first[i] = used;
        if (r->sentence[i].n) /* the side that a single text lacks has no array */
            memcpy(c->ids + used, r->sentence[i].ids, r->sentence[i].n * sizeof *c->ids);
        used += r->sentence[i].n;
    }
    c->first[n] = used;
    c->hash = XXH3_64bits_withSeed(c->ids, used * sizeof *c->ids,
                                   XXH3_64bits(c->first, (n + 1) * sizeof *c->first));
    return WG_OK;
}

/* Copies the lines as clean text, which takes at most three bytes for each byte. */
static wg_status pack_text(wg_corpus *c, reader *r)
{
    size_t n = SIDES * c->n, room = 0, used = 0;
    for (size_t i = 0; i < n; i++)
        room += 3 * r->lines[i % SIDES][i / SIDES].size + 1;
    c->bytes = malloc(room + 1);
    c->line = malloc((n + 1) * sizeof *c->line);
    if (!c->bytes || !c->line)
        return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        wgi_slice line = r->lines[i % SIDES][i / SIDES];
        c->line[i] = used;
        used += wgi_text_clean_into(c->bytes + used, line.text, line.size);
        c->bytes[used++] = '\0';
    }
    return WG_OK;
}

static wg_status nothing_left(reader *r, const wg_corpus *c)
{
    if (r->spans)
        return wgi_error_file(r->error, WG_EDATA, r->name[1],
                              "expected a text, got %zu lines without a token", c->empty);
    wgi_error_set(r->error, WG_EDATA,
                  "%s and %s: expected at least one pair of sentences to use, got none of %zu "
                  "(%zu with an empty side",
                  r->name[0], r->name[1], r->n_lines[0], c->empty);
    if (r->options.max_length)
        wgi_error_add(r->error, ", %zu longer than %zu tokens", c->too_long, r->options.max_length);
    wgi_error_add(r->error, ")");
    hint_at_returns(r);
    return WG_EDATA;
}

static wg_status build(wg_corpus **out, reader *r, const wg_vocabulary *const vocabulary[SIDES])
{
    wg_corpus *c = NULL;
    if (!wgi_threads_valid(r->options.threads))
        return wgi_error_set(r->error, WG_EINVAL, WGI_THREADS_WRONG, r->options.threads,
                             WG_MAX_THREADS);
    wg_status status = split_both(r);
    if (status == WG_OK)
        status = encode(r, vocabulary);
    if (status == WG_OK && !(c = calloc(1, sizeof *c)))
        status = no_memory(r);
    if (status == WG_OK) {
        c->repaired = r->repaired; /* NOLINT(clang-analyzer-core.NullDereference): not NULL here */
        memcpy(c->first_repaired, r->first_repaired, sizeof c->first_repaired);
    }
    if (status == WG_OK && r->spans)
        status = cut(c, r);
    else if (status == WG_OK)
        close_up(c, r);
    if (status == WG_OK) /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): not NULL here */
        status = c->n ? pack_ids(c, r) : nothing_left(r, c);
    if (status == WG_OK && r->options.keep_text)
        status = pack_text(c, r);
    free_sentences(r);
    free(r->lines[0]);
    free(r->lines[1]);
    if (status == WG_OK)
        *out = c;
    else
        wg_corpus_free(c);
    return status;
}

/* ---- from outside ---------------------------------------------------------------------------- */

wg_status wg_corpus_read(wg_corpus **out, const char *source_path, const char *target_path,
                         const wg_vocabulary *source, const wg_vocabulary *target,
                         const wg_corpus_options *options, wg_error *error)
{
    reader r = {.name = {source_path, target_path}, .error = error};
    wgi_error_clear(error);
    if (out)
        *out = NULL;
    if (!out || !source_path || !target_path || !source || !target)
        return wgi_error_set(error, WG_EINVAL, "wg_corpus_read: an argument is NULL");
    r.options = options ? *options : (wg_corpus_options){0};
    wg_status status = wgi_text_read_lines(&r.text[0], source_path, error);
    if (status == WG_OK)
        status = wgi_text_read_lines(&r.text[1], target_path, error);
    if (status == WG_OK)
        status = build(out, &r, (const wg_vocabulary *const[]){source, target});
    free(r.text[0].bytes);
    free(r.text[1].bytes);
    return status;
}

wg_status wg_corpus_of_text(wg_corpus **out, const char *source_text, size_t source_size,
                            const char *target_text, size_t target_size,
                            const wg_vocabulary *source, const wg_vocabulary *target,
                            const wg_corpus_options *options, wg_error *error)
{
    reader r = {.name = {"source text", "target text"}, .error = error};
    wgi_error_clear(error);
    if (out)
        *out = NULL;
    if (!out || (!source_text && source_size) || (!target_text && target_size) || !source ||
        !target)
        return wgi_error_set(error, WG_EINVAL, "wg_corpus_of_text: an argument is NULL");
    r.options = options ? *options : (wg_corpus_options){0};
    r.text[0] = (wgi_text){(char *)source_text, source_size};
    r.text[1] = (wgi_text){(char *)target_text, target_size};
    return build(out, &r, (const wg_vocabulary *const[]){source, target});
}

/* The text is r->text[1]. */
static wg_status build_spans(wg_corpus **out, reader *r, const wg_vocabulary *v,
                             const wg_span_options *options)
{
    if (options->bos < 0 || options->eos < 0 || options->length < 1)
        return wgi_error_set(r->error, WG_EINVAL,
                             "spans: expected tokens for begin and end, and a length of at least "
                             "1, got %" PRId32 ", %" PRId32 " and %zu",
                             options->bos, options->eos, options->length);
    r->spans = options;
    r->options.threads = options->threads;
    return build(out, r, (const wg_vocabulary *const[]){v, v});
}

wg_status wg_corpus_read_spans(wg_corpus **out, const char *path, const wg_vocabulary *v,
                               const wg_span_options *options, wg_error *error)
{
    reader r = {.name = {path, path}, .error = error};
    wgi_error_clear(error);
    if (out)
        *out = NULL;
    if (!out || !path || !v || !options)
        return wgi_error_set(error, WG_EINVAL, "wg_corpus_read_spans: an argument is NULL");
    wg_status status = wgi_text_read_lines(&r.text[1], path, error);
    if (status == WG_OK)
        status = build_spans(out, &r, v, options);
    free(r.text[1].bytes);
    return status;
}

wg_status wg_corpus_spans_of_text(wg_corpus **out, const char *text, size_t size,
                                  const wg_vocabulary *v, const wg_span_options *options,
                                  wg_error *error)
{
    reader r = {.name = {"text", "text"}, .error = error, .text[1] = {(char *)text, size}};
    wgi_error_clear(error);
    if (out)
        *out = NULL;
    if (!out || (!text && size) || !v || !options)
        return wgi_error_set(error, WG_EINVAL, "wg_corpus_spans_of_text: an argument is NULL");
    return build_spans(out, &r, v, options);
}

void wg_corpus_free(wg_corpus *c)
{
    if (!c)
        return;
    free(c->ids);
    free(c->first);
    free(c->bytes);
    free(c->line);
    free(c);
}

size_t wg_corpus_count(const wg_corpus *c)
{
    return c->n;
}

size_t wg_corpus_empty(const wg_corpus *c)
{
    return c->empty;
}

size_t wg_corpus_too_long(const wg_corpus *c)
{
    return c->too_long;
}

size_t wg_corpus_repaired(const wg_corpus *c)
{
    return c->repaired;
}

size_t wg_corpus_first_repaired(const wg_corpus *c, int side)
{
    return c->first_repaired[side != 0];
}

wg_sentence wg_corpus_sentence(const wg_corpus *c, size_t i, int side)
{
    size_t k = SIDES * i + (side != 0);
    return (wg_sentence){c->ids + c->first[k], c->first[k + 1] - c->first[k]};
}

const char *wg_corpus_text(const wg_corpus *c, size_t i, int side)
{
    return c->bytes ? c->bytes + c->line[SIDES * i + (side != 0)] : NULL;
}

uint64_t wg_corpus_hash(const wg_corpus *c)
{
    return c->hash;
}
