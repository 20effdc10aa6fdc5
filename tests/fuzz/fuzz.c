#define _XOPEN_SOURCE 700 /* nftw */
#include "tests/fuzz/fuzz.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t accepted_inputs;

void fuzz_end(const char *condition, const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: does not hold: %s %s\n", file, line, condition, text);
    abort();
}

void fuzz_accepted(bool accepted)
{
    accepted_inputs += accepted;
}

size_t fuzz_accepted_count(void)
{
    return accepted_inputs;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* In memory where the system has such a place: files are synced when they are replaced. */
static char folder[] = "/dev/shm/wengert-fuzz-XXXXXX";
static bool folder_is_made;

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    (void)s;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_folder(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_folder(void)
{
    if (folder_is_made)
        return folder;
    if (access("/dev/shm", W_OK) != 0)
        strcpy(folder, "/tmp/wengert-fuzz-XXXXXX");
    NEED(mkdtemp(folder));
    NEED(atexit(remove_folder) == 0);
    folder_is_made = true;
    return folder;
}

const char *fuzz_path(char path[64], const char *name)
{
    int n = snprintf(path, 64, "%s/%s", fuzz_folder(), name);
    NEED(n > 0 && n < 64);
    return path;
}

const char *fuzz_file(char path[64], const char *name, const void *data, size_t size)
{
    FILE *f = fopen(fuzz_path(path, name), "wb");
    NEED(f && (!size || fwrite(data, 1, size, f) == size) && fclose(f) == 0);
    return path;
}

char *fuzz_contents(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    NEED(f && fseek(f, 0, SEEK_END) == 0);
    long end = ftell(f);
    NEED(end >= 0);
    rewind(f);
    *size = (size_t)end;
    char *bytes = malloc(*size + 1);
    NEED(bytes && fread(bytes, 1, *size, f) == *size && fclose(f) == 0);
    bytes[*size] = '\0';
    return bytes;
}

bool fuzz_same(const char *a, const char *b)
{
    size_t n[2];
    char *bytes[] = {fuzz_contents(a, &n[0]), fuzz_contents(b, &n[1])};
    bool same = n[0] == n[1] && memcmp(bytes[0], bytes[1], n[0]) == 0;
    free(bytes[0]);
    free(bytes[1]);
    return same;
}

/* ---- parts of an input ----------------------------------------------------------------------- */

void fuzz_cut(const uint8_t *data, size_t size, fuzz_part *part, size_t n)
{
    static const char mark[] = "===\n";
    const size_t length = strlen(mark);
    const char *text = size ? (const char *)data : "";
    size_t from = 0, k = 0;
    for (size_t i = 0; i + length <= size && k + 1 < n; i++) {
        if ((i && text[i - 1] != '\n') || memcmp(text + i, mark, length) != 0)
            continue;
        part[k++] = (fuzz_part){text + from, i - from};
        from = i + length;
        i = from - 1;
    }
    part[k++] = (fuzz_part){text + from, size - from};
    for (; k < n; k++)
        part[k] = (fuzz_part){text + size, 0};
}
