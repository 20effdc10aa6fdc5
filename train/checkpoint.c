#include "graph/grow.h"
#include "wengert/train/checkpoint.h"
#include "wengert/train/folder.h"
#include "files/replace.h"
#include "files/weights.h"
#include "graph/error.h"
#include "train/progress.h"
#include "train/step.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- the tensors of each file ---------------------------------------------------------------- */

/* Tensors whose names have the prefix belong to the file, and are written without it if `bare`; the
 * model has all others. */
static const struct group {
    const char *stem, *prefix;
    bool bare;
} groups[WG_CHECKPOINT_FILES] = {
    {"model", "", false},
    {"average", WG_STATES_OF_AVERAGE, true},
    {"optimizer", WG_STATES_OF_OPTIMIZER, false},
};
enum { MODEL = 0, AVERAGE };
static const char STOPPED[] = "stopped"; /* of the model if the run ended between two saves */

static bool begins(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool belongs(const wg_tensor *t, const struct group *g)
{
    if (*g->prefix)
        return begins(t->name, g->prefix);
    return !begins(t->name, WG_STATES_OF_AVERAGE) && !begins(t->name, WG_STATES_OF_OPTIMIZER) &&
           !begins(t->name, WG_STATES_OF_GRADIENT);
}

/* The tensors of the store that belong to that file; NULL without memory. */
static wg_tensor *collect(const wg_store *store, const struct group *g, size_t *n)
{
    const wg_tensor *t;
    wg_tensor *list = malloc((wg_store_count(store) + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; list && (t = wg_store_at(store, i)); i++)
        if (belongs(t, g)) {
            list[*n] = *t;
            list[(*n)++].name += g->bare ? strlen(g->prefix) : 0;
        }
    return list;
}

/* A hash of names and numbers; 0 if there are none. */
static uint64_t fingerprint(const wg_tensor *list, size_t n)
{
    XXH64_hash_t h = 0;
    for (size_t i = 0; i < n; i++) {
        h = XXH64(list[i].name, strlen(list[i].name), h);
        h = XXH64(list[i].data,
                  (size_t)wg_shape_count(&list[i].shape) * wg_dtype_size(list[i].dtype), h);
    }
    return h;
}

wg_status wg_checkpoint_write_model(const wg_store *store, const char *path, wg_error *error)
{
    size_t n;
    wgi_error_clear(error);
    wg_tensor *list = collect(store, &groups[MODEL], &n);
    wg_status status = list ? wg_safetensors_write(path, list, n, NULL, 0, error)
                            : wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    free(list);
    return status;
}

void wg_checkpoint_swap_averages(wg_store *store)
{
    const wg_tensor *average;
    for (size_t i = 0; (average = wg_store_at(store, i)); i++) {
        const char *name = average->name + strlen(WG_STATES_OF_AVERAGE);
        const wg_tensor *t = belongs(average, &groups[AVERAGE]) ? wg_store_find(store, name) : NULL;
        unsigned char *a = average->data, *b = t ? t->data : NULL;
        size_t bytes = b ? (size_t)wg_shape_count(&t->shape) * wg_dtype_size(t->dtype) : 0;
        for (size_t k = 0; k < bytes; k++) {
            unsigned char old = a[k];
            a[k] = b[k];
            b[k] = old;
        }
    }
}

/* ---- the numbers of the checkpoints that there are ------------------------------------------- */

typedef struct numbers {
    int64_t *n; /* [count], ascending */
    size_t count;
} numbers;

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* N of "STEM-N.EXTENSION", -1 for other names. */
static int64_t number_in(const char *name, const char *stem, const char *extension)
{
    size_t n = strlen(stem);
    char *end;
    if (strncmp(name, stem, n) != 0 || name[n] != '-' || name[n + 1] < '0' || name[n + 1] > '9')
        return -1;
    errno = 0;
    long long number = strtoll(name + n + 1, &end, 10);
    return errno == 0 && strcmp(end, extension) == 0 ? number : -1;
}

/* The numbers of all files of that name in checkpoints/; none if there is no such folder. */
static wg_status list_numbers(numbers *out, const char *folder, const char *stem,
                              const char *extension)
{
    *out = (numbers){NULL, 0};
    char *path = wg_folder_path(folder, WG_FOLDER_CHECKPOINTS);
    DIR *d = path ? opendir(path) : NULL;
    wg_status status = path ? WG_OK : WG_ENOMEM;
    size_t room = 0;
    for (struct dirent *e; status == WG_OK && d && (e = readdir(d));) {
        int64_t number = number_in(e->d_name, stem, extension);
        if (number < 0)
            continue;
        if (WGI_RESERVE(out->n, room, out->count + 1))
            out->n[out->count++] = number;
        else
            status = WG_ENOMEM;
    }
    if (d)
        closedir(d);
    free(path);
    if (out->count)
        qsort(out->n, out->count, sizeof *out->n, compare);
    return status;
}

static char *tensors_path(const char *folder, const char *stem, int64_t number)
{
    return wg_folder_path(folder, WG_FOLDER_CHECKPOINTS "/%s-%08" PRId64 ".safetensors", stem,
                          number);
}

static char *progress_path(const char *folder, int64_t number)
{
    return wg_folder_path(folder, WG_FOLDER_CHECKPOINTS "/progress-%08" PRId64 ".json", number);
}

static void remove_path(char *path)
{
    if (path)
        unlink(path);
    free(path);
}

/* The path of that file of checkpoint N: under the name that exists. */
static char *found_path(const char *folder, int which, int64_t number)
{
    char *stopped = which == MODEL ? tensors_path(folder, STOPPED, number) : NULL;
    if (stopped && access(stopped, F_OK) == 0)
        return stopped;
    free(stopped);
    return tensors_path(folder, groups[which].stem, number);
}

wg_status wg_checkpoint_models(const char *folder, size_t max, char ***paths, size_t *n,
                               wg_error *error)
{
    wgi_error_clear(error);
    numbers all;
    wg_status status = list_numbers(&all, folder, groups[MODEL].stem, ".safetensors");
    size_t first = all.count > max ? all.count - max : 0;
    *n = 0;
    *paths = calloc(all.count - first + 1, sizeof(char *));
    for (size_t i = first; *paths && status == WG_OK && i < all.count; i++)
        if (!((*paths)[(*n)++] = tensors_path(folder, groups[MODEL].stem, all.n[i])))
            status = WG_ENOMEM;
    free(all.n);
    if (status == WG_OK && *paths && *n)
        return WG_OK;
    bool none = status == WG_OK && *paths;
    for (size_t i = 0; i < *n; i++)
        free((*paths)[i]);
    free(*paths);
    *paths = NULL;
    *n = 0;
    return none ? wgi_error_file(error, WG_EIO, folder,
                                 "expected models of save-freq in " WG_FOLDER_CHECKPOINTS
                                 "/, got none (the one at the end of a run does not count)")
                : wgi_error_file(error, WG_ENOMEM, folder, "no memory to list its checkpoints");
}

/* ---- saving ---------------------------------------------------------------------------------- */

static wg_status save_group(const char *folder, const wg_store *store, wg_progress *p, int which,
                            bool stopped, wg_error *error)
{
    const struct group *g = &groups[which];
    const char *stem = which == MODEL && stopped ? STOPPED : g->stem;
    wgi_error_clear(error);
    size_t n = 0;
    wg_tensor *list = collect(store, g, &n);
    char *path = tensors_path(folder, stem, p->update);
    wg_status status =
        list && path ? WG_OK
                     : wgi_error_file(error, WG_ENOMEM, folder, "no memory to save a checkpoint");
    if (status == WG_OK) {
        p->files[which] = fingerprint(list, n);
        if (n)
            status = wg_safetensors_write(path, list, n, NULL, 0, error);
    }
    free(list);
    free(path);
    return status;
}

/* Makes a file of the checkpoint the folder's own, under `name`. */
static wg_status publish(const char *folder, char *from, const char *name, wg_error *error)
{
    char *to = wg_folder_path(folder, "%s", name);
    wg_status status = from && to ? wgi_file_link(from, to, error)
                                  : wgi_error_file(error, WG_ENOMEM, folder, "no memory");
    free(from);
    free(to);
    return status;
}

static wg_status publish_all(const char *folder, const wg_progress *p, wg_error *error)
{
    wg_status status = WG_OK;
    for (int i = 0; i < WG_CHECKPOINT_FILES && status == WG_OK; i++) {
        char name[40];
        snprintf(name, sizeof name, "%s.safetensors", groups[i].stem);
        if (p->files[i])
            status = publish(folder, found_path(folder, i, p->update), name, error);
    }
    return status == WG_OK
               ? publish(folder, progress_path(folder, p->update), WG_FILE_PROGRESS, error)
               : status;
}

/* The kinds of files in checkpoints/; progress first. */
static const struct kind {
    const char *stem, *extension;
} kinds[] = {{"progress", ".json"},
             {"model", ".safetensors"},
             {STOPPED, ".safetensors"},
             {"average", ".safetensors"},
             {"optimizer", ".safetensors"}};
enum { KINDS = WG_COUNT(kinds), PROGRESS = 0, MODELS };

/* Removes the files of that kind with numbers in [from, to). */
static void remove_range(const char *folder, const struct kind *k, int64_t from, int64_t to)
{
    numbers all;
    if (list_numbers(&all, folder, k->stem, k->extension) == WG_OK)
        for (size_t i = 0; i < all.count; i++)
            if (all.n[i] >= from && all.n[i] < to)
                remove_path(k == &kinds[PROGRESS] ? progress_path(folder, all.n[i])
                                                  : tensors_path(folder, k->stem, all.n[i]));
    free(all.n);
}

/* The lowest number among the newest `most` files of that kind; 0 if there are fewer. */
static int64_t oldest_of(const char *folder, const struct kind *k, int64_t max)
{
    numbers all;
    bool more =
        list_numbers(&all, folder, k->stem, k->extension) == WG_OK && (int64_t)all.count > max;
    int64_t oldest = more ? all.n[all.count - (size_t)max] : 0;
    free(all.n);
    return oldest;
}

/* Removes what a process left behind that died while writing. */
static void remove_temporaries(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, ".tmp-"))
            remove_path(wg_folder_path(folder, "%s", e->d_name));
    if (d)
        closedir(d);
}

