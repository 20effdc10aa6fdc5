/* Where a command may write: not over what a training or a program has left there, which nobody
 * could make again. */
#include "cli/cli.h"
#include "graph/text_buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files that stay ------------------------------------------------------------------------- */

static bool is_weights(const char *bytes, size_t n, int64_t size)
{
    uint64_t header = 0; /* its length, little-endian, then JSON */
    for (size_t i = 8; n > 8 && i > 0; i--)
        header = header << 8 | (unsigned char)bytes[i - 1];
    return n > 8 && bytes[8] == '{' && header < (uint64_t)size;
}

/* What a file is by its first bytes; NULL: nothing that must stay. */
static const char *kind_of(const char *path, int64_t size)
{
    static const struct {
        const char *begins, *kind;
    } kinds[] = {{"# xxh64 ", "the settings of a model"},
                 {"{\n  \"xxh64\": ", "the position of a training"}};
    char bytes[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, bytes, sizeof bytes) : -1;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return "one that cannot be read";
    for (size_t i = 0; n > 0 && i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].begins);
        if ((size_t)n >= length && memcmp(bytes, kinds[i].begins, length) == 0)
            return kinds[i].kind;
    }
    return n > 0 && is_weights(bytes, (size_t)n, size) ? "weights" : NULL;
}

static bool has(const char *folder, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

/* Has a model's folder a file of that name?  (docs/training.md) */
static bool is_of_model(const char *path)
{
    static const char *const names[] = {"config.yml", "progress.json", "metrics.jsonl"};
    char *copies[2] = {strdup(path), strdup(path)};
    bool found = false;
    if (copies[0] && copies[1]) {
        const char *folder = dirname(copies[0]), *name = basename(copies[1]);
        found = strncmp(name, "vocab.", 6) == 0;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            found |= strcmp(name, names[i]) == 0;
        found = found && (has(folder, names[0]) || has(folder, names[1]));
    }
    free(copies[0]);
    free(copies[1]);
    return found;
}

static int check_kept(const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode) || s.st_size == 0)
        return EXIT_OK;
    const char *kind = is_of_model(path) ? "of a model's folder" : kind_of(path, s.st_size);
    if (!kind)
        return EXIT_OK;
    complain("%s: there is a file already, %s, which the output would overwrite; give the output "
             "another name, or remove that file",
             path, kind);
    return EXIT_USAGE;
}

/* ---- checks before the work ------------------------------------------------------------------ */

int check_other_file(const char *output, const char *input)
{
    struct stat to, from;
    if (!output || !input || stat(output, &to) != 0 || stat(input, &from) != 0 ||
        !S_ISREG(to.st_mode) || to.st_dev != from.st_dev || to.st_ino != from.st_ino)
        return EXIT_OK;
    complain("%s: the output would overwrite the input %s", output, input);
    return EXIT_USAGE;
}

int check_writable(const char *path)
{
    struct stat s;
    bool exists = lstat(path, &s) == 0;
    int fd = -1;
    if (exists && stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)) {
        if (access(path, W_OK) == 0) /* opening a pipe would have side effects */
            return EXIT_OK;
    } else if ((fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) >= 0) {
        close(fd);
        if (!exists)
            unlink(path);
        return EXIT_OK;
    }
    complain("%s: cannot be written: %s", path, strerror(errno));
    return EXIT_IO;
}

int check_output(const char *path)
{
    int code = path ? check_kept(path) : EXIT_OK;
    return path && code == EXIT_OK ? check_writable(path) : code;
}

/* ---- writing --------------------------------------------------------------------------------- */

int write_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(bytes, 1, size, f) == size;
    int why = errno;
    if (f && fclose(f) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (!ok)
        complain("%s: %s", path, strerror(why));
    return ok ? EXIT_OK : EXIT_IO;
}

int write_stream(const char *path, void (*put)(FILE *f, const void *context), const void *context)
{
    wgi_text_buffer b;
    int code = EXIT_RUN;
    FILE *f = wgi_text_open(&b);
    if (f)
        put(f, context);
    char *bytes = wgi_text_close(&b);
    if (bytes)
        code = write_file(path, bytes, b.size);
    else
        complain("%s: out of memory", path);
    free(bytes);
    return code;
}
