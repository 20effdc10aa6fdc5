/* Lists of tokens of other programs as vocabularies, alone and as numbers of SentencePiece
 * pieces. */
#include "tests/allocations.h"
#include "tests/vocabularies.h"
#include "text/internal.h"
#include "text/numbered.h"

static wg_vocabulary *opened(const char *bytes)
{
    wg_vocabulary *v = NULL;
    const char *path = write_text("list", bytes);
    check_that(wg_vocabulary_open(&v, path, &error) == WG_OK, "%s", error.text);
    return v;
}

/* The tokens with blanks between them. */
static void check_tokens(const wg_vocabulary *v, const char *expected)
{
    char all[500] = "";
    for (int32_t i = 0; i < wg_vocabulary_size(v); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? " " : "",
                 wg_vocabulary_piece(v, i));
    assert_string_equal(all, expected);
}

static void check_special(const wg_vocabulary *v, int pad, int bos, int eos, int unk)
{
    assert_int_equal(wg_vocabulary_pad(v), pad);
    assert_int_equal(wg_vocabulary_bos(v), bos);
    assert_int_equal(wg_vocabulary_eos(v), eos);
    assert_int_equal(wg_vocabulary_unk(v), unk);
}

static void each_format(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *tokens;
        int special[4]; /* pad, bos, eos, unk */
    } cases[] = {
        {"<unk>\n<pad>\n<bos>\n<eos>\nhouse\nis\n",
         "<unk> <pad> <bos> <eos> house is",
         {1, 2, 3, 0}},
        {"</s>\r\n<unk>\r\nhouse", "</s> <unk> house", {-1, -1, 0, 1}},
        {"[PAD]\n[UNK]\n[CLS]\n[SEP]\nhouse\n", "[PAD] [UNK] [CLS] [SEP] house", {0, 2, 3, 1}},
        {"house 12\nis 7\n. 1 #fairseq:overwrite\n",
         "<s> <pad> </s> <unk> house is .",
         {1, 0, 2, 3}},
        {"{\"</s>\": 0, \"<unk>\":1,\n \"gr\\u00fcn\" : 2, \"<pad>\": 3}\n",
         "</s> <unk> grün <pad>",
         {3, -1, 0, 1}},
        {"\n{\"a\": 4, \"</s>\": 0, \"<unk>\": 2}",
         "</s> madeupword0001 <unk> madeupword0003 a",
         {-1, -1, 0, 2}},
        {"{\"madeupword0001\": 2, \"</s>\": 0, \"<unk>\": 3}",
         "</s> madeupword0002_ madeupword0001 <unk>",
         {-1, -1, 0, 3}},
        {"\"</s>\": 0\n<unk>: 1\n'it''s': 2\n\"\\u00fc\\\"\": 3\n",
         "</s> <unk> it's ü\"",
         {-1, -1, 0, 1}},
        {"---\n</s>: 0\n<unk>: 1\nnull: 2\n", "</s> <unk> null", {-1, -1, 0, 1}},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_vocabulary *v = opened(cases[i].bytes);
        const int *s = cases[i].special;
        check_tokens(v, cases[i].tokens);
        check_special(v, s[0], s[1], s[2], s[3]);
        assert_int_equal(wg_vocabulary_kind_of(v), WG_VOCABULARY_WORDS);
        wg_vocabulary_free(v);
    }
}

