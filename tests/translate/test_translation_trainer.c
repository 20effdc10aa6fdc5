/* Trainings: stopped at any update they go on as if they had not; gradients of several batches add
 * up; numbers that are none stop a training before they do harm.
 *
 *     test_translation_trainer          a training of 12 updates, stopped at any one of them, and
 *                                       one of 50, stopped at every one
 *     test_translation_trainer all      a training of 50 updates, stopped at any one of them */
#include "tests/stopper.h"
#include "tests/training.h"
#include "tests/unsynced.h"
#include "train/owner.h"
#include "translate/step.h"
#include "translate/trainer.h"

#include <math.h>

/* ---- stop and resume ------------------------------------------------------------------------- */

/* Of the training that is stopped at any update. */
static const char *length = SANITIZED ? "after 6u" : "after 9u";

static void a_training_stopped_at_any_update_goes_on_as_if_it_had_not(void **state)
{
    (void)state;
    static const char often[] = "save-freq 5u; valid-freq 4u";
    wg_settings whole = small_training("training_whole", often),
                cut = small_training("training_cut", often);
    set_all(&whole, length);
    set_all(&cut, length);
    remove_folder(whole.model);
    train(&whole, NULL, NULL);
    for (int64_t k = 1; k < whole.after.n; k++) {
        stopper s = {k, 0};
        remove_folder(cut.model);
        train(&cut, &(wg_listener){stop_at, &s}, &s.stop);
        assert_int_equal(s.stop, 1);
        train(&cut, NULL, NULL);
        same_training(whole.model, cut.model);
        for (int64_t n = 1; n <= whole.after.n; n++) { /* what is averaged is the same as well */
            char name[60];
            snprintf(name, sizeof name, "checkpoints/model-%08d.safetensors", (int)n);
            bool has;
            assert_int_equal(wg_folder_has(cut.model, name, &has, NULL), WG_OK);
            assert_int_equal(has, n % 5 == 0);
            if (n % 5 == 0)
                same_file(whole.model, cut.model, name);
        }
    }
    remove_folder(whole.model);
    remove_folder(cut.model);
    wg_settings_free(&whole);
    wg_settings_free(&cut);
}

/* The parameters after each update. */
static void same_checkpoints(const char *a, const char *b, int64_t updates)
{
    for (int64_t n = 1; n <= updates; n++) {
        char name[80];
        snprintf(name, sizeof name, "checkpoints/model-%08d.safetensors", (int)n);
        same_file(a, b, name);
    }
}

/* Each update is one of a trainer of its own, which resumes where the last one stopped. */
static void a_training_stopped_at_every_update_has_the_same_bits_after_each(void **state)
{
    (void)state;
    static const char *const every = SANITIZED ? "save-freq 1u; keep 50; valid-freq 7u; after 10u"
                                               : "save-freq 1u; keep 50; valid-freq 7u; after 50u";
    wg_settings whole = small_training("training_whole", every),
                cut = small_training("training_cut", every);
    remove_folder(whole.model);
    remove_folder(cut.model);
    train(&whole, NULL, NULL);
    for (int64_t k = 1; k <= whole.after.n; k++) {
        stopper s = {k, 0};
        wg_trainer *t = trainer_of(&cut, &(wg_listener){stop_at, &s});
        assert_int_equal(wg_trainer_updates(t), k - 1);
        check_that(wg_trainer_run(t, &s.stop) == WG_OK, "%s", wg_trainer_message(t));
        assert_int_equal(wg_trainer_updates(t), k);
        wg_trainer_free(t);
    }
    same_checkpoints(whole.model, cut.model, whole.after.n);
    same_training(whole.model, cut.model);
    remove_folder(whole.model);
    remove_folder(cut.model);
    wg_settings_free(&whole);
    wg_settings_free(&cut);
}

/* ---- updates of several batches -------------------------------------------------------------- */

enum { ROWS = 8, LENGTH = 6, VOCABULARY = 30 };

/* Rows of random ids, of random lengths; -1 where there is no target. */
typedef struct rows {
    int32_t source[ROWS * LENGTH], lengths[ROWS], in[ROWS * LENGTH], out[ROWS * LENGTH];
} rows;

static rows random_rows(void)
{
    rows r;
    uint32_t state = 5;
    for (int b = 0; b < ROWS; b++) {
        state = state * 1664525 + 1013904223;
        r.lengths[b] = 1 + (int32_t)((state >> 16) % LENGTH);
        int targets = LENGTH - r.lengths[b] + 1;
        for (int i = b * LENGTH, t = 0; t < LENGTH; i++, t++) {
            state = state * 1664525 + 1013904223;
            r.source[i] = t < r.lengths[b] ? 4 + (int32_t)(state >> 20) % 20 : 0;
            r.in[i] = 4 + (int32_t)(state >> 12) % 20;
            r.out[i] = t < targets ? 4 + (int32_t)(state >> 8) % 20 : WG_NO_TARGET;
        }
    }
    return r;
}

