/* Models of other programs without what an import needs: their config.json, their embeddings,
 * their files, and the arguments of the import. */
#define FOLDERS "incomplete"
#include "tests/translate/misfits.h"

/* ---- config.json ----------------------------------------------------------------------------- */

static void configurations_that_are_malformed(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"nhead\": }", "byte 10: expected a value, got '}'"},
        {"{\"nhead\": ", "byte 10: expected a value, got its end"},
        {"{\"nhead\": \"2}", "config.json: byte "},
        {"{\"nhead\" 2}", "byte 9: expected ':', got '2'"},
        {"{2: 2}", "byte 1: expected a string, got '2'"},
        {"{\"a\": [", "byte 7: expected a value, got its end"},
        {"{\"a\": [1", "byte 8: expected ']', got its end"},
        {"{\"a\": [1 2]}", "byte 9: expected ']', got '2'"},
        {"{\"a\": {2: 2}}", "byte 7: expected a string, got '2'"},
        {"{\"a\": {\"b\" 2}}", "byte 11: expected ':', got '2'"},
        {"{\"wengert\": {2: 2}}", "byte 13: expected a string, got '2'"},
        {"{} {", "byte 3: expected the end of the file, got '{'"},
        {"{\"a\": \"\xff\"}", "config.json: expected UTF-8, got other bytes"},
    };
    write_changed(NULL, NULL);
    for (int i = 0; i < WG_COUNT(cases); i++) {
        write_text("config.json", cases[i][0], strlen(cases[i][0]));
        refused(WG_EDATA, cases[i][1]);
    }
    write_text("config.json", "{\"nhead\": \0}", 13);
    refused(WG_EDATA, "byte 10: expected a value");
}

/* What is too long for a key or a value of ours, empty, or in an object of its own says nothing. */
static void configurations_that_say_nothing(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{\"nhead\": 2, \"a\": [], \"b\": {}, \"c\": [\"\"]}",
        "{\"nhead\": 2, \"wengert\": {\"wengert\": {\"heads\": 4}}}",
        "{\"nhead\": 2, \"wengert\": {}, \"x\": {\"nhead\": 4}}",
    };
    wg_error error;
    char text[1000], other[300];
    memset(other, 'x', sizeof other - 1);
    other[sizeof other - 1] = '\0';
    write_changed(NULL, NULL);
    for (int i = 0; i <= WG_COUNT(cases); i++) {
        snprintf(text, sizeof text, "{\"nhead\": 2, \"%s\": 1, \"a\": \"%s\"}", other, other);
        const char *config = i < WG_COUNT(cases) ? cases[i] : text;
        write_text("config.json", config, strlen(config));
        check_that(import_from("torch", FILES, "", NULL, NULL, &error) == WG_OK, "%s: %s", config,
                   error.text);
    }
}

static void a_configuration_of_too_many_members(void **state)
{
    (void)state;
    enum { MEMBERS = 4097 };
    char *text = malloc(MEMBERS * 12 + 20), *at = text;
    assert_non_null(text);
    for (int i = 0; i < MEMBERS; i++)
        at += sprintf(at, "%c\"k%d\": 1", i ? ',' : '{', i);
    *at++ = '}';
    write_changed(NULL, NULL);
    write_text("config.json", text, (size_t)(at - text));
    free(text);
    refused(WG_EDATA, "config.json: expected at most 4096 members, got more");
}

/* Ids that are no whole numbers say nothing. */
static void ids_that_are_no_numbers(void **state)
{
    (void)state;
    static const char config[] = "{\"nhead\": 2, \"pad_token_id\": \"x\", \"eos_token_id\": 2.5}";
    wg_error error;
    write_changed(NULL, config);
    check_that(import_from("torch", FILES, "", NULL, NULL, &error) == WG_OK, "%s", error.text);
}

/* ---- folders --------------------------------------------------------------------------------- */

/* A shape takes no bytes if one of its sizes is 0, so that the other is no bound. */
static void empty_the_source_embedding(wg_tensor *list, size_t *n)
{
    wg_tensor *t = &list[place_of(list, *n, "src_tok_emb.embedding.weight")];
    t->shape = WG_SHAPE(INT64_C(1) << 40, 0);
}

static void flatten_the_source_embedding(wg_tensor *list, size_t *n)
{
    list[place_of(list, *n, "src_tok_emb.embedding.weight")].shape = WG_SHAPE(64);
}

