/* chrF and chrF++: the numbers of sacreBLEU's own tests, and properties. */
#include "tests/test.h"
#include "tests/allocations.h"
#include "wengert/graph/op.h"
#include "wengert/text/bleu.h"

#include <math.h>

static double chrf_of(const char *const *hypotheses, const char *const *references, size_t lines,
                      const wg_chrf_options *options)
{
    double score;
    assert_int_equal(wg_chrf_compute(&score, hypotheses, references, lines, options), WG_OK);
    return score;
}

typedef struct pair {
    const char *hypothesis, *reference;
    double score;
} pair;

static void pairs_score(const pair *p, int n, const wg_chrf_options *o, double tolerance)
{
    for (int i = 0; i < n; i++) {
        double score = chrf_of(&p[i].hypothesis, &p[i].reference, 1, o);
        check_that(fabs(score - p[i].score) <= tolerance, "\"%s\": %.8f, expected %.8f",
                   p[i].hypothesis, score, p[i].score);
    }
}

#define RISK                                                                                       \
    "risk assessment must be made of those who are qualified and expertise in the sector - these " \
    "are the scientists ."
#define RISK_REFERENCE                                                                             \
    "risk assessment has to be undertaken by those who are qualified and expert in that area - "   \
    "that is the scientists ."
#define OBAMA "Das Verhältnis zwischen Obama und Netanyahu ist nicht gerade freundschaftlich."

/* ---- published numbers ----------------------------------------------------------------------- */

static void epsilon_smoothing(void **state)
{
    (void)state;
    const pair beta_3[] = {
        {"abcdefg", "hijklmnop", 0},
        {"a", "b", 0},
        {"", "b", 0},
        {"", "reference", 0},
        {"aa", "ab", 8.3333},
        {"a", "a", 16.6667},
        {"a b c", "a b c", 50},
        {"a b c", "abc", 50},
        {" " RISK, RISK_REFERENCE, 63.361730},
        {" Die    Beziehung zwischen  Obama und Netanjahu ist nicht gerade  freundlich. ", OBAMA,
         64.1302698},
        {"Niemand hat die Absicht, eine Mauer zu errichten",
         "Niemand hat die Absicht, eine Mauer zu errichten", 100},
    };
    pairs_score(beta_3, WG_COUNT(beta_3), &(wg_chrf_options){.beta = 3, .epsilon_smoothing = true},
                1e-4);
    const pair czech[] = {
        {"Co nás nejvíc trápí, protože lékaři si vybírají, kdo bude žít a kdo zemře.",
         "Nejvíce smutní jsme z toho, že musíme rozhodovat o tom, kdo bude žít a kdo zemře.",
         39.14078509},
        {"Nebo prostě nemají vybavení, které by jim pomohlo, uvedli lékaři.",
         "A někdy nemáme ani potřebný materiál, abychom jim pomohli, popsali lékaři.", 31.22557079},
        {"Lapali po dechu, jejich životy skončily dřív, než skutečně začaly.",
         "Lapali po dechu a pak jejich život skončil - dřív, než skutečně mohl začít, připomněli.",
         57.15704367},
    };
    pairs_score(czech, WG_COUNT(czech), &(wg_chrf_options){.epsilon_smoothing = true}, 1e-6);
}

static void effective_order(void **state)
{
    (void)state;
    const pair cases[] = {
        {"a", "a", 100},       {"", "reference", 0}, {"a b c", "a b c", 100},
        {"a b c", "abc", 100}, {"", "c", 0},         {"aa", "ab", 25},
    };
    wg_chrf_options o = {.beta = 3};
    pairs_score(cases, WG_COUNT(cases), &o, 1e-12);
    const char *const ab[] = {"a", "b"}, *const ac[] = {"a", "c"};
    assert_true(fabs(chrf_of(ab, ac, 2, &o) - 50) <= 1e-12);
    o.epsilon_smoothing = true;
    assert_true(fabs(chrf_of(ab, ac, 2, &o) - 8.3333) <= 1e-4);
}

static void blanks_kept(void **state)
{
    (void)state;
    const pair cases[] = {
        {"Die Beziehung zwischen Obama und Netanjahu ist nicht gerade freundlich.", OBAMA,
         67.3481606},
        {RISK, RISK_REFERENCE, 65.2414427},
    };
    pairs_score(cases, WG_COUNT(cases), &(wg_chrf_options){.beta = 3, .keep_blanks = true}, 1e-6);
}

