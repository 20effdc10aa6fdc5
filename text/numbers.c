/* Number phrases, and a corpus of them. */
#include "wengert/text/numbers.h"

#include "graph/shuffle.h"

#include <stdlib.h>
#include <string.h>

/* ---- phrases --------------------------------------------------------------------------------- */

static char *put(char *to, const char *text)
{
    size_t n = strlen(text);
    memcpy(to, text, n + 1);
    return to + n;
}

/* 1 to 999. */
static char *english_below_1000(char *to, int n)
{
    static const char *const small[] = {"",        "one",     "two",       "three",    "four",
                                        "five",    "six",     "seven",     "eight",    "nine",
                                        "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                        "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
    static const char *const tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                       "fifty", "sixty", "seventy", "eighty", "ninety"};
    if (n >= 100) {
        to = put(put(to, small[n / 100]), n % 100 ? " hundred " : " hundred");
        n %= 100;
    }
    if (n < 20)
        return put(to, small[n]);
    to = put(to, tens[n / 10]);
    return n % 10 ? put(put(to, "-"), small[n % 10]) : to;
}

void wg_number_english(int32_t number, char *text)
{
    text[0] = '\0';
    if (number < 0 || number >= WG_NUMBERS)
        return;
    if (number == 0)
        put(text, "zero");
    if (number >= 1000)
        text = put(english_below_1000(text, number / 1000),
                   number % 1000 ? " thousand " : " thousand");
    if (number % 1000)
        english_below_1000(text, number % 1000);
}

/* 1 to 999.  `one` is a one at the end: "eins", and "ein" before "tausend". */
static char *german_below_1000(char *to, int n, const char *one)
{
    static const char *const small[] = {"",         "ein",      "zwei",     "drei",     "vier",
                                        "fünf",     "sechs",    "sieben",   "acht",     "neun",
                                        "zehn",     "elf",      "zwölf",    "dreizehn", "vierzehn",
                                        "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
    static const char *const tens[] = {"",        "",        "zwanzig", "dreißig", "vierzig",
                                       "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"};
    if (n >= 100) {
        to = put(put(to, small[n / 100]), "hundert");
        n %= 100;
    }
    if (n == 1)
        return put(to, one);
    if (n < 20)
        return put(to, small[n]);
    to = put(to, small[n % 10]);
    return put(put(to, n % 10 ? "und" : ""), tens[n / 10]);
}

void wg_number_german(int32_t number, char *text)
{
    text[0] = '\0';
    if (number < 0 || number >= WG_NUMBERS)
        return;
    if (number == 0)
        put(text, "null");
    if (number >= 1000)
        text = put(german_below_1000(text, number / 1000, "ein"), "tausend");
    if (number % 1000)
        german_below_1000(text, number % 1000, "eins");
}

/* ---- the corpus ------------------------------------------------------------------------------ */

enum {
    DIGITS = 6,
    HELD_OUT = 10,
    HELD_SEED = 1917,
    HELD_STREAM = 1,
    DRAW_STREAM = 2,
    ORDER_STREAM = 3
};

/* About one in ten from 100 on, WG_NUMBERS_HELD_OUT in all.  Smaller numbers are never held out:
 * they are the words that larger ones consist of. */
static bool is_held_out(uint32_t number)
{
    return number >= 100 && wgi_draw(HELD_SEED, 0, HELD_STREAM, number) % HELD_OUT == 0;
}

/* Numbers with the same number of digits; the first `used` are taken. */
typedef struct pool {
    uint32_t *number;
    uint32_t n, used;
} pool;

/* Pools that share one array of WG_NUMBERS; returns how many numbers there are. */
static size_t fill_pools(pool pools[DIGITS], uint32_t *all, bool held_out)
{
    uint32_t number = 0, used = 0, end = 10;
    for (int d = 0; d < DIGITS; d++, end *= 10) {
        pools[d] = (pool){all + used, 0, 0};
        for (; number < end; number++)
            if (is_held_out(number) == held_out)
                pools[d].number[pools[d].n++] = number;
        used += pools[d].n;
    }
    return used;
}

/* Draws numbers of 1, 2, ..., 6 digits in turn, as long as there are any. */
static void draw_numbers(uint32_t *drawn, uint32_t count, pool pools[DIGITS], uint64_t seed)
{
    for (int d = 0; d < DIGITS; d++)
        wgi_shuffle(pools[d].number, pools[d].n, seed, (uint64_t)d, DRAW_STREAM);
    for (uint32_t i = 0, d = 0; i < count; d = (d + 1) % DIGITS)
        if (pools[d].used < pools[d].n)
            drawn[i++] = pools[d].number[pools[d].used++];
    wgi_shuffle(drawn, count, seed, 0, ORDER_STREAM);
}

/* One phrase per line. */
static char *write_lines(const uint32_t *number, size_t count,
                         void (*phrase)(int32_t number, char *text))
{
    char line[WG_NUMBER_TEXT];
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        phrase((int32_t)number[i], line);
        size += strlen(line) + 1;
    }
    char *text = malloc(size), *to = text;
    if (!text)
        return NULL;
    *to = '\0';
    for (size_t i = 0; i < count; i++) {
        phrase((int32_t)number[i], line);
        to = put(put(to, line), "\n");
    }
    return text;
}

wg_status wg_numbers_corpus(size_t count, wg_numbers_part part, uint64_t seed, char **english,
                            char **german)
{
    pool pools[DIGITS];
    if (!english || !german)
        return WG_EINVAL;
    *english = *german = NULL;
    uint32_t *all = malloc(WG_NUMBERS * sizeof *all);
    uint32_t *drawn = malloc(WG_NUMBERS * sizeof *drawn);
    wg_status status = all && drawn ? WG_OK : WG_ENOMEM;
    if (status == WG_OK && fill_pools(pools, all, part == WG_NUMBERS_TO_TEST) < count)
        status = WG_EINVAL;
    if (status == WG_OK) {
        draw_numbers(drawn, (uint32_t)count, pools, seed);
        *english = write_lines(drawn, count, wg_number_english);
        *german = write_lines(drawn, count, wg_number_german);
        if (!*english || !*german) {
            free(*english);
            free(*german);
            *english = *german = NULL;
            status = WG_ENOMEM;
        }
    }
    free(all);
    free(drawn);
    return status;
}
