/* Looking for, opening and reading files: what the system answers becomes a status, and calls that
 * a signal has interrupted are made again. */
#include "tests/folder.h"

#include "files/read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static wg_error error;

/* ---- a system that answers as a test wants --------------------------------------------------- */

/* What the next calls of a function do: an error for each, 0 for none. */
static struct {
    int open[2], fstat, stat, read[3];
    mode_t kind;     /* unless 0, of every file */
    size_t at_most;  /* unless 0, bytes of a read */
    bool ends_early; /* from the next read on there is nothing more */
    int opened, reads;
} world;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    int why = world.opened < 2 ? world.open[world.opened] : 0;
    world.opened++;
    return why ? (errno = why, -1) : __real_open(path, flags);
}

int __real_fstat(int fd, struct stat *s);
int __wrap_fstat(int fd, struct stat *s);
int __wrap_fstat(int fd, struct stat *s)
{
    if (world.fstat)
        return errno = world.fstat, -1;
    int result = __real_fstat(fd, s);
    if (world.kind)
        s->st_mode = world.kind;
    return result;
}

int __real_stat(const char *path, struct stat *s);
int __wrap_stat(const char *path, struct stat *s);
int __wrap_stat(const char *path, struct stat *s)
{
    return world.stat ? (errno = world.stat, -1) : __real_stat(path, s);
}

ssize_t __real_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
    int why = world.reads < 3 ? world.read[world.reads] : 0;
    world.reads++;
    if (why)
        return errno = why, -1;
    if (world.ends_early)
        return 0;
    return __real_read(fd, bytes, world.at_most && world.at_most < size ? world.at_most : size);
}

/* ---- is it there? ---------------------------------------------------------------------------- */

static void whether_a_file_is_there_has_three_answers(void **state)
{
    (void)state;
    static const struct {
        int why;
        bool exists;
        wg_status status;
    } cases[] = {{0, true, WG_OK},        {ENOENT, false, WG_OK},     {ENOTDIR, false, WG_OK},
                 {EACCES, false, WG_EIO}, {ENOMEM, false, WG_ENOMEM}, {EIO, false, WG_EIO}};
    const char *path = write_text("there", "");
    for (int i = 0; i < WG_COUNT(cases); i++) {
        bool exists = !cases[i].exists;
        world.stat = cases[i].why;
        wg_status status = wgi_file_exists(path, &exists, &error);
        world.stat = 0;
        assert_int_equal(status, cases[i].status);
        assert_int_equal(exists, cases[i].exists);
        check_that(status == WG_OK || strstr(error.text, "there: look for it: "), "%s", error.text);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static void only_regular_files_are_opened(void **state)
{
    (void)state;
    static const struct {
        mode_t kind;
        const char *what;
    } cases[] = {{S_IFDIR, "a directory"},
                 {S_IFIFO, "a FIFO"},
                 {S_IFCHR, "a device"},
                 {S_IFBLK, "a device"},
                 {S_IFSOCK, "something else"}};
    const char *path = write_text("file", "text");
    int fd;
    size_t size;
    for (int i = 0; i < WG_COUNT(cases); i++) {
        char expected[80];
        world.kind = cases[i].kind;
        assert_int_equal(wgi_file_open(&fd, &size, path, &error), WG_EIO);
        world.kind = 0;
        assert_int_equal(fd, -1);
        snprintf(expected, sizeof expected, "file: expected a regular file, got %s", cases[i].what);
        check_that(strstr(error.text, expected) != NULL, "%s", error.text);
    }
}

static void an_interrupted_open_is_made_again(void **state)
{
    (void)state;
    const char *path = write_text("file", "text");
    int fd;
    size_t size;
    world.open[0] = world.open[1] = EINTR;
    world.opened = 0;
    assert_int_equal(wgi_file_open(&fd, &size, path, &error), WG_OK);
    assert_int_equal(world.opened, 3);
    assert_int_equal(size, 4);
    close(fd);
    world.open[0] = EMFILE;
    world.opened = 0;
    assert_int_equal(wgi_file_open(&fd, &size, path, &error), WG_EIO);
    check_that(strstr(error.text, "file: open: Too many open files") != NULL, "%s", error.text);
    world.open[0] = world.open[1] = 0;
    world.fstat = EIO;
    assert_int_equal(wgi_file_open(&fd, &size, path, &error), WG_EIO);
    world.fstat = 0;
    assert_int_equal(fd, -1);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char text[] = "some text";

static wg_status read_file(const char *expected)
{
    char *bytes;
    size_t size;
    wg_status status = wgi_file_read(&bytes, &size, write_text("file", text), 100, &error);
    assert_int_equal(bytes == NULL, status != WG_OK);
    assert_int_equal(size, status == WG_OK ? strlen(expected) : 0);
    if (status == WG_OK)
        assert_string_equal(bytes, expected);
    free(bytes);
    return status;
}

static void a_file_is_read_in_pieces_or_not_at_all(void **state)
{
    (void)state;
    assert_int_equal(read_file(text), WG_OK);
    world.at_most = 2;
    world.reads = 0;
    world.read[1] = EINTR;
    assert_int_equal(read_file(text), WG_OK);
    assert_true(world.reads > 5);
    world.reads = 0;
    world.read[1] = EIO;
    assert_int_equal(read_file(text), WG_EIO);
    check_that(strstr(error.text, "file: read: Input/output error") != NULL, "%s", error.text);
    world.read[1] = 0;
    world.at_most = 0;
    world.ends_early = true; /* it became shorter since it was opened */
    assert_int_equal(read_file(""), WG_OK);
    world.ends_early = false;
}

static void a_file_that_is_too_large_is_refused(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    assert_int_equal(wgi_file_read(&bytes, &size, write_text("file", text), 8, &error), WG_EDATA);
    assert_null(bytes);
    check_that(strstr(error.text, "file: expected at most 8 bytes, got 9") != NULL, "%s",
               error.text);
    assert_int_equal(wgi_file_read(&bytes, &size, path_of("missing"), 8, &error), WG_EIO);
    assert_null(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whether_a_file_is_there_has_three_answers),
        cmocka_unit_test(only_regular_files_are_opened),
        cmocka_unit_test(an_interrupted_open_is_made_again),
        cmocka_unit_test(a_file_is_read_in_pieces_or_not_at_all),
        cmocka_unit_test(a_file_that_is_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
