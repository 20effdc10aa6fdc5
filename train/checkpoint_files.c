#include "train/checkpoint_files.h"
#include "files/read.h"
#include "files/replace.h"
#include "graph/error.h"
#include "graph/grow.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAMAGED WG_FOLDER_CHECKPOINTS "/damaged"

static const struct kind {
    const char *stem, *extension;
} kinds[WGI_FILE_KINDS] = {
    [WGI_FILE_PROGRESS] = {"progress", ".json"},
    [WGI_FILE_MODEL] = {"model", ".safetensors"},
    [WGI_FILE_STOPPED] = {"stopped", ".safetensors"}, /* a model where the run ended at another
                                                         update */
    [WGI_FILE_AVERAGE] = {"average", ".safetensors"},
    [WGI_FILE_OPTIMIZER] = {"optimizer", ".safetensors"},
};

static wg_status no_memory(const char *folder, wg_error *error)
{
    return wgi_error_file(error, WG_ENOMEM, folder, "no memory to list its checkpoints");
}

/* ---- paths ----------------------------------------------------------------------------------- */

static char *path_in(const char *folder, const char *sub, wgi_file_kind kind, int64_t number)
{
    return wg_folder_path(folder, "%s/%s-%08" PRId64 "%s", sub, kinds[kind].stem, number,
                          kinds[kind].extension);
}

char *wgi_checkpoint_path(const char *folder, wgi_file_kind kind, int64_t number)
{
    return path_in(folder, WG_FOLDER_CHECKPOINTS, kind, number);
}

wg_status wgi_checkpoint_find(char **path, const char *folder, wgi_file_kind kind, int64_t number,
                              wg_error *error)
{
    bool exists = false;
    *path = wgi_checkpoint_path(folder, kind, number);
    wg_status status = *path ? wgi_file_exists(*path, &exists, error) : no_memory(folder, error);
    if (!exists) {
        free(*path);
        *path = NULL;
    }
    if (status == WG_OK && !exists && kind == WGI_FILE_MODEL)
        return wgi_checkpoint_find(path, folder, WGI_FILE_STOPPED, number, error);
    return status;
}

