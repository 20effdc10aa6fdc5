/* Everything of a store, exactly, to a file and back.  (A model's weights: model_weights.c.) */
#include "files/weights.h"
#include "backends/store.h"
#include "files/internal.h"
#include "graph/error.h"

#include <stdio.h>
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

/* ---- names ----------------------------------------------------------------------------------- */

char *wgi_renamed(const char *name, const char *from, const char *to, wg_status *status)
{
    size_t cut = from ? strlen(from) : 0, before = to ? strlen(to) : 0, rest;
    if (cut && strncmp(name, from, cut) != 0)
        return NULL;
    rest = strlen(name + cut) + 1;
    char *made = malloc(before + rest);
    if (!made) {
        *status = WG_ENOMEM;
        return NULL;
    }
    if (before)
        memcpy(made, to, before);
    memcpy(made + before, name + cut, rest);
    return made;
}

/* ---- states of an optimizer ------------------------------------------------------------------ */

/* They are needed to go on with a training, not to use the model.  A plan knows which they are; for
 * a store without one, a file of everything lists them in its metadata. */
static const char MOMENTS[] = "wengert-optimizer-states";

/* Their names; NULL without memory. */
static char *moments_of(const wg_store *store)
{
    size_t bytes = 1, used = 0;
    for (size_t i = 0; i < wg_store_count(store); i++)
        bytes += strlen(wg_store_at(store, i)->name) + 1;
    char *text = calloc(bytes, 1);
    for (size_t i = 0; text && i < wg_store_count(store); i++)
        if (wgi_store_role(store, i) == WGI_ROLE_OPTIMIZER)
            used +=
                (size_t)snprintf(text + used, bytes - used, "%s\n", wg_store_at(store, i)->name);
    return text;
}

wg_status wgi_moments_load(wg_store *store, const wg_safetensors *f, const char *from,
                           const char *to)
{
    wg_status status = WG_OK;
    const char *text = wg_safetensors_note(f, MOMENTS);
    for (size_t length; text && *(text += strspn(text, "\n")) && status == WG_OK; text += length) {
        length = strcspn(text, "\n");
        char *name = strndup(text, length);
        char *known = name ? wgi_renamed(name, from, to, &status) : NULL;
        size_t place = known ? wgi_store_place(store, known) : SIZE_MAX;
        if (place != SIZE_MAX)
            wgi_store_set_role(store, place, WGI_ROLE_OPTIMIZER);
        status = name ? status : WG_ENOMEM;
        free(name);
        free(known);
    }
    return status;
}

/* ---- notes ----------------------------------------------------------------------------------- */

wg_status wgi_tensors_save(const wg_store *store, const wg_tensor *list, size_t n,
                           const char *moments, const char *path, wg_error *error)
{
    size_t n_notes = wg_store_note_count(store);
    wg_file_note *notes = calloc(n_notes + 2, sizeof *notes);
    if (!list || !notes) {
        free(notes);
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    }
    for (size_t i = 0; i < n_notes; i++) {
        notes[i].key = wg_store_note_key(store, i);
        notes[i].text = wg_store_note(store, notes[i].key);
    }
    if (moments && *moments)
        notes[n_notes++] = (wg_file_note){MOMENTS, moments};
    wg_status status = wg_safetensors_write(path, list, n, notes, n_notes, error);
    free(notes);
    return status;
}

wg_status wgi_notes_load(wg_store *store, const wg_safetensors *f, const char *path,
                         wg_error *error)
{
    wg_status status = WG_OK;
    for (size_t i = 0; i < wg_safetensors_note_count(f) && status == WG_OK; i++) {
        const wg_file_note *note = wg_safetensors_note_at(f, i);
        bool is_of_file =
            strcmp(note->key, MOMENTS) == 0 || strcmp(note->key, WG_NOTE_MADE_BY) == 0;
        if (*note->key && !is_of_file)
            status = wg_store_set_note(store, note->key, note->text);
    }
    return status == WG_OK ? WG_OK
                           : wgi_error_file(error, status, path, "no memory for its metadata");
}

/* ---- saving ---------------------------------------------------------------------------------- */

