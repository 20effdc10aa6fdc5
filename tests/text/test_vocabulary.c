/* Vocabularies: tokens and ids there and back, and texts as they come. */
#include "tests/allocations.h"
#include "tests/vocabularies.h"

#include <omp.h>

/* ---- there and back -------------------------------------------------------------------------- */

static void lines_come_back(void **state)
{
    (void)state;
    size_t lines = 0;
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_CHARS; kind++) {
        wg_vocabulary *v = make(kind, 90);
        assert_int_equal(wg_vocabulary_kind_of(v), kind);
        assert_in_range(wg_vocabulary_size(v), 5, 90);
        for (const char *at = text; *at; at = strchr(at, '\n') + 1, lines++) {
            size_t size = strcspn(at, "\n"), n;
            char *back = there_and_back_bytes(v, at, size, &n);
            /* "<s>" is a special token's name, which words know as unknown */
            if (kind == WG_VOCABULARY_WORDS && at[0] == '<')
                assert_string_equal(back, "<unk> is a tag and \\s is not a blank ; € 10");
            else
                check_that(strlen(back) == size && memcmp(back, at, size) == 0,
                           "kind %d: \"%.*s\" comes back as \"%s\"", kind, (int)size, at, back);
            assert_true(n > 0);
            free(back);
        }
        wg_vocabulary_free(v);
    }
    assert_int_equal(lines, 5 * (WG_VOCABULARY_CHARS + 1 - FIRST_KIND));
}

static void blanks(void **state)
{
    (void)state;
    static const char wide[] = "  the   house  is green .  ", narrow[] = "the house is green .";
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_CHARS; kind++) {
        wg_vocabulary *v = make(kind, 90);
        check_there_and_back(v, wide, kind == WG_VOCABULARY_CHARS ? wide : narrow);
        check_there_and_back(v, "", "");
        if (kind != WG_VOCABULARY_CHARS)
            check_there_and_back(v, "   ", "");
        wg_vocabulary_free(v);
    }
}

static void unknown_tokens(void **state)
{
    (void)state;
    wg_vocabulary *words = make(WG_VOCABULARY_WORDS, 90), *chars = make(WG_VOCABULARY_CHARS, 90);
    check_there_and_back(words, "the elephant is green", "the <unk> is green");
    check_there_and_back(words, "</s> the <pad> <unk>", "<unk> the <unk> <unk>");
    check_there_and_back(chars, "the ß", "the <unk>");
    wg_vocabulary_free(words);
    wg_vocabulary_free(chars);
#ifdef WG_HAVE_SENTENCEPIECE
    wg_vocabulary *v = make(WG_VOCABULARY_BPE, 90);
    check_there_and_back(v, "the ß",
                         "the  \xe2\x81\x87 "); /* as SentencePiece does: U+2047 between blanks */
    wg_vocabulary_free(v);
#endif
}

/* What is not UTF-8, and NUL, is U+FFFD, one for each longest part that begins a character. */
static void invalid_utf8_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *expected;
    } cases[] = {
        {"a\xff"
         "b",
         3,
         "a\xef\xbf\xbd"
         "b"},
        {"a\0b", 3,
         "a\xef\xbf\xbd"
         "b"},
        {"\0\0", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"a\xe2\x82", 3, "a\xef\xbf\xbd"},
        {"\xc0\x80", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80"
         "a",
         4,
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
         "a"},
        {"\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    wg_vocabulary *v;
    const char bad[] = "a b \xff a b";
    size_t n;
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_CHARS; kind++) {
        assert_int_equal(
            wg_vocabulary_train_text(&v, &(wg_vocabulary_options){.kind = kind, .size = 12}, bad,
                                     sizeof bad - 1, &error),
            WG_OK);
        check_there_and_back(v, "b \xef\xbf\xbd a", "b \xef\xbf\xbd a"); /* learned as that */
        for (size_t i = 0; i < WG_COUNT(cases); i++) {
            char *back = there_and_back_bytes(v, cases[i].bytes, cases[i].size, &n);
            if (kind != WG_VOCABULARY_WORDS) /* for which these are unknown words */
                check_that(strcmp(back, cases[i].expected) == 0, "kind %d, case %zu: %s", kind, i,
                           back);
            free(back);
        }
        wg_vocabulary_free(v);
    }
}

