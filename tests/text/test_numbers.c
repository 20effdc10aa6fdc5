/* Number phrases against a parser that knows nothing of how they are made, and the corpus of
 * them. */
#include "tests/allocations.h"
#include "wengert/text/numbers.h"

#include <stdbool.h>

/* ---- phrases that are known ------------------------------------------------------------------ */

static void known_phrases(void **state)
{
    static const struct {
        int32_t number;
        const char *english, *german;
    } known[] = {
        {0, "zero", "null"},
        {1, "one", "eins"},
        {7, "seven", "sieben"},
        {10, "ten", "zehn"},
        {11, "eleven", "elf"},
        {12, "twelve", "zwölf"},
        {16, "sixteen", "sechzehn"},
        {17, "seventeen", "siebzehn"},
        {20, "twenty", "zwanzig"},
        {21, "twenty-one", "einundzwanzig"},
        {30, "thirty", "dreißig"},
        {40, "forty", "vierzig"},
        {66, "sixty-six", "sechsundsechzig"},
        {77, "seventy-seven", "siebenundsiebzig"},
        {99, "ninety-nine", "neunundneunzig"},
        {100, "one hundred", "einhundert"},
        {101, "one hundred one", "einhunderteins"},
        {111, "one hundred eleven", "einhundertelf"},
        {121, "one hundred twenty-one", "einhunderteinundzwanzig"},
        {342, "three hundred forty-two", "dreihundertzweiundvierzig"},
        {1000, "one thousand", "eintausend"},
        {1001, "one thousand one", "eintausendeins"},
        {12000, "twelve thousand", "zwölftausend"},
        {21000, "twenty-one thousand", "einundzwanzigtausend"},
        {101101, "one hundred one thousand one hundred one", "einhunderteintausendeinhunderteins"},
        {123456, "one hundred twenty-three thousand four hundred fifty-six",
         "einhundertdreiundzwanzigtausendvierhundertsechsundfünfzig"},
        {999999, "nine hundred ninety-nine thousand nine hundred ninety-nine",
         "neunhundertneunundneunzigtausendneunhundertneunundneunzig"},
    };
    (void)state;
    char text[WG_NUMBER_TEXT];
    for (size_t i = 0; i < WG_COUNT(known); i++) {
        wg_number_english(known[i].number, text);
        assert_string_equal(text, known[i].english);
        wg_number_german(known[i].number, text);
        assert_string_equal(text, known[i].german);
    }
    wg_number_english(-1, text);
    assert_string_equal(text, "");
    wg_number_german(WG_NUMBERS, text);
    assert_string_equal(text, "");
}

/* ---- a parser of phrases --------------------------------------------------------------------- */

typedef struct word {
    const char *text;
    int value;
} word;

static const word english_words[] = {
    {"zero", 0},     {"one", 1},      {"two", 2},        {"three", 3},     {"four", 4},
    {"five", 5},     {"six", 6},      {"seven", 7},      {"eight", 8},     {"nine", 9},
    {"ten", 10},     {"eleven", 11},  {"twelve", 12},    {"thirteen", 13}, {"fourteen", 14},
    {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17}, {"eighteen", 18}, {"nineteen", 19},
    {"twenty", 20},  {"thirty", 30},  {"forty", 40},     {"fifty", 50},    {"sixty", 60},
    {"seventy", 70}, {"eighty", 80},  {"ninety", 90},    {"hundred", 100}, {"thousand", 1000},
};
static const word german_words[] = {
    {"null", 0},      {"eins", 1},      {"ein", 1},       {"zwei", 2},      {"drei", 3},
    {"vier", 4},      {"fünf", 5},      {"sechs", 6},     {"sieben", 7},    {"acht", 8},
    {"neun", 9},      {"zehn", 10},     {"elf", 11},      {"zwölf", 12},    {"dreizehn", 13},
    {"vierzehn", 14}, {"fünfzehn", 15}, {"sechzehn", 16}, {"siebzehn", 17}, {"achtzehn", 18},
    {"neunzehn", 19}, {"zwanzig", 20},  {"dreißig", 30},  {"vierzig", 40},  {"fünfzig", 50},
    {"sechzig", 60},  {"siebzig", 70},  {"achtzig", 80},  {"neunzig", 90},
};

/* The value of text[0..size), -1 if it is no word. */
static int value_of(const word *words, size_t n, const char *text, size_t size)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(words[i].text) == size && memcmp(words[i].text, text, size) == 0)
            return words[i].value;
    return -1;
}
#define VALUE_OF(words, text, size) value_of(words, WG_COUNT(words), text, size)

/* Words from left to right: "hundred" multiplies what came since the last thousand, "thousand" all;
 * a hyphen stands between tens and units and nowhere else. */
