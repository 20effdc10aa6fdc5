/* A model's folder in use: text to text, scores, attention, and what is said of folders that are
 * none. */
#include "tests/training.h"
#include "wengert/translate/translator.h"

#include <math.h>

static const char FOLDER[] = "translator_folder";

static int make_folder(void **state)
{
    (void)state;
    wg_settings s = small_training(FOLDER, "after 40u; valid-freq 20u; positions halves");
    remove_folder(FOLDER);
    train(&s, NULL, NULL);
    wg_settings_free(&s);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    remove_folder(FOLDER);
    return 0;
}

static wg_translator *opened_with(const char *folder, const wg_translator_options *o)
{
    wg_translator *t = NULL;
    wg_error error = {.text = ""};
    check_that(wg_translator_open(&t, folder, o, &error) == WG_OK, "%s", error.text);
    return t;
}

static wg_translator *opened(const char *weights)
{
    return opened_with(FOLDER, &(wg_translator_options){.weights = weights, .threads = 2});
}

static void lines_become_lines(void **state)
{
    (void)state;
    enum { LINES = 5, BEST = 2 };
    static const char *const lines[LINES] = {"forty-two", "", "one thousand three", "   ",
                                             "forty-two"};
    wg_translator *t = opened(NULL);
    const wg_vocabulary *from = wg_translator_vocabulary(t, 0),
                        *to = wg_translator_vocabulary(t, 1);
    assert_null(wg_translator_vocabulary(t, 2));
    assert_int_equal(wg_translator_config(t)->source_vocabulary, wg_vocabulary_size(from));
    const wg_search_options o = {
        .beam = 3, .n_best = BEST, .alpha = 1, .max_length = 20, .attention = true};
    wg_translation *found = NULL;
    check_that(wg_translator_run(t, lines, LINES, &o, &found) == WG_OK, "%s",
               wg_translator_message(t));
    size_t compared = 0;
    for (int i = 0; i < LINES * BEST; i++) {
        const wg_hypothesis *h = &found[i].hypothesis;
        int32_t *ids = NULL;
        size_t n = 0;
        char *text = NULL;
        assert_int_equal(
            wg_vocabulary_encode(from, lines[i / BEST], strlen(lines[i / BEST]), &ids, &n), WG_OK);
        if (n == 0) {
            assert_true(i % BEST ? !found[i].text : strcmp(found[i].text, "") == 0);
        } else {
            assert_int_equal(h->source_tokens, n + 1); /* and the end of sentence */
            assert_int_equal(wg_vocabulary_decode(to, h->ids, h->n, &text), WG_OK);
            assert_string_equal(found[i].text, text);
            double sum = 0;
            for (size_t k = 0; k < h->source_tokens; k++)
                sum += h->attention[(h->n - 1) * h->source_tokens + k];
            assert_true(fabs(sum - 1) < 1e-5);
            compared += h->n;
        }
        free(ids);
        free(text);
    }
    assert_true(compared >= 6);
    for (int k = 0; k < BEST; k++)
        assert_true(found[k].hypothesis.score == found[8 + k].hypothesis.score);
    wg_translations_free(found, LINES * BEST);
    wg_translator_free(t);
}

/* The tokens of a translation score as they did when it was found. */
static void pairs_are_scored(void **state)
{
    (void)state;
    enum { LINES = 3 };
    static const char *const lines[LINES] = {"seven", "nine hundred", "twelve thousand"};
    wg_translator *t = opened(NULL);
    const wg_search_options o = {
        .beam = 2, .penalty = WG_PENALTY_GNMT, .alpha = 0.6, .max_length = 30};
    wg_translation *found = NULL, *given = NULL;
    const char *texts[LINES];
    check_that(wg_translator_run(t, lines, LINES, &o, &found) == WG_OK, "%s",
               wg_translator_message(t));
    for (int i = 0; i < LINES; i++)
        texts[i] = found[i].text;
    check_that(wg_translator_score(t, lines, texts, LINES, &o, &given) == WG_OK, "%s",
               wg_translator_message(t));
    size_t same = 0;
    for (int i = 0; i < LINES; i++) {
        const wg_hypothesis *a = &found[i].hypothesis, *b = &given[i].hypothesis;
        assert_string_equal(given[i].text, texts[i]);
        for (size_t k = 0; k < a->n && k < b->n && a->ids[k] == b->ids[k]; k++, same++)
            assert_true(fabsf(a->token_scores[k] - b->token_scores[k]) < 1e-4f);
        double penalty = wg_length_penalty_of(o.penalty, o.alpha, b->n);
        assert_true(b->ids[b->n - 1] == 2 && fabs(b->score * penalty - b->log_probability) < 1e-9);
    }
    assert_true(same > 20);
    wg_translations_free(found, LINES);
    wg_translations_free(given, LINES);
    wg_translator_free(t);
    wg_translator_free(NULL);
    wg_translations_free(NULL, 0);
}

