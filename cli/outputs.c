/* Where a command may write: over nothing that it reads, nothing that a training has left, and
 * nothing that does not begin like a result. */
#include "cli/cli.h"
#include "files/graph_file.h"
#include "files/replace.h"
#include "graph/text_buffer.h"
#include "graph/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files that stay ------------------------------------------------------------------------- */

enum { ENOUGH = 1024, LONGEST = 4 }; /* bytes that tell what a file is, and of a character */

typedef struct beginning {
    unsigned char bytes[ENOUGH + LONGEST]; /* ended by zeros */
    size_t n;
    int64_t size; /* of the file */
} beginning;

static bool begins_with(const beginning *b, const char *text)
{
    size_t length = strlen(text);
    return b->n >= length && memcmp(b->bytes, text, length) == 0;
}

static bool is_weights(const beginning *b)
{
    uint64_t header = 0; /* its length, little-endian, then JSON */
    for (size_t i = 8; b->n > 8 && i > 0; i--)
        header = header << 8 | b->bytes[i - 1];
    return b->n > 8 && b->bytes[8] == '{' && header < (uint64_t)b->size;
}

/* ModelProto: ir_version, a small number, then any other field of it. */
static bool is_onnx(const beginning *b)
{
    enum { IR_VERSION = 1 << 3, MAX_VERSION = 31, MAX_FIELD = 25 };
    int type = b->n > 2 ? b->bytes[2] & 7 : -1, field = b->n > 2 ? b->bytes[2] >> 3 : 0;
    return b->n > 2 && b->bytes[0] == IR_VERSION && b->bytes[1] <= MAX_VERSION &&
           (type == 0 || type == 2) && field > 1 && field <= MAX_FIELD;
}

/* A line of a printed plan: its number, then the name of an op. */
static bool is_step(const beginning *b)
{
    const char *text = (const char *)b->bytes;
    const size_t blanks = strspn(text, " "), digits = strspn(text + blanks, "0123456789");
    return digits > 0 && blanks + digits >= 5 && strncmp(text + blanks + digits, "  ", 2) == 0;
}

/* Does the file begin as one that these commands write?  Other texts are the user's. */
static bool is_result(const beginning *b)
{
    static const char *const begins[] = {"%PDF-",
                                         "<!DOCTYPE html",
                                         "memory of a run: ",
                                         "op                        nodes ",
                                         "{\n  \"source\": [",
                                         "{\n  \"keys\": ["};
    for (size_t i = 0; i < WG_COUNT(begins); i++)
        if (begins_with(b, begins[i]))
            return true;
    return is_step(b) || wgi_begins_as_graph((const char *)b->bytes, b->n);
}

/* UTF-8, whatever a model may have translated, or another encoding without control characters. */
static bool is_text(const beginning *b)
{
    bool is_utf8 = true, has_control = false;
    for (size_t i = 0; i < b->n;) {
        int length = wgi_utf8_length(b->bytes + i);
        bool is_cut = b->n == ENOUGH && i + LONGEST > ENOUGH;
        is_utf8 = is_utf8 && (length > 0 || is_cut);
        has_control |= b->bytes[i] < ' ' && !strchr("\t\n\v\f\r\033", b->bytes[i]);
        i += length > 0 ? (size_t)length : 1;
    }
    return !memchr(b->bytes, '\0', b->n) && (is_utf8 || !has_control);
}

static const char text_of_others[] = "a text that is no such result";

