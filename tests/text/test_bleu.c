/* BLEU: the numbers of sacreBLEU's own tests; a naive count on random corpora; odd texts, memory
 * that fails. */
#include "tests/test.h"
#include "tests/allocations.h"
#include "wengert/graph/op.h"
#include "wengert/text/bleu.h"

#include <math.h>

static const char *const dog[] = {"The dog bit the man.", "It wasn't surprising.",
                                  "The man had just bitten him."};
static const char *const two_men[] = {
    "The dog bit the man.",     "It was not unexpected.", "The man bit him first.", /* first set  */
    "The dog had bit the man.", "No one was surprised.",  "The man had bitten the dog.",
};

static wg_bleu bleu_of(const char *const *hypotheses, const char *const *references, size_t lines,
                       const wg_bleu_options *options)
{
    wg_bleu b;
    assert_int_equal(wg_bleu_compute(&b, hypotheses, references, lines, options), WG_OK);
    return b;
}

static void near(const char *what, double got, double want, double tolerance)
{
    check_that(fabs(got - want) <= tolerance, "%s: %.10g, expected %.10g", what, got, want);
}

/* ---- published numbers ----------------------------------------------------------------------- */

static void three_sentences_with_two_references(void **state)
{
    (void)state;
    const char *const empty[] = {"", "", ""};
    const struct {
        wg_bleu_options options;
        const char *const *hypotheses;
        double score;
    } cases[] = {
        {{0}, dog, 48.530827},
        {{0}, empty, 0},
        {{.tokenizer = WG_BLEU_NONE}, dog, 49.1919566},
        {{.tokenizer = WG_BLEU_13A}, dog, 48.530827},
        {{.tokenizer = WG_BLEU_INTL}, dog, 43.91623493},
        {{.smoothing = WG_BLEU_UNSMOOTHED}, dog, 48.530827},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_bleu_options o = cases[i].options;
        o.references = 2;
        wg_bleu b = bleu_of(cases[i].hypotheses, two_men, 3, &o);
        near(wg_bleu_tokenizer_name(o.tokenizer), b.score, cases[i].score, 1e-8);
    }
    wg_bleu b = bleu_of(dog, two_men, 3, &(wg_bleu_options){.references = 2});
    const int64_t matches[] = {14, 7, 5, 3}, totals[] = {17, 14, 11, 8};
    const double precisions[] = {82.3529411764706, 50, 45.45454545454545, 37.5};
    for (int n = 0; n < WG_BLEU_ORDER; n++) {
        assert_int_equal(b.matches[n], matches[n]);
        assert_int_equal(b.totals[n], totals[n]);
        near("precision", b.precisions[n], precisions[n], 1e-13);
    }
    near("brevity penalty", b.brevity_penalty, 0.9428731438548749, 1e-15);
    assert_int_equal(b.hypothesis_length, 17);
    assert_int_equal(b.reference_length, 18);
    near("all digits", b.score, 48.530827009929865, 1e-12);
}

static void one_sentence(void **state)
{
    (void)state;
    const char *const reference = "producţia de zahăr brut se exprimă în zahăr alb;";
    const char *const hypothesis =
        "Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;";
    const struct {
        wg_bleu_options options;
        double score;
    } cases[] = {
        {{0}, 8.493},
        {{.smoothing = WG_BLEU_UNSMOOTHED}, 0},
        {{.smoothing = WG_BLEU_FLOOR}, 4.51688},
        {{.smoothing = WG_BLEU_FLOOR, .smoothing_value = 0.1}, 4.51688},
        {{.smoothing = WG_BLEU_FLOOR, .smoothing_value = 0.5}, 10.10},
        {{.smoothing = WG_BLEU_ADD_K}, 14.882},
        {{.smoothing = WG_BLEU_ADD_K, .smoothing_value = 1}, 14.882},
        {{.smoothing = WG_BLEU_ADD_K, .smoothing_value = 2}, 21.389},
        {{.tokenizer = WG_BLEU_NONE}, 7.347},
        {{.tokenizer = WG_BLEU_INTL}, 8.493},
        {{.tokenizer = WG_BLEU_CHAR}, 40.8759},
        {{.tokenizer = WG_BLEU_CHAR, .lowercase = true}, 42.0267},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_bleu_options o = cases[i].options;
        o.effective_order = true;
        char what[32];
        snprintf(what, sizeof what, "case %d", i);
        near(what, bleu_of(&hypothesis, &reference, 1, &o).score, cases[i].score, 1e-3);
    }
}

