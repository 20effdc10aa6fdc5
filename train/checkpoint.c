#include "wengert/train/checkpoint.h"
#include "backends/store.h"
#include "files/checksum.h"
#include "files/internal.h"
#include "files/replace.h"
#include "files/weights.h"
#include "graph/error.h"
#include "train/checkpoint_files.h"
#include "train/finite.h"
#include "train/progress.h"
#include "train/owner.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tensors of each file ---------------------------------------------------------------- */

/* A file has the tensors of one owner, without the prefix of their names if `bare`. */
static const struct group {
    wgi_file_kind kind;
    const char *name; /* of the folder's own file */
    wgi_owner owner;
    bool bare;
} groups[WG_CHECKPOINT_FILES] = {
    {WGI_FILE_MODEL, WG_FILE_MODEL, WGI_OWNER_MODEL, false},
    {WGI_FILE_AVERAGE, WG_FILE_AVERAGE, WGI_OWNER_AVERAGE, true},
    {WGI_FILE_OPTIMIZER, WG_FILE_OPTIMIZER, WGI_OWNER_OPTIMIZER, false},
};
enum { MODEL = 0 };

/* What the model has besides averaged parameters: states, such as the running statistics of batch
 * normalisation, and parameters that are not trained. */
static bool has_no_average(const wg_store *store, const wg_tensor *t)
{
    char name[WGI_OWNED_NAME];
    wgi_owned_name(name, WGI_OWNER_AVERAGE, "", t->name);
    return wgi_owner_of(t->name) == WGI_OWNER_MODEL && !wg_store_find(store, name);
}

/* The tensors that belong to that file; NULL without memory.  With the averages goes what has none,
 * so that they are a model. */
