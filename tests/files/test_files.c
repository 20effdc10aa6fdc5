/* Files as they are looked for, read, written and locked: every failure is a status and never taken
 * for a missing file, and nobody's files are touched but those of dead processes. */
#include "files/checksum.h"
#include "files/lock.h"
#include "files/read.h"
#include "files/replace.h"
#include "tests/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

static wg_error error;

/* ---- checksums ------------------------------------------------------------------------------- */

/* Made by libxxhash 0.8.1: XXH64 of the first n bytes of i * 2654435761 >> 24, i = 0, 1, ... */
static void checksums_are_those_of_xxhash(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        uint64_t seed, hash;
    } known[] = {
#include "tests/files/xxh64.def"
    };
    unsigned char bytes[1024];
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 24);
    for (size_t i = 0; i < WG_COUNT(known); i++)
        check_that(wgi_xxh64(bytes, known[i].n, known[i].seed) == known[i].hash,
                   "%zu bytes, seed %llx", known[i].n, (unsigned long long)known[i].seed);
    assert_true(WG_COUNT(known) > 80);
    assert_true(wgi_xxh64(NULL, 0, 0) == UINT64_C(0xef46db3751d8e999));
}

/* Each bit of a text with a checksum: none can change unseen, except where the checksum's mark
 * itself is changed, which leaves a text without one. */
static void a_text_with_a_checksum_shows_every_changed_bit(void **state)
{
    (void)state;
    static const wgi_checksum_head head = {"# sum ", " of the rest\n"};
    static const char rest[] = "one: 1\ntwo: 2\n";
    char text[100];
    size_t first = wgi_checksum_head_size(&head), n = first + sizeof rest - 1;
    memcpy(text + first, rest, sizeof rest);
    wgi_checksum_head_put(&head, text, n);
    assert_int_equal(wgi_checksum_head_check(&head, text, n), WGI_CHECKSUM_RIGHT);
    size_t wrong = 0;
    for (size_t bit = 0; bit < 8 * n; bit++) {
        text[bit / 8] ^= (char)(1 << bit % 8);
        wgi_checksum_verdict verdict = wgi_checksum_head_check(&head, text, n);
        assert_int_equal(verdict,
                         bit / 8 < strlen(head.before) ? WGI_CHECKSUM_ABSENT : WGI_CHECKSUM_WRONG);
        wrong += verdict == WGI_CHECKSUM_WRONG;
        text[bit / 8] ^= (char)(1 << bit % 8);
    }
    assert_true(wrong > 200);
    for (size_t i = strlen(head.before); i < n; i++)
        assert_int_equal(wgi_checksum_head_check(&head, text, i), WGI_CHECKSUM_WRONG);
    assert_int_equal(wgi_checksum_head_check(&head, rest, sizeof rest - 1), WGI_CHECKSUM_ABSENT);
    assert_int_equal(wgi_checksum_head_check(&head, "", 0), WGI_CHECKSUM_ABSENT);
}

/* ---- looking and reading --------------------------------------------------------------------- */

static void what_cannot_be_told_is_not_missing(void **state)
{
    (void)state;
    bool exists;
    const char *path = write_text("there", "text");
    assert_int_equal(wgi_file_exists(path, &exists, &error), WG_OK);
    assert_true(exists);
    assert_int_equal(wgi_file_exists(path_of("missing"), &exists, &error), WG_OK);
    assert_false(exists);
    assert_int_equal(wgi_file_exists(path_of("there/below"), &exists, &error), WG_OK);
    assert_false(exists);
    assert_int_equal(symlink("nowhere", path_of("dangling")), 0);
    assert_int_equal(wgi_file_exists(path_of("dangling"), &exists, &error), WG_OK);
    assert_false(exists);
    assert_int_equal(symlink("circle", path_of("circle")), 0); /* fails, also for root */
    assert_int_equal(wgi_file_exists(path_of("circle"), &exists, &error), WG_EIO);
    assert_false(exists);
    check_that(strstr(error.text, "/circle: look for it: Too many levels of symbolic links"), "%s",
               error.text);
}

static void expect_unreadable(const char *name, size_t max, wg_status status, const char *expected)
{
    char *bytes;
    size_t size;
    assert_int_equal(wgi_file_read(&bytes, &size, path_of(name), max, &error), status);
    assert_null(bytes);
    check_that(strstr(error.text, expected) != NULL, "\"%s\" has no \"%s\"", error.text, expected);
}