static void sentences_of_few_words(void **state)
{
    (void)state;
    const struct {
        const char *hypothesis, *reference;
        wg_bleu_options options;
        double share;
    } cases[] = {
        {"this is a test", "this is a test", {0}, 1},
        {"this is a fest",
         "this is a test",
         {.smoothing = WG_BLEU_FLOOR, .smoothing_value = 0.01},
         0.223606797749979},
        {"test",
         "a test",
         {.smoothing = WG_BLEU_FLOOR, .effective_order = true},
         0.3678794411714425},
        {"a test", "a test", {.effective_order = true}, 1},
        {"a little test",
         "a test",
         {.smoothing = WG_BLEU_FLOOR, .smoothing_value = 0.01, .effective_order = true},
         0.03218297948685433},
        {"am I am a character sequence",
         "I am a symbol string sequence a a",
         {.smoothing = WG_BLEU_FLOOR, .effective_order = true},
         0.1555722182},
        {"am I am a character sequence",
         "I am a symbol string sequence a a",
         {.smoothing = WG_BLEU_UNSMOOTHED},
         0},
        {"this is a cat", "okay thanks", {0}, 0},
        {"this is a cat", "okay thanks", {.smoothing = WG_BLEU_ADD_K}, 0},
        {"a test", "a test", {0}, 0}, /* no 3-grams */
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_bleu_options o = cases[i].options;
        o.tokenizer = WG_BLEU_NONE;
        near(cases[i].hypothesis, bleu_of(&cases[i].hypothesis, &cases[i].reference, 1, &o).score,
             100 * cases[i].share, 1e-6);
    }
}

static void scores_from_counts(void **state)
{
    (void)state;
    const struct {
        wg_bleu counts;
        wg_bleu_options options;
        double share;
    } cases[] = {
        {{.matches = {9, 7, 5, 3},
          .totals = {10, 8, 6, 4},
          .hypothesis_length = 11,
          .reference_length = 11},
         {.smoothing = WG_BLEU_UNSMOOTHED},
         0.8375922397},
        {{.totals = {4, 4, 2, 1}, .reference_length = 1}, {.smoothing = WG_BLEU_FLOOR}, 0},
        {{.totals = {10, 11, 12, 0}, .hypothesis_length = 14, .reference_length = 10},
         {.smoothing = WG_BLEU_FLOOR},
         0},
        {{.hypothesis_length = 1, .reference_length = 5}, {.smoothing = WG_BLEU_FLOOR}, 0},
        {{.matches = {6, 5, 4, 0},
          .totals = {6, 5, 4, 3},
          .hypothesis_length = 6,
          .reference_length = 6},
         {.smoothing = WG_BLEU_UNSMOOTHED},
         0},
        {{.score = 5}, {.smoothing = WG_BLEU_FLOOR}, 0},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_bleu b = cases[i].counts;
        assert_int_equal(wg_bleu_score(&b, &cases[i].options), WG_OK);
        near("score", b.score, 100 * cases[i].share, 1e-8);
    }
}

/* ---- tokenizers ------------------------------------------------------------------------------ */

/* A tokenizer is right if the tokens as text, compared without one, match word by word and nothing
 * else. */
