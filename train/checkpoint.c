#include "train/checkpoint.h"
#include "train/folder.h"
#include "train/internal.h"
#include "train/progress.h"
#include "train/step.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- the tensors of each file ------------------------------------------------------------------ */

/* Names with the prefix belong to the file, and are written without it where so said; model has all others. */
static const struct group {
    const char *stem, *prefix;
    bool bare;
} groups[WG_CHECKPOINT_FILES] = {
    {"model", "", false},
    {"average", WG_STATES_OF_AVERAGE, true},
    {"optimizer", WG_STATES_OF_OPTIMIZER, false},
};
enum { MODEL = 0, AVERAGE };

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

/* The store's tensors of that file; NULL without memory. */
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

/* Of names and numbers; 0 of none. */
static uint64_t fingerprint(const wg_tensor *list, size_t n)
{
    XXH64_hash_t h = 0;
    for (size_t i = 0; i < n; i++) {
        h = XXH64(list[i].name, strlen(list[i].name), h);
        h = XXH64(list[i].data, (size_t)wg_shape_count(&list[i].shape) * wg_dtype_size(list[i].dtype), h);
    }
    return h;
}

wg_status wg_checkpoint_write_model(const wg_store *store, const char *path, char *message, size_t message_size)
{
    size_t n;
    wg_message m = wg_message_in(message, message_size);
    wg_tensor *list = collect(store, &groups[MODEL], &n);
    wg_status status = list ? wg_safetensors_write(path, list, n, NULL, 0, message, message_size)
                            : wg_file_fail(&m, WG_ENOMEM, path, "no memory to write it");
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

/* ---- the numbers of the checkpoints that there are ---------------------------------------------- */

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

/* Of all files of that name in checkpoints/; none if there is no such folder. */
static wg_status list_numbers(numbers *out, const char *folder, const char *stem, const char *extension)
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
        if (out->count == room) {
            room = room ? 2 * room : 16;
            int64_t *more = realloc(out->n, room * sizeof *more);
            if (!more) {
                status = WG_ENOMEM;
                break;
            }
            out->n = more;
        }
        out->n[out->count++] = number;
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
    return wg_folder_path(folder, WG_FOLDER_CHECKPOINTS "/%s-%08" PRId64 ".safetensors", stem, number);
}

static char *progress_path(const char *folder, int64_t number)
{
    return wg_folder_path(folder, WG_FOLDER_CHECKPOINTS "/progress-%08" PRId64 ".json", number);
}

wg_status wg_checkpoint_models(const char *folder, size_t most, char ***paths, size_t *n, char *message,
                               size_t message_size)
{
    wg_message m = wg_message_in(message, message_size);
    numbers all;
    wg_status status = list_numbers(&all, folder, groups[MODEL].stem, ".safetensors");
    size_t first = all.count > most ? all.count - most : 0;
    *n = 0;
    *paths = calloc(all.count - first + 1, sizeof(char *));
    for (size_t i = first; *paths && status == WG_OK && i < all.count; i++)
        if (!((*paths)[(*n)++] = tensors_path(folder, groups[MODEL].stem, all.n[i])))
            status = WG_ENOMEM;
    free(all.n);
    if (status == WG_OK && *paths && *n)
        return WG_OK;
    for (size_t i = 0; i < *n; i++)
        free((*paths)[i]);
    free(*paths);
    *paths = NULL;
    return status != WG_OK || *n
               ? wg_file_fail(&m, WG_ENOMEM, folder, "no memory to list its checkpoints")
               : wg_file_fail(&m, WG_EIO, folder, "expected models in " WG_FOLDER_CHECKPOINTS "/, got none");
}

/* ---- saving ------------------------------------------------------------------------------------ */

static wg_status save_group(const char *folder, const wg_store *store, wg_progress *p, int which, char *message,
                            size_t size)
{
    const struct group *g = &groups[which];
    wg_message m = wg_message_in(message, size);
    size_t n = 0;
    wg_tensor *list = collect(store, g, &n);
    char *path = tensors_path(folder, g->stem, p->update);
    wg_status status = list && path ? WG_OK : wg_file_fail(&m, WG_ENOMEM, folder, "no memory to save a checkpoint");
    if (status == WG_OK) {
        p->files[which] = fingerprint(list, n);
        if (n)
            status = wg_safetensors_write(path, list, n, NULL, 0, message, size);
    }
    free(list);
    free(path);
    return status;
}

