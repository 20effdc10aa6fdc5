/* What a model needs of a file, and the weights of a model to a file. */
#include "backends/store.h"
#include "files/weights.h"
#include "graph/error.h"
#include "graph/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

/* The first names of a list, and how many there are. */
typedef struct names {
    size_t count, used;
    char text[800];
} names;

static void add_name(names *l, const char *name)
{
    size_t need = strlen(name) + 2, room = sizeof l->text - l->used;
    if (l->used + 1 < sizeof l->text && need < room)
        l->used += (size_t)snprintf(l->text + l->used, room, "%s%s", l->count ? ", " : "", name);
    else if (l->used + 1 < sizeof l->text) { /* no more */
        snprintf(l->text + l->used, room, "%s", room > 5 ? ", ..." : "");
        l->used = sizeof l->text;
    }
    l->count++;
}

/* ---- loading --------------------------------------------------------------------------------- */

typedef struct loading {
    wg_store *store;
    wg_safetensors *file;
    const char *path;
    wg_weights_options o;
    const wg_file_tensor **from; /* [tensors of the store] what fills each, NULL: nothing */
    size_t loaded, asked_for;    /* tensors; asked for: of the store, by their names */
    names ignored, missing;
    wg_error *error;
} loading;

static void write_report(const loading *l, wg_load_report *report)
{
    if (!report)
        return;
    *report = (wg_load_report){
        .loaded = l->loaded, .ignored = l->ignored.count, .missing = l->missing.count};
    int n =
        snprintf(report->text, sizeof report->text, "%s: %zu tensors loaded", l->path, l->loaded);
    const struct {
        const char *what;
        const names *of;
    } lists[] = {{"ignored", &l->ignored}, {"missing", &l->missing}};
    for (int i = 0; i < WG_COUNT(lists) && n >= 0 && (size_t)n < sizeof report->text; i++)
        if (lists[i].of->count)
            n += snprintf(report->text + n, sizeof report->text - (size_t)n, "; %zu %s: %s",
                          lists[i].of->count, lists[i].what, lists[i].of->text);
}

/* The i-th tensor of the store: what fills it, or an error, or nothing. */
static wg_status choose(loading *l, size_t i)
{
    wg_status status = WG_OK;
    const wg_tensor *t = wg_store_at(l->store, i);
    wgi_role role = wgi_store_role(l->store, i);
    bool is_state = role == WGI_ROLE_STATE || role == WGI_ROLE_OPTIMIZER;
    char *name = is_state && l->o.parameters_only
                     ? NULL
                     : wgi_renamed(t->name, l->o.to_prefix, l->o.from_prefix, &status);
    const wg_file_tensor *got = name ? wg_safetensors_find(l->file, name) : NULL;
    l->asked_for += name != NULL;
    if (wgi_tensor_fits(t, got))
        l->from[i] = got;
    else if (name && !is_state && (got || !l->o.allow_missing))
        status = wgi_tensor_differs(t, got, l->path, l->error);
    else if (name && !got)
        add_name(&l->missing, t->name);
    free(name);
    return status;
}

/* The file's tensors that fill nothing. */
static wg_status list_ignored(loading *l)
{
    wg_status status = WG_OK;
    for (size_t i = 0; i < wg_safetensors_count(l->file) && status == WG_OK; i++) {
        const wg_file_tensor *t = wg_safetensors_at(l->file, i);
        char *name = wgi_renamed(t->name, l->o.from_prefix, l->o.to_prefix, &status);
        size_t place = name ? wgi_store_place(l->store, name) : SIZE_MAX;
        if (place == SIZE_MAX || l->from[place] != t)
            add_name(&l->ignored, t->name);
        free(name);
    }
    return status;
}

/* A prefix that no name of the store has is a slip: nothing would be loaded. */
static wg_status check_prefix(const loading *l)
{
    const char *prefix = l->o.to_prefix;
    if (l->asked_for || l->o.allow_missing || !prefix || !*prefix)
        return WG_OK;
    return wgi_error_set(l->error, WG_EDATA, "%s: no name in the store begins with '%s'", l->path,
                         prefix);
}

/* The same of the file, where tensors were not found. */
static wg_status blame_prefix(const loading *l)
{
    const char *prefix = l->o.from_prefix;
    size_t i = 0, n = wg_safetensors_count(l->file);
    if (!prefix || !*prefix)
        return WG_EDATA;
    while (i < n && strncmp(wg_safetensors_at(l->file, i)->name, prefix, strlen(prefix)) != 0)
        i++;
    return i < n ? WG_EDATA
                 : wgi_error_file(l->error, WG_EDATA, l->path, "no name in it begins with '%s'",
                                  prefix);
}

