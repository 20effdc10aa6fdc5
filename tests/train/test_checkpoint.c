/* Checkpoints: whatever fails while one is written, and wherever the process dies, the last one is
 * whole and is what a training goes on with. */
#include "tests/training.h"
#include "files/checksum.h"
#include "wengert/train/checkpoint.h"
#include "train/step.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- a world in which the N-th call to the system or for memory fails ------------------------ */

enum { ONCE = 0, FROM_THEN_ON, DIES, WAYS };
enum { FILES = 1, MEMORY = 2, READING = 4, JSON = 8 };
static struct {
    int what; /* of these; 0: nothing fails  */
    long at, calls;
    int way, error; /* errno of READING */
    bool no_links;  /* the file system has no hard links */
} world;

static bool fails(int what)
{
    if (!(world.what & what))
        return false;
    world.calls++;
    if (world.way == DIES && world.calls == world.at)
        raise(SIGKILL);
    return world.way == FROM_THEN_ON ? world.calls >= world.at : world.calls == world.at;
}

#define WRAP(name, parameters, ...)                                                                \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters                                                                   \
    {                                                                                              \
        return fails(FILES) ? (errno = EIO, -1) : __real_##name(__VA_ARGS__);                      \
    }
WRAP(rename, (const char *from, const char *to), from, to)

/* The machine stays up: nothing need reach the disk, which would take most of the time. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd;
    return fails(FILES) ? (errno = EIO, -1) : 0;
}

int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to)
{
    bool fail = fails(FILES) || world.no_links;
    return fail ? (errno = world.no_links ? EPERM : EIO, -1) : __real_link(from, to);
}

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (!fails(FILES))
        return __real_write(fd, bytes, size);
    __real_write(fd, bytes, size / 2); /* some of it arrived */
    errno = EIO;
    return -1;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int result = __real_close(fd);
    return fails(FILES) ? (errno = EIO, -1) : result;
}

#define WRAP_ALLOCATION(name, parameters, ...)                                                     \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        return fails(MEMORY) ? NULL : __real_##name(__VA_ARGS__);                                  \
    }
WRAP_ALLOCATION(malloc, (size_t n), n)
WRAP_ALLOCATION(calloc, (size_t n, size_t m), n, m)
WRAP_ALLOCATION(realloc, (void *p, size_t n), p, n)

/* What reading and looking for files calls. */
#define WRAP_READING(type, name, parameters, failure, ...)                                         \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails(READING) ? (errno = world.error, failure) : __real_##name(__VA_ARGS__);       \
    }
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    unsigned mode = flags & O_CREAT ? va_arg(list, unsigned) : 0;
    va_end(list);
    return fails(READING) ? (errno = world.error, -1) : __real_open(path, flags, mode);
}
WRAP_READING(int, stat, (const char *path, struct stat *s), -1, path, s)
WRAP_READING(int, fstat, (int fd, struct stat *s), -1, fd, s)
WRAP_READING(ssize_t, read, (int fd, void *bytes, size_t size), -1, fd, bytes, size)
WRAP_READING(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t from),
             MAP_FAILED, at, n, prot, flags, fd, from)
WRAP_READING(DIR *, opendir, (const char *path), NULL, path)
WRAP_READING(struct dirent *, readdir, (DIR * d), NULL, d)

/* jansson allocates by this. */
static void *json_malloc(size_t n)
{
    return fails(JSON) ? NULL : __real_malloc(n);
}

/* ---- a store whose numbers tell of which update it is ---------------------------------------- */

static const char folder[] = "checkpoint_folder";
static wg_error error;
static wg_settings settings;

enum { SIZE = 40000 }; /* more than the writer's buffer holds */
static const char *const names[] = {"a/weight", "b/weight", WG_STATES_OF_AVERAGE "a/weight",
                                    WG_STATES_OF_AVERAGE "b/weight",
                                    WG_STATES_OF_OPTIMIZER "m/a/weight"};
enum { TENSORS = WG_COUNT(names) };

static wg_store *new_store(void)
{
    wg_store *s = wg_store_new(1);
    wg_shape shape = WG_SHAPE(SIZE);
    for (int i = 0; i < TENSORS; i++)
        assert_int_equal(wg_store_add(s, names[i], WG_F32, &shape, NULL), WG_OK);
    return s;
}

static float number(int64_t update, int tensor, int i)
{
    return (float)(update * 1000 + tensor * 100 + i % 100);
}

static void fill(wg_store *s, int64_t update)
{
    for (int t = 0; t < TENSORS; t++)
        for (int i = 0; i < SIZE; i++)
            ((float *)wg_store_find(s, names[t])->data)[i] = number(update, t, i);
}

static wg_status save_as(wg_store *s, int64_t update, int64_t keep, wg_checkpoint_reason reason)
{
    wg_progress p = {.update = update,
                     .cursor = {1, update},
                     .tokens = 100 * update,
                     .seconds = 1.0 / 3,
                     .n_best = 1};
    p.best[0] = (wg_best){"bleu", 0.1, update - 1};
    fill(s, update);
    settings.keep = keep;
    return wg_checkpoint_save(folder, s, &p, &settings, reason, &error);
}

