#include "graph/grow.h"
#include "wengert/translate/translator.h"
#include "graph/error.h"
#include "graph/threads.h"
#include "translate/opened.h"
#include "translate/translator.h"

#include <stdlib.h>
#include <string.h>

struct wg_translator {
    wgi_opened_model model;
    wg_search *search;
    int threads;       /* that encode lines */
    size_t max_tokens; /* of a line, without the end of sentence; SIZE_MAX: no limit */
    wg_error error;    /* of the last call */
};

/* ---- opening --------------------------------------------------------------------------------- */

static wg_status make_search(wg_translator *t, const char *folder, const wg_translator_options *o,
                             wg_error *error)
{
    const wg_search_model model = {
        .config = &t->model.settings.net,
        .store = t->model.store,
        .bos = t->model.marks.start,
        .eos = t->model.marks.eos,
        .pad = t->model.marks.pad,
        .unk = t->model.marks.unk,
        .backends = o->backends,
        .n_backends = o->n_backends,
        .threads = o->threads,
        .int8 = o->int8,
        .fixed = true,
    };
    wg_status status = wg_search_create(&t->search, &model, error);
    return status == WG_OK ? WG_OK : wgi_error_prefix(error, status, "%s: ", folder);
}

/* What is left for a sentence beside its marks, of which the target has one at each end. */
static size_t max_tokens(const wg_settings *s, int64_t wanted)
{
    const wg_transformer_config *c = &s->net;
    size_t max = wanted > 0 ? (size_t)wanted : wanted == 0 ? WG_LINE_TOKENS : SIZE_MAX;
    size_t marks = s->source_marks == WG_SOURCE_BOTH ? 2 : 1;
    bool learned = c->positions == WG_POSITIONS_LEARNED && c->max_positions > 0;
    size_t positions = learned ? (size_t)c->max_positions : SIZE_MAX;
    positions = positions > marks ? positions - marks : 0;
    return max < positions ? max : positions;
}

size_t wgi_translator_limit(const wg_translator *t)
{
    return t->max_tokens;
}

wg_status wg_translator_open(wg_translator **out, const char *folder,
                             const wg_translator_options *options, wg_error *error)
{
    static const wg_translator_options none = {0};
    const wg_translator_options *o = options ? options : &none;
    wgi_error_clear(error);
    if (out)
        *out = NULL;
    if (!out || !folder)
        return wgi_error_set(error, WG_EINVAL, "wg_translator_open: no folder was given");
    wg_translator *t = calloc(1, sizeof *t);
    if (!t)
        return wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    t->threads = wgi_threads(o->threads);
    wg_status status =
        wgi_open_model(&t->model, WG_TYPE_TRANSFORMER, folder, o->settings, o->weights, error);
    t->max_tokens = max_tokens(&t->model.settings, o->max_tokens);
    if (status == WG_OK)
        status = make_search(t, folder, o, error);
    if (status == WG_OK)
        *out = t;
    else
        wg_translator_free(t);
    return status;
}

void wg_translator_free(wg_translator *t)
{
    if (!t)
        return;
    wg_search_free(t->search);
    wgi_close_model(&t->model);
    free(t);
}

const char *wg_translator_message(const wg_translator *t)
{
    return t ? t->error.text : "the translator is NULL";
}

const wg_vocabulary *wg_translator_vocabulary(const wg_translator *t, int side)
{
    return t && (side == 0 || side == 1) ? t->model.vocabularies.side[side] : NULL;
}

const wg_settings *wgi_translator_settings(const wg_translator *t)
{
    return &t->model.settings;
}

const wg_store *wgi_translator_store(const wg_translator *t)
{
    return t->model.store;
}

const wgi_sentence_marks *wgi_translator_marks(const wg_translator *t)
{
    return &t->model.marks;
}

const wg_transformer_config *wg_translator_config(const wg_translator *t)
{
    return t ? &t->model.settings.net : NULL;
}

const wg_store *wg_translator_store(const wg_translator *t)
{
    return t ? t->model.store : NULL;
}

/* ---- lines and tokens ------------------------------------------------------------------------ */

typedef struct token_lines {
    int32_t **ids;           /* [n], each allocated */
    size_t *length, *cut, n; /* [n] tokens that are left, and how many are not */
} token_lines;

static void free_lines(token_lines *l)
{
    for (size_t i = 0; l->ids && i < l->n; i++)
        free(l->ids[i]);
    free(l->ids);
    free(l->length);
    free(l->cut);
}

/* The first t->max_tokens tokens of line i with the marks of the source, or the end of sentence of
 * the target; none at all for a blank line if `blank_is_nothing`. */
static wg_status encode_line(const wg_translator *t, token_lines *out, int side, size_t i,
                             const char *line, bool blank_is_nothing)
{
    const wg_vocabulary *v = t->model.vocabularies.side[side];
    int32_t *ids = NULL;
    size_t count = 0;
    wg_status status = wg_vocabulary_encode(v, line, strlen(line), &ids, &count);
    if (status != WG_OK)
        return status;
    size_t room = count, kept = count < t->max_tokens ? count : t->max_tokens;
    if (!WGI_RESERVE(ids, room, kept + 2)) {
        free(ids);
        return WG_ENOMEM;
    }
    const wgi_sentence_marks end = {.source_bos = -1, .source_eos = t->model.marks.eos};
    out->ids[i] = ids;
    out->length[i] = wgi_marks_put(side == 0 ? &t->model.marks : &end, ids, kept);
    out->length[i] = kept == 0 && blank_is_nothing ? 0 : out->length[i];
    out->cut[i] = count - kept;
    return WG_OK;
}