/* ---- words, several references --------------------------------------------------------------- */

/* With a single order, F is simple: characters of order 1 and words of order 1 are averaged. */
static void words_count_beside_characters(void **state)
{
    (void)state;
    const char *h = "(hi) you", *r = "(hi ) me";
    /* characters: 4 of "(hi)you", of "(hi)me"; words: "(hi" ")" "you" | "(" "hi" ")" "me": 1 of 3,
     * 1 of 4 */
    double p = (4 / 7. + 1 / 3.) / 2, q = (4 / 6. + 1 / 4.) / 2;
    double score =
        chrf_of(&h, &r, 1, &(wg_chrf_options){.character_order = 1, .word_order = 1, .beta = 1});
    check_that(fabs(score - 200 * p * q / (p + q)) <= 1e-12, "%.15g", score);
    const char *with = "so , what ?", *without = "so, what?";
    assert_true(fabs(chrf_of(&with, &without, 1, &(wg_chrf_options){.word_order = 2}) - 100) <=
                1e-12);
}

/* Each ASCII mark at an end of a word is a word of its own; letters and digits are none. */
static void every_mark_ends_a_word(void **state)
{
    (void)state;
    for (char c = '!'; c < 0x7f; c++) {
        const char together[] = {'a', 'b', c, 0}, apart[] = {'a', 'b', ' ', c, 0};
        const char *h = together, *r = apart;
        bool is_mark =
            !strchr("0123456789", c) && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z');
        double score = chrf_of(&h, &r, 1, &(wg_chrf_options){.word_order = 1});
        check_that((fabs(score - 100) <= 1e-12) == is_mark, "'%c': %g", c, score);
    }
}

/* Of a line whose reference has no n-grams of an order, the hypothesis has none either. */
static void orders_that_a_reference_lacks_do_not_count(void **state)
{
    (void)state;
    const char *const h[] = {"abcd", "xyz"}, *const r[] = {"ab", "xyz"};
    /* characters 5 of 7 and 5 of 5; pairs 3 of 5 and 3 of 3; triples of the second line alone */
    double p = (5 / 7. + 3 / 5. + 1) / 3;
    double score = chrf_of(h, r, 2, &(wg_chrf_options){.character_order = 3, .beta = 1});
    check_that(fabs(score - 200 * p / (p + 1)) <= 1e-12, "%.15g", score);
}

static void the_best_reference_counts(void **state)
{
    (void)state;
    const char *const h[] = {"the dog bit", "a man"}, *const r[] = {"a cat", "a man", "the dog bit",
                                                                    "no"};
    assert_true(fabs(chrf_of(h, r, 2, &(wg_chrf_options){.references = 2}) - 100) <= 1e-12);
    assert_true(chrf_of(h, r, 2, NULL) < 60);
    const char *const missing[] = {NULL, "a man", "the dog bit", ""};
    assert_true(fabs(chrf_of(h, missing, 2, &(wg_chrf_options){.references = 2}) - 100) <= 1e-12);
}

static void case_and_order(void **state)
{
    (void)state;
    const char *big = "\xc3\x84PFEL UND", *small = "\xc3\xa4pfel und";
    assert_true(chrf_of(&big, &small, 1, NULL) == 0);
    assert_true(fabs(chrf_of(&big, &small, 1, &(wg_chrf_options){.lowercase = true}) - 100) <=
                1e-12);
    for (int c = 0; c < 16 + 26;
         c++) { /* Roman numerals and letters in circles, as they are coded */
        const int first = c < 16 ? 0x2160 + c : 0x24b6 + c - 16,
                  second = first + (c < 16 ? 16 : 26);
        const char upper[] = {'\xe2', (char)(0x80 | (first >> 6 & 63)), (char)(0x80 | (first & 63)),
                              0};
        const char lower[] = {'\xe2', (char)(0x80 | (second >> 6 & 63)),
                              (char)(0x80 | (second & 63)), 0};
        const char *h = upper, *r = lower;
        check_that(chrf_of(&h, &r, 1, &(wg_chrf_options){.lowercase = true}) == 100, "U+%04X",
                   first);
    }
    /* P and R exchange with hypothesis and reference; for beta 1 the score does not change */
    const char *a = RISK, *b = RISK_REFERENCE;
    wg_chrf_options even = {.beta = 1, .word_order = 2};
    assert_true(fabs(chrf_of(&a, &b, 1, &even) - chrf_of(&b, &a, 1, &even)) <= 1e-12);
    assert_true(fabs(chrf_of(&a, &b, 1, NULL) - chrf_of(&b, &a, 1, NULL)) > 0.1);
}

