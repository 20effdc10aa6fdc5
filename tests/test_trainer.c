/* Trainings: stopped at any update they go on as if they had not; gradients of several batches add up; numbers that are
 * none stop a training before they do harm. */
#include "tests/training.h"
#include "train/plans.h"

#include <math.h>

/* ---- stop and resume ------------------------------------------------------------------------- */

typedef struct stopper {
    int64_t at; /* update */
    volatile int stop;
} stopper;

static void stop_at(void *context, const wg_event *e)
{
    stopper *s = context;
    if (e->kind == WG_EVENT_UPDATE && e->update == s->at)
        s->stop = 1;
}

static void a_training_stopped_at_any_update_goes_on_as_if_it_had_not(void **state)
{
    (void)state;
    static const char *const often[] = {"save-freq", "5u", "valid-freq", "4u", NULL};
    wg_settings whole = small_training("training_whole", often), cut = small_training("training_cut", often);
    remove_folder(whole.model);
    train(&whole, NULL, NULL);
    for (int64_t k = 1; k < whole.after.n; k++) {
        stopper s = {k, 0};
        remove_folder(cut.model);
        train(&cut, &(wg_listener){stop_at, &s}, &s.stop);
        assert_int_equal(s.stop, 1);
        train(&cut, NULL, NULL);
        same_training(whole.model, cut.model);
    }
    remove_folder(whole.model);
    remove_folder(cut.model);
    wg_settings_free(&whole);
    wg_settings_free(&cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_stopped_at_any_update_goes_on_as_if_it_had_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