static void a_line_of_10_mb(void **state)
{
    (void)state;
    enum { SIZE = 10000000 };
    char *line = malloc(SIZE);
    assert_non_null(line);
    for (size_t i = 0; i < SIZE; i++)
        line[i] = i % 6 == 5 ? ' ' : "theous"[i * i % 6];
    for (int kind = WG_VOCABULARY_WORDS; kind <= WG_VOCABULARY_CHARS; kind++) {
        wg_vocabulary *v = make(kind, 90);
        size_t n;
        char *back = there_and_back_bytes(v, line, SIZE, &n);
        assert_int_equal(n, kind == WG_VOCABULARY_WORDS ? (SIZE + 5) / 6 : SIZE);
        if (kind == WG_VOCABULARY_CHARS)
            assert_memory_equal(back, line, SIZE);
        free(back);
        wg_vocabulary_free(v);
        assert_int_equal(
            wg_vocabulary_train_text(&v, &(wg_vocabulary_options){.kind = kind, .size = 90}, line,
                                     SIZE, &error),
            WG_OK);
        wg_vocabulary_free(v);
    }
    free(line);
}

/* ---- ids ------------------------------------------------------------------------------------- */

static void special_tokens(void **state)
{
    (void)state;
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_CHARS; kind++) {
        wg_vocabulary *v = make(kind, 90);
        char *back;
        assert_int_equal(wg_vocabulary_pad(v), 0);
        assert_int_equal(wg_vocabulary_bos(v), 1);
        assert_int_equal(wg_vocabulary_eos(v), 2);
        assert_int_equal(wg_vocabulary_unk(v), 3);
        assert_string_equal(wg_vocabulary_piece(v, 0), "<pad>");
        assert_string_equal(wg_vocabulary_piece(v, 1), "<s>");
        assert_string_equal(wg_vocabulary_piece(v, 2), "</s>");
        assert_string_equal(wg_vocabulary_piece(v, 3), "<unk>");
        assert_null(wg_vocabulary_piece(v, -1));
        assert_null(wg_vocabulary_piece(v, (int32_t)wg_vocabulary_size(v)));
        for (int32_t i = 0; i < wg_vocabulary_size(v); i++)
            assert_true(*wg_vocabulary_piece(v, i));

        /* left out by decoding, wherever they are */
        size_t n;
        int32_t *ids = encode(v, "the house", 9, &n), more[40];
        assert_true(2 * n + 3 < 40);
        size_t k = 0;
        more[k++] = 1;
        for (size_t i = 0; i < n; i++) {
            more[k++] = ids[i];
            more[k++] = 0;
        }
        more[k++] = 2;
        assert_int_equal(wg_vocabulary_decode(v, more, k, &back), WG_OK);
        assert_string_equal(back, "the house");
        free(back);
        free(ids);
        wg_vocabulary_free(v);
    }
}

