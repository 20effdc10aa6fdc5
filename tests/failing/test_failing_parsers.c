/* Parsers without memory: each allocation fails, once and from then on, also those that libyaml,
 * zlib and the C library make for them.  Then there is WG_ENOMEM with a message, or the same result
 * as ever, and nothing leaks. */
#include "tests/failing/memory.h"
#include "tests/folder.h"

#include "files/checksum.h"
#include "graph/text_buffer.h"
#include "text/internal.h"
#include "train/progress.h"
#include "translate/foreign/facts.h"
#include "wengert-train.h"
#include "wengert.h"

#include <fcntl.h>
#include <zlib.h>

static wg_error error;

/* ---- every allocation ------------------------------------------------------------------------ */

/* Some reading; *digest tells its result from others. */
typedef wg_status reading(uint64_t *digest);

static size_t fail_each(const char *what, reading *read)
{
    uint64_t expected = 0, digest;
    assert_int_equal(read(&expected), WG_OK); /* what libraries make once and keep */
    fail_from_now(0, false);
    assert_int_equal(read(&expected), WG_OK);
    size_t total = fail_no_more(), failed = 0;
    for (int for_good = 0; for_good < 2; for_good++)
        for (size_t i = 1; i <= total; i++) {
            size_t blocks = live_blocks();
            error = (wg_error){0};
            digest = 0;
            fail_from_now(i, for_good);
            wg_status status = read(&digest);
            fail_no_more();
            const char *way = for_good ? " and all after" : "";
            check_that(status == WG_ENOMEM || (status == WG_OK && digest == expected),
                       "%s: allocation %zu of %zu fails%s: %s: %s", what, i, total, way,
                       wg_status_text(status), error.text);
            check_that((status == WG_OK) == !*error.text, "%s, %zu%s: '%s'", what, i, way,
                       error.text);
            check_that(live_blocks() == blocks, "%s: allocation %zu of %zu fails%s: a leak", what,
                       i, total, way);
            failed += status != WG_OK;
        }
    printf("%s: %zu allocations, %zu of %zu failures told\n", what, total, failed, 2 * total);
    return failed;
}

/* For what has no wg_error. */
static wg_status told(wg_status status)
{
    if (status != WG_OK)
        snprintf(error.text, sizeof error.text, "%s", wg_status_text(status));
    return status;
}

/* ---- settings -------------------------------------------------------------------------------- */

static const char yaml[] = "# two lists, texts, numbers, a preset\n"
                           "train-sets: [a.en, 'b c.de']\n"
                           "valid-metrics:\n  - bleu\n  - chrf\n"
                           "model: \"f\\u00fcr\"\n"
                           "heads: 2\nlr: 0.5\nafter: 3e\npre-norm: yes\npreset: small\n";

static wg_status dump(const wg_settings *s, uint64_t *digest)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    wg_status status = f ? wg_settings_write_yaml(s, f) : WG_ENOMEM;
    char *text = wgi_text_close(&b);
    if (text)
        *digest = wgi_xxh64(text, b.size, 0);
    free(text);
    return told(text ? status : WG_ENOMEM);
}

static wg_status read_settings(uint64_t *digest)
{
    wg_settings s;
    wg_status status = told(wg_settings_init(&s));
    if (status != WG_OK)
        return status;
    status = wg_settings_read_yaml(&s, path_of("settings.yml"), &error);
    if (status == WG_OK)
        status = dump(&s, digest);
    wg_settings_free(&s);
    return status;
}

