/* Texts in files that cannot be read to their end. */
#include "tests/folder.h"
#include "text/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static wg_error error;

/* ---- reads that fail ------------------------------------------------------------------------- */

static int fails_in; /* the read that fails, the next is 1; 0: none */
static const char
    *cut_path; /* this file becomes empty after the first bytes are read; NULL: none */

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    if (fails_in > 0 && --fails_in == 0) {
        errno = EIO;
        return -1;
    }
    ssize_t got = __real_pread(fd, bytes, size, offset);
    if (cut_path)
        assert_int_equal(truncate(cut_path, 0), 0);
    cut_path = NULL;
    return got;
}

/* ---- tests ----------------------------------------------------------------------------------- */

enum { PIECE = 1 << 16, SIZE = 3 * PIECE }; /* PIECE: what is read and decompressed at a time */

static const char *write_gzip(const char *text, int size, const char *mode)
{
    const char *path = path_of("long.gz");
    gzFile gz = gzopen(path, mode);
    assert_non_null(gz);
    assert_int_equal(gzwrite(gz, text, (unsigned)size), size);
    assert_int_equal(gzclose(gz), Z_OK);
    return path;
}

/* SIZE bytes, uncompressed within the file. */
static const char *write_stored(void)
{
    static char text[SIZE];
    for (int i = 0; i < SIZE; i++)
        text[i] = (char)(i % 80 == 79 ? '\n' : 'a' + i % 23);
    return write_gzip(text, SIZE, "wb0");
}

static void each_read_fails(void **state)
{
    (void)state;
    int told = 0;
    const char *path = write_stored();
    for (wg_status status = WG_EIO; status != WG_OK; told += status != WG_OK) {
        wgi_text text;
        assert_in_range(told, 0, 100);
        fails_in = told + 1;
        status = wgi_text_read(&text, path, &error);
        fails_in = 0;
        check_that(status == WG_OK ? text.size == SIZE
                                   : status == WG_EIO && strstr(error.text, "long.gz: read: ") &&
                                         strstr(error.text, "Input/output error"),
                   "read %d: %s: %s", told + 1, wg_status_text(status), error.text);
        free(text.bytes);
    }
    assert_int_equal(told, 1 + (SIZE + PIECE) / PIECE); /* the first two bytes, then all */
}

static size_t size_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (size_t)info.st_size;
}

/* After the last byte of a match that ends where there is no more room for what is decompressed,
 * and after any other byte. */
static void cut_where_a_piece_is_full(void **state)
{
    (void)state;
    static const char text[PIECE];
    const char *path = write_gzip(text, PIECE, "wb9");
    size_t size = size_of(path);
    assert_in_range(size, 50, 200);
    while (--size >= 2) {
        wgi_text read;
        assert_int_equal(truncate(path, (off_t)size), 0);
        wg_status status = wgi_text_read(&read, path, &error);
        check_that(status == WG_EDATA &&
                       strstr(error.text, "long.gz: gzip: unexpected end of file"),
                   "%zu bytes: %s: %s", size, wg_status_text(status), error.text);
        free(read.bytes);
    }
}

/* What is left is not all of the text. */
static void shorter_while_it_is_read(void **state)
{
    (void)state;
    static const char *const names[] = {"text", "text.gz"};
    for (int i = 0; i < 2; i++) {
        wgi_text read;
        if (i == 0)
            write_text(names[i], "one\ntwo\n");
        const char *path = i == 0 ? path_of(names[i]) : write_stored();
        cut_path = path;
        wg_status status = wgi_text_read(&read, path, &error);
        check_that((status == WG_EIO || (i == 1 && status == WG_EDATA)) && !read.bytes,
                   "%s: %s: %s", path, wg_status_text(status), error.text);
        if (i == 0)
            check_that(strstr(error.text, "text: it became shorter while it was read, 0 bytes "
                                          "instead of 8"),
                       "%s", error.text);
    }
}

static void a_short_name(void **state)
{
    (void)state;
    wgi_text text;
    int here = open(".", O_RDONLY);
    assert_true(here >= 0);
    write_text("t", "a\nb\n");
    assert_int_equal(chdir(folder), 0);
    wg_status status = wgi_text_read(&text, "t", &error);
    assert_int_equal(fchdir(here), 0);
    close(here);
    check_that(status == WG_OK && text.size == 4 && memcmp(text.bytes, "a\nb\n", 4) == 0, "%s",
               error.text);
    free(text.bytes);
}

/* By a mark or by zeros; a text in UTF-8 with some zeros is none of them. */
static void wide_encodings(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *name;
    } rows[] = {
        {"\xff\xfe", 2, "UTF-16"},
        {"\xfe\xff\0a", 4, "UTF-16"},
        {"\xff\xfe\0\0a\0\0\0", 8, "UTF-32"},
        {"\0\0\xfe\xff\0\0\0a", 8, "UTF-32"},
        {"a\0b\0\n\0c\0", 8, "UTF-16LE"},
        {"\0a\0b\0\n\0c", 8, "UTF-16BE"},
        {"a\0b\0\x2d\x4e"
         "c\0",
         8, "UTF-16LE"}, /* U+4E2D */
        {"a\0\0\0b\0\0\0", 8, "UTF-32LE"},
        {"\0\0\0a\0\0\0b", 8, "UTF-32BE"},
        {"", 0, NULL},
        {"\xff", 1, NULL},
        {"\xff\xff", 2, NULL},
        {"a\0b\0", 4, NULL},
        {"\0\0\0\0\0\0\0\0", 8, NULL},
        {"a\0bcd\0ef", 8, NULL},
        {"a\0b\0\0c\0d", 8, NULL},
        {"one two", 8, NULL},
        {"\xef\xbb\xbf"
         "one",
         6, NULL},
    };
    for (size_t i = 0; i < WG_COUNT(rows); i++) {
        const char *got = wgi_text_wide(rows[i].text, rows[i].size);
        check_that(rows[i].name ? got && strcmp(got, rows[i].name) == 0 : !got, "row %zu: %s", i,
                   got ? got : "none");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_read_fails),          cmocka_unit_test(cut_where_a_piece_is_full),
        cmocka_unit_test(shorter_while_it_is_read), cmocka_unit_test(a_short_name),
        cmocka_unit_test(wide_encodings),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