/* The rows in `parts` batches: a source of one epoch. */
typedef struct divided {
    rows rows;
    int n;
} divided;

static wg_status describe(void *context, int64_t epoch, int64_t i, wg_shape *shapes,
                          wg_batch_size *size, wg_error *error)
{
    const divided *p = context;
    int n = ROWS / p->n;
    (void)epoch;
    (void)error;
    wgi_translation_shapes(shapes, n, LENGTH, LENGTH);
    for (int64_t k = i * n * LENGTH; k < (i + 1) * n * LENGTH; k++)
        size->weight += p->rows.out[k] != WG_NO_TARGET;
    return WG_OK;
}

static wg_status fill_part(void *context, int64_t epoch, int64_t i, void *const *to,
                           wg_error *error)
{
    const divided *p = context;
    const rows *r = &p->rows;
    size_t n = (size_t)(ROWS / p->n), first = (size_t)i * n, row = LENGTH * sizeof(int32_t);
    (void)epoch;
    (void)error;
    memcpy(to[WGI_SOURCE], r->source + first * LENGTH, n * row);
    memcpy(to[WGI_SOURCE_LENGTHS], r->lengths + first, n * sizeof(int32_t));
    memcpy(to[WGI_TARGET_IN], r->in + first * LENGTH, n * row);
    memcpy(to[WGI_TARGET_OUT], r->out + first * LENGTH, n * row);
    return WG_OK;
}

static double tokens_of(const rows *r)
{
    int n = 0;
    for (int i = 0; i < ROWS * LENGTH; i++)
        n += r->out[i] != WG_NO_TARGET;
    return n;
}

/* Two updates, each of the rows in `n` batches: the store after that, and cost and norm of the last
 * update. */
static wg_store *updated(const wg_settings *s, int n, double *cost, double *norm)
{
    divided all = {random_rows(), n};
    double tokens = tokens_of(&all.rows);
    const wg_source source = {
        wgi_translation_fields, WGI_TRANSLATION_FIELDS, n, describe, fill_part, &all, 0, NULL};
    wg_trainer_options options = wgi_translation_options(s);
    options.seed = s->seed;
    wg_store *store = wg_store_new(3);
    wgi_plans plans;
    assert_int_equal(wgi_plans_init(&plans, &options, source.fields, source.n_fields, store),
                     WG_OK);
    for (int update = 1; update <= 2; update++) {
        *cost = 0;
        for (int k = 0; k < n; k++) {
            int kind = wgi_step_kind(k, n);
            const wgi_step_batch b = {
                .source = &source, .i = k, .kind = kind, .total = tokens, .rate = 0.1};
            wg_error error;
            wg_batch_size size;
            wgi_step_plan *p;
            check_that(wgi_plans_fill(&plans, &b, &p, &size, &error) == WG_OK, "%s", error.text);
            check_that(wg_plan_run(p->plan, (uint64_t)update) == WG_OK, "%s",
                       wg_plan_message(p->plan));
            *cost += wgi_place_get(&p->loss);
            if (kind & WGI_STEP_UPDATES)
                *norm = wgi_place_get(&p->norm);
        }
    }
    wgi_plans_free(&plans);
    return store;
}

/* The largest difference between tensors of the same name; gradients left from batch to batch are
 * not compared. */
static double distance(const wg_store *a, const wg_store *b)
{
    double worst = 0;
    size_t compared = 0;
    const wg_tensor *t;
    for (size_t i = 0; (t = wg_store_at(a, i)); i++) {
        const wg_tensor *u = wg_store_find(b, t->name);
        if (wgi_owner_of(t->name) == WGI_OWNER_GRADIENT || t->dtype != WG_F64)
            continue;
        assert_non_null(u);
        for (int64_t k = 0; k < wg_shape_count(&t->shape); k++, compared++) {
            double d = fabs(((const double *)t->data)[k] - ((const double *)u->data)[k]);
            worst = d <= worst ? worst : d;
        }
    }
    assert_true(compared > 1000);
    return worst;
}