/* Saved as a vocabulary of ours and opened again, also without padding and begin of sentence. */
static void lists_are_saved(void **state)
{
    (void)state;
    wg_vocabulary *v = opened("{\"</s>\": 0, \"<unk>\": 1, \"house\": 2, \"a b\": 3}"), *w;
    check_there_and_back(v, "house the house", "house <unk> house");
    assert_int_equal(wg_vocabulary_save(v, path_of("saved"), &error), WG_OK);
    check_that(wg_vocabulary_open(&w, path_of("saved"), &error) == WG_OK, "%s", error.text);
    assert_true(wg_vocabulary_equal(v, w));
    assert_true(wg_vocabulary_hash(v) == wg_vocabulary_hash(w));
    check_special(w, -1, -1, 0, 1);
    check_tokens(w, "</s> <unk> house a b");
    assert_true(wgi_vocabulary_fill(w, 6));
    check_tokens(w, "</s> <unk> house a b madeupword0004 madeupword0005");
    wg_vocabulary_free(v);
    wg_vocabulary_free(w);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
    (void)state;
    static char long_token[1100];
    memset(long_token, 'x', sizeof long_token - 1);
    memcpy(long_token, "</s>\n", 5);
    const struct {
        const char *bytes, *expected;
    } cases[] = {
        {"</s>\n<unk>\na b\n", "line 3: expected one token, got more"},
        {"</s>\n<unk>\na\tb\n", "line 3: expected one token, got more"},
        {"</s>\n<unk>\n\n", "line 3: expected a token of 1 to 1000 bytes, got 0"},
        {long_token, "line 2: expected a token of 1 to 1000 bytes, got 1094"},
        {"</s>\n<unk>\nb\n</s>\n", "line 4: expected a new token, got that of line 1"},
        {"</s>\na\n", "expected a token for unknown words, such as <unk>"},
        {"house 12\nis\n", "line 2: expected \"TOKEN COUNT\""},
        {"house 12\nis x\n", "line 2: expected \"TOKEN COUNT\""},
        {"house 12\nhouse 3\n", "line 2: expected a new token, got that of line 1"},
        {"house 12\n<pad> 3\n", "line 2: expected a new token, got <pad>, which every dict.txt"},
        {"{}", "expected a token for the end of a sentence"},
        {"{\"</s>\": 0, \"<unk>\": 1", "line 1, byte 22: expected '}', got its end"},
        {"{\"</s>\": 0,\n\"<unk>\": -1}", "line 2, byte 21: expected a natural number"},
        {"{\"</s>\": 0,\n\n\"<unk>\" 1}", "line 3, byte 21: expected ':', got '1'"},
        {"{\"</s>\": 0,\n7}", "line 2, byte 12: expected a string"},
        {"{\"</s>\": 0,\n\"<unk>\": 0}", "line 2: expected a new id, got 0, that of line 1"},
        {"{\"</s>\": 0,\n\"<unk>\": 1,\n\"</s>\": 2}", "line 3: expected a new token"},
        {"{\"</s>\": 0,\n\"<unk>\": 1e9}", "line 2, byte 22: expected '}', got 'e'"},
        {"{\"</s>\": 0,\n\"<unk>\": 2000000000}", "line 2: expected an id of 2 tokens, got 20000"},
        {"{\"</s>\": 0}\nx", "byte 12: expected the end of the file"},
        {"</s>: 0\n<unk>: one\n", "line 2: expected an id, a whole number"},
        {"</s>: 0\n<unk>: [1]\n", "line 2: expected an id, a whole number"},
        {"</s>: 0\n[a]: 1\n", "line 2: expected \"TOKEN: ID\""},
        {"</s>: 0\n\"<unk>: 1\n", "line 3: "},
        {"</s>: 0\n<unk>: @\n", "line 2: found character that cannot start any token"},
        {"</s>: 0\n<unk>: 1\n\x01: 2\n", "control characters are not allowed"},
        {"</s>: 0\n<unk>: 123456789012345678\n", "line 2: expected an id, a whole number"},
        {"@: 0\n</s>: 1\n", "line 1: found character that cannot start any token"},
        {"- a: 0\n- </s>: 1\n", "line 1: expected lines of the form \"TOKEN: ID\""},
        {"</s>: 0\n\"a\\0b\": 1\n", "line 2: expected \"TOKEN: ID\""},
        {"a: house\n", "expected a vocabulary or a SentencePiece model"},
        {"a house\nof words\n", "expected a vocabulary or a SentencePiece model"},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_vocabulary *v;
        const char *path = write_text("wrong", cases[i].bytes);
        wg_status status = wg_vocabulary_open(&v, path, &error);
        check_that(status == WG_EDATA && strstr(error.text, cases[i].expected) &&
                       strncmp(error.text, path, strlen(path)) == 0,
                   "case %zu: %s: %s", i, wg_status_text(status), error.text);
        assert_null(v);
    }
}

