#include "wengert/backends/load.h"
#include "backends/load.h"
#include "wengert/backends/lapack.h"
#include "wengert/backends/onednn.h"
#include "wengert/backends/simd.h"
#include "graph/error.h"
#include "graph/object.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- built in -------------------------------------------------------------------------------- */

const wg_backend *wg_backend_at(size_t i)
{
    /* simd and onednn both multiply matrices: oneDNN's products are as fast or faster */
    const wg_backend *const all[] = {wg_onednn_backend(), wg_simd_backend(), wg_lapack_backend(),
                                     wg_cpu_backend()};
    for (size_t k = 0; k < WG_COUNT(all); k++)
        if (all[k] && i-- == 0) /* one that is not built is NULL */
            return all[k];
    return NULL;
}

const wg_backend *wg_backend_find(const char *name)
{
    const wg_backend *b;
    for (size_t i = 0; name && (b = wg_backend_at(i)); i++)
        if (strcmp(b->name, name) == 0)
            return b;
    return NULL;
}

/* ---- loaded ---------------------------------------------------------------------------------- */

/* What the object offers: *out is left alone on failure. */
static wg_status enter(const wg_backend **out, wg_backend_entry *entry, const char *path,
                       wg_error *error)
{
    const wg_backend *b = entry(WG_BACKEND_ABI);
    if (!b)
        return wgi_error_set(error, WG_EUNSUPPORTED, "%s was built for a backend ABI other than %u",
                             path, (unsigned)WG_BACKEND_ABI);
    if (b->abi != WG_BACKEND_ABI)
        return wgi_error_set(error, WG_EUNSUPPORTED, "%s is a backend for ABI %u, this is ABI %u",
                             path, (unsigned)b->abi, (unsigned)WG_BACKEND_ABI);
    if (!b->name || !b->refuses || !b->prepare)
        return wgi_error_set(error, WG_EINVAL, "%s: its table lacks name, refuses or prepare",
                             path);
    *out = b;
    return WG_OK;
}

wg_status wg_backend_load(wg_loaded_backend *out, const char *path, wg_error *error)
{
    wg_backend_entry *entry;
    void *handle;
    wgi_error_clear(error);
    if (!out)
        return wgi_error_set(error, WG_EINVAL, "no place for the backend");
    *out = (wg_loaded_backend){0};
    wg_status status = wgi_object_open(&handle, path, "a backend", WG_TEXT(WG_BACKEND_ENTRY),
                                       &entry, sizeof entry, error);
    if (status != WG_OK)
        return status;
    status = enter(&out->backend, entry, path, error);
    if (status == WG_OK)
        out->handle = handle;
    else
        dlclose(handle);
    return status;
}

void wg_backend_unload(wg_loaded_backend *loaded)
{
    if (loaded && loaded->handle)
        dlclose(loaded->handle);
    if (loaded)
        *loaded = (wg_loaded_backend){0};
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Such a name is that of a file, unless a built-in backend has it. */
static bool is_object(const char *name, size_t n)
{
    return memchr(name, '/', n) || (n > 3 && memcmp(name + n - 3, ".so", 3) == 0);
}

bool wgi_backends_have_object(const char *names)
{
    for (const char *end; names && *names; names = *end ? end + 1 : end) {
        end = names + strcspn(names, ",");
        if (is_object(names, (size_t)(end - names)))
            return true;
    }
    return false;
}

static wg_status add_named(wg_backend_list *list, const char *name, wg_error *error)
{
    wg_loaded_backend loaded = {0};
    const wg_backend *b = wg_backend_find(name);
    if (list->count == WG_MAX_BACKENDS)
        return wgi_error_set(error, WG_EINVAL, "backend %s: expected at most %d backends", name,
                             WG_MAX_BACKENDS);
    if (!b && is_object(name, strlen(name))) {
        wg_status status = wg_backend_load(&loaded, name, error);
        if (status != WG_OK)
            return status;
        b = loaded.backend;
    }
    if (!b) {
        wgi_error_set(error, WG_EINVAL, "backend %s: expected", name);
        for (size_t i = 0; (b = wg_backend_at(i)); i++)
            wgi_error_add(error, "%s %s", i ? "," : "", b->name);
        return WG_EINVAL;
    }
    list->backend[list->count] = b;
    list->loaded[list->count++] = loaded;
    return WG_OK;
}

wg_backend_list wg_backend_list_built_in(void)
{
    wg_backend_list list = {.count = 0};
    for (const wg_backend *b; list.count < WG_MAX_BACKENDS && (b = wg_backend_at(list.count));)
        list.backend[list.count++] = b;
    return list;
}

wg_status wg_backend_list_open(wg_backend_list *out, const char *names, wg_error *error)
{
    wg_status status = WG_OK;
    wgi_error_clear(error);
    *out = (wg_backend_list){.count = 0};
    if (!names || !*names) {
        *out = wg_backend_list_built_in();
        return WG_OK;
    }
    for (const char *end; status == WG_OK && names; names = *end ? end + 1 : NULL) {
        char name[1024];
        end = names + strcspn(names, ",");
        int n = snprintf(name, sizeof name, "%.*s", (int)(end - names), names);
        status = n < (int)sizeof name
                     ? add_named(out, name, error)
                     : wgi_error_set(error, WG_EINVAL,
                                     "a backend's name has %d bytes, expected less than %zu", n,
                                     sizeof name);
    }
    if (status != WG_OK)
        wg_backend_list_close(out);
    return status;
}

void wg_backend_list_close(wg_backend_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        wg_backend_unload(&list->loaded[i]);
    list->count = 0;
}