static int32_t parse_english(const char *text)
{
    int32_t total = 0, part = 0;
    char before = ' ';
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, " -");
        int value = VALUE_OF(english_words, at, n);
        bool hyphen = before == '-', unit = value >= 1 && value <= 9;
        if (value < 0 || hyphen != (unit && part % 100 >= 20) ||
            (value == 0 && strcmp(text, "zero") != 0))
            return -1;
        if (value == 1000) {
            total = part * 1000;
            part = 0;
        } else {
            part = value == 100 ? part * 100 : part + value;
        }
        before = at[n];
        at += n + (at[n] != '\0');
        if (before && !*at)
            return -1;
    }
    return total + part;
}

/* 1 to 999, or nothing at all, for which it returns 0: [unit hundert] [[unit und] tens | other
 * word]. */
static int32_t parse_german_part(const char *text, size_t size)
{
    char part[WG_NUMBER_TEXT];
    memcpy(part, text, size);
    part[size] = '\0';
    if (!size)
        return 0;
    int32_t hundreds = 0;
    char *rest = part, *hundert = strstr(part, "hundert");
    if (hundert) {
        hundreds = VALUE_OF(german_words, part, (size_t)(hundert - part));
        if (hundreds < 1 || hundreds > 9)
            return -1;
        rest = hundert + strlen("hundert");
    }
    if (!*rest)
        return hundreds * 100;
    int32_t last = VALUE_OF(german_words, rest, strlen(rest));
    char *and = last < 0 ? strstr(rest, "und") : NULL;
    if (and) {
        int units = VALUE_OF(german_words, rest, (size_t)(and-rest));
        int tens = VALUE_OF(german_words, and+3, strlen(and+3));
        last = units >= 1 && units <= 9 && tens >= 20 && memcmp(rest, "eins", 4) != 0 ? tens + units
                                                                                      : -1;
    }
    return last < 1 ? -1 : hundreds * 100 + last;
}

static int32_t parse_german(const char *text)
{
    const char *tausend = strstr(text, "tausend"),
               *rest = tausend ? tausend + strlen("tausend") : text;
    if (strcmp(text, "null") == 0)
        return 0;
    int32_t thousands = tausend ? parse_german_part(text, (size_t)(tausend - text)) : 0;
    int32_t others = parse_german_part(rest, strlen(rest));
    return thousands < 0 || others < 0 || (tausend && !thousands) ? -1 : thousands * 1000 + others;
}

static void every_number_parses(void **state)
{
    (void)state;
    char text[WG_NUMBER_TEXT];
    size_t longest = 0;
    int32_t parsed = 0;
    for (int32_t i = 0; i < WG_NUMBERS; i++, parsed++) {
        wg_number_english(i, text);
        longest = strlen(text) > longest ? strlen(text) : longest;
        check_that(parse_english(text) == i, "%d is \"%s\", which is %d", i, text,
                   parse_english(text));
        wg_number_german(i, text);
        longest = strlen(text) > longest ? strlen(text) : longest;
        check_that(parse_german(text) == i, "%d is \"%s\", which is %d", i, text,
                   parse_german(text));
        check_that(!strchr(text, ' '), "%d is \"%s\", not one word", i, text);
        /* "eins" at the end only, "ein" never there */
        const char *one = strstr(text, "eins");
        check_that(!one || strcmp(one, "eins") == 0, "%d is \"%s\"", i, text);
    }
    assert_int_equal(parsed, WG_NUMBERS);
    assert_true(longest < WG_NUMBER_TEXT);
}

static void the_parser_refuses(void **state)
{
    static const char *const english[] = {"twenty one", "one-hundred",  "hundredone",
                                          "fourty",     "one hundred ", "zero one"};
    static const char *const german[] = {"einsundzwanzig", "zwanzigundein",  "tausend",
                                         "hundert",        "einhundertnull", "vierundzehn"};
    (void)state;
    for (size_t i = 0; i < WG_COUNT(english); i++)
        assert_int_equal(parse_english(english[i]), -1);
    for (size_t i = 0; i < WG_COUNT(german); i++)
        assert_int_equal(parse_german(german[i]), -1);
}

/* ---- the corpus ------------------------------------------------------------------------------ */

/* Takes a line from *text. */
static void take_line(const char **text, char line[WG_NUMBER_TEXT])
{
    size_t n = strcspn(*text, "\n");
    assert_in_range(n, 1, WG_NUMBER_TEXT - 1);
    assert_int_equal((*text)[n], '\n');
    memcpy(line, *text, n);
    line[n] = '\0';
    *text += n + 1;
}

/* Marks in seen[] the numbers of the corpus; they are different, and both sides say the same.
 * Returns how many. */
static size_t read_corpus(const char *english, const char *german, unsigned char *seen,
                          unsigned char mark)
{
    char e[WG_NUMBER_TEXT], g[WG_NUMBER_TEXT];
    size_t count = 0;
    for (; *english; count++) {
        take_line(&english, e);
        take_line(&german, g);
        int32_t number = parse_english(e);
        check_that(number >= 0 && parse_german(g) == number, "%s: %s", e, g);
        check_that(!(seen[number] & mark), "%d occurs twice", number);
        seen[number] |= mark;
    }
    assert_int_equal(*german, '\0');
    return count;
}