/* A model's settings, and others over them: taken where they may change, else refused. */
static wg_status override_settings(uint64_t *digest)
{
    static const char *const over_them[][2] = {{"after", "5e"}, {"model", "elsewhere"}};
    wg_settings model, over = {0}, copy = {0};
    wg_status status = told(wg_settings_init(&model));
    if (status == WG_OK)
        status = told(wg_settings_init(&over));
    for (int i = 0; i < 2 && status == WG_OK; i++)
        status = wg_settings_set(&over, over_them[i][0], over_them[i][1], &error);
    if (status == WG_OK)
        status = wg_settings_override(&model, &over, &error);
    if (status == WG_OK)
        status = wg_settings_set(&over, "heads", "8", &error);
    if (status == WG_OK) {
        status = wg_settings_override(&model, &over, &error);
        assert_true(status == WG_EINVAL || status == WG_ENOMEM);
        if (status == WG_EINVAL) {
            assert_non_null(strstr(error.text, ", as in the model, got 8"));
            status = WG_OK;
            error = (wg_error){0};
        }
    }
    if (status == WG_OK)
        status = told(wg_settings_copy(&copy, &model));
    if (status == WG_OK)
        status = dump(&copy, digest);
    wg_settings_free(&model);
    wg_settings_free(&over);
    wg_settings_free(&copy);
    return status;
}

static void settings_without_memory(void **state)
{
    (void)state;
    write_text("settings.yml", yaml);
    assert_in_range(fail_each("settings from YAML", read_settings), 100, 10000);
    assert_in_range(fail_each("settings over others", override_settings), 50, 10000);
}

/* ---- progress -------------------------------------------------------------------------------- */

static wg_status write_progress(uint64_t *digest)
{
    static const wg_file_note values[] = {{"seed", "1"}, {"dropout", "0.1"}};
    const wg_checkpoint_options o = {.settings = values, .n_settings = WG_COUNT(values)};
    wg_progress p = {.update = 7, .n_best = 1, .best = {{"bleu", 0.1, 5}}}, again;
    *digest = 1;
    wg_status status = told(wgi_progress_write(&p, &o, path_of("progress.json"), &error));
    return status == WG_OK ? told(wgi_progress_read(&again, &o, path_of("progress.json"), &error))
                           : status;
}

