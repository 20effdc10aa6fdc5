/* progress.json: what was written is read, and of what is no progress it is said which field is at
 * fault. */
#include "tests/allocations.h"
#include "tests/folder.h"

#include "files/checksum.h"
#include "train/progress.h"

static wg_error error;
static const wg_file_note values[] = {{"seed", "1"}, {"dropout", "0"}};
static const wg_checkpoint_options settings = {.settings = values, .n_settings = WG_COUNT(values)};

static wg_status read_as(const char *name, const wg_checkpoint_options *s, wg_progress *p)
{
    wg_status status = wgi_progress_read(p, s, path_of(name), &error);
    check_that(status == WG_OK || strncmp(error.text, folder, strlen(folder)) == 0,
               "no path in '%s'", error.text);
    return status;
}

/* ---- what comes back ------------------------------------------------------------------------- */

static wg_progress some_progress(void)
{
    return (wg_progress){.update = 7,
                         .cursor = {2, 30},
                         .weight = INT64_MAX,
                         .examples = 40,
                         .seconds = 1.0 / 3,
                         .loss_scale = 1e7 / 3,
                         .scale_updates = 1999,
                         .skipped = 12,
                         .stalled = 1,
                         .validation_due = 14,
                         .metrics_bytes = 99,
                         .data = UINT64_MAX,
                         .vocabularies = 1,
                         .files = {2, 3, 0x0123456789abcdef},
                         .n_best = 2,
                         .best = {{"bleu", 0.1, 5}, {"cross-entropy", -1e300, 6}}};
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    wg_progress p = some_progress(), q;
    assert_int_equal(wgi_progress_write(&p, &settings, path_of("good"), &error), WG_OK);
    for (int compare = 0; compare < 2; compare++) {
        check_that(read_as("good", compare ? &settings : NULL, &q) == WG_OK, "%s", error.text);
        assert_int_equal(q.format, 2);
        assert_true(q.update == 7 && q.cursor.epoch == 2 && q.cursor.group == 30);
        assert_true(q.weight == INT64_MAX && q.examples == 40 && q.seconds == 1.0 / 3);
        assert_true(q.loss_scale == 1e7 / 3 && q.scale_updates == 1999 && q.skipped == 12);
        assert_true(q.stalled == 1 && q.validation_due == 14 && q.metrics_bytes == 99);
        assert_true(q.data == UINT64_MAX && q.vocabularies == 1);
        assert_memory_equal(q.files, p.files, sizeof p.files);
        assert_int_equal(q.n_best, 2);
        for (int i = 0; i < 2; i++) {
            assert_string_equal(q.best[i].metric, p.best[i].metric);
            assert_true(q.best[i].value == p.best[i].value && q.best[i].update == p.best[i].update);
        }
    }
}

