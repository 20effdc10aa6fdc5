/* Checkpoints: whatever fails while one is written, and wherever the process dies, the last one is
 * whole and is what a training goes on with; and nobody else's files are touched. */
#define CHECKPOINT_FOLDER "checkpoint_folder"
#include "tests/checkpoints.h"
#include "train/checkpoint_files.h"

#include <math.h>

static void the_last_checkpoints_are_kept(void **state)
{
    wg_store *s = *state;
    assert_false(exists());
    for (int64_t update = 1; update <= 6; update++)
        must_save(s, update, 4);
    assert_true(exists());
    assert_int_equal(restored(), 6);
    for (int64_t n = 1; n <= 6; n++) {
        char model[60], optimizer[60], average[60], progress[60];
        snprintf(model, sizeof model, "checkpoints/model-%08d.safetensors", (int)n);
        snprintf(optimizer, sizeof optimizer, "checkpoints/optimizer-%08d.safetensors", (int)n);
        snprintf(average, sizeof average, "checkpoints/average-%08d.safetensors", (int)n);
        snprintf(progress, sizeof progress, "checkpoints/progress-%08d.json", (int)n);
        bool whole = n > 4;
        assert_int_equal(has(model), n > 2);
        assert_true(has(optimizer) == whole && has(average) == whole && has(progress) == whole);
    }
    char **paths;
    size_t n;
    assert_int_equal(wg_checkpoint_models(folder, 3, &paths, &n, &error), WG_OK);
    assert_int_equal(n, 3);
    assert_string_equal(paths[0], "checkpoint_folder/checkpoints/model-00000004.safetensors");
    assert_string_equal(paths[2], "checkpoint_folder/checkpoints/model-00000006.safetensors");
    for (size_t i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
    assert_int_equal(wg_checkpoint_clear(folder, &options, &error), WG_OK);
    assert_false(exists());
    assert_int_equal(wg_checkpoint_models(folder, 3, &paths, &n, &error), WG_EIO);
    assert_null(paths);
}

static void no_memory_to_list_models(void **state)
{
    wg_store *s = *state;
    for (int update = 1; update <= 3; update++)
        assert_int_equal(save_as(s, update, 3, WG_CHECKPOINT_DUE), WG_OK);
    char **paths;
    size_t n;
    long at = 0;
    wg_status status;
    do {
        world.what = MEMORY;
        world.way = ONCE;
        world.at = ++at;
        world.calls = 0;
        status = wg_checkpoint_models(folder, 3, &paths, &n, &error);
        world.what = 0;
        if (status != WG_OK) {
            check_that(status == WG_ENOMEM && strstr(error.text, "no memory"), "call %ld: %s", at,
                       error.text);
            assert_null(paths);
            assert_int_equal(n, 0);
        }
    } while (status != WG_OK);
    assert_true(at > 5); /* path of the folder, numbers, list, three paths: each failed once */
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
}

/* The numbers of the models that the mean of the last `most` is of, as "5 10 15 ". */
static const char *models(size_t max)
{
    static char text[200];
    char **paths;
    size_t n, used = 0;
    if (wg_checkpoint_models(folder, max, &paths, &n, &error) != WG_OK)
        return "none";
    for (size_t i = 0; i < n; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%d ",
                                 atoi(strrchr(paths[i], '-') + 1));
        free(paths[i]);
    }
    free(paths);
    return text;
}

/* Where a training was interrupted it goes on from, but no mean is over it, and it takes no other's
 * place. */
static void checkpoints_of_interrupted_runs_do_not_count_as_kept_ones(void **state)
{
    static const struct {
        int update;
        bool stopped;
        const char *models; /* of keep 3 then */
    } saves[] = {{3, true, "none"},       {5, false, "5 "},        {7, true, "5 "},
                 {8, true, "5 "},         {10, false, "5 10 "},    {12, true, "5 10 "},
                 {15, false, "5 10 15 "}, {16, true, "5 10 15 "},  {17, true, "5 10 15 "},
                 {18, true, "5 10 15 "},  {20, false, "10 15 20 "}};
    wg_store *s = *state;
    for (size_t i = 0; i < WG_COUNT(saves); i++) {
        wg_checkpoint_reason reason = saves[i].stopped ? WG_CHECKPOINT_STOPPED : WG_CHECKPOINT_DUE;
        check_that(save_as(s, saves[i].update, 3, reason) == WG_OK, "%s", error.text);
        assert_int_equal(restored(), saves[i].update);
        assert_string_equal(models(9), saves[i].models);
        for (size_t k = 0; k <= i; k++) { /* the last two are whole */
            char name[60];
            snprintf(name, sizeof name, "checkpoints/stopped-%08d.safetensors", saves[k].update);
            assert_int_equal(has(name), saves[k].stopped && k + 2 > i);
        }
    }
    assert_string_equal(models(2), "15 20 ");
    assert_int_equal(wg_checkpoint_clear(folder, &options, &error), WG_OK);
    assert_false(has("checkpoints/stopped-00000018.safetensors"));
    /* a file left by a process that died is not the checkpoint's */
    assert_int_equal(save_as(s, 5, 3, WG_CHECKPOINT_STOPPED), WG_OK);
    must_save(s, 5, 3);
    assert_false(has("checkpoints/stopped-00000005.safetensors"));
    assert_string_equal(models(9), "5 ");
}

