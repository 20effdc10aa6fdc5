/* Single bits of the files of a model's folder, flipped one after the other: what reads the file
 * refuses it and names it, or reads exactly what it read before.
 *
 *     test_flips          a sample of the bits of each file
 *     test_flips all      each bit of each file (minutes)
 *
 * metrics.jsonl is a log: neither training nor translating reads it. */
#include "tests/training.h"
#include "train/progress.h"
#include "translate/trainer.h"
#include "wengert/files/weights.h"
#include "wengert/translate/translator.h"

#include <fcntl.h>
#include <sys/stat.h>

static const char FOLDER[] = "flips_folder";
enum { SAMPLE = 61 /* a bit of so many */, UPDATES = 3 };
static size_t stride = SAMPLE;

static wg_error error;
static struct {
    wg_settings settings;
    wg_trainer *trainer;  /* whose store checkpoints are loaded into */
    wg_store *store;      /* the same as it was */
    wg_progress progress; /* the same */
    uint64_t vocabulary;  /* hash */
} before;

/* ---- the same as before ---------------------------------------------------------------------- */

static bool same_tensors(const wg_store *a, const wg_store *b)
{
    const wg_tensor *t;
    for (size_t i = 0; (t = wg_store_at(b, i)); i++) {
        const wg_tensor *u = wg_store_find(a, t->name);
        size_t size = (size_t)wg_shape_count(&t->shape) * wg_dtype_size(t->dtype);
        if (!u || u->dtype != t->dtype || !wg_shape_equal(&u->shape, &t->shape) ||
            memcmp(u->data, t->data, size) != 0)
            return false;
    }
    return wg_store_count(a) == wg_store_count(b);
}

static bool same_settings(const wg_settings *s)
{
    const wg_option *o;
    for (size_t i = 0; (o = wg_option_at(i)); i++)
        if (!wg_settings_equal(s, &before.settings, o))
            return false;
    return true;
}

/* Each reads a file of that path; WG_OK only with *same set. */
typedef wg_status reading(const char *path, bool *same);

static wg_status read_settings(const char *path, bool *same)
{
    (void)path;
    wg_settings s;
    wg_status status = wg_folder_settings(&s, FOLDER, &error);
    *same = status == WG_OK && same_settings(&s);
    wg_settings_free(&s);
    return status;
}

static wg_status read_vocabulary(const char *path, bool *same)
{
    (void)path;
    wg_translator *t;
    wg_status status = wg_translator_open(&t, FOLDER, NULL, &error);
    *same =
        status == WG_OK && wg_vocabulary_hash(wg_translator_vocabulary(t, 0)) == before.vocabulary;
    wg_translator_free(t);
    return status;
}

/* As translate, score, evaluate and average do. */
static wg_status read_weights(const char *path, bool *same)
{
    static wg_store *first; /* what the undamaged file has */
    static char of[200];
    wg_store *s = wg_store_new(1);
    wg_status status = wg_store_load(s, path, &error);
    if (strcmp(of, path) != 0) {
        assert_int_equal(status, WG_OK);
        wg_store_free(first);
        first = s;
        snprintf(of, sizeof of, "%s", path);
        *same = true;
        return status;
    }
    *same = status == WG_OK && same_tensors(s, first);
    wg_store_free(s);
    return status;
}

static wg_status read_progress(const char *path, bool *same)
{
    wg_progress p;
    wg_status status = wgi_progress_read(&p, &before.trainer->task.files, path, &error);
    *same = status == WG_OK && memcmp(&p, &before.progress, sizeof p) == 0;
    return status;
}

/* As a training that is resumed does. */
static wg_status read_checkpoint(const char *path, bool *same)
{
    (void)path;
    wg_progress p;
    wg_store *store = before.trainer->store;
    wg_status status = wg_checkpoint_load(FOLDER, store, &p, &before.trainer->task.files, &error);
    *same = status == WG_OK && !*error.warning && same_tensors(store, before.store) &&
            memcmp(&p, &before.progress, sizeof p) == 0;
    return status;
}

/* ---- flips ----------------------------------------------------------------------------------- */

typedef struct counts {
    size_t refused, same;
} counts;

/* Flips that bit of the open file; true if that is a change that nothing depends on. */
static void flip(int fd, const char *path, size_t bit, reading *read, const char *named, counts *c)
{
    char byte, flipped;
    off_t at = (off_t)(bit / 8);
    bool same = false;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    flipped = (char)(byte ^ 1 << bit % 8);
    assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
    error.text[0] = '\0';
    wg_status status = read(path, &same);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    if (status == WG_OK)
        check_that(same, "%s: bit %zu (byte '%c' as '%c') was not noticed", path, bit, byte,
                   flipped);
    else
        check_that(strstr(error.text, named) != NULL, "%s: bit %zu: \"%s\" does not name it", path,
                   bit, error.text);
    c->refused += status != WG_OK;
    c->same += status == WG_OK;
}