/* The most frequent first, ties in order of their bytes. */
static void words_in_order(void **state)
{
    (void)state;
    static const char *const expected[] = {"b", "c", "a", "d"};
    const char *line = "d c b a c b b d a\td c\v\n  b b c\n";
    wg_vocabulary *v;
    for (int size = 5; size <= 10; size++) {
        assert_int_equal(wg_vocabulary_train_text(
                             &v,
                             &(wg_vocabulary_options){.kind = WG_VOCABULARY_WORDS, .size = size},
                             line, strlen(line), NULL),
                         WG_OK);
        int n = size < 8 ? size : 8;
        assert_int_equal(wg_vocabulary_size(v), n);
        /* b 5, c 4, d 3, a 2 */
        static const char *const by_count[] = {"b", "c", "d", "a"};
        for (int i = 4; i < n; i++)
            assert_string_equal(wg_vocabulary_piece(v, i), by_count[i - 4]);
        wg_vocabulary_free(v);
    }
    line = "d a c b\nc b\nb\n"; /* b 3, c 2, a and d 1 */
    assert_int_equal(wg_vocabulary_train_text(
                         &v, &(wg_vocabulary_options){.kind = WG_VOCABULARY_WORDS, .size = 10},
                         line, strlen(line), NULL),
                     WG_OK);
    for (int i = 0; i < 4; i++)
        assert_string_equal(wg_vocabulary_piece(v, 4 + i), expected[i]);
    wg_vocabulary_free(v);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void files_are_as_their_texts(void **state)
{
    (void)state;
    const char *half = strchr(text, '\n') + 1;
    const char *files[] = {
        write_bytes("first", text,
                    (size_t)(half - text - 1)), /* their last lines have no newline */
        write_bytes("second", half, strlen(half) - 1), write_text("third", "")};
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_CHARS; kind++) {
        wg_vocabulary *a = make(kind, 60), *b;
        check_that(wg_vocabulary_train(&b, &(wg_vocabulary_options){.kind = kind, .size = 60},
                                       files, 3, &error) == WG_OK,
                   "%s", error.text);
        check_same(a, b, text);
        wg_vocabulary_free(a);
        wg_vocabulary_free(b);
    }
}

/* Some thousand lines of made-up words, on several numbers of threads. */
static void the_same_text_gives_the_same_vocabulary(void **state)
{
    (void)state;
    enum { LINES = 2000, ROOM = LINES * 80 };
    char *lines = malloc(ROOM), *to = lines;
    uint64_t random = 7;
    assert_non_null(lines);
    for (int i = 0; i < LINES; i++)
        for (int w = 0; w < 8; w++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            for (uint64_t r = random >> 40; r; r /= 26)
                *to++ = (char)('a' + r % 26 * (r % 26) / 26);
            *to++ = w < 7 ? ' ' : '\n';
        }
    assert_true(to - lines < ROOM);
    const char *paths[2] = {path_of("vocab0"), path_of("vocab1")};
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_CHARS; kind++) {
        char *bytes[2];
        size_t size[2];
        for (int i = 0; i < 2; i++) {
            wg_vocabulary *v;
            omp_set_num_threads(1 + 2 * i);
            assert_int_equal(
                wg_vocabulary_train_text(&v, &(wg_vocabulary_options){.kind = kind, .size = 300},
                                         lines, (size_t)(to - lines), &error),
                WG_OK);
            assert_int_equal(wg_vocabulary_save(v, paths[i], &error), WG_OK);
            bytes[i] = read_bytes(paths[i], &size[i]);
            assert_in_range(wg_vocabulary_size(v), kind == WG_VOCABULARY_CHARS ? 20 : 300, 300);
            wg_vocabulary_free(v);
        }
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(bytes[0], bytes[1], size[0]);
        free(bytes[0]);
        free(bytes[1]);
    }
    free(lines);
}

