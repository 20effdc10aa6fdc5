#include "translate/folder.h"
#include "files/checksum.h"
#include "files/read.h"
#include "files/replace.h"
#include "graph/error.h"
#include "graph/text_buffer.h"
#include "translate/settings_yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- settings -------------------------------------------------------------------------------- */

wg_status wg_folder_check(const char *folder, wg_error *error)
{
    bool has;
    const char *missing = wgi_folder_missing(folder);
    if (missing)
        return wgi_error_file(error, WG_EIO, folder, "not a model folder: %s", missing);
    wg_status status = wg_folder_has(folder, WG_FILE_CONFIG, &has, error);
    return status != WG_OK || has
               ? status
               : wgi_error_file(error, WG_EIO, folder,
                                "not a model folder: it has no %s, as `wengert train` writes",
                                WG_FILE_CONFIG);
}

static const wgi_checksum_head head = {
    "# xxh64 ", " of the lines below; delete this line if you change them\n"};

/* Files of earlier versions have no checksum. */
static wg_status parse_config(wg_settings *out, const char *path, const char *bytes, size_t size,
                              wg_error *error)
{
    if (wgi_checksum_head_check(&head, bytes, size) == WGI_CHECKSUM_WRONG)
        return wgi_error_file(error, WG_EDATA, path,
                              "it does not match the checksum in its first line: it was damaged or "
                              "changed; if it was changed on purpose, delete that line");
    return wgi_settings_parse_yaml(out, path, bytes, size, error);
}

/* Imported weights, from which a first training starts, are named without their folder, which may
 * be moved. */
static wg_status find_pretrained(wg_settings *s, const char *folder, wg_error *error)
{
    if (!s->pretrained || strcmp(s->pretrained, WG_FILE_MODEL) != 0)
        return WG_OK;
    char *path = wg_folder_path(folder, WG_FILE_MODEL);
    if (!path)
        return wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    free(s->pretrained);
    s->pretrained = path;
    return WG_OK;
}

wg_status wg_folder_settings(wg_settings *out, const char *folder, wg_error *error)
{
    *out = (wg_settings){0};
    wg_status status = wg_folder_check(folder, error);
    if (status != WG_OK)
        return status;
    size_t size = 0;
    char *bytes = NULL, *path = wg_folder_path(folder, "%s", WG_FILE_CONFIG);
    if (!path || wg_settings_init(out) != WG_OK)
        status = wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    else
        status = wgi_file_read(&bytes, &size, path, WG_MAX_SETTINGS_BYTES, error);
    if (status == WG_OK)
        status = parse_config(out, path, bytes, size, error);
    if (status == WG_OK)
        status = find_pretrained(out, folder, error);
    free(bytes);
    free(path);
    if (status != WG_OK)
        wg_settings_free(out);
    return status;
}

/* The settings as YAML with a checksum, *text the caller's to free. */
static wg_status config_text(const wg_settings *s, char **text, size_t *size)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    if (!f)
        return WG_ENOMEM;
    fprintf(f, "%*s", (int)wgi_checksum_head_size(&head), ""); /* room for it */
    wg_status status = wg_settings_write_yaml(s, f);
    *text = wgi_text_close(&b);
    *size = b.size;
    if (status == WG_OK && *text)
        wgi_checksum_head_put(&head, *text, *size);
    return *text ? status : WG_ENOMEM;
}