static wg_status encode_lines(wg_translator *t, token_lines *out, int side,
                              const char *const *lines, size_t n, bool blank_is_nothing)
{
    static const char *const sides[] = {"source", "target"};
    *out = (token_lines){.n = 0};
    for (size_t i = 0; i < n; i++)
        if (!lines[i])
            return wgi_error_set(&t->error, WG_EINVAL, "line %zu of the %s is NULL", i + 1,
                                 sides[side]);
    *out = (token_lines){calloc(n + 1, sizeof *out->ids), calloc(n + 1, sizeof *out->length),
                         calloc(n + 1, sizeof *out->cut), n};
    if (!out->ids || !out->length || !out->cut)
        return wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    wg_status first = WG_OK;
#pragma omp parallel for schedule(static) num_threads(t->threads) if (n > 64)
    for (size_t i = 0; i < n; i++) {
        wg_status status = encode_line(t, out, side, i, lines[i], blank_is_nothing);
        if (status != WG_OK) {
#pragma omp critical(wgi_translator_status)
            first = status;
        }
    }
    return first == WG_OK ? first : wgi_error_set(&t->error, first, "%s", wg_status_text(first));
}

/* Moves the hypotheses into translations, with their texts. */
static wg_status with_texts(wg_translator *t, wg_hypothesis *h, size_t count,
                            wg_translation **results)
{
    wg_translation *out = calloc(count + 1, sizeof *out);
    wg_status status = out ? WG_OK : WG_ENOMEM;
    for (size_t i = 0; status == WG_OK && i < count; i++)
        if (h[i].ids)
            status =
                wg_vocabulary_decode(t->model.vocabularies.side[1], h[i].ids, h[i].n, &out[i].text);
    for (size_t i = 0; status == WG_OK && i < count; i++) {
        out[i].hypothesis = h[i];
        h[i] = (wg_hypothesis){0};
    }
    wg_hypotheses_free(h, count);
    if (status != WG_OK) {
        wg_translations_free(out, count);
        return wgi_error_set(&t->error, status, "%s", wg_status_text(status));
    }
    *results = out;
    return WG_OK;
}

/* The message of the search; if it ran out of memory, also the length of the longest line, which
 * decides how much is needed. */
static wg_status fail_search(wg_translator *t, wg_status status, const token_lines *source)
{
    size_t longest = 0;
    for (size_t i = 0; i < source->n; i++)
        longest = source->length[i] > longest ? source->length[i] : longest;
    wgi_error_set(&t->error, status, "%s", wg_search_message(t->search));
    if (status == WG_ENOMEM)
        wgi_error_add(&t->error, "; the longest line has %zu tokens", longest);
    return status;
}

wg_status wg_translator_run(wg_translator *t, const char *const *lines, size_t n,
                            const wg_search_options *options, wg_translation **results)
{
    if (!t)
        return WG_EINVAL;
    wgi_error_clear(&t->error);
    if (!results || (n && !lines))
        return wgi_error_set(&t->error, WG_EINVAL, "wg_translator_run: an argument is NULL");
    *results = NULL;
    token_lines source;
    wg_hypothesis *found = NULL;
    wg_status status = encode_lines(t, &source, 0, lines, n, true);
    if (status == WG_OK) {
        status = wg_search_run(t->search, (const int32_t *const *)source.ids, source.length, n,
                               options, &found);
        if (status != WG_OK)
            fail_search(t, status, &source);
    }
    size_t n_best = options && options->n_best > 0 ? (size_t)options->n_best : 1;
    if (status == WG_OK)
        status = with_texts(t, found, n * n_best, results);
    for (size_t i = 0; status == WG_OK && i < n * n_best; i++)
        (*results)[i].cut = source.cut[i / n_best];
    free_lines(&source);
    return status;
}

wg_status wg_translator_score(wg_translator *t, const char *const *sources,
                              const char *const *targets, size_t n,
                              const wg_search_options *options, wg_translation **results)
{
    if (!t)
        return WG_EINVAL;
    wgi_error_clear(&t->error);
    if (!results || (n && (!sources || !targets)))
        return wgi_error_set(&t->error, WG_EINVAL, "wg_translator_score: an argument is NULL");
    *results = NULL;
    token_lines source, target = {0};
    wg_hypothesis *found = NULL;
    wg_status status = encode_lines(t, &source, 0, sources, n, false);
    if (status == WG_OK)
        status = encode_lines(t, &target, 1, targets, n, false);
    if (status == WG_OK) {
        status =
            wg_search_score(t->search, (const int32_t *const *)source.ids, source.length,
                            (const int32_t *const *)target.ids, target.length, n, options, &found);
        if (status != WG_OK)
            fail_search(t, status, &source);
    }
    if (status == WG_OK)
        status = with_texts(t, found, n, results);
    for (size_t i = 0; status == WG_OK && i < n; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the status is that of making them */
        (*results)[i].cut = source.cut[i] + target.cut[i];
    free_lines(&source);
    free_lines(&target);
    return status;
}

void wg_translations_free(wg_translation *results, size_t count)
{
    for (size_t i = 0; results && i < count; i++) {
        free(results[i].text);
        free(results[i].hypothesis.ids);
        free(results[i].hypothesis.token_scores);
        free(results[i].hypothesis.attention);
    }
    free(results);
}
