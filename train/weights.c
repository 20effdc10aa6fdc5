#include "train/weights.h"
#include "train/internal.h"

#include <stdlib.h>
#include <string.h>

wg_status wg_store_save(const wg_store *store, const char *path, char *message, size_t message_size)
{
    wg_message m = wg_message_in(message, message_size);
    size_t n = wg_store_count(store);
    wg_tensor *tensors = calloc(n + 1, sizeof *tensors);
    if (!tensors)
        return wg_file_fail(&m, WG_ENOMEM, path, "no memory to write it");
    for (size_t i = 0; i < n; i++)
        tensors[i] = *wg_store_at(store, i);
    wg_status status = wg_safetensors_write(path, tensors, n, NULL, 0, message, message_size);
    free(tensors);
    return status;
}

/* One line for each difference between what the store has and the file has; how many there are. */
static size_t differences(const wg_store *store, const wg_safetensors *f, const char *path,
                          wg_message *m)
{
    size_t found = 0;
    char want[200], have[200];
    for (size_t i = 0; i < wg_store_count(store); i++) {
        const wg_tensor *t = wg_store_at(store, i);
        const wg_file_tensor *got = wg_safetensors_find(f, t->name);
        if (got && got->dtype == t->dtype && wg_shape_equal(&got->shape, &t->shape))
            continue;
        wg_message_add(m, "%s%s: tensor %s: expected %s %s, got ", found++ ? "\n" : "", path,
                       t->name, wg_file_dtype_of(t->dtype)->name,
                       wg_shape_text(&t->shape, want, sizeof want));
        if (got)
            wg_message_add(m, "%s %s", got->dtype_name,
                           wg_shape_text(&got->shape, have, sizeof have));
        else
            wg_message_add(m, "none");
    }
    for (size_t i = 0; i < wg_safetensors_count(f); i++)
        if (!wg_store_find(store, wg_safetensors_at(f, i)->name))
            wg_message_add(m, "%s%s: tensor %s: expected none", found++ ? "\n" : "", path,
                           wg_safetensors_at(f, i)->name);
    return found;
}

wg_status wg_store_load(wg_store *store, const char *path, char *message, size_t message_size)
{
    wg_safetensors *f;
    wg_status status = wg_safetensors_open(&f, path, message, message_size);
    if (status != WG_OK)
        return status;
    wg_message m = wg_message_in(message, message_size);
    if (differences(store, f, path, &m)) {
        status = WG_EDATA;
    } else {
        for (size_t i = 0; i < wg_store_count(store); i++) {
            const wg_file_tensor *t = wg_safetensors_at(f, i);
            if (t->size)
                memcpy(wg_store_find(store, t->name)->data, t->data, t->size);
        }
    }
    wg_safetensors_close(f);
    return status;
}