static void gradients_of_several_batches_add_up_to_that_of_one(void **state)
{
    (void)state;
    static const char exact[] = "dtype f64; dropout 0; adam-eps 1e-3; clip-norm 0.5";
    wg_settings s = small_training("unused", exact);
    s.net.source_vocabulary = s.net.target_vocabulary = VOCABULARY;
    double cost, norm;
    wg_store *whole = updated(&s, 1, &cost, &norm);
    assert_true(cost > 1 && norm > 0.5); /* it is clipped */
    for (int parts = 2; parts <= 4; parts *= 2) {
        double other_cost, other_norm, d;
        wg_store *split = updated(&s, parts, &other_cost, &other_norm);
        check_that(fabs(cost - other_cost) <= 1e-13, "%d parts: cost %.17g, %.17g", parts, cost,
                   other_cost);
        check_that(fabs(norm - other_norm) <= 1e-13, "%d parts: norm %.17g, %.17g", parts, norm,
                   other_norm);
        d = distance(whole, split);
        check_that(d <= 1e-12, "%d parts: a tensor differs by %g", parts, d);
        wg_store_free(split);
    }
    wg_store_free(whole);
    wg_settings_free(&s);
}

/* ---- numbers that are none ------------------------------------------------------------------- */

static void a_cost_that_is_not_finite_stops_the_training(void **state)
{
    (void)state;
    static const char violent[] =
        "optimizer sgd; learn-rate 1e18; lr-warmup 0; clip-norm 0; save-freq 1u";
    wg_settings s = small_training("training_violent", violent);
    remove_folder(s.model);
    size_t size;
    char *before = NULL;
    for (int i = 0; i < 2; i++) { /* it fails again when it goes on from its last checkpoint */
        wg_trainer *t = trainer_of(&s, NULL);
        assert_int_equal(wg_trainer_run(t, NULL), WG_ENONFINITE);
        const char *text = wg_trainer_message(t);
        check_that(strncmp(text, "update ", 7) == 0 && strstr(text, "is not finite") &&
                       strstr(text, "first in batch "),
                   "%s", text);
        wg_trainer_free(t);
        char *after = contents(s.model, WG_FILE_PROGRESS, &size);
        if (before)
            assert_string_equal(before, after);
        free(before);
        before = after;
    }
    free(before);
    assert_true(finite_numbers(s.model, WG_FILE_MODEL) > 1000);
    remove_folder(s.model);
    wg_settings_free(&s);
}

/* ---- another training in the same folder ----------------------------------------------------- */

/* What cannot change without making it another training is refused by name; what can, can. */
static void a_resumed_run_refuses_changed_settings(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *message;
    } changes[] = {
        {"d-model", "32", "d-model: expected 16, as at the start of this run, got 32"},
        {"dropout", "0.2", "dropout: expected 0.1, as at the start of this run, got 0.2"},
        {"optimizer-delay", "3", "optimizer-delay: expected 2, as at the start of this run, got 3"},
        {"seed", "2", "seed: expected 1, as at the start of this run, got 2"},
        {"numbers", "151", "train-sets: expected those that this run started with, got others"},
        {"disp-freq", "1u", NULL},
    };
    static const char brief[] = "after 2u";
    wg_settings s = small_training("training_changed", brief);
    remove_folder(s.model);
    train(&s, NULL, NULL);
    for (size_t i = 0; i < WG_COUNT(changes); i++) {
        wg_settings other = small_training(s.model, brief);
        wg_error error = {.text = ""};
        wg_trainer *t;
        set(&other, changes[i].name, changes[i].value);
        wg_status status = wg_translation_trainer(&t, &other, NULL, &error);
        if (changes[i].message) {
            assert_int_equal(status, WG_EINVAL);
            assert_null(t);
            check_that(strstr(error.text, changes[i].message) != NULL, "%s", error.text);
        } else {
            check_that(status == WG_OK, "%s", error.text);
        }
        wg_trainer_free(t);
        wg_settings_free(&other);
    }
    remove_folder(s.model);
    wg_settings_free(&s);
}

/* ---- a course of training -------------------------------------------------------------------- */

/* The lines of validations. */
typedef struct lines {
    char text[8][400];
    int n;
} lines;

static void note_validation(void *context, const wg_event *e)
{
    lines *l = context;
    if (e->kind == WG_EVENT_VALID && l->n < 8)
        snprintf(l->text[l->n++], sizeof l->text[0], "%s", e->text);
}

