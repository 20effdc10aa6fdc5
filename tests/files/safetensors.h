/* A file of a few tensors, in a world in which calls of the system and for memory fail on request.
 * The tests of safetensors are linked with -Wl,--wrap for each of them; make_folder and
 * remove_folder are setup and teardown of their groups. */
#ifndef WG_TESTS_FILES_SAFETENSORS_H
#define WG_TESTS_FILES_SAFETENSORS_H

#include "tests/test.h"
#include "wengert/files/safetensors.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static char folder[] = "safetensors-XXXXXX", path[64];
static wg_error error;

/* ---- calls that fail on request (linked with --wrap) ----------------------------------------- */

/* The call number `fail_at` (from 1; 0: none) fails, and with `from_then_on` all later ones too. */
static struct {
    int calls, fail_at;
    bool from_then_on, shorten; /* shorten: a write takes half instead of failing */
    size_t largest;             /* block asked of malloc, calloc or realloc */
} world;

static inline bool fails(void)
{
    int n = ++world.calls;
    return world.fail_at && (world.from_then_on ? n >= world.fail_at : n == world.fail_at);
}

#define WRAP(type, name, parameters, ...)                                                          \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        if (fails()) {                                                                             \
            errno = EIO;                                                                           \
            return -1;                                                                             \
        }                                                                                          \
        return __real_##name(__VA_ARGS__);                                                         \
    }
WRAP(int, fsync, (int fd), fd)
WRAP(int, rename, (const char *from, const char *to), from, to)

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (fails()) {
        if (world.shorten && size > 1)
            return __real_write(fd, bytes, size / 2);
        errno = world.shorten ? EINTR : EIO;
        return -1;
    }
    return __real_write(fd, bytes, size);
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    if (fails()) {
        if (world.shorten && size > 1)
            return __real_pwrite(fd, bytes, size / 2, at);
        errno = world.shorten ? EINTR : EIO;
        return -1;
    }
    return __real_pwrite(fd, bytes, size, at);
}

typedef void *thread_code(void *context);

/* Threads that were started, refused and waited for; they must leave all signals to others. */
static struct {
    bool none; /* the system grants none */
    bool late; /* it lets them run when they are waited for, and not before */
    int started, refused, joined;
    thread_code *run;
    void *with;
} helpers;

int __real_pthread_create(pthread_t *out, const pthread_attr_t *how, thread_code *run, void *with);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *how, thread_code *run, void *with);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *how, thread_code *run, void *with)
{
    sigset_t blocked;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
    assert_true(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGALRM));
    bool refused = fails() || helpers.none;
    helpers.started += !refused;
    helpers.refused += refused;
    helpers.run = run;
    helpers.with = with;
    if (refused)
        return EAGAIN;
    return helpers.late ? 0 : __real_pthread_create(out, how, run, with);
}

int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result)
{
    helpers.joined++;
    if (helpers.late)
        helpers.run(helpers.with);
    return helpers.late ? 0 : __real_pthread_join(thread, result);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int result = __real_close(fd);
    return fails() ? (errno = EIO, -1) : result;
}

static bool no_map;
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    return no_map ? (errno = ENODEV, MAP_FAILED) : __real_mmap(at, n, prot, flags, fd, from);
}

static inline void *note_size(size_t size, void *block)
{
    if (size > world.largest)
        world.largest = size;
    return block;
}

#define WRAP_ALLOCATION(name, parameters, size, ...)                                               \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        return fails() ? NULL : note_size(size, __real_##name(__VA_ARGS__));                       \
    }
WRAP_ALLOCATION(malloc, (size_t n), n, n)
WRAP_ALLOCATION(calloc, (size_t n, size_t m), n *m, n, m)
WRAP_ALLOCATION(realloc, (void *p, size_t n), n, p, n)

/* ---- files ----------------------------------------------------------------------------------- */

static inline void put_file(const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static inline size_t get_file(char *bytes, size_t max)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, max, f);
    fclose(f);
    return n;
}

/* A file of that header and that many bytes of data, all 1. */
static inline void put_header(const char *header, size_t data)
{
    uint64_t n = strlen(header);
    char *file = malloc(8 + n + data);
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    memset(file + 8 + n, 1, data);
    put_file(file, 8 + n + data);
    free(file);
}

/* The first place of that text in a file. */
static inline char *place_in(char *file, size_t n, const char *text)
{
    for (size_t i = 0; i + strlen(text) <= n; i++)
        if (memcmp(file + i, text, strlen(text)) == 0)
            return file + i;
    fail_msg("the file has no %s", text);
    return NULL;
}

static inline wg_status open_status(void)
{
    wg_safetensors *f;
    wg_status status = wg_safetensors_open(&f, path, &error);
    assert_int_equal(f == NULL, status != WG_OK);
    wg_safetensors_close(f);
    return status;
}

static const float floats[] = {1.5f, -2, 3, 4, 5, 6};
static const int64_t ints[] = {-1, INT64_MAX};
static const unsigned char bools[] = {0, 1, 1};
static const wg_tensor tensors[] = {
    {"b/\"weight\"\\\n\xc3\xa9", WG_F32, {2, {2, 3}}, (void *)floats},
    {"a", WG_I64, {1, {2}}, (void *)ints},
    {"empty", WG_F64, {2, {0, 4}}, NULL},
    {"scalar", WG_F64, {0, {0}}, (void *)ints},
    {"bools", WG_BOOL, {1, {3}}, (void *)bools},
    {"bf16", WG_BF16, {1, {2}}, (void *)ints},
    {"f16", WG_F16, {1, {3}}, (void *)floats},
    {"u8", WG_U8, {2, {5, 3}}, (void *)ints},
    {"i8", WG_I8, {1, {7}}, (void *)ints},
    {"i32", WG_I32, {1, {1}}, (void *)ints},
};
enum { TENSORS = WG_COUNT(tensors) };
static const wg_file_note file_notes[] = {{"step", "12"}, {"model", "{\"layers\": 2}"}};

static inline wg_status write_all_tensors(void)
{
    return wg_safetensors_write(path, tensors, TENSORS, file_notes, 2, &error);
}

/* Reads all that a file offers, as a user would. */
static inline uint64_t use(const wg_safetensors *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < wg_safetensors_count(f); i++) {
        const wg_file_tensor *t = wg_safetensors_at(f, i);
        const unsigned char *bytes = t->data;
        assert_ptr_equal(wg_safetensors_find(f, t->name), t);
        assert_true(!t->dtype ||
                    t->size == (size_t)wg_shape_count(&t->shape) * wg_dtype_size(t->dtype));
        for (size_t k = 0; k < t->size; k++)
            sum += bytes[k];
    }
    return sum;
}

static inline int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/file.safetensors", folder);
    return 0;
}

/* The folder must be empty but for the one file: no temporary file is left over. */
static inline int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

#endif
