#include "backends/load.h"
#include "backends/onednn/onednn.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- built in ----------------------------------------------------------------------------------- */

const wg_backend *wg_backend_at(size_t i)
{
    const wg_backend *const all[] = {wg_onednn_backend(), wg_cpu_backend()};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
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

/* ---- loaded ------------------------------------------------------------------------------------- */

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
