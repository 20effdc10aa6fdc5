/* Files of vocabularies: what was saved is opened, and what is none is told. */
#include "tests/vocabularies.h"

static void saved_and_opened(void **state)
{
    (void)state;
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_CHARS; kind++) {
        wg_vocabulary *v = make(kind, 90), *w;
        const char *path = path_of("vocab"), *again = path_of("again");
        assert_int_equal(wg_vocabulary_save(v, path, &error), WG_OK);
        wg_status status = wg_vocabulary_open(&w, path, &error);
        check_that(status == WG_OK, "%s", error.text);
        assert_string_equal(error.text, "");
        check_same(v, w, text);
        assert_true(wg_vocabulary_equal(v, w) && wg_vocabulary_hash(v) == wg_vocabulary_hash(w));
        assert_int_equal(wg_vocabulary_save(w, again, &error), WG_OK);
        size_t n[2];
        char *a = read_bytes(path, &n[0]), *b = read_bytes(again, &n[1]);
        assert_int_equal(n[0], n[1]);
        assert_memory_equal(a, b, n[0]);
        free(a);
        free(b);
        wg_vocabulary_free(v);
        wg_vocabulary_free(w);
    }
}

/* Equal or not, and their hashes with them. */
static bool equal(const wg_vocabulary *a, const wg_vocabulary *b)
{
    bool same = wg_vocabulary_equal(a, b);
    assert_int_equal(wg_vocabulary_hash(a) == wg_vocabulary_hash(b), same);
    return same;
}

static void different_vocabularies_are_not_equal(void **state)
{
    (void)state;
    for (int kind = FIRST_KIND; kind <= WG_VOCABULARY_CHARS; kind++) {
        wg_vocabulary *v = make(kind, 90), *twin = make(kind, 90), *smaller = make(kind, 89);
        wg_vocabulary *of_other_text = make_of(&(wg_vocabulary_options){.kind = kind, .size = 90},
                                               "the cat is green .\nthe cat is red .\n");
        wg_vocabulary *of_other_kind =
            make(kind == WG_VOCABULARY_WORDS ? WG_VOCABULARY_CHARS : WG_VOCABULARY_WORDS, 90);
        assert_true(equal(v, twin));
        if (wg_vocabulary_size(v) == 90)
            assert_false(equal(v, smaller));
        assert_false(equal(v, of_other_text));
        assert_false(equal(v, of_other_kind));
        wg_vocabulary_free(v);
        wg_vocabulary_free(twin);
        wg_vocabulary_free(smaller);
        wg_vocabulary_free(of_other_text);
        wg_vocabulary_free(of_other_kind);
    }
    static const char *const heading[] = {"# wengert vocabulary: words pad 0 bos 1 eos 2 unk 3\n",
                                          "# wengert vocabulary: words pad 3 bos 1 eos 2 unk 0\n"};
    static const char *const tokens[] = {"a\nb\nc\nd\ne\n", "a\nb\nc\nd\nf\n"};
    wg_vocabulary *v[2][2];
    for (int i = 0; i < 4; i++) {
        char bytes[200];
        snprintf(bytes, sizeof bytes, "%s%s", heading[i / 2], tokens[i % 2]);
        const char *path = write_text("vocab", bytes);
        assert_int_equal(wg_vocabulary_open(&v[i / 2][i % 2], path, &error), WG_OK);
    }
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            assert_int_equal(equal(v[i / 2][i % 2], v[k / 2][k % 2]), i == k);
    for (int i = 0; i < 4; i++)
        wg_vocabulary_free(v[i / 2][i % 2]);
}

#ifdef WG_HAVE_SENTENCEPIECE
/* A model of BPE with further fields at its end, which protocol buffers allow. */
static wg_vocabulary *with_fields(const char *fields)
{
    size_t size;
    wg_vocabulary *v = make(WG_VOCABULARY_BPE, 60), *w;
    char *bytes, *more;
    assert_int_equal(wg_vocabulary_save(v, path_of("bpe"), &error), WG_OK);
    wg_vocabulary_free(v);
    bytes = read_bytes(path_of("bpe"), &size);
    more = malloc(size + strlen(fields));
    assert_non_null(more);
    memcpy(more, bytes, size);
    memcpy(more + size, fields, strlen(fields));
    const char *path = write_bytes("longer", more, size + strlen(fields));
    check_that(wg_vocabulary_open(&w, path, &error) == WG_OK, "%s", error.text);
    free(bytes);
    free(more);
    return w;
}