/* Of the settings that shape a run, all that are others are named. */
static void other_settings_are_named(void **state)
{
    (void)state;
    wg_progress p = some_progress(), q;
    static const wg_file_note others[] = {{"seed", "12"}, {"dropout", "0.5"}, {"new", "x"}};
    const wg_checkpoint_options other = {.settings = others, .n_settings = WG_COUNT(others)};
    assert_int_equal(wgi_progress_write(&p, &settings, path_of("good"), &error), WG_OK);
    assert_int_equal(read_as("good", &other, &q), WG_EINVAL);
    check_that(strstr(error.text, "good: seed: expected 1, as at the start of this run, got 12") &&
                   strstr(error.text, "good: dropout: expected 0, as at the start of this run, "
                                      "got 0.5"),
               "%s", error.text);
    check_that(!strstr(error.text, "new:"), "%s", error.text);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* A file of format 1, which has no checksum to mend. */
static const char whole[] =
    "{\"update\": 3, \"epoch\": 1, \"group\": 2, \"target-tokens\": 4, \"sentences\": 5,\n"
    "\"seconds\": 1, \"stalled\": 0, \"metrics-bytes\": 6,\n"
    "\"data\": \"0123456789abcdef\", \"vocabularies\": \"0000000000000001\",\n"
    "\"model-file\": \"0000000000000002\", \"average-file\": \"0000000000000003\",\n"
    "\"optimizer-file\": \"0000000000000004\",\n"
    "\"best\": {\"bleu\": {\"value\": 0.5, \"update\": 2}},\n"
    "\"settings\": {\"seed\": \"1\", \"dropout\": 7, \"no-such\": \"x\"}}\n";

/* The whole with one text replaced by another. */
static void write_replaced(const char *from, const char *to)
{
    char text[4096];
    const char *at = strstr(whole, from);
    check_that(at != NULL, "the file has no %s", from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    write_text("changed", text);
}

static void files_of_format_1_are_read(void **state)
{
    (void)state;
    wg_progress p;
    write_text("old", whole);
    check_that(read_as("old", &settings, &p) == WG_OK, "%s", error.text);
    assert_int_equal(p.format, 1);
    assert_true(p.update == 3 && p.seconds == 1 && p.data == 0x0123456789abcdef);
    assert_true(p.validation_due == 0 && p.loss_scale == 0 && p.skipped == 0 && p.n_best == 1);
    write_replaced("\"update\": 3", "\"update\": 3, \"validation-due\": 8");
    assert_int_equal(read_as("changed", NULL, &p), WG_OK);
    assert_int_equal(p.validation_due, 8);
}

#define ONE_BEST "\": {\"value\": 1, \"update\": 1}"

static void malformed_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"\"update\": 3, ", "", "expected a number \"update\""},
        {"\"update\": 3", "\"update\": \"3\"", "expected a number \"update\""},
        {"\"update\": 3", "\"update\": 3.5", "expected a number \"update\""},
        {"\"update\": 3", "\"update\": -3", "expected a number \"update\""},
        {"\"update\": 3", "\"update\": 9223372036854775808", "expected a number \"update\""},
        {"\"update\": 3", "\"update\": 3, \"update\": 3", "expected \"update\" once, got twice"},
        {"\"update\": 3", "\"update\": 3, \"validation-due\": -1",
         "expected a number \"validation-due\""},
        {"\"update\": 3", "\"update\": 3, \"loss-scale\": \"x\"",
         "expected a number \"loss-scale\""},
        {"\"update\": 3", "\"update\": 3, \"skipped-updates\": 0.5",
         "expected a number \"skipped-updates\""},
        {"\"seconds\": 1, ", "", "expected a number \"seconds\""},
        {"\"seconds\": 1", "\"seconds\": \"1\"", "expected a number \"seconds\""},
        {"\"seconds\": 1", "\"seconds\": true", "byte 85: expected a text, a number or an object"},
        {"\"0123456789abcdef\"", "1", "expected 16 hexadecimal digits \"data\""},
        {"0123456789abcdef", "0123456789abcde", "expected 16 hexadecimal digits \"data\""},
        {"0123456789abcdef", "0123456789abcdef0", "expected 16 hexadecimal digits \"data\""},
        {"0123456789abcdef", "0123456789abcdeF", "expected 16 hexadecimal digits \"data\""},
        {"0123456789abcdef", "-123456789abcdef", "expected 16 hexadecimal digits \"data\""},
        {"\"best\"", "\"worst\"", "expected metrics and their values as \"best\""},
        {"{\"bleu\": {\"value\": 0.5, \"update\": 2}}", "[]",
         "expected a text, a number or an object, got '['"},
        {"{\"value\": 0.5, \"update\": 2}", "1", "expected metrics"},
        {"\"value\": 0.5", "\"value\": \"0.5\"", "expected metrics"},
        {"\"value\": 0.5, ", "", "expected metrics"},
        {"{\"bleu\": {\"value\": 0.5, \"update\": 2}}", "7", "expected metrics"},
        {"\"update\": 2}", "\"update\": 2.5}", "expected metrics"},
        {", \"update\": 2}", "}", "expected metrics"},
        {"\"bleu\"", "\"a metric of 24 character\"", "expected metrics"},
        {"\"bleu\"",
         "\"1" ONE_BEST ",\"2" ONE_BEST ",\"3" ONE_BEST ",\"4" ONE_BEST ",\"5" ONE_BEST
         ",\"6" ONE_BEST ",\"7" ONE_BEST ",\"8" ONE_BEST ",\"9\"",
         "expected metrics"},
        {"{\"update\"", "{\"format\": 0, \"update\"", "expected a checksum in line 2, got none"},
        {"{\"update\"", "{\"format\": \"1\", \"update\"", "expected a checksum in line 2"},
        {"{\"update\"", "{\"format\": 2, \"update\"", "expected a checksum in line 2, got none"},
        {"\"seconds\": 1,", "\"seconds\": 1;", "expected '}', got ';'"},
        {"\"settings\"", "\"sett\xffings\"", "changed: expected UTF-8, got other bytes"},
    };
    wg_progress p;
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        write_replaced(cases[i].from, cases[i].to);
        wg_status status = read_as("changed", &settings, &p);
        check_that(status == WG_EDATA, "status %d of %s", status, cases[i].to);
        check_that(strstr(error.text, cases[i].message) != NULL, "expected '%s', got '%s'",
                   cases[i].message, error.text);
    }
    write_replaced("{\"update\"", "{\"format\": 3, \"update\"");
    assert_int_equal(read_as("changed", &settings, &p), WG_EUNSUPPORTED);
    check_that(strstr(error.text, "a later version of wengert wrote it, in format 3") != NULL, "%s",
               error.text);
    static const char *const no_objects[] = {"", "[]", "7", "{"};
    for (size_t i = 0; i < WG_COUNT(no_objects); i++) {
        write_text("changed", no_objects[i]);
        assert_int_equal(read_as("changed", NULL, &p), WG_EDATA);
    }
    assert_int_equal(read_as("missing", NULL, &p), WG_EIO);
    check_that(strstr(error.text, "missing: open: No such file") != NULL, "%s", error.text);
}