/* What a file is, by its first bytes, if the output does not replace it; NULL otherwise. */
static const char *kept_kind(const beginning *b, const result_file *o)
{
    static const struct {
        const char *begins, *kind;
    } texts[] = {{"# xxh64 ", "the settings of a model"},
                 {"# Settings of wengert", "the settings of a model"},
                 {"# wengert vocabulary: ", "a vocabulary"},
                 {"{\n  \"xxh64\": ", "the position of a training run"},
                 {"{\"kind\":\"", "the metrics of a training run"}};
    for (size_t i = 0; i < WG_COUNT(texts); i++)
        if (begins_with(b, texts[i].begins))
            return texts[i].kind;
    if (is_weights(b))
        return "weights";
    if (is_result(b) || (o->onnx && is_onnx(b)) || (o->npy && begins_with(b, "\x93NUMPY")) ||
        (o->text && is_text(b)))
        return NULL;
    if (is_text(b))
        return text_of_others;
    return o->onnx  ? "neither text nor an ONNX model"
           : o->npy ? "neither text nor an array of NumPy"
                    : "neither text nor a picture";
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
    static const char *const names[] = {"config.yml",       "progress.json",    "metrics.jsonl",
                                        "vocab.txt",        "vocab.spm",        "vocab.source.txt",
                                        "vocab.source.spm", "vocab.target.txt", "vocab.target.spm"};
    char *copies[2] = {strdup(path), strdup(path)};
    bool found = false;
    if (copies[0] && copies[1]) {
        const char *folder = dirname(copies[0]), *name = basename(copies[1]);
        for (size_t i = 0; i < WG_COUNT(names); i++)
            found |= strcmp(name, names[i]) == 0;
        found = found && (has(folder, names[0]) || has(folder, names[1]));
    }
    free(copies[0]);
    free(copies[1]);
    return found;
}

int check_absent(const char *path)
{
    if (errno == ENOENT || errno == ENOTDIR)
        return EXIT_OK;
    complain("%s: cannot be written: %s", path, strerror(errno));
    return EXIT_IO;
}

wg_status was_made_by(const char *path, const char *maker, bool *was, wg_error *error)
{
    wg_safetensors *f = NULL;
    wg_status status = wg_safetensors_open(&f, path, error);
    const char *by = status == WG_OK ? wg_safetensors_note(f, WG_NOTE_MADE_BY) : NULL;
    *was = by && strcmp(by, maker) == 0;
    wg_safetensors_close(f);
    return status;
}

/* Sets *kind to what the file that is there is, if it stays; NULL otherwise.  Returns an exit code;
 * complains if it cannot be told. */
