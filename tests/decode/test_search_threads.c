/* Many sentences by several threads, each with its share: nothing may depend on how they were
 * shared out. */
#include "tests/any_threads.h"
#include "tests/searches.h"
#include "wengert/backends/load.h"

#include <math.h>

enum { MANY = 53 };

/* The same bits; how many tokens there were. */
static size_t expect_equal(const char *what, const wg_hypothesis *a, const wg_hypothesis *b,
                           size_t n)
{
    size_t compared = 0;
    for (size_t i = 0; i < n; i++, compared += a[i - 1].n) {
        bool same = a[i].n == b[i].n && a[i].score == b[i].score &&
                    a[i].log_probability == b[i].log_probability &&
                    a[i].source_tokens == b[i].source_tokens;
        check_that(same && (!a[i].n || !memcmp(a[i].ids, b[i].ids, a[i].n * sizeof *a[i].ids)),
                   "%s: hypothesis %zu differs: %zu and %zu tokens, scores %.17g and %.17g", what,
                   i, a[i].n, b[i].n, a[i].score, b[i].score);
        check_that(!a[i].n || !memcmp(a[i].token_scores, b[i].token_scores, a[i].n * sizeof(float)),
                   "%s: the token scores of hypothesis %zu differ", what, i);
        check_that(!a[i].attention == !b[i].attention, "%s: only one has attention", what);
        check_that(!a[i].attention || !memcmp(a[i].attention, b[i].attention,
                                              a[i].n * a[i].source_tokens * sizeof(float)),
                   "%s: the attention of hypothesis %zu differs", what, i);
    }
    return compared;
}

static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    const wg_transformer_config c = small_config();
    wg_store *store = random_parameters(&c, 21);
    sentences x;
    draw_sentences(&x, MANY, 14, 5);
    x.length[17] = 0; /* an empty one in between */
    size_t compared = 0;
    const wg_backend_list backends = any_threads_backends();
    for (int choice = 0; choice < 4; choice++) {
        const wg_search_options o = {.beam = choice == 0 ? 1 : 3,
                                     .n_best = choice == 0 ? 1 : 2,
                                     .alpha = 0.6,
                                     .max_length = 15,
                                     .uncached = choice == 2,
                                     .attention = choice == 3};
        wg_hypothesis *expected = NULL;
        size_t count = MANY * (size_t)o.n_best;
        for (int threads = 1; threads <= 4; threads++) {
            wg_search_model model = model_of(&c, store);
            model.backends = backends.backend;
            model.n_backends = backends.count;
            model.threads = threads;
            wg_search *s = search_of(&model);
            for (int again = 0; again < 2; again++) {
                wg_hypothesis *h = translate(s, &x, &o);
                char what[64];
                snprintf(what, sizeof what, "choice %d, %d threads, run %d", choice, threads,
                         again);
                if (expected) {
                    compared += expect_equal(what, expected, h, count);
                    wg_hypotheses_free(h, count);
                } else {
                    expected = h;
                }
            }
            wg_search_free(s);
        }
        wg_hypotheses_free(expected, count);
    }
    check_that(compared > 4 * 7 * MANY, "only %zu tokens compared", compared);
    wg_store_free(store);
}

/* With fixed parameters a step of a small model has as many rows as there are hypotheses, and not
 * eight at least: the bits are the same. */
static void a_sentence_alone_gets_what_it_gets_among_others(void **state)
{
    (void)state;
    size_t compared = 0;
    for (int size = 0; size < 3; size++) {
        wg_transformer_config c = small_config();
        if (size > 0)
            c.d_model = 128, c.d_ff = 256, c.heads = 4, c.fused_projections = size > 1;
        wg_store *store = random_parameters(&c, 5);
        sentences x;
        draw_sentences(&x, MANY, 14, 8);
        for (int64_t beam = 1; beam <= 5; beam += 2) {
            const wg_search_options o = {.beam = beam, .alpha = 0.6, .max_length = 15};
            wg_search_model model = model_of(&c, store);
            model.fixed = true;
            wg_search *many = search_of(&model), *one = search_of(&model);
            model.threads = 5;
            wg_search *shared = search_of(&model);
            wg_hypothesis *all = translate(many, &x, &o), *h = translate(shared, &x, &o);
            compared += expect_equal("five threads", all, h, x.n);
            wg_hypotheses_free(h, x.n);
            wg_search_free(shared);
            for (size_t i = 0; i < x.n; i += 3) {
                char what[64];
                snprintf(what, sizeof what, "size %d, beam %d, sentence %zu", size, (int)beam, i);
                check_that(wg_search_run(one, &x.at[i], &x.length[i], 1, &o, &h) == WG_OK, "%s: %s",
                           what, wg_search_message(one));
                compared += expect_equal(what, &all[i], h, 1);
                wg_hypotheses_free(h, 1);
            }
            wg_hypotheses_free(all, x.n);
            wg_search_free(many);
            wg_search_free(one);
        }
        wg_store_free(store);
    }
    check_that(compared > 1000, "only %zu tokens compared", compared);
}

