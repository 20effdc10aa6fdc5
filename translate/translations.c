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

/* All sources, each with its marks, in one array. */
typedef struct sources {
    int32_t *ids;
    const int32_t **at; /* [n] */
    size_t *length;     /* [n] */
} sources;

static bool make_sources(sources *s, const wg_corpus *c, const wgi_marks *marks)
{
    size_t n = wg_corpus_count(c), total = 0;
    for (size_t i = 0; i < n; i++)
        total += wg_corpus_sentence(c, i, 0).n + 2;
    s->ids = malloc((total + 1) * sizeof *s->ids);
    s->at = malloc((n + 1) * sizeof(int32_t *));
    s->length = malloc((n + 1) * sizeof *s->length);
    if (!s->ids || !s->at || !s->length)
        return false;
    int32_t *to = s->ids;
    for (size_t i = 0; i < n; i++) {
        wg_sentence sentence = wg_corpus_sentence(c, i, 0);
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

static wg_status make_search(wgi_validator *v, const wgi_marks *marks, wg_error *error)
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

wg_status wgi_translate_corpus(wgi_validator *v, const wg_corpus *corpus, char ***texts,
                               wg_error *error)
{
    const wg_vocabularies *words = &v->data->vocabularies;
    wg_search_options options = v->settings->search;
    size_t n = wg_corpus_count(corpus);
    sources s = {NULL, NULL, NULL};
    wgi_marks marks;
    wg_hypothesis *best = NULL;
    options.n_best = 1;
    options.stop = v->stop;
    *texts = NULL;
    wg_status status = wgi_marks_of(&marks, v->settings, words, v->settings->model, error);
    if (status != WG_OK)
        return status;
    *texts = calloc(n + 1, sizeof(char *));
    bool ok = *texts && make_sources(&s, corpus, &marks);
    status = ok ? make_search(v, &marks, error)
                : wgi_error_set(error, WG_ENOMEM, "translation: out of memory");
    if (status == WG_OK) {
        status = wg_search_run(v->search, s.at, s.length, n, &options, &best);
        if (status != WG_OK)
            wgi_error_set(error, status, "translation: %s", wg_search_message(v->search));
    }
    for (size_t i = 0; i < n && status == WG_OK; i++) {
        status = wg_vocabulary_decode(words->side[1], best[i].ids, best[i].n, &(*texts)[i]);
        if (status != WG_OK)
            wgi_error_set(error, status, "translation: %s", wg_status_text(status));
    }
    if (status != WG_OK) {
        wgi_translated_free(*texts, n);
        *texts = NULL;
    }
    wg_hypotheses_free(best, best ? n : 0);
    free_sources(&s);
    return status;
}
