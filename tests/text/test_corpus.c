/* Corpora: what is read, kept, left out and refused. */
#include "tests/allocations.h"
#include "tests/text/words.h"
#include "wengert/graph/op.h"
#include "wengert/text/corpus.h"

#include <sys/stat.h>
#include <zlib.h>

/* A vocabulary that fails at one of its lines, unless that is 0. */
static int failing_line;
wg_status __real_wg_vocabulary_encode(const wg_vocabulary *v, const char *text, size_t size,
                                      int32_t **ids, size_t *n);
wg_status __wrap_wg_vocabulary_encode(const wg_vocabulary *v, const char *text, size_t size,
                                      int32_t **ids, size_t *n);
wg_status __wrap_wg_vocabulary_encode(const wg_vocabulary *v, const char *text, size_t size,
                                      int32_t **ids, size_t *n)
{
    if (failing_line && --failing_line == 0)
        return WG_EDATA;
    return __real_wg_vocabulary_encode(v, text, size, ids, n);
}

static const char english[] = "a b c\nb\na a a a\n\nc d\n";
static const char german[] = "A B C D\nB B\nA\nC\nE F\n";

static const char *write_gzip(const char *name, const char *text)
{
    const char *path = path_of(name);
    gzFile gz = gzopen(path, "wb");
    assert_non_null(gz);
    assert_int_equal(gzwrite(gz, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(gz), Z_OK);
    return path;
}

static wg_corpus *read_pair(const char *source, const char *target, const wg_corpus_options *o)
{
    wg_corpus *c;
    wg_status status = wg_corpus_read(&c, source, target, words, words, o, &error);
    check_that(status == WG_OK, "%s: %s", wg_status_text(status), error.text);
    return c;
}

static wg_corpus *of_text(const char *source, const char *target, const wg_corpus_options *o)
{
    wg_corpus *c;
    wg_status status = wg_corpus_of_text(&c, source, strlen(source), target, strlen(target), words,
                                         words, o, &error);
    check_that(status == WG_OK, "%s: %s", wg_status_text(status), error.text);
    return c;
}

/* Refused with that status; the message has both texts. */
static void check_refused(const char *source, const char *target, wg_status expected,
                          const char *first, const char *second)
{
    wg_corpus *c = (wg_corpus *)&c;
    error.text[0] = '\0';
    wg_status status = wg_corpus_read(&c, source, target, words, words, NULL, &error);
    check_that(status == expected, "%s: %s", wg_status_text(status), error.text);
    assert_null(c);
    check_that(strstr(error.text, first) && strstr(error.text, second),
               "\"%s\" lacks \"%s\" or \"%s\"", error.text, first, second);
}

/* The sentence in words, as it decodes. */
static void check_sentence(const wg_corpus *c, size_t i, int side, const char *expected)
{
    wg_sentence s = wg_corpus_sentence(c, i, side);
    char *text;
    assert_int_equal(wg_vocabulary_decode(words, s.ids, s.n, &text), WG_OK);
    check_that(strcmp(text, expected) == 0, "pair %zu, side %d: \"%s\", expected \"%s\"", i, side,
               text, expected);
    free(text);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Pairs without empty sides, of the texts above. */
static void check_usual(const wg_corpus *c)
{
    static const char *const expected[][2] = {
        {"a b c", "A B C D"}, {"b", "B B"}, {"a a a a", "A"}, {"c d", "E F"}};
    assert_int_equal(wg_corpus_count(c), 4);
    assert_int_equal(wg_corpus_empty(c), 1);
    assert_int_equal(wg_corpus_too_long(c), 0);
    for (size_t i = 0; i < 4; i++)
        for (int side = 0; side < 2; side++)
            check_sentence(c, i, side, expected[i][side]);
}

static void plain_gzip_and_memory_are_the_same(void **state)
{
    (void)state;
    wg_corpus *plain = read_pair(write_text("a", english), write_text("b", german), NULL);
    wg_corpus *gzip = read_pair(write_gzip("a.gz", english), write_gzip("b", german), NULL);
    wg_corpus *memory = of_text(english, german, NULL);
    check_usual(plain);
    check_usual(gzip);
    check_usual(memory);
    assert_true(wg_corpus_hash(plain) == wg_corpus_hash(gzip));
    assert_true(wg_corpus_hash(plain) == wg_corpus_hash(memory));
    assert_null(wg_corpus_text(plain, 0, 0));
    wg_corpus_free(plain);
    wg_corpus_free(gzip);
    wg_corpus_free(memory);
    wg_corpus_free(NULL);
}

static void lines_that_are_repaired(void **state)
{
    (void)state;
    wg_corpus *c = of_text(english, german, NULL);
    assert_int_equal(wg_corpus_repaired(c), 0);
    assert_int_equal(wg_corpus_first_repaired(c, 0), 0);
    assert_int_equal(wg_corpus_first_repaired(c, 1), 0);
    wg_corpus_free(c);
    c = of_text("a \xff\nb \xc3\na \xc3\xa4\n\xe2\x82\n", "A\nB \xf0\x9f\nC\n\n", NULL);
    assert_int_equal(wg_corpus_count(c), 3);
    assert_int_equal(wg_corpus_repaired(c), 4); /* one of them in a pair that is left out */
    assert_int_equal(wg_corpus_first_repaired(c, 0), 1);
    assert_int_equal(wg_corpus_first_repaired(c, 1), 2);
    wg_corpus_free(c);
}

static void empty_and_long_pairs(void **state)
{
    (void)state;
    wg_corpus *c = of_text(english, german, &(wg_corpus_options){.max_length = 3});
    assert_int_equal(wg_corpus_count(c),
                     2); /* "a b c" has four words in German, "a a a a" itself */
    assert_int_equal(wg_corpus_empty(c), 1);
    assert_int_equal(wg_corpus_too_long(c), 2);
    check_sentence(c, 0, 0, "b");
    check_sentence(c, 1, 1, "E F");
    wg_corpus_free(c);
    c = of_text(english, german, &(wg_corpus_options){.keep_empty = true, .keep_text = true});
    assert_int_equal(wg_corpus_count(c), 5);
    assert_int_equal(wg_corpus_empty(c), 0);
    assert_int_equal(wg_corpus_sentence(c, 3, 0).n, 0);
    check_sentence(c, 3, 1, "C");
    assert_string_equal(wg_corpus_text(c, 3, 0), "");
    assert_string_equal(wg_corpus_text(c, 4, 0), "c d");
    assert_string_equal(wg_corpus_text(c, 4, 1), "E F");
    wg_corpus_free(c);
}

static void the_hash_tells_corpora_apart(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"a b\nc\n", "A\nB\n"}, {"a\nb c\n", "A\nB\n"}, {"a b\nd\n", "A\nB\n"},
        {"a b\nc\n", "A\nC\n"}, {"A\nB\n", "a b\nc\n"}, {"c\na b\n", "B\nA\n"},
        {"a b\n", "A\n"},       {"a b\n", "c\n"},       {"a\n", "b c\n"},
    };
    enum { N = WG_COUNT(pairs) };
    uint64_t hash[N];
    for (size_t i = 0; i < N; i++) {
        wg_corpus *c = of_text(pairs[i][0], pairs[i][1], NULL);
        hash[i] = wg_corpus_hash(c);
        wg_corpus_free(c);
        for (size_t j = 0; j < i; j++)
            check_that(hash[i] != hash[j], "%zu and %zu", i, j);
    }
}