/* Greedy search without scores finds what it finds with them, long enough for what fixed parameters
 * keep, and by plain steps; a beam keeps its scores. */
static void scores_may_be_left_out(void **state)
{
    (void)state;
    wg_transformer_config c = small_config();
    c.d_model = 32, c.source_vocabulary = c.target_vocabulary = 1500;
    wg_store *store = random_parameters(&c, 8);
    sentences x;
    draw_sentences(&x, MANY, 14, 3);
    x.length[5] = 0;
    size_t compared = 0;
    for (int choice = 0; choice < 16; choice++) {
        wg_search_options o = {
            .beam = choice & 1 ? 2 : 1, .max_length = 30, .uncached = choice & 2};
        wg_search_model model = model_of(&c, store);
        model.fixed = choice & 4;
        model.int8 = choice & 8;
        wg_search *s = search_of(&model);
        wg_hypothesis *with = translate(s, &x, &o);
        o.without_scores = true;
        wg_hypothesis *without = translate(s, &x, &o);
        for (size_t i = 0; i < MANY; i++) {
            const wg_hypothesis *a = &with[i], *b = &without[i];
            check_that(a->n == b->n && (!a->n || !memcmp(a->ids, b->ids, a->n * sizeof *a->ids)),
                       "choice %d: translation %zu differs", choice, i);
            bool none = o.beam == 1 && b->n;
            check_that(none ? isnan(b->score) && isnan(b->log_probability) && !b->token_scores
                            : a->score == b->score && !a->token_scores == !b->token_scores,
                       "choice %d: scores of translation %zu", choice, i);
            compared += a->n;
        }
        wg_hypotheses_free(with, MANY);
        wg_hypotheses_free(without, MANY);
        wg_search_free(s);
    }
    check_that(compared > 16 * 5 * MANY, "only %zu tokens compared", compared);
    wg_store_free(store);
}

/* Where products depend on the number of rows: the same bits run to run at one number of
 * threads. */
static void runs_are_reproducible(void **state)
{
    (void)state;
    const wg_backend_list built = wg_backend_list_built_in();
    const wg_transformer_config c = small_config();
    wg_store *store = random_parameters(&c, 4);
    sentences x;
    draw_sentences(&x, MANY, 20, 9);
    wg_search_model model = model_of(&c, store);
    model.backends = built.backend;
    model.n_backends = built.count;
    model.threads = 3;
    const wg_search_options o = {.beam = 4, .n_best = 4, .alpha = 1, .max_length = 15};
    wg_hypothesis *expected = NULL;
    size_t compared = 0;
    for (int run = 0; run < 6; run++) {
        wg_search *s = search_of(&model);
        wg_hypothesis *h = translate(s, &x, &o);
        wg_search_free(s);
        if (expected) {
            compared += expect_equal("a run", expected, h, 4 * MANY);
            wg_hypotheses_free(h, 4 * MANY);
        } else {
            expected = h;
        }
    }
    wg_hypotheses_free(expected, 4 * MANY);
    check_that(compared > 4 * 5 * MANY, "only %zu tokens compared", compared);
    wg_store_free(store);
}

/* The sentence that fails is named by its place in the call, and the search goes on afterwards. */
static void a_failure_names_its_sentence(void **state)
{
    (void)state;
    enum { RARE = VOCABULARY - 1, COMMON = 4, CULPRIT = 30 };
    wg_transformer_config c = small_config();
    c.tying = WG_TIED_OUTPUT; /* the source's embedding is its own */
    wg_store *store = random_parameters(&c, 2);
    sentences x;
    draw_sentences(&x, MANY, 14, 6);
    for (size_t i = 0; i < x.n; i++)
        for (size_t t = 0; t < x.length[i]; t++)
            x.ids[i][t] = x.ids[i][t] == RARE ? COMMON : x.ids[i][t];
    x.ids[CULPRIT][0] = RARE;
    wg_search_model model = model_of(&c, store);
    model.threads = 3;
    wg_search *s = search_of(&model);
    float *row = wg_store_find(store, "source_embedding/weight")->data;
    row += RARE * c.d_model;
    float was = row[0];
    wg_hypothesis *h = NULL;
    row[0] = NAN;
    assert_int_equal(wg_search_run(s, x.at, x.length, x.n, NULL, &h), WG_ENONFINITE);
    assert_null(h);
    assert_non_null(strstr(wg_search_message(s), "sentence 31:"));
    row[0] = was;
    h = translate(s, &x, NULL);
    for (size_t i = 0; i < x.n; i++)
        assert_true(h[i].n > 0);
    wg_hypotheses_free(h, x.n);
    wg_search_free(s);
    wg_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sentence_alone_gets_what_it_gets_among_others),
        cmocka_unit_test(scores_may_be_left_out),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(runs_are_reproducible),
        cmocka_unit_test(a_failure_names_its_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