static wg_status save(wg_store *s, int64_t update, int64_t keep)
{
    return save_as(s, update, keep, WG_CHECKPOINT_DUE);
}

static void must_save(wg_store *s, int64_t update, int64_t keep)
{
    check_that(save(s, update, keep) == WG_OK, "%s", error.text);
}

/* The update of the checkpoint that is restored, which must be whole. */
static int64_t restored(void)
{
    wg_store *s = new_store();
    wg_progress p;
    wg_status status = wg_checkpoint_load(folder, s, &p, &settings, &error);
    check_that(status == WG_OK, "%s", error.text);
    for (int t = 0; t < TENSORS; t++)
        for (int i = 0; i < SIZE; i++)
            check_that(((float *)wg_store_find(s, names[t])->data)[i] == number(p.update, t, i),
                       "update %d: %s[%d]", (int)p.update, names[t], i);
    assert_true(p.cursor.epoch == 1 && p.cursor.group == p.update && p.tokens == 100 * p.update);
    assert_true(p.seconds == 1.0 / 3 && p.n_best == 1 && p.best[0].value == 0.1 &&
                p.best[0].update == p.update - 1);
    assert_string_equal(p.best[0].metric, "bleu");
    wg_store_free(s);
    return p.update;
}

static int begin(void **state)
{
    world.what = 0;
    remove_folder(folder);
    settings = small_training(folder, "");
    *state = new_store();
    return 0;
}

