#include "wengert/backends/load.h"
#include "wengert/backends/onednn.h"
#include "wengert/backends/simd.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- built in -------------------------------------------------------------------------------- */

const wg_backend *wg_backend_at(size_t i)
{
    /* simd and onednn both multiply matrices: oneDNN's products are as fast or faster */
    const wg_backend *const all[] = {wg_onednn_backend(), wg_simd_backend(), wg_cpu_backend()};
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

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* What the object offers, or NULL and why not. */
static const wg_backend *enter(void *handle, const char *path, wg_status *status, char *why,
                               size_t size)
{
    wg_backend_entry *entry = NULL;
    void *symbol = dlsym(handle, TEXT(WG_BACKEND_ENTRY));
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function */
    if (!entry) {
        *status = WG_EINVAL;
        snprintf(why, size, "%s is no backend: it has no function '%s'", path,
                 TEXT(WG_BACKEND_ENTRY));
        return NULL;
    }
    const wg_backend *b = entry(WG_BACKEND_ABI);
    if (!b || b->abi != WG_BACKEND_ABI) {
        *status = WG_EUNSUPPORTED;
        if (b)
            snprintf(why, size, "%s is a backend for ABI %u, this is ABI %u", path,
                     (unsigned)b->abi, (unsigned)WG_BACKEND_ABI);
        else
            snprintf(why, size, "%s is a backend that does not speak ABI %u", path,
                     (unsigned)WG_BACKEND_ABI);
        return NULL;
    }
    if (!b->name || !b->refuses || !b->prepare) {
        *status = WG_EINVAL;
        snprintf(why, size, "%s: its table lacks name, refuses or prepare", path);
        return NULL;
    }
    return b;
}

wg_status wg_backend_load(wg_loaded_backend *out, const char *path, char *message, size_t size)
{
    size = message ? size : 0; /* snprintf then writes nothing */
    if (size)
        message[0] = 0;
    if (out)
        *out = (wg_loaded_backend){0};
    if (!out || !path || !*path) { /* dlopen takes "" for the program itself */
        snprintf(message, size, "no path of a backend");
        return WG_EINVAL;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror(); /* names the path */
        snprintf(message, size, "%s", text ? text : path);
        return WG_EIO;
    }
    wg_status status = WG_OK;
    const wg_backend *b = enter(handle, path, &status, message, size);
    if (b)
        *out = (wg_loaded_backend){b, handle};
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

static wg_status add_named(wg_backend_list *list, const char *name, char *message, size_t size)
{
    wg_loaded_backend loaded = {0};
    const wg_backend *b = wg_backend_find(name);
    size_t n = strlen(name);
    if (list->count == WG_MAX_BACKENDS) {
        snprintf(message, size, "backend %s: expected at most %d backends", name, WG_MAX_BACKENDS);
        return WG_EINVAL;
    }
    if (!b && (strchr(name, '/') || (n > 3 && strcmp(name + n - 3, ".so") == 0))) {
        wg_status status = wg_backend_load(&loaded, name, message, size);
        if (status != WG_OK)
            return status;
        b = loaded.backend;
    }
    if (!b) {
        snprintf(message, size, "backend %s: expected", name);
        for (size_t i = 0, used = 0;
             size && (b = wg_backend_at(i)) && (used = strlen(message)) < size; i++)
            snprintf(message + used, size - used, "%s %s", i ? "," : "", b->name);
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

wg_status wg_backend_list_open(wg_backend_list *out, const char *names, char *message, size_t size)
{
    wg_status status = WG_OK;
    size = message ? size : 0;
    *out = (wg_backend_list){.count = 0};
    if (!names || !*names) {
        *out = wg_backend_list_built_in();
        return WG_OK;
    }
    for (const char *end; status == WG_OK && names; names = *end ? end + 1 : NULL) {
        char name[1024];
        end = names + strcspn(names, ",");
        int n = snprintf(name, sizeof name, "%.*s", (int)(end - names), names);
        if (n < (int)sizeof name) {
            status = add_named(out, name, message, size);
        } else {
            snprintf(message, size, "a backend's name has %d bytes, expected less than %zu", n,
                     sizeof name);
            status = WG_EINVAL;
        }
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
