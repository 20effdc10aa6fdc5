/* Decoding speed: sentences of the lengths of a test set, translated by a model with random parameters, so that all of
 * them are as long as they may become.  Everything from creation on is counted, as in a process of its own.
 *
 *     bench_decode [PRESET [VOCABULARY [SENTENCES [BEAM]]]]      tiny 9712 1000 5 */
#include "backends/onednn/onednn.h"
#include "backends/plan.h"
#include "bench/limits.h"
#include "models/search.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 100000, LONGEST = 40 };

static int32_t ids[MOST * LONGEST];

/* Lengths around 14 tokens, from 4 to 36: those of Multi30k. */
static size_t draw_sentences(const int32_t **at, size_t *length, size_t n, int64_t vocabulary)
{
    uint64_t seed = 1;
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < 12; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(seed >> 40) / (double)(1 << 24);
        }
        double wish = 14 + 4.2 * (sum - 6);
        length[i] = wish < 4 ? 4 : wish > 36 ? 36 : (size_t)wish;
        at[i] = ids + i * LONGEST;
        for (size_t t = 0; t < length[i]; t++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            ids[i * LONGEST + t] = 4 + (int32_t)((seed >> 33) % (uint64_t)(vocabulary - 4));
        }
        total += length[i];
    }
    return total;
}

/* Draws the parameters, by a plan that has them all. */
static wg_status fill_store(wg_store *store, const wg_transformer_config *c)
{
    wg_graph *g = wg_graph_new();
    wg_plan *p;
    wg_transformer m = wg_transformer_begin(g, c, false);
    const wg_transformer_inputs in = wg_transformer_inputs_of(g, 1, 1, 1);
    wg_output(wg_transformer_loss(&m, &in, NULL), "loss");
    wg_status status = wg_plan_create(&p, g, &(wg_plan_options){.store = store});
    if (status == WG_OK)
        wg_plan_free(p);
    wg_graph_free(g);
    return status;
}

static wg_status run(const wg_transformer_config *c, wg_store *store, size_t n, int64_t beam)
{
    static const int32_t *at[MOST];
    static size_t length[MOST];
    const wg_backend *backends[] = {wg_onednn_backend()};
    const wg_search_model model = {.config = c,
                                   .store = store,
                                   .bos = 1,
                                   .eos = 2,
                                   .pad = 0,
                                   .unk = 3,
                                   .backends = backends,
                                   .n_backends = backends[0] ? 1 : 0};
    const wg_search_options o = {.beam = beam, .alpha = 1, .max_factor = 1.05};
    size_t tokens = draw_sentences(at, length, n, c->source_vocabulary), made = 0;
    char message[500];
    wg_search *s;
    wg_hypothesis *h;
    for (int round = 0; round < 3; round++) {
        double start = bench_now();
        wg_status status = wg_search_create(&s, &model, message, sizeof message);
        if (status != WG_OK)
            return fprintf(stderr, "%s\n", message), status;
        double created = bench_now();
        for (int again = 0; again < 2; again++) {
            double from = bench_now();
            status = wg_search_run(s, at, length, n, &o, &h);
            if (status != WG_OK)
                return fprintf(stderr, "%s\n", wg_search_message(s)), status;
            double end = bench_now(), seconds = end - (again ? from : start);
            made = 0;
            for (size_t i = 0; i < n; i++)
                made += h[i].n;
            printf("beam %ld, %s: %zu sentences, %zu source and %zu target tokens: %.3f s (%.0f ms "
                   "to create), %.0f sentences/s\n",
                   (long)beam, again ? "again" : "at once", n, tokens, made, seconds,
                   1e3 * (created - start), (double)n / seconds);
            wg_hypotheses_free(h, n);
        }
        wg_search_free(s);
    }
    return WG_OK;
}

int main(int argc, char **argv)
{
    const wg_transformer_config *preset = wg_transformer_find(argc > 1 ? argv[1] : "tiny");
    if (!preset)
        return fprintf(stderr, "there is no model %s\n", argv[1]), 2;
    wg_transformer_config c = *preset;
    c.source_vocabulary = c.target_vocabulary = argc > 2 ? atol(argv[2]) : 9712;
    long n = argc > 3 ? atol(argv[3]) : 1000;
    if (n < 1 || n > MOST)
        return fprintf(stderr, "1 to %d sentences\n", MOST), 2;
    wg_store *store = wg_store_new(1);
    wg_status status = fill_store(store, &c);
    static const int64_t beams[] = {1, 5};
    for (int i = 0; status == WG_OK && i < 2; i++)
        if (argc < 5 || atol(argv[4]) == beams[i])
            status = run(&c, store, (size_t)n, beams[i]);
    if (status == WG_OK && argc > 4 && atol(argv[4]) != 1 && atol(argv[4]) != 5)
        status = run(&c, store, (size_t)n, atol(argv[4]));
    wg_store_free(store);
    return status == WG_OK ? 0 : 1;
}
