/* Opened models without memory: opening, translating, scoring, generating and evaluating each end
 * in a status with a message, and what was opened does the same work afterwards. */
#include "tests/training.h"
#include "tests/allocations.h"
#include "wengert/translate/language.h"
#include "wengert/translate/translator.h"

static const char TRANSLATES[] = "memory_translator", WRITES[] = "memory_language",
                  LINES[] = "memory_lines.txt";

static const wg_backend *reference; /* others hand on what they lack memory for */

/* One call on an opened model, which hands back a number that its results determine. */
typedef wg_status call_on(void *opened, double *digest);
typedef struct job {
    call_on *call;
    double found; /* the first digest */
} job;

static void check_call(wg_status status, const void *results, const char *text)
{
    check_that((status == WG_OK) == (results != NULL), "%s with%s results", wg_status_text(status),
               results ? "" : "out");
    check_that((status == WG_OK) == (*text == '\0'), "%s: '%s'", wg_status_text(status), text);
}

/* The call; after a failure once more, with memory. */
static wg_status call_and_repeat(job *j, void *opened)
{
    double digest = 0;
    wg_status status = j->call(opened, &digest);
    if (status != WG_OK) {
        allocations.counting = false;
        assert_int_equal(j->call(opened, &digest), WG_OK);
    }
    j->found = j->found == 0 ? digest : j->found;
    check_that(digest == j->found, "%.17g, at first %.17g", digest, j->found);
    return status;
}

static void check_job(const char *what, work *f, call_on *call, size_t stride)
{
    job j = {.call = call};
    size_t points =
        fail_some(what, f, &j, WG_OK, (failing_allocations){.first = stride / 2, .stride = stride});
    assert_in_range(points, 200, 1000000);
    assert_true(j.found != 0);
}

/* ---- translators ----------------------------------------------------------------------------- */

enum { N = 3 };
static const char *const english[N] = {"forty-two", "", "seven"}, *const german[N] = {
                                                                      "zweiundvierzig", "neun",
                                                                      "sieben"};

static wg_status translate(void *opened, double *digest)
{
    const wg_search_options o = {.beam = 2, .n_best = 2, .max_length = 6, .attention = true};
    wg_translation *found = NULL;
    wg_status status = wg_translator_run(opened, english, N, &o, &found);
    check_call(status, found, wg_translator_message(opened));
    for (int i = 0; found && i < N; i++)
        *digest += (i + 1) * found[2 * i].hypothesis.log_probability - (double)found[2 * i].cut;
    wg_translations_free(found, found ? 2 * N : 0);
    return status;
}

static wg_status score(void *opened, double *digest)
{
    wg_translation *found = NULL;
    wg_status status = wg_translator_score(opened, english, german, N, NULL, &found);
    check_call(status, found, wg_translator_message(opened));
    for (int i = 0; found && i < N; i++)
        *digest += (i + 1) * found[i].hypothesis.log_probability - (double)found[i].cut;
    wg_translations_free(found, found ? N : 0);
    return status;
}

static wg_status open_and_call(void *context)
{
    const wg_translator_options o = {
        .backends = &reference, .n_backends = 1, .threads = 1, .max_tokens = 7};
    wg_translator *t = NULL;
    wg_error error;
    wg_status status = wg_translator_open(&t, TRANSLATES, &o, &error);
    check_call(status, t, error.text);
    if (status == WG_OK)
        status = call_and_repeat(context, t);
    wg_translator_free(t);
    return status;
}

static void a_translator_without_memory_has_a_status(void **state)
{
    (void)state;
    check_job("translate", open_and_call, translate, 251);
    check_job("score", open_and_call, score, 263);
}

/* ---- language models ------------------------------------------------------------------------- */

static wg_status generate(void *opened, double *digest)
{
    enum { SAMPLES = 2 };
    const wg_generate_options o = {
        .sampling = WG_SAMPLING_PLAIN, .length = 6, .samples = SAMPLES, .seed = 4};
    wg_text *found = NULL;
    wg_status status = wg_language_model_generate(opened, "the cat", &o, &found);
    check_call(status, found, wg_language_model_message(opened));
    for (int i = 0; found && i < SAMPLES; i++)
        *digest += (i + 1) * found[i].tokens.log_probability + (double)strlen(found[i].text);
    wg_texts_free(found, found ? SAMPLES : 0);
    return status;
}

static wg_status evaluate(void *opened, double *digest)
{
    wg_text_score found = {0};
    wg_status status = wg_language_model_evaluate(opened, LINES, &found);
    check_call(status, status == WG_OK ? &found : NULL, wg_language_model_message(opened));
    *digest = found.cross_entropy;
    return status;
}

static wg_status open_and_write(void *context)
{
    const wg_language_model_options o = {.backends = &reference, .n_backends = 1, .threads = 1};
    wg_language_model *m = NULL;
    wg_error error;
    wg_status status = wg_language_model_open(&m, WRITES, &o, &error);
    check_call(status, m, error.text);
    if (status == WG_OK)
        status = call_and_repeat(context, m);
    wg_language_model_free(m);
    return status;
}

static void a_language_model_without_memory_has_a_status(void **state)
{
    (void)state;
    check_job("generate", open_and_write, generate, 113);
    check_job("evaluate", open_and_write, evaluate, 127);
}

/* ---- calls alone ----------------------------------------------------------------------------- */

/* The same calls on models that are open already, so that each of their own allocations is one of
 * few. */
typedef struct alone {
    job j;
    void *opened;
} alone;

static wg_status call_alone(void *context)
{
    alone *a = context;
    return call_and_repeat(&a->j, a->opened);
}

