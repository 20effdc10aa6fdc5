#include "wengert/train/average.h"
#include "graph/element.h"
#include "graph/error.h"
#include "train/finite.h"

#include <stdlib.h>
#include <string.h>

/* ---- what differs ---------------------------------------------------------------------------- */

/* WG_EDATA, with a line for each difference of file f from the first one. */
static wg_status compare(const wg_safetensors *first, const wg_safetensors *f, const char *path,
                         wg_error *error)
{
    wg_status status = WG_OK;
    const wg_file_tensor *a, *b;
    char want[200], have[200], got[240];
    for (size_t i = 0; (a = wg_safetensors_at(first, i)); i++) {
        b = wg_safetensors_find(f, a->name);
        bool same_type =
            b && strcmp(a->dtype_name, b->dtype_name) == 0 && wg_shape_equal(&a->shape, &b->shape);
        if (same_type && (wg_dtype_is_float(a->dtype) || memcmp(a->data, b->data, a->size) == 0))
            continue;
        snprintf(got, sizeof got, "%s%s%s", b ? b->dtype_name : "none", b ? " " : "",
                 b ? wg_shape_text(&b->shape, have, sizeof have) : "");
        status = wgi_error_line(error, WG_EDATA, "%s: tensor %s: expected %s %s%s%s", path, a->name,
                                a->dtype_name, wg_shape_text(&a->shape, want, sizeof want),
                                same_type ? " equal to the first file's" : ", got ",
                                same_type ? "" : got);
    }
    for (size_t i = 0; (b = wg_safetensors_at(f, i)); i++)
        if (!wg_safetensors_find(first, b->name))
            status = wgi_error_line(error, WG_EDATA, "%s: tensor %s: expected none", path, b->name);
    return status;
}

/* WG_EDATA, with a line for each metadata entry of the project's own, such as the checksum of the
 * vocabularies, that differs from the first file's: weights of other tokens have no mean. */
static wg_status compare_notes(const wg_safetensors *first, const wg_safetensors *f,
                               const char *path, wg_error *error)
{
    static const char own[] = "wengert-";
    wg_status status = WG_OK;
    const wg_file_note *note;
    for (size_t i = 0; (note = wg_safetensors_note_at(first, i)); i++) {
        const char *text = wg_safetensors_note(f, note->key);
        bool is_own =
            strncmp(note->key, own, strlen(own)) == 0 && strcmp(note->key, WG_NOTE_MADE_BY) != 0;
        if (text && is_own && strcmp(note->text, text) != 0)
            status = wgi_error_line(error, WG_EDATA,
                                    "%s: %s: expected %.60s, as in the first file, "
                                    "got %.60s",
                                    path, note->key, note->text, text);
    }
    return status;
}

/* WG_EDATA, with a line for each tensor whose dtype cannot be averaged. */
static wg_status check_dtypes(const wg_safetensors *first, const char *path, wg_error *error)
{
    wg_status status = WG_OK;
    const wg_file_tensor *t;
    for (size_t i = 0; (t = wg_safetensors_at(first, i)); i++)
        if (t->dtype == WG_DTYPE_DEFAULT)
            status = wgi_error_line(error, WG_EDATA, "%s: tensor %s: %s cannot be averaged", path,
                                    t->name, t->dtype_name);
    return status;
}

/* ---- the mean -------------------------------------------------------------------------------- */

/* out[i] = (1/n) sum over files of x[i].  Reads copies, since data in a file may be unaligned.
 * WG_ENOMEM without a message; WG_EDATA, with a line for each file with NaN or infinity. */
