/* What no position of the Transformer may see: the future, padding, other sentences.  Bit for bit,
 * in every variant and on every backend. */
#include "tests/any_threads.h"
#include "tests/transformers.h"

enum { ROWS = 3, SOURCE = 5, TARGET = 6 };

/* Another target token at t changes no logit before t, and some from t on. */
static void check_causality(wg_plan *p, const transformer *t, const char *backend)
{
    enum { MAX = ROWS * TARGET * 16 };
    float before[MAX], after[MAX];
    int64_t v = t->config.target_vocabulary, row = TARGET * v;
    assert_true(ROWS * row <= MAX);
    transformer_fill(p, t, 7);
    transformer_logits(p, t, before);
    int32_t *in = wg_plan_data(p, t->in.target_in);
    for (int64_t at = 0; at < TARGET; at++) {
        int32_t *id = &in[TARGET + at], kept = *id; /* of the second row */
        *id = (*id + 1) % (int32_t)v;
        transformer_logits(p, t, after);
        *id = kept;
        int64_t first = row + at * v;
        check_that(different(before, after, 0, first) == 0 &&
                       different(before, after, 2 * row, ROWS * row) == 0,
                   "%s on %s: target %lld shows elsewhere", t->config.name, backend, (long long)at);
        check_that(different(before, after, first, 2 * row) > 0,
                   "%s on %s: target %lld shows nowhere", t->config.name, backend, (long long)at);
    }
}

/* Ids beyond a sentence's length, and other sentences of the batch with their lengths, change
 * nothing. */
static void check_padding(wg_plan *p, const transformer *t, const char *backend)
{
    enum { MAX = ROWS * TARGET * 16 };
    float before[MAX], after[MAX];
    if (!t->in.source)
        return;
    int32_t *source = wg_plan_data(p, t->in.source),
            *lengths = wg_plan_data(p, t->in.source_lengths),
            *in = wg_plan_data(p, t->in.target_in);
    int64_t v = t->config.target_vocabulary, row = TARGET * v;
    int32_t words = (int32_t)t->config.source_vocabulary;
    transformer_fill(p, t, 8);
    lengths[1] = 3;
    transformer_logits(p, t, before);

    for (int64_t i = 3; i < SOURCE; i++)
        source[SOURCE + i] = (source[SOURCE + i] + 1) % words;
    transformer_logits(p, t, after);
    check_that(different(before, after, 0, ROWS * row) == 0, "%s on %s: padding shows",
               t->config.name, backend);

    lengths[0] = 1;
    for (int64_t i = 0; i < SOURCE; i++)
        source[2 * SOURCE + i] = (source[2 * SOURCE + i] + 1) % words;
    in[0] = (in[0] + 1) % (int32_t)v;
    transformer_logits(p, t, after);
    check_that(different(before, after, row, 2 * row) == 0, "%s on %s: other sentences show",
               t->config.name, backend);
    check_that(different(before, after, 0, row) > 0 &&
                   different(before, after, 2 * row, ROWS * row) > 0,
               "%s on %s: the source shows nowhere", t->config.name, backend);

    lengths[1] = 4;
    transformer_logits(p, t, after);
    check_that(different(before, after, row, 2 * row) > 0, "%s on %s: the last word shows nowhere",
               t->config.name, backend);
}

static void check_on_all_backends(void (*check)(wg_plan *, const transformer *, const char *),
                                  int64_t width)
{
    wg_transformer_config c;
    for (size_t variant = 0; wgi_transformer_variant(variant, &c); variant += SANITIZED ? 3 : 1) {
        c.d_model = width;
        c.d_ff = 2 * width;
        transformer t = transformer_of(&c, ROWS, SOURCE, TARGET, false);
        const wg_backend_list all = wg_backend_list_built_in();
        for (size_t i = 0; i <= all.count; i++) {
            const wg_backend_list alone = {{all.backend[i]}, {{0}}, 1};
            wg_plan *p = transformer_plan(&t, i < all.count ? alone : all, NULL, 1);
            check(p, &t, i < all.count ? all.backend[i]->name : "all backends");
            wg_plan_free(p);
        }
        wg_graph_free(t.g);
    }
}

static void the_future_is_hidden(void **state)
{
    (void)state;
    check_on_all_backends(check_causality, 8);
    check_on_all_backends(check_causality, 64);
}

static void padding_is_hidden(void **state)
{
    (void)state;
    check_on_all_backends(check_padding, 8);
    check_on_all_backends(check_padding, 64);
}

