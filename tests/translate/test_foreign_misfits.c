/* Models of other programs that do not fit their layout, or are damaged: all is told, and nothing
 * is written. */
#define FOLDERS "misfit"
#include "tests/translate/misfits.h"

#define IN_PROJ "transformer.encoder.layers.1.self_attn.in_proj_weight"
#define LINEAR1 "transformer.decoder.layers.0.linear1.weight"

/* The tensor takes the last place, which is not written. */
static void drop(wg_tensor *list, size_t *n, const char *name)
{
    size_t i = place_of(list, *n, name);
    wg_tensor t = list[i];
    list[i] = list[--*n];
    list[*n] = t;
}

static void miss_two(wg_tensor *list, size_t *n)
{
    drop(list, n, IN_PROJ);
    drop(list, n, "transformer.decoder.norm.bias");
}

static void rename_one(wg_tensor *list, size_t *n)
{
    rename_tensor(&list[place_of(list, *n, LINEAR1)], "transformer.decoder.layers.0.other.weight");
}

static void reshape_one(wg_tensor *list, size_t *n)
{
    wg_tensor *t = &list[place_of(list, *n, IN_PROJ)];
    t->shape = WG_SHAPE(8, 24);
}

static void make_whole_numbers(wg_tensor *list, size_t *n)
{
    list[place_of(list, *n, LINEAR1)].dtype = WG_I32;
}

static void make_nan(wg_tensor *list, size_t *n)
{
    ((float *)list[place_of(list, *n, LINEAR1)].data)[3] = NAN;
}

static void number_a_layer_too_high(wg_tensor *list, size_t *n)
{
    rename_tensor(&list[place_of(list, *n, LINEAR1)],
                  "transformer.decoder.layers.999999999.linear1.weight");
}

static void lose_a_final_norm(wg_tensor *list, size_t *n)
{
    drop(list, n, "transformer.decoder.norm.bias");
    drop(list, n, "transformer.decoder.norm.weight");
}

static void lose_embeddings(wg_tensor *list, size_t *n)
{
    drop(list, n, "src_tok_emb.embedding.weight");
    drop(list, n, "tgt_tok_emb.embedding.weight");
    drop(list, n, "generator.weight");
    drop(list, n, "generator.bias");
}

static void contradict_a_name(wg_tensor *list, size_t *n)
{
    wg_tensor *t = &list[place_of(list, *n, "positional_encoding.pos_embedding")];
    rename_tensor(t, "tgt_embedding.weight");
    t->shape = WG_SHAPE(10, 8);
}

static void prefix_all(wg_tensor *list, size_t *n)
{
    for (size_t i = 0; i < *n; i++) {
        char name[200];
        snprintf(name, sizeof name, "module.%s", list[i].name);
        rename_tensor(&list[i], name);
    }
}

static void keep_all(wg_tensor *list, size_t *n)
{
    (void)list, (void)n;
}