static void check_alone(const char *what, call_on *call, void *opened, size_t least)
{
    alone a = {{.call = call}, opened};
    assert_int_equal(call_alone(&a), WG_OK); /* what is made once and kept is there */
    size_t points = fail_each(what, call_alone, &a, WG_OK);
    assert_in_range(points, least, 5000);
}

static void calls_on_open_models_fail_at_each_allocation(void **state)
{
    (void)state;
    const wg_translator_options o = {.backends = &reference, .n_backends = 1, .threads = 1};
    const wg_language_model_options lo = {.backends = &reference, .n_backends = 1, .threads = 1};
    wg_translator *t;
    wg_language_model *m;
    wg_error error;
    check_that(wg_translator_open(&t, TRANSLATES, &o, &error) == WG_OK, "%s", error.text);
    check_that(wg_language_model_open(&m, WRITES, &lo, &error) == WG_OK, "%s", error.text);
    check_alone("translate", translate, t, 10);
    check_alone("score", score, t, 10);
    check_alone("generate", generate, m, 4);
    wg_translator_free(t);
    wg_language_model_free(m);
}

/* ---- wrong calls ----------------------------------------------------------------------------- */

static void arguments_that_are_missing_are_named(void **state)
{
    (void)state;
    wg_translator *t;
    wg_language_model *m;
    wg_translation *found;
    wg_text *texts;
    wg_text_score sum;
    wg_error error;
    const wg_generate_options how = {.length = 3};
    assert_int_equal(wg_translator_run(NULL, english, N, NULL, &found), WG_EINVAL);
    assert_int_equal(wg_translator_score(NULL, english, german, N, NULL, &found), WG_EINVAL);
    assert_int_equal(wg_language_model_generate(NULL, "", &how, &texts), WG_EINVAL);
    assert_int_equal(wg_language_model_evaluate(NULL, LINES, &sum), WG_EINVAL);
    check_that(wg_translator_open(&t, TRANSLATES, NULL, &error) == WG_OK, "%s", error.text);
    assert_int_equal(wg_translator_run(t, NULL, N, NULL, &found), WG_EINVAL);
    assert_int_equal(wg_translator_run(t, english, N, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_translator_score(t, NULL, german, N, NULL, &found), WG_EINVAL);
    assert_int_equal(wg_translator_score(t, english, NULL, N, NULL, &found), WG_EINVAL);
    assert_int_equal(wg_translator_score(t, english, german, N, NULL, NULL), WG_EINVAL);
    assert_non_null(strstr(wg_translator_message(t), "wg_translator_score"));
    assert_non_null(wg_translator_vocabulary(t, 1));
    assert_null(wg_translator_vocabulary(t, 2));
    assert_null(wg_translator_vocabulary(t, -1));
    wg_translator_free(t);
    check_that(wg_language_model_open(&m, WRITES, NULL, &error) == WG_OK, "%s", error.text);
    assert_int_equal(wg_language_model_generate(m, NULL, &how, &texts), WG_EINVAL);
    assert_int_equal(wg_language_model_generate(m, "", NULL, &texts), WG_EINVAL);
    assert_int_equal(wg_language_model_generate(m, "", &how, NULL), WG_EINVAL);
    assert_non_null(strstr(wg_language_model_message(m), "wg_language_model_generate"));
    assert_int_equal(wg_language_model_evaluate(m, NULL, &sum), WG_EINVAL);
    assert_int_equal(wg_language_model_evaluate(m, LINES, NULL), WG_EINVAL);
    wg_language_model_free(m);
}

static void nothing_answers_for_a_model_that_is_not_there(void **state)
{
    (void)state;
    wg_translator *t;
    wg_error error;
    assert_int_equal(wg_translator_open(NULL, TRANSLATES, NULL, &error), WG_EINVAL);
    assert_int_equal(wg_translator_open(&t, NULL, NULL, &error), WG_EINVAL);
    assert_non_null(strstr(error.text, "wg_translator_open"));
    assert_string_equal(wg_translator_message(NULL), "the translator is NULL");
    assert_null(wg_translator_vocabulary(NULL, 0));
    assert_null(wg_translator_config(NULL));
    assert_null(wg_translator_store(NULL));
    wg_translations_free(NULL, 3);
    wg_texts_free(NULL, 3);
}

/* ---- the models ------------------------------------------------------------------------------ */

static int make_models(void **state)
{
    (void)state;
    reference = wg_cpu_backend();
    FILE *f = fopen(LINES, "w");
    for (int i = 0; f && i < 40; i++)
        fprintf(f, "the %s sees the %s\n", i % 3 ? "cat" : "dog", i % 5 ? "mouse" : "bird");
    if (!f || fclose(f) != 0)
        return -1;
    wg_settings s = small_training(TRANSLATES, "after 2u; threads 1; numbers 40; dropout 0");
    train(&s, NULL, NULL);
    wg_settings_free(&s);
    assert_int_equal(wg_settings_init(&s), WG_OK);
    set(&s, "model", WRITES);
    set(&s, "train-set", LINES);
    set_all(&s, "type lm; vocab-kind words; d-model 16; d-ff 24; heads 2; decoder-layers 1; "
                "mini-batch-words 64; threads 1; disp-freq 0; valid-freq 0; save-freq 0; after 2u");
    train(&s, NULL, NULL);
    wg_settings_free(&s);
    return 0;
}

static int remove_models(void **state)
{
    (void)state;
    remove_folder(TRANSLATES);
    remove_folder(WRITES);
    return unlink(LINES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_translator_without_memory_has_a_status),
        cmocka_unit_test(a_language_model_without_memory_has_a_status),
        cmocka_unit_test(calls_on_open_models_fail_at_each_allocation),
        cmocka_unit_test(arguments_that_are_missing_are_named),
        cmocka_unit_test(nothing_answers_for_a_model_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, make_models, remove_models);
}