/* "seven hundred" is translated as its first `limit` characters, which are tokens, and so is a line
 * beyond what learned positions reach. */
static void check_cut(wg_translator *t, size_t limit)
{
    enum { LINES = 3 };
    char first[40] = "";
    const char *const lines[LINES] = {"seven hundred", "two", first};
    const wg_search_options o = {.beam = 2, .n_best = 2, .max_length = 8, .attention = true};
    wg_translation *found = NULL, *given = NULL;
    memcpy(first, lines[0], limit);
    check_that(wg_translator_run(t, lines, LINES, &o, &found) == WG_OK, "%s",
               wg_translator_message(t));
    for (int k = 0; k < 2; k++) {
        assert_int_equal(found[k].cut, strlen(lines[0]) - limit);
        assert_true(found[2 + k].cut == 0 && found[4 + k].cut == 0);
        assert_string_equal(found[k].text, found[4 + k].text);
    }
    assert_int_equal(found[0].hypothesis.source_tokens, limit + 1);
    const char *const targets[LINES] = {"sieben", "zweihundert", "sieben"};
    check_that(wg_translator_score(t, lines, targets, LINES, &o, &given) == WG_OK, "%s",
               wg_translator_message(t));
    size_t of_target = limit < 6 ? 6 - limit : 0;
    assert_int_equal(given[0].cut, strlen(lines[0]) - limit + of_target);
    assert_int_equal(given[1].cut, limit < 11 ? 11 - limit : 0);
    assert_int_equal(given[2].cut, of_target);
    wg_translations_free(found, 2 * LINES);
    wg_translations_free(given, LINES);
}

static void a_line_beyond_the_limit_is_cut(void **state)
{
    (void)state;
    static const char brief[] =
        "after 2u; positions learned; max-positions 8; max-length 7; length-multiple 8; "
        "valid-freq 0; vocab-kind chars";
    wg_translator *t = opened_with(FOLDER, &(wg_translator_options){.max_tokens = 5});
    check_cut(t, 5);
    wg_translator_free(t);
    /* without a word about it, a line cannot ask for memory by the square of its length */
    static char endless[4 * WG_LINE_TOKENS + 1];
    const char *line = memset(endless, '7', sizeof endless - 1);
    wg_translation *found;
    t = opened_with(FOLDER, NULL);
    check_that(wg_translator_run(t, &line, 1, &(wg_search_options){.beam = 1}, &found) == WG_OK,
               "%s", wg_translator_message(t));
    assert_int_equal(found[0].cut, 3 * WG_LINE_TOKENS);
    wg_translations_free(found, 1);
    wg_translator_free(t);
    wg_settings s = small_training("translator_learned", brief);
    remove_folder(s.model);
    write_numbers(&s);
    train(&s, NULL, NULL);
    for (int64_t limit = 0; limit <= 1000; limit += 1000) {
        t = opened_with(s.model, &(wg_translator_options){.max_tokens = limit});
        check_cut(t, 7);
        wg_translator_free(t);
    }
    remove_folder(s.model);
    remove_numbers(&s);
    wg_settings_free(&s);
}

static void a_line_that_is_null_is_refused(void **state)
{
    (void)state;
    const char *lines[] = {"1 2", NULL};
    wg_translation *found = NULL;
    wg_translator *t = opened_with(FOLDER, NULL);
    assert_int_equal(wg_translator_run(t, lines, 2, NULL, &found), WG_EINVAL);
    assert_string_equal(wg_translator_message(t), "line 2 of the source is NULL");
    assert_int_equal(wg_translator_score(t, lines, lines, 2, NULL, &found), WG_EINVAL);
    assert_int_equal(wg_translator_score(t, lines, lines + 1, 1, NULL, &found), WG_EINVAL);
    assert_string_equal(wg_translator_message(t), "line 1 of the target is NULL");
    assert_null(found);
    assert_int_equal(wg_translator_run(t, lines, 1, NULL, &found), WG_OK);
    wg_translations_free(found, 1);
    wg_translator_free(t);
}

static bool no_memory;
wg_status __real_wg_search_run(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                               size_t n, const wg_search_options *options, wg_hypothesis **results);
wg_status __wrap_wg_search_run(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                               size_t n, const wg_search_options *options, wg_hypothesis **results);
wg_status __wrap_wg_search_run(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                               size_t n, const wg_search_options *options, wg_hypothesis **results)
{
    return no_memory ? WG_ENOMEM : __real_wg_search_run(s, sources, lengths, n, options, results);
}