static void tokens_are(int tokenizer, bool lowercase, const char *line, const char *tokens)
{
    wg_bleu b = bleu_of(&line, &tokens, 1,
                        &(wg_bleu_options){.tokenizer = tokenizer, .lowercase = lowercase});
    wg_bleu t = bleu_of(&tokens, &tokens, 1, &(wg_bleu_options){.tokenizer = WG_BLEU_NONE});
    /* tokens are fixed points but for marks beside digits, which the tables below avoid */
    check_that(b.hypothesis_length == t.hypothesis_length && b.matches[0] == t.totals[0] &&
                   b.matches[3] == t.totals[3] && b.totals[3] == t.totals[3],
               "%s of \"%s\": %lld tokens, %lld of them in \"%s\"",
               wg_bleu_tokenizer_name(tokenizer), line, (long long)b.hypothesis_length,
               (long long)b.matches[0], tokens);
}

static void tokens_of_13a(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"Hello, world! (Again.)", "Hello , world ! ( Again . )"},
        {"1,000.5 and 3.14 are numbers.", "1,000.5 and 3.14 are numbers ."},
        {"in 1999, 1999. A-B", "in 1999 , 1999 . A-B"},
        {"range 10-20 and a-1", "range 10 - 20 and a-1"},
        {"isn't \xe2\x80\x9cquoted\xe2\x80\x9d", "isn't \xe2\x80\x9cquoted\xe2\x80\x9d"},
        {"&quot;a&quot; &amp; &lt;b&gt;", "\" a \" & < b >"},
        {"&amp;lt;", "<"},
        {"a <skipped>b c d", "a b c d"},
        {"over-\nlap of lines\nhere and now", "overlap of lines here and now"},
        {"50% of [x] {y} ~z ^w _u `v` $5 #1 @me *s+ =; : ? \\ |",
         "50 % of [ x ] { y } ~ z ^ w _ u ` v ` $ 5 # 1 @ me * s + "
         "= ; : ? \\ |"},
        {".,.,", ". , . ,"},
        {"ends with blanks \t\n", "ends with blanks"},
        {"Stra\xc3\x9f"
         "e.\xc3\xa4,\xc3\xb6",
         "Stra\xc3\x9f"
         "e . \xc3\xa4 , \xc3\xb6"},
        {"non\xc2\xa0"
         "breaking\xe2\x80\x89thin\xe3\x80\x80wide",
         "non breaking thin wide"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++)
        tokens_are(WG_BLEU_13A, false, cases[i][0], cases[i][1]);
}

static void tokens_of_intl(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"Hello, world! \xe2\x80\x9eJa\xe2\x80\x9c",
         "Hello , world ! \xe2\x80\x9e Ja \xe2\x80\x9c"},
        {"1,000.5 euros", "1,000.5 euros"},
        {"it was 2004. Then", "it was 2004 . Then"},
        {"$5 + \xe2\x82\xac"
         "7 \xc2\xa9 \xe2\x86\x92 x",
         "$ 5 + \xe2\x82\xac 7 \xc2\xa9 \xe2\x86\x92 x"},
        {"a-b isn't &amp;", "a - b isn ' t & amp ;"},
        {"\xc2\xbfQu\xc3\xa9? \xe3\x80\x8c\xe6\x97\xa5\xe6\x9c\xac\xe3\x80\x8d",
         "\xc2\xbf Qu\xc3\xa9 ? \xe3\x80\x8c "
         "\xe6\x97\xa5\xe6\x9c\xac \xe3\x80\x8d"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++)
        tokens_are(WG_BLEU_INTL, false, cases[i][0], cases[i][1]);
    /* a full stop that ends the line behind a digit stays, for there is no blank behind it */
    const char *year = "in 2004. ", *split = "in 2004 .";
    wg_bleu b = bleu_of(&year, &split, 1, &(wg_bleu_options){.tokenizer = WG_BLEU_INTL});
    assert_int_equal(b.hypothesis_length, 2);
    assert_int_equal(b.reference_length, 3);
}

static void tokens_of_characters(void **state)
{
    (void)state;
    const char *line = " a\xc3\xa4 \xe6\x97\xa5 b ", *other = "a\xc3\xa4\xe6\x97\xa5"
                                                              "b";
    wg_bleu b = bleu_of(&line, &other, 1, &(wg_bleu_options){.tokenizer = WG_BLEU_CHAR});
    near("characters", b.score, 100, 1e-12);
    assert_int_equal(b.hypothesis_length, 4);
}