static void only_regular_files_are_read_and_nothing_is_waited_for(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    const char *path = write_text("plain", "text");
    assert_int_equal(wgi_file_read(&bytes, &size, path, 4, &error), WG_OK);
    assert_int_equal(size, 4);
    assert_string_equal(bytes, "text");
    free(bytes);
    path = write_text("empty", "");
    assert_int_equal(wgi_file_read(&bytes, &size, path, 0, &error), WG_OK);
    assert_true(size == 0 && *bytes == '\0');
    free(bytes);
    expect_unreadable("plain", 3, WG_EDATA, "expected at most 3 bytes, got 4");
    expect_unreadable("missing", 9, WG_EIO, "missing: open: No such file");
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    expect_unreadable("fifo", 9, WG_EIO, "expected a regular file, got a FIFO");
    expect_unreadable(".", 9, WG_EIO, "expected a regular file, got a directory");
    assert_int_equal(wgi_file_read(&bytes, &size, "/dev/null", 9, &error), WG_EIO);
    assert_non_null(strstr(error.text, "got a device"));
}

/* ---- writing --------------------------------------------------------------------------------- */

static int count_entries(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

typedef struct watched {
    int entries;
    bool same_inode; /* of the file at this path as before */
    ino_t inode;
    const char *path;
} watched;

/* While a file is written: its old contents are in place, and other processes leave the new ones
 * alone. */
static void put_and_look(wgi_file_writer *w, void *context)
{
    watched *c = context;
    struct stat s;
    wgi_file_put(w, "new", 3);
    wgi_file_remove_abandoned(folder);
    c->entries = count_entries();
    c->same_inode = stat(c->path, &s) == 0 && s.st_ino == c->inode;
}

static void a_file_is_replaced_in_one_step(void **state)
{
    (void)state;
    struct stat s;
    const char *path = write_text("target", "old");
    assert_int_equal(stat(path, &s), 0);
    watched c = {.inode = s.st_ino, .path = path};
    int before = count_entries();
    assert_int_equal(wgi_file_replace(path, put_and_look, &c, &error), WG_OK);
    assert_true(c.entries == before + 1 && c.same_inode);
    assert_int_equal(count_entries(), before);
    size_t size;
    char *bytes = read_bytes(path, &size);
    assert_string_equal(bytes, "new");
    free(bytes);
}

/* A file and a link in whose place a temporary file might have been written. */
static void links_are_replaced_and_not_followed(void **state)
{
    (void)state;
    size_t size;
    write_text("victim", "precious");
    assert_int_equal(symlink("victim", path_of("link")), 0);
    assert_int_equal(wgi_file_replace_bytes(path_of("link"), "new", 3, &error), WG_OK);
    char *bytes = read_bytes(path_of("victim"), &size);
    assert_string_equal(bytes, "precious");
    free(bytes);
    FILE *f;
    assert_int_equal(symlink("victim", path_of("log")), 0);
    assert_int_equal(wgi_file_append(&f, path_of("log"), 0, &error), WG_EIO);
    assert_non_null(strstr(error.text, "or none, got a symbolic link"));
    assert_null(f);
    bytes = read_bytes(path_of("victim"), &size);
    assert_string_equal(bytes, "precious");
    free(bytes);
}

static void a_log_is_shortened_and_goes_on(void **state)
{
    (void)state;
    FILE *f;
    const char *path = write_text("lines", "one\ntwo\n");
    assert_int_equal(wgi_file_append(&f, path, 4, &error), WG_OK);
    assert_true(fputs("three\n", f) >= 0 && fclose(f) == 0);
    size_t size;
    char *bytes = read_bytes(path, &size);
    assert_string_equal(bytes, "one\nthree\n");
    free(bytes);
    assert_int_equal(mkfifo(path_of("queue"), 0600), 0);
    assert_int_equal(wgi_file_append(&f, path_of("queue"), 4, &error), WG_EIO);
    assert_non_null(strstr(error.text, "or none, got a FIFO"));
    assert_int_equal(wgi_file_append(&f, path_of("no/such"), 4, &error), WG_EIO);
    assert_non_null(strstr(error.text, "No such file"));
}

/* ---- what others leave ----------------------------------------------------------------------- */

static bool there(const char *name)
{
    struct stat s;
    return lstat(path_of(name), &s) == 0;
}

static void only_temporary_files_of_dead_processes_are_removed(void **state)
{
    (void)state;
    static const char *const foreign[] = {"notes.tmp-2024.txt",
                                          "model.safetensors.tmp-12",
                                          ".wengert-0123456789abcde.tmp",
                                          ".wengert-0123456789abcdef.tmp.txt",
                                          ".wengert-0123456789ABCDEF.tmp",
                                          "x.wengert-0123456789abcdef.tmp"},
                             abandoned[] = ".wengert-0123456789abcdef.tmp",
                             alive[] = ".wengert-fedcba9876543210.tmp",
                             a_link[] = ".wengert-00000000000000aa.tmp",
                             a_pipe[] = ".wengert-00000000000000bb.tmp";
    for (int i = 0; i < WG_COUNT(foreign); i++)
        write_text(foreign[i], "mine");
    write_text(abandoned, "half a fi");
    int fd = open(write_text(alive, "half a fi"), O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(symlink(foreign[0], path_of(a_link)), 0);
    assert_int_equal(mkfifo(path_of(a_pipe), 0600), 0);
    wgi_file_remove_abandoned(folder);
    for (int i = 0; i < WG_COUNT(foreign); i++)
        check_that(there(foreign[i]), "%s is gone", foreign[i]);
    assert_false(there(abandoned));
    assert_true(there(alive) && there(a_link) && there(a_pipe));
    close(fd); /* as its end closes the files of a process */
    wgi_file_remove_abandoned(folder);
    assert_false(there(alive));
    wgi_file_remove_abandoned(path_of("missing"));
    unlink(path_of(a_link));
    unlink(path_of(a_pipe));
    unlink(path_of(foreign[2]));
    unlink(path_of(foreign[3]));
    unlink(path_of(foreign[4]));
}

static void a_second_name_is_the_same_file(void **state)
{
    (void)state;
    struct stat a, b;
    write_text("from", "text");
    write_text("to", "other");
    for (int i = 0; i < 2; i++) { /* then the names are of one file already */
        assert_int_equal(wgi_file_link(path_of("from"), path_of("to"), &error), WG_OK);
        assert_int_equal(stat(path_of("from"), &a), 0);
        assert_int_equal(stat(path_of("to"), &b), 0);
        assert_true(a.st_ino == b.st_ino && a.st_nlink == 2);
    }
    assert_int_equal(wgi_file_link(path_of("missing"), path_of("to"), &error), WG_EIO);
    check_that(strstr(error.text, "missing: open: No such file"), "%s", error.text);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static void a_locked_folder_is_refused_until_the_process_ends(void **state)
{
    (void)state;
    int ready[2];
    char byte;
    wgi_lock lock;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (wgi_lock_take(&lock, folder, NULL) == WG_OK && write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    char expected[40];
    snprintf(expected, sizeof expected, "process %ld is training", (long)pid);
    assert_int_equal(wgi_lock_take(&lock, folder, &error), WG_EIO);
    assert_null(lock.path);
    check_that(strstr(error.text, expected) && strstr(error.text, folder), "%s", error.text);
    wgi_lock_release(&lock); /* which is empty */
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(there(".wengert.lock")); /* it could not tidy up */
    assert_int_equal(wgi_lock_take(&lock, folder, &error), WG_OK);
    assert_false(lock.unsupported);
    wgi_lock other;
    assert_int_equal(wgi_lock_take(&other, folder, &error), WG_EIO); /* in one process as well */
    wgi_lock_release(&lock);
    assert_false(there(".wengert.lock"));
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(wgi_lock_take(&lock, path_of("missing"), &error), WG_EIO);
    assert_non_null(strstr(error.text, "No such file"));
}

/* Processes that take and release it at once: no two have it at the same time. */
static void a_lock_is_taken_by_one_process_at_a_time(void **state)
{
    (void)state;
    enum { PROCESSES = 4, TURNS = 200 };
    write_text("turns", "");
    for (int p = 0; p < PROCESSES; p++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid)
            continue;
        for (int i = 0; i < TURNS;) {
            wgi_lock lock;
            if (wgi_lock_take(&lock, folder, NULL) != WG_OK)
                continue;
            int fd = open(path_of("inside"), O_CREAT | O_EXCL | O_WRONLY, 0600);
            if (fd < 0)
                _exit(1); /* another one is inside */
            close(fd);
            unlink(path_of("inside"));
            wgi_lock_release(&lock);
            i++;
            fd = open(path_of("turns"), O_WRONLY | O_APPEND);
            if (write(fd, "x", 1) != 1)
                _exit(2);
            close(fd);
        }
        _exit(0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct stat s;
    assert_int_equal(stat(path_of("turns"), &s), 0);
    assert_int_equal(s.st_size, PROCESSES * TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_those_of_xxhash),
        cmocka_unit_test(a_text_with_a_checksum_shows_every_changed_bit),
        cmocka_unit_test(what_cannot_be_told_is_not_missing),
        cmocka_unit_test(only_regular_files_are_read_and_nothing_is_waited_for),
        cmocka_unit_test(a_file_is_replaced_in_one_step),
        cmocka_unit_test(links_are_replaced_and_not_followed),
        cmocka_unit_test(a_log_is_shortened_and_goes_on),
        cmocka_unit_test(only_temporary_files_of_dead_processes_are_removed),
        cmocka_unit_test(a_second_name_is_the_same_file),
        cmocka_unit_test(a_locked_folder_is_refused_until_the_process_ends),
        cmocka_unit_test(a_lock_is_taken_by_one_process_at_a_time),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
