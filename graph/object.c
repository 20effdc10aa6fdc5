#include "graph/object.h"
#include "graph/error.h"

#include <dlfcn.h>
#include <string.h>

wg_status wgi_object_open(void **handle, const char *path, const char *what, const char *name,
                          void *function, size_t size, wg_error *error)
{
    *handle = NULL;
    if (!path || !*path) /* dlopen takes "" for the program itself */
        return wgi_error_set(error, WG_EINVAL, "no path of %s", what);
    void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
        /* It names the path.  NOLINTNEXTLINE(concurrency-mt-unsafe): each thread has its own */
        const char *text = dlerror();
        return wgi_error_set(error, WG_EIO, "%s", text ? text : path);
    }
    void *symbol = dlsym(opened, name);
    if (!symbol) {
        dlclose(opened);
        return wgi_error_set(error, WG_EINVAL, "%s is not %s: it has no function '%s'", path, what,
                             name);
    }
    memcpy(function, &symbol, size); /* ISO C has no cast from object to function */
    *handle = opened;
    return WG_OK;
}