static void impossible_vocabularies_are_refused(void **state)
{
    (void)state;
    wg_vocabulary *v;
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_CHARS; kind++) {
        assert_int_equal(wg_vocabulary_train_text(&v,
                                                  &(wg_vocabulary_options){.kind = kind, .size = 4},
                                                  text, strlen(text), &error),
                         WG_EINVAL);
        assert_null(v);
        check_that(strstr(error.text, "got kind") != NULL, "%s", error.text);
        for (int empty = 0; empty < 2; empty++) {
            const char *nothing = empty ? "" : "\n\n\n";
            assert_int_equal(
                wg_vocabulary_train_text(&v, &(wg_vocabulary_options){.kind = kind, .size = 90},
                                         nothing, strlen(nothing), &error),
                WG_EDATA);
            assert_string_equal(error.text, "vocabulary: expected text, got none");
        }
    }
    assert_int_equal(wg_vocabulary_train_text(
                         &v, &(wg_vocabulary_options){.kind = (wg_vocabulary_kind)4, .size = 90},
                         text, 5, &error),
                     WG_EINVAL);
    assert_int_equal(
        wg_vocabulary_train_text(
            &v, &(wg_vocabulary_options){.kind = WG_VOCABULARY_WORDS, .size = 90}, NULL, 5, NULL),
        WG_EINVAL);
    assert_int_equal(
        wg_vocabulary_train_text(
            NULL, &(wg_vocabulary_options){.kind = WG_VOCABULARY_WORDS, .size = 90}, text, 5, NULL),
        WG_EINVAL);
    assert_int_equal(
        wg_vocabulary_train(&v, &(wg_vocabulary_options){.kind = WG_VOCABULARY_WORDS, .size = 90},
                            NULL, 1, NULL),
        WG_EINVAL);
    const wg_vocabulary_options words = {.kind = WG_VOCABULARY_WORDS, .size = 90},
                                huge = {.kind = WG_VOCABULARY_WORDS, .size = INT64_MAX};
    const char *const none[] = {write_text("one", ""), write_text("two", "\n \n")},
                      *const missing[] = {none[0], NULL};
    assert_int_equal(wg_vocabulary_train_text(&v, NULL, text, 5, NULL), WG_EINVAL);
    assert_int_equal(wg_vocabulary_train_text(&v, &huge, text, 5, NULL), WG_EINVAL);
    assert_int_equal(wg_vocabulary_train_text(&v, &words, NULL, 0, NULL), WG_EDATA);
    assert_int_equal(wg_vocabulary_train(NULL, &words, none, 2, NULL), WG_EINVAL);
    assert_int_equal(wg_vocabulary_train(&v, NULL, none, 2, NULL), WG_EINVAL);
    assert_int_equal(wg_vocabulary_train(&v, &words, missing, 2, NULL), WG_EINVAL);
    assert_int_equal(wg_vocabulary_train(&v, &words, none, 2, &error), WG_EDATA);
    check_that(strstr(error.text, "one and ") &&
                   strstr(error.text, "two: vocabulary: expected text, got none"),
               "%s", error.text);
    assert_int_equal(wg_vocabulary_open(NULL, none[0], NULL), WG_EINVAL);
    assert_int_equal(wg_vocabulary_open(&v, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_vocabulary_save(NULL, "x", NULL), WG_EINVAL);
    v = make(WG_VOCABULARY_WORDS, 90);
    assert_int_equal(wg_vocabulary_save(v, NULL, NULL), WG_EINVAL);
    wg_vocabulary_free(v);
    wg_vocabulary_free(NULL);
#ifdef WG_HAVE_SENTENCEPIECE
    /* fewer pieces than characters */
    assert_int_equal(wg_vocabulary_train_text(
                         &v, &(wg_vocabulary_options){.kind = WG_VOCABULARY_BPE, .size = 10}, text,
                         strlen(text), &error),
                     WG_EDATA);
    check_that(strstr(error.text, "SentencePiece: ") != NULL, "%s", error.text);
    /* more pieces than the text has */
    v = make(WG_VOCABULARY_UNIGRAM, 9000);
    assert_in_range(wg_vocabulary_size(v), 30, 300);
    wg_vocabulary_free(v);
#else
    assert_int_equal(wg_vocabulary_train_text(
                         &v, &(wg_vocabulary_options){.kind = WG_VOCABULARY_BPE, .size = 50}, text,
                         strlen(text), &error),
                     WG_EUNSUPPORTED);
    assert_string_equal(error.text, "built without SentencePiece");
#endif
}