static void lower_case_is_that_of_unicode(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"THE \xc3\x84PFEL \xc3\x89T\xc3\x89 \xd0\x9c\xd0\x98\xd0\xa0",
         "the \xc3\xa4pfel \xc3\xa9t\xc3\xa9 \xd0\xbc\xd0\xb8\xd1\x80"},
        {"\xc4\xb0stanbul b c d", "i\xcc\x87stanbul b c d"}, /* capital I with a dot      */
        {"\xce\xa3\xce\x91\xce\xa3 \xce\xa3 c d",
         "\xcf\x83\xce\xb1\xcf\x82 \xcf\x83 c d"}, /* sigma: first, last, alone */
        {"\xe2\x85\xa3 \xe2\x92\xb6 \xc7\x85 STRA\xe1\xba\x9e"
         "E",
         "\xe2\x85\xb3 \xe2\x93\x90 \xc7\x86 stra\xc3\x9f"
         "e"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++)
        tokens_are(WG_BLEU_NONE, true, cases[i][0], cases[i][1]);
}

/* ---- a naive count --------------------------------------------------------------------------- */

enum { MAX_WORDS = 12, LINES = 5, SETS = 3 };

typedef struct words {
    char word[MAX_WORDS][4];
    int n;
} words;

static bool same_ngram(const words *a, int i, const words *b, int j, int n)
{
    for (int k = 0; k < n; k++)
        if (strcmp(a->word[i + k], b->word[j + k]) != 0)
            return false;
    return true;
}

static int occurrences(const words *g, int at, int n, const words *in)
{
    int count = 0;
    for (int j = 0; j + n <= in->n; j++)
        count += same_ngram(g, at, in, j, n);
    return count;
}

/* By the definition: each n-gram, at its first place, counts min(its count, most of its counts in
 * references). */
static void naive_counts(const words *h, const words *references, int sets, wg_bleu *sum)
{
    for (int n = 1; n <= WG_BLEU_ORDER; n++)
        for (int i = 0; i + n <= h->n; i++) {
            sum->totals[n - 1]++;
            bool first = true;
            for (int j = 0; j < i; j++)
                first = first && !same_ngram(h, i, h, j, n);
            int max = 0, own = occurrences(h, i, n, h);
            for (int r = 0; r < sets; r++) {
                int count = occurrences(h, i, n, &references[r]);
                max = count > max ? count : max;
            }
            sum->matches[n - 1] += first ? (own < max ? own : max) : 0;
        }
    int best = references[0].n;
    for (int r = 1; r < sets; r++) {
        int off = abs(references[r].n - h->n), min = abs(best - h->n);
        best = off < min || (off == min && references[r].n < best) ? references[r].n : best;
    }
    sum->hypothesis_length += h->n;
    sum->reference_length += best;
}

static uint64_t draw(uint64_t *random, uint64_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*random >> 33) % below;
}

/* Words of one and two letters, so that joined ones could be mistaken for each other. */
static void draw_line(uint64_t *random, words *w, char *text, int min)
{
    static const char *const some[] = {"a", "b", "ab", "ba", "aa", "bb", "\xc3\xa4", "c"};
    w->n = min + (int)draw(random, (uint64_t)(MAX_WORDS - min) + 1);
    *text = '\0';
    for (int i = 0; i < w->n; i++) {
        strcpy(w->word[i], some[draw(random, 2 + draw(random, 7))]);
        strcat(strcat(text, i ? "  " : ""), w->word[i]);
    }
    strcat(text, draw(random, 2) ? " \t" : "");
}