/* The checkpoint's file becomes the folder's. */
static wg_status publish(const char *folder, char *from, const char *name, wg_message *m)
{
    char *to = wg_folder_path(folder, "%s", name);
    wg_status status = from && to ? wg_file_link(from, to, m) : wg_file_fail(m, WG_ENOMEM, folder, "no memory");
    free(from);
    free(to);
    return status;
}

static wg_status publish_all(const char *folder, const wg_progress *p, wg_message *m)
{
    wg_status status = WG_OK;
    for (int i = 0; i < WG_CHECKPOINT_FILES && status == WG_OK; i++) {
        char name[40];
        snprintf(name, sizeof name, "%s.safetensors", groups[i].stem);
        if (p->files[i])
            status = publish(folder, tensors_path(folder, groups[i].stem, p->update), name, m);
    }
    return status == WG_OK ? publish(folder, progress_path(folder, p->update), WG_FILE_PROGRESS, m) : status;
}

static void remove_path(char *path)
{
    if (path)
        unlink(path);
    free(path);
}

/* Of the files with that stem the newest `most` stay. */
static void prune(const char *folder, const char *stem, const char *extension, int64_t most)
{
    numbers all;
    if (list_numbers(&all, folder, stem, extension) == WG_OK)
        for (size_t i = 0; (int64_t)(all.count - i) > most; i++)
            remove_path(strcmp(extension, ".json") == 0 ? progress_path(folder, all.n[i])
                                                        : tensors_path(folder, stem, all.n[i]));
    free(all.n);
}

/* What a process left that died while it wrote. */
static void remove_temporaries(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, ".tmp-"))
            remove_path(wg_folder_path(folder, "%s", e->d_name));
    if (d)
        closedir(d);
}

/* What is newer than the checkpoint with which the training goes on is damaged, or was never finished. */
static void remove_newer(const char *folder, int64_t update)
{
    for (int i = -1; i < WG_CHECKPOINT_FILES; i++) {
        numbers all;
        wg_status status = i < 0 ? list_numbers(&all, folder, "progress", ".json")
                                 : list_numbers(&all, folder, groups[i].stem, ".safetensors");
        for (size_t k = all.count; status == WG_OK && k-- > 0 && all.n[k] > update;)
            remove_path(i < 0 ? progress_path(folder, all.n[k]) : tensors_path(folder, groups[i].stem, all.n[k]));
        free(all.n);
    }
}

static void tidy(const char *folder, int64_t keep)
{
    enum { WHOLE_ONES = 2 };
    char *checkpoints = wg_folder_path(folder, WG_FOLDER_CHECKPOINTS);
    prune(folder, "progress", ".json", WHOLE_ONES); /* first: what it names is still there */
    for (int i = 0; i < WG_CHECKPOINT_FILES; i++)
        prune(folder, groups[i].stem, ".safetensors", i == MODEL && keep > WHOLE_ONES ? keep : WHOLE_ONES);
    if (checkpoints)
        remove_temporaries(checkpoints);
    remove_temporaries(folder);
    free(checkpoints);
}

wg_status wg_checkpoint_save(const char *folder, const wg_store *store, wg_progress *p, const wg_settings *settings,
                             int64_t keep, char *message, size_t message_size)
{
    wg_message m = wg_message_in(message, message_size);
    char *checkpoints = wg_folder_path(folder, WG_FOLDER_CHECKPOINTS), *path = progress_path(folder, p->update);
    wg_status status = checkpoints && path ? wg_folder_make(checkpoints, message, message_size)
                                           : wg_file_fail(&m, WG_ENOMEM, folder, "no memory to save a checkpoint");
    for (int i = 0; i < WG_CHECKPOINT_FILES && status == WG_OK; i++)
        status = save_group(folder, store, p, i, message, message_size);
    if (status == WG_OK)
        status = wg_progress_write(p, settings, path, &m);
    if (status == WG_OK)
        status = publish_all(folder, p, &m);
    if (status == WG_OK)
        tidy(folder, keep);
    free(checkpoints);
    free(path);
    return status;
}