static void all_that_does_not_fit_is_told(void **state)
{
    (void)state;
    static const struct {
        changer *change;
        const char *config;
        wg_status status;
        const char *expected[3];
    } cases[] = {
        {miss_two,
         NULL,
         WG_EDATA,
         {IN_PROJ ": expected it, got none", "transformer.decoder.norm.bias: expected it"}},
        {rename_one,
         NULL,
         WG_EDATA,
         {LINEAR1 ": expected it", "decoder.layers.0.other.weight [12,8]: expected none"}},
        {reshape_one, NULL, WG_EDATA, {IN_PROJ ": expected floats [24,8], got F32 [8,24]"}},
        {make_whole_numbers, NULL, WG_EDATA, {LINEAR1 ": expected floats [12,8], got I32 [12,8]"}},
        {make_nan, NULL, WG_ENONFINITE, {"decoder/layer0/ff/inner/weight: element 3 is"}},
        {number_a_layer_too_high, NULL, WG_EDATA, {"layers.999999999.linear1.weight: expected a"}},
        {lose_a_final_norm, NULL, WG_EDATA, {"a norm at the end of both stacks"}},
        {lose_embeddings, NULL, WG_EDATA, {"expected an embedding, such as transformer.src_emb"}},
        {contradict_a_name,
         NULL,
         WG_EDATA,
         {"tensors tgt_embedding.weight and tgt_tok_emb.embedding.weight: expected the same"}},
        {keep_all, "{}", WG_EDATA, {"give --heads N"}},
        {keep_all, "{\"nhead\": 3}", WG_EDATA, {"heads is 3, must divide"}},
        {keep_all,
         "{\"nhead\": 2, \"d_model\": 1000000000000}",
         WG_EDATA,
         {"config.json: d_model: d-model: expected"}},
        {keep_all,
         "{\"nhead\": 2, \"d_model\": 512, \"num_encoder_layers\": 6}",
         WG_EDATA,
         {"d-model: expected 512, by", "got 8 by", "encoder-layers: expected 6"}},
        {keep_all,
         "{\"nhead\": 2, \"num_encoder_layers\": 1099511627776}",
         WG_EDATA,
         {"config.json: num_encoder_layers: encoder-layers: expected"}},
        {keep_all,
         "{\"nhead\": 2, \"dim_feedforward\": -12}",
         WG_EDATA,
         {"config.json: dim_feedforward: d-ff: expected"}},
        {keep_all, "{\"nhead\": 1.5}", WG_EDATA, {"config.json: nhead: heads: expected"}},
        {keep_all, "{\"nhead\": true}", WG_EDATA, {"config.json: nhead: heads: expected"}},
        {keep_all, "{\"nhead\": 1e400}", WG_EDATA, {"config.json: nhead: heads: expected"}},
        {keep_all, "{\"nhead\": 0}", WG_EDATA, {"heads"}},
        {keep_all,
         "{\"nhead\": 2, \"nhead\": 4}",
         WG_EDATA,
         {"another key says otherwise of heads"}},
        {keep_all,
         "{\"nhead\": 2, \"norm_first\": 2}",
         WG_EDATA,
         {"config.json: norm_first: pre-norm: expected"}},
        {keep_all,
         "{\"nhead\": 2, \"layer_norm_eps\": \"small\"}",
         WG_EDATA,
         {"config.json: layer_norm_eps: norm-eps: expected"}},
        {keep_all,
         "{\"nhead\": 2, \"wengert\": {\"max_positions\": 9223372036854775807}}",
         WG_EDATA,
         {"config.json: max_positions: max-positions: expected"}},
        {keep_all, "{\"nhead\": \"two\"}", WG_EDATA, {"config.json: nhead: heads: expected"}},
        {keep_all, "{\"nhead\": 2, \"activation\": \"snake\"}", WG_EDATA, {"got 'snake'"}},
        {keep_all,
         "{\"nhead\": 2, \"wengert\": {\"heads\": 4}}",
         WG_EDATA,
         {"but another key says otherwise of heads"}},
        {keep_all, "{\"nhead\": 2", WG_EDATA, {"config.json: byte 11: expected '}'"}},
        {keep_all, "[2]", WG_EDATA, {"config.json: byte 0: expected '{'"}},
        {keep_all,
         "{\"a\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
         "]]]]]}",
         WG_EDATA,
         {"at most 32 values in each other"}},
        {keep_all,
         "{\"nhead\": 2, \"decoder_start_token_id\": 7}",
         WG_EDATA,
         {"decoder_start_token_id: expected the id"}},
        {keep_all, "{\"nhead\": 2, \"pad_token_id\": 3}", WG_EDATA, {"pad_token_id: expected 1"}},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_error error;
        write_changed(cases[i].change, cases[i].config);
        wg_status status = import_from("torch", FILES, "", NULL, NULL, &error);
        check_that(status == cases[i].status, "case %zu: %s: %s", i, wg_status_text(status),
                   error.text);
        for (int k = 0; k < 3 && cases[i].expected[k]; k++)
            check_that(strstr(error.text, cases[i].expected[k]) != NULL, "case %zu: no '%s' in %s",
                       i, cases[i].expected[k], error.text);
        struct stat s;
        assert_true(stat(MADE, &s) != 0); /* nothing was written */
    }
}

