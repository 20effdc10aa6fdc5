/* Small Transformers with random parameters for tests of the search: their logits are scaled up, so
 * that no two hypotheses are within rounding of each other. */
#ifndef WG_TESTS_SEARCHES_H
#define WG_TESTS_SEARCHES_H

#include "tests/test.h"
#include "graph/element.h"
#include "models/parameters.h"
#include "wengert/decode/search.h"
#include "wengert/ops/ops.h"

enum { PAD, BOS, EOS, UNK, VOCABULARY = 13 };

static inline wg_transformer_config small_config(void)
{
    wg_transformer_config c = *wg_transformer_find("tiny");
    c.source_vocabulary = c.target_vocabulary = VOCABULARY;
    c.d_model = 16;
    c.d_ff = 24;
    c.heads = 2;
    c.encoder_layers = c.decoder_layers = 2;
    c.max_positions = 40;
    return c;
}

/* A store with the parameters of c, those that are drawn enlarged. */
static inline wg_store *random_parameters(const wg_transformer_config *c, uint64_t seed)
{
    wg_store *store = wg_store_new(seed);
    wg_graph *g = wgi_transformer_parameters(c);
    wg_plan *p;
    check_that(wg_plan_create(&p, g, &(wg_plan_options){.store = store}) == WG_OK, "%s",
               wg_graph_message(g));
    wg_plan_free(p);
    wg_graph_free(g);
    for (size_t i = 0; i < wg_store_count(store); i++) {
        const wg_tensor *t = wg_store_at(store, i);
        for (int64_t k = 0; k < wg_shape_count(&t->shape); k++)
            wgi_put_element(t->data, t->dtype, k,
                            wgi_get_element(t->data, t->dtype, k) * (t->shape.rank == 2 ? 2.5 : 1));
    }
    return store;
}

static inline wg_search_model model_of(const wg_transformer_config *c, wg_store *store)
{
    return (wg_search_model){
        .config = c, .store = store, .bos = BOS, .eos = EOS, .pad = PAD, .unk = UNK, .threads = 2};
}

static inline wg_search *search_of(const wg_search_model *model)
{
    wg_search *s = NULL;
    wg_error error;
    check_that(wg_search_create(&s, model, &error) == WG_OK, "%s", error.text);
    return s;
}

/* n sentences of 1 to `longest` tokens and an end of sentence. */
typedef struct sentences {
    int32_t ids[64][64];
    const int32_t *at[64];
    size_t length[64], n;
} sentences;

static inline void draw_sentences(sentences *x, size_t n, size_t longest, uint64_t seed)
{
    x->n = n;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x->length[i] = 2 + (size_t)(seed >> 40) % longest;
        x->at[i] = x->ids[i];
        for (size_t t = 0; t < x->length[i]; t++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            x->ids[i][t] =
                t + 1 == x->length[i] ? EOS : 3 + (int32_t)((seed >> 33) % (VOCABULARY - 3));
        }
    }
}

static inline wg_hypothesis *translate(wg_search *s, const sentences *x, const wg_search_options *o)
{
    wg_hypothesis *h = NULL;
    check_that(wg_search_run(s, x->at, x->length, x->n, o, &h) == WG_OK, "%s",
               wg_search_message(s));
    return h;
}

#endif