static size_t draw(size_t count, wg_numbers_part part, uint64_t seed, unsigned char *seen,
                   unsigned char mark)
{
    char *english, *german;
    assert_int_equal(wg_numbers_corpus(count, part, seed, &english, &german), WG_OK);
    size_t got = read_corpus(english, german, seen, mark);
    assert_int_equal(got, count);
    free(english);
    free(german);
    return got;
}

static void held_out_numbers_are_never_drawn(void **state)
{
    enum { TRAIN = 1, HELD = 2 };
    (void)state;
    unsigned char *seen = calloc(WG_NUMBERS, 1);
    char *english, *german;
    size_t both = 0;
    assert_non_null(seen);
    draw(WG_NUMBERS_HELD_OUT, WG_NUMBERS_TO_TEST, 5, seen, HELD);
    draw(WG_NUMBERS - WG_NUMBERS_HELD_OUT, WG_NUMBERS_TO_TRAIN, 77, seen, TRAIN);
    assert_int_equal(
        wg_numbers_corpus(WG_NUMBERS_HELD_OUT + 1, WG_NUMBERS_TO_TEST, 5, &english, &german),
        WG_EINVAL);
    assert_null(english);
    assert_null(german);
    assert_int_equal(wg_numbers_corpus(WG_NUMBERS - WG_NUMBERS_HELD_OUT + 1, WG_NUMBERS_TO_TRAIN, 7,
                                       &english, &german),
                     WG_EINVAL);
    for (int32_t i = 0; i < WG_NUMBERS; i++) {
        both += seen[i] == (TRAIN | HELD);
        check_that(seen[i], "%d is drawn by neither", i);
        check_that(i >= 100 || seen[i] == TRAIN, "%d is held out", i);
    }
    assert_int_equal(both, 0);
    free(seen);
}

static void digits_are_even_and_seeds_matter(void **state)
{
    (void)state;
    enum { MANY = 12000 };
    static unsigned char seen[WG_NUMBERS];
    memset(seen, 0, sizeof seen);
    draw(MANY, WG_NUMBERS_TO_TRAIN, 1, seen, 1);
    draw(MANY, WG_NUMBERS_TO_TRAIN, 1, seen, 2);
    draw(MANY, WG_NUMBERS_TO_TRAIN, 2, seen, 4);
    size_t digits[7] = {0}, same = 0, other = 0;
    for (int32_t i = 0; i < WG_NUMBERS; i++) {
        digits[snprintf(NULL, 0, "%d", i)] += seen[i] & 1;
        same += (seen[i] & 3) == 3;
        other += (seen[i] & 5) == 5;
    }
    assert_int_equal(same, MANY); /* the same seed, the same numbers */
    assert_true(other < MANY / 2);
    assert_int_equal(digits[1], 10);
    assert_int_equal(digits[2], 90);
    assert_in_range(digits[3], 780, 840); /* all that are not held out */
    for (int d = 4; d <= 6; d++)
        assert_in_range(digits[d], (MANY - 10 - 90 - 840) / 3, (MANY - 10 - 90 - 780) / 3 + 1);

    char *first[2], *second[2];
    assert_int_equal(wg_numbers_corpus(500, WG_NUMBERS_TO_TEST, 9, &first[0], &first[1]), WG_OK);
    assert_int_equal(wg_numbers_corpus(500, WG_NUMBERS_TO_TEST, 9, &second[0], &second[1]), WG_OK);
    for (int side = 0; side < 2; side++) {
        assert_string_equal(first[side], second[side]); /* in the same order */
        free(first[side]);
        free(second[side]);
    }
}

static void a_corpus_of_no_pairs_is_empty(void **state)
{
    (void)state;
    char *english, *german;
    assert_int_equal(wg_numbers_corpus(0, WG_NUMBERS_TO_TRAIN, 0, &english, &german), WG_OK);
    assert_string_equal(english, "");
    assert_string_equal(german, "");
    free(english);
    free(german);
    assert_int_equal(wg_numbers_corpus(1, WG_NUMBERS_TO_TRAIN, 0, NULL, &german), WG_EINVAL);
    assert_int_equal(wg_numbers_corpus(SIZE_MAX, WG_NUMBERS_TO_TRAIN, 0, &english, &german),
                     WG_EINVAL);
}

static wg_status make_corpus(void *context)
{
    char *english, *german;
    (void)context;
    wg_status status = wg_numbers_corpus(10, WG_NUMBERS_TO_TEST, 3, &english, &german);
    free(english);
    free(german);
    return status;
}

static void failed_allocations_are_a_status(void **state)
{
    (void)state;
    assert_int_equal(fail_each("numbers", make_corpus, NULL, WG_OK), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_phrases),
        cmocka_unit_test(every_number_parses),
        cmocka_unit_test(the_parser_refuses),
        cmocka_unit_test(held_out_numbers_are_never_drawn),
        cmocka_unit_test(digits_are_even_and_seeds_matter),
        cmocka_unit_test(a_corpus_of_no_pairs_is_empty),
        cmocka_unit_test(failed_allocations_are_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