/* Other names for the same tensors, keys that say nothing, an option for what config.json lacks. */
static void variations(void **state)
{
    (void)state;
    static const struct {
        changer *change;
        const char *config, *options;
    } cases[] = {
        {prefix_all, NULL, ""},
        {keep_all, "{}", "heads 2"},
        {keep_all, "{\"nhead\": 4}", "heads 2"},
        {keep_all,
         " { \"nhead\" : 2 , \"other\" : { \"a\" : [ 1 , null , true ] } , \"x\" : null } ", ""},
    };
    char path[400];
    snprintf(path, sizeof path, "%s/torch", FOREIGN);
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_error error;
        write_changed(cases[i].change, cases[i].config);
        check_that(import_from("torch", FILES, cases[i].options, NULL, NULL, &error) == WG_OK,
                   "case %zu: %s", i, error.text);
        wg_translator *t = opened(MADE);
        char line[] = "the house is green ||| das haus ist sehr grün ! ||| ", *expected;
        size_t size;
        char whole[1000];
        expected = contents(path, "expected.txt", &size);
        expected[strcspn(expected, "\n")] = '\0';
        check_that(strncmp(expected, line, strlen(line)) == 0, "%s", expected);
        snprintf(whole, sizeof whole, "%s", expected);
        assert_int_equal(check_line(t, whole), 7);
        free(expected);
        wg_translator_free(t);
    }
}

/* Every prefix of the file, and every folder that is none, is refused. */
static void files_that_are_cut_off(void **state)
{
    (void)state;
    wg_error error;
    size_t size, refused = 0;
    write_changed(NULL, NULL);
    char *bytes = contents(FILES, WG_FILE_MODEL, &size), *path = wg_folder_path(FILES, "cut");
    for (size_t n = 0; n < size; n += n < 64 ? 1 : 997) {
        FILE *f = fopen(path, "wb");
        fwrite(bytes, 1, n, f);
        fclose(f);
        assert_int_equal(import_from("torch", path, "heads 2", NULL, NULL, &error), WG_EDATA);
        assert_true(strstr(error.text, "cut") != NULL);
        refused++;
    }
    assert_true(refused > 70);
    free(bytes);
    free(path);
    assert_int_equal(import_from("torch", "no_such_folder", "", NULL, NULL, &error), WG_EIO);
    assert_int_equal(import_from("keras", FILES, "", NULL, NULL, &error), WG_EINVAL);
    assert_true(strstr(error.text, "torch, fairseq or marian") != NULL);
    assert_int_equal(import_from("torch", "weights.pt", "", NULL, NULL, &error), WG_EDATA);
    assert_true(strstr(error.text, "pickle") != NULL);
    assert_int_equal(import_from("marian", FILES, "", NULL, NULL, &error), WG_EIO);
    assert_true(strstr(error.text, "vocab.json") != NULL);
}

/* ---- files that are none --------------------------------------------------------------------- */

static void drop_ten(wg_tensor *list, size_t *n)
{
    char name[200];
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "transformer.%s.layers.0.norm%d.%s",
                 i < 4 ? "encoder" : "decoder", (i < 4 ? i : i - 4) / 2 + 1,
                 i % 2 ? "bias" : "weight");
        drop(list, n, name);
    }
}

static void every_missing_tensor_is_named(void **state)
{
    (void)state;
    wg_error error;
    char name[200];
    write_changed(drop_ten, NULL);
    assert_int_equal(import_from("torch", FILES, "", NULL, NULL, &error), WG_EDATA);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "%s.layers.0.norm%d.%s: expected it, got none",
                 i < 4 ? "encoder" : "decoder", (i < 4 ? i : i - 4) / 2 + 1,
                 i % 2 ? "bias" : "weight");
        check_that(strstr(error.text, name) != NULL, "no '%s' in %s", name, error.text);
    }
}