static void random_corpora(void **state)
{
    (void)state;
    uint64_t random = 7;
    int64_t matched = 0;
    for (int trial = 0; trial < 500; trial++) {
        static words h[LINES], refs[LINES][SETS];
        static char text[LINES * (1 + SETS)][MAX_WORDS * 8];
        const char *hypotheses[LINES], *references[SETS * LINES];
        int sets = 1 + (int)draw(&random, SETS);
        wg_bleu want = {0};
        for (int i = 0; i < LINES; i++) {
            hypotheses[i] = text[i];
            draw_line(&random, &h[i], text[i], 0);
            for (int r = 0; r < sets; r++) {
                references[r * LINES + i] = text[LINES + r * LINES + i];
                draw_line(&random, &refs[i][r], text[LINES + r * LINES + i], 1);
            }
            naive_counts(&h[i], refs[i], sets, &want);
        }
        wg_bleu_options o = {.tokenizer = WG_BLEU_NONE, .references = (size_t)sets};
        wg_bleu b = bleu_of(hypotheses, references, LINES, &o);
        assert_int_equal(b.hypothesis_length, want.hypothesis_length);
        assert_int_equal(b.reference_length, want.reference_length);
        for (int n = 0; n < WG_BLEU_ORDER; n++) {
            assert_int_equal(b.totals[n], want.totals[n]);
            assert_int_equal(b.matches[n], want.matches[n]);
            matched += b.matches[n];
        }
    }
    check_that(matched > 10000, "only %lld n-grams matched", (long long)matched);
}

/* ---- words about it -------------------------------------------------------------------------- */