/* ---- words about it; failures ---------------------------------------------------------------- */

static void print_and_signature(void **state)
{
    (void)state;
    char text[200];
    wg_chrf_print(39.14078509, NULL, text, sizeof text);
    assert_string_equal(text, "chrF2 = 39.14");
    wg_chrf_print(50.2947, &(wg_chrf_options){.word_order = 2}, text, sizeof text);
    assert_string_equal(text, "chrF2++ = 50.29");
    const char *want = "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:wengert-";
    wg_chrf_signature(NULL, text, sizeof text);
    assert_memory_equal(text, want, strlen(want));
    want = "nrefs:2|case:lc|eff:no|nc:4|nw:2|space:yes|version:wengert-";
    wg_chrf_options o = {.character_order = 4,
                         .word_order = 2,
                         .keep_blanks = true,
                         .lowercase = true,
                         .epsilon_smoothing = true,
                         .references = 2};
    wg_chrf_signature(&o, text, sizeof text);
    assert_memory_equal(text, want, strlen(want));
}

static void unusual_texts_and_bad_arguments(void **state)
{
    (void)state;
    assert_true(chrf_of(NULL, NULL, 0, NULL) == 0);
    const char *const none[] = {""}, *const some[] = {"abc"},
                      *const broken[] = {"\xff\xe2\x82 x \xc3"}, *const null[] = {NULL};
    assert_true(chrf_of(some, none, 1, NULL) == 0 && chrf_of(none, none, 1, NULL) == 0);
    assert_true(fabs(chrf_of(broken, broken, 1, &(wg_chrf_options){.word_order = 2}) - 100) <=
                1e-12);
    double score = 7;
    const wg_chrf_options wrong[] = {{.character_order = -1},
                                     {.character_order = 17},
                                     {.word_order = -1},
                                     {.word_order = 17},
                                     {.beta = -1},
                                     {.beta = INFINITY}};
    for (int i = 0; i < WG_COUNT(wrong); i++) {
        char text[16];
        assert_int_equal(wg_chrf_compute(&score, some, some, 1, &wrong[i]), WG_EINVAL);
        wg_chrf_signature(&wrong[i], text, sizeof text);
        assert_string_equal(text, "invalid");
        wg_chrf_print(1, &wrong[i], text, sizeof text);
        assert_string_equal(text, "invalid");
    }
    assert_int_equal(wg_chrf_compute(&score, some, null, 1, NULL), WG_EINVAL);
    assert_int_equal(wg_chrf_compute(&score, null, some, 1, NULL), WG_EINVAL);
    assert_int_equal(wg_chrf_compute(&score, NULL, some, 1, NULL), WG_EINVAL);
    assert_int_equal(wg_chrf_compute(NULL, some, some, 1, NULL), WG_EINVAL);
    assert_true(score == 7);
}

static wg_status compute(void *score)
{
    const char *const h[] = {RISK}, *const r[] = {RISK_REFERENCE, OBAMA};
    return wg_chrf_compute(score, h, r, 1,
                           &(wg_chrf_options){.word_order = 2, .lowercase = true, .references = 2});
}

/* A sort may fall back to one in place. */
static void every_failing_allocation_gives_a_status(void **state)
{
    (void)state;
    double score;
    assert_in_range(
        fail_some("chrF", compute, &score, WG_OK, (failing_allocations){.spares = true}), 31,
        10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epsilon_smoothing),
        cmocka_unit_test(effective_order),
        cmocka_unit_test(blanks_kept),
        cmocka_unit_test(words_count_beside_characters),
        cmocka_unit_test(every_mark_ends_a_word),
        cmocka_unit_test(orders_that_a_reference_lacks_do_not_count),
        cmocka_unit_test(the_best_reference_counts),
        cmocka_unit_test(case_and_order),
        cmocka_unit_test(print_and_signature),
        cmocka_unit_test(unusual_texts_and_bad_arguments),
        cmocka_unit_test(every_failing_allocation_gives_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