/* Checkpoints newer than the one that is resumed are damaged or incomplete. */
static void remove_newer(const char *folder, int64_t update)
{
    for (int i = 0; i < KINDS; i++)
        remove_range(folder, &kinds[i], update + 1, INT64_MAX);
}

static void tidy(const char *folder, int64_t keep)
{
    enum { WHOLE_ONES = 2 };
    char *checkpoints = wg_folder_path(folder, WG_FOLDER_CHECKPOINTS);
    int64_t whole = oldest_of(folder, &kinds[PROGRESS], WHOLE_ONES);
    int64_t kept = oldest_of(folder, &kinds[MODELS], keep > WHOLE_ONES ? keep : WHOLE_ONES);
    for (int i = PROGRESS; i < KINDS; i++) /* progress first: the files that it names still exist */
        remove_range(folder, &kinds[i], 0, i == MODELS && kept < whole ? kept : whole);
    if (checkpoints)
        remove_temporaries(checkpoints);
    remove_temporaries(folder);
    free(checkpoints);
}

wg_status wg_checkpoint_save(const char *folder, const wg_store *store, wg_progress *p,
                             const wg_settings *settings, wg_checkpoint_reason reason,
                             wg_error *error)
{
    wgi_error_clear(error);
    const bool stopped = reason == WG_CHECKPOINT_STOPPED;
    char *checkpoints = wg_folder_path(folder, WG_FOLDER_CHECKPOINTS),
         *path = progress_path(folder, p->update);
    wg_status status = checkpoints && path ? wg_folder_make(checkpoints, error)
                                           : wgi_error_file(error, WG_ENOMEM, folder,
                                                            "no memory to save a checkpoint");
    for (int i = 0; i < WG_CHECKPOINT_FILES && status == WG_OK; i++)
        status = save_group(folder, store, p, i, stopped, error);
    if (status == WG_OK) /* left by a process that died before the checkpoint was complete */
        remove_path(tensors_path(folder, stopped ? groups[MODEL].stem : STOPPED, p->update));
    if (status == WG_OK)
        status = wgi_progress_write(p, settings, path, error);
    if (status == WG_OK)
        status = publish_all(folder, p, error);
    if (status == WG_OK)
        tidy(folder, settings->keep);
    free(checkpoints);
    free(path);
    return status;
}