static void print_and_signature(void **state)
{
    (void)state;
    char text[200];
    wg_bleu b = bleu_of(dog, two_men, 3, &(wg_bleu_options){.references = 2});
    wg_bleu_print(&b, text, sizeof text);
    assert_string_equal(
        text,
        "BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)");
    const struct {
        wg_bleu_options options;
        const char *want;
    } cases[] = {
        {{0}, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:wengert-"},
        {{.tokenizer = WG_BLEU_INTL,
          .smoothing = WG_BLEU_FLOOR,
          .lowercase = true,
          .references = 2},
         "nrefs:2|case:lc|eff:no|tok:intl|smooth:floor[0.10]|version:wengert-"},
        {{.tokenizer = WG_BLEU_CHAR,
          .smoothing = WG_BLEU_ADD_K,
          .smoothing_value = 2,
          .effective_order = true},
         "nrefs:1|case:mixed|eff:yes|tok:char|smooth:add-k[2.00]|version:wengert-"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_bleu_signature(&cases[i].options, text, sizeof text);
        assert_memory_equal(text, cases[i].want, strlen(cases[i].want));
        assert_true(strlen(text) > strlen(cases[i].want) && strlen(text) < sizeof text - 1);
    }
    char little[8];
    wg_bleu_print(&b, little, sizeof little);
    wg_bleu_signature(NULL, little, sizeof little);
    assert_string_equal(little, "nrefs:1");
}

/* ---- what is not as hoped -------------------------------------------------------------------- */

static void unusual_texts(void **state)
{
    (void)state;
    wg_bleu b = bleu_of(NULL, NULL, 0, NULL);
    assert_true(b.score == 0 && b.hypothesis_length == 0 && b.ratio == 0);
    const char *const some[] = {"a b c d e", ""}, *const none[] = {"", ""},
                      *const all[] = {"a b c d e", "f"};
    b = bleu_of(some, none, 2, NULL); /* no reference has a word */
    assert_true(b.score == 0 && b.reference_length == 0 && b.brevity_penalty == 1);
    b = bleu_of(some, all, 2, NULL);
    near("an empty hypothesis costs length only", b.score, 100 * exp(1 - 6 / 5.), 1e-12);
    /* of two references an empty or missing one is none */
    const char *const pair[] = {"", "f g", "a b c d e", NULL};
    b = bleu_of(some, pair, 2, &(wg_bleu_options){.references = 2});
    assert_int_equal(b.reference_length, 7);
    /* bytes that are no UTF-8: U+FFFD for each beginning of a sequence */
    const char *const broken[] = {"a \xff\xe2\x82 b \xc3", "\xed\xa0\x80 \xf4\x90\x80\x80"};
    for (int tokenizer = WG_BLEU_13A; tokenizer <= WG_BLEU_CHAR; tokenizer++)
        for (int lowercase = 0; lowercase < 2; lowercase++) {
            b = bleu_of(broken, broken, 2,
                        &(wg_bleu_options){.tokenizer = tokenizer, .lowercase = lowercase});
            near("itself", b.score, 100, 1e-12);
        }
    const char *const replaced[] = {"a \xef\xbf\xbd\xef\xbf\xbd b \xef\xbf\xbd"};
    near("replaced",
         bleu_of(broken, replaced, 1, &(wg_bleu_options){.tokenizer = WG_BLEU_NONE}).score, 100,
         1e-12);
}

static void long_line(void **state)
{
    (void)state;
    size_t size = 1 << 20;
    char *line = malloc(size + 1);
    assert_non_null(line);
    for (size_t i = 0; i < size; i++)
        line[i] = "a.B, 7-\xc3\xa9"[i % 9];
    line[size] = '\0';
    const char *const lines[] = {line};
    for (int tokenizer = WG_BLEU_13A; tokenizer <= WG_BLEU_INTL; tokenizer++)
        near("a long line",
             bleu_of(lines, lines, 1, &(wg_bleu_options){.tokenizer = tokenizer, .lowercase = true})
                 .score,
             100, 1e-12);
    free(line);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    wg_bleu b, before;
    memset(&b, 7, sizeof b);
    before = b;
    const char *const lines[] = {"a", NULL};
    const wg_bleu_options wrong[] = {{.tokenizer = -1},         {.tokenizer = 4},
                                     {.smoothing = 4},          {.smoothing = -1},
                                     {.smoothing_value = -0.5}, {.smoothing_value = NAN}};
    for (int i = 0; i < WG_COUNT(wrong); i++) {
        char text[16];
        assert_int_equal(wg_bleu_compute(&b, lines, lines, 1, &wrong[i]), WG_EINVAL);
        assert_int_equal(wg_bleu_score(&b, &wrong[i]), WG_EINVAL);
        wg_bleu_signature(&wrong[i], text, sizeof text);
        assert_string_equal(text, "invalid");
    }
    assert_int_equal(wg_bleu_compute(&b, lines, lines, 2, NULL), WG_EINVAL);
    assert_int_equal(wg_bleu_compute(&b, NULL, lines, 1, NULL), WG_EINVAL);
    assert_int_equal(wg_bleu_compute(&b, lines, NULL, 1, NULL), WG_EINVAL);
    assert_int_equal(wg_bleu_compute(NULL, lines, lines, 1, NULL), WG_EINVAL);
    assert_int_equal(wg_bleu_score(NULL, NULL), WG_EINVAL);
    assert_memory_equal(&b, &before, sizeof b);
    assert_null(wg_bleu_tokenizer_name(4));
    assert_null(wg_bleu_smoothing_name(-1));
}

static wg_status compute(void *options)
{
    wg_bleu b;
    return wg_bleu_compute(&b, dog, two_men, 3, options);
}

/* A compiled pattern may fall back to the interpreter, a sort to one in place. */
static void every_failing_allocation_gives_a_status(void **state)
{
    (void)state;
    for (int tokenizer = WG_BLEU_13A; tokenizer <= WG_BLEU_CHAR; tokenizer++) {
        wg_bleu_options o = {.tokenizer = tokenizer, .lowercase = true, .references = 2};
        assert_in_range(
            fail_some("bleu", compute, &o, WG_OK, (failing_allocations){.spares = true}), 31,
            10000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_sentences_with_two_references),
        cmocka_unit_test(one_sentence),
        cmocka_unit_test(sentences_of_few_words),
        cmocka_unit_test(scores_from_counts),
        cmocka_unit_test(tokens_of_13a),
        cmocka_unit_test(tokens_of_intl),
        cmocka_unit_test(tokens_of_characters),
        cmocka_unit_test(lower_case_is_that_of_unicode),
        cmocka_unit_test(random_corpora),
        cmocka_unit_test(print_and_signature),
        cmocka_unit_test(unusual_texts),
        cmocka_unit_test(long_line),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(every_failing_allocation_gives_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
