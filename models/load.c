#include "wengert/models/load.h"
#include "graph/error.h"
#include "graph/object.h"

#include <dlfcn.h>

wg_status wg_model_load(wg_loaded_model *out, const char *path, wg_error *error)
{
    wg_model_entry *entry;
    void *handle;
    wgi_error_clear(error);
    if (!out)
        return wgi_error_set(error, WG_EINVAL, "no place for the model");
    *out = (wg_loaded_model){0};
    wg_status status = wgi_object_open(&handle, path, "a model", WG_TEXT(WG_MODEL_ENTRY), &entry,
                                       sizeof entry, error);
    if (status != WG_OK)
        return status;
    const wg_model *model = entry(WG_MODEL_ABI);
    if (!model)
        status = wgi_error_set(error, WG_EUNSUPPORTED,
                               "%s was built for a model ABI other than %d: rebuild it with the "
                               "headers of this version",
                               path, WG_MODEL_ABI);
    else if (!model->name || !model->build)
        status = wgi_error_set(error, WG_EINVAL, "%s: its model lacks a %s", path,
                               model->name ? "build function" : "name");
    if (status == WG_OK)
        *out = (wg_loaded_model){model, handle};
    else
        dlclose(handle);
    return status;
}

void wg_model_unload(wg_loaded_model *loaded)
{
    if (loaded && loaded->handle)
        dlclose(loaded->handle);
    if (loaded)
        *loaded = (wg_loaded_model){0};
}
