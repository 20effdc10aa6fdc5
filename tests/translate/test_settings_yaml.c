/* Settings as YAML: what is written is read, and what is wrong is refused with its line. */
#include "tests/translate/settings.h"

static void test_yaml(void **state)
{
    (void)state;
    wg_settings s;
    init(&s);
    const char *path =
        write_text("good.yml", "\xef\xbb\xbf# a comment after a mark of the encoding\n"
                               "lr: 0.5  # fairseq's name\n"
                               "train-sets: [a.en, 'b c.de']\n"
                               "vocabs: joint.spm\n"
                               "valid-metrics:\n  - bleu\n  - chrf\n"
                               "pre-norm: yes\n");
    assert_int_equal(wg_settings_read_yaml(&s, path, &error), WG_OK);
    assert_true(s.schedule.rate == 0.5 && s.net.pre_norm);
    assert_string_equal(s.train_sets[1], "b c.de");
    assert_string_equal(s.vocabs[0], "joint.spm");
    assert_string_equal(s.valid_metrics, "bleu chrf");
    assert_string_equal(s.preset, "tiny");
    assert_int_equal(wg_settings_read_yaml(&s, write_text("empty.yml", "# nothing\n"), &error),
                     WG_OK);
    assert_true(s.schedule.rate == 0.5);
    wg_settings_free(&s);
}

/* A shared object that the command line named is not written, since no file may name one. */
static void test_shared_objects_stay_out_of_yaml(void **state)
{
    (void)state;
    wg_settings s, back;
    init(&s);
    init(&back);
    set(&s, "backend", "./mine.so,cpu");
    char *text = dump(&s);
    assert_null(strstr(text, "mine.so"));
    assert_int_equal(wg_settings_read_yaml(&back, write_text("own.yml", text), &error), WG_OK);
    assert_null(back.backend);
    free(text);
    wg_settings_free(&s);
    wg_settings_free(&back);
}