static void an_embedding_that_is_no_matrix_of_numbers(void **state)
{
    (void)state;
    write_changed(flatten_the_source_embedding, NULL);
    refused(WG_EDATA, "src_tok_emb.embedding.weight: expected a matrix");
    write_changed(empty_the_source_embedding, NULL);
    refused(WG_EDATA, "src_tok_emb.embedding.weight: expected numbers, got none");
}

static void no_encoder(wg_tensor *list, size_t *n)
{
    (void)list;
    *n = 1;
}

static void no_tensors(wg_tensor *list, size_t *n)
{
    (void)list;
    *n = 0;
}

/* The first layer of the encoder behind a name that is no prefix, then behind a long one. */
static void odd_prefixes(wg_tensor *list, size_t *n)
{
    char name[1000];
    memset(name, 'x', sizeof name);
    snprintf(name + 700, sizeof name - 700, ".encoder.layers.0.x");
    rename_tensor(&list[0], name);
    rename_tensor(&list[1], "myencoder.layers.0.x");
    *n = 2;
}

static void weights_that_are_no_model(void **state)
{
    (void)state;
    static changer *const changes[] = {no_encoder, no_tensors, odd_prefixes};
    static const char *const messages[] = {"got 1 others, such as", "got 0 others", "got 2 others"};
    for (int i = 0; i < WG_COUNT(changes); i++) {
        write_changed(changes[i], NULL);
        refused(WG_EDATA, messages[i]);
    }
}

static void folders_with_something_else(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"model.safetensors.index.json", "weights in several files"},
        {"pytorch_model.bin", "a pickle of PyTorch"},
        {"model.npz", "numbers of Marian"},
    };
    wg_error error;
    for (int i = 0; i < WG_COUNT(cases); i++) {
        remove_folder(FILES);
        assert_int_equal(wg_folder_make(FILES, &error), WG_OK);
        write_text(cases[i][0], "", 0);
        refused(WG_EDATA, cases[i][1]);
    }
    remove_folder(FILES);
    assert_int_equal(wg_folder_make(FILES, &error), WG_OK);
    refused(WG_EIO, "it has no " WG_FILE_MODEL);
}

static void arguments_of_an_import(void **state)
{
    (void)state;
    wg_error error;
    write_changed(NULL, NULL);
    wg_settings s = settings_for(MADE, "");
    const wg_foreign_options bad[] = {{.layout = "torch", .settings = &s},
                                      {.layout = "torch", .path = FILES},
                                      {.path = FILES, .settings = &s}};
    remove_folder(MADE);
    assert_int_equal(wg_foreign_import(NULL, NULL, &error), WG_EINVAL);
    for (int i = 0; i < WG_COUNT(bad); i++) {
        assert_int_equal(wg_foreign_import(&bad[i], NULL, NULL), WG_EINVAL);
        assert_int_equal(wg_foreign_import(&bad[i], NULL, &error), WG_EINVAL);
    }
    const wg_foreign_options good = {.layout = "pytorch", .path = FILES, .settings = &s};
    assert_int_equal(wg_foreign_import(&good, NULL, NULL), WG_OK);
    set(&s, "model", "");
    assert_int_equal(wg_foreign_import(&good, NULL, &error), WG_EINVAL);
    assert_true(strstr(error.text, "model: expected a folder to make, got none") != NULL);
    wg_settings_free(&s);
}

/* By a list no text is split into pieces. */
static void pieces_that_are_a_list(void **state)
{
    (void)state;
    wg_error error;
    write_changed(NULL, NULL);
    remove_folder(MADE);
    wg_settings s = settings_for(MADE, "");
    const wg_foreign_options o = {
        .layout = "torch", .path = FILES, .settings = &s, .pieces = {FILES "/vocab.source.txt"}};
    assert_int_equal(wg_foreign_import(&o, NULL, &error), WG_EDATA);
    check_that(strstr(error.text, "expected a SentencePiece model, got a list") != NULL, "%s",
               error.text);
    wg_settings_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configurations_that_are_malformed),
        cmocka_unit_test(configurations_that_say_nothing),
        cmocka_unit_test(a_configuration_of_too_many_members),
        cmocka_unit_test(ids_that_are_no_numbers),
        cmocka_unit_test(an_embedding_that_is_no_matrix_of_numbers),
        cmocka_unit_test(weights_that_are_no_model),
        cmocka_unit_test(folders_with_something_else),
        cmocka_unit_test(arguments_of_an_import),
        cmocka_unit_test(pieces_that_are_a_list),
    };
    return cmocka_run_group_tests(tests, drop_folders, drop_folders);
}