static int find_kept(const result_file *o, const char **kind)
{
    struct stat s;
    bool was = false;
    wg_error error;
    *kind = NULL;
    if (stat(o->path, &s) != 0)
        return check_absent(o->path);
    if (!S_ISREG(s.st_mode) || s.st_size == 0)
        return EXIT_OK;
    if (is_of_model(o->path)) {
        *kind = "of a model's folder";
        return EXIT_OK;
    }
    wg_status status = o->made_by ? was_made_by(o->path, o->made_by, &was, &error) : WG_EDATA;
    if (was)
        return EXIT_OK;
    if (status != WG_OK && status != WG_EDATA)
        return complain_error(&error);
    beginning b = {.size = s.st_size};
    int fd = open(o->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, b.bytes, ENOUGH) : -1;
    if (n < 0)
        complain("%s: there is a file already, which cannot be read: %s", o->path, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return EXIT_IO;
    b.n = (size_t)n;
    *kind = kept_kind(&b, o);
    return EXIT_OK;
}

static int check_kept(const result_file *o)
{
    const char *kind;
    int code = find_kept(o, &kind);
    if (!kind)
        return code;
    const char *force = kind == text_of_others ? o->force : NULL;
    complain("%s: there is a file already, %s, which the output would overwrite; give the output "
             "another name, %sremove that file%s%s",
             o->path, kind, force ? "" : "or ", force ? ", or give " : "", force ? force : "");
    return EXIT_USAGE;
}

/* ---- files that are one ---------------------------------------------------------------------- */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The status of the folder that a file lies in or will. */
static bool stat_folder(const char *path, struct stat *s)
{
    char *copy = strdup(path);
    bool found = copy && stat(dirname(copy), s) == 0;
    free(copy);
    return found;
}

/* Would both names be of one file? */
static bool are_one(const char *a, const char *b)
{
    struct stat s, t;
    bool has_a = stat(a, &s) == 0, has_b = stat(b, &t) == 0;
    if (has_a || has_b)
        return has_a && has_b && S_ISREG(s.st_mode) && is_same(&s, &t);
    const char *slash[2] = {strrchr(a, '/'), strrchr(b, '/')};
    return strcmp(slash[0] ? slash[0] + 1 : a, slash[1] ? slash[1] + 1 : b) == 0 &&
           stat_folder(a, &s) && stat_folder(b, &t) && is_same(&s, &t);
}

/* Is it the regular file that is open there? */
static bool is_open_as(const char *path, int fd)
{
    struct stat s, t;
    return fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && stat(path, &t) == 0 && is_same(&s, &t);
}

static int check_standard_input(const char *path)
{
    if (!is_open_as(path, STDIN_FILENO))
        return EXIT_OK;
    complain("%s: the output would overwrite standard input", path);
    return EXIT_USAGE;
}

static int check_inputs(const char *path, const char *const *inputs, size_t n)
{
    int code = check_standard_input(path);
    for (size_t i = 0; i < n && code == EXIT_OK; i++)
        if (inputs[i] && access(path, F_OK) == 0 && are_one(path, inputs[i])) {
            complain("%s: the output would overwrite the input %s", path, inputs[i]);
            code = EXIT_USAGE;
        }
    return code;
}

/* ---- checks before the work ------------------------------------------------------------------ */

static int check_name(const char *path)
{
    size_t length = strlen(path);
    if (length > 0 && path[length - 1] != '/')
        return EXIT_OK;
    complain("'%s': expected the name of a file to write, got %s", path,
             length ? "that of a folder" : "an empty one");
    return EXIT_USAGE;
}

/* A picture named like another format would not be opened as what it is. */
static int check_ending(const result_file *o)
{
    const char *slash = strrchr(o->path, '/'), *name = slash ? slash + 1 : o->path,
               *dot = strrchr(name, '.');
    if (!o->ending || !dot || dot == name || strcasecmp(dot, o->ending) == 0)
        return EXIT_OK;
    complain("%s: expected a file named %s, got one named %s", o->path, o->ending, dot);
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

int check_outputs(const result_file *outputs, size_t n, const char *const *inputs, size_t n_inputs)
{
    int code = EXIT_OK;
    for (size_t i = 0; i < n && code == EXIT_OK; i++) {
        const char *path = outputs[i].path;
        if (!path)
            continue;
        code = check_name(path);
        for (size_t k = 0; k < i && code == EXIT_OK; k++)
            if (outputs[k].path && are_one(path, outputs[k].path)) {
                complain("%s: two outputs would be this file", path);
                code = EXIT_USAGE;
            }
        if (code == EXIT_OK)
            code = check_inputs(path, inputs, n_inputs);
        if (code == EXIT_OK)
            code = check_kept(&outputs[i]);
        if (code == EXIT_OK)
            code = check_ending(&outputs[i]);
        if (code == EXIT_OK)
            code = check_writable(path);
    }
    return code;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Can a new file take the place of that one, or of none?  Not of a device or a pipe, nor where the
 * folder cannot be changed. */
static bool is_replaceable(const char *path)
{
    struct stat s;
    bool exists = lstat(path, &s) == 0;
    char *copy = strdup(path);
    bool can = copy && (!exists || S_ISREG(s.st_mode)) && access(dirname(copy), W_OK | X_OK) == 0;
    free(copy);
    return can;
}

/* In place; what is there is lost in any case. */
static int write_over(FILE *f, const char *path, const void *bytes, size_t size)
{
    bool ok = f && fwrite(bytes, 1, size, f) == size;
    int why = errno;
    if (f && (f == stdout ? fflush(f) : fclose(f)) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (!ok)
        complain("%s: %s", path, strerror(why));
    return ok ? EXIT_OK : EXIT_IO;
}

int write_file(const char *path, const void *bytes, size_t size)
{
    wg_error error = {0};
    if (is_open_as(path, STDOUT_FILENO)) /* what it has and what follows would be lost */
        return write_over(stdout, path, bytes, size);
    if (!is_replaceable(path))
        return write_over(fopen(path, "wb"), path, bytes, size);
    return wgi_file_replace_bytes(path, bytes, size, &error) == WG_OK ? EXIT_OK
                                                                      : complain_error(&error);
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