static wg_status open_and_fill(void *path)
{
    wg_vocabulary *v = NULL;
    wg_status status = wg_vocabulary_open(&v, path, &error);
    assert_true((status == WG_OK) == (v != NULL));
    if (status == WG_OK && !wgi_vocabulary_fill(v, 40))
        status = WG_ENOMEM;
    wg_vocabulary_free(v);
    return status;
}

/* Lists of each format, with more tokens than a table has room for at first, and holes. */
static void lists_without_memory(void **state)
{
    (void)state;
    static const char *const lists[] = {
        "</s>\n<unk>\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\n",
        "a 1\nb 1\nc 1\nd 1\ne 1\nf 1\ng 1\nh 1\ni 1\nj 1\nk 1\nl 1\nm 1\nn 1\no 1\n",
        "{\"</s>\": 0, \"<unk>\": 1, \"a\": 35, \"b\": 19, \"c\": 20}",
        "</s>: 0\n<unk>: 1\na: 35\nb: 19\nc: 20\n",
    };
    char path[400];
    for (int i = 0; i < WG_COUNT(lists); i++) {
        snprintf(path, sizeof path, "%s", write_text("list", lists[i]));
        assert_in_range(fail_each("a list", open_and_fill, path, WG_OK), 8, 200);
    }
}

#ifdef WG_HAVE_SENTENCEPIECE
/* The pieces of a model in the opposite order, some left out, one added. */
static wg_vocabulary *reversed_list(const wg_vocabulary *pieces, int32_t without)
{
    char all[4000] = "</s>\n<unk>\n>>de<<\n";
    for (int32_t i = (int32_t)wg_vocabulary_size(pieces); i-- > 4;)
        if (i != without)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n",
                     wg_vocabulary_piece(pieces, i));
    return opened(all);
}

static void pieces_are_numbered_by_a_list(void **state)
{
    (void)state;
    wg_vocabulary *pieces = make(WG_VOCABULARY_BPE, 60), *v, *again;
    wg_vocabulary *list = reversed_list(pieces, -1);
    assert_int_equal(wgi_vocabulary_number(&v, pieces, list, &error), WG_OK);
    assert_int_equal(wg_vocabulary_size(v), 59); /* without padding and begin, with >>de<< */
    assert_int_equal(wg_vocabulary_kind_of(v), WG_VOCABULARY_BPE);
    check_special(v, -1, -1, 0, 1);
    static const char line[] = "the house is green .";
    size_t n, m, size, own;
    int32_t *a = encode(pieces, line, strlen(line), &n), *b = encode(v, line, strlen(line), &m);
    assert_true(n == m && n > 3);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(wg_vocabulary_piece(pieces, a[i]), wg_vocabulary_piece(v, b[i]));
    check_there_and_back(v, line, line);
    check_there_and_back(v, "", "");
    assert_int_equal(wg_vocabulary_save(v, path_of("numbered"), &error), WG_OK);
    check_that(wg_vocabulary_open(&again, path_of("numbered"), &error) == WG_OK, "%s", error.text);
    assert_true(wg_vocabulary_equal(v, again) && !wg_vocabulary_equal(v, pieces));
    check_same(v, again, "the house is green .\n");
    assert_int_equal(wg_vocabulary_save(pieces, path_of("own"), &error), WG_OK);
    char *bytes = read_bytes(path_of("own"), &own);
    const char *kept = wgi_vocabulary_pieces(again, &size);
    assert_true(size == own && memcmp(kept, bytes, own) == 0); /* the model is as it was */
    free(bytes);
    free(a);
    free(b);
    wg_vocabulary_free(pieces);
    wg_vocabulary_free(list);
    wg_vocabulary_free(v);
    wg_vocabulary_free(again);
}

