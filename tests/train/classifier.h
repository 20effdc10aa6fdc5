/* A small classifier with its data, and trainers of it, for the tests of wg_trainer.  They are
 * linked with -Wl,--wrap=fsync; make_data and remove_folder are setup and teardown of their
 * groups. */
#ifndef WG_TESTS_TRAIN_CLASSIFIER_H
#define WG_TESTS_TRAIN_CLASSIFIER_H

#include "tests/folder.h"
#include "tests/train/classifier_model.h"
#include "tests/unsynced.h"
#include "train/owner.h"
#include "train/trainer.h"
#include "wengert/files/safetensors.h"

#include <math.h>

enum { COUNT = 50, IN = 6 };

static float xs[COUNT * IN];
static int32_t labels[COUNT];
static const wg_field fields[] = {{"x", WG_F32, {1, {IN}}, xs}, {"label", WG_I32, {0}, labels}};
static const wg_examples examples = {fields, 2, COUNT, .batch = 8};

static inline int make_data(void **state)
{
    uint32_t s = 7;
    for (int i = 0; i < COUNT * IN; i++) {
        s = s * 1664525 + 1013904223;
        xs[i] = (float)(s >> 8) / (1 << 23) - 1;
    }
    for (int i = 0; i < COUNT; i++)
        labels[i] = xs[i * IN] > 0 ? 0 : xs[i * IN + 1] > 0 ? 1 : 2;
    return make_folder(state);
}

static inline wg_trainer_options usual(void)
{
    return (wg_trainer_options){.model = classifier,
                                .train = &examples,
                                .schedule = {WG_SCHEDULE_CONSTANT, .rate = 0.01},
                                .after = {12, 'u'},
                                .seed = 3,
                                .threads = 1};
}

static inline wg_trainer *trainer_of(const wg_trainer_options *o)
{
    wg_trainer *t;
    wg_error error;
    check_that(wg_trainer_create(&t, o, &error) == WG_OK, "%s", error.text);
    return t;
}

static inline void run(wg_trainer *t, const volatile int *stop)
{
    check_that(wg_trainer_run(t, stop) == WG_OK, "%s", wg_trainer_message(t));
}

static inline void refused(const wg_trainer_options *o, wg_status expected, const char *words)
{
    wg_trainer *t;
    wg_error error = {.text = ""};
    wg_status status = wg_trainer_create(&t, o, &error);
    check_that(status == expected && strstr(error.text, words), "status %d: \"%s\" for \"%s\"",
               status, error.text, words);
    assert_null(t);
}

/* The store's tensors are equal; those of one may be fewer.  How many numbers were compared. */
static inline int64_t same_store(const wg_store *a, const wg_store *b, bool bits)
{
    int64_t compared = 0;
    const wg_tensor *t;
    for (size_t i = 0; (t = wg_store_at(a, i)); i++) {
        const wg_tensor *u = wg_store_find(b, t->name);
        int64_t n = wg_shape_count(&t->shape);
        if (wgi_owner_of(t->name) == WGI_OWNER_GRADIENT || t->dtype == WG_I64)
            continue;
        check_that(u != NULL, "%s is missing", t->name);
        if (bits)
            check_that(memcmp(t->data, u->data, (size_t)n * wg_dtype_size(t->dtype)) == 0,
                       "%s differs", t->name);
        for (int64_t k = 0; k < n && !bits; k++) {
            double x = ((const double *)t->data)[k], y = ((const double *)u->data)[k];
            check_that(fabs(x - y) <= 1e-12 * fmax(1, fabs(x)), "%s[%d]: %.17g and %.17g", t->name,
                       (int)k, x, y);
        }
        compared += n;
    }
    return compared;
}

static inline const float *tensor(const wg_trainer *t, const char *name)
{
    const wg_tensor *x = wg_store_find(wg_trainer_store(t), name);
    check_that(x != NULL, "no tensor %s", name);
    return x->data;
}

/* Removes what is in the folder of that name, below the test's own. */
static inline void clear(const char *name)
{
    char command[500];
    snprintf(command, sizeof command, "rm -rf '%s'", path_of(name));
    assert_int_equal(system(command), 0);
}

static inline void same_file(const char *a, const char *b, const char *name)
{
    char pa[700], pb[700];
    size_t na, nb;
    snprintf(pa, sizeof pa, "%s/%s", path_of(a), name);
    snprintf(pb, sizeof pb, "%s/%s", path_of(b), name);
    char *ta = read_bytes(pa, &na), *tb = read_bytes(pb, &nb);
    assert_true(na > 100);
    check_that(na == nb && memcmp(ta, tb, na) == 0, "%s differs", name);
    free(ta);
    free(tb);
}

#endif