static wg_status mean(wg_safetensors *const *files, const char *const *paths, size_t n,
                      const wg_file_tensor *t, void *out, wg_error *error)
{
    const wg_tensor copy = {t->name, t->dtype, t->shape, out};
    int64_t count = wg_shape_count(&t->shape);
    double *sum = calloc((size_t)count + 1, sizeof *sum);
    wg_status status = sum ? WG_OK : WG_ENOMEM;
    for (size_t k = 0; k < n && sum && count; k++) {
        memcpy(out, wg_safetensors_find(files[k], t->name)->data, t->size);
        if (wgi_check_finite(&copy, 1, WG_EDATA, paths[k], error) != WG_OK)
            status = WG_EDATA;
        for (int64_t i = 0; i < count; i++)
            sum[i] += wgi_get_element(out, t->dtype, i);
    }
    for (int64_t i = 0; i < count && sum; i++)
        wgi_put_element(out, t->dtype, i, sum[i] / (double)n);
    free(sum);
    return status;
}

/* The metadata entries of the mean, into `out`: those that all files have, and its own.  How many
 * there are. */
static size_t mean_notes(wg_safetensors *const *files, size_t n, wg_file_note *out)
{
    const wg_file_note *note;
    size_t count = 0;
    out[count++] = (wg_file_note){WG_NOTE_MADE_BY, "average"};
    for (size_t i = 0; (note = wg_safetensors_note_at(files[0], i)); i++) {
        bool shared = strcmp(note->key, WG_NOTE_MADE_BY) != 0;
        for (size_t k = 1; k < n && shared; k++) {
            const char *text = wg_safetensors_note(files[k], note->key);
            shared = text && strcmp(text, note->text) == 0;
        }
        if (shared)
            out[count++] = *note;
    }
    return count;
}

static wg_status average(wg_safetensors *const *files, const char *const *paths, size_t n,
                         const char *out, wg_error *error)
{
    wgi_error_clear(error);
    size_t count = wg_safetensors_count(files[0]);
    wg_tensor *list = calloc(count + 1, sizeof *list);
    wg_file_note *notes = calloc(wg_safetensors_note_count(files[0]) + 1, sizeof *notes);
    wg_status status = list && notes ? WG_OK : WG_ENOMEM;
    for (size_t i = 0; i < count && status != WG_ENOMEM; i++) {
        const wg_file_tensor *t = wg_safetensors_at(files[0], i);
        list[i] = (wg_tensor){t->name, t->dtype, t->shape, malloc(t->size + 1)};
        wg_status here = list[i].data ? WG_OK : WG_ENOMEM;
        if (list[i].data && wg_dtype_is_float(t->dtype))
            here = mean(files, paths, n, t, list[i].data, error);
        else if (list[i].data && t->size)
            memcpy(list[i].data, t->data, t->size);
        status = here != WG_OK ? here : status;
    }
    if (status == WG_OK)
        status = wg_safetensors_write(out, list, count, notes, mean_notes(files, n, notes), error);
    else if (status == WG_ENOMEM)
        wgi_error_file(error, WG_ENOMEM, out, "no memory to average %zu tensors", count);
    for (size_t i = 0; list && i < count; i++)
        free(list[i].data);
    free(list);
    free(notes);
    return status;
}

wg_status wg_average_files(const char *const *paths, size_t n, const char *out, wg_error *error)
{
    wgi_error_clear(error);
    if (n == 0 || !paths || !out)
        return wgi_error_set(error, WG_EINVAL, "average: expected files, got none");
    wg_safetensors **files = calloc(n, sizeof(wg_safetensors *));
    wg_status status =
        files ? WG_OK : wgi_error_file(error, WG_ENOMEM, out, "no memory for %zu files", n);
    for (size_t i = 0; i < n && status == WG_OK; i++)
        status = wg_safetensors_open(&files[i], paths[i], error);
    bool opened = status == WG_OK;
    for (size_t i = 0; i < n && opened; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there are files if all are open */
        if (compare(files[0], files[i], paths[i], error) != WG_OK ||
            compare_notes(files[0], files[i], paths[i], error) != WG_OK)
            status = WG_EDATA;
    if (opened && check_dtypes(files[0], paths[0], error) != WG_OK)
        status = WG_EDATA;
    if (status == WG_OK)
        status = average(files, paths, n, out, error);
    for (size_t i = 0; files && i < n; i++)
        wg_safetensors_close(files[i]);
    free(files);
    return status;
}
