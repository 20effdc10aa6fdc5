/* Trainings stopped at any moment: within an update of several batches, within a validation, within
 * its translations.  Resumed, they end as if they had not been stopped. */
#include "tests/training.h"
#include "train/trainer.h"

/* The stop is asked for when the plan run of that number begins; 0: never. */
static int64_t runs, stop_at;
static volatile int stop;

wg_status __real_wg_plan_run(wg_plan *p, uint64_t step);
wg_status __wrap_wg_plan_run(wg_plan *p, uint64_t step);
wg_status __wrap_wg_plan_run(wg_plan *p, uint64_t step)
{
    if (++runs == stop_at)
        stop = 1;
    return __real_wg_plan_run(p, step);
}

/* Trains until the stop or the end; where it then is. */
static wg_progress train_until(const wg_settings *s, int64_t at)
{
    runs = stop = 0;
    stop_at = at;
    wg_trainer *t = trainer_of(s, NULL);
    check_that(wg_trainer_run(t, &stop) == WG_OK, "%s", wg_trainer_message(t));
    wg_progress p = t->progress;
    wg_trainer_free(t);
    return p;
}

static void same_progress(const wg_progress *a, const wg_progress *b, int64_t at)
{
    check_that(a->update == b->update && a->weight == b->weight && a->examples == b->examples &&
                   a->cursor.epoch == b->cursor.epoch && a->cursor.group == b->cursor.group,
               "stopped at run %d: another position", (int)at);
    check_that(a->stalled == b->stalled && a->n_best == b->n_best && !b->validation_due,
               "stopped at run %d: stalled %d and %d", (int)at, (int)a->stalled, (int)b->stalled);
    for (size_t i = 0; i < a->n_best; i++)
        check_that(a->best[i].value == b->best[i].value && a->best[i].update == b->best[i].update,
                   "stopped at run %d: %s %.17g and %.17g", (int)at, a->best[i].metric,
                   a->best[i].value, b->best[i].value);
}

/* Lines of validations in metrics.jsonl: as many, whatever was stopped. */
static int validations(const char *folder)
{
    size_t size;
    int n = 0;
    char *text = contents(folder, WG_FILE_METRICS, &size);
    for (const char *at = text; (at = strstr(at, "\"kind\":\"valid\"")); at++)
        n++;
    free(text);
    return n;
}

static const char often[] =
    "after 4u; threads 1; valid-freq 2u; save-freq 2u; keep 3; beam-size 1; "
    "max-output-length 3; valid-metrics cross-entropy bleu";

static void a_training_stopped_at_any_run_of_a_plan_ends_as_the_whole(void **state)
{
    (void)state;
    wg_settings whole = small_training("stop_whole", often),
                cut = small_training("stop_cut", often);
    write_numbers(&whole);
    write_numbers(&cut);
    remove_folder(whole.model);
    wg_progress end = train_until(&whole, 0);
    int64_t all = runs;
    int late = 0, early = 0;
    assert_true(all > 15);
    for (int64_t at = 1; at <= all; at++) {
        remove_folder(cut.model);
        wg_progress p = train_until(&cut, at);
        late += p.validation_due == 1;
        early += p.update < end.update;
        wg_progress resumed = train_until(&cut, 0);
        same_progress(&end, &resumed, at);
        same_training(whole.model, cut.model);
        same_file(whole.model, cut.model, "best-bleu.safetensors");
        same_file(whole.model, cut.model, "best-cross-entropy.safetensors");
        same_file(whole.model, cut.model, "checkpoints/model-00000002.safetensors");
        same_file(whole.model, cut.model, "checkpoints/model-00000004.safetensors");
        assert_int_equal(validations(cut.model), validations(whole.model));
        resumed = train_until(&cut, 0); /* what was late has been saved */
        same_progress(&end, &resumed, at);
        assert_int_equal(runs, 0);
    }
    check_that(late > 5 && early > 5, "%d stops within a validation, %d before the end", late,
               early);
    remove_folder(whole.model);
    remove_folder(cut.model);
    remove_numbers(&whole);
    remove_numbers(&cut);
    wg_settings_free(&whole);
    wg_settings_free(&cut);
}

/* The validation of update 2 is made up for, and whether its checkpoint was one that was due cannot
 * be told: its model is a link that leads in a circle. */
static void a_checkpoint_that_cannot_be_looked_at_is_an_error(void **state)
{
    (void)state;
    wg_settings s = small_training("stop_look", often);
    write_numbers(&s);
    wg_progress p = {.update = 0};
    for (int64_t at = 1; !(p.validation_due && p.update == 2); at++) {
        assert_true(at < 100);
        remove_folder(s.model);
        p = train_until(&s, at);
    }
    runs = stop = 0;
    stop_at = 0;
    wg_trainer *t = trainer_of(&s, NULL);
    char *model = wg_folder_path(s.model, "checkpoints/model-00000002.safetensors"),
         *away = wg_folder_path(s.model, "checkpoints/away");
    assert_int_equal(rename(model, away), 0);
    assert_int_equal(symlink("model-00000002.safetensors", model), 0);
    assert_int_equal(wg_trainer_run(t, &stop), WG_EIO);
    check_that(strstr(wg_trainer_message(t), "model-00000002.safetensors: ") != NULL, "%s",
               wg_trainer_message(t));
    assert_int_equal(unlink(model), 0);
    assert_int_equal(rename(away, model), 0);
    check_that(wg_trainer_run(t, &stop) == WG_OK, "%s", wg_trainer_message(t));
    assert_int_equal(t->progress.update, 4);
    wg_trainer_free(t);
    free(model);
    free(away);
    remove_folder(s.model);
    remove_numbers(&s);
    wg_settings_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_stopped_at_any_run_of_a_plan_ends_as_the_whole),
        cmocka_unit_test(a_checkpoint_that_cannot_be_looked_at_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
