/* Does the Transformer learn what it should, and only that? */
#include "tests/transformers.h"

#include <math.h>

/* A training step by Adam, whose plan also gives the logits.  No dropout, no smoothing. */
typedef struct trainer {
    transformer t;
    wg_plan *p;
} trainer;

static wg_transformer_config config_of(int64_t d, int64_t heads, int64_t layers, int64_t words)
{
    wg_transformer_config c = transformer_sized("tiny", words);
    c.d_model = d;
    c.d_ff = 2 * d;
    c.heads = heads;
    c.encoder_layers = c.decoder_layers = layers;
    c.dropout = c.label_smoothing = 0;
    return c;
}

/* Takes t, to which it adds the step. */
static trainer trainer_of(transformer t, double rate)
{
    trainer r = {.t = t};
    wg_value *w[TRANSFORMER_MAX_PARAMETERS], *dw[TRANSFORMER_MAX_PARAMETERS];
    size_t n = transformer_gradients(&t, w, dw);
    wg_value *lr = wg_fill(t.g, WG_F32, WG_SCALAR, rate);
    wg_adam_update(w, dw, n, lr, &(wg_adam_options){.beta2 = 0.98, .eps = 1e-9});
    r.p = transformer_plan(&t, wg_backend_list_built_in(), NULL, 1);
    return r;
}

static void trainer_free(trainer *r)
{
    wg_plan_free(r->p);
    wg_graph_free(r->t.g);
}

/* How many of the targets that count have the largest logit of their row; *counted: how many
 * count. */
static int64_t right(const trainer *r, int64_t *counted)
{
    int64_t v = r->t.config.target_vocabulary, n = wg_value_count(r->t.logits) / v, hits = 0;
    const int32_t *target = wg_plan_data(r->p, r->t.in.target_out);
    *counted = 0;
    for (int64_t i = 0; i < n; i++) {
        const float *row = floats(r->p, r->t.logits) + i * v;
        int64_t best = 0;
        for (int64_t c = 1; c < v; c++)
            best = row[c] > row[best] ? c : best;
        *counted += target[i] != WG_NO_TARGET;
        hits += best == target[i];
    }
    return hits;
}

/* ---- the mask leaks nothing ------------------------------------------------------------------ */

/* Breaks the causal mask of the decoder's self-attention on purpose. */
static void remove_masks(wg_graph *g)
{
    int removed = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        wg_attention_attrs *a =
            strcmp(n->op->name, "attention") == 0 ? (void *)(uintptr_t)n->attrs : NULL;
        removed += a && a->causal;
        if (a)
            a->causal = false;
    }
    assert_int_equal(removed, 1);
}

/* A model of one layer learns random targets, of which the next is known only if it is seen.
 * Returns its accuracy over the last batches; the last target of a sentence does not count, as
 * nobody sees it. */
static double next_token_accuracy(bool masked)
{
    enum { ROWS = 16, LENGTH = 6, WORDS = 12, STEPS = 600, LAST = 20 };
    wg_transformer_config c = config_of(32, 2, 1, WORDS);
    transformer t = transformer_of(&c, ROWS, 2, LENGTH, true);
    if (!masked)
        remove_masks(t.g);
    trainer r = trainer_of(t, 0.003);
    int64_t hits = 0, total = 0, counted;
    uint64_t seed = 11;
    int32_t *in = wg_plan_data(r.p, t.in.target_in), *out = wg_plan_data(r.p, t.in.target_out);
    transformer_fill(r.p, &t, 1);
    for (uint64_t step = 0; step < STEPS; step++) {
        for (int i = 0; i < ROWS * LENGTH; i++)
            in[i] = (int32_t)(transformer_random(&seed) % WORDS);
        for (int i = 0; i < ROWS * LENGTH; i++)
            out[i] = i % LENGTH + 1 < LENGTH ? in[i + 1] : WG_NO_TARGET;
        run(r.p, step);
        hits += step >= STEPS - LAST ? right(&r, &counted) : 0;
        total += step >= STEPS - LAST ? counted : 0;
    }
    trainer_free(&r);
    return (double)hits / (double)total;
}

static void the_mask_leaks_nothing(void **state)
{
    (void)state;
    double seen = next_token_accuracy(false), masked = next_token_accuracy(true);
    printf("accuracy %.3f without the mask, %.3f with it\n", seen, masked);
    check_that(seen >= 0.98, "without the mask only %g", seen);
    check_that(masked <= 0.25, "with the mask %g", masked);
}

/* ---- it can learn by heart ------------------------------------------------------------------- */

static void thirty_two_pairs_are_learned_by_heart(void **state)
{
    (void)state;
    enum { ROWS = 32, SOURCE = 8, TARGET = 9, MAX_STEPS = 400 };
    wg_transformer_config c = config_of(64, 4, 2, 40);
    trainer r = trainer_of(transformer_of(&c, ROWS, SOURCE, TARGET, true), 0.002);
    transformer_fill(r.p, &r.t, 21);
    int32_t *in = wg_plan_data(r.p, r.t.in.target_in), *out = wg_plan_data(r.p, r.t.in.target_out);
    for (int i = 0; i < ROWS * TARGET; i++) /* shifted right, from a begin of sentence */
        in[i] = i % TARGET ? out[i - 1] : 0;
    int64_t hits = 0, counted = 1;
    uint64_t step = 0;
    for (; hits < counted && step < MAX_STEPS; step++) {
        run(r.p, step);
        hits = right(&r, &counted);
    }
    printf("%lld of %lld after %d steps\n", (long long)hits, (long long)counted, (int)step);
    assert_int_equal(counted, ROWS * TARGET - 1);
    assert_int_equal(hits, counted);
    trainer_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mask_leaks_nothing),
        cmocka_unit_test(thirty_two_pairs_are_learned_by_heart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
