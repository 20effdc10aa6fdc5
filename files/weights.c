#include "files/weights.h"
#include "files/internal.h"
#include "graph/error.h"

#include <stdlib.h>
#include <string.h>

/* All tensors of the store; NULL without memory. */
static wg_tensor *list_of(const wg_store *store, size_t *n)
{
    *n = wg_store_count(store);
    wg_tensor *list = calloc(*n + 1, sizeof *list);
    for (size_t i = 0; list && i < *n; i++)
        list[i] = *wg_store_at(store, i);
    return list;
}

wg_status wg_store_save(const wg_store *store, const char *path, wg_error *error)
{
    wgi_error_clear(error);
    size_t n;
    wg_tensor *list = list_of(store, &n);
    if (!list)
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    wg_status status = wg_safetensors_write(path, list, n, NULL, 0, error);
    free(list);
    return status;
}

static const wg_tensor *find(const wg_tensor *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

/* WG_EDATA, with a line for each difference between the list and the file. */
static wg_status compare(const wg_tensor *list, size_t n, const wg_safetensors *f, const char *path,
                         wg_error *error)
{
    wg_status status = WG_OK;
    char want[200], have[200];
    for (size_t i = 0; i < n; i++) {
        const wg_tensor *t = &list[i];
        const wg_file_tensor *got = wg_safetensors_find(f, t->name);
        if (got && got->dtype == t->dtype && wg_shape_equal(&got->shape, &t->shape))
            continue;
        status = wgi_error_line(error, WG_EDATA, "%s: tensor %s: expected %s %s, got %s%s%s", path,
                                t->name, wgi_file_dtype_of(t->dtype)->name,
                                wg_shape_text(&t->shape, want, sizeof want),
                                got ? got->dtype_name : "none", got ? " " : "",
                                got ? wg_shape_text(&got->shape, have, sizeof have) : "");
    }
    if (status == WG_OK && wg_safetensors_count(f) == n) /* the same names */
        return WG_OK;
    for (size_t i = 0; i < wg_safetensors_count(f); i++)
        if (!find(list, n, wg_safetensors_at(f, i)->name))
            status = wgi_error_line(error, WG_EDATA, "%s: tensor %s: expected none", path,
                                    wg_safetensors_at(f, i)->name);
    return status;
}

wg_status wgi_tensors_load(const wg_tensor *list, size_t n, const char *path, wg_error *error)
{
    wg_safetensors *f;
    wg_status status = wg_safetensors_open(&f, path, error);
    if (status != WG_OK)
        return status;
    status = compare(list, n, f, path, error);
    for (size_t i = 0; i < n && status == WG_OK; i++) {
        const wg_file_tensor *t = wg_safetensors_find(f, list[i].name);
        if (t->size)
            memcpy(list[i].data, t->data, t->size);
    }
    wg_safetensors_close(f);
    return status;
}

wg_status wg_store_load(wg_store *store, const char *path, wg_error *error)
{
    wgi_error_clear(error);
    size_t n;
    wg_tensor *list = list_of(store, &n);
    wg_status status = list ? wgi_tensors_load(list, n, path, error)
                            : wgi_error_file(error, WG_ENOMEM, path, "no memory to read it");
    free(list);
    return status;
}
