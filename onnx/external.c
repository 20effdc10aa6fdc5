#define _XOPEN_SOURCE 700 /* realpath */
#include "onnx/external.h"
#include "files/read.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What external_data says: pairs of texts. */
typedef struct place {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} place;

static bool take_number(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return isdigit((unsigned char)text[0]) && !*end && errno == 0;
}

static wg_status take_entry(place *p, const char *key, const char *value, wg_error *error)
{
    bool is_length = strcmp(key, "length") == 0, is_offset = strcmp(key, "offset") == 0;
    if (strcmp(key, "location") == 0)
        p->location = value;
    p->has_length |= is_length;
    if ((is_length || is_offset) && !take_number(value, is_length ? &p->length : &p->offset))
        return wgi_error_set(error, WG_EDATA, "external_data: %s: expected a number, got '%s'", key,
                             value);
    return WG_OK;
}

/* Neither "/etc/passwd" nor "../secrets", nor "a/../../b". */
static bool stays_inside(const char *location)
{
    if (!*location || *location == '/')
        return false;
    for (const char *part = location; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
            return false;
    }
    return true;
}

static wg_status read_place(place *p, const ox_tensor_proto *t, uint64_t size, wg_error *error)
{
    wg_status status = WG_OK;
    *p = (place){0};
    for (size_t i = 0; i < t->n_external_data && status == WG_OK; i++)
        status = take_entry(p, ox_text(t->external_data[i]->key),
                            ox_text(t->external_data[i]->value), error);
    if (status != WG_OK)
        return status;
    if (!p->location)
        return wgi_error_set(error, WG_EDATA, "external_data: no location");
    if (!stays_inside(p->location))
        return wgi_error_set(error, WG_EDATA,
                             "external_data: the location '%s' is not within the model's folder",
                             p->location);
    if (p->has_length && p->length != size)
        return wgi_error_set(error, WG_EDATA,
                             "external_data: expected a length of %" PRIu64
                             " bytes as dims says, got %" PRIu64,
                             size, p->length);
    return WG_OK;
}

static wg_status follow(char **out, const char *path, wg_error *error)
{
    *out = realpath(path, NULL);
    return *out ? WG_OK : wgi_error_errno(error, path, "look for it");
}

/* The folder of a file, links followed. */
static wg_status find_folder(char **out, const char *file, wg_error *error)
{
    *out = NULL;
    char *path = strdup(file);
    if (!path)
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    char *slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = 0;
    wg_status status = follow(out, slash ? path : ".", error);
    free(path);
    return status;
}

static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    n -= n == 1; /* of "/" no slash follows */
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* The file that `path` names, links followed, is below the folder of `model`, with the links of
 * that name followed or not. */
static wg_status check_place(const char *path, const char *model, wg_error *error)
{
    char *real, *folder = NULL, *real_model = NULL, *real_folder = NULL;
    wg_status status = follow(&real, path, error);
    if (status == WG_OK)
        status = find_folder(&folder, model, error);
    if (status == WG_OK)
        status = follow(&real_model, model, error);
    if (status == WG_OK)
        status = find_folder(&real_folder, real_model, error);
    if (folder && real_folder && !is_below(real, folder) && !is_below(real, real_folder))
        status = wgi_error_file(error, WG_EDATA, path,
                                "external_data: is a link to a place outside the model's folder");
    free(real);
    free(folder);
    free(real_model);
    free(real_folder);
    return status;
}

/* Reads the bytes at p, or, if there is no room for them, checks that they are there. */
static wg_status read_file(void *bytes, const place *p, uint64_t size, const char *path,
                           wg_error *error)
{
    int fd;
    size_t length;
    wg_status status = wgi_file_open(&fd, &length, path, error);
    if (status != WG_OK)
        return status;
    if (p->offset > length || size > length - p->offset)
        status = wgi_error_file(error, WG_EDATA, path,
                                "external_data: %" PRIu64 " bytes at offset %" PRIu64
                                " are beyond its end: it has %zu",
                                size, p->offset, length);
    else if (bytes)
        status = wgi_file_read_at(fd, bytes, (size_t)size, p->offset, path, error);
    close(fd);
    return status;
}

wg_status wgi_ox_external_read(void *bytes, const ox_tensor_proto *t, uint64_t size,
                               const char *model, wg_error *error)
{
    place p;
    wg_status status = read_place(&p, t, size, error);
    if (status != WG_OK)
        return status;
    const char *slash = strrchr(model, '/');
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): no place without location */
    size_t folder = slash ? (size_t)(slash - model) + 1 : 0, n = folder + strlen(p.location) + 1;
    char *path = malloc(n);
    if (!path)
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    snprintf(path, n, "%.*s%s", (int)folder, model, p.location);
    if (is_folder(path))
        status = wgi_error_set(error, WG_EDATA, "external_data: the location '%s' is a folder",
                               p.location);
    else
        status = check_place(path, model, error);
    if (status == WG_OK)
        status = read_file(bytes, &p, size, path, error);
    free(path);
    return status;
}