/* The folder's own files are the checkpoint's: parameters, and averages by the names of
 * parameters. */
static void check_published(void)
{
    static const struct {
        const char *file;
        int tensor, n;
        const char *name;
    } files[] = {{WG_FILE_MODEL, 0, 2, "b/weight"},
                 {WG_FILE_AVERAGE, 2, 2, "b/weight"},
                 {WG_FILE_OPTIMIZER, 4, 1, "optimizer/m/a/weight"}};
    for (int i = 0; i < 3; i++) {
        wg_safetensors *f;
        char *path = wg_folder_path(folder, "%s", files[i].file);
        check_that(wg_safetensors_open(&f, path, &error) == WG_OK, "%s", error.text);
        assert_int_equal(wg_safetensors_count(f), files[i].n);
        float x;
        memcpy(&x, wg_safetensors_find(f, files[i].name)->data, sizeof x);
        assert_true(x == number(7, files[i].tensor, 0));
        wg_safetensors_close(f);
        free(path);
    }
}

static void the_folder_holds_the_last_checkpoint(void **state)
{
    for (int links = 0; links < 2; links++) {
        world.no_links = !links;
        must_save(*state, 6, 0);
        must_save(*state, 7, 0);
        must_save(*state, 7, 0); /* the same names for the same files */
        world.no_links = false;
        check_published();
        assert_true(has(WG_FILE_PROGRESS));
        DIR *d = opendir(folder);
        for (struct dirent *e; (e = readdir(d));)
            check_that(!strstr(e->d_name, ".tmp"), "%s is left", e->d_name);
        closedir(d);
    }
}

static void what_is_not_finite_is_not_saved(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    must_save(*state, 1, 0);
    for (int t = 0; t < TENSORS; t++)
        for (int i = 0; i < 3; i++) {
            wg_progress p = {.update = 2};
            fill(*state, 2);
            ((float *)wg_store_find(*state, names[t])->data)[SIZE - 1 - i * 5000] = bad[i];
            wg_status status =
                wg_checkpoint_save(folder, *state, &p, &options, WG_CHECKPOINT_DUE, &error);
            char expected[80];
            snprintf(expected, sizeof expected, "eight: element %d is %s", SIZE - 1 - i * 5000,
                     i ? "infinite" : "NaN");
            check_that(status == WG_ENONFINITE && strstr(error.text, expected) &&
                           strstr(error.text, "update 2 is not saved"),
                       "status %d: %s", status, error.text);
            assert_int_equal(restored(), 1);
        }
}

static void files_of_others_stay(void **state)
{
    static const char *const foreign[] = {
        "notes.tmp-2024.txt",         "best-friends.txt",      "best-before.safetensors",
        "average-3.safetensors",      "model-1.safetensors",   "checkpoints/notes.tmp-2024.txt",
        "checkpoints/model-1.backup", "checkpoints/best-1.txt"};
    must_save(*state, 1, 0);
    for (int i = 0; i < WG_COUNT(foreign); i++)
        put_file(foreign[i], "mine", 4);
    put_file(".wengert-0123456789abcdef.tmp", "of a dead process", 17);
    put_file("best-bleu.safetensors", "ours", 4);
    for (int64_t update = 2; update <= 5; update++)
        must_save(*state, update, 0);
    assert_false(has(".wengert-0123456789abcdef.tmp"));
    assert_true(has("best-bleu.safetensors"));
    assert_int_equal(wg_checkpoint_clear(folder, &options, &error), WG_OK);
    for (int i = 0; i < WG_COUNT(foreign); i++)
        check_that(has(foreign[i]), "%s is gone", foreign[i]);
    assert_false(has("best-bleu.safetensors"));
}

