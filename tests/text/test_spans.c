/* Corpora of one text for language models: spans, in which each token is predicted once. */
#include "tests/allocations.h"
#include "tests/text/words.h"
#include "wengert/text/corpus.h"

static void check_spans(const wg_span_options *o, const char *text, const char *expected)
{
    char found[400] = "";
    size_t used = 0;
    wg_corpus *c = NULL;
    wg_status status = wg_corpus_spans_of_text(&c, text, strlen(text), words, o, &error);
    check_that(status == WG_OK, "%s: %s", wg_status_text(status), error.text);
    for (size_t i = 0; i < wg_corpus_count(c); i++) {
        wg_sentence s = wg_corpus_sentence(c, i, 1);
        assert_int_equal(wg_corpus_sentence(c, i, 0).n, 0);
        for (size_t k = 0; k < s.n; k++) {
            const char *piece = s.ids[k] == o->bos   ? "("
                                : s.ids[k] == o->eos ? ")"
                                                     : wg_vocabulary_piece(words, s.ids[k]);
            used += (size_t)snprintf(found + used, sizeof found - used, "%s", piece);
        }
        used += (size_t)snprintf(found + used, sizeof found - used, " ");
    }
    check_that(strcmp(found, expected) == 0, "\"%s\": \"%s\"", text, found);
    wg_corpus_free(c);
}

/* Each token and each end is predicted once: all but the first of each span. */
static void texts_are_cut_into_spans(void **state)
{
    (void)state;
    static const char text[] = "a b c d e\n\nf\nA B";
    wg_span_options o = {.bos = wg_vocabulary_bos(words), .eos = wg_vocabulary_eos(words)};
    o.length = 100;
    check_spans(&o, text, "(abcde) (f) (AB) ");
    o.length = 3;
    check_spans(&o, text, "(abc cde) (f) (AB) ");
    o.length = 1;
    check_spans(&o, "a b\n", "(a ab b) ");
    o.joined = true;
    o.length = 100;
    check_spans(&o, text, "(abcde))f)AB) ");
    o.length = 4;
    check_spans(&o, text, "(abcd de))f f)AB) ");

    wg_corpus *c = NULL;
    for (int joined = 0; joined < 2; joined++) {
        o.joined = joined;
        assert_int_equal(wg_corpus_spans_of_text(&c, "\n \n", 3, words, &o, &error), WG_EDATA);
        check_that(strstr(error.text, "got 2 lines without a token") != NULL, "%s", error.text);
        assert_int_equal(wg_corpus_spans_of_text(&c, "", 0, words, &o, &error), WG_EDATA);
    }
    o.length = 0;
    assert_int_equal(wg_corpus_spans_of_text(&c, "a", 1, words, &o, &error), WG_EINVAL);
    assert_int_equal(wg_corpus_spans_of_text(&c, "a", 1, words, NULL, &error), WG_EINVAL);
    assert_int_equal(wg_corpus_read_spans(&c, path_of("nothing"), words, &o, &error), WG_EIO);
    assert_null(c);
}

static void spans_need_their_arguments(void **state)
{
    (void)state;
    const wg_span_options good = {.length = 3}, bad[] = {{.bos = -1, .length = 3},
                                                         {.eos = -1, .length = 3},
                                                         {.length = 0}};
    const char *path = write_text("a", "a b\n");
    wg_corpus *c = NULL;
    for (int i = 0; i < WG_COUNT(bad); i++)
        assert_int_equal(wg_corpus_spans_of_text(&c, "a", 1, words, &bad[i], &error), WG_EINVAL);
    assert_int_equal(wg_corpus_spans_of_text(NULL, "a", 1, words, &good, &error), WG_EINVAL);
    assert_int_equal(wg_corpus_spans_of_text(&c, NULL, 1, words, &good, &error), WG_EINVAL);
    assert_int_equal(wg_corpus_spans_of_text(&c, "a", 1, NULL, &good, &error), WG_EINVAL);
    assert_int_equal(wg_corpus_spans_of_text(&c, NULL, 0, words, &good, &error), WG_EDATA);
    assert_int_equal(wg_corpus_read_spans(NULL, path, words, &good, &error), WG_EINVAL);
    assert_int_equal(wg_corpus_read_spans(&c, NULL, words, &good, &error), WG_EINVAL);
    assert_int_equal(wg_corpus_read_spans(&c, path, NULL, &good, &error), WG_EINVAL);
    assert_int_equal(wg_corpus_read_spans(&c, path, words, NULL, &error), WG_EINVAL);
    assert_null(c);
}

static wg_status read_spans(void *path)
{
    wg_corpus *c;
    const wg_span_options o = {.bos = wg_vocabulary_bos(words),
                               .eos = wg_vocabulary_eos(words),
                               .length = 3,
                               .threads = 1};
    wg_status status = wg_corpus_read_spans(&c, path, words, &o, &error);
    assert_true((status == WG_OK) == (c != NULL));
    wg_corpus_free(c);
    return status;
}

static void spans_without_memory(void **state)
{
    (void)state;
    char path[400];
    snprintf(path, sizeof path, "%s", write_text("a", "a b c\nb\na a a a\n\nc d\n"));
    assert_in_range(fail_each("spans", read_spans, path, WG_OK), 10, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_cut_into_spans),
        cmocka_unit_test(spans_need_their_arguments),
        cmocka_unit_test(spans_without_memory),
    };
    return cmocka_run_group_tests(tests, make_words, remove_words);
}
