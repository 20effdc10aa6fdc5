/* Lines of any length and content: encoded in time proportional to their length, with the ids that
 * their words have. */
#include "tests/vocabularies.h"

enum { LONG = 400000 };

static char *repeated(const char *what, size_t size)
{
    char *line = malloc(size + 1);
    size_t n = strlen(what);
    assert_non_null(line);
    for (size_t i = 0; i < size; i++)
        line[i] = what[i % n];
    line[size] = '\0';
    return line;
}

/* A long line of words has the ids of its words, wherever it is divided. */
static void words_keep_their_ids_in_a_long_line(void **state)
{
    (void)state;
    static const char words[] = "the house is green . das rote haus , grün sieht mouse";
    size_t n_words, n;
    int compared = 0;
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_WORDS; kind++)
        for (int tokenized = 0; tokenized < 2; tokenized++) {
            wg_vocabulary *v = make_of(
                &(wg_vocabulary_options){.kind = kind, .size = 90, .tokenized = tokenized}, text);
            int32_t *of_words = encode(v, words, strlen(words), &n_words);
            for (size_t copies = 1; copies <= 2000; copies = copies * 3 + 1, compared++) {
                size_t size = copies * (strlen(words) + 1) - 1;
                char period[sizeof words + 1];
                snprintf(period, sizeof period, "%s ", words);
                char *line = repeated(period, size);
                int32_t *ids = encode(v, line, size, &n);
                assert_int_equal(n, copies * n_words);
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(ids[i], of_words[i % n_words]);
                free(ids);
                free(line);
            }
            free(of_words);
            wg_vocabulary_free(v);
        }
    assert_true(compared >= 14);
}

/* SentencePiece alone takes the square of the length for a run of unknown characters, and finds one
 * unknown token in all of it. */
static void a_run_of_unknown_characters_is_many_words(void **state)
{
    (void)state;
    static const char *const runs[] = {"~", "\xe2\x82\xad", "\xf0\x9f\x98\x80", "~ ", "\xff"};
    for (int kind = FIRST_KIND; kind < WG_VOCABULARY_WORDS; kind++) {
        wg_vocabulary *v = make(kind, 90);
        for (int i = 0; i < WG_COUNT(runs); i++) {
            size_t n;
            char *line = repeated(runs[i], LONG / strlen(runs[i]) * strlen(runs[i]));
            int32_t *ids = encode(v, line, strlen(line), &n);
            check_that(n >= LONG / 4096, "run %d: %zu tokens", i, n);
            check_that(n <= LONG + 2, "run %d: %zu tokens", i, n);
            free(ids);
            free(line);
        }
        wg_vocabulary_free(v);
    }
}

/* SentencePiece's trainer of BPE crashes on a word of more than 32,767 characters. */
static void vocabularies_are_made_from_long_words(void **state)
{
    (void)state;
    static const size_t sizes[] = {4095, 4096, 4097, 32767, 32769, 65000, 65536};
    for (int kind = FIRST_KIND; kind < WG_VOCABULARY_WORDS; kind++)
        for (int i = 0; i < WG_COUNT(sizes); i++) {
            char *line = repeated("abcab\xc3\xbc", sizes[i]);
            line[sizes[i] - 1] = '\n';
            size_t n;
            wg_vocabulary *v = make_of(&(wg_vocabulary_options){.kind = kind, .size = 30}, line);
            free(encode(v, "abc", 3, &n));
            assert_true(n > 0 && n <= 4);
            free(encode(v, line, sizes[i] - 1, &n));
            assert_true(n >= sizes[i] / 4096);
            wg_vocabulary_free(v);
            free(line);
        }
}

static void lines_that_are_too_long_to_learn_from(void **state)
{
    (void)state;
    for (int kind = FIRST_KIND; kind < WG_VOCABULARY_WORDS; kind++) {
        wg_vocabulary *v;
        char *line = repeated("ab ", 65537);
        assert_int_equal(
            wg_vocabulary_train_text(&v, &(wg_vocabulary_options){.kind = kind, .size = 30}, line,
                                     65537, &error),
            WG_EDATA);
        assert_string_equal(error.text, "vocabulary: expected text with lines of at most 65536 "
                                        "bytes, got none");
        free(line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_keep_their_ids_in_a_long_line),
        cmocka_unit_test(a_run_of_unknown_characters_is_many_words),
        cmocka_unit_test(vocabularies_are_made_from_long_words),
        cmocka_unit_test(lines_that_are_too_long_to_learn_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