/* Of equal size, kind and special tokens, they differ in the bytes of their models. */
static void sentencepiece_models_are_compared_by_their_bytes(void **state)
{
    (void)state;
    enum { N = 5 };
    wg_vocabulary *v[N] = {
        with_fields(""), with_fields("\xa0\x06\x01"), /* field 100, unknown: 1 */
        with_fields("\xa0\x06\x02"),                  /* ... 2 */
        with_fields("\x12\x02\x18\x03"),              /* a model of words */
    };
    char table[1000] = "# wengert vocabulary: words pad 0 bos 1 eos 2 unk 3\n";
    for (int i = 0; i < 60; i++)
        sprintf(table + strlen(table), "t%d\n", i);
    assert_int_equal(wg_vocabulary_open(&v[4], write_text("table", table), &error), WG_OK);
    assert_int_equal(wg_vocabulary_kind_of(v[3]), WG_VOCABULARY_WORDS);
    for (int i = 0; i < N; i++) {
        assert_int_equal(wg_vocabulary_size(v[i]), 60);
        for (int k = 0; k < N; k++)
            check_that(equal(v[i], v[k]) == (i == k), "%d and %d", i, k);
    }
    for (int i = 0; i < N; i++)
        wg_vocabulary_free(v[i]);
}

static void a_message_with_strange_pieces(void **state)
{
    (void)state;
    wg_vocabulary *v;
    const char *path = write_text("strange", "\x0a\x03xyz");
    assert_int_equal(wg_vocabulary_open(&v, path, &error), WG_EDATA);
    check_that(strncmp(error.text, path, strlen(path)) == 0 &&
                   strstr(error.text, "SentencePiece: "),
               "%s", error.text);
}
#endif

static void a_file_to_read(void **state)
{
    (void)state;
    const char *lines = "a b\n\\ \t\r b\n";
    wg_vocabulary *v;
    size_t n;
    assert_int_equal(wg_vocabulary_train_text(
                         &v, &(wg_vocabulary_options){.kind = WG_VOCABULARY_CHARS, .size = 90},
                         lines, strlen(lines), NULL),
                     WG_OK);
    assert_int_equal(wg_vocabulary_save(v, path_of("vocab.txt"), &error), WG_OK);
    char *bytes = read_bytes(path_of("vocab.txt"), &n);
    assert_string_equal(
        bytes, "# wengert vocabulary: chars pad 0 bos 1 eos 2 unk 3\n<pad>\n<s>\n</s>\n<unk>\n"
               "\\s\nb\n\\t\n\\r\n\\\\\na\n");
    free(bytes);
    wg_vocabulary_free(v);
}

static void special_tokens_may_have_any_ids(void **state)
{
    (void)state;
    wg_vocabulary *v;
    const char *path = write_text(
        "other",
        "# wengert vocabulary: words pad 3 bos 2 eos 0 unk 1\r\n.\r\n?\r\n!\r\n-\r\nhi\r\n");
    check_that(wg_vocabulary_open(&v, path, &error) == WG_OK, "%s", error.text);
    assert_int_equal(wg_vocabulary_size(v), 5);
    assert_int_equal(wg_vocabulary_pad(v), 3);
    assert_int_equal(wg_vocabulary_bos(v), 2);
    assert_int_equal(wg_vocabulary_eos(v), 0);
    assert_int_equal(wg_vocabulary_unk(v), 1);
    check_there_and_back(v, "hi . there", "hi ? ?");
    wg_vocabulary_free(v);
}

