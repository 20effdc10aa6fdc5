/* Texts in files that cannot be read to their end. */
#include "tests/folder.h"
#include "text/internal.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

static wg_error error;

/* ---- reads that fail ------------------------------------------------------------------------- */

static int fails_in; /* the read that fails, the next is 1; 0: none */

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    if (fails_in > 0 && --fails_in == 0) {
        errno = EIO;
        return -1;
    }
    return __real_pread(fd, bytes, size, offset);
}

/* ---- tests ----------------------------------------------------------------------------------- */

enum { PIECE = 1 << 16, SIZE = 3 * PIECE }; /* PIECE: what is read and decompressed at a time */

/* SIZE bytes as gzip, uncompressed within it. */
static const char *write_stored(void)
{
    static char text[SIZE];
    const char *path = path_of("long.gz");
    gzFile gz = gzopen(path, "wb0");
    assert_non_null(gz);
    for (int i = 0; i < SIZE; i++)
        text[i] = i % 80 == 79 ? '\n' : (char)('a' + i % 23);
    assert_int_equal(gzwrite(gz, text, SIZE), SIZE);
    assert_int_equal(gzclose(gz), Z_OK);
    return path;
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

/* Cut where as much has been decompressed as there is room for, and around it. */
static void cut_after_a_piece(void **state)
{
    (void)state;
    const char *path = write_stored();
    for (int size = PIECE + 40; size > PIECE; size--) {
        wgi_text text;
        assert_int_equal(truncate(path, size), 0);
        wg_status status = wgi_text_read(&text, path, &error);
        check_that(status == WG_EDATA &&
                       strstr(error.text, "long.gz: gzip: unexpected end of file"),
                   "%d bytes: %s: %s", size, wg_status_text(status), error.text);
        free(text.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_read_fails),
        cmocka_unit_test(cut_after_a_piece),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