/* The bits of one file, beginning with another one in each. */
static counts flip_all(const char *name, reading *read, const char *named)
{
    struct stat s;
    counts c = {0, 0};
    bool same;
    char *path = wg_folder_path(FOLDER, "%s", name);
    int fd = open(path, O_RDWR);
    check_that(fd >= 0 && fstat(fd, &s) == 0, "%s cannot be opened", path);
    check_that(read(path, &same) == WG_OK && same, "%s: %s", path, error.text);
    size_t bits = 8 * (size_t)s.st_size;
    for (size_t bit = bits % stride; bit < bits; bit += stride)
        flip(fd, path, bit, read, named, &c);
    check_that(read(path, &same) == WG_OK && same, "%s: %s", path, error.text);
    close(fd);
    free(path);
    print_message("%-46s %8zu flips, %8zu refused, %6zu without effect\n", name, c.refused + c.same,
                  c.refused, c.same);
    return c;
}

static void no_flipped_bit_goes_unnoticed(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        reading *read;
        const char *named; /* in the message */
    } files[] = {
        {WG_FILE_CONFIG, read_settings, WG_FILE_CONFIG},
        {"vocab.txt", read_vocabulary, "vocab"},
        {WG_FILE_MODEL, read_weights, WG_FILE_MODEL},
        {WG_FILE_AVERAGE, read_weights, WG_FILE_AVERAGE},
        {WG_FILE_OPTIMIZER, read_weights, WG_FILE_OPTIMIZER},
        {"best-cross-entropy.safetensors", read_weights, "best-cross-entropy.safetensors"},
        {WG_FILE_PROGRESS, read_progress, WG_FILE_PROGRESS},
        {"checkpoints/stopped-00000003.safetensors", read_checkpoint, "stopped-00000003"},
        {"checkpoints/average-00000003.safetensors", read_checkpoint, "average-00000003"},
        {"checkpoints/optimizer-00000003.safetensors", read_checkpoint, "optimizer-00000003"},
        {"checkpoints/progress-00000003.json", read_checkpoint, "progress-00000003"},
    };
    counts all = {0, 0};
    for (size_t i = 0; i < WG_COUNT(files); i++) {
        counts c = flip_all(files[i].name, files[i].read, files[i].named);
        assert_true(c.refused > 10);
        all.refused += c.refused;
        all.same += c.same;
    }
    print_message("%zu flips: %zu refused, %zu without effect, 0 unnoticed\n",
                  all.refused + all.same, all.refused, all.same);
    /* only the marks of checksums and what JSON and YAML do not distinguish are without effect */
    assert_true(all.refused > 2000 && 50 * all.same < all.refused);
}

static wg_store *copy_of(const wg_store *s)
{
    const wg_tensor *t, *u;
    wg_store *copy = wg_store_new(1);
    for (size_t i = 0; (t = wg_store_at(s, i)); i++) {
        assert_int_equal(wg_store_add(copy, t->name, t->dtype, &t->shape, &u), WG_OK);
        memcpy(u->data, t->data, (size_t)wg_shape_count(&t->shape) * wg_dtype_size(t->dtype));
    }
    return copy;
}

static int make_model(void **state)
{
    (void)state;
    static const char tiny[] =
        "numbers 60; d-model 4; d-ff 4; heads 1; valid-freq 3u; vocab-kind chars; after 3u";
    remove_folder(FOLDER);
    before.settings = small_training(FOLDER, tiny);
    train(&before.settings, NULL, NULL);
    wg_settings_free(&before.settings);
    check_that(wg_folder_settings(&before.settings, FOLDER, &error) == WG_OK, "%s", error.text);
    before.trainer = trainer_of(&before.settings, NULL);
    before.store = copy_of(before.trainer->store);
    before.progress = before.trainer->progress;
    before.vocabulary =
        wg_vocabulary_hash(wgi_translation_of(before.trainer)->data.vocabularies.side[0]);
    return before.progress.update == UPDATES ? 0 : -1;
}

static int drop_model(void **state)
{
    (void)state;
    wg_store_free(before.store);
    wg_trainer_free(before.trainer);
    wg_settings_free(&before.settings);
    remove_folder(FOLDER);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_flipped_bit_goes_unnoticed)};
    stride = argc > 1 && strcmp(argv[1], "all") == 0 ? 1 : SAMPLE;
    return cmocka_run_group_tests(tests, make_model, drop_model);
}
