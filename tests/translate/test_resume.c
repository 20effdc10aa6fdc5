/* Resuming: an older checkpoint is taken if the newer one is damaged, and for no other reason. */
#include "files/checksum.h"

#define CHECKPOINT_FOLDER "resume_folder"
#include "tests/checkpoints.h"

#include "train/progress.h"

#include <math.h>

/* A checkpoint that is damaged in any of its files is passed over, and it is said which file it
 * was. */
static void a_damaged_checkpoint_is_replaced_by_the_previous_one(void **state)
{
    static const char *const files[] = {"model-00000002.safetensors",
                                        "average-00000002.safetensors",
                                        "optimizer-00000002.safetensors", "progress-00000002.json"};
    for (int i = 0; i < 4; i++)
        for (int way = 0; way < 3; way++) { /* another byte, shorter, away */
            must_save(*state, 1, 0);
            must_save(*state, 2, 0);
            char *path = wg_folder_path(folder, "checkpoints/%s", files[i]);
            struct stat st;
            assert_int_equal(stat(path, &st), 0);
            FILE *f = fopen(path, "r+b");
            assert_int_equal(fseek(f, way ? 0 : st.st_size / 2, SEEK_SET), 0);
            assert_int_equal(way ? 0 : fputc('\1', f) == EOF, 0);
            fclose(f);
            assert_int_equal(way == 1   ? truncate(path, st.st_size / 2)
                             : way == 2 ? unlink(path)
                                        : 0,
                             0);
            assert_int_equal(restored(), 1);
            bool told = strstr(error.warning, files[i]);
            check_that(told || (i == 3 && way == 2), "%s, way %d: %s", files[i], way,
                       error.warning);
            free(path);
            assert_int_equal(restored(), 1); /* and now without a word */
            assert_string_equal(error.warning, "");
        }
}

/* What was passed over is not lost. */
static void what_is_damaged_is_moved_away(void **state)
{
    for (int64_t update = 1; update <= 3; update++)
        must_save(*state, update, 0);
    size_t size;
    char *bytes = contents(folder, "checkpoints/model-00000003.safetensors", &size);
    bytes[size - 1] ^= 1;
    put_file("checkpoints/model-00000003.safetensors", bytes, size);
    put_file("checkpoints/optimizer-00000004.safetensors", "begun", 5); /* and never completed */
    assert_int_equal(restored(), 2);
    check_that(strstr(error.warning,
                      "model-00000003.safetensors: tensor a/weight is damaged: expected the "
                      "checksum ") &&
                   strstr(error.warning, "moved to checkpoints/damaged"),
               "%s", error.warning);
    static const char *const moved[] = {"model-00000003.safetensors",
                                        "average-00000003.safetensors",
                                        "optimizer-00000003.safetensors", "progress-00000003.json"};
    for (int i = 0; i < WG_COUNT(moved); i++) {
        char name[80];
        snprintf(name, sizeof name, "checkpoints/%s", moved[i]);
        assert_false(has(name));
        snprintf(name, sizeof name, "checkpoints/damaged/%s", moved[i]);
        assert_true(has(name));
    }
    size_t n;
    char *kept = contents(folder, "checkpoints/damaged/model-00000003.safetensors", &n);
    assert_true(n == size && memcmp(kept, bytes, n) == 0);
    free(kept);
    free(bytes);
    assert_false(has("checkpoints/optimizer-00000004.safetensors"));
    assert_int_equal(wg_checkpoint_clear(folder, &options, &error), WG_OK);
    assert_false(has("checkpoints"));
}