static int end(void **state)
{
    wg_store_free(*state);
    wg_settings_free(&settings);
    remove_folder(folder);
    return 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static bool has(const char *name)
{
    char *path = wg_folder_path(folder, "%s", name);
    bool is_there = access(path, F_OK) == 0;
    free(path);
    return is_there;
}

static void put_file(const char *name, const void *bytes, size_t size)
{
    char *path = wg_folder_path(folder, "%s", name);
    unlink(path); /* other names of the same file keep their contents */
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static bool exists(void)
{
    bool is_there;
    check_that(wg_checkpoint_exists(folder, &is_there, &error) == WG_OK, "%s", error.text);
    return is_there;
}

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
    assert_int_equal(wg_checkpoint_clear(folder, &error), WG_OK);
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
    assert_int_equal(wg_checkpoint_clear(folder, &error), WG_OK);
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
    } files[] = {{WG_FILE_MODEL, 0, 2, "a/weight"},
                 {WG_FILE_AVERAGE, 2, 2, "a/weight"},
                 {WG_FILE_OPTIMIZER, 4, 1, WG_STATES_OF_OPTIMIZER "m/a/weight"}};
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
                      "model-00000003.safetensors: tensor b/weight is damaged: expected the "
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
    assert_int_equal(wg_checkpoint_clear(folder, &error), WG_OK);
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
    for (int c = 0; c < WG_COUNT(cases); c++)
        for (int way = ONCE; way <= FROM_THEN_ON; way++) {
            int failed = 0;
            remove_folder(folder);
            must_save(*state, 1, 0);
            must_save(*state, 2, 0);
            for (long at = 1;; at++) {
                wg_progress p;
                wg_store *s = new_store();
                world.error = cases[c].error;
                world.at = at;
                world.calls = 0;
                world.way = way;
                world.what = cases[c].what;
                wg_status status = wg_checkpoint_load(folder, s, &p, &settings, &error);
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
            check_that(failed > 15, "only %d calls failed", failed);
        }
}

/* jansson may end the process by an assertion; else the status is right. */
static int load_without_json(long at, int way)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        wg_progress p;
        wg_store *s = new_store();
        struct rlimit no_core = {0};
        setrlimit(RLIMIT_CORE, &no_core);
        __real_close(STDERR_FILENO);
        world.at = at;
        world.calls = 0;
        world.way = way;
        world.what = JSON;
        wg_status status = wg_checkpoint_load(folder, s, &p, &settings, &error);
        bool right = status == WG_ENOMEM || (status == WG_OK && p.update == 2 && !*error.warning);
        _exit(!right ? 1 : status == WG_OK && world.calls < at ? 3 : 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    check_that(WIFEXITED(status) || WTERMSIG(status) == SIGABRT, "signal %d", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void json_without_memory_is_not_a_damaged_checkpoint(void **state)
{
    must_save(*state, 1, 0);
    must_save(*state, 2, 0);
    for (int way = ONCE; way <= FROM_THEN_ON; way++) {
        int right = 0, outcome = 2;
        for (long at = 1; outcome != 3; at++) {
            outcome = load_without_json(at, way);
            check_that(outcome != 1, "allocation %ld: an older checkpoint was taken", at);
            right += outcome == 2;
        }
        check_that(right > 50, "only %d failures came back", right);
    }
    assert_int_equal(restored(), 2);
}

/* Whatever fails, the answer to whether there is a run to resume is yes or an error. */
static void a_run_to_resume_is_never_overlooked(void **state)
{
    must_save(*state, 1, 0);
    static const int whats[] = {READING, MEMORY};
    int failed = 0;
    for (int what = 0; what < 2; what++)
        for (int way = ONCE; way <= FROM_THEN_ON; way++)
            for (long at = 1; at < 40; at++) {
                bool is_there;
                world.error = EIO;
                world.at = at;
                world.calls = 0;
                world.way = way;
                world.what = whats[what];
                wg_status status = wg_checkpoint_exists(folder, &is_there, &error);
                world.what = 0;
                check_that(status != WG_OK || is_there, "call %ld: overlooked", at);
                failed += status != WG_OK;
            }
    assert_true(failed >= 6);
}

/* ---- numbers that are none ------------------------------------------------------------------- */

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
                wg_checkpoint_save(folder, *state, &p, &settings, WG_CHECKPOINT_DUE, &error);
            char expected[80];
            snprintf(expected, sizeof expected, "eight: element %d is %s", SIZE - 1 - i * 5000,
                     i ? "infinite" : "NaN");
            check_that(status == WG_ENONFINITE && strstr(error.text, expected) &&
                           strstr(error.text, "update 2 is not saved"),
                       "status %d: %s", status, error.text);
            assert_int_equal(restored(), 1);
        }
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

/* Turns checkpoint N into one as the version before checksums wrote it. */
static void make_old(const wg_store *s, int n)
{
    static const struct {
        const char *stem, *key;
        int from, to;
        size_t cut;
    } files[] = {{"model", "model-file", 0, 2, 0},
                 {"average", "average-file", 2, 4, sizeof WG_STATES_OF_AVERAGE - 1},
                 {"optimizer", "optimizer-file", 4, 5, 0}};
    char name[80];
    size_t size;
    snprintf(name, sizeof name, "checkpoints/progress-%08d.json", n);
    char *text = contents(folder, name, &size);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    free(text);
    assert_int_equal(json_object_del(root, "xxh64"), 0);
    assert_int_equal(json_object_del(root, "format"), 0);
    for (int i = 0; i < 3; i++) {
        char file[80], hash[20];
        snprintf(file, sizeof file, "checkpoints/%s-%08d.safetensors", files[i].stem, n);
        drop_checksums(file);
        snprintf(hash, sizeof hash, "%016llx",
                 (unsigned long long)old_hash(s, files[i].from, files[i].to, files[i].cut));
        json_object_set_new(root, files[i].key, json_string(hash));
    }
    text = json_dumps(root, JSON_INDENT(2));
    put_file(name, text, strlen(text));
    free(text);
    json_decref(root);
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
    check_that(strstr(error.warning,
                      "optimizer-00000002.safetensors: tensor " WG_STATES_OF_OPTIMIZER
                      "m/a/weight: element 39999 is infinite"),
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
    assert_int_equal(wg_checkpoint_load(folder, s, &p, &settings, &error), WG_EUNSUPPORTED);
    check_that(strstr(error.text, "a later version of wengert wrote it, in format 3") != NULL, "%s",
               error.text);
    assert_true(has("checkpoints/progress-00000002.json"));
    wg_store_free(s);
}

/* ---- other people's files -------------------------------------------------------------------- */

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
    assert_int_equal(wg_checkpoint_clear(folder, &error), WG_OK);
    for (int i = 0; i < WG_COUNT(foreign); i++)
        check_that(has(foreign[i]), "%s is gone", foreign[i]);
    assert_false(has("best-bleu.safetensors"));
}

static void a_failed_save_leaves_the_previous_checkpoint(void **state)
{
    static const int whats[] = {FILES, MEMORY | JSON};
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
        }
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

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        test(the_last_checkpoints_are_kept),
        test(no_memory_to_list_models),
        test(checkpoints_of_interrupted_runs_do_not_count_as_kept_ones),
        test(the_folder_holds_the_last_checkpoint),
        test(a_damaged_checkpoint_is_replaced_by_the_previous_one),
        test(what_is_damaged_is_moved_away),
        test(a_failure_to_read_is_an_error_and_changes_nothing),
        test(json_without_memory_is_not_a_damaged_checkpoint),
        test(a_run_to_resume_is_never_overlooked),
        test(what_is_not_finite_is_not_saved),
        test(checkpoints_without_checksums_are_still_read),
        test(a_checkpoint_that_is_not_finite_is_passed_over),
        test(a_later_format_is_refused),
        test(files_of_others_stay),
        test(a_failed_save_leaves_the_previous_checkpoint),
        test(a_killed_save_leaves_the_previous_checkpoint),
        test(a_full_disk_is_reported),
        test(parameters_and_averages_change_places),
    };
    json_set_alloc_funcs(json_malloc, free);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
