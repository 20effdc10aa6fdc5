/* Allocations of a search that fail: each is a status, and nothing is lost. */
#include "tests/searches.h"
#include "tests/allocations.h"

/* Creates a search, translates and scores; WG_OK if all of it went well. */
static wg_status work_once(const wg_search_model *model, const sentences *x)
{
    const wg_search_options o = {.beam = 2, .max_length = 3, .attention = true};
    wg_error error;
    wg_search *s = NULL;
    wg_hypothesis *found = NULL;
    wg_status status = wg_search_create(&s, model, &error);
    if (status == WG_OK)
        status = wg_search_run(s, x->at, x->length, x->n, &o, &found);
    check_that(status == WG_OK || found == NULL, "results in spite of a failure");
    check_that(status == WG_OK || *error.text || *wg_search_message(s),
               "a failure without a message");
    if (status == WG_OK)
        wg_hypotheses_free(found, x->n);
    wg_search_free(s);
    return status;
}

static void failing_allocations_are_a_status(void **state)
{
    enum { SAMPLES = 150 };
    const wg_transformer_config c = small_config();
    wg_store *store = random_parameters(&c, 1);
    wg_search_model model = model_of(&c, store);
    const wg_backend *reference = wg_cpu_backend(); /* others hand on what they lack memory for */
    model.backends = &reference;
    model.n_backends = 1;
    model.threads = 1;
    model.int8 = *state != NULL;
    sentences x;
    draw_sentences(&x, 2, 3, 1);
    count_allocations(0, false);
    assert_int_equal(work_once(&model, &x), WG_OK);
    size_t total = allocations.calls, failed = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t at = 1 + total * i / SAMPLES;
        count_allocations(at, i % 2);
        wg_status status = work_once(&model, &x);
        allocations.counting = false;
        check_that(status == WG_ENOMEM, "allocation %zu of %zu fails: %s", at, total,
                   wg_status_text(status));
        failed++;
    }
    assert_int_equal(failed, SAMPLES);
    wg_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_allocations_are_a_status),
        {"in 8 bits", failing_allocations_are_a_status, NULL, NULL, "8"},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
