/* Generating and scoring without memory: each allocation that fails is a status with a message, and
 * the same object does the same work afterwards. */
#include "tests/searches.h"
#include "tests/allocations.h"
#include "wengert/decode/generate.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_drawn_or_there_is_a_status),
        {"texts in 8 bits", texts_are_drawn_or_there_is_a_status, NULL, NULL, "8"},
        cmocka_unit_test(targets_are_scored_or_there_is_a_status),
        {"scores in 8 bits", targets_are_scored_or_there_is_a_status, NULL, NULL, "8"},
        cmocka_unit_test(the_last_allocations_are_looked_at_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