/* A failure that may pass is no reason to go on from an older checkpoint. */
static void a_failure_to_read_is_an_error_and_changes_nothing(void **state)
{
    static const struct {
        int what, error;
        wg_status status;
    } cases[] = {{READING, EIO, WG_EIO},
                 {READING, EMFILE, WG_EIO},
                 {READING, EACCES, WG_EIO},
                 {READING, ENOMEM, WG_ENOMEM},
                 {MEMORY, 0, WG_ENOMEM}};
    int total = 0;
    for (int c = 0; c < WG_COUNT(cases); c++)
        for (int way = ONCE; way <= FROM_THEN_ON; way++) {
            int failed = 0;
            remove_folder(folder);
            must_save(*state, 1, 0);
            must_save(*state, 2, 0);
            for (long at = 1;; at += SANITIZED ? 3 : 1) {
                wg_progress p;
                wg_store *s = new_store();
                world.error = cases[c].error;
                world.at = at;
                world.calls = 0;
                world.way = way;
                world.what = cases[c].what;
                wg_status status = wg_checkpoint_load(folder, s, &p, &options, &error);
                world.what = 0;
                wg_store_free(s);
                failed += status != WG_OK;
                check_that(status == WG_OK ||
                               (status == cases[c].status && strstr(error.text, folder)),
                           "case %d, call %ld: status %d: %s", c, at, status, error.text);
                check_that(status != WG_OK || (p.update == 2 && !*error.warning),
                           "case %d, call %ld: update %d, %s", c, at, (int)p.update, error.warning);
                assert_int_equal(restored(), 2);
                assert_string_equal(error.warning, "");
                if (status == WG_OK && world.calls < at)
                    break;
            }
            check_that(failed > (SANITIZED ? 5 : 15), "only %d calls failed", failed);
            total += failed;
        }
    print_message("%d failing calls\n", total);
}

/* Whatever part of progress.json there is no memory for, it is said; and nothing is taken for
 * damage. */
static void json_without_memory_is_not_a_damaged_checkpoint(void **state)
{
    must_save(*state, 1, 0);
    must_save(*state, 2, 0);
    char *path = wg_folder_path(folder, "checkpoints/progress-00000002.json");
    for (int way = ONCE; way <= FROM_THEN_ON; way++) {
        int failed = 0;
        for (long at = 1;; at++) {
            wg_progress p;
            world.at = at;
            world.calls = 0;
            world.way = way;
            world.what = MEMORY;
            wg_status status = wgi_progress_read(&p, &options, path, &error);
            world.what = 0;
            check_that(status == WG_ENOMEM || (status == WG_OK && p.update == 2), "call %ld: %s",
                       at, error.text);
            failed += status != WG_OK;
            if (world.calls < at)
                break;
        }
        check_that(failed >= 2, "only %d failures", failed); /* the bytes, and their values */
    }
    free(path);
    assert_int_equal(restored(), 2);
}

static wg_status has_progress(bool *is_there)
{
    return wg_folder_has(folder, WG_FILE_PROGRESS, is_there, &error);
}

static wg_status has_vocabularies(bool *is_there)
{
    return wg_vocabularies_exist(folder, is_there, &error);
}

static wg_status has_run(bool *is_there)
{
    return wg_checkpoint_exists(folder, is_there, &error);
}

/* Whatever fails, the answer to whether something is there that is there is yes or an error. */
static void what_is_there_is_never_overlooked(void **state)
{
    wg_status (*const questions[])(bool *) = {has_run, has_progress, has_vocabularies};
    must_save(*state, 1, 0);
    put_file("vocab.source.txt", "source", 6);
    static const int whats[] = {READING, MEMORY};
    int failed[3] = {0};
    for (int q = 0; q < 3; q++)
        for (int what = 0; what < 2; what++)
            for (int way = ONCE; way <= FROM_THEN_ON; way++)
                for (long at = 1; at < 30; at++) {
                    bool is_there;
                    world.error = EIO;
                    world.at = at;
                    world.calls = 0;
                    world.way = way;
                    world.what = whats[what];
                    wg_status status = questions[q](&is_there);
                    world.what = 0;
                    check_that(status != WG_OK || is_there, "%d, call %ld: overlooked", q, at);
                    failed[q] += status != WG_OK;
                }
    assert_true(failed[0] >= 6 && failed[1] >= 4 && failed[2] >= 6);
}

/* ---- files of format 1 ----------------------------------------------------------------------- */

/* Makes blanks of the metadata, which is all that checksums add to a file. */
static void drop_checksums(const char *name)
{
    size_t size;
    char *bytes = contents(folder, name, &size);
    uint64_t header;
    memcpy(&header, bytes, 8);
    char *data = bytes + 8 + header, *end = memchr(bytes + 8, '}', header);
    end++;
    assert_true(strncmp(bytes + 8, "{\"__metadata__\":{", 17) == 0 && *end == ',');
    memset(bytes + 9, ' ', (size_t)(end + 1 - (bytes + 9)));
    assert_true(bytes[8] == '{' && data < bytes + size);
    put_file(name, bytes, size);
    free(bytes);
}

