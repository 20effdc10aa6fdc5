#include "wengert/files/weights.h"
#include "files/internal.h"

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

wg_status wg_store_save(const wg_store *store, const char *path, char *message, size_t message_size)
{
    wgi_message m = wgi_message_in(message, message_size);
    size_t n;
    wg_tensor *list = list_of(store, &n);
    if (!list)
        return wgi_file_fail(&m, WG_ENOMEM, path, "no memory to write it");
    wg_status status = wg_safetensors_write(path, list, n, NULL, 0, message, message_size);
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

/* One line for each difference between what is wanted and what the file has; how many there are. */
static size_t differences(const wg_tensor *list, size_t n, const wg_safetensors *f,
                          const char *path, wgi_message *m)
{
    size_t found = 0;
    char want[200], have[200];
    for (size_t i = 0; i < n; i++) {
        const wg_tensor *t = &list[i];
        const wg_file_tensor *got = wg_safetensors_find(f, t->name);
        if (got && got->dtype == t->dtype && wg_shape_equal(&got->shape, &t->shape))
            continue;
        wgi_message_add(m, "%s%s: tensor %s: expected %s %s, got ", found++ ? "\n" : "", path,
                        t->name, wgi_file_dtype_of(t->dtype)->name,
                        wg_shape_text(&t->shape, want, sizeof want));
        if (got)
            wgi_message_add(m, "%s %s", got->dtype_name,
                            wg_shape_text(&got->shape, have, sizeof have));
        else
            wgi_message_add(m, "none");
    }
    if (!found && wg_safetensors_count(f) == n) /* the same names */
        return 0;
    for (size_t i = 0; i < wg_safetensors_count(f); i++)
        if (!find(list, n, wg_safetensors_at(f, i)->name))
            wgi_message_add(m, "%s%s: tensor %s: expected none", found++ ? "\n" : "", path,
                            wg_safetensors_at(f, i)->name);
    return found;
}

wg_status wgi_tensors_load(const wg_tensor *list, size_t n, const char *path, wgi_message *m)
{
    wg_safetensors *f;
    char why[512];
    wg_status status = wg_safetensors_open(&f, path, why, sizeof why);
    if (status != WG_OK) {
        wgi_message_add(m, "%s", why);
        return status;
    }
    if (differences(list, n, f, path, m))
        status = WG_EDATA;
    for (size_t i = 0; i < n && status == WG_OK; i++) {
        const wg_file_tensor *t = wg_safetensors_find(f, list[i].name);
        if (t->size)
            memcpy(list[i].data, t->data, t->size);
    }
    wg_safetensors_close(f);
    return status;
}

wg_status wg_store_load(wg_store *store, const char *path, char *message, size_t message_size)
{
    wgi_message m = wgi_message_in(message, message_size);
    size_t n;
    wg_tensor *list = list_of(store, &n);
    wg_status status = list ? wgi_tensors_load(list, n, path, &m)
                            : wgi_file_fail(&m, WG_ENOMEM, path, "no memory to read it");
    free(list);
    return status;
}
