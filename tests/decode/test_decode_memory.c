/* Generating and scoring without memory: each allocation that fails is a status with a message, and
 * the same object does the same work afterwards. */
#include "tests/searches.h"
#include "tests/allocations.h"
#include "wengert/decode/generate.h"

#include <math.h>

/* A model on the reference backend and one thread: others hand on what they lack memory for. */
typedef struct setting {
    wg_transformer_config config;
    wg_search_model model;
    const wg_backend *reference;
    bool int8;
    double found; /* what the work makes, once it has been done */
} setting;

static void begin(setting *s, int64_t encoder_layers)
{
    s->config = small_config();
    s->config.encoder_layers = encoder_layers;
    s->reference = wg_cpu_backend();
    s->model = model_of(&s->config, random_parameters(&s->config, 1));
    s->model.backends = &s->reference;
    s->model.n_backends = 1;
    s->model.threads = 1;
    s->model.int8 = s->int8;
}

/* The first time that the work succeeds it says what is right. */
static void same_as_ever(setting *s, double found)
{
    s->found = s->found == 0 ? found : s->found;
    check_that(found == s->found, "%.17g, at first %.17g", found, s->found);
}

static void check_failure(wg_status status, const void *results, const char *text)
{
    check_that((status == WG_OK) == (results != NULL), "%s with%s results", wg_status_text(status),
               results ? "" : "out");
    check_that((status == WG_OK) == (*text == '\0'), "%s: '%s'", wg_status_text(status), text);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static wg_status draw(setting *s, wg_generator *g)
{
    const int32_t prompt[] = {5, 7, 4};
    const wg_generate_options o = {
        .sampling = WG_SAMPLING_PLAIN, .length = 5, .samples = 3, .seed = 1, .go_on = true};
    wg_generated *texts = NULL;
    wg_status status = wg_generator_run(g, prompt, 3, &o, &texts);
    check_failure(status, texts, wg_generator_message(g));
    if (status == WG_OK)
        same_as_ever(s, texts[0].log_probability + 2 * texts[2].log_probability);
    wg_generated_free(texts, texts ? 3 : 0);
    return status;
}

/* A new generator draws; if it fails it draws once more, with memory. */
static wg_status generate(void *context)
{
    setting *s = context;
    wg_generator *g = NULL;
    wg_error error;
    wg_status status = wg_generator_create(&g, &s->model, &error);
    check_failure(status, g, error.text);
    if (status == WG_OK && (status = draw(s, g)) != WG_OK) {
        allocations.counting = false;
        assert_int_equal(draw(s, g), WG_OK);
    }
    wg_generator_free(g);
    return status;
}

static void texts_are_drawn_or_there_is_a_status(void **state)
{
    setting s = {.int8 = *state != NULL};
    begin(&s, 0);
    size_t points =
        fail_some("generate", generate, &s, WG_OK, (failing_allocations){.first = 3, .stride = 41});
    assert_in_range(points, 200, 1000000);
    wg_store_free(s.model.store);
}

/* ---- scores of given targets ----------------------------------------------------------------- */

enum { PAIRS = 3 };

static wg_status score_pairs(setting *s, wg_search *search)
{
    sentences from, to;
    draw_sentences(&from, PAIRS, 4, 1);
    draw_sentences(&to, PAIRS, 3, 2);
    const wg_search_options o = {.attention = true};
    wg_hypothesis *found = NULL;
    wg_status status =
        wg_search_score(search, from.at, from.length, to.at, to.length, PAIRS, &o, &found);
    check_failure(status, found, wg_search_message(search));
    if (status == WG_OK) {
        double sum = 0;
        for (int i = 0; i < PAIRS; i++)
            sum += (i + 1) * (found[i].log_probability + (double)found[i].attention[0]);
        same_as_ever(s, sum);
        wg_hypotheses_free(found, PAIRS);
    }
    return status;
}

static wg_status score(void *context)
{
    setting *s = context;
    wg_search *search = NULL;
    wg_error error;
    wg_status status = wg_search_create(&search, &s->model, &error);
    check_failure(status, search, error.text);
    if (status == WG_OK && (status = score_pairs(s, search)) != WG_OK) {
        allocations.counting = false;
        assert_int_equal(score_pairs(s, search), WG_OK);
    }
    wg_search_free(search);
    return status;
}

static void targets_are_scored_or_there_is_a_status(void **state)
{
    setting s = {.int8 = *state != NULL};
    begin(&s, 2);
    size_t points =
        fail_some("score", score, &s, WG_OK, (failing_allocations){.first = 5, .stride = 61});
    assert_in_range(points, 200, 1000000);
    wg_store_free(s.model.store);
}

/* Memory that is gone just before the end: what had been made is given back. */
static void the_last_allocations_are_looked_at_one_by_one(void **state)
{
    (void)state;
    work *const works[] = {generate, score};
    for (int w = 0; w < 2; w++) {
        setting s = {0};
        begin(&s, 2 * w);
        count_allocations(0, false);
        assert_int_equal(works[w](&s), WG_OK);
        size_t total = *allocation_calls(), most = total < 60 ? total : 60;
        for (size_t i = 0; i < most; i++) {
            count_allocations(total - i, true);
            wg_status status = works[w](&s);
            allocations.counting = false;
            check_that(status == WG_ENOMEM, "%zu of %zu: %s", total - i, total,
                       wg_status_text(status));
        }
        assert_int_equal(most, 60);
        wg_store_free(s.model.store);
    }
}

/* ---- what is made once, and calls alone ------------------------------------------------------ */

static wg_status create_both(void *context)
{
    setting *s = context;
    wg_transformer_config c = s->config;
    wg_search_model model = s->model;
    wg_generator *g = NULL;
    wg_search *search = NULL;
    wg_error error;
    wg_status status = wg_search_create(&search, &model, &error);
    check_failure(status, search, error.text);
    wg_search_free(search);
    if (status != WG_OK)
        return status;
    c.encoder_layers = 0;
    model.config = &c;
    status = wg_generator_create(&g, &model, &error);
    check_failure(status, g, error.text);
    wg_generator_free(g);
    return status;
}

static wg_status sample(void *context)
{
    (void)context;
    static const double logits[] = {1, 2, 0, 2, -1, 3};
    double p[6];
    wg_error error;
    wg_status status = wg_sampling_probabilities(p, &(wg_sampling){1, 3, 0.9}, logits, 6, &error);
    check_that((status == WG_OK) == (*error.text == '\0'), "'%s'", error.text);
    return status;
}

static void creating_fails_at_each_allocation(void **state)
{
    (void)state;
    setting s = {0};
    begin(&s, 2);
    assert_in_range(fail_each("create", create_both, &s, WG_OK), 10, 1000);
    assert_in_range(fail_each("sample", sample, NULL, WG_OK), 1, 10);
    wg_store_free(s.model.store);
}

typedef struct running {
    setting s;
    wg_generator *generator;
    wg_search *search;
} running;

static wg_status draw_again(void *context)
{
    running *r = context;
    return draw(&r->s, r->generator);
}

static wg_status score_again(void *context)
{
    running *r = context;
    return score_pairs(&r->s, r->search);
}

static void calls_fail_at_each_allocation(void **state)
{
    (void)state;
    running r = {.generator = NULL};
    begin(&r.s, 0);
    assert_int_equal(wg_generator_create(&r.generator, &r.s.model, NULL), WG_OK);
    assert_int_equal(draw_again(&r), WG_OK); /* its plans are kept */
    assert_in_range(fail_each("draw", draw_again, &r, WG_OK), 3, 1000);
    wg_generator_free(r.generator);
    wg_store_free(r.s.model.store);
    r.s.found = 0;
    begin(&r.s, 2);
    assert_int_equal(wg_search_create(&r.search, &r.s.model, NULL), WG_OK);
    assert_int_equal(score_again(&r), WG_OK);
    assert_in_range(fail_each("score", score_again, &r, WG_OK), 3, 1000);
    wg_search_free(r.search);
    wg_store_free(r.s.model.store);
}

/* ---- wrong calls ----------------------------------------------------------------------------- */

static void arguments_of_a_search_that_are_missing_are_named(void **state)
{
    (void)state;
    setting s = {0};
    begin(&s, 2);
    sentences x;
    draw_sentences(&x, 2, 3, 1);
    wg_hypothesis *found;
    wg_search *search;
    assert_int_equal(wg_search_create(NULL, &s.model, NULL), WG_EINVAL);
    assert_int_equal(wg_search_create(&search, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_search_create(&search, &s.model, NULL), WG_OK);
    assert_int_equal(wg_search_run(NULL, x.at, x.length, 2, NULL, &found), WG_EINVAL);
    assert_int_equal(wg_search_run(search, NULL, x.length, 2, NULL, &found), WG_EINVAL);
    assert_int_equal(wg_search_run(search, x.at, NULL, 2, NULL, &found), WG_EINVAL);
    assert_int_equal(wg_search_run(search, x.at, x.length, 2, NULL, NULL), WG_EINVAL);
    assert_non_null(strstr(wg_search_message(search), "wg_search_run"));
    for (int missing = 0; missing < 6; missing++) {
        wg_search *of = missing == 5 ? NULL : search;
        assert_int_equal(wg_search_score(of, missing == 0 ? NULL : x.at,
                                         missing == 1 ? NULL : x.length, missing == 2 ? NULL : x.at,
                                         missing == 3 ? NULL : x.length, 2, NULL,
                                         missing == 4 ? NULL : &found),
                         WG_EINVAL);
    }
    assert_non_null(strstr(wg_search_message(search), "wg_search_score"));
    assert_string_equal(wg_search_message(NULL), "the search is NULL");
    assert_string_equal(wg_generator_message(NULL), "the generator is NULL");
    wg_search_free(search);
    wg_store_free(s.model.store);
}

static void numbers_of_a_search_that_are_out_of_range_are_named(void **state)
{
    (void)state;
    static const struct {
        wg_search_options o;
        const char *words;
    } cases[] = {
        {{.beam = 1 << 30}, "the beam is 1073741824"},
        {{.beam = 2, .n_best = -1}, "n_best is -1"},
        {{.alpha = INFINITY}, "alpha is inf"},
        {{.max_factor = INFINITY}, "max_factor inf"},
        {{.max_extra = -2}, "max_extra -2"},
        {{.max_length = -3}, "max_length -3"},
        {{.attention = true, .attention_of = "decoder/layer0/other"}, "no attention"},
        {{.attention = true, .attention_of = "encoder/layer0/cross_attn"}, "no attention"},
    };
    setting s = {0};
    begin(&s, 2);
    sentences x;
    draw_sentences(&x, 2, 3, 1);
    wg_hypothesis *found;
    wg_search *search;
    assert_int_equal(wg_search_create(&search, &s.model, NULL), WG_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(wg_search_run(search, x.at, x.length, x.n, &cases[i].o, &found),
                         WG_EINVAL);
        check_that(strstr(wg_search_message(search), cases[i].words), "%s",
                   wg_search_message(search));
        assert_null(found);
    }
    wg_search_free(search);
    wg_search_model odd[] = {s.model, s.model, s.model, s.model, s.model};
    odd[0].bos = odd[1].eos = odd[2].pad = odd[3].unk = VOCABULARY;
    odd[4].pad = -2;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_int_equal(wg_search_create(&search, &odd[i], NULL), WG_EINVAL);
    odd[0] = odd[1] = s.model;
    odd[0].config = NULL;
    odd[1].store = NULL;
    for (int i = 0; i < 2; i++)
        assert_int_equal(wg_search_create(&search, &odd[i], NULL), WG_EINVAL);
    wg_store_free(s.model.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_drawn_or_there_is_a_status),
        {"texts in 8 bits", texts_are_drawn_or_there_is_a_status, NULL, NULL, "8"},
        cmocka_unit_test(targets_are_scored_or_there_is_a_status),
        {"scores in 8 bits", targets_are_scored_or_there_is_a_status, NULL, NULL, "8"},
        cmocka_unit_test(the_last_allocations_are_looked_at_one_by_one),
        cmocka_unit_test(creating_fails_at_each_allocation),
        cmocka_unit_test(calls_fail_at_each_allocation),
        cmocka_unit_test(arguments_of_a_search_that_are_missing_are_named),
        cmocka_unit_test(numbers_of_a_search_that_are_out_of_range_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
