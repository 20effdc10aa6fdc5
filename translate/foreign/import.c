#include "translate/foreign/import.h"
#include "files/read.h"
#include "graph/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* What a folder without model.safetensors has instead. */
static wg_status refuse_folder(const wgi_import *im)
{
    static const char *const others[][2] = {
        {"model.safetensors.index.json", "weights in several files; save them in one"},
        {"pytorch_model.bin", "a pickle of PyTorch; save it as safetensors: docs/weights.md"},
        {"model.npz", "numbers of Marian; convert them to Hugging Face's form first"},
    };
    bool has = false;
    wg_status status = WG_OK;
    for (size_t i = 0; i < WG_COUNT(others) && status == WG_OK; i++) {
        status = wg_folder_has(im->folder, others[i][0], &has, im->error);
        if (has)
            return wgi_error_file(im->error, WG_EDATA, im->folder,
                                  "expected " WG_FILE_MODEL ", got %s: %s", others[i][0],
                                  others[i][1]);
    }
    return status != WG_OK
               ? status
               : wgi_error_file(im->error, WG_EIO, im->folder, "it has no " WG_FILE_MODEL);
}

static wg_status open_weights(wgi_import *im)
{
    static const char *const pickles[] = {".pt", ".pth", ".bin", ".ckpt"};
    const char *path = im->options->path;
    bool inside = is_folder(path), has = true;
    im->folder = inside ? strdup(path) : folder_of(path);
    im->path = inside ? wg_folder_path(path, WG_FILE_MODEL) : strdup(path);
    if (!im->folder || !im->path)
        return wgi_error_file(im->error, WG_ENOMEM, path, "out of memory");
    for (size_t i = 0; i < WG_COUNT(pickles); i++)
        if (!inside && ends_with(path, pickles[i]))
            return wgi_error_file(im->error, WG_EDATA, path,
                                  "expected a safetensors file, got a pickle of PyTorch: "
                                  "docs/weights.md says how to convert it");
    wg_status status = inside ? wg_folder_has(path, WG_FILE_MODEL, &has, im->error) : WG_OK;
    if (status == WG_OK && !has)
        return refuse_folder(im);
    if (status == WG_OK)
        status = wg_safetensors_open(&im->file, im->path, im->error);
    if (status == WG_OK && !(im->used = calloc(wg_safetensors_count(im->file) + 1, 1)))
        status = wgi_error_file(im->error, WG_ENOMEM, path, "out of memory");
    return status;
}

/* The prefix of all names: what stands before "encoder.layers.0." */
static wg_status find_prefix(wgi_import *im)
{
    static const char first[] = "encoder.layers.0.";
    size_t count = wg_safetensors_count(im->file);
    for (size_t i = 0; i < count; i++) {
        const char *name = wg_safetensors_at(im->file, i)->name, *at = strstr(name, first);
        size_t n = at ? (size_t)(at - name) : 0;
        if (!at || (n > 0 && name[n - 1] != '.') || n >= sizeof im->prefix)
            continue;
        memcpy(im->prefix, name, n);
        im->prefix[n] = '\0';
        return WG_OK;
    }
    return wgi_error_file(im->error, WG_EDATA, im->path,
                          "expected tensors such as %sself_attn..., got %zu others%s%s", first,
                          count, count ? ", such as " : "",
                          count ? wg_safetensors_at(im->file, 0)->name : "");
}

static wg_status read_facts(wgi_import *im)
{
    bool has;
    wg_status status = wg_folder_has(im->folder, "config.json", &has, im->error);
    if (status != WG_OK || !has)
        return status;
    char *path = wg_folder_path(im->folder, "config.json");
    status = path ? wgi_facts_read(&im->facts, path, im->error)
                  : wgi_error_file(im->error, WG_ENOMEM, im->folder, "out of memory");
    free(path);
    return status;
}

/* ---- the new folder -------------------------------------------------------------------------- */

static wg_status check_folder(const wgi_import *im)
{
    static const char *const files[] = {WG_FILE_CONFIG, WG_FILE_MODEL, WG_FILE_PROGRESS};
    const char *folder = im->options->settings->model;
    bool has = false;
    wg_status status = WG_OK;
    if (!folder || !*folder)
        return wgi_error_set(im->error, WG_EINVAL, "model: expected a folder to make, got none");
    for (size_t i = 0; i < WG_COUNT(files) && status == WG_OK; i++) {
        status = wg_folder_has(folder, files[i], &has, im->error);
        if (has)
            return wgi_error_file(im->error, WG_EINVAL, folder,
                                  "it has a model already (%s); import into another folder",
                                  files[i]);
    }
    return status;
}

/* config.yml comes last: without it, the folder is no model. */
static wg_status write_folder(wgi_import *im)
{
    char note[WGI_NOTE_SIZE];
    const char *folder = im->settings.model;
    char *path = wg_folder_path(folder, WG_FILE_MODEL);
    wgi_note_of_vocabularies(note, wgi_vocabularies_hash(&im->vocabularies));
    wg_status status = path ? wg_store_set_note(im->store, WGI_NOTE_VOCABULARIES, note) : WG_ENOMEM;
    if (status != WG_OK)
        wgi_error_file(im->error, status, folder, "out of memory");
    if (status == WG_OK)
        status = wg_folder_make(folder, im->error);
    if (status == WG_OK)
        status = wg_vocabularies_save(&im->vocabularies, folder, im->error);
    if (status == WG_OK)
        status = wg_store_save(im->store, path, im->error);
    if (status == WG_OK)
        status = wgi_folder_write_settings(folder, &im->settings, im->error);
    free(path);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static wg_status run(wgi_import *im)
{
    wg_status status = check_folder(im);
    if (status == WG_OK)
        status = open_weights(im);
    if (status == WG_OK)
        status = find_prefix(im);
    if (status == WG_OK)
        status = read_facts(im);
    if (status != WG_OK)
        return status;
    wgi_import_network(im);
    status = wgi_import_vocabularies(im);
    if (status == WG_OK)
        status = wgi_import_fill(im);
    if (status == WG_OK && im->refused.status != WG_OK) {
        *im->error = im->refused;
        status = im->refused.status;
    }
    return status;
}

static void close_all(wgi_import *im)
{
    wg_store_free(im->store);
    wg_vocabularies_free(&im->vocabularies);
    wg_settings_free(&im->settings);
    wgi_facts_free(&im->facts);
    wg_safetensors_close(im->file);
    free(im->used);
    free(im->folder);
    free(im->path);
}

wg_status wg_foreign_import(const wg_foreign_options *options, wg_foreign_report *report,
                            wg_error *error)
{
    wg_error local;
    wg_foreign_report unread;
    wgi_import im = {
        .options = options, .report = report ? report : &unread, .error = error ? error : &local};
    wgi_error_clear(im.error);
    *im.report = (wg_foreign_report){.tensors = 0};
    if (!options || !options->path || !options->settings)
        return wgi_error_set(im.error, WG_EINVAL, "wg_foreign_import: an argument is NULL");
    im.layout = wgi_layout_find(options->layout, im.error);
    if (!im.layout)
        return WG_EINVAL;
    wg_status status = wg_settings_copy(&im.settings, options->settings);
    if (status != WG_OK)
        return wgi_error_set(im.error, status, "out of memory");
    status = run(&im);
    if (status == WG_OK)
        status = write_folder(&im);
    close_all(&im);
    return status;
}