/* The hash of a file's tensors that format 1 has. */
static uint64_t old_hash(const wg_store *s, int from, int to, size_t cut)
{
    uint64_t h = 0;
    for (int t = from; t < to; t++) {
        h = wgi_xxh64(names[t] + cut, strlen(names[t]) - cut, h);
        h = wgi_xxh64(wg_store_find(s, names[t])->data, SIZE * sizeof(float), h);
    }
    return h;
}

/* Takes the line with that beginning out of the text. */
static void drop_line(char *text, const char *begins)
{
    char *line = strstr(text, begins);
    assert_non_null(line);
    char *next = strchr(line, '\n') + 1;
    memmove(line, next, strlen(next) + 1);
}

/* Turns checkpoint N into one as the version before checksums wrote it. */
static void make_old(const wg_store *s, int n)
{
    static const struct {
        const char *stem, *key;
        int from, to;
        size_t cut;
    } files[] = {{"model", "\"model-file\": \"", 0, 2, 0},
                 {"average", "\"average-file\": \"", 2, 4, sizeof "average/" - 1},
                 {"optimizer", "\"optimizer-file\": \"", 4, 5, 0}};
    char name[80];
    size_t size;
    snprintf(name, sizeof name, "checkpoints/progress-%08d.json", n);
    char *text = contents(folder, name, &size);
    drop_line(text, "  \"xxh64\"");
    drop_line(text, "  \"format\"");
    for (int i = 0; i < 3; i++) {
        char file[80], hash[20];
        snprintf(file, sizeof file, "checkpoints/%s-%08d.safetensors", files[i].stem, n);
        drop_checksums(file);
        snprintf(hash, sizeof hash, "%016llx",
                 (unsigned long long)old_hash(s, files[i].from, files[i].to, files[i].cut));
        char *at = strstr(text, files[i].key);
        assert_non_null(at);
        memcpy(at + strlen(files[i].key), hash, 16);
    }
    put_file(name, text, strlen(text));
    free(text);
}

static void checkpoints_without_checksums_are_still_read(void **state)
{
    must_save(*state, 1, 0);
    must_save(*state, 2, 0);
    make_old(*state, 2);
    assert_int_equal(restored(), 2);
    assert_string_equal(error.warning, "");
    must_save(*state, 3, 0);
    assert_int_equal(restored(), 3);
}

/* An earlier version may have saved them. */
static void a_checkpoint_that_is_not_finite_is_passed_over(void **state)
{
    must_save(*state, 1, 0);
    must_save(*state, 2, 0);
    const char *name = "checkpoints/optimizer-00000002.safetensors";
    size_t size;
    float inf = INFINITY;
    char *bytes = contents(folder, name, &size);
    memcpy(bytes + size - sizeof inf, &inf, sizeof inf);
    put_file(name, bytes, size);
    free(bytes);
    ((float *)wg_store_find(*state, names[4])->data)[SIZE - 1] = inf;
    make_old(*state, 2);
    assert_int_equal(restored(), 1);
    check_that(strstr(error.warning, "optimizer-00000002.safetensors: tensor optimizer/m/a/weight: "
                                     "element 39999 is infinite"),
               "%s", error.warning);
}

static void a_later_format_is_refused(void **state)
{
    must_save(*state, 1, 0);
    must_save(*state, 2, 0);
    static const char later[] = "{\"format\": 3}";
    put_file("checkpoints/progress-00000002.json", later, sizeof later - 1);
    wg_store *s = new_store();
    wg_progress p;
    assert_int_equal(wg_checkpoint_load(folder, s, &p, &options, &error), WG_EUNSUPPORTED);
    check_that(strstr(error.text, "a later version of wengert wrote it, in format 3") != NULL, "%s",
               error.text);
    assert_true(has("checkpoints/progress-00000002.json"));
    wg_store_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_damaged_checkpoint_is_replaced_by_the_previous_one),
        test(what_is_damaged_is_moved_away),
        test(a_failure_to_read_is_an_error_and_changes_nothing),
        test(json_without_memory_is_not_a_damaged_checkpoint),
        test(what_is_there_is_never_overlooked),
        test(checkpoints_without_checksums_are_still_read),
        test(a_checkpoint_that_is_not_finite_is_passed_over),
        test(a_later_format_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