/* A tensor twice, and a length that no file has. */
static void headers_that_lie(void **state)
{
    (void)state;
    static const char twice[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                                "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8]}}";
    char bytes[200] = {sizeof twice - 1};
    write_changed(NULL, NULL);
    memcpy(bytes + 8, twice, sizeof twice);
    write_text(WG_FILE_MODEL, bytes, 8 + sizeof twice - 1 + 8);
    refused(WG_EDATA, "tensor a: expected once, got twice");
    memset(bytes, 0xff, 8);
    write_text(WG_FILE_MODEL, bytes, sizeof bytes);
    refused(WG_EDATA, WG_FILE_MODEL);
}

/* More tokens than rows are refused; missing ones get names that no text has. */
static void vocabularies_of_another_size(void **state)
{
    (void)state;
    wg_error error;
    wg_foreign_report report;
    size_t size;
    write_changed(NULL, NULL);
    char *list = contents(FILES, "vocab.source.txt", &size), *longer = malloc(size + 20);
    int n = snprintf(longer, size + 20, "%sone\ntwo\n", list);
    write_text("vocab.source.txt", longer, (size_t)n);
    refused(WG_EDATA, "src_tok_emb.embedding.weight: expected 10 rows for the tokens of");
    *strrchr(list, '\n') = '\0'; /* the last line break, then the last token */
    strrchr(list, '\n')[1] = '\0';
    write_text("vocab.source.txt", list, strlen(list));
    check_that(import_from("torch", FILES, "", NULL, &report, &error) == WG_OK, "%s", error.text);
    check_that(strstr(report.text, "7 tokens for 8 embeddings") != NULL, "%s", report.text);
    wg_translator_free(opened(MADE));
    free(list);
    free(longer);
}

/* Each file of the folder as a link in a circle, a pipe that nobody writes to, and a directory. */
static void files_of_another_kind(void **state)
{
    (void)state;
    static const char *const names[] = {WG_FILE_MODEL, "config.json", "vocab.source.txt"};
    for (int i = 0; i < WG_COUNT(names); i++) {
        char *path = wg_folder_path(FILES, "%s", names[i]);
        write_changed(NULL, NULL);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink(names[i], path), 0);
        refused(WG_EIO, names[i]);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0666), 0);
        refused(WG_EIO, "expected a regular file, got a FIFO");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0777), 0);
        refused(WG_EIO, "expected a regular file, got a directory");
        assert_int_equal(rmdir(path), 0);
        free(path);
    }
}

/* Links lead to what is read, as Hugging Face's cache has them. */
static void links_are_followed(void **state)
{
    (void)state;
    wg_error error;
    write_changed(NULL, NULL);
    char *path = wg_folder_path(FILES, WG_FILE_MODEL), *blob = wg_folder_path(FILES, "blob");
    assert_int_equal(rename(path, blob), 0);
    assert_int_equal(symlink("blob", path), 0);
    check_that(import_from("torch", FILES, "", NULL, NULL, &error) == WG_OK, "%s", error.text);
    wg_translator_free(opened(MADE));
    assert_int_equal(unlink(blob), 0);
    refused(WG_EIO, WG_FILE_MODEL);
    free(path);
    free(blob);
}

/* config.json and a list of tokens, cut off anywhere: a message, or a model that can be opened. */
static void texts_that_are_cut_off(void **state)
{
    (void)state;
    static const char *const names[] = {"config.json", "vocab.target.txt"};
    size_t refusals = 0, size;
    for (int i = 0; i < WG_COUNT(names); i++) {
        write_changed(NULL, NULL);
        char *bytes = contents(FILES, names[i], &size);
        for (size_t n = 0; n < size; n++) {
            wg_error error;
            struct stat s;
            write_text(names[i], bytes, n);
            wg_status status = import_from("torch", FILES, "", NULL, NULL, &error);
            if (status == WG_OK)
                wg_translator_free(opened(MADE));
            else
                assert_true(status == WG_EDATA && error.text[0] && stat(MADE, &s) != 0);
            refusals += status != WG_OK;
        }
        free(bytes);
    }
    assert_true(refusals > 10);
}

/* A folder with a model is not overwritten. */
static void a_folder_with_a_model(void **state)
{
    (void)state;
    wg_error error;
    write_changed(NULL, NULL);
    assert_int_equal(import_from("torch", FILES, "", NULL, NULL, &error), WG_OK);
    wg_settings s = settings_for(MADE, "");
    const wg_foreign_options o = {.layout = "torch", .path = FILES, .settings = &s};
    assert_int_equal(wg_foreign_import(&o, NULL, &error), WG_EINVAL);
    assert_true(strstr(error.text, "it has a model already") != NULL);
    wg_settings_free(&s);
    assert_int_equal(wg_foreign_export("torch", MADE, NULL, MADE, NULL, &error), WG_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_does_not_fit_is_told),
        cmocka_unit_test(variations),
        cmocka_unit_test(files_that_are_cut_off),
        cmocka_unit_test(a_folder_with_a_model),
        cmocka_unit_test(every_missing_tensor_is_named),
        cmocka_unit_test(headers_that_lie),
        cmocka_unit_test(vocabularies_of_another_size),
        cmocka_unit_test(files_of_another_kind),
        cmocka_unit_test(links_are_followed),
        cmocka_unit_test(texts_that_are_cut_off),
    };
    return cmocka_run_group_tests(tests, drop_folders, drop_folders);
}
