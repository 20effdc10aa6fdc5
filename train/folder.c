#include "wengert/train/folder.h"
#include "graph/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *wg_folder_path(const char *folder, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int name = vsnprintf(NULL, 0, format, list);
    va_end(list);
    size_t n = strlen(folder), room = n + (size_t)(name > 0 ? name : 0) + 2;
    char *path = malloc(room);
    if (!path)
        return NULL;
    memcpy(path, folder, n);
    path[n++] = '/';
    va_start(list, format);
    vsnprintf(path + n, room - n, format, list);
    va_end(list);
    return path;
}

bool wg_folder_has(const char *folder, const char *name)
{
    struct stat s;
    char *path = wg_folder_path(folder, "%s", name);
    bool has = path && stat(path, &s) == 0;
    free(path);
    return has;
}

wg_status wg_folder_make(const char *folder, wg_error *error)
{
    wgi_error_clear(error);
    size_t n = strlen(folder);
    char *path = malloc(n + 1);
    struct stat s;
    wg_status status = WG_OK;
    if (!path)
        return wgi_error_file(error, WG_ENOMEM, folder, "no memory to make it");
    memcpy(path, folder, n + 1);
    for (size_t i = 1; i <= n && status == WG_OK; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        char old = path[i];
        path[i] = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            status = wgi_error_errno(error, path, "make the folder");
        path[i] = old;
    }
    if (status == WG_OK && (stat(folder, &s) != 0 || !S_ISDIR(s.st_mode)))
        status = wgi_error_file(error, WG_EIO, folder, "expected a folder, got a file");
    free(path);
    return status;
}

/* ---- settings -------------------------------------------------------------------------------- */

wg_status wg_folder_check(const char *folder, wg_error *error)
{
    wgi_error_clear(error);
    return wg_folder_has(folder, WG_FILE_CONFIG)
               ? WG_OK
               : wgi_error_file(error, WG_EIO, folder, "not a model folder: it has no %s",
                                WG_FILE_CONFIG);
}

wg_status wg_folder_settings(wg_settings *out, const char *folder, wg_error *error)
{
    *out = (wg_settings){0};
    wg_status status = wg_folder_check(folder, error);
    if (status != WG_OK)
        return status;
    char *path = wg_folder_path(folder, "%s", WG_FILE_CONFIG);
    if (!path || wg_settings_init(out) != WG_OK)
        status = wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    else
        status = wg_settings_read_yaml(out, path, error);
    free(path);
    if (status != WG_OK)
        wg_settings_free(out);
    return status;
}

/* ---- vocabularies ---------------------------------------------------------------------------- */

static const char *const extensions[] = {"spm", "txt"};
static const char *const stems[] = {"vocab", "vocab.source", "vocab.target"};
enum { JOINT = 0, SOURCE, TARGET };

static const char *extension_of(const wg_vocabulary *v)
{
    wg_vocabulary_kind kind = wg_vocabulary_kind_of(v);
    return extensions[kind == WG_VOCABULARY_WORDS || kind == WG_VOCABULARY_CHARS];
}

/* The path of the file with that stem; NULL if there is none. */
static char *find(const char *folder, const char *stem)
{
    for (size_t i = 0; i < WG_COUNT(extensions); i++) {
        struct stat s;
        char *path = wg_folder_path(folder, "%s.%s", stem, extensions[i]);
        if (path && stat(path, &s) == 0)
            return path;
        free(path);
    }
    return NULL;
}

static wg_status open_one(wg_vocabulary **out, const char *folder, const char *stem,
                          wg_error *error)
{
    wgi_error_clear(error);
    char *path = find(folder, stem);
    wg_status status =
        path ? wg_vocabulary_open(out, path, error)
             : wgi_error_file(error, WG_EIO, folder,
                              "expected a vocabulary, vocab.spm or vocab.txt, or both "
                              "vocab.source.* and vocab.target.*");
    free(path);
    return status;
}