/* Lengths of targets change what is computed for padded targets only. */
static void lengths_of_targets_matter_to_padding_only(void **state)
{
    (void)state;
    enum { COUNT = 4 }; /* of TARGET targets */
    float logits[2][TARGET * 16];
    wg_transformer_config c;
    assert_true(wgi_transformer_variant(0, &c));
    int64_t v = c.target_vocabulary;
    for (int with = 0; with < 2; with++) {
        wg_graph *g = wg_graph_new();
        wg_transformer m = wg_transformer_begin(g, &c, WG_MODE_INFERENCE);
        transformer t = {g, c, wg_transformer_inputs_new(g, 1, SOURCE, TARGET), NULL, NULL};
        if (with)
            m.target_lengths = wg_input(g, "target_lengths", WG_I32, WG_SHAPE(1));
        wg_value *memory = wg_transformer_encode(&m, t.in.source, t.in.source_lengths);
        t.logits = wg_transformer_logits(
            &m, wg_transformer_decode(&m, t.in.target_in, memory, t.in.source_lengths));
        wg_plan *p = plan_of(g, &(wg_plan_options){.outputs = &t.logits, .n_outputs = 1});
        transformer_fill(p, &t, 1);
        if (with)
            *(int32_t *)wg_plan_data(p, m.target_lengths) = COUNT;
        transformer_logits(p, &t, logits[with]);
        wg_plan_free(p);
        wg_graph_free(g);
    }
    assert_int_equal(different(logits[0], logits[1], 0, COUNT * v), 0);
    assert_true(different(logits[0], logits[1], COUNT * v, TARGET * v) > 0);
}

/* ---- how far --------------------------------------------------------------------------------- */

enum { LONG = 8, LONGEST_LOGITS = LONG * 16 };

typedef struct batch {
    int64_t rows, source, target;
} batch;

/* The logits of a sentence of 3 source and LONG target tokens in the last row of a batch. */
static void logits_in(const wg_transformer_config *c, wg_backend_list backends, wg_store *store,
                      const batch *b, float *logits)
{
    transformer t = transformer_of(c, b->rows, b->source, b->target, false);
    wg_plan *p = transformer_plan(&t, backends, store, 1);
    transformer_fill(p, &t, 9);
    int64_t last = b->rows - 1, v = c->target_vocabulary;
    for (int64_t i = 0; t.in.source && i < 3; i++)
        wg_plan_i32(p, t.in.source)[last * b->source + i] = (int32_t)(1 + 2 * i);
    if (t.in.source)
        wg_plan_i32(p, t.in.source_lengths)[last] = 3;
    for (int64_t i = 0; i < LONG; i++)
        wg_plan_i32(p, t.in.target_in)[last * b->target + i] = (int32_t)(5 * i % 7);
    run(p, 0);
    memcpy(logits, floats(p, t.logits) + last * b->target * v, (size_t)(LONG * v) * sizeof *logits);
    wg_plan_free(p);
    wg_graph_free(t.g);
}

/* How many sentences share a batch, and how far they are padded, shows nowhere, on the backends
 * whose results search by several threads may divide. */
static void sizes_of_batches_are_hidden(void **state)
{
    (void)state;
    static const batch batches[] = {{8, 3, 8}, {8, 8, 8}, {8, 16, 8}, {8, 8, 16}, {16, 12, 16}};
    size_t compared = 0;
    wg_backend_list all = any_threads_backends();
    wg_transformer_config c;
    for (size_t variant = 0; wgi_transformer_variant(variant, &c); variant += SANITIZED ? 3 : 1)
        for (int64_t width = 8; width <= 64; width *= 2) {
            float first[LONGEST_LOGITS], other[LONGEST_LOGITS];
            int64_t n = LONG * c.target_vocabulary;
            c.d_model = width;
            c.d_ff = 2 * width;
            wg_store *store = wg_store_new(3);
            for (size_t i = 0; i < WG_COUNT(batches); i++, compared += (size_t)n) {
                logits_in(&c, all, store, &batches[i], i ? other : first);
                check_that(!i || different(first, other, 0, n) == 0,
                           "%s, width %lld: %lld x %lld + %lld shows", c.name, (long long)width,
                           (long long)batches[i].rows, (long long)batches[i].source,
                           (long long)batches[i].target);
            }
            wg_store_free(store);
        }
    assert_true(compared > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_future_is_hidden),
        cmocka_unit_test(padding_is_hidden),
        cmocka_unit_test(lengths_of_targets_matter_to_padding_only),
        cmocka_unit_test(sizes_of_batches_are_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