wg_status wgi_folder_write_settings(const char *folder, const wg_settings *s, wg_error *error)
{
    char *text = NULL, *path = wg_folder_path(folder, WG_FILE_CONFIG);
    size_t size = 0;
    wg_status status = path ? config_text(s, &text, &size) : WG_ENOMEM;
    status = status == WG_OK
                 ? wgi_file_replace_bytes(path, text, size, error)
                 : wgi_error_file(error, status, folder, "no memory to write its " WG_FILE_CONFIG);
    free(text);
    free(path);
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

/* The path of the file with that stem, the caller's to free; NULL if there is none. */
static wg_status find(char **path, const char *folder, const char *stem, wg_error *error)
{
    bool exists = false;
    wg_status status = WG_OK;
    *path = NULL;
    for (size_t i = 0; i < WG_COUNT(extensions) && status == WG_OK && !exists; i++) {
        free(*path);
        *path = wg_folder_path(folder, "%s.%s", stem, extensions[i]);
        status = *path ? wgi_file_exists(*path, &exists, error)
                       : wgi_error_file(error, WG_ENOMEM, folder, "no memory to look into it");
    }
    if (!exists) {
        free(*path);
        *path = NULL;
    }
    return status;
}

static wg_status open_one(wg_vocabulary **out, const char *folder, const char *stem,
                          wg_error *error)
{
    char *path;
    wg_status status = find(&path, folder, stem, error);
    if (status == WG_OK)
        status = path ? wg_vocabulary_open(out, path, error)
                      : wgi_error_file(error, WG_EIO, folder,
                                       "expected a vocabulary, vocab.spm or vocab.txt, or both "
                                       "vocab.source.* and vocab.target.*");
    free(path);
    return status;
}

/* Whether there is a file with that stem. */
static wg_status has_stem(bool *has, const char *folder, const char *stem, wg_error *error)
{
    char *path;
    wg_status status = find(&path, folder, stem, error);
    *has = path != NULL;
    free(path);
    return status;
}

wg_status wg_vocabularies_exist(const char *folder, bool *exist, wg_error *error)
{
    wgi_error_clear(error);
    wg_status status = has_stem(exist, folder, stems[JOINT], error);
    return status == WG_OK && !*exist ? has_stem(exist, folder, stems[SOURCE], error) : status;
}

wg_status wg_vocabularies_open(wg_vocabularies *out, const char *folder, wg_error *error)
{
    bool two;
    wgi_error_clear(error);
    *out = (wg_vocabularies){{NULL, NULL}};
    wg_status status = has_stem(&two, folder, stems[SOURCE], error);
    if (status == WG_OK)
        status = open_one(&out->side[0], folder, stems[two ? SOURCE : JOINT], error);
    if (status == WG_OK && two)
        status = open_one(&out->side[1], folder, stems[TARGET], error);
    else if (status == WG_OK)
        out->side[1] = out->side[0];
    if (status != WG_OK)
        wg_vocabularies_free(out);
    return status;
}

uint64_t wgi_vocabularies_hash(const wg_vocabularies *v)
{
    const uint64_t both[] = {wg_vocabulary_hash(v->side[0]), wg_vocabulary_hash(v->side[1])};
    uint64_t hash = wgi_xxh64(both, sizeof both, 0);
    return hash ? hash : 1;
}

void wgi_note_of_vocabularies(char text[WGI_NOTE_SIZE], uint64_t hash)
{
    wgi_checksum_digits(text, hash);
    text[WGI_CHECKSUM_DIGITS] = '\0';
}

wg_status wgi_vocabularies_check(const wg_vocabularies *v, const char *folder, const char *note,
                                 const char *path, wg_error *error)
{
    char text[WGI_NOTE_SIZE];
    wgi_note_of_vocabularies(text, wgi_vocabularies_hash(v));
    return !note || strcmp(note, text) == 0
               ? WG_OK
               : wgi_error_file(error, WG_EDATA, folder,
                                "its vocabulary is not the one that %s was trained with: it was "
                                "damaged or changed; put the old one back (weights without the "
                                "metadata entry " WGI_NOTE_VOCABULARIES " take any)",
                                path);
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

/* The vocabulary with each stem, NULL: none. */
static void by_stem(const wg_vocabulary *of[WG_COUNT(stems)], const wg_vocabularies *v)
{
    bool joint = v->side[0] == v->side[1];
    of[JOINT] = joint ? v->side[0] : NULL;
    of[SOURCE] = joint ? NULL : v->side[0];
    of[TARGET] = joint ? NULL : v->side[1];
}

wg_status wg_vocabularies_save(const wg_vocabularies *v, const char *folder, wg_error *error)
{
    const wg_vocabulary *of[WG_COUNT(stems)];
    wg_status status = WG_OK;
    by_stem(of, v);
    for (int k = JOINT; k <= TARGET; k++)
        for (size_t i = 0; i < WG_COUNT(extensions) && status == WG_OK; i++) {
            bool this_one = of[k] && extension_of(of[k]) == extensions[i];
            status = put_one(this_one ? of[k] : NULL, folder, stems[k], extensions[i], error);
        }
    return status;
}

wg_status wgi_vocabularies_saved(const wg_vocabularies *v, const char *folder, bool *saved,
                                 wg_error *error)
{
    const wg_vocabulary *of[WG_COUNT(stems)];
    wg_status status = WG_OK;
    by_stem(of, v);
    *saved = true;
    for (int k = JOINT; k <= TARGET && status == WG_OK && *saved; k++)
        if (of[k])
            status = has_stem(saved, folder, stems[k], error);
    return status;
}

void wg_vocabularies_free(wg_vocabularies *v)
{
    if (v->side[1] != v->side[0])
        wg_vocabulary_free(v->side[1]);
    wg_vocabulary_free(v->side[0]);
    *v = (wg_vocabularies){{NULL, NULL}};
}