/* With a rate of 0 no validation is better than the first. */
static void a_training_that_does_not_improve_stops(void **state)
{
    (void)state;
    static const char still[] =
        "learn-rate 0; lr-warmup 0; exponential-smoothing 0; valid-freq 1u; early-stopping 3; "
        "after 50u; "
        "valid-metrics cross-entropy bleu; beam-size 1; save-freq 2u; dropout 0";
    wg_settings s = small_training("training_still", still);
    lines l = {.n = 0};
    remove_folder(s.model);
    write_numbers(&s);
    train(&s, &(wg_listener){note_validation, &l}, NULL);
    check_that(l.n == 4, "%d validations: %s\n%s\n%s\n%s", l.n, l.text[0], l.text[1], l.text[2],
               l.text[3]);
    check_that(strstr(l.text[0], ", bleu ") &&
                   strstr(l.text[0], "; new best cross-entropy; new best bleu"),
               "%s", l.text[0]);
    check_that(strstr(l.text[1], "; cross-entropy stalled 1 time (best ") != NULL, "%s", l.text[1]);
    check_that(strstr(l.text[3], "stalled 3 times") && strstr(l.text[3], " at update 1)"), "%s",
               l.text[3]);
    wg_trainer *t = trainer_of(&s, NULL); /* it has stopped for good */
    assert_int_equal(t->progress.update, 4);
    assert_int_equal(wg_trainer_run(t, NULL), WG_OK);
    assert_int_equal(t->progress.update, 4);
    wg_trainer_free(t);
    size_t na, nb, nc;
    char *last = contents(s.model, WG_FILE_MODEL, &na),
         *best = contents(s.model, "best-cross-entropy.safetensors", &nb),
         *other = contents(s.model, "best-bleu.safetensors", &nc);
    assert_true(na == nb && nb == nc && memcmp(last, best, na) == 0 &&
                memcmp(last, other, na) == 0);
    free(last);
    free(best);
    free(other);
    remove_folder(s.model);
    remove_numbers(&s);
    wg_settings_free(&s);
}

static void a_training_ends_after_so_many_epochs_or_tokens(void **state)
{
    (void)state;
    static const char *const amounts[] = {"3e", "1200t", "5u"};
    int64_t tokens = 0;
    for (int i = 0; i < 3; i++) {
        wg_settings s = small_training("training_amount", "mini-batch-words 256");
        set(&s, "after", amounts[i]);
        remove_folder(s.model);
        write_numbers(&s);
        train(&s, NULL, NULL);
        wg_trainer *t = trainer_of(&s, NULL);
        const wg_progress *p = &t->progress;
        assert_true(wgi_trainer_done(t) == 1);
        if (i == 0) { /* all pairs three times */
            assert_true(p->cursor.epoch == 3 && p->cursor.group == 0 && p->examples == 3 * 32);
            tokens = p->weight;
        }
        assert_true(i != 1 || (p->weight >= 1200 && p->weight < 1200 + tokens / 3));
        assert_true(i != 2 || p->update == 5);
        wg_trainer_free(t);
        remove_folder(s.model);
        remove_numbers(&s);
        wg_settings_free(&s);
    }
    assert_true(tokens > 500);
}

/* From text to text: 32 pairs are learned by heart, a character at a time. */
static void few_pairs_are_learned_by_heart(void **state)
{
    (void)state;
    static const char thorough[] =
        "d-model 32; d-ff 64; dropout 0; label-smoothing 0; optimizer-delay 1; length-multiple 16; "
        "lr-warmup 20; exponential-smoothing 0; after 400u; beam-size 1";
    wg_settings s = small_training("training_by_heart", thorough);
    remove_folder(s.model);
    write_numbers(&s);
    wg_trainer *t = trainer_of(&s, NULL);
    check_that(wg_trainer_run(t, NULL) == WG_OK, "%s", wg_trainer_message(t));
    char **texts;
    wg_error error;
    wgi_translation *m = wgi_translation_of(t);
    const wg_corpus *c = m->data.valid;
    m->validator = (wgi_validator){
        .settings = &m->settings, .data = &m->data, .backends = &m->backends, .store = t->store};
    check_that(wgi_translate_corpus(&m->validator, c, &texts, &error) == WG_OK, "%s", error.text);
    assert_int_equal(wg_corpus_count(c), 32);
    for (size_t i = 0; i < 32; i++)
        assert_string_equal(texts[i], wg_corpus_text(c, i, 1));
    wgi_translated_free(texts, 32);
    wg_trainer_free(t);
    remove_folder(s.model);
    remove_numbers(&s);
    wg_settings_free(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_stopped_at_any_update_goes_on_as_if_it_had_not),
        cmocka_unit_test(a_training_stopped_at_every_update_has_the_same_bits_after_each),
        cmocka_unit_test(gradients_of_several_batches_add_up_to_that_of_one),
        cmocka_unit_test(a_cost_that_is_not_finite_stops_the_training),
        cmocka_unit_test(a_resumed_run_refuses_changed_settings),
        cmocka_unit_test(a_training_that_does_not_improve_stops),
        cmocka_unit_test(a_training_ends_after_so_many_epochs_or_tokens),
        cmocka_unit_test(few_pairs_are_learned_by_heart),
    };
    if (argc > 1 && strcmp(argv[1], "all") == 0) {
        const struct CMUnitTest all[] = {tests[0]};
        length = "after 50u";
        return cmocka_run_group_tests(all, NULL, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
