/* A whole corpus translated, for validation. */
#include "translate/marks.h"
#include "translate/validate.h"
#include "graph/error.h"
#include "wengert/decode/search.h"

#include <stdlib.h>
#include <string.h>

void wgi_translated_free(char **texts, size_t n)
{
    for (size_t i = 0; texts && i < n; i++)
        free(texts[i]);
    free(texts);
}

/* The sources that this rank translates, number first, first + step, ... of the corpus, each with
 * its marks, in one array. */
typedef struct sources {
    size_t first, step, n;
    int32_t *ids;
    const int32_t **at; /* [n] */
    size_t *length;     /* [n] */
} sources;

static bool make_sources(sources *s, const wg_corpus *c, const wgi_sentence_marks *marks)
{
    size_t all = wg_corpus_count(c), n = 0, total = 0;
    for (size_t i = s->first; i < all; i += s->step, n++)
        total += wg_corpus_sentence(c, i, 0).n + 2;
    s->n = n;
    s->ids = malloc((total + 1) * sizeof *s->ids);
    s->at = malloc((n + 1) * sizeof(int32_t *));
    s->length = malloc((n + 1) * sizeof *s->length);
    if (!s->ids || !s->at || !s->length)
        return false;
    int32_t *to = s->ids;
    for (size_t i = 0; i < n; i++) {
        wg_sentence sentence = wg_corpus_sentence(c, s->first + i * s->step, 0);
        s->at[i] = to;
        if (sentence.n)
            memcpy(to, sentence.ids, sentence.n * sizeof *to);
        s->length[i] = wgi_marks_put(marks, to, sentence.n);
        to += s->length[i];
    }
    return true;
}

static void free_sources(sources *s)
{
    free(s->ids);
    free(s->at);
    free(s->length);
}

static wg_status make_search(wgi_validator *v, const wgi_sentence_marks *marks, wg_error *error)
{
    if (v->search)
        return WG_OK;
    wg_status status = wg_search_create(&v->search,
                                        &(wg_search_model){.config = &v->settings->net,
                                                           .store = v->store,
                                                           .bos = marks->start,
                                                           .eos = marks->eos,
                                                           .pad = marks->pad,
                                                           .unk = marks->unk,
                                                           .backends = v->backends->backend,
                                                           .n_backends = v->backends->count,
                                                           .threads = (int)v->settings->threads},
                                        error);
    return status == WG_OK ? WG_OK : wgi_error_prefix(error, status, "translation: ");
}

/* The best translation of each source, in texts[first], texts[first + step], ... */
static wg_status translate(wgi_validator *v, const sources *s, const wgi_sentence_marks *marks,
                           char **texts, wg_error *error)
{
    const wg_vocabulary *target = v->data->vocabularies.side[1];
    wg_search_options options = v->settings->search;
    wg_hypothesis *best = NULL;
    options.n_best = 1;
    options.without_scores = true;
    options.stop = v->stop;
    wg_status status = make_search(v, marks, error);
    if (status != WG_OK)
        return status;
    status = wg_search_run(v->search, s->at, s->length, s->n, &options, &best);
    if (status != WG_OK)
        wgi_error_set(error, status, "translation: %s", wg_search_message(v->search));
    for (size_t i = 0; i < s->n && status == WG_OK; i++) {
        char **text = &texts[s->first + i * s->step];
        status = wg_vocabulary_decode(target, best[i].ids, best[i].n, text);
        if (status != WG_OK)
            wgi_error_set(error, status, "translation: %s", wg_status_text(status));
    }
    wg_hypotheses_free(best, best ? s->n : 0);
    return status;
}

/* ---- on several ranks ------------------------------------------------------------------------ */

/* Bytes of the texts first, first + step, ... of n, each with its NUL. */
static uint64_t bytes_of(char *const *texts, size_t first, size_t step, size_t n)
{
    uint64_t bytes = 0;
    for (size_t i = first; i < n; i += step)
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): this rank made these texts */
        bytes += strlen(texts[i]) + 1;
    return bytes;
}

/* Copies them into one another, from `packed` or to it. */
static bool copy_texts(char **texts, size_t first, size_t step, size_t n, char *packed, bool unpack)
{
    for (size_t i = first; i < n; i += step, packed += strlen(packed) + 1)
        if (!unpack)
            memcpy(packed, texts[i], strlen(texts[i]) + 1);
        else if (!(texts[i] = strdup(packed)))
            return false;
    return true;
}

/* Every rank gets the texts that the others have made. */
static wg_status share_texts(const wgi_validator *v, char **texts, size_t n, wg_error *error)
{
    const size_t count = (size_t)wg_ranks_count(v->ranks), rank = (size_t)wg_ranks_rank(v->ranks);
    bool ok = true;
    for (size_t r = 0; r < count && ok; r++) {
        uint64_t bytes = r == rank ? bytes_of(texts, r, count, n) : 0;
        wg_ranks_broadcast(v->ranks, &bytes, sizeof bytes, (int)r);
        char *packed = malloc(bytes + 1);
        wg_status status = packed ? WG_OK : wgi_error_set(error, WG_ENOMEM, "out of memory");
        ok = wg_ranks_agree(v->ranks, status, error) == WG_OK && packed;
        if (ok && r == rank)
            copy_texts(texts, r, count, n, packed, false);
        if (ok)
            wg_ranks_broadcast(v->ranks, packed, bytes, (int)r);
        if (ok && r != rank && !copy_texts(texts, r, count, n, packed, true))
            status = wgi_error_set(error, WG_ENOMEM, "out of memory");
        ok = ok && wg_ranks_agree(v->ranks, status, error) == WG_OK;
        free(packed);
    }
    return ok ? WG_OK : WG_ENOMEM;
}

/* ---- any ------------------------------------------------------------------------------------- */

wg_status wgi_translate_corpus(wgi_validator *v, const wg_corpus *corpus, char ***texts,
                               wg_error *error)
{
    const wg_vocabularies *words = &v->data->vocabularies;
    size_t n = wg_corpus_count(corpus);
    sources s = {.step = 1};
    wgi_sentence_marks marks;
    *texts = NULL;
    wg_status status = wgi_marks_of(&marks, v->settings, words, v->settings->model, error);
    if (status != WG_OK)
        return status;
    if (v->ranks) {
        s.first = (size_t)wg_ranks_rank(v->ranks);
        s.step = (size_t)wg_ranks_count(v->ranks);
    }
    *texts = calloc(n + 1, sizeof(char *));
    bool ok = *texts && make_sources(&s, corpus, &marks);
    status = ok ? translate(v, &s, &marks, *texts, error)
                : wgi_error_set(error, WG_ENOMEM, "translation: out of memory");
    if (v->ranks)
        status = wg_ranks_agree(v->ranks, status, error);
    if (v->ranks && status == WG_OK)
        status = share_texts(v, *texts, n, error);
    if (status != WG_OK) {
        wgi_translated_free(*texts, n);
        *texts = NULL;
    }
    free_sources(&s);
    return status;
}