/* Two thousand lines, encoded by 1 to 5 threads. */
static void threads_do_not_matter(void **state)
{
    (void)state;
    enum { LINES = 2000 };
    static char source[LINES * 32], target[LINES * 32];
    char *s = source, *t = target;
    uint64_t hash = 0;
    for (int i = 0; i < LINES; i++) {
        for (int k = 0; k < i * i % 11; k++)
            s += sprintf(s, "%c ", 'a' + (i + k) % 7);
        for (int k = 0; k < i * 3 % 7; k++)
            t += sprintf(t, "%c ", 'A' + (i * k) % 7);
        s += sprintf(s, "\n");
        t += sprintf(t, "\n");
    }
    for (int threads = 1; threads <= 5; threads++) {
        wg_corpus *c =
            of_text(source, target, &(wg_corpus_options){.threads = threads, .keep_empty = true});
        assert_int_equal(wg_corpus_count(c), LINES);
        assert_true(threads == 1 || wg_corpus_hash(c) == hash);
        hash = wg_corpus_hash(c);
        wg_corpus_free(c);
    }
}

/* ---- texts as they come ---------------------------------------------------------------------- */

static void marks_returns_and_missing_newlines(void **state)
{
    (void)state;
    static const struct {
        const char *source, *target;
    } cases[] = {
        {"a b\r\nc\r\n", "A\nB\n"},
        {"\xef\xbb\xbf"
         "a b\nc\n",
         "A\nB"},
        {"a b\nc", "A\nB\n"},
        {"\xef\xbb\xbf"
         "a b\r\nc",
         "A\r\nB"},
        {" a  b \n\tc\n", "A\nB\n"},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        const char *paths[] = {write_text("a", cases[i].source), write_text("b", cases[i].target)};
        wg_corpus *c = read_pair(paths[0], paths[1], NULL);
        assert_int_equal(wg_corpus_count(c), 2);
        check_sentence(c, 0, 0, "a b");
        check_sentence(c, 1, 0, "c");
        check_sentence(c, 0, 1, "A");
        check_sentence(c, 1, 1, "B");
        wg_corpus_free(c);
    }
}