static void test_bad_yaml(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"heads: 2\nlern-rate: 1\n",
         "bad.yml:2: no option 'lern-rate'; did you mean 'learn-rate'?"},
        {"zzzzzzzzzzzz: 1\n", "bad.yml:1: no option 'zzzzzzzzzzzz'"},
        {"\xff", "bad.yml:1: "},
        {"heads: \"\\0\"\n", "bad.yml:1: a text with a zero byte"},
        {"\"\\0\": 2\n", "bad.yml:1: a text with a zero byte"},
        {"train-sets: [\"\\0\", b]\n", "bad.yml:1: a text with a zero byte"},
        {"train-sets: [a, ]]\n", "bad.yml:1: "},
        {"backend: ./x.so\n", "bad.yml:1: backend: expected built-in backends, got the shared "
                              "object './x.so'"},
        {"heads: 2\nseed: 1\nheads: 2\n", "bad.yml:3: heads: given already in line 1"},
        {"lr: 1\nlearn-rate: 1\n", "bad.yml:2: learn-rate: given already in line 1"},
        {"\n\nheads: x\n", "bad.yml:3: heads: expected a whole number from 1 to 10000, got 'x'"},
        {"heads: [1, 2]\n", "bad.yml:1: heads: expected one value, got '1 2'"},
        {"heads: []\n", "bad.yml:1: heads: expected one value, got nothing"},
        {"heads: {a: 1}\n", "bad.yml:1: heads: expected a value or a list of values"},
        {"train-sets: [a, [b]]\n", "bad.yml:1: train-sets: expected a list of plain values"},
        {"train-sets: [a, b, c, d, e, f, g, h, i]\n", "expected at most 8 values"},
        {"train-sets: a\n", "bad.yml:1: train-sets: expected the files of source and target"},
        {"- heads\n", "bad.yml:1: expected lines of the form 'option: value'"},
        {"just text\n", "bad.yml:1: expected lines of the form"},
        {"? [a]\n: b\n", "bad.yml:1: expected the name of an option"},
        {"heads: 2\n---\nheads: 2\n", "bad.yml:2: expected one document, not several"},
        {"heads: \"2\n", "bad.yml:"},
        {"heads: 2\n\tseed: 1\n", "bad.yml:2: "},
        {"model: \"a\\0b\"\n", "bad.yml:1: a text with a zero byte"},
        {"model: &x a\nbackend: *x\n", "bad.yml:2: backend: expected a value or a list"},
        {"model: \xff\n", "bad.yml:1: "},
        {"seed: 7\npreset: tiny\nheads: 2\nd-model: -\n", "bad.yml:4: "},
    };
    wg_settings s, before;
    init(&s);
    init(&before);
    for (size_t i = 0; i < WG_COUNT(bad); i++) {
        const char *path = write_text("bad.yml", bad[i][0]);
        wg_status status = wg_settings_read_yaml(&s, path, &error);
        check_that(status == WG_EDATA, "status %d of\n%s", status, bad[i][0]);
        check_that(strstr(error.text, bad[i][1]), "expected '%s', got '%s'", bad[i][1], error.text);
        check_equal(&s, &before);
    }
    assert_int_equal(wg_settings_read_yaml(&s, path_of("missing.yml"), &error), WG_EIO);
    assert_non_null(strstr(error.text, "missing.yml: open: No such file"));
    assert_int_equal(wg_settings_read_yaml(&s, folder, &error), WG_EIO);
    assert_non_null(strstr(error.text, "Is a directory"));
    assert_int_equal(wg_settings_read_yaml(&s, NULL, &error), WG_EINVAL);
    assert_int_equal(wg_settings_read_yaml(NULL, "bad.yml", &error), WG_EINVAL);
    char *large = malloc(2 << 20);
    assert_non_null(large);
    memset(large, '#', 2 << 20);
    const char *path = write_bytes("large.yml", large, 2 << 20);
    assert_int_equal(wg_settings_read_yaml(&s, path, &error), WG_EDATA);
    assert_non_null(strstr(error.text, "expected settings of at most"));
    free(large);
    check_equal(&s, &before);
    wg_settings_free(&s);
    wg_settings_free(&before);
}

/* Bytes of a dump, changed at random places: read or refused with a message, never more. */
static void test_damaged_yaml(void **state)
{
    (void)state;
    wg_settings s;
    init(&s);
    set(&s, "train-sets", "a \xc3\xbc");
    char *good = dump(&s);
    size_t size = strlen(good), read = 0, refused = 0;
    uint64_t random = 12345;
    for (int i = 0; i < 2000; i++) {
        char *text = strdup(good);
        assert_non_null(text);
        for (int k = 0; k < 1 + i % 4; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[(random >> 33) % size] = (char)"\0\n:[]{}#&*!|>'\"%@`-, \t\xff\xc3"
                                                "a1"[(random >> 20) % 27];
        }
        wg_settings out;
        init(&out);
        wg_status status =
            wg_settings_read_yaml(&out, write_bytes("damaged.yml", text, size), &error);
        check_that(status == WG_OK || status == WG_EDATA, "status %d: %s", status, error.text);
        check_that(status == WG_OK || strstr(error.text, "damaged.yml:"), "no place in '%s'",
                   error.text);
        read += status == WG_OK;
        refused += status == WG_EDATA;
        wg_settings_free(&out);
        free(text);
    }
    assert_true(read > 100);
    assert_true(refused > 100);
    free(good);
    wg_settings_free(&s);
}

static void test_full_disk(void **state)
{
    (void)state;
    wg_settings s;
    init(&s);
    FILE *f = fopen("/dev/full", "w");
    assert_non_null(f);
    setvbuf(f, NULL, _IONBF, 0);
    assert_int_equal(wg_settings_write_yaml(&s, f), WG_EIO);
    fclose(f);
    wg_settings_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml),      cmocka_unit_test(test_shared_objects_stay_out_of_yaml),
        cmocka_unit_test(test_bad_yaml),  cmocka_unit_test(test_damaged_yaml),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