static void a_huge_file_is_not_read(void **state)
{
    (void)state;
    wg_progress p;
    FILE *f = fopen(path_of("huge"), "wb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 1 << 24, SEEK_SET), 0);
    assert_int_equal(fputc('}', f), '}');
    assert_int_equal(fclose(f), 0);
    assert_int_equal(read_as("huge", NULL, &p), WG_EDATA);
    check_that(strstr(error.text, "expected at most 16777216 bytes, got 16777217") != NULL, "%s",
               error.text);
}

/* ---- checksums ------------------------------------------------------------------------------- */

static void damage_is_noticed(void **state)
{
    (void)state;
    wg_progress p = some_progress(), q;
    size_t size;
    assert_int_equal(wgi_progress_write(&p, &settings, path_of("good"), &error), WG_OK);
    char *bytes = read_bytes(path_of("good"), &size);
    for (size_t i = 0; i < size; i += i < 40 ? 1 : 7) {
        bytes[i] ^= 4;
        write_bytes("damaged", bytes, size);
        bytes[i] ^= 4;
        assert_int_equal(read_as("damaged", &settings, &q), WG_EDATA);
        bool in_head = i < strlen("{\n  \"xxh64\": \"");
        check_that(in_head || strstr(error.text, "it is damaged: its checksum is another one"),
                   "byte %zu: %s", i, error.text);
    }
    for (size_t cut = 1; cut < size; cut += 5) { /* down to the beginning */
        write_bytes("damaged", bytes, size - cut);
        assert_int_equal(read_as("damaged", &settings, &q), WG_EDATA);
    }
    free(bytes);
}

/* ---- without memory -------------------------------------------------------------------------- */

static wg_status write_and_read(void *unused)
{
    (void)unused;
    wg_progress p = some_progress(), q;
    wg_status status = wgi_progress_write(&p, &settings, path_of("memory"), &error);
    if (status == WG_OK)
        status = wgi_progress_read(&q, &settings, path_of("memory"), &error);
    if (status == WG_OK)
        assert_memory_equal(q.files, p.files, sizeof p.files);
    return status;
}

static void failed_allocations_are_a_status(void **state)
{
    (void)state;
    assert_in_range(fail_each("progress", write_and_read, NULL, WG_OK), 5, 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(other_settings_are_named),
        cmocka_unit_test(files_of_format_1_are_read),
        cmocka_unit_test(malformed_files_are_refused),
        cmocka_unit_test(a_huge_file_is_not_read),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(failed_allocations_are_a_status),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
