#include "translate/foreign/export.h"
#include "files/read.h"
#include "graph/error.h"
#include "wengert/train/folder.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the layout can have ---------------------------------------------------------------- */

/* Is `value` one of `all`, which are separated by '|'? */
static bool listed(const char *all, const char *value)
{
    size_t n = strlen(value);
    for (const char *at = all; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == n && memcmp(at, value, n) == 0)
            return true;
    return false;
}

/* Lists every option that the layout cannot have. */
static wg_status check_options(const wgi_export *x)
{
    const wg_settings *s = wgi_translator_settings(x->model);
    wg_status status = WG_OK;
    for (const wgi_layout_pair *p = x->layout->able; p->key; p++) {
        char *value = NULL;
        if (wg_settings_get(s, wg_option_find(p->key), &value) != WG_OK)
            return wgi_error_set(x->error, WG_ENOMEM, "out of memory");
        if (!listed(p->value, value))
            status = wgi_error_line(x->error, WG_EUNSUPPORTED,
                                    "%s: the models of %s have %s, this one has %s", p->key,
                                    x->layout->name, p->value, value);
        free(value);
    }
    if (s->net.positions == WG_POSITIONS_LEARNED && s->net.first_position != x->layout->first_row)
        status = wgi_error_line(x->error, WG_EUNSUPPORTED,
                                "first-position: the learned positions of %s begin at %lld, those "
                                "of this model at %lld",
                                x->layout->name, (long long)x->layout->first_row,
                                (long long)s->net.first_position);
    if (s->net.norm_eps != 1e-5)
        snprintf(x->report->text, sizeof x->report->text,
                 "norm-eps is %g, %s computes with 1e-05 unless told otherwise", s->net.norm_eps,
                 x->layout->name);
    return status;
}

/* ---- what is in the folder ------------------------------------------------------------------- */

/* Is the folder's config.json of an export?  It then has a part of this name, by which import knows
 * the model's options.  Whatever cannot be read is none. */
static bool is_exported(const char *folder)
{
    enum { MOST = 1 << 24 };
    wg_error unread;
    size_t size;
    char *bytes = NULL, *path = wg_folder_path(folder, "%s", "config.json");
    bool is = path && wgi_file_read(&bytes, &size, path, MOST, &unread) == WG_OK &&
              strstr(bytes, "\"wengert\":") != NULL;
    free(bytes);
    free(path);
    return is;
}

/* Files of an export are replaced by those of another; any others stay. */
static wg_status check_folder(const wgi_export *x)
{
    static const char *const names[] = {"config.json",
                                        WG_FILE_MODEL,
                                        "vocab.txt",
                                        "vocab.spm",
                                        "vocab.source.txt",
                                        "vocab.target.txt",
                                        "vocab.source.spm",
                                        "vocab.target.spm",
                                        "vocab.json",
                                        "target_vocab.json",
                                        "tokenizer_config.json",
                                        "dict.source.txt",
                                        "dict.target.txt",
                                        "source.spm",
                                        "target.spm"};
    bool exists = false;
    for (size_t i = 0; i < WG_COUNT(names); i++) {
        wg_status status = wg_folder_has(x->folder, names[i], &exists, x->error);
        if (status != WG_OK)
            return status;
        if (exists && is_exported(x->folder))
            return WG_OK;
        if (exists)
            return wgi_error_file(x->error, WG_EINVAL, x->folder,
                                  "it has a file %s that no export has written; export into "
                                  "another folder",
                                  names[i]);
    }
    return WG_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static wg_status write_all(wgi_export *x)
{
    wg_status status = check_options(x);
    if (status == WG_OK)
        status = check_folder(x);
    if (status == WG_OK)
        status = wgi_export_order(x);
    if (status == WG_OK)
        status = wg_folder_make(x->folder, x->error);
    if (status == WG_OK)
        status = wgi_export_config(x);
    if (status == WG_OK)
        status = wgi_export_vocabularies(x);
    return status == WG_OK ? wgi_export_weights(x) : status;
}

wg_status wg_foreign_export(const char *layout, const char *model, const char *weights,
                            const char *folder, wg_foreign_report *report, wg_error *error)
{
    wg_foreign_report unread;
    wg_error local;
    wg_translator *t = NULL;
    wgi_export x = {
        .folder = folder, .report = report ? report : &unread, .error = error ? error : &local};
    wgi_error_clear(x.error);
    *x.report = (wg_foreign_report){.tensors = 0};
    if (!model || !folder)
        return wgi_error_set(x.error, WG_EINVAL, "wg_foreign_export: a folder is NULL");
    if (strcmp(model, folder) == 0)
        return wgi_error_file(x.error, WG_EINVAL, folder, "expected another folder to write to");
    x.layout = wgi_layout_find(layout, x.error);
    if (!x.layout)
        return WG_EINVAL;
    const wg_translator_options options = {.weights = weights, .threads = 1};
    wg_status status = wg_translator_open(&t, model, &options, x.error);
    if (status != WG_OK)
        return status;
    x.model = t;
    for (int side = 0; side < 2; side++)
        x.side[side] = wg_translator_vocabulary(t, side);
    status = write_all(&x);
    for (int side = 0; side < 2; side++)
        free(x.order[side]);
    wg_translator_free(t);
    return status;
}