static void malformed_files(void **state)
{
    (void)state;
#define HEADING "# wengert vocabulary: words pad 0 bos 1 eos 2 unk 3\n"
    static const struct {
        const char *bytes, *expected;
    } cases[] = {
        {"", "expected a vocabulary or a SentencePiece model"},
        {"hello\n", "expected a vocabulary or a SentencePiece model"},
        {"# wengert vocabulary: verbs pad 0 bos 1 eos 2 unk 3\n", "line 1: expected"},
        {"# wengert vocabulary: words pad 0 bos 1 eos 2 unk 3 4\n", "line 1: expected"},
        {"# wengert vocabulary: words pad 0 bos 1 eos two unk 3\n", "line 1: expected"},
        {"# wengert vocabulary: words pad 0 bos 1 eos 2 unk 4294967299\na\nb\nc\nd\n",
         "line 1: expected"},
        {"# wengert vocabulary: words pad 0 bos 1 eos 2 unk +3\na\nb\nc\nd\n", "line 1: expected"},
        {"# wengert vocabulary: words pad - bos 1 eos 2 unk 3\na\nb\nc\nd\n", "line 1: expected"},
        {"# wengert vocabulary: words", "line 1: expected"},
        {"# wengert vocabulary: words pad 4294967296 bos 1 eos 2 unk 3\na\nb\nc\nd\n",
         "line 1: expected"},
        {"# wengert vocabulary: words pad -4294967296 bos 1 eos 2 unk 3\na\nb\nc\nd\n",
         "line 1: expected"},
        {"# wengert vocabulary: words pad 99999999999999999999 bos 1 eos 2 unk 3\na\nb\nc\nd\n",
         "line 1: expected"},
        {"# wengert vocabulary: words pad 0 bos 1 eos 2 unk 3                                      "
         "                                                                                       "
         "\n",
         "line 1: expected"},
        {HEADING, "expected pad in [0, 0), got 0"},
        {HEADING "a\nb\nc\n", "expected unk in [0, 3), got 3"},
        {HEADING "a\nb\nc\nb\n", "line 5: expected a new token, got that of line 3"},
        {HEADING "a\nb\n\nd\n", "line 4: expected a token"},
        {HEADING "a\nb\nc\\x\nd\n", "line 4: expected a token"},
        {HEADING "a\nb\nc\\\nd\n", "line 4: expected a token"},
        {HEADING "a\nb\nc\xff\nd\n", "line 4: expected a token"},
        {"# wengert vocabulary: words pad 0 bos 1 eos 1 unk 3\na\nb\nc\nd\n",
         "bos and eos, got 1 twice"},
        {"# wengert vocabulary: words pad -1 bos 1 eos 2 unk 3\na\nb\nc\nd\n",
         "expected pad in [0, 4), got -1"},
    };
    wg_vocabulary *v;
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        const char *path = write_text("malformed", cases[i].bytes);
        assert_int_equal(wg_vocabulary_open(&v, path, &error), WG_EDATA);
        assert_null(v);
        check_that(strstr(error.text, cases[i].expected) && strstr(error.text, path), "%zu: %s", i,
                   error.text);
    }
}

/* What training saves can be opened, as a word of base64, or one that takes more bytes with its
 * escapes. */
static void tokens_may_have_any_length(void **state)
{
    (void)state;
    static const char letters[] = {'a', '\\'};
    static const size_t sizes[] = {2048, 2049, 4096, 4097, 70000};
    char *line = malloc(sizes[WG_COUNT(sizes) - 1] + 8);
    assert_non_null(line);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < WG_COUNT(sizes); k++) {
            const size_t n = sizes[k];
            wg_vocabulary *v, *w;
            memset(line, letters[i], n);
            strcpy(line + n, " b c\n");
            v = make_of(&(wg_vocabulary_options){.kind = WG_VOCABULARY_WORDS, .size = 100}, line);
            const char *path = path_of("long");
            assert_int_equal(wg_vocabulary_save(v, path, &error), WG_OK);
            wg_status status = wg_vocabulary_open(&w, path, &error);
            check_that(status == WG_OK, "a word of %zu bytes: %s", n, error.text);
            assert_true(equal(v, w));
            assert_int_equal(wg_vocabulary_size(w), 7);
            wg_vocabulary_free(v);
            wg_vocabulary_free(w);
        }
    free(line);
}

/* Bytes that are no protocol-buffers message, or one without the pieces of a SentencePiece
 * model. */