static void a_failed_save_leaves_the_previous_checkpoint(void **state)
{
    static const int whats[] = {FILES, MEMORY};
    int total = 0;
    for (int what = 0; what < 2; what++)
        for (int way = ONCE; way <= FROM_THEN_ON; way++) {
            int failed = 0;
            remove_folder(folder);
            must_save(*state, 1, 0);
            for (long at = 1;; at++) {
                world.at = at;
                world.calls = 0;
                world.way = way;
                world.what = whats[what];
                error.text[0] = '\0';
                wg_status status = save(*state, 2, 0);
                world.what = 0;
                if (status == WG_OK && world.calls < at)
                    break;
                failed += status != WG_OK;
                check_that(status == WG_OK || (status == (what ? WG_ENOMEM : WG_EIO) &&
                                               strstr(error.text, folder)),
                           "call %ld: status %d: %s", at, status, error.text);
                int64_t update = restored(); /* 2: the checkpoint was whole when the call failed */
                check_that(update == 1 || update == 2, "%d", (int)update);
                if (update == 2) {
                    remove_folder(folder);
                    must_save(*state, 1, 0);
                }
            }
            check_that(failed > 10, "only %d calls failed", failed);
            total += failed;
        }
    print_message("%d failing calls\n", total);
}

/* The process dies before its N-th call. */
static void a_killed_save_leaves_the_previous_checkpoint(void **state)
{
    int died = 0, of_old = 0, of_new = 0;
    must_save(*state, 1, 0);
    for (long at = 1;; at++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            world.at = at;
            world.calls = 0;
            world.way = DIES;
            world.what = FILES;
            _exit(save(*state, 2, 0) != WG_OK);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), 0);
            break;
        }
        died++;
        int64_t update = restored();
        of_old += update == 1;
        of_new += update == 2;
        remove_folder(folder);
        must_save(*state, 1, 0);
    }
    assert_int_equal(restored(), 2);
    check_that(of_old > 10 && of_new > 5 && of_old + of_new == died, "%d old, %d new of %d", of_old,
               of_new, died);
}

static void a_full_disk_is_reported(void **state)
{
    must_save(*state, 1, 0);
    struct rlimit old, small = {0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_cur = 100000;
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    wg_status status = save(*state, 2, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, WG_EIO);
    check_that(strstr(error.text, "model-00000002.safetensors") &&
                   strstr(error.text, "File too large"),
               "%s", error.text);
    assert_int_equal(restored(), 1);
}

static void parameters_and_averages_change_places(void **state)
{
    fill(*state, 3);
    const float *a = wg_store_find(*state, names[1])->data,
                *average = wg_store_find(*state, names[3])->data;
    wg_checkpoint_swap_averages(*state);
    assert_true(a[7] == number(3, 3, 7) && average[7] == number(3, 1, 7));
    wg_checkpoint_swap_averages(*state);
    assert_true(a[SIZE - 1] == number(3, 1, SIZE - 1) &&
                average[SIZE - 1] == number(3, 3, SIZE - 1));
}

/* As a run saves, at any moment after it has looked for its folder. */
static void a_folder_that_is_renamed_meanwhile_is_not_made_anew(void **state)
{
    static const char away[] = "checkpoint_folder_elsewhere";
    wg_progress p = {.update = 2};
    must_save(*state, 1, 0);
    assert_int_equal(rename(folder, away), 0);
    fill(*state, 2);
    assert_int_equal(wgi_checkpoint_save(folder, *state, &p, &options, WG_CHECKPOINT_DUE, &error),
                     WG_EIO);
    check_that(strstr(error.text, "checkpoint_folder/checkpoints: make the folder: No such file"),
               "%s", error.text);
    assert_int_equal(access(folder, F_OK), -1);
    assert_int_equal(rename(away, folder), 0);
    assert_int_equal(restored(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(the_last_checkpoints_are_kept),
        test(no_memory_to_list_models),
        test(checkpoints_of_interrupted_runs_do_not_count_as_kept_ones),
        test(the_folder_holds_the_last_checkpoint),
        test(what_is_not_finite_is_not_saved),
        test(files_of_others_stay),
        test(a_failed_save_leaves_the_previous_checkpoint),
        test(a_killed_save_leaves_the_previous_checkpoint),
        test(a_full_disk_is_reported),
        test(parameters_and_averages_change_places),
        test(a_folder_that_is_renamed_meanwhile_is_not_made_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