/* ---- restoring --------------------------------------------------------------------------------- */

bool wg_checkpoint_exists(const char *folder)
{
    numbers all;
    wg_status status = list_numbers(&all, folder, "progress", ".json");
    free(all.n);
    return status == WG_OK && (all.count || wg_folder_has(folder, WG_FILE_PROGRESS));
}

static wg_status load_group(const char *folder, const wg_store *store, const wg_progress *p, int which, wg_message *m)
{
    size_t n = 0;
    wg_tensor *list = collect(store, &groups[which], &n);
    char *path = tensors_path(folder, groups[which].stem, p->update);
    wg_status status = list && path ? WG_OK : wg_file_fail(m, WG_ENOMEM, folder, "no memory to load a checkpoint");
    if (status == WG_OK && n)
        status = wg_tensors_load(list, n, path, m);
    if (status == WG_OK && fingerprint(list, n) != p->files[which])
        status = wg_file_fail(m, WG_EDATA, path, "expected the tensors of fingerprint %016" PRIx64 ", got %016" PRIx64,
                              p->files[which], fingerprint(list, n));
    free(list);
    free(path);
    return status;
}

static wg_status load_number(const char *folder, wg_store *store, wg_progress *p, const wg_settings *settings,
                             int64_t number, wg_message *m)
{
    char *path = progress_path(folder, number);
    wg_status status = path ? wg_progress_read(p, settings, path, m) : WG_ENOMEM;
    if (status == WG_OK && p->update != number)
        status = wg_file_fail(m, WG_EDATA, path, "expected update %" PRId64 ", got %" PRId64, number, p->update);
    for (int i = 0; i < WG_CHECKPOINT_FILES && status == WG_OK; i++)
        status = load_group(folder, store, p, i, m);
    free(path);
    return status;
}

wg_status wg_checkpoint_load(const char *folder, wg_store *store, wg_progress *progress, const wg_settings *settings,
                             char *message, size_t message_size)
{
    wg_message m = wg_message_in(message, message_size);
    numbers all;
    wg_status status = list_numbers(&all, folder, "progress", ".json");
    if (status == WG_OK && all.count == 0)
        status = wg_file_fail(&m, WG_EDATA, folder, "expected checkpoints beside " WG_FILE_PROGRESS ", got none");
    for (size_t i = all.count; i-- > 0;) {
        status = load_number(folder, store, progress, settings, all.n[i], &m);
        if (status != WG_EDATA && status != WG_EIO)
            break;
        if (i)
            wg_message_add(&m, "\n");
    }
    if (status == WG_OK) {
        remove_newer(folder, progress->update);
        status = publish_all(folder, progress, &m);
    }
    free(all.n);
    return status;
}

/* ---- starting anew ----------------------------------------------------------------------------- */

wg_status wg_checkpoint_clear(const char *folder, char *message, size_t message_size)
{
    static const char *const names[] = {
        WG_FILE_PROGRESS, WG_FILE_MODEL, WG_FILE_AVERAGE, WG_FILE_OPTIMIZER, WG_FILE_METRICS, WG_FILE_CONFIG, NULL};
    wg_message m = wg_message_in(message, message_size);
    for (int i = 0; names[i]; i++)
        remove_path(wg_folder_path(folder, "%s", names[i]));
    prune(folder, "progress", ".json", 0);
    for (int i = 0; i < WG_CHECKPOINT_FILES; i++)
        prune(folder, groups[i].stem, ".safetensors", 0);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (begins(e->d_name, "best-"))
            remove_path(wg_folder_path(folder, "%s", e->d_name));
    if (d)
        closedir(d);
    return wg_checkpoint_exists(folder) ? wg_file_fail(&m, WG_EIO, folder, "its training could not be removed") : WG_OK;
}
