#include "graph/grow.h"
#include "wengert/translate/translator.h"
#include "wengert/ops/table.h"
#include "wengert/translate/folder.h"
#include "files/read.h"
#include "files/weights.h"
#include "graph/error.h"
#include "models/parameters.h"
#include "train/finite.h"
#include "translate/folder.h"
#include "translate/marks.h"
#include "translate/translator.h"
#include "translate/validate.h"

#include <stdlib.h>
#include <string.h>

struct wg_translator {
    wg_settings settings;
    wg_vocabularies vocabularies;
    wgi_sentence_marks marks;
    wg_store *store;
    wg_search *search;
    int threads;
    size_t max_tokens; /* of a line, without the end of sentence; SIZE_MAX: no limit */
    wg_error error;    /* of the last call */
};

/* ---- opening --------------------------------------------------------------------------------- */

static wg_status take_settings(wg_translator *t, const char *folder, const wg_translator_options *o,
                               wg_error *error)
{
    if (!o->settings)
        return wg_folder_settings(&t->settings, folder, error);
    wg_status status = wg_settings_copy(&t->settings, o->settings);
    return status == WG_OK ? WG_OK : wgi_error_file(error, status, folder, "out of memory");
}

static wg_status open_vocabularies(wg_translator *t, const char *folder, wg_error *error)
{
    wg_status status = wg_vocabularies_open(&t->vocabularies, folder, error);
    if (status != WG_OK)
        return status;
    t->settings.net.source_vocabulary = wg_vocabulary_size(t->vocabularies.side[0]);
    t->settings.net.target_vocabulary = wg_vocabulary_size(t->vocabularies.side[1]);
    return wgi_marks_of(&t->marks, &t->settings, &t->vocabularies, folder, error);
}

/* Creates a zeroed tensor for each parameter of the model. */
static wg_status make_store(wg_translator *t, const char *folder, wg_error *error)
{
    wg_graph *g = wgi_transformer_parameters(&t->settings.net);
    wg_status status = wg_graph_status(g);
    if (status != WG_OK)
        wgi_error_file(error, status, folder, "%s", g ? wg_graph_message(g) : "out of memory");
    t->store = wg_store_new(0);
    for (size_t i = 0; status == WG_OK && i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        if (n->op == &wg_op_parameter && wg_store_add(t->store, n->out[0]->name, n->out[0]->dtype,
                                                      &n->out[0]->shape, NULL) != WG_OK)
            status = wgi_error_file(error, WG_ENOMEM, folder, "no memory for the parameters");
    }
    wg_graph_free(g);
    return status;
}

/* Sets *path, which the caller frees, unless it is set or the folder lacks the file. */
static wg_status choose(char **path, const char *folder, const char *name, wg_error *error)
{
    bool has = false;
    wg_status status = *path ? WG_OK : wg_folder_has(folder, name, &has, error);
    if (has && !(*path = wg_folder_path(folder, "%s", name)))
        status = wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    return status;
}

/* The requested file, in the folder or elsewhere. */
static wg_status find_wanted(char **path, const char *folder, const char *wanted, wg_error *error)
{
    bool exists = false;
    wg_status status = choose(path, folder, wanted, error);
    if (status != WG_OK || *path)
        return status;
    status = wgi_file_exists(wanted, &exists, error);
    if (status == WG_OK && !exists)
        return wgi_error_file(
            error, WG_EIO, wanted,
            "expected a file in the model's folder %s, or at this path; got neither", folder);
    if (exists && !(*path = strdup(wanted)))
        status = wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    return status;
}

/* The first that exists of the best by the deciding metric, the best by another metric, the moving
 * average, and the last weights. */
static wg_status find_best(char **path, const wg_translator *t, const char *folder, wg_error *error)
{
    char name[64];
    int first = wgi_metric_named(t->settings.valid_metrics, 0);
    wg_status status = WG_OK;
    for (int i = first >= 0 ? -1 : 0; i < WG_METRICS && status == WG_OK; i++) {
        snprintf(name, sizeof name, "best-%s.safetensors",
                 wgi_metric_kinds[i < 0 ? first : i].name);
        status = choose(path, folder, name, error);
    }
    if (status == WG_OK)
        status = choose(path, folder, WG_FILE_AVERAGE, error);
    if (status == WG_OK && !*path && !(*path = wg_folder_path(folder, "%s", WG_FILE_MODEL)))
        status = wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    return status;
}

/* Numbers that are none make no probabilities. */
static wg_status check_parameters(const wg_store *store, const char *path, wg_error *error)
{
    wg_status status = WG_OK;
    for (size_t i = 0; i < wg_store_count(store); i++) {
        wg_status one = wgi_check_finite(wg_store_at(store, i), 1, WG_ENONFINITE, path, error);
        status = one != WG_OK ? one : status;
    }
    return status;
}

