/* Any bytes as a safetensors file: refused with a message that names the file, or tensors whose
 * bytes can be read, and that are the same once loaded into a store, saved and opened again.  A
 * store that has tensors keeps them unless all of them are in the file. */
#include "wengert/files/weights.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static wg_error error;

/* Each byte is read; each tensor is found under its name, in order, with the size of its shape. */
static void check_file(const wg_safetensors *f)
{
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < wg_safetensors_count(f); i++) {
        const wg_file_tensor *t = wg_safetensors_at(f, i), *next = wg_safetensors_at(f, i + 1);
        NEED(wg_safetensors_find(f, t->name) == t && t->dtype_name);
        NEED(!next || strcmp(t->name, next->name) < 0);
        NEED(t->dtype == WG_DTYPE_DEFAULT ||
             (uint64_t)wg_shape_count(&t->shape) * wg_dtype_size(t->dtype) == t->size);
        for (size_t k = 0; k < t->size; k++)
            sum = (uint8_t)(sum + ((const uint8_t *)t->data)[k]);
    }
    for (size_t i = 0; i < wg_safetensors_note_count(f); i++) {
        const wg_file_note *n = wg_safetensors_note_at(f, i);
        NEED(wg_safetensors_note(f, n->key) == n->text);
    }
    NEED(!wg_safetensors_at(f, wg_safetensors_count(f)));
    NEED(!wg_safetensors_note_at(f, wg_safetensors_note_count(f)));
}

static void check_tensors(const wg_safetensors *f, const wg_store *s)
{
    for (size_t i = 0; i < wg_store_count(s); i++) {
        const wg_tensor *x = wg_store_at(s, i);
        const wg_file_tensor *t = wg_safetensors_find(f, x->name);
        NEED(t && t->dtype == x->dtype && wg_shape_equal(&t->shape, &x->shape));
        NEED(!t->size || memcmp(t->data, x->data, t->size) == 0);
    }
}

/* Into an empty store, to a file, and from there. */
static void there_and_back(const wg_safetensors *f, const char *path)
{
    char saved[64], again[64];
    wg_store *s = wg_store_new(1), *t = wg_store_new(1);
    if (wg_store_load(s, path, &error) == WG_OK) {
        check_tensors(f, s);
        fuzz_path(saved, "saved.safetensors");
        fuzz_path(again, "again.safetensors");
        NEED_OK(wg_store_save(s, saved, &error) == WG_OK, error.text);
        NEED_OK(wg_store_load(t, saved, &error) == WG_OK, error.text);
        NEED(wg_store_count(t) == wg_store_count(s));
        NEED(wg_store_note_count(t) == wg_store_note_count(s));
        check_tensors(f, t);
        NEED_OK(wg_store_save(t, again, &error) == WG_OK, error.text);
        NEED(fuzz_same(saved, again));
    } else {
        NEED(error.text[0] && !wg_store_count(s));
    }
    wg_store_free(s);
    wg_store_free(t);
}

/* Into a store with tensors that the file may have, or in another shape, or not at all. */
static void into_a_store(const wg_safetensors *f, const char *path, bool allow_missing)
{
    static const float before[] = {1, 2, 3, 4, 5, 6};
    const wg_shape matrix = {2, {2, 3}}, vector = {1, {3}};
    const wg_weights_options options = {.allow_missing = allow_missing};
    const wg_tensor *w, *b;
    wg_load_report report;
    wg_store *s = wg_store_new(1);
    NEED(wg_store_add(s, "w", WG_F32, &matrix, &w) == WG_OK);
    NEED(wg_store_add(s, "b", WG_F32, &vector, &b) == WG_OK);
    memcpy(w->data, before, sizeof before);
    memcpy(b->data, before, 3 * sizeof *before);
    if (wg_store_load(s, path, &error) != WG_OK)
        NEED(error.text[0] && memcmp(w->data, before, sizeof before) == 0 &&
             memcmp(b->data, before, 3 * sizeof *before) == 0);
    else
        check_tensors(f, s);
    wg_status status = wg_store_load_weights(s, path, &options, &report, &error);
    NEED(status == WG_OK || error.text[0]);
    NEED(status != WG_OK || report.loaded + report.missing <= wg_store_count(s));
    wg_store_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    wg_safetensors *f;
    fuzz_file(path, "x.safetensors", data, size);
    wg_status status = wg_safetensors_open(&f, path, &error);
    fuzz_accepted(status == WG_OK);
    if (status != WG_OK) {
        NEED(!f && strncmp(error.text, path, strlen(path)) == 0);
        return 0;
    }
    check_file(f);
    there_and_back(f, path);
    into_a_store(f, path, size % 2);
    wg_safetensors_close(f);
    return 0;
}