static void ids_outside_the_vocabulary_are_refused(void **state)
{
    (void)state;
    char *back;
    int32_t *ids;
    size_t n;
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_CHARS; kind++) {
        wg_vocabulary *v = make(kind, 90);
        const int32_t wrong[] = {-1, (int32_t)wg_vocabulary_size(v), INT32_MIN, INT32_MAX};
        for (int i = 0; i < 4; i++) {
            assert_int_equal(wg_vocabulary_decode(v, &wrong[i], 1, &back), WG_EINVAL);
            assert_null(back);
        }
        assert_int_equal(wg_vocabulary_decode(v, NULL, 0, &back), WG_OK);
        assert_string_equal(back, "");
        free(back);
        assert_int_equal(wg_vocabulary_encode(v, NULL, 0, &ids, &n), WG_OK);
        assert_int_equal(n, 0);
        free(ids);
        assert_int_equal(wg_vocabulary_decode(v, NULL, 1, &back), WG_EINVAL);
        assert_int_equal(wg_vocabulary_encode(v, NULL, 1, &ids, &n), WG_EINVAL);
        assert_int_equal(wg_vocabulary_encode(NULL, "a", 1, &ids, &n), WG_EINVAL);
        assert_int_equal(wg_vocabulary_encode(v, "a", 1, NULL, &n), WG_EINVAL);
        assert_int_equal(wg_vocabulary_encode(v, "a", 1, &ids, NULL), WG_EINVAL);
        assert_int_equal(wg_vocabulary_decode(NULL, wrong, 0, &back), WG_EINVAL);
        assert_int_equal(wg_vocabulary_decode(v, wrong, 0, NULL), WG_EINVAL);
        wg_vocabulary_free(v);
    }
}

/* ---- tokenised text -------------------------------------------------------------------------- */

#ifdef WG_HAVE_SENTENCEPIECE
static const char tokenised[] = "the house has a x86 box .\n"
                                "a house is a house , and x86 is x86 .\n"
                                "das haus ist ein haus , das haus no 7b .\n"
                                "the box no 7b is a house of βx , no 7b is βx .\n";
static const char mark[] = "\xe2\x96\x81"; /* U+2581, for a blank */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How many pieces have the mark at their start, at their end, and letters beside digits or Greek
 * beside Latin. */
typedef struct counts {
    int starts, ends, mixed;
} counts;

static counts count_pieces(const wg_vocabulary *v)
{
    counts c = {0, 0, 0};
    for (int32_t id = wg_vocabulary_unk(v) + 1; id < wg_vocabulary_size(v); id++) {
        const char *piece = wg_vocabulary_piece(v, id), *at = strstr(piece, mark);
        size_t n = strlen(piece), digits = 0, latin = 0, greek = 0;
        if (strcmp(piece, mark) != 0) {
            c.starts += at == piece;
            c.ends += at && at == piece + n - strlen(mark);
        }
        for (const char *p = piece; *p; p++) {
            digits += is_digit(*p);
            latin += *p >= 'a' && *p <= 'z';
            greek += *p == '\xce';
        }
        c.mixed += (digits && latin) || (greek && latin);
    }
    return c;
}

static void tokenised_text(void **state)
{
    (void)state;
    for (int kind = WG_VOCABULARY_BPE; kind <= WG_VOCABULARY_UNIGRAM; kind++)
        for (int tokenized = 0; tokenized < 2; tokenized++) {
            wg_vocabulary *w,
                *v = make_of(&(wg_vocabulary_options){kind, 60, tokenized}, tokenised);
            counts c = count_pieces(v);
            check_that(tokenized ? c.starts == 0 && c.ends > 2 && c.mixed > 0
                                 : c.starts > 2 && c.ends == 0 && c.mixed == 0,
                       "kind %d, %d: %d starts, %d ends, %d mixed", kind, tokenized, c.starts,
                       c.ends, c.mixed);
            for (const char *at = tokenised; *at; at = strchr(at, '\n') + 1) {
                size_t size = strcspn(at, "\n"), n;
                char *back = there_and_back_bytes(v, at, size, &n);
                check_that(strlen(back) == size && memcmp(back, at, size) == 0,
                           "\"%.*s\" comes back as \"%s\"", (int)size, at, back);
                free(back);
            }
            check_there_and_back(v, "  the  axe7b  has ", "the axe7b has");
            check_there_and_back(v, "", "");
            const char *path = path_of("tokenised");
            assert_int_equal(wg_vocabulary_save(v, path, &error), WG_OK);
            check_that(wg_vocabulary_open(&w, path, &error) == WG_OK, "%s", error.text);
            check_same(v, w, tokenised);
            check_there_and_back(w, "a house .", "a house .");
            wg_vocabulary_free(v);
            wg_vocabulary_free(w);
        }
}