static void invalid_utf8_is_refused(void **state)
{
    (void)state;
    static const char source[] = "a \xff b\na\0b\n\0\n", target[] = "A\nB\n\xc3\n";
    wg_corpus *c = read_pair(write_bytes("a", source, sizeof source - 1),
                             write_bytes("b", target, sizeof target - 1),
                             &(wg_corpus_options){.keep_text = true});
    assert_int_equal(wg_corpus_count(c), 3);
    assert_int_equal(wg_corpus_sentence(c, 0, 0).n, 3);
    assert_string_equal(wg_corpus_text(c, 0, 0), "a \xef\xbf\xbd b");
    assert_string_equal(wg_corpus_text(c, 1, 0), "a\xef\xbf\xbd"
                                                 "b");
    assert_string_equal(wg_corpus_text(c, 2, 0), "\xef\xbf\xbd");
    assert_string_equal(wg_corpus_text(c, 2, 1), "\xef\xbf\xbd");
    wg_corpus_free(c);
}

static void a_line_of_10_mb(void **state)
{
    (void)state;
    enum { SIZE = 10000000 };
    char *line = malloc(SIZE + 1);
    assert_non_null(line);
    for (size_t i = 0; i < SIZE; i++)
        line[i] = " a"[i % 2];
    line[SIZE] = '\0';
    wg_corpus *c = of_text(line, "A\n", &(wg_corpus_options){.keep_text = true});
    assert_int_equal(wg_corpus_sentence(c, 0, 0).n, SIZE / 2);
    assert_memory_equal(wg_corpus_text(c, 0, 0), line, SIZE + 1);
    wg_corpus_free(c);
    free(line);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void unequal_numbers_of_lines(void **state)
{
    (void)state;
    const char *three = write_text("three", "a\nb\nc\n"), *two = write_text("two", "a\nb");
    check_refused(three, two, WG_EDATA, "three and ",
                  "two: expected equally many lines, got 3 and 2");
    check_refused(write_text("none", ""), two, WG_EDATA, "none and ", "got 0 and 2");
}

static void corpora_without_pairs_are_refused(void **state)
{
    (void)state;
    wg_corpus *c;
    const char *none = write_text("none", ""), *blank = write_text("blank", "\n \n"),
               *two = write_text("two", "a b\nb a\n");
    check_refused(none, none, WG_EDATA, "expected at least one pair", "got none of 0");
    check_refused(two, blank, WG_EDATA, "expected at least one pair",
                  "got none of 2 (2 with an empty side)");
    assert_int_equal(
        wg_corpus_read(&c, two, two, words, words, &(wg_corpus_options){.max_length = 1}, &error),
        WG_EDATA);
    check_that(strstr(error.text, "got none of 2 (0 with an empty side, 2 longer than 1 tokens)"),
               "%s", error.text);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    const char *good = write_text("good", "a\n"), *missing = path_of("missing"),
               *fifo = path_of("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    check_refused(missing, good, WG_EIO, "missing: open: ", "No such file or directory");
    check_refused(good, missing, WG_EIO, "missing: open: ", "No such file or directory");
    check_refused(folder, good, WG_EIO, folder, "expected a regular file, got a directory");
    check_refused(good, fifo, WG_EIO, "fifo: expected a regular file, got a FIFO", "");
    check_refused("/dev/null", good, WG_EIO, "/dev/null: expected a regular file, got a device",
                  "");
    check_refused("-", good, WG_EIO, "-: open: ", "No such file");
    if (geteuid() != 0) { /* root may read everything */
        const char *secret = write_text("secret", "a\n");
        assert_int_equal(chmod(secret, 0), 0);
        check_refused(secret, good, WG_EIO, "secret: open: ", "Permission denied");
    }
}

/* A gzip file cut after any of its bytes, or with a byte changed, is refused or, changed in its
 * name or time, the same. */
static void damaged_gzip(void **state)
{
    (void)state;
    size_t size, refused = 0, text = 0;
    char *bytes = read_bytes(write_gzip("good.gz", "a b c d e f a b c d e f\n"), &size);
    const char *good = write_text("good", "A\n");
    for (size_t i = 0; i < 2 * size; i++) {
        bool cut = i < size;
        wg_corpus *c;
        bytes[i % size] ^= cut ? 0 : 4;
        const char *path = write_bytes("bad.gz", bytes, cut ? i : size);
        bytes[i % size] ^= cut ? 0 : 4;
        wg_status status = wg_corpus_read(&c, path, good, words, words, NULL, &error);
        if (status == WG_OK) {
            text++;
            assert_true(!cut && i - size >= 2 && i - size < 10); /* its time, or what made it */
        } else {
            refused++;
            check_that(status == WG_EDATA && strstr(error.text, "bad.gz") &&
                           !strstr(error.text, "<fd"),
                       "%zu: %s: %s", i, wg_status_text(status), error.text);
            bool is_gzip = cut ? i >= 2 : i - size >= 2;
            check_that(is_gzip ||
                           strstr(error.text, "bad.gz: named .gz, but it is not a gzip file"),
                       "%zu: %s", i, error.text);
            check_that(!cut || i < 2 || strstr(error.text, "bad.gz: gzip: unexpected end of file"),
                       "%zu: %s", i, error.text);
        }
        wg_corpus_free(c);
    }
    free(bytes);
    check_that(refused > size, "%zu refused, %zu read", refused, text);
}

/* Several members are one text, and zeros may follow; anything else may not. */
static void members_of_gzip(void **state)
{
    (void)state;
    size_t one, two;
    char *bytes = read_bytes(write_gzip("one.gz", english), &one), *all;
    char *more = read_bytes(write_gzip("two.gz", "and more\n"), &two);
    const char *good = write_text("good", "A\n");
    static const struct {
        int flip; /* a byte of the second member; -1: none, -2: the member is left out */
        size_t zeros;
        const char *end, *refused;
    } cases[] = {{-1, 0, "", NULL},
                 {-1, 1000, "", NULL},
                 {-1, 200000, "", NULL},
                 {-2, 3, "", NULL},
                 {0, 0, "", "gzip: data behind its end"},
                 {1, 0, "", "gzip: incorrect header check"},
                 {12, 0, "", "gzip: "},
                 {-1, 0, "x", "gzip: data behind its end"},
                 {-2, 0, "\x1f", "gzip: unexpected end of file"},
                 {-1, 5, "\x1f\x8b", "gzip: data behind its end"}};
    all = calloc(one + two + 200001, 1);
    assert_non_null(all);
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_corpus *c;
        size_t n = one, second = cases[i].flip == -2 ? 0 : two, end = strlen(cases[i].end);
        memset(all, 0, one + two + 200001);
        memcpy(all, bytes, one);
        memcpy(all + n, more, second);
        if (cases[i].flip >= 0)
            all[n + (size_t)cases[i].flip] ^= 1;
        n += second + cases[i].zeros;
        memcpy(all + n, cases[i].end, end);
        const char *path = write_bytes("members.gz", all, n + end);
        wg_status status = wg_corpus_read(&c, path, good, words, words, NULL, &error);
        bool lines = status == WG_EDATA && strstr(error.text, "lines"); /* read, and not parallel */
        if (!cases[i].refused)
            check_that(lines, "%d: %s", i, error.text);
        else
            check_that(!lines && status == WG_EDATA && strstr(error.text, cases[i].refused),
                       "%d: %s", i, error.text);
        wg_corpus_free(c);
    }
    free(all);
    free(more);
    free(bytes);
}

static void a_line_that_cannot_be_encoded(void **state)
{
    (void)state;
    wg_corpus *c;
    const wg_corpus_options one = {.threads = 1};
    failing_line = 5;
    assert_int_equal(wg_corpus_of_text(&c, english, strlen(english), german, strlen(german), words,
                                       words, &one, &error),
                     WG_EDATA);
    assert_null(c);
    assert_int_equal(failing_line, 0);
    check_that(strstr(error.text, "source text: a line could not be encoded: ") != NULL, "%s",
               error.text);
}

/* Linux: a regular file whose first byte cannot be read. */
static void a_file_that_fails_while_it_is_read(void **state)
{
    (void)state;
    if (access("/proc/self/mem", R_OK) == 0)
        check_refused("/proc/self/mem", write_text("good", "a\n"), WG_EIO,
                      "/proc/self/mem: read: ", "Input/output error");
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    wg_corpus *c;
    const char *good = write_text("good", "a\n");
    assert_int_equal(wg_corpus_read(NULL, good, good, words, words, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_corpus_read(&c, NULL, good, words, words, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_corpus_read(&c, good, good, NULL, words, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_corpus_read(&c, good, NULL, words, words, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_corpus_read(&c, good, good, words, NULL, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_corpus_of_text(NULL, "a", 1, "a", 1, words, words, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_corpus_of_text(&c, "a", 1, NULL, 1, words, words, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_corpus_of_text(&c, NULL, 0, "a", 1, words, words, NULL, NULL), WG_EDATA);
    assert_int_equal(wg_corpus_of_text(&c, "a", 1, NULL, 0, words, words, NULL, NULL), WG_EDATA);
    assert_int_equal(wg_corpus_of_text(&c, "a", 1, "a", 1, NULL, words, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_corpus_of_text(&c, NULL, 3, "a", 1, words, words, NULL, NULL), WG_EINVAL);
    const wg_corpus_options negative = {.threads = -1}, many = {.threads = WG_MAX_THREADS + 1};
    assert_int_equal(wg_corpus_of_text(&c, "a", 1, "a", 1, words, words, &negative, NULL),
                     WG_EINVAL);
    assert_int_equal(wg_corpus_of_text(&c, "a", 1, "a", 1, words, words, &many, NULL), WG_EINVAL);
    assert_int_equal(wg_corpus_of_text(&c, "a", 1, "a", 1, words, NULL, NULL, NULL), WG_EINVAL);
}

/* ---- without memory -------------------------------------------------------------------------- */

static wg_status read_both(void *context)
{
    wg_corpus *c;
    (void)context;
    wg_status status =
        wg_corpus_read(&c, path_of("a"), path_of("b"), words, words,
                       &(wg_corpus_options){.keep_text = true, .threads = 1}, &error);
    assert_true((status == WG_OK) == !*error.text);
    wg_corpus_free(c);
    return status;
}

static void failed_allocations_are_a_status(void **state)
{
    (void)state;
    write_text("a", english);
    write_text("b", german);
    assert_in_range(fail_each("corpus", read_both, NULL, WG_OK), 15, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_gzip_and_memory_are_the_same),
        cmocka_unit_test(lines_that_are_repaired),
        cmocka_unit_test(empty_and_long_pairs),
        cmocka_unit_test(the_hash_tells_corpora_apart),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(marks_returns_and_missing_newlines),
        cmocka_unit_test(invalid_utf8_is_refused),
        cmocka_unit_test(a_line_of_10_mb),
        cmocka_unit_test(unequal_numbers_of_lines),
        cmocka_unit_test(corpora_without_pairs_are_refused),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(damaged_gzip),
        cmocka_unit_test(members_of_gzip),
        cmocka_unit_test(a_line_that_cannot_be_encoded),
        cmocka_unit_test(a_file_that_fails_while_it_is_read),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(failed_allocations_are_a_status),
    };
    return cmocka_run_group_tests(tests, make_words, remove_words);
}
