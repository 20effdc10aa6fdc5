/* The model of torch in FILES, with changes, and what an import says of it.
 *
 * The includer defines FOLDERS: tests/translate/foreign.h. */
#ifndef WG_TESTS_TRANSLATE_MISFITS_H
#define WG_TESTS_TRANSLATE_MISFITS_H

#include "tests/translate/foreign.h"

#include <sys/stat.h>

/* The tensors of the model of torch in FILES, changed by `change` and with other names. */
typedef void changer(wg_tensor *list, size_t *n);

static inline void write_changed(changer *change, const char *config)
{
    char source[400], *path;
    snprintf(source, sizeof source, "%s/torch", FOREIGN);
    wg_error error;
    wg_safetensors *f = weights_of(source);
    size_t n = wg_safetensors_count(f), kept = n;
    wg_tensor *list = calloc(n + 1, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        const wg_file_tensor *t = wg_safetensors_at(f, i);
        list[i] = (wg_tensor){strdup(t->name), t->dtype, t->shape, malloc(t->size + 8)};
        memcpy(list[i].data, t->data, t->size);
    }
    if (change)
        change(list, &kept);
    remove_folder(FILES);
    assert_int_equal(wg_folder_make(FILES, &error), WG_OK);
    path = wg_folder_path(FILES, WG_FILE_MODEL);
    check_that(wg_safetensors_write(path, list, kept, NULL, 0, &error) == WG_OK, "%s", error.text);
    free(path);
    for (size_t i = 0; i < n; i++) {
        free((char *)(uintptr_t)list[i].name);
        free(list[i].data);
    }
    free(list);
    wg_safetensors_close(f);
    path = wg_folder_path(FILES, "config.json");
    FILE *out = fopen(path, "w");
    fputs(config ? config : "{\"nhead\": 2}", out);
    fclose(out);
    free(path);
    for (int side = 0; side < 2; side++) {
        size_t size;
        const char *name = side ? "vocab.target.txt" : "vocab.source.txt";
        char *text = contents(source, name, &size);
        path = wg_folder_path(FILES, "%s", name);
        out = fopen(path, "w");
        fwrite(text, 1, size, out);
        fclose(out);
        free(path);
        free(text);
    }
}

static inline size_t place_of(const wg_tensor *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return i;
    fail();
    return 0;
}

static inline void rename_tensor(wg_tensor *t, const char *name)
{
    free((char *)(uintptr_t)t->name);
    t->name = strdup(name);
}

static inline void write_text(const char *name, const char *bytes, size_t size)
{
    char *path = wg_folder_path(FILES, "%s", name);
    FILE *f = fopen(path, "wb");
    check_that(f && fwrite(bytes, 1, size, f) == size, "%s", path);
    fclose(f);
    free(path);
}

/* Importing FILES fails with that status and a message that has the text; nothing is written. */
static inline void refused(wg_status status, const char *text)
{
    wg_error error;
    struct stat s;
    assert_int_equal(import_from("torch", FILES, "", NULL, NULL, &error), status);
    check_that(strstr(error.text, text) != NULL, "no '%s' in %s", text, error.text);
    assert_true(stat(MADE, &s) != 0);
}

#endif