/* With another vocabulary their shapes may differ too: that is the cause and comes first. */
static wg_status take_weights(wg_translator *t, const char *folder, const wg_safetensors *f,
                              const char *path, wg_error *error)
{
    wg_status status = wgi_vocabularies_check(
        &t->vocabularies, folder, wg_safetensors_note(f, WGI_NOTE_VOCABULARIES), path, error);
    if (status == WG_OK)
        status = wgi_store_take(t->store, f, path, error);
    return status == WG_OK ? check_parameters(t->store, path, error) : status;
}

static wg_status load_weights(wg_translator *t, const char *folder, const char *wanted,
                              wg_error *error)
{
    char *path = NULL;
    wg_safetensors *f = NULL;
    wg_status status =
        wanted ? find_wanted(&path, folder, wanted, error) : find_best(&path, t, folder, error);
    if (status == WG_OK)
        status = wg_safetensors_open(&f, path, error);
    if (status == WG_OK)
        status = take_weights(t, folder, f, path, error);
    wg_safetensors_close(f);
    free(path);
    return status;
}

static wg_status make_search(wg_translator *t, const char *folder, const wg_translator_options *o,
                             wg_error *error)
{
    const wg_search_model model = {
        .config = &t->settings.net,
        .store = t->store,
        .bos = t->marks.start,
        .eos = t->marks.eos,
        .pad = t->marks.pad,
        .unk = t->marks.unk,
        .backends = o->backends,
        .n_backends = o->n_backends,
        .threads = o->threads,
        .int8 = o->int8,
    };
    wg_status status = wg_search_create(&t->search, &model, error);
    return status == WG_OK ? WG_OK : wgi_error_prefix(error, status, "%s: ", folder);
}

/* What is left for a sentence beside its marks, of which the target has one at each end. */
static size_t max_tokens(const wg_settings *s, int64_t wanted)
{
    const wg_transformer_config *c = &s->net;
    size_t max = wanted > 0 ? (size_t)wanted : SIZE_MAX;
    size_t marks = s->source_marks == WG_SOURCE_BOTH ? 2 : 1;
    bool learned = c->positions == WG_POSITIONS_LEARNED && c->max_positions > 0;
    size_t positions = learned ? (size_t)c->max_positions : SIZE_MAX;
    positions = positions > marks ? positions - marks : 0;
    return max < positions ? max : positions;
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
    t->threads = o->threads;
    wg_status status = take_settings(t, folder, o, error);
    t->max_tokens = max_tokens(&t->settings, o->max_tokens);
    if (status == WG_OK)
        status = open_vocabularies(t, folder, error);
    if (status == WG_OK)
        status = make_store(t, folder, error);
    if (status == WG_OK)
        status = load_weights(t, folder, o->weights, error);
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
    wg_store_free(t->store);
    wg_vocabularies_free(&t->vocabularies);
    wg_settings_free(&t->settings);
    free(t);
}

const char *wg_translator_message(const wg_translator *t)
{
    return t ? t->error.text : "the translator is NULL";
}

const wg_vocabulary *wg_translator_vocabulary(const wg_translator *t, int side)
{
    return t && (side == 0 || side == 1) ? t->vocabularies.side[side] : NULL;
}

const wg_settings *wgi_translator_settings(const wg_translator *t)
{
    return &t->settings;
}

const wg_store *wgi_translator_store(const wg_translator *t)
{
    return t->store;
}

const wgi_sentence_marks *wgi_translator_marks(const wg_translator *t)
{
    return &t->marks;
}

const wg_transformer_config *wg_translator_config(const wg_translator *t)
{
    return t ? &t->settings.net : NULL;
}

const wg_store *wg_translator_store(const wg_translator *t)
{
    return t ? t->store : NULL;
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
    const wg_vocabulary *v = t->vocabularies.side[side];
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
    const wgi_sentence_marks end = {.source_bos = -1, .source_eos = t->marks.eos};
    out->ids[i] = ids;
    out->length[i] = wgi_marks_put(side == 0 ? &t->marks : &end, ids, kept);
    out->length[i] = kept == 0 && blank_is_nothing ? 0 : out->length[i];
    out->cut[i] = count - kept;
    return WG_OK;
}

static wg_status encode_lines(wg_translator *t, token_lines *out, int side,
                              const char *const *lines, size_t n, bool blank_is_nothing)
{
    *out = (token_lines){calloc(n + 1, sizeof *out->ids), calloc(n + 1, sizeof *out->length),
                         calloc(n + 1, sizeof *out->cut), n};
    if (!out->ids || !out->length || !out->cut)
        return wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    wg_status first = WG_OK;
#pragma omp parallel for schedule(static) if (n > 64)
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
            status = wg_vocabulary_decode(t->vocabularies.side[1], h[i].ids, h[i].n, &out[i].text);
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
    if (!t || !results || (n && !lines))
        return t ? wgi_error_set(&t->error, WG_EINVAL, "wg_translator_run: an argument is NULL")
                 : WG_EINVAL;
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
    if (!t || !results || (n && (!sources || !targets)))
        return t ? wgi_error_set(&t->error, WG_EINVAL, "wg_translator_score: an argument is NULL")
                 : WG_EINVAL;
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