/* The end of a word is the same token as such a word, and not its start, as it is otherwise. */
static void words_share_their_ends(void **state)
{
    (void)state;
    for (int tokenized = 0; tokenized < 2; tokenized++) {
        wg_vocabulary *v =
            make_of(&(wg_vocabulary_options){WG_VOCABULARY_BPE, 60, tokenized}, tokenised);
        size_t n, n_end, n_start;
        int32_t *word = encode(v, "house", 5, &n), *end = encode(v, "dashouse", 8, &n_end),
                *start = encode(v, "housedas", 8, &n_start);
        assert_int_equal(n, 1);
        assert_true(n_end > 1 && n_start > 1);
        assert_int_equal(end[n_end - 1] == word[0], tokenized);
        assert_int_equal(start[0] == word[0], !tokenized);
        free(word);
        free(end);
        free(start);
        wg_vocabulary_free(v);
    }
}
#endif

/* ---- without memory -------------------------------------------------------------------------- */

static wg_status live(void *kind)
{
    wg_vocabulary *v = NULL, *w = NULL;
    int32_t *ids = NULL;
    char *back = NULL;
    size_t n = 0;
    const char *path = path_of("memory"), *file = path_of("text");
    wg_status status = wg_vocabulary_train(
        &v, &(wg_vocabulary_options){.kind = *(int *)kind, .size = 50}, &file, 1, &error);
    if (status == WG_OK)
        status = wg_vocabulary_save(v, path, &error);
    if (status == WG_OK)
        status = wg_vocabulary_open(&w, path, &error);
    assert_true((status == WG_OK) == !*error.text);
    if (status == WG_OK)
        status = wg_vocabulary_encode(w, "the \xff house", 11, &ids, &n);
    if (status == WG_OK)
        status = wg_vocabulary_decode(w, ids, n, &back);
    free(back);
    free(ids);
    wg_vocabulary_free(v);
    wg_vocabulary_free(w);
    return status;
}

static void failed_allocations_are_a_status(void **state)
{
    (void)state;
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_CHARS; kind++) {
        char bytes[1000];
        bool clean = kind % 2; /* else with a byte that is no UTF-8 */
        snprintf(bytes, sizeof bytes, "%s%s", text, clean ? "" : "\xff\n");
        write_text("text", bytes);
        assert_in_range(fail_each("vocabulary", live, &kind, WG_OK), 10, 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_back),
        cmocka_unit_test(blanks),
        cmocka_unit_test(unknown_tokens),
        cmocka_unit_test(invalid_utf8_is_refused),
        cmocka_unit_test(a_line_of_10_mb),
        cmocka_unit_test(special_tokens),
        cmocka_unit_test(words_in_order),
        cmocka_unit_test(files_are_as_their_texts),
        cmocka_unit_test(the_same_text_gives_the_same_vocabulary),
        cmocka_unit_test(impossible_vocabularies_are_refused),
        cmocka_unit_test(ids_outside_the_vocabulary_are_refused),
#ifdef WG_HAVE_SENTENCEPIECE
        cmocka_unit_test(tokenised_text),
        cmocka_unit_test(words_share_their_ends),
#endif
        cmocka_unit_test(failed_allocations_are_a_status),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
