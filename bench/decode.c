/* Decoding speed: sentences of the lengths of a test set, translated by a model with random
 * parameters, so that all translations reach the maximum length.  The first time includes
 * everything from the creation of the search on, as in a process of its own; the others reuse its
 * plans.
 *
 *     bench_decode [PRESET [VOCABULARY [SENTENCES [BEAM [TOKENS]]]]]
 *
 * Defaults: tiny, 9712, 1000, beams 1 and 5, tokens of a batch as the search chooses. */
#include "wengert/backends/plan.h"
#include "measure/limits.h"
#include "measure/parameters.h"
#include "models/parameters.h"
#include "wengert/decode/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX = 100000, LONGEST = 40 };

static int32_t ids[MAX * LONGEST];

static uint64_t next(uint64_t *seed)
{
    return *seed = *seed * 6364136223846793005u + 1442695040888963407u;
}

/* Lengths around 14 tokens, from 4 to 36: those of Multi30k. */
static size_t draw_sentences(const int32_t **at, size_t *length, size_t n, int64_t vocabulary)
{
    uint64_t seed = 1;
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < 12; k++)
            sum += (double)(next(&seed) >> 40) / (double)(1 << 24);
        double length_drawn = 14 + 4.2 * (sum - 6);
        length[i] = length_drawn < 4 ? 4 : length_drawn > 36 ? 36 : (size_t)length_drawn;
        at[i] = ids + i * LONGEST;
        for (size_t t = 0; t < length[i]; t++)
            ids[i * LONGEST + t] = 4 + (int32_t)((next(&seed) >> 33) % (uint64_t)(vocabulary - 4));
        total += length[i];
    }
    return total;
}

static wg_status fill_store(wg_store *store, const wg_transformer_config *c)
{
    wg_graph *g = wgi_transformer_parameters(c);
    wg_status status = bench_draw_parameters(g, store);
    if (status != WG_OK)
        fprintf(stderr, "%s\n", wg_graph_message(g));
    wg_graph_free(g);
    return status;
}

typedef struct request {
    wg_transformer_config config;
    wg_store *store;
    const int32_t *at[MAX];
    size_t length[MAX], n, tokens;
    wg_search_options search;
} request;

typedef struct moment {
    double wall, cpu;
} moment;

static moment now(void)
{
    return (moment){wgi_seconds(), (double)clock() / CLOCKS_PER_SEC};
}

static void report(const request *r, const char *what, const wg_hypothesis *h, moment start)
{
    moment end = now();
    size_t made = 0;
    for (size_t i = 0; i < r->n; i++)
        made += h[i].n;
    double wall = end.wall - start.wall;
    printf("beam %ld, %s: %zu sentences of %zu tokens into %zu: %.3f s, %.3f s of CPU, %.0f "
           "sentences/s\n",
           (long)r->search.beam, what, r->n, r->tokens, made, wall, end.cpu - start.cpu,
           (double)r->n / wall);
}

static wg_status run(const request *r)
{
    const wg_search_model model = {
        .config = &r->config, .store = r->store, .pad = 0, .bos = 1, .eos = 2, .unk = 3};
    wg_error error;
    wg_search *s;
    moment start = now();
    wg_status status = wg_search_create(&s, &model, &error);
    if (status != WG_OK)
        return fprintf(stderr, "%s\n", error.text), status;
    for (int again = 0; again < 3 && status == WG_OK; again++) {
        wg_hypothesis *h;
        status = wg_search_run(s, r->at, r->length, r->n, &r->search, &h);
        if (status == WG_OK) {
            report(r, again ? "again" : "at once", h, start);
            wg_hypotheses_free(h, r->n);
        } else {
            fprintf(stderr, "%s\n", wg_search_message(s));
        }
        start = now();
    }
    wg_search_free(s);
    return status;
}

int main(int argc, char **argv)
{
    static request r;
    const char *given[6] = {NULL, "tiny", "9712", "1000", NULL, "0"};
    for (int i = 1; i < argc && i < 6; i++)
        given[i] = argv[i];
    const wg_transformer_config *preset = wg_transformer_find(given[1]);
    if (!preset)
        return fprintf(stderr, "there is no model %s\n", given[1]), 2;
    r.config = *preset;
    r.config.source_vocabulary = r.config.target_vocabulary = atol(given[2]);
    long n = atol(given[3]);
    if (n < 1 || n > MAX || atol(given[2]) < 5)
        return fprintf(stderr, "1 to %d sentences of a vocabulary of 5 or more\n", MAX), 2;
    r.n = (size_t)n;
    r.tokens = draw_sentences(r.at, r.length, r.n, r.config.source_vocabulary);
    r.store = wg_store_new(1);
    r.search = (wg_search_options){.alpha = 1, .max_factor = 1.05, .batch_tokens = atol(given[5])};
    wg_status status = fill_store(r.store, &r.config);
    static const int64_t beams[] = {1, 5};
    for (int i = 0; status == WG_OK && i < (given[4] ? 1 : 2); i++) {
        r.search.beam = given[4] ? atol(given[4]) : beams[i];
        status = run(&r);
    }
    wg_store_free(r.store);
    return status == WG_OK ? 0 : 1;
}