static void a_line_that_is_too_long_is_reported(void **state)
{
    (void)state;
    static const char *const lines[] = {"two", "eleven", ""};
    wg_translator *t = opened(NULL);
    wg_translation *found = NULL;
    int32_t *ids;
    size_t n;
    char expected[60];
    assert_int_equal(wg_vocabulary_encode(wg_translator_vocabulary(t, 0), "eleven", 6, &ids, &n),
                     WG_OK);
    free(ids);
    no_memory = true;
    wg_status status = wg_translator_run(t, lines, 3, NULL, &found);
    no_memory = false;
    snprintf(expected, sizeof expected, "the longest line has %zu tokens", n + 1);
    check_that(status == WG_ENOMEM && strstr(wg_translator_message(t), expected), "%s",
               wg_translator_message(t));
    assert_null(found);
    wg_translator_free(t);
}

/* The best by the metric that decides, unless another file is named, in the folder or by its
 * path. */
static void weights_can_be_chosen(void **state)
{
    (void)state;
    static const char *const names[] = {NULL, "best-cross-entropy.safetensors", WG_FILE_MODEL,
                                        "translator_folder/" WG_FILE_MODEL};
    static const char line[] = "eighty-one";
    const char *at = line;
    double score[4];
    for (int i = 0; i < 4; i++) {
        wg_translator *t = opened(names[i]);
        wg_translation *y;
        check_that(wg_translator_score(t, &at, &at, 1, NULL, &y) == WG_OK, "%s",
                   wg_translator_message(t));
        score[i] = y->hypothesis.score;
        wg_translations_free(y, 1);
        wg_translator_free(t);
    }
    assert_true(score[0] == score[1] && score[2] == score[3] && score[0] != score[2]);
}

static void expect_refusal(const char *folder, const char *weights, const char *expected)
{
    wg_translator *t = NULL;
    wg_error error = {.text = ""};
    const wg_translator_options o = {.weights = weights};
    assert_true(wg_translator_open(&t, folder, &o, &error) != WG_OK);
    assert_null(t);
    check_that(strstr(error.text, expected) != NULL, "\"%s\" has no \"%s\"", error.text, expected);
}

static void write_text(const char *name, const char *text)
{
    char *path = wg_folder_path(FOLDER, "%s", name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
    free(path);
}

static void bad_folders_and_weights_are_refused(void **state)
{
    (void)state;
    expect_refusal(".", NULL, ".: not a model folder: it has no config.yml");
    expect_refusal("there is none", NULL, "there is none: not a model folder");
    expect_refusal(NULL, NULL, "no folder was given");
    expect_refusal(FOLDER, "missing.safetensors", "missing.safetensors");
    expect_refusal(FOLDER, "config.yml", "config.yml");
    size_t size;
    char *config = contents(FOLDER, WG_FILE_CONFIG, &size);
    char *width = strstr(config, "d-ff: 32");
    assert_non_null(width);
    width[6] = '4'; /* 42 */
    write_text(WG_FILE_CONFIG, config);
    expect_refusal(FOLDER, NULL, "config.yml: it does not match the checksum in its first line");
    write_text(WG_FILE_CONFIG, strchr(config, '\n') + 1); /* changed on purpose */
    expect_refusal(FOLDER, NULL, "encoder/layer0/ff/inner/weight");
    write_text(WG_FILE_CONFIG, "d-ff: wide\n");
    expect_refusal(FOLDER, NULL, "config.yml:1");
    width[6] = '3';
    write_text(WG_FILE_CONFIG, config);
    free(config);
    wg_translator *t = opened(NULL);
    wg_translation *y = NULL;
    assert_int_equal(wg_translator_run(t, NULL, 1, NULL, &y), WG_EINVAL);
    static const char line[] = "one";
    const char *at = line;
    assert_int_equal(wg_translator_run(t, &at, 1, &(wg_search_options){.beam = -3}, &y), WG_EINVAL);
    assert_non_null(strstr(wg_translator_message(t), "the beam is -3"));
    wg_translator_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_lines),
        cmocka_unit_test(pairs_are_scored),
        cmocka_unit_test(a_line_beyond_the_limit_is_cut),
        cmocka_unit_test(a_line_that_is_null_is_refused),
        cmocka_unit_test(a_line_that_is_too_long_is_reported),
        cmocka_unit_test(weights_can_be_chosen),
        cmocka_unit_test(bad_folders_and_weights_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