wg_status wgi_checkpoint_check_place(const char *folder, wg_error *error)
{
    static const char *const places[] = {WG_FOLDER_CHECKPOINTS, DAMAGED};
    wg_status status = WG_OK;
    for (int i = 0; i < WG_COUNT(places) && status == WG_OK; i++) {
        struct stat s;
        char *path = wg_folder_path(folder, "%s", places[i]);
        if (!path)
            status = no_memory(folder, error);
        else if (lstat(path, &s) == 0 && S_ISLNK(s.st_mode))
            status = wgi_error_file(error, WG_EIO, path,
                                    "expected a folder, got a link: training would write and "
                                    "remove files elsewhere (only the whole model folder may be "
                                    "a link)");
        free(path);
    }
    return status;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* N of "STEM-N.EXTENSION", -1 for other names. */
static int64_t number_in(const char *name, const struct kind *k)
{
    size_t n = strlen(k->stem);
    char *end;
    if (strncmp(name, k->stem, n) != 0 || name[n] != '-' || name[n + 1] < '0' || name[n + 1] > '9')
        return -1;
    errno = 0;
    long long number = strtoll(name + n + 1, &end, 10);
    return errno == 0 && strcmp(end, k->extension) == 0 ? number : -1;
}

/* visit(context, NAME) for each name in a folder, which may lack. */
static wg_status for_each_name(const char *path,
                               wg_status (*visit)(void *context, const char *name), void *context,
                               wg_error *error)
{
    struct dirent *e = NULL;
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT || errno == ENOTDIR ? WG_OK : wgi_error_errno(error, path, "open");
    wg_status status = WG_OK;
    while (status == WG_OK && (errno = 0, e = readdir(d))) /* NOLINT(concurrency-mt-unsafe): ours */
        status = visit(context, e->d_name);
    if (status == WG_ENOMEM)
        status = no_memory(path, error);
    else if (!e && errno != 0)
        status = wgi_error_errno(error, path, "list its files");
    closedir(d);
    return status;
}

/* Of one kind of file */
struct listing {
    const struct kind *kind;
    wgi_numbers *to;
};

static wg_status add_number(void *context, const char *name)
{
    struct listing *l = context;
    int64_t number = number_in(name, l->kind);
    if (number < 0)
        return WG_OK;
    if (!WGI_RESERVE(l->to->n, l->to->room, l->to->count + 1))
        return WG_ENOMEM;
    l->to->n[l->to->count++] = number;
    return WG_OK;
}

static wg_status numbers_in(wgi_numbers *out, const char *folder, const char *sub,
                            wgi_file_kind kind, wg_error *error)
{
    *out = (wgi_numbers){0};
    char *path = wg_folder_path(folder, "%s", sub);
    if (!path)
        return no_memory(folder, error);
    struct listing l = {&kinds[kind], out};
    wg_status status = for_each_name(path, add_number, &l, error);
    free(path);
    if (status != WG_OK) {
        free(out->n);
        *out = (wgi_numbers){0};
    }
    if (out->count)
        qsort(out->n, out->count, sizeof *out->n, compare);
    return status;
}

wg_status wgi_checkpoint_numbers(wgi_numbers *out, const char *folder, wgi_file_kind kind,
                                 wg_error *error)
{
    return numbers_in(out, folder, WG_FOLDER_CHECKPOINTS, kind, error);
}

wg_status wg_checkpoint_exists(const char *folder, bool *exists, wg_error *error)
{
    wgi_error_clear(error);
    wgi_numbers all;
    wg_status status = wgi_checkpoint_numbers(&all, folder, WGI_FILE_PROGRESS, error);
    *exists = all.count > 0;
    free(all.n);
    return status == WG_OK && !*exists ? wg_folder_has(folder, WG_FILE_PROGRESS, exists, error)
                                       : status;
}

/* The paths of those models; what was made is freed on failure. */
static wg_status paths_of(char **paths, const char *folder, const int64_t *numbers, size_t n,
                          wg_error *error)
{
    for (size_t i = 0; i < n; i++) {
        paths[i] = wgi_checkpoint_path(folder, WGI_FILE_MODEL, numbers[i]);
        if (paths[i])
            continue;
        while (i-- > 0)
            free(paths[i]);
        return no_memory(folder, error);
    }
    return WG_OK;
}

wg_status wg_checkpoint_models(const char *folder, size_t max, char ***paths, size_t *n,
                               wg_error *error)
{
    wgi_error_clear(error);
    wgi_numbers all;
    *paths = NULL;
    *n = 0;
    wg_status status = wgi_checkpoint_numbers(&all, folder, WGI_FILE_MODEL, error);
    if (status != WG_OK)
        return status;
    size_t first = all.count > max ? all.count - max : 0, count = all.count - first;
    char **list = count ? calloc(count, sizeof *list) : NULL;
    if (!count)
        status = wgi_error_file(
            error, WG_EIO, folder,
            "expected models saved at an interval (save-freq) in " WG_FOLDER_CHECKPOINTS
            "/, got none (the one at the end of a run does not count)");
    else
        status =
            list ? paths_of(list, folder, all.n + first, count, error) : no_memory(folder, error);
    free(all.n);
    if (status != WG_OK) {
        free(list);
        return status;
    }
    *paths = list;
    *n = count;
    return WG_OK;
}

/* ---- removing -------------------------------------------------------------------------------- */

/* The path, which is freed, unless it leads elsewhere. */
static wg_status remove_path(char *path, const char *folder, wg_error *error)
{
    wg_status status = WG_OK;
    if (!path)
        status = wgi_error_file(error, WG_ENOMEM, folder, "no memory to remove its files");
    else
        status = wgi_checkpoint_check_place(folder, error);
    if (status == WG_OK && unlink(path) != 0 && errno != ENOENT)
        status = wgi_error_errno(error, path, "remove");
    free(path);
    return status;
}

wg_status wgi_checkpoint_remove(const char *folder, wgi_file_kind kind, int64_t number,
                                wg_error *error)
{
    return remove_path(wgi_checkpoint_path(folder, kind, number), folder, error);
}

/* Removes the files of that kind with numbers in [from, to). */
static wg_status remove_range(const char *folder, const char *sub, wgi_file_kind kind, int64_t from,
                              int64_t to, wg_error *error)
{
    wgi_numbers all;
    wg_status status = numbers_in(&all, folder, sub, kind, error);
    for (size_t i = 0; i < all.count && status == WG_OK; i++)
        if (all.n[i] >= from && all.n[i] < to)
            status = remove_path(path_in(folder, sub, kind, all.n[i]), folder, error);
    free(all.n);
    return status;
}

/* The lowest number among the newest `max` files of that kind; 0 if there are fewer. */
static int64_t oldest_of(const char *folder, wgi_file_kind kind, int64_t max)
{
    wgi_numbers all;
    bool more =
        wgi_checkpoint_numbers(&all, folder, kind, NULL) == WG_OK && (int64_t)all.count > max;
    int64_t oldest = more ? all.n[all.count - (size_t)max] : 0;
    free(all.n);
    return oldest;
}

static void remove_abandoned(const char *folder)
{
    char *checkpoints = wg_folder_path(folder, WG_FOLDER_CHECKPOINTS);
    if (checkpoints)
        wgi_file_remove_abandoned(checkpoints);
    wgi_file_remove_abandoned(folder);
    free(checkpoints);
}

void wgi_checkpoint_tidy(const char *folder, int64_t keep)
{
    enum { WHOLE_ONES = 2 };
    int64_t whole = oldest_of(folder, WGI_FILE_PROGRESS, WHOLE_ONES);
    int64_t kept = oldest_of(folder, WGI_FILE_MODEL, keep > WHOLE_ONES ? keep : WHOLE_ONES);
    wg_status status = WG_OK;
    /* progress first: the files that it names still exist */
    for (int i = WGI_FILE_PROGRESS; i < WGI_FILE_KINDS && status == WG_OK; i++)
        status = remove_range(folder, WG_FOLDER_CHECKPOINTS, (wgi_file_kind)i, 0,
                              i == WGI_FILE_MODEL && kept < whole ? kept : whole, NULL);
    remove_abandoned(folder);
}

/* ---- moving away ----------------------------------------------------------------------------- */

static bool contains(const wgi_numbers *all, int64_t number)
{
    return all->count && bsearch(&number, all->n, all->count, sizeof number, compare);
}

static wg_status move_away(const char *folder, wgi_file_kind kind, int64_t number, wg_error *error)
{
    char *damaged = wg_folder_path(folder, DAMAGED),
         *from = wgi_checkpoint_path(folder, kind, number),
         *to = path_in(folder, DAMAGED, kind, number);
    wg_status status =
        damaged && from && to ? wg_folder_make(damaged, error) : no_memory(folder, error);
    if (status == WG_OK && rename(from, to) != 0)
        status = wgi_error_errno(error, from, "move it to " DAMAGED);
    free(damaged);
    free(from);
    free(to);
    return status;
}

/* A checkpoint without progress was never complete. */
static wg_status set_aside_kind(const char *folder, wgi_file_kind kind, int64_t update,
                                const wgi_numbers *complete, wg_error *error)
{
    wgi_numbers all;
    wg_status status = wgi_checkpoint_numbers(&all, folder, kind, error);
    for (size_t i = 0; i < all.count && status == WG_OK; i++)
        if (all.n[i] > update)
            status = contains(complete, all.n[i])
                         ? move_away(folder, kind, all.n[i], error)
                         : wgi_checkpoint_remove(folder, kind, all.n[i], error);
    free(all.n);
    return status;
}

wg_status wgi_checkpoint_set_aside(const char *folder, int64_t update, bool *moved, wg_error *error)
{
    wgi_numbers complete;
    wg_status status = wgi_checkpoint_numbers(&complete, folder, WGI_FILE_PROGRESS, error);
    *moved = complete.count && complete.n[complete.count - 1] > update;
    /* progress last: what is left if this is interrupted still belongs to it */
    for (int i = WGI_FILE_KINDS; i-- > 0 && status == WG_OK;)
        status = set_aside_kind(folder, (wgi_file_kind)i, update, &complete, error);
    free(complete.n);
    return status;
}

/* A path in that part of the folder; NULL without memory. */
static char *best_path(const char *folder, const char *sub, const char *metric)
{
    return wg_folder_path(folder, "%sbest-%s.safetensors", sub, metric);
}

wg_status wgi_checkpoint_set_best_aside(const char *folder, const char *metric, bool *moved,
                                        wg_error *error)
{
    char *from = best_path(folder, "", metric), *to = best_path(folder, DAMAGED "/", metric);
    wg_status status = from && to ? wgi_file_exists(from, moved, error) : no_memory(folder, error);
    *moved = status == WG_OK && *moved;
    if (*moved)
        status = wgi_checkpoint_check_place(folder, error);
    if (*moved && status == WG_OK)
        status = wgi_folder_make_in(folder, DAMAGED, error);
    if (*moved && status == WG_OK && rename(from, to) != 0)
        status = wgi_error_errno(error, from, "move it to " DAMAGED);
    free(from);
    free(to);
    return status;
}

/* ---- starting anew --------------------------------------------------------------------------- */

/* All files of the kinds in checkpoints/ or below, then the folder itself if it is empty. */
static wg_status clear_checkpoints(const char *folder, const char *sub, wg_error *error)
{
    wg_status status = WG_OK;
    for (int i = 0; i < WGI_FILE_KINDS && status == WG_OK; i++)
        status = remove_range(folder, sub, (wgi_file_kind)i, 0, INT64_MAX, error);
    char *path = wg_folder_path(folder, "%s", sub);
    if (path)
        rmdir(path);
    free(path);
    return status;
}

wg_status wg_checkpoint_clear(const char *folder, const wg_checkpoint_options *options,
                              wg_error *error)
{
    static const char *const names[] = {WG_FILE_PROGRESS, WG_FILE_MODEL, WG_FILE_AVERAGE,
                                        WG_FILE_OPTIMIZER, WG_FILE_METRICS};
    wgi_error_clear(error);
    wg_status status = WG_OK;
    for (int i = 0; i < WG_COUNT(names) && status == WG_OK; i++)
        status = remove_path(wg_folder_path(folder, "%s", names[i]), folder, error);
    if (status == WG_OK && options->other)
        status = remove_path(wg_folder_path(folder, "%s", options->other), folder, error);
    for (size_t i = 0; i < options->n_metrics && status == WG_OK; i++) {
        status = remove_path(best_path(folder, "", options->metrics[i]), folder, error);
        if (status == WG_OK)
            status =
                remove_path(best_path(folder, DAMAGED "/", options->metrics[i]), folder, error);
    }
    if (status == WG_OK)
        status = clear_checkpoints(folder, DAMAGED, error);
    if (status == WG_OK)
        status = clear_checkpoints(folder, WG_FOLDER_CHECKPOINTS, error);
    remove_abandoned(folder);
    return status;
}

/* The first of `names` that the folder has. */
static wg_status find_name(const char *folder, const char *name, char found[WGI_NAME_SIZE],
                           wg_error *error)
{
    bool has = false;
    wg_status status = *found ? WG_OK : wg_folder_has(folder, name, &has, error);
    if (has)
        snprintf(found, WGI_NAME_SIZE, "%s", name);
    return status;
}

/* The first in the alphabet of the names that end as files of tensors do. */
static wg_status take_weights(void *found, const char *name)
{
    static const char end[] = ".safetensors";
    const size_t length = strlen(name), tail = sizeof end - 1;
    char *first = found;
    bool fits = length > tail && length < WGI_NAME_SIZE && strcmp(name + length - tail, end) == 0;
    if (fits && (!*first || strcmp(name, first) < 0))
        memcpy(first, name, length + 1);
    return WG_OK;
}

wg_status wgi_checkpoint_find_stray(const char *folder, char name[WGI_NAME_SIZE], wg_error *error)
{
    static const char *const saved[] = {WG_FILE_MODEL, WG_FILE_AVERAGE, WG_FILE_OPTIMIZER};
    bool begun;
    *name = '\0';
    wg_status status = wg_folder_has(folder, WG_FOLDER_CHECKPOINTS, &begun, error);
    for (int i = 0; i < WG_COUNT(saved) && status == WG_OK; i++)
        status = find_name(folder, saved[i], name, error);
    if (status == WG_OK && !*name && !begun)
        status = for_each_name(folder, take_weights, name, error);
    return status;
}
