/* Trainings that diverge, by any optimizer at any rate: the update that would spoil the model is
 * refused, so that the last checkpoint is good, and the message names who is to blame. */
#include "tests/training.h"
#include "graph/element.h"
#include "train/owner.h"
#include "translate/trainer.h"

static const char *const optimizers[] = {
    "optimizer adam",
    "optimizer adam; weight-decay 0.1",
    "optimizer adamw; weight-decay 0.1",
    "optimizer sgd",
    "optimizer sgd; momentum 0.9; weight-decay 0.1",
};
enum { N_OPTIMIZERS = WG_COUNT(optimizers) };

/* What the trainer has in memory, sums of gradients aside. */
static void check_store(const wg_store *store)
{
    const wg_tensor *t;
    size_t compared = 0;
    for (size_t i = 0; (t = wg_store_at(store, i)); i++) {
        if (wgi_owner_of(t->name) == WGI_OWNER_GRADIENT)
            continue;
        for (int64_t k = 0; k < wg_shape_count(&t->shape); k++, compared++)
            check_that(isfinite(wgi_get_element(t->data, t->dtype, k)), "%s has %g", t->name,
                       wgi_get_element(t->data, t->dtype, k));
    }
    assert_true(compared > 1000);
}

/* Runs it; true if it diverges, with the message in text. */
static bool diverges(const wg_settings *s, char *text, size_t size)
{
    wg_trainer *t = trainer_of(s, NULL);
    wg_status status = wg_trainer_run(t, NULL);
    check_that(status == WG_OK || status == WG_ENONFINITE, "%s", wg_trainer_message(t));
    check_store(t->store);
    snprintf(text, size, "%s", wg_trainer_message(t));
    wg_trainer_free(t);
    return status == WG_ENONFINITE;
}

static bool has(const char *folder, const char *name)
{
    bool there;
    wg_error error;
    check_that(wg_folder_has(folder, name, &there, &error) == WG_OK, "%s", error.text);
    return there;
}

static void check_files(const char *folder)
{
    if (!has(folder, WG_FILE_PROGRESS)) /* the first update was refused */
        return;
    assert_true(finite_numbers(folder, WG_FILE_MODEL) > 1000);
    assert_true(finite_numbers(folder, WG_FILE_AVERAGE) > 1000);
    if (has(folder, WG_FILE_OPTIMIZER)) /* SGD without momentum has no states */
        assert_true(finite_numbers(folder, WG_FILE_OPTIMIZER) > 1000);
}

/* True if it diverged; the same training resumed must then fail at the same update. */
static bool check(const char *optimizer, const char *rate, const char *clip, const char *backend)
{
    wg_settings s = small_training("training_diverging",
                                   "lr-schedule constant; lr-warmup 0; save-freq 1u; after 4u; "
                                   "length-multiple 64; numbers 60; d-model 8; threads 1");
    char first[600], second[600];
    set_all(&s, optimizer);
    set(&s, "learn-rate", rate);
    set(&s, "clip-norm", clip);
    set(&s, "backend", backend);
    remove_folder(s.model);
    bool diverged = diverges(&s, first, sizeof first);
    check_files(s.model);
    if (diverged) {
        check_that(strncmp(first, "update ", 7) == 0 && strstr(first, "is not finite") &&
                       strstr(first, "first in batch "),
                   "%s, rate %s, clip %s: %s", optimizer, rate, clip, first);
        assert_true(diverges(&s, second, sizeof second));
        check_that(strncmp(first, second, strcspn(first, ":")) == 0, "%s\n%s", first, second);
        check_files(s.model);
    }
    remove_folder(s.model);
    wg_settings_free(&s);
    return diverged;
}

static void a_diverging_training_leaves_a_good_checkpoint(void **state)
{
    (void)state;
    static const char *const rates[] = {"1e-3", "1", "1e3", "1e6", "1e12", "1e18", "1e30"};
    int diverged = 0, trained = 0;
    for (int i = 0; i < N_OPTIMIZERS; i++)
        for (int r = 0; r < WG_COUNT(rates); r += SANITIZED ? 3 : 1)
            for (int clips = 0; clips < 2; clips++)
                *(check(optimizers[i], rates[r], clips ? "1" : "0", "") ? &diverged : &trained) +=
                    1;
    check_that(diverged > (SANITIZED ? 10 : 20) && trained >= 2 * N_OPTIMIZERS,
               "%d diverged, %d did not", diverged, trained);
}

static void so_it_does_on_the_reference_backend(void **state)
{
    (void)state;
    static const char *const rates[] = {"1e6", "1e18", "1e30"};
    int diverged = 0;
    for (int i = 0; i < N_OPTIMIZERS; i++)
        for (int r = 0; r < WG_COUNT(rates); r++)
            diverged += check(optimizers[i], rates[r], "0", "cpu");
    assert_true(diverged > 5);
}

/* ---- validation ------------------------------------------------------------------------------ */

typedef struct notes {
    char note[600], valid[600];
} notes;

static void keep_notes(void *context, const wg_event *e)
{
    notes *n = context;
    if (e->kind == WG_EVENT_NOTE)
        snprintf(n->note, sizeof n->note, "%s", e->text);
    if (e->kind == WG_EVENT_VALID)
        snprintf(n->valid, sizeof n->valid, "%s", e->text);
}

/* Parameters so large that no token has a probability: BLEU is left out, and says why. */
static void metrics_of_a_model_that_diverged_are_left_out(void **state)
{
    (void)state;
    static const char lost[] = "learn-rate 0; lr-warmup 0; valid-freq 1u; after 1u; beam-size 1; "
                               "valid-metrics cross-entropy bleu chrf; exponential-smoothing 0";
    wg_settings s = small_training("training_lost", lost);
    notes n = {.note = ""};
    write_numbers(&s);
    remove_folder(s.model);
    wg_trainer *t = trainer_of(&s, &(wg_listener){keep_notes, &n});
    wg_error error = {.text = ""}, left_out;
    wgi_means v;
    wgi_translation *m = wgi_translation_of(t);
    const wg_tensor *w = wg_store_find(t->store, "target_embedding/weight");
    w = w ? w : wg_store_at(t->store, 0);
    for (int64_t k = 0; k < wg_shape_count(&w->shape); k++)
        wgi_put_element(w->data, w->dtype, k, NAN);
    m->validator = (wgi_validator){
        .settings = &m->settings, .data = &m->data, .backends = &m->backends, .store = t->store};
    check_that(wgi_validate(&v, &t->plans, &t->valid.s, "cost", NULL, &error) == WG_OK, "%s",
               error.text);
    check_that(wgi_validate_translations(&v, &m->validator, &left_out, &error) == WG_OK, "%s",
               error.text);
    assert_true(isnan(wgi_means_find(&v, "bleu")->value) &&
                isnan(wgi_means_find(&v, "chrf")->value));
    check_that(strstr(left_out.text, "no next token has a finite probability") != NULL, "%s",
               left_out.text);
    assert_int_equal(wg_trainer_run(t, NULL), WG_ENONFINITE);
    wg_trainer_free(t);
    remove_folder(s.model);
    remove_numbers(&s);
    wg_settings_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_diverging_training_leaves_a_good_checkpoint),
        cmocka_unit_test(so_it_does_on_the_reference_backend),
        cmocka_unit_test(metrics_of_a_model_that_diverged_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