/* ---- restoring ------------------------------------------------------------------------------- */

bool wg_checkpoint_exists(const char *folder)
{
    numbers all;
    wg_status status = list_numbers(&all, folder, "progress", ".json");
    free(all.n);
    return status == WG_OK && (all.count || wg_folder_has(folder, WG_FILE_PROGRESS));
}

static wg_status load_group(const char *folder, const wg_store *store, const wg_progress *p,
                            int which, wg_error *error)
{
    size_t n = 0;
    wg_tensor *list = collect(store, &groups[which], &n);
    char *path = found_path(folder, which, p->update);
    wg_status status =
        list && path ? WG_OK
                     : wgi_error_file(error, WG_ENOMEM, folder, "no memory to load a checkpoint");
    if (status == WG_OK && n)
        status = wgi_tensors_load(list, n, path, error);
    if (status == WG_OK && fingerprint(list, n) != p->files[which])
        status =
            wgi_error_file(error, WG_EDATA, path,
                           "expected the tensors of fingerprint %016" PRIx64 ", got %016" PRIx64,
                           p->files[which], fingerprint(list, n));
    free(list);
    free(path);
    return status;
}

static wg_status load_number(const char *folder, wg_store *store, wg_progress *p,
                             const wg_settings *settings, int64_t number, wg_error *error)
{
    char *path = progress_path(folder, number);
    wg_status status =
        path ? wgi_progress_read(p, settings, path, error)
             : wgi_error_file(error, WG_ENOMEM, folder, "no memory to load a checkpoint");
    if (status == WG_OK && p->update != number)
        status = wgi_error_file(error, WG_EDATA, path, "expected update %" PRId64 ", got %" PRId64,
                                number, p->update);
    for (int i = 0; i < WG_CHECKPOINT_FILES && status == WG_OK; i++)
        status = load_group(folder, store, p, i, error);
    free(path);
    return status;
}