bool wg_vocabularies_exist(const char *folder)
{
    char *joint = find(folder, stems[JOINT]), *source = find(folder, stems[SOURCE]);
    bool exist = joint || source;
    free(joint);
    free(source);
    return exist;
}

wg_status wg_vocabularies_open(wg_vocabularies *out, const char *folder, wg_error *error)
{
    *out = (wg_vocabularies){{NULL, NULL}};
    char *source = find(folder, stems[SOURCE]);
    wg_status status = open_one(&out->side[0], folder, stems[source ? SOURCE : JOINT], error);
    if (status == WG_OK && source)
        status = open_one(&out->side[1], folder, stems[TARGET], error);
    else if (status == WG_OK)
        out->side[1] = out->side[0];
    free(source);
    if (status != WG_OK)
        wg_vocabularies_free(out);
    return status;
}

wg_status wg_vocabularies_read(wg_vocabularies *out, const char *source, const char *target,
                               wg_error *error)
{
    *out = (wg_vocabularies){{NULL, NULL}};
    wg_status status = wg_vocabulary_open(&out->side[0], source, error);
    if (status == WG_OK && target && strcmp(source, target) != 0)
        status = wg_vocabulary_open(&out->side[1], target, error);
    else if (status == WG_OK)
        out->side[1] = out->side[0];
    if (status != WG_OK)
        wg_vocabularies_free(out);
    return status;
}

wg_status wg_vocabularies_expect(const char *folder, const char *source, const char *target,
                                 wg_error *error)
{
    const char *const files[] = {source, target ? target : source};
    wgi_error_clear(error);
    wg_vocabularies here = {{NULL, NULL}}, there = {{NULL, NULL}};
    wg_status status = wg_vocabularies_open(&here, folder, error);
    if (status == WG_OK)
        status = wg_vocabularies_read(&there, source, target, error);
    for (int i = 0; status == WG_OK && i < 2; i++)
        if (!wg_vocabulary_equal(here.side[i], there.side[i]))
            status = wgi_error_file(error, WG_EINVAL, files[i],
                                    "expected the %s vocabulary that %s has, got another",
                                    i ? "target" : "source", folder);
    wg_vocabularies_free(&here);
    wg_vocabularies_free(&there);
    return status;
}

/* Saves the vocabulary under that name; NULL removes the file. */
static wg_status put_one(const wg_vocabulary *v, const char *folder, const char *stem,
                         const char *extension, wg_error *error)
{
    wgi_error_clear(error);
    char *path = wg_folder_path(folder, "%s.%s", stem, extension);
    wg_status status =
        path ? WG_OK : wgi_error_file(error, WG_ENOMEM, folder, "no memory to save its vocabulary");
    if (path && v)
        status = wg_vocabulary_save(v, path, error);
    else if (path && unlink(path) != 0 && errno != ENOENT)
        status = wgi_error_errno(error, path, "remove");
    free(path);
    return status;
}

wg_status wg_vocabularies_save(const wg_vocabularies *v, const char *folder, wg_error *error)
{
    bool joint = v->side[0] == v->side[1];
    const wg_vocabulary *of[] = {[JOINT] = joint ? v->side[0] : NULL,
                                 [SOURCE] = joint ? NULL : v->side[0],
                                 [TARGET] = joint ? NULL : v->side[1]};
    wg_status status = WG_OK;
    for (int k = JOINT; k <= TARGET; k++)
        for (size_t i = 0; i < WG_COUNT(extensions) && status == WG_OK; i++) {
            bool this_one = of[k] && extension_of(of[k]) == extensions[i];
            status = put_one(this_one ? of[k] : NULL, folder, stems[k], extensions[i], error);
        }
    return status;
}

void wg_vocabularies_free(wg_vocabularies *v)
{
    if (v->side[1] != v->side[0])
        wg_vocabulary_free(v->side[1]);
    wg_vocabulary_free(v->side[0]);
    *v = (wg_vocabularies){{NULL, NULL}};
}