static void progress_without_memory(void **state)
{
    (void)state;
    assert_in_range(fail_each("progress as JSON", write_progress), 10, 10000);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void write_gzip(const char *name, const char *text)
{
    gzFile gz = gzopen(path_of(name), "wb");
    assert_non_null(gz);
    assert_int_equal(gzwrite(gz, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(gz), Z_OK);
}

static wg_status read_corpus(uint64_t *digest)
{
    wg_vocabulary *v = NULL;
    wg_corpus *c = NULL;
    wg_status status = wg_vocabulary_open(&v, path_of("vocab.txt"), &error);
    if (status == WG_OK)
        status = wg_corpus_read(&c, path_of("text.gz"), path_of("text"), v, v,
                                &(wg_corpus_options){.keep_text = true, .threads = 1}, &error);
    if (status == WG_OK)
        *digest = wg_corpus_hash(c);
    wg_corpus_free(c);
    wg_vocabulary_free(v);
    return status;
}

/* Longer than what zlib decompresses at a time: it keeps the last 32 KiB. */
static wg_status read_long_text(uint64_t *digest)
{
    wgi_text text;
    wg_status status = wgi_text_read(&text, path_of("long.gz"), &error);
    *digest = text.size;
    free(text.bytes);
    return status;
}

static void texts_without_memory(void **state)
{
    (void)state;
    enum { LONG = 200000 };
    char *lines = calloc(LONG + 1, 1);
    assert_non_null(lines);
    memset(lines, '\n', LONG);
    write_gzip("long.gz", lines);
    free(lines);
    assert_in_range(fail_each("a long text", read_long_text), 5, 100);
    static const char text[] = "a b\nb \xff a\n";
    write_gzip("text.gz", text);
    write_text("text", text);
    write_text("vocab.txt", "# wengert vocabulary: words pad 0 bos 1 eos 2 unk 3\n"
                            "<pad>\n<s>\n</s>\n<unk>\na\nb\n");
    assert_in_range(fail_each("a corpus", read_corpus), 20, 1000);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static const char graph[] = "wengert-graph 1\n"
                            "%x = input : f32[4] 'x'\n"
                            "%w = parameter {init=normal, scale=0.5} : f32[] 'w'\n"
                            "%c = constant {data=f32[1, 2, 3, 4]} : f32[4]\n"
                            "%y = add(%x, %c) in some/scope\n"
                            "output 'y' = %y\n";

static wg_status read_graph(uint64_t *digest)
{
    wg_graph *g;
    wg_status status = wg_graph_read(&g, path_of("graph.wg"), NULL, &error);
    if (status == WG_OK) {
        wgi_text_buffer b;
        FILE *f = wgi_text_open(&b);
        status = f ? wg_graph_print(g, f) : WG_ENOMEM;
        char *text = wgi_text_close(&b);
        status = told(text ? status : WG_ENOMEM);
        if (text)
            *digest = wgi_xxh64(text, b.size, 0);
        free(text);
    }
    wg_graph_free(g);
    return status;
}

/* A list of numbers that is longer than the first block of an arena is one of them. */
static void graphs_without_memory(void **state)
{
    (void)state;
    enum { NUMBERS = 600 };
    char text[sizeof graph + 2 * NUMBERS + 100], *at = text;
    at += sprintf(at, "%s%%long = constant {data=f64[0", graph);
    for (int i = 1; i < NUMBERS; i++)
        at += sprintf(at, ",0");
    sprintf(at, "]} : f64[%d]\n", NUMBERS);
    write_text("graph.wg", text);
    assert_in_range(fail_each("a graph", read_graph), 30, 10000);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static wg_status read_tensors(uint64_t *digest)
{
    float numbers[] = {1, 2, 3};
    const wg_tensor tensors[] = {{"a", WG_F32, {1, {3}}, numbers}, {"b", WG_F32, {0}, numbers}};
    const wg_file_note note = {"step", "12"};
    wg_safetensors *f = NULL;
    const char *path = path_of("tensors");
    wg_status status = wg_safetensors_write(path, tensors, 2, &note, 1, &error);
    if (status == WG_OK)
        status = wg_safetensors_open(&f, path, &error);
    if (status == WG_OK)
        *digest = wgi_xxh64(wg_safetensors_find(f, "a")->data, sizeof numbers, 0);
    wg_safetensors_close(f);
    return status;
}

static void tensors_without_memory(void **state)
{
    (void)state;
    assert_in_range(fail_each("tensors", read_tensors), 10, 1000);
}

/* ---- what other programs write --------------------------------------------------------------- */

static wg_status read_list(uint64_t *digest)
{
    wg_vocabulary *v;
    wg_status status = wg_vocabulary_open(&v, path_of("list"), &error);
    if (status == WG_OK)
        *digest = wg_vocabulary_hash(v);
    wg_vocabulary_free(v);
    return status;
}

static wg_status read_facts(uint64_t *digest)
{
    wgi_facts f;
    wg_status status = wgi_facts_read(&f, path_of("config.json"), &error);
    const char *text = status == WG_OK ? wgi_facts_find(&f, "activation") : NULL;
    *digest = text ? wgi_xxh64(text, strlen(text), f.n) : 0;
    wgi_facts_free(&f);
    return status;
}

/* A whole model, with vocabularies of words, in a folder of that name. */
static wg_status import_to(const char *name)
{
    wg_settings s;
    wg_status status = told(wg_settings_init(&s));
    if (status != WG_OK)
        return status;
    const wg_foreign_options o = {.layout = "torch", .path = FOREIGN "/torch", .settings = &s};
    status = wg_settings_set(&s, "model", path_of(name), &error);
    if (status == WG_OK)
        status = wg_foreign_import(&o, NULL, &error);
    wg_settings_free(&s);
    return status;
}

/* The files of such folders. */
static const char *const files_of_model[] = {
    "config.yml", "config.json", "model.safetensors", "vocab.source.txt", "vocab.target.txt", ""};
static const char *path_in(const char *name, int file)
{
    static char path[60];
    snprintf(path, sizeof path, "%s/%s", name, files_of_model[file]);
    return path_of(path);
}

static void remove_model(const char *name)
{
    for (int i = 0; i < WG_COUNT(files_of_model); i++)
        remove(path_in(name, i));
}

/* What an import leaves is removed before the next. */
static wg_status import_model(uint64_t *digest)
{
    wg_status status = import_to("made");
    *digest = status == WG_OK;
    remove_model("made");
    return status;
}

/* Adds the contents of a file, without allocating. */
static uint64_t add_file(uint64_t digest, const char *path)
{
    static char bytes[1 << 16];
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, bytes, sizeof bytes) : -1;
    if (fd >= 0)
        close(fd);
    return wgi_xxh64(bytes, n > 0 ? (size_t)n : 0, digest);
}

/* Of the model in "imported". */
static wg_status export_model(uint64_t *digest)
{
    wg_status status =
        wg_foreign_export("torch", path_of("imported"), NULL, path_of("exported"), NULL, &error);
    *digest = 0;
    for (int i = 0; i < WG_COUNT(files_of_model); i++)
        *digest = add_file(*digest, path_in("exported", i));
    remove_model("exported");
    return status;
}

static void foreign_texts_without_memory(void **state)
{
    (void)state;
    static const char *const lists[] = {"</s>: 0\n<unk>: 1\n\"a\\\"b\": 2\n",
                                        "{\"</s>\": 0, \"<unk>\": 1, \"a\": 9}"};
    for (int i = 0; i < WG_COUNT(lists); i++) {
        write_text("list", lists[i]);
        assert_in_range(fail_each("a list of tokens", read_list), 10, 10000);
    }
    write_text("config.json", "{\"activation\": \"relu\", \"d_model\": 8, \"x\": [1, {}]}");
    assert_in_range(fail_each("config.json", read_facts), 4, 1000);
    assert_in_range(fail_each("a model of torch", import_model), 100, 100000);
    assert_int_equal(import_to("imported"), WG_OK);
    assert_in_range(fail_each("a model for torch", export_model), 100, 100000);
    remove_model("imported");
}

/* ---- models of ONNX -------------------------------------------------------------------------- */

static wg_status read_onnx_tensor(uint64_t *digest)
{
    wg_onnx_tensor t;
    wg_status status = wg_onnx_tensor_read(&t, path_of("tensor.pb"), &error);
    if (status == WG_OK)
        *digest = wgi_xxh64(t.data, 3, strlen(t.name));
    wg_onnx_tensor_free(&t);
    return status;
}

static wg_status read_onnx_model(uint64_t *digest)
{
    wg_graph *g;
    wg_status status = wg_onnx_import(&g, path_of("model.onnx"), NULL, &error);
    if (status == WG_OK)
        *digest = wg_graph_hash(g);
    wg_graph_free(g);
    return status;
}

/* A TensorProto of three bytes in it and in another file; a model with a constant. */
static void onnx_without_memory(void **state)
{
    (void)state;
    static const char within[] = "\x08\x03\x10\x02\x42\x01w\x4a\x03"
                                 "abc";
    static const char beside[] = "\x08\x03\x10\x02\x42\x01w\x70\x01"
                                 "\x6a\x10\x0a\x08location\x12\x04text";
    write_text("text", "abc");
    write_text("tensor.pb", within);
    uint64_t digest;
    if (read_onnx_tensor(&digest) == WG_EUNSUPPORTED)
        skip();
    assert_in_range(fail_each("a tensor of ONNX", read_onnx_tensor), 4, 1000);
    write_text("tensor.pb", beside);
    assert_in_range(fail_each("a tensor beside it", read_onnx_tensor), 10, 1000);
    write_text("graph.wg", graph);
    wg_graph *g;
    assert_int_equal(wg_graph_read(&g, path_of("graph.wg"), NULL, &error), WG_OK);
    check_that(wg_onnx_export(g, path_of("model.onnx"), NULL, &error) == WG_OK, "%s", error.text);
    wg_graph_free(g);
    assert_in_range(fail_each("an ONNX model", read_onnx_model), 30, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_without_memory),      cmocka_unit_test(progress_without_memory),
        cmocka_unit_test(texts_without_memory),         cmocka_unit_test(graphs_without_memory),
        cmocka_unit_test(tensors_without_memory),       cmocka_unit_test(onnx_without_memory),
        cmocka_unit_test(foreign_texts_without_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