/* Loads the newest complete checkpoint of those numbers; `damaged` gets a line for each that is
 * not. */
static wg_status load_newest(const char *folder, wg_store *store, wg_progress *progress,
                             const wg_settings *settings, const numbers *all, wg_error *damaged)
{
    wg_status status = WG_EDATA;
    wgi_error_clear(damaged);
    for (size_t i = all->count; i-- > 0 && (status == WG_EDATA || status == WG_EIO);) {
        wg_error why;
        wgi_error_clear(&why);
        status = load_number(folder, store, progress, settings, all->n[i], &why);
        if (status != WG_OK)
            wgi_error_line(damaged, status, "%s", why.text);
    }
    return status;
}

wg_status wg_checkpoint_load(const char *folder, wg_store *store, wg_progress *progress,
                             const wg_settings *settings, wg_error *error)
{
    wgi_error_clear(error);
    numbers all;
    wg_error damaged;
    wg_status status = list_numbers(&all, folder, "progress", ".json");
    if (status != WG_OK)
        status = wgi_error_file(error, status, folder, "no memory to list its checkpoints");
    else if (all.count == 0)
        status = wgi_error_file(error, WG_EDATA, folder,
                                "expected checkpoints beside " WG_FILE_PROGRESS ", got none");
    else if ((status = load_newest(folder, store, progress, settings, &all, &damaged)) != WG_OK)
        wgi_error_set(error, status, "%s", damaged.text);
    else {
        if (*damaged.text)
            wgi_error_warn(error, "%s", damaged.text);
        remove_newer(folder, progress->update);
        status = publish_all(folder, progress, error);
    }
    free(all.n);
    return status;
}

/* ---- starting anew --------------------------------------------------------------------------- */

wg_status wg_checkpoint_clear(const char *folder, wg_error *error)
{
    static const char *const names[] = {
        WG_FILE_PROGRESS, WG_FILE_MODEL, WG_FILE_AVERAGE, WG_FILE_OPTIMIZER, WG_FILE_METRICS,
        WG_FILE_CONFIG,   NULL};
    wgi_error_clear(error);
    for (int i = 0; names[i]; i++)
        remove_path(wg_folder_path(folder, "%s", names[i]));
    for (int i = 0; i < KINDS; i++)
        remove_range(folder, &kinds[i], 0, INT64_MAX);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (begins(e->d_name, "best-"))
            remove_path(wg_folder_path(folder, "%s", e->d_name));
    if (d)
        closedir(d);
    return wg_checkpoint_exists(folder)
               ? wgi_error_file(error, WG_EIO, folder, "cannot remove its training run")
               : WG_OK;
}
