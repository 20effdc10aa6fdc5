/* Checkpoints of a store whose numbers tell of which update it is, in a world in which the N-th
 * call to the system or for memory fails.  The program is linked with -Wl,--wrap for each of the
 * functions below, and defines CHECKPOINT_FOLDER before it includes this. */
#ifndef WG_TESTS_CHECKPOINTS_H
#define WG_TESTS_CHECKPOINTS_H

#include "tests/training.h"
#include "wengert/train/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- a world in which the N-th call to the system or for memory fails ------------------------ */

enum { ONCE = 0, FROM_THEN_ON, DIES, WAYS };
enum { FILES = 1, MEMORY = 2, READING = 4 };
static struct {
    int what; /* of these; 0: nothing fails  */
    long at, calls;
    int way, error; /* errno of READING */
    bool no_links;  /* the file system has no hard links */
} world;

static inline bool fails(int what)
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

ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    if (!fails(FILES))
        return __real_pwrite(fd, bytes, size, at);
    __real_pwrite(fd, bytes, size / 2, at);
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

/* ---- a store whose numbers tell of which update it is ---------------------------------------- */

static const char folder[] = CHECKPOINT_FOLDER;
static wg_error error;

static const wg_file_note facts[] = {{"d-model", "16"}, {"dropout", "0.1"}};
static const char *const metrics[] = {"cross-entropy", "bleu"};
static wg_checkpoint_options options = {
    .settings = facts, .n_settings = 2, .metrics = metrics, .n_metrics = 2};

enum { SIZE = 40000 }; /* more than the writer's buffer holds */
static const char *const names[] = {"b/weight", "a/weight", "average/b/weight", "average/a/weight",
                                    "optimizer/m/a/weight"};
enum { TENSORS = WG_COUNT(names) };

static inline wg_store *new_store(void)
{
    wg_store *s = wg_store_new(1);
    wg_shape shape = WG_SHAPE(SIZE);
    for (int i = 0; i < TENSORS; i++)
        assert_int_equal(wg_store_add(s, names[i], WG_F32, &shape, NULL), WG_OK);
    return s;
}

static inline float number(int64_t update, int tensor, int i)
{
    return (float)(update * 1000 + tensor * 100 + i % 100);
}

static inline void fill(wg_store *s, int64_t update)
{
    for (int t = 0; t < TENSORS; t++)
        for (int i = 0; i < SIZE; i++)
            ((float *)wg_store_find(s, names[t])->data)[i] = number(update, t, i);
}

static inline wg_status save_as(wg_store *s, int64_t update, int64_t keep,
                                wg_checkpoint_reason reason)
{
    wg_progress p = {.update = update,
                     .cursor = {1, update},
                     .weight = 100 * update,
                     .seconds = 1.0 / 3,
                     .n_best = 1};
    p.best[0] = (wg_best){"bleu", 0.1, update - 1};
    fill(s, update);
    options.keep = keep;
    return wg_checkpoint_save(folder, s, &p, &options, reason, &error);
}

static inline wg_status save(wg_store *s, int64_t update, int64_t keep)
{
    return save_as(s, update, keep, WG_CHECKPOINT_DUE);
}

static inline void must_save(wg_store *s, int64_t update, int64_t keep)
{
    check_that(save(s, update, keep) == WG_OK, "%s", error.text);
}

/* The update of the checkpoint that is restored, which must be whole. */
static inline int64_t restored(void)
{
    wg_store *s = new_store();
    wg_progress p;
    wg_status status = wg_checkpoint_load(folder, s, &p, &options, &error);
    check_that(status == WG_OK, "%s", error.text);
    for (int t = 0; t < TENSORS; t++)
        for (int i = 0; i < SIZE; i++)
            check_that(((float *)wg_store_find(s, names[t])->data)[i] == number(p.update, t, i),
                       "update %d: %s[%d]", (int)p.update, names[t], i);
    assert_true(p.cursor.epoch == 1 && p.cursor.group == p.update && p.weight == 100 * p.update);
    assert_true(p.seconds == 1.0 / 3 && p.n_best == 1 && p.best[0].value == 0.1 &&
                p.best[0].update == p.update - 1);
    assert_string_equal(p.best[0].metric, "bleu");
    wg_store_free(s);
    return p.update;
}

static inline int begin(void **state)
{
    world.what = 0;
    remove_folder(folder);
    *state = new_store();
    return 0;
}

static inline int end(void **state)
{
    wg_store_free(*state);
    remove_folder(folder);
    return 0;
}

static inline bool has(const char *name)
{
    char *path = wg_folder_path(folder, "%s", name);
    bool is_there = access(path, F_OK) == 0;
    free(path);
    return is_there;
}

static inline void put_file(const char *name, const void *bytes, size_t size)
{
    char *path = wg_folder_path(folder, "%s", name);
    unlink(path); /* other names of the same file keep their contents */
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static inline bool exists(void)
{
    bool is_there;
    check_that(wg_checkpoint_exists(folder, &is_there, &error) == WG_OK, "%s", error.text);
    return is_there;
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
