/* Small trainings in tests: settings by name, runs in folders below the current one, files
 * compared. */
#ifndef WG_TESTS_TRAINING_H
#define WG_TESTS_TRAINING_H

#include "tests/test.h"
#include "wengert/translate/folder.h"
#include "wengert/files/safetensors.h"
#include "wengert/text/numbers.h"
#include "wengert/translate/trainer.h"

#include <dirent.h>
#include <math.h>
#include <unistd.h>

static inline void set(wg_settings *s, const char *name, const char *value)
{
    wg_error error;
    check_that(wg_settings_set(s, name, value, &error) == WG_OK, "%s", error.text);
}

/* Each "NAME VALUE" of a list with semicolons. */
static inline void set_all(wg_settings *s, const char *list)
{
    char name[40], value[80];
    for (const char *at = list; *at; at += strcspn(at, ";"), at += strspn(at, "; ")) {
        assert_int_equal(sscanf(at, "%39[^ ;] %79[^;]", name, value), 2);
        set(s, name, value);
    }
}

/* A tiny model of the built-in corpus, with all that a resumed training must restore: dropout, two
 * batches an update, an average; then `more`. */
static inline wg_settings small_training(const char *folder, const char *more)
{
    static const char usual[] =
        "numbers 150; vocab-kind chars; d-model 16; d-ff 32; heads 2; encoder-layers 1; "
        "decoder-layers 1; dropout 0.1; mini-batch-words 512; length-multiple 32; optimizer-delay "
        "2; "
        "exponential-smoothing 0.1; clip-norm 1; lr-warmup 4; learn-rate 0.01; lr-schedule "
        "inverse-sqrt; "
        "threads 2; disp-freq 0; valid-freq 0; save-freq 0; after 12u";
    wg_settings s;
    assert_int_equal(wg_settings_init(&s), WG_OK);
    set(&s, "model", folder);
    set_all(&s, usual);
    set_all(&s, more);
    return s;
}

static inline void remove_folder(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        char *path = wg_folder_path(folder, "%s", e->d_name);
        if (unlink(path) != 0)
            remove_folder(path);
        free(path);
    }
    if (d)
        closedir(d);
    rmdir(folder);
}

/* The whole file, the caller's to free. */
static inline char *contents(const char *folder, const char *name, size_t *size)
{
    char *path = wg_folder_path(folder, "%s", name), *bytes = NULL;
    FILE *f = fopen(path, "rb");
    check_that(f != NULL, "%s cannot be opened", path);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *size = (size_t)ftell(f);
    rewind(f);
    bytes = malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    bytes[*size] = '\0';
    fclose(f);
    free(path);
    return bytes;
}

static inline void same_file(const char *a, const char *b, const char *name)
{
    size_t na, nb;
    char *ta = contents(a, name, &na), *tb = contents(b, name, &nb);
    assert_true(na > 100); /* something was compared */
    check_that(na == nb && memcmp(ta, tb, na) == 0, "%s of %s and %s differ", name, a, b);
    free(ta);
    free(tb);
}

/* How many numbers of a file of f32 there are; all must be finite. */
static inline size_t finite_numbers(const char *folder, const char *name)
{
    size_t count = 0;
    wg_safetensors *f;
    wg_error error;
    char *path = wg_folder_path(folder, "%s", name);
    check_that(wg_safetensors_open(&f, path, &error) == WG_OK, "%s", error.text);
    for (size_t i = 0; i < wg_safetensors_count(f); i++) {
        const wg_file_tensor *t = wg_safetensors_at(f, i);
        for (size_t k = 0; t->dtype == WG_F32 && k < t->size / sizeof(float); k++, count++) {
            float x;
            memcpy(&x, (const char *)t->data + k * sizeof x, sizeof x);
            check_that(isfinite(x), "%s: %s has %g", path, t->name, (double)x);
        }
    }
    wg_safetensors_close(f);
    free(path);
    return count;
}

/* The numbers below 32 as files FOLDER.en and FOLDER.de for training and validation. */
static inline void write_numbers(wg_settings *s)
{
    static const char *const sets[] = {"train-sets", "valid-sets"};
    char path[2][100], text[WG_NUMBER_TEXT];
    snprintf(path[0], sizeof path[0], "%s.en", s->model);
    snprintf(path[1], sizeof path[1], "%s.de", s->model);
    FILE *f[] = {fopen(path[0], "w"), fopen(path[1], "w")};
    wg_error error;
    for (int32_t i = 0; i < 32; i++) {
        wg_number_english(i, text);
        fprintf(f[0], "%s\n", text);
        wg_number_german(i, text);
        fprintf(f[1], "%s\n", text);
    }
    for (int i = 0; i < 2; i++) {
        fclose(f[i]);
        check_that(wg_settings_assign(s, wg_option_find(sets[i]),
                                      (const char *const[]){path[0], path[1]}, 2, &error) == WG_OK,
                   "%s", error.text);
    }
}

static inline void remove_numbers(const wg_settings *s)
{
    unlink(s->train_sets[0]);
    unlink(s->train_sets[1]);
}

/* Parameters, averages, moments and steps to the last bit. */
static inline void same_training(const char *a, const char *b)
{
    same_file(a, b, WG_FILE_MODEL);
    same_file(a, b, WG_FILE_AVERAGE);
    same_file(a, b, WG_FILE_OPTIMIZER);
}

/* Creates a trainer, which must succeed. */
static inline wg_trainer *trainer_of(const wg_settings *s, const wg_listener *listener)
{
    wg_trainer *t;
    wg_error error;
    check_that(wg_translation_trainer(&t, s, listener, &error) == WG_OK, "%s", error.text);
    return t;
}

static inline void train(const wg_settings *s, const wg_listener *listener,
                         const volatile int *stop)
{
    wg_trainer *t = trainer_of(s, listener);
    check_that(wg_trainer_run(t, stop) == WG_OK, "%s", wg_trainer_message(t));
    wg_trainer_free(t);
}

#endif