static wg_status fill_known(loading *l)
{
    wg_status status = WG_OK;
    size_t n = wg_store_count(l->store);
    l->from = calloc(n + 1, sizeof *l->from);
    if (!l->from)
        return WG_ENOMEM;
    for (size_t i = 0; i < n && status != WG_ENOMEM; i++) {
        wg_status one = choose(l, i);
        status = one != WG_OK ? one : status;
    }
    if (status == WG_EDATA)
        status = blame_prefix(l);
    if (status == WG_OK)
        status = check_prefix(l);
    if (status == WG_OK)
        status = list_ignored(l);
    for (size_t i = 0; i < n && status == WG_OK; i++) {
        if (l->from[i] && l->from[i]->size)
            memcpy(wg_store_at(l->store, i)->data, l->from[i]->data, l->from[i]->size);
        l->loaded += l->from[i] != NULL;
    }
    return status;
}

/* ---- loading into an empty store ------------------------------------------------------------- */

static void free_names(const wg_tensor *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        free((char *)(uintptr_t)list[i].name);
}

static wg_status take_wanted(loading *l, wg_tensor *list)
{
    wg_status status = WG_OK;
    for (size_t i = 0; i < wg_safetensors_count(l->file) && status != WG_ENOMEM; i++) {
        const wg_file_tensor *t = wg_safetensors_at(l->file, i);
        char *name = wgi_renamed(t->name, l->o.from_prefix, l->o.to_prefix, &status);
        if (!name) {
            add_name(&l->ignored, t->name);
            continue;
        }
        wg_status one = wgi_file_tensor_take(&list[l->loaded++], t, name, l->path, l->error);
        status = one != WG_OK ? one : status;
    }
    return status;
}

static wg_status fill_empty(loading *l)
{
    wgi_seal seal = l->o.allow_missing ? WGI_SEAL_NONE : WGI_SEAL_PARAMETERS;
    if (l->o.parameters_only)
        return wgi_error_file(l->error, WG_EINVAL, l->path,
                              "which tensors of an empty store are parameters is not known: make "
                              "the plan before loading");
    wg_tensor *list = calloc(wg_safetensors_count(l->file) + 1, sizeof *list);
    wg_status status = list ? take_wanted(l, list) : WG_ENOMEM;
    const char *prefix = l->o.from_prefix;
    if (status == WG_OK && !l->loaded && prefix && *prefix && !l->o.allow_missing)
        status =
            wgi_error_file(l->error, WG_EDATA, l->path, "no name in it begins with '%s'", prefix);
    if (status == WG_OK)
        status = wgi_store_fill(l->store, list, l->loaded, l->path, seal, true);
    if (status == WG_OK)
        status = wgi_moments_load(l->store, l->file, l->o.from_prefix, l->o.to_prefix);
    free_names(list, l->loaded);
    free(list);
    return status;
}

wg_status wg_store_load_weights(wg_store *store, const char *path,
                                const wg_weights_options *options, wg_load_report *report,
                                wg_error *error)
{
    wgi_error_clear(error);
    if (report)
        *report = (wg_load_report){0};
    if (!store)
        return wgi_error_file(error, WG_EINVAL, path, "the store is NULL");
    loading l = {.store = store, .path = path, .error = error};
    l.o = options ? *options : l.o;
    wg_status status = wg_safetensors_open(&l.file, path, error);
    if (status != WG_OK)
        return status;
    status = wg_store_count(store) ? fill_known(&l) : fill_empty(&l);
    if (status == WG_ENOMEM)
        wgi_error_file(error, status, path, "no memory to read it");
    if (status == WG_OK)
        status = wgi_notes_load(store, l.file, path, error);
    if (status == WG_OK)
        write_report(&l, report);
    free(l.from);
    wg_safetensors_close(l.file);
    return status;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* The tensors to save, with names of their own. */
static wg_status select(const wg_store *store, const wg_weights_options *o, wg_tensor *list,
                        size_t *n)
{
    wg_status status = WG_OK;
    for (size_t i = 0; i < wg_store_count(store) && status == WG_OK; i++) {
        wgi_role role = wgi_store_role(store, i);
        if (role == WGI_ROLE_OPTIMIZER || (o->parameters_only && role != WGI_ROLE_PARAMETER))
            continue;
        const wg_tensor *t = wg_store_at(store, i);
        char *name = wgi_renamed(t->name, o->from_prefix, o->to_prefix, &status);
        if (name) {
            list[*n] = *t;
            list[(*n)++].name = name;
        }
    }
    return status;
}

static bool knows_parameters(const wg_store *store)
{
    size_t i = 0;
    while (i < wg_store_count(store) && wgi_store_role(store, i) != WGI_ROLE_PARAMETER)
        i++;
    return i < wg_store_count(store);
}

wg_status wg_store_save_weights(const wg_store *store, const char *path,
                                const wg_weights_options *options, wg_error *error)
{
    wgi_error_clear(error);
    wg_weights_options o = options ? *options : (wg_weights_options){0};
    if (o.parameters_only && !knows_parameters(store))
        return wgi_error_file(error, WG_EINVAL, path,
                              "which tensors of the store are parameters is not known: no plan has "
                              "used it");
    size_t n = 0;
    wg_tensor *list = calloc(wg_store_count(store) + 1, sizeof *list);
    wg_status status = list ? select(store, &o, list, &n) : WG_ENOMEM;
    status = wgi_tensors_save(store, status == WG_OK ? list : NULL, n, NULL, path, error);
    free_names(list, n);
    free(list);
    return status;
}