static void messages_without_pieces(void **state)
{
    (void)state;
#define BYTES(bytes)                                                                               \
    {                                                                                              \
        bytes, sizeof bytes - 1                                                                    \
    }
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        BYTES("\x80"),                                         /* no end of the key */
        BYTES("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), /* a key of more than 64 bits */
        BYTES("\x20\x80"),                                     /* no end of a number */
        BYTES("\x20\x01"),                                     /* field 4, a number */
        BYTES("\x21"
              "12345678"), /* 8 bytes */
        BYTES("\x21"
              "1234567"), /* 7 of them */
        BYTES("\x25"
              "1234"), /* 4 bytes */
        BYTES("\x25"
              "123"),
        BYTES("\x22\x03"
              "abc"), /* a text of 3 bytes */
        BYTES("\x22\x04"
              "abc"),
        BYTES("\x22\x80"),         /* no end of its length */
        BYTES("\x23"),             /* a group, which nothing uses */
        BYTES("\x12\x01\x80"),     /* the settings of its training, which break off */
        BYTES("\x12\x02\x18\x09"), /* an unknown type of model */
        BYTES("\x12\x02\x18\x02"), /* BPE, without pieces */
    };
    wg_vocabulary *v;
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        const char *path = write_bytes("message", cases[i].bytes, cases[i].size);
        assert_int_equal(wg_vocabulary_open(&v, path, &error), WG_EDATA);
        check_that(strstr(error.text, "expected a vocabulary or a SentencePiece model") != NULL,
                   "%zu: %s", i, error.text);
    }
}

/* Whatever one byte is changed to: refused with a message, or a vocabulary that works and has
 * another hash unless it is the same.
 * (SentencePiece's own reader is left to tests/fuzz.) */
static void every_byte_changed(void **state)
{
    (void)state;
    size_t refused = 0, opened = 0, others = 0;
    for (int kind = WG_VOCABULARY_WORDS; kind <= WG_VOCABULARY_CHARS; kind++) {
        wg_vocabulary *v, *original = make(kind, 50);
        const char *path = path_of("changed");
        assert_int_equal(wg_vocabulary_save(original, path, &error), WG_OK);
        size_t size, n;
        char *bytes = read_bytes(path, &size);
        for (size_t i = 0; i < 2 * size; i++) {
            char old = bytes[i / 2];
            bytes[i / 2] = (char)(i % 2 ? old ^ 1 << (i / 2) % 8 : (char)(old + 128));
            write_bytes("changed", bytes, size);
            bytes[i / 2] = old;
            wg_status status = wg_vocabulary_open(&v, path, &error);
            assert_true((status == WG_OK) == !*error.text);
            opened += status == WG_OK;
            refused += status != WG_OK;
            if (status != WG_OK)
                continue;
            free(encode(v, text, strlen(text), &n));
            others += !equal(v, original);
            wg_vocabulary_free(v);
        }
        wg_vocabulary_free(original);
        free(bytes);
    }
    assert_true(refused > 100 && opened > 100 && others > 100);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    wg_vocabulary *v;
    const char *missing = path_of("missing");
    assert_int_equal(wg_vocabulary_open(&v, missing, &error), WG_EIO);
    check_that(strstr(error.text, missing) && strstr(error.text, "No such file"), "%s", error.text);
    assert_int_equal(wg_vocabulary_open(&v, folder, &error), WG_EIO);
    check_that(strstr(error.text, "got a directory"), "%s", error.text);
    assert_int_equal(
        wg_vocabulary_train(&v, &(wg_vocabulary_options){.kind = WG_VOCABULARY_WORDS, .size = 90},
                            &missing, 1, &error),
        WG_EIO);
    v = make(WG_VOCABULARY_WORDS, 90);
    assert_int_equal(wg_vocabulary_save(v, "/dev/null/vocab.txt", &error), WG_EIO);
    check_that(strstr(error.text, "/dev/null/vocab.txt"), "%s", error.text);
    wg_vocabulary_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_and_opened),
        cmocka_unit_test(different_vocabularies_are_not_equal),
#ifdef WG_HAVE_SENTENCEPIECE
        cmocka_unit_test(sentencepiece_models_are_compared_by_their_bytes),
        cmocka_unit_test(a_message_with_strange_pieces),
#endif
        cmocka_unit_test(a_file_to_read),
        cmocka_unit_test(special_tokens_may_have_any_ids),
        cmocka_unit_test(malformed_files),
        cmocka_unit_test(tokens_may_have_any_length),
        cmocka_unit_test(messages_without_pieces),
        cmocka_unit_test(every_byte_changed),
        cmocka_unit_test(files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