wg_status wg_store_save(const wg_store *store, const char *path, wg_error *error)
{
    wgi_error_clear(error);
    if (!store || !path)
        return wgi_error_set(error, WG_EINVAL, "the %s is NULL", store ? "path" : "store");
    size_t n;
    wg_tensor *list = list_of(store, &n);
    char *moments = moments_of(store);
    wg_status status = wgi_tensors_save(store, moments ? list : NULL, n, moments, path, error);
    free(moments);
    free(list);
    return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

bool wgi_tensor_fits(const wg_tensor *t, const wg_file_tensor *got)
{
    return got && got->dtype == t->dtype && wg_shape_equal(&got->shape, &t->shape);
}

wg_status wgi_tensor_differs(const wg_tensor *t, const wg_file_tensor *got, const char *path,
                             wg_error *error)
{
    char want[200], have[200];
    return wgi_error_line(error, WG_EDATA, "%s: tensor %s: expected %s %s, got %s%s%s", path,
                          t->name, wgi_file_dtype_of(t->dtype)->name,
                          wg_shape_text(&t->shape, want, sizeof want),
                          got ? got->dtype_name : "none", got ? " " : "",
                          got ? wg_shape_text(&got->shape, have, sizeof have) : "");
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
    for (size_t i = 0; i < n; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): NULL has no tensors */
        const wg_file_tensor *got = wg_safetensors_find(f, list[i].name);
        if (!wgi_tensor_fits(&list[i], got))
            status = wgi_tensor_differs(&list[i], got, path, error);
    }
    bool others = status != WG_OK;
    if (!others && wg_safetensors_count(f) == n) /* the same names */
        return WG_OK;
    for (size_t i = 0; i < wg_safetensors_count(f); i++)
        if (!find(list, n, wg_safetensors_at(f, i)->name))
            status = wgi_error_line(error, WG_EDATA, "%s: tensor %s: expected none", path,
                                    wg_safetensors_at(f, i)->name);
    if (!others)
        wgi_error_add(error, "\n(wg_store_load_weights ignores what a model does not need)");
    return status;
}

/* Of a file that compares well. */
static void copy(const wg_tensor *list, size_t n, const wg_safetensors *f)
{
    for (size_t i = 0; i < n; i++) {
        const wg_file_tensor *t = wg_safetensors_find(f, list[i].name);
        if (t->size)
            memcpy(list[i].data, t->data, t->size);
    }
}

wg_status wgi_tensors_compare(const wg_tensor *list, size_t n, const char *path, wg_error *error)
{
    wg_safetensors *f;
    wg_status status = wg_safetensors_open(&f, path, error);
    if (status == WG_OK)
        status = compare(list, n, f, path, error);
    wg_safetensors_close(f);
    return status;
}

wg_status wgi_tensors_load(const wg_tensor *list, size_t n, const char *path, uint64_t *digest,
                           wg_error *error)
{
    wg_safetensors *f;
    wg_status status = wg_safetensors_open(&f, path, error);
    if (status != WG_OK)
        return status;
    status = compare(list, n, f, path, error);
    if (status == WG_OK)
        copy(list, n, f);
    *digest = wgi_safetensors_digest(f);
    wg_safetensors_close(f);
    return status;
}

wg_status wgi_file_tensor_take(wg_tensor *out, const wg_file_tensor *t, const char *name,
                               const char *path, wg_error *error)
{
    *out = (wg_tensor){.name = name,
                       .dtype = t->dtype,
                       .shape = t->shape,
                       .data = (void *)(uintptr_t)t->data}; /* it is only read */
    return t->dtype != WG_DTYPE_DEFAULT
               ? WG_OK
               : wgi_error_line(error, WG_EUNSUPPORTED,
                                "%s: tensor %s: the library has no dtype %s", path, t->name,
                                t->dtype_name);
}

/* An empty store takes all. */
static wg_status take_all(wg_store *store, const wg_safetensors *f, const char *path,
                          wg_error *error)
{
    size_t n = wg_safetensors_count(f);
    wg_tensor *list = calloc(n + 1, sizeof *list);
    wg_status status = list ? WG_OK : WG_ENOMEM;
    for (size_t i = 0; list && i < n; i++) {
        const wg_file_tensor *t = wg_safetensors_at(f, i);
        wg_status one = wgi_file_tensor_take(&list[i], t, t->name, path, error);
        status = one != WG_OK ? one : status;
    }
    if (status == WG_OK)
        status = wgi_store_fill(store, list, n, path, WGI_SEAL_ALL, false);
    free(list);
    return status != WG_ENOMEM ? status
                               : wgi_error_file(error, status, path, "no memory to read it");
}

/* Numbers come last, since what is before them may fail for want of memory. */
wg_status wgi_store_take(wg_store *store, const wg_safetensors *f, const char *path,
                         wg_error *error)
{
    size_t n;
    wg_tensor *list = list_of(store, &n);
    wg_status status =
        list ? WG_OK : wgi_error_file(error, WG_ENOMEM, path, "no memory to read it");
    if (status == WG_OK)
        status = n ? compare(list, n, f, path, error) : take_all(store, f, path, error);
    if (status == WG_OK && wgi_moments_load(store, f, NULL, NULL) != WG_OK)
        status = wgi_error_file(error, WG_ENOMEM, path, "no memory for its metadata");
    if (status == WG_OK)
        status = wgi_notes_load(store, f, path, error);
    if (status == WG_OK)
        copy(list, n, f);
    free(list);
    return status;
}

wg_status wg_store_load(wg_store *store, const char *path, wg_error *error)
{
    wgi_error_clear(error);
    if (!store || !path)
        return wgi_error_file(error, WG_EINVAL, path ? path : "wg_store_load", "the %s is NULL",
                              store ? "path" : "store");
    wg_safetensors *f;
    wg_status status = wg_safetensors_open(&f, path, error);
    if (status == WG_OK)
        status = wgi_store_take(store, f, path, error);
    wg_safetensors_close(f);
    return status;
}
