/* A folder of a test's own: make_folder and remove_folder are cmocka's setup and teardown of a
 * group. */
#ifndef WG_TESTS_FOLDER_H
#define WG_TESTS_FOLDER_H

#include "tests/test.h"

#include <dirent.h>
#include <unistd.h>

static char folder[] = "/tmp/wg_test_XXXXXX";

static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

/* The path of a file in it, good until this has been called 8 more times. */
static inline const char *path_of(const char *name)
{
    static char paths[8][400];
    static int turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline int remove_folder(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            remove(path_of(e->d_name));
    if (d)
        closedir(d);
    return rmdir(folder);
}

static inline const char *write_bytes(const char *name, const void *bytes, size_t size)
{
    const char *path = path_of(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return path;
}

static inline const char *write_text(const char *name, const char *text)
{
    return write_bytes(name, text, strlen(text));
}

/* The bytes of a file, which the caller frees; with a NUL behind them. */
static inline char *read_bytes(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long n = ftell(f);
    assert_true(n >= 0);
    rewind(f);
    char *bytes = malloc((size_t)n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)n, f), n);
    bytes[n] = '\0';
    fclose(f);
    *size = (size_t)n;
    return bytes;
}

#endif