/* A piece that the list lacks is unknown; a language before the text is a token. */
static void what_list_and_pieces_do_not_share(void **state)
{
    (void)state;
    wg_vocabulary *pieces = make(WG_VOCABULARY_BPE, 60), *v;
    size_t n, m;
    int32_t *ids = encode(pieces, "the", 3, &n);
    wg_vocabulary *list = reversed_list(pieces, ids[0]);
    assert_int_equal(wgi_vocabulary_number(&v, pieces, list, &error), WG_OK);
    int32_t *found = encode(v, "the", 3, &m);
    assert_true(n == m && found[0] == wg_vocabulary_unk(v));
    free(ids);
    free(found);
    ids = encode(v, ">>de<< house", 12, &n);
    found = encode(v, " house", 6, &m);
    assert_true(n == m + 1 && ids[0] == 2 && memcmp(ids + 1, found, m * sizeof *ids) == 0);
    free(ids);
    free(found);
    static const char *const others[] = {">>fr<< house", ">>de<  house", ">>de    house"};
    for (int i = 0; i < WG_COUNT(others); i++) {
        ids = encode(v, others[i], strlen(others[i]), &n);
        assert_true(n > 0 && ids[0] != 2);
        free(ids);
    }
    wg_vocabulary_free(pieces);
    wg_vocabulary_free(list);
    wg_vocabulary_free(v);
}

/* Pieces and the list that numbers them. */
typedef struct both {
    const wg_vocabulary *pieces, *list;
} both;

static wg_status number_and_use(void *context)
{
    static const char line[] = ">>de<< the house";
    const both *b = context;
    wg_vocabulary *v = NULL;
    int32_t *ids = NULL;
    char *back = NULL;
    size_t n;
    wg_status status = wgi_vocabulary_number(&v, b->pieces, b->list, &error);
    if (status == WG_OK)
        status = wg_vocabulary_encode(v, line, strlen(line), &ids, &n);
    if (status == WG_OK)
        status = wg_vocabulary_decode(v, ids, n, &back);
    free(back);
    free(ids);
    wg_vocabulary_free(v);
    return status;
}

static void numbered_pieces_without_memory(void **state)
{
    (void)state;
    wg_vocabulary *pieces = make(WG_VOCABULARY_BPE, 60), *list = reversed_list(pieces, -1);
    both b = {pieces, list};
    assert_in_range(fail_each("numbered pieces", number_and_use, &b, WG_OK), 10, 1000);
    wg_vocabulary_free(pieces);
    wg_vocabulary_free(list);
}

/* The list is the last field of the message, and is a vocabulary of ours. */
static void numbering_that_is_damaged(void **state)
{
    (void)state;
    static const char no_list[] = "\xda\xd1\x03\x03"
                                  "abc";
    size_t size;
    char bytes[20000];
    wgi_slice found[2];
    assert_false(wgi_spm_numbering("\xff", 1, &found[0], &found[1]));
    wg_vocabulary *pieces = make(WG_VOCABULARY_BPE, 60), *v;
    const char *model = wgi_vocabulary_pieces(pieces, &size);
    assert_true(size + sizeof no_list < sizeof bytes);
    memcpy(bytes, model, size);
    memcpy(bytes + size, no_list, sizeof no_list);
    const char *path = write_bytes("numbered", bytes, size + sizeof no_list - 1);
    assert_int_equal(wg_vocabulary_open(&v, path, &error), WG_EDATA);
    check_that(strstr(error.text, "the list of its pieces is damaged") != NULL, "%s", error.text);
    path = write_bytes("numbered", bytes, size + 6);
    assert_int_equal(wg_vocabulary_open(&v, path, &error), WG_EDATA);
    memmove(bytes + sizeof no_list - 1, bytes, size);
    memcpy(bytes, no_list, sizeof no_list - 1);
    path = write_bytes("numbered", bytes, size + sizeof no_list - 1);
    check_that(wg_vocabulary_open(&v, path, &error) == WG_OK, "%s", error.text);
    check_same(v, pieces, "the house is green .\n");
    wg_vocabulary_free(v);
    wg_vocabulary_free(pieces);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_format),
        cmocka_unit_test(lists_are_saved),
        cmocka_unit_test(what_is_wrong_is_told_with_its_line),
        cmocka_unit_test(lists_without_memory),
#ifdef WG_HAVE_SENTENCEPIECE
        cmocka_unit_test(pieces_are_numbered_by_a_list),
        cmocka_unit_test(what_list_and_pieces_do_not_share),
        cmocka_unit_test(numbered_pieces_without_memory),
        cmocka_unit_test(numbering_that_is_damaged),
#endif
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
