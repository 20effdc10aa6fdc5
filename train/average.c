#include "wengert/train/average.h"
#include "graph/element.h"
#include "files/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- what differs ---------------------------------------------------------------------------- */

static void add_difference(wgi_message *m, size_t *found, const char *path, const char *name)
{
    wgi_message_add(m, "%s%s: tensor %s: ", (*found)++ ? "\n" : "", path, name);
}

/* One line for each difference of file f from the first one. */
static void compare(const wg_safetensors *first, const wg_safetensors *f, const char *path,
                    size_t *found, wgi_message *m)
{
    const wg_file_tensor *a, *b;
    char want[200], have[200];
    for (size_t i = 0; (a = wg_safetensors_at(first, i)); i++) {
        b = wg_safetensors_find(f, a->name);
        if (b && strcmp(a->dtype_name, b->dtype_name) == 0 &&
            wg_shape_equal(&a->shape, &b->shape) &&
            (wg_dtype_is_float(a->dtype) || memcmp(a->data, b->data, a->size) == 0))
            continue;
        add_difference(m, found, path, a->name);
        wgi_message_add(m, "expected %s %s", a->dtype_name,
                        wg_shape_text(&a->shape, want, sizeof want));
        if (!b)
            wgi_message_add(m, ", got none");
        else if (strcmp(a->dtype_name, b->dtype_name) == 0 && wg_shape_equal(&a->shape, &b->shape))
            wgi_message_add(m, " equal to the first file's");
        else
            wgi_message_add(m, ", got %s %s", b->dtype_name,
                            wg_shape_text(&b->shape, have, sizeof have));
    }
    for (size_t i = 0; (b = wg_safetensors_at(f, i)); i++)
        if (!wg_safetensors_find(first, b->name)) {
            add_difference(m, found, path, b->name);
            wgi_message_add(m, "expected none");
        }
}

/* ---- the mean -------------------------------------------------------------------------------- */

/* out[i] = (1/n) sum over files of x[i].  A copy of x is read, since in a file it may lie
 * unaligned. */
static bool mean(wg_safetensors *const *files, size_t n, const wg_file_tensor *t, void *out)
{
    int64_t count = wg_shape_count(&t->shape);
    double *sum = calloc((size_t)count + 1, sizeof *sum);
    for (size_t k = 0; k < n && sum && count; k++) {
        memcpy(out, wg_safetensors_find(files[k], t->name)->data, t->size);
        for (int64_t i = 0; i < count; i++)
            sum[i] += wgi_get_element(out, t->dtype, i);
    }
    for (int64_t i = 0; i < count && sum; i++)
        wgi_put_element(out, t->dtype, i, sum[i] / (double)n);
    free(sum);
    return sum;
}

static wg_status average(wg_safetensors *const *files, size_t n, const char *out, char *message,
                         size_t size)
{
    wgi_message m = wgi_message_in(message, size);
    size_t count = wg_safetensors_count(files[0]);
    wg_tensor *list = calloc(count + 1, sizeof *list);
    bool ok = list;
    for (size_t i = 0; i < count && ok; i++) {
        const wg_file_tensor *t = wg_safetensors_at(files[0], i);
        list[i] = (wg_tensor){t->name, t->dtype, t->shape, malloc(t->size + 1)};
        ok = list[i].data;
        if (ok && wg_dtype_is_float(t->dtype))
            ok = mean(files, n, t, list[i].data);
        else if (ok && t->size)
            memcpy(list[i].data, t->data, t->size);
    }
    wg_status status =
        ok ? wg_safetensors_write(out, list, count, NULL, 0, message, size)
           : wgi_file_fail(&m, WG_ENOMEM, out, "no memory to average %zu tensors", count);
    for (size_t i = 0; list && i < count; i++)
        free(list[i].data);
    free(list);
    return status;
}

wg_status wg_average_files(const char *const *paths, size_t n, const char *out, char *message,
                           size_t message_size)
{
    wgi_message m = wgi_message_in(message, message_size);
    size_t differences = 0;
    if (n == 0 || !paths || !out)
        return wgi_message_add(&m, "average: expected files, got none"), WG_EINVAL;
    wg_safetensors **files = calloc(n, sizeof(wg_safetensors *));
    wg_status status =
        files ? WG_OK : wgi_file_fail(&m, WG_ENOMEM, out, "no memory for %zu files", n);
    for (size_t i = 0; i < n && status == WG_OK; i++)
        status = wg_safetensors_open(&files[i], paths[i], message, message_size);
    for (size_t i = 0; i < n && status == WG_OK; i++)
        compare(files[0], files[i], paths[i], &differences, &m);
    for (size_t i = 0; status == WG_OK && i < wg_safetensors_count(files[0]); i++) {
        const wg_file_tensor *t = wg_safetensors_at(files[0], i);
        if (t->dtype == WG_DTYPE_DEFAULT) {
            add_difference(&m, &differences, paths[0], t->name);
            wgi_message_add(&m, "%s is no type to compute with", t->dtype_name);
        }
    }
    if (status == WG_OK && differences)
        status = WG_EDATA;
    if (status == WG_OK)
        status = average(files, n, out, message, message_size);
    for (size_t i = 0; files && i < n; i++)
        wg_safetensors_close(files[i]);
    free(files);
    return status;
}