static wg_tensor *collect(const wg_store *store, const wg_checkpoint_options *o,
                          const struct group *g, size_t *n)
{
    const wg_tensor *t;
    if (g->kind == WGI_FILE_OPTIMIZER && o->moments)
        store = o->moments;
    wg_tensor *list = malloc((wg_store_count(store) + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; list && (t = wg_store_at(store, i)); i++)
        if (wgi_owner_of(t->name) == g->owner) {
            list[*n] = *t;
            list[(*n)++].name = g->bare ? wgi_owned_part(t->name) : t->name;
        }
    bool averages = g->kind == WGI_FILE_AVERAGE && *n;
    for (size_t i = 0; list && averages && (t = wg_store_at(store, i)); i++)
        if (has_no_average(store, t))
            list[(*n)++] = *t;
    return list;
}

static int by_place(const void *a, const void *b)
{
    const char *x = (*(const wg_file_tensor *const *)a)->data,
               *y = (*(const wg_file_tensor *const *)b)->data;
    return (x > y) - (x < y);
}

/* A hash of names and numbers in the order of the data, which progress.json of format 1 has of each
 * file.  The store may have its tensors in another order by now. */
static wg_status fingerprint(const char *path, uint64_t *hash, wg_error *error)
{
    wg_safetensors *f;
    wg_status status = wg_safetensors_open(&f, path, error);
    size_t n = status == WG_OK ? wg_safetensors_count(f) : 0;
    const wg_file_tensor **order = status == WG_OK ? malloc((n + 1) * sizeof *order) : NULL;
    if (status == WG_OK && !order)
        status = wgi_error_file(error, WG_ENOMEM, path, "no memory to read it");
    for (size_t i = 0; i < n && order; i++)
        order[i] = wg_safetensors_at(f, i);
    if (order)
        qsort(order, n, sizeof *order, by_place);
    *hash = 0;
    for (size_t i = 0; i < n && order; i++) {
        *hash = wgi_xxh64(order[i]->name, strlen(order[i]->name), *hash);
        *hash = wgi_xxh64(order[i]->data, order[i]->size, *hash);
    }
    free(order);
    wg_safetensors_close(f);
    return status;
}

static size_t notes_of(const struct group *g, const wg_checkpoint_options *o)
{
    return g->kind == WGI_FILE_OPTIMIZER ? 0 : o->n_notes;
}

static wg_status write_group(const struct group *g, const wg_tensor *list, size_t n,
                             const wg_checkpoint_options *o, const char *path, uint64_t *digest,
                             wg_error *error)
{
    return wgi_safetensors_write(path, list, n, o->notes, notes_of(g, o), digest, error);
}

wg_status wg_checkpoint_write_model(const wg_store *store, const wg_checkpoint_options *options,
                                    const char *path, wg_error *error)
{
    size_t n;
    uint64_t digest;
    wgi_error_clear(error);
    wg_tensor *list = collect(store, options, &groups[MODEL], &n);
    wg_status status = list ? write_group(&groups[MODEL], list, n, options, path, &digest, error)
                            : wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    free(list);
    return status;
}

static void swap_bytes(char *a, char *b, size_t bytes)
{
    char old[4096];
    for (size_t some; bytes > 0; a += some, b += some, bytes -= some) {
        some = bytes < sizeof old ? bytes : sizeof old;
        memcpy(old, a, some);
        memcpy(a, b, some);
        memcpy(b, old, some);
    }
}

void wg_checkpoint_swap_averages(wg_store *store)
{
    const wg_tensor *average;
    for (size_t i = 0; (average = wg_store_at(store, i)); i++) {
        bool owned = wgi_owner_of(average->name) == WGI_OWNER_AVERAGE;
        const wg_tensor *t = owned ? wg_store_find(store, wgi_owned_part(average->name)) : NULL;
        if (t)
            swap_bytes(average->data, t->data, wgi_tensor_bytes(t));
    }
}

/* ---- saving ---------------------------------------------------------------------------------- */

static wg_status no_memory(const char *folder, const char *what, wg_error *error)
{
    return wgi_error_file(error, WG_ENOMEM, folder, "no memory to %s a checkpoint", what);
}

/* What is not finite now never will be again: such a checkpoint would take the place of a good
 * one. */
static wg_status check_numbers(const char *folder, const wg_store *store, const wg_progress *p,
                               const wg_checkpoint_options *o, wg_error *error)
{
    wg_status status = WG_OK;
    for (int i = 0; i < WG_CHECKPOINT_FILES && status != WG_ENOMEM; i++) {
        size_t n;
        wg_tensor *list = collect(store, o, &groups[i], &n);
        wg_status one = list ? wgi_check_finite(list, n, WG_ENONFINITE, groups[i].name, error)
                             : no_memory(folder, "save", error);
        status = one != WG_OK ? one : status;
        free(list);
    }
    if (status == WG_ENONFINITE)
        wgi_error_prefix(error, status,
                         "update %" PRId64
                         " is not saved, since not all of its numbers are finite; "
                         "the checkpoints are unchanged:\n",
                         p->update);
    return status;
}

wg_status wgi_checkpoint_check(const char *folder, const wg_store *store,
                               const wg_checkpoint_options *o, wg_error *error)
{
    wg_status status = WG_OK;
    for (int i = 0; i < WG_CHECKPOINT_FILES && status == WG_OK; i++) {
        size_t n;
        wg_tensor *list = collect(store, o, &groups[i], &n);
        char *path = wg_folder_path(folder, "%s", groups[i].name);
        status = list && path ? wgi_safetensors_check(path, list, n, o->notes,
                                                      notes_of(&groups[i], o), error)
                              : no_memory(folder, "save", error);
        free(list);
        free(path);
    }
    return status;
}

static wg_status save_group(const char *folder, const wg_store *store, wg_progress *p,
                            const wg_checkpoint_options *o, int which, bool stopped,
                            wg_error *error)
{
    const struct group *g = &groups[which];
    size_t n = 0;
    wg_tensor *list = collect(store, o, g, &n);
    char *path = wgi_checkpoint_path(folder, which == MODEL && stopped ? WGI_FILE_STOPPED : g->kind,
                                     p->update);
    wg_status status =
        list && path ? wgi_checkpoint_check_place(folder, error) : no_memory(folder, "save", error);
    p->files[which] = 0;
    if (status == WG_OK && n)
        status = write_group(g, list, n, o, path, &p->files[which], error);
    free(list);
    free(path);
    return status;
}

/* Makes a file of the checkpoint the folder's own, under `name`. */
static wg_status publish(const char *folder, wgi_file_kind kind, int64_t number, const char *name,
                         wg_error *error)
{
    char *from, *to = wg_folder_path(folder, "%s", name);
    wg_status status = wgi_checkpoint_find(&from, folder, kind, number, error);
    if (status == WG_OK)
        status = from && to ? wgi_file_link(from, to, error)
                 : to       ? wgi_error_file(error, WG_EIO, folder,
                                             "%s of update %" PRId64 " has vanished", name, number)
                            : no_memory(folder, "save", error);
    free(from);
    free(to);
    return status;
}

static wg_status publish_all(const char *folder, const wg_progress *p, wg_error *error)
{
    wg_status status = wgi_checkpoint_check_place(folder, error);
    for (int i = 0; i < WG_CHECKPOINT_FILES && status == WG_OK; i++)
        if (p->files[i])
            status = publish(folder, groups[i].kind, p->update, groups[i].name, error);
    return status == WG_OK ? publish(folder, WGI_FILE_PROGRESS, p->update, WG_FILE_PROGRESS, error)
                           : status;
}

/* Makes checkpoints/, but not the folder; *path is that of its file progress-N.json. */
static wg_status make_place(char **path, const char *folder, int64_t update, wg_error *error)
{
    *path = wgi_checkpoint_path(folder, WGI_FILE_PROGRESS, update);
    return *path ? wgi_folder_make_in(folder, WG_FOLDER_CHECKPOINTS, error)
                 : no_memory(folder, "save", error);
}

wg_status wgi_checkpoint_save(const char *folder, const wg_store *store, wg_progress *p,
                              const wg_checkpoint_options *options, wg_checkpoint_reason reason,
                              wg_error *error)
{
    wgi_error_clear(error);
    const bool stopped = reason == WG_CHECKPOINT_STOPPED;
    char *path = NULL;
    wg_status status = check_numbers(folder, store, p, options, error);
    if (status == WG_OK)
        status = make_place(&path, folder, p->update, error);
    for (int i = 0; i < WG_CHECKPOINT_FILES && status == WG_OK; i++)
        status = save_group(folder, store, p, options, i, stopped, error);
    if (status == WG_OK) /* again, since files were written meanwhile */
        status = wgi_checkpoint_check_place(folder, error);
    if (status == WG_OK) /* left by a process that died before the checkpoint was complete */
        status = wgi_checkpoint_remove(folder, stopped ? WGI_FILE_MODEL : WGI_FILE_STOPPED,
                                       p->update, error);
    if (status == WG_OK)
        status = wgi_progress_write(p, options, path, error);
    if (status == WG_OK)
        status = publish_all(folder, p, error);
    if (status == WG_OK)
        status = wgi_checkpoint_check_place(folder, error);
    if (status == WG_OK)
        wgi_checkpoint_tidy(folder, options->keep);
    free(path);
    return status;
}

wg_status wg_checkpoint_save(const char *folder, const wg_store *store, wg_progress *p,
                             const wg_checkpoint_options *options, wg_checkpoint_reason reason,
                             wg_error *error)
{
    wg_status status = wg_folder_make(folder, error);
    return status == WG_OK ? wgi_checkpoint_save(folder, store, p, options, reason, error) : status;
}

/* ---- restoring ------------------------------------------------------------------------------- */

/* The list is filled from the file, whose digest is given: is it the file that was saved then? */
static wg_status check_group(const wg_tensor *list, size_t n, const wg_progress *p, int which,
                             uint64_t digest, const char *path, wg_error *error)
{
    uint64_t got = digest;
    wg_status status = p->format == 1 ? fingerprint(path, &got, error) : WG_OK;
    if (status != WG_OK)
        return status;
    if (got != p->files[which])
        return wgi_error_file(error, WG_EDATA, path,
                              "expected the tensors of fingerprint %016" PRIx64 ", got %016" PRIx64,
                              p->files[which], got);
    return wgi_check_finite(list, n, WG_EDATA, path, error);
}

/* WG_EDATA: the file is missing, damaged or of no use. */
static wg_status load_file(const char *folder, const wg_tensor *list, size_t n,
                           const wg_progress *p, int which, wg_error *error)
{
    char *path;
    uint64_t digest = 0;
    wg_status status = wgi_checkpoint_find(&path, folder, groups[which].kind, p->update, error);
    bool missing = status == WG_OK && !path;
    if (missing)
        path = wgi_checkpoint_path(folder, groups[which].kind, p->update);
    if (missing && path)
        status = wgi_error_file(error, WG_EDATA, path, "it is missing");
    else if (status == WG_OK)
        status = path ? wgi_tensors_load(list, n, path, &digest, error)
                      : no_memory(folder, "load", error);
    if (status == WG_EUNSUPPORTED) /* training writes no such file */
        status = WG_EDATA;
    if (status == WG_OK)
        status = check_group(list, n, p, which, digest, path, error);
    free(path);
    return status;
}

static wg_status load_group(const char *folder, const wg_store *store, const wg_progress *p,
                            const wg_checkpoint_options *o, int which, wg_error *error)
{
    size_t n = 0;
    wg_tensor *list = collect(store, o, &groups[which], &n);
    wg_status status = list ? WG_OK : no_memory(folder, "load", error);
    if (status == WG_OK && n)
        status = load_file(folder, list, n, p, which, error);
    else if (status == WG_OK && p->files[which])
        status = wgi_error_file(error, WG_EDATA, folder,
                                "update %" PRId64 " has a file %s, of which the model has nothing",
                                p->update, groups[which].name);
    free(list);
    return status;
}

/* Adds a line for each tensor that the model has otherwise than the checkpoint. */
static void name_differences(const char *folder, const wg_store *store, int64_t number,
                             const wg_checkpoint_options *o, wg_error *error)
{
    size_t n = 0;
    char *path = NULL;
    wg_error lines;
    wgi_error_clear(&lines);
    wg_tensor *list = collect(store, o, &groups[MODEL], &n);
    if (list && wgi_checkpoint_find(&path, folder, WGI_FILE_MODEL, number, &lines) == WG_OK &&
        path && wgi_tensors_compare(list, n, path, &lines) == WG_EDATA)
        wgi_error_line(error, error->status, "%s", lines.text);
    free(path);
    free(list);
}

static wg_status load_number(const char *folder, wg_store *store, wg_progress *p,
                             const wg_checkpoint_options *options, int64_t number, wg_error *error)
{
    char *path = wgi_checkpoint_path(folder, WGI_FILE_PROGRESS, number);
    wg_status status =
        path ? wgi_progress_read(p, options, path, error) : no_memory(folder, "load", error);
    if (status == WG_EINVAL)
        name_differences(folder, store, number, options, error);
    if (status == WG_OK && p->update != number)
        status = wgi_error_file(error, WG_EDATA, path, "expected update %" PRId64 ", got %" PRId64,
                                number, p->update);
    for (int i = 0; i < WG_CHECKPOINT_FILES && status == WG_OK; i++)
        status = load_group(folder, store, p, options, i, error);
    free(path);
    return status;
}

/* Loads the newest good checkpoint of those numbers; `damaged` gets a line for each newer one,
 * which has bad data or lacks a file.  Any other failure may pass: it is no reason to take an older
 * one. */
static wg_status load_newest(const char *folder, wg_store *store, wg_progress *progress,
                             const wg_checkpoint_options *options, const wgi_numbers *all,
                             wg_error *damaged)
{
    wg_status status = WG_EDATA;
    wgi_error_clear(damaged);
    for (size_t i = all->count; i-- > 0 && status == WG_EDATA;) {
        wg_error why;
        wgi_error_clear(&why);
        status = load_number(folder, store, progress, options, all->n[i], &why);
        if (status == WG_EDATA)
            wgi_error_line(damaged, status, "%s", why.text);
        else if (status != WG_OK)
            wgi_error_set(damaged, status, "%s", why.text);
    }
    return status;
}

/* The folder becomes one whose newest checkpoint is that of the progress. */
static wg_status settle(const char *folder, const wg_progress *progress, const wg_error *damaged,
                        wg_error *error)
{
    bool moved;
    wg_status status = wgi_checkpoint_set_aside(folder, progress->update, &moved, error);
    if (status == WG_OK)
        status = publish_all(folder, progress, error);
    if (status == WG_OK && *damaged->text)
        wgi_error_warn(error, "%s", damaged->text);
    if (status == WG_OK && moved)
        wgi_error_warn(error, "%s: what is damaged was moved to " WG_FOLDER_CHECKPOINTS "/damaged",
                       folder);
    return status;
}

wg_status wg_checkpoint_load(const char *folder, wg_store *store, wg_progress *progress,
                             const wg_checkpoint_options *options, wg_error *error)
{
    wgi_error_clear(error);
    wgi_numbers all;
    wg_error damaged;
    wg_status status = wgi_checkpoint_numbers(&all, folder, WGI_FILE_PROGRESS, error);
    if (status == WG_OK && all.count == 0)
        status = wgi_error_file(error, WG_EDATA, folder,
                                "expected checkpoints beside " WG_FILE_PROGRESS ", got none");
    else if (status == WG_OK) {
        status = load_newest(folder, store, progress, options, &all, &damaged);
        status = status == WG_OK ? settle(folder, progress, &damaged, error)
                                 : wgi_error_set(error, status, "%s", damaged.text);
    }
    free(all.n);
    return status;
}
