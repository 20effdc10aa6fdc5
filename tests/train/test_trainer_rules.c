/* The optimizers and schedules of the trainer, and those of one's own: they learn, go on after a
 * stop as if there had been none, and are told apart. */
#include "tests/stopper.h"
#include "tests/train/classifier.h"

typedef struct optimizer {
    wg_optimizer o;
    double rate;
} optimizer;

static const optimizer optimizers[] = {
    {{.kind = WG_OPTIMIZER_SGD, .momentum = 0.9, .nesterov = true}, 0.1},
    {{.kind = WG_OPTIMIZER_RMSPROP, .weight_decay = 1e-3}, 0.01},
    {{.kind = WG_OPTIMIZER_RMSPROP, .momentum = 0.9, .clip_norm = 1}, 0.003},
    {{.kind = WG_OPTIMIZER_ADAGRAD}, 0.1},
    {{.kind = WG_OPTIMIZER_ADADELTA, .eps = 1e-4}, 1},
    {{.kind = WG_OPTIMIZER_ADAMAX}, 0.03},
    {{.kind = WG_OPTIMIZER_LION, .weight_decay = 0.1}, 0.01},
    {{.kind = WG_OPTIMIZER_LAMB, .weight_decay = 0.01}, 0.03},
    {{.kind = WG_OPTIMIZER_NADAM, .weight_decay = 1e-3, .clip_norm = 1}, 0.03},
    {{.kind = WG_OPTIMIZER_RADAM, .beta2 = 0.9}, 0.03}, /* rectified from update 6 on */
    {{.kind = WG_OPTIMIZER_RPROP, .eta_plus = 1.1, .step_max = 0.01}, 0.003},
};

static wg_trainer_options with(const wg_optimizer *o, double rate, int64_t updates)
{
    wg_trainer_options t = usual();
    t.optimizer = *o;
    t.schedule.rate = rate;
    t.after.n = updates;
    return t;
}

static double loss_after(const optimizer *by, int64_t updates)
{
    wg_trainer_options o = with(&by->o, by->rate, updates);
    o.valid = &examples;
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    check_that(wg_trainer_validate(t, NULL, NULL) == WG_OK, "%s", wg_trainer_message(t));
    double loss = wg_trainer_metric(t, "loss");
    wg_trainer_free(t);
    return loss;
}

static void each_optimizer_learns(void **state)
{
    (void)state;
    for (int k = 0; k < WG_COUNT(optimizers); k++) {
        double before = loss_after(&optimizers[k], 1), after = loss_after(&optimizers[k], 150);
        check_that(after < 0.6 * before, "optimizer %d: %g, then %g", k, before, after);
    }
}

/* m' = 0.99 m + 0.01 g;  p' = p - lr (sign(0.9 m + 0.1 g) + decay p) */
static wg_value *lion(const wg_update *u, wg_value **state)
{
    wg_value *m = state[0];
    wg_value *move = wg_sign(wg_add(wg_scale(m, 0.9), wg_scale(u->g, 1 - 0.9)));
    state[0] = wg_add(wg_scale(m, 0.99), wg_scale(u->g, 1 - 0.99));
    return wg_sub(u->p, wg_mul(u->lr, wg_add(move, wg_scale(u->p, u->weight_decay))));
}

static const wg_update_rule my_lion = {.name = "lion", .states = {"m"}, .step = lion};

static void a_rule_trains_as_the_same_optimizer_does(void **state)
{
    (void)state;
    const wg_optimizer own = {.rule = &my_lion, .weight_decay = 0.1, .clip_norm = 1},
                       ours = {.kind = WG_OPTIMIZER_LION, .weight_decay = 0.1, .clip_norm = 1};
    const wg_trainer_options o = with(&own, 0.01, 20), p = with(&ours, 0.01, 20);
    wg_trainer *a = trainer_of(&o), *b = trainer_of(&p);
    run(a, NULL);
    run(b, NULL);
    assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 200);
    assert_non_null(wg_store_find(wg_trainer_store(a), "optimizer/m/hidden/weight"));
    wg_trainer_free(a);
    wg_trainer_free(b);
}

static void a_run_goes_on(const wg_optimizer *by, double rate)
{
    enum { UPDATES = 12 };
    wg_trainer_options o = with(by, rate, UPDATES), p = o;
    wg_trainer *whole = trainer_of(&o), *cut;
    run(whole, NULL);
    for (int64_t k = 1; k < UPDATES; k += 5) {
        stopper s = {k, 0};
        clear("cut");
        p.folder = path_of("cut");
        p.listener = (wg_listener){stop_at, &s};
        cut = trainer_of(&p);
        run(cut, &s.stop);
        wg_trainer_free(cut);
        p.listener = (wg_listener){NULL, NULL};
        cut = trainer_of(&p);
        assert_int_equal(wg_trainer_updates(cut), k);
        run(cut, NULL);
        assert_true(same_store(wg_trainer_store(whole), wg_trainer_store(cut), true) >= 103);
        wg_trainer_free(cut);
    }
    wg_trainer_free(whole);
    clear("cut");
}

static void each_optimizer_goes_on_after_a_stop(void **state)
{
    (void)state;
    for (int k = 0; k < WG_COUNT(optimizers); k++)
        a_run_goes_on(&optimizers[k].o, optimizers[k].rate);
    a_run_goes_on(&(wg_optimizer){.rule = &my_lion, .clip_norm = 1}, 0.01);
}

static void another_optimizer_or_rule_is_refused(void **state)
{
    (void)state;
    static const wg_update_rule renamed = {.name = "tiger", .states = {"m"}, .step = lion},
                                richer = {.name = "lion", .states = {"m", "n"}, .step = lion};
    const wg_optimizer own = {.rule = &my_lion}, rms = {.kind = WG_OPTIMIZER_RMSPROP};
    wg_trainer_options o = with(&own, 0.01, 3), p;
    o.folder = path_of("rule");
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    wg_trainer_free(t);
    p = o;
    p.optimizer.rule = &renamed;
    refused(&p, WG_EINVAL,
            "optimizer: expected rule lion, m, decay 0, clip-norm 0, as at the start of this run, "
            "got rule tiger, m");
    p.optimizer.rule = &richer;
    refused(&p, WG_EINVAL, "got rule lion, m, n, decay 0");
    p.optimizer = rms;
    refused(&p, WG_EINVAL, "got RMSprop, beta2 0.99, eps 1e-08, momentum 0, decay 0");
    clear("rule");
}

/* ---- schedules ------------------------------------------------------------------------------- */

/* Each update is half as long as the one before. */
static double halving(const void *context, int64_t t)
{
    return *(const double *)context * pow(0.5, (double)t);
}

static double broken(const void *context, int64_t t)
{
    (void)context;
    return t < 3 ? 0.1 : -1;
}

static void a_schedule_may_be_a_function(void **state)
{
    (void)state;
    const double first = 0.2;
    wg_trainer_options o = usual(), p = o;
    o.schedule = (wg_schedule){.rate_at = halving, .context = &first};
    p.schedule = (wg_schedule){WG_SCHEDULE_STEP, .rate = 0.1, .factor = 0.5, .every = 1};
    wg_trainer *a = trainer_of(&o), *b = trainer_of(&p);
    run(a, NULL);
    run(b, NULL);
    assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 200);
    wg_trainer_free(a);
    wg_trainer_free(b);
    o.schedule.rate_at = broken;
    a = trainer_of(&o);
    assert_int_equal(wg_trainer_run(a, NULL), WG_EINVAL);
    check_that(strstr(wg_trainer_message(a), "got -1 at update 3"), "%s", wg_trainer_message(a));
    assert_int_equal(wg_trainer_updates(a), 2);
    wg_trainer_free(a);
}

static void schedules_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        wg_schedule s;
        const char *words;
    } cases[] = {
        {{.rate_at = halving, .rate = 1}, "have no effect beside rate_at"},
        {{WG_SCHEDULE_STEP, .rate = 1, .factor = 0.5}, "expected `every`"},
        {{WG_SCHEDULE_STEP, .rate = 1, .every = 5}, "expected a factor above 0"},
        {{WG_SCHEDULE_STEP, .rate = 1, .every = -5}, "schedule: every: expected 0 or more"},
        {{WG_SCHEDULE_RESTARTS, .rate = 1, .every = 5, .factor = 2},
         "factor is of WG_SCHEDULE_STEP"},
        {{WG_SCHEDULE_RESTARTS, .rate = 1, .every = 5, .floor = 2}, "a floor of at most the rate"},
        {{WG_SCHEDULE_CONSTANT, .rate = 1, .every = 5}, "every is of WG_SCHEDULE_STEP and"},
        {{.kind = WG_SCHEDULE_RESTARTS + 1, .rate = 1}, "one of wg_schedule_kind, got 7"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_trainer_options o = usual();
        o.schedule = cases[i].s;
        refused(&o, WG_EINVAL, cases[i].words);
    }
}

static void listen_for_notes(void *context, const wg_event *e)
{
    if (e->kind == WG_EVENT_NOTE && strstr(e->text, "warm-up"))
        snprintf(context, 200, "%s", e->text);
}

static void a_run_shorter_than_its_warmup_is_told(void **state)
{
    (void)state;
    char text[200] = "";
    wg_trainer_options o = usual();
    o.schedule = (wg_schedule){WG_SCHEDULE_COSINE, .rate = 0.01, .warmup = 20};
    o.listener = (wg_listener){listen_for_notes, text};
    wg_trainer_free(trainer_of(&o));
    assert_string_equal(text, "the run ends after 12 updates, before the warm-up of 20 has brought "
                              "the learning rate to its peak");
    text[0] = '\0';
    o.after = (wg_amount){3, 'e'}; /* of 7 updates */
    wg_trainer_free(trainer_of(&o));
    assert_string_equal(text, "");
    o.schedule.updates = 20;
    refused(&o, WG_EINVAL, "schedule: expected more updates than those of the warm-up");
}

/* ---- options --------------------------------------------------------------------------------- */

static wg_value *wrong_shape(const wg_update *u, wg_value **state)
{
    (void)state;
    return wg_sub(u->p, wg_fill(wg_graph_of(u->p), WG_F32, WG_SHAPE(77), 0));
}

static void what_a_rule_cannot_have_is_refused(void **state)
{
    (void)state;
    static const wg_update_rule nameless = {.step = lion}, empty = {.name = "empty"},
                                wrong = {.name = "wrong", .step = wrong_shape};
    static const struct {
        wg_optimizer o;
        const char *words;
    } cases[] = {
        {{.rule = &my_lion, .kind = WG_OPTIMIZER_SGD}, "have no effect beside a rule"},
        {{.rule = &my_lion, .beta1 = 0.5}, "optimizer: kind, beta1, beta2, eps, momentum"},
        {{.rule = &nameless}, "optimizer: rule: it has no name"},
        {{.rule = &empty}, "optimizer: rule: it has no `step`"},
        {{.rule_context = &my_lion}, "optimizer: rule_context: there is no rule"},
        {{.kind = 99}, "optimizer: kind: expected one of wg_optimizer_kind, got 99"},
        {{.kind = WG_OPTIMIZER_LION, .eps = 1}, "optimizer: eps: Lion does not use it"},
        {{.kind = WG_OPTIMIZER_ADAGRAD, .nesterov = true}, "nesterov: Adagrad does not use it"},
        {{.kind = WG_OPTIMIZER_LAMB, .weight_decay = -1}, "weight_decay: expected 0 or more"},
        {{.kind = WG_OPTIMIZER_NADAM, .momentum_decay = -1}, "momentum_decay: expected 0 or more"},
        {{.momentum_decay = 0.1}, "optimizer: momentum_decay: Adam does not use it"},
        {{.kind = WG_OPTIMIZER_RADAM, .momentum = 0.9}, "momentum: RAdam does not use it"},
        {{.kind = WG_OPTIMIZER_RPROP, .eta_minus = 1}, "eta_minus: expected a number in [0, 1)"},
        {{.kind = WG_OPTIMIZER_RPROP, .eta_plus = 1}, "eta_plus: expected 0 or a number above 1"},
        {{.kind = WG_OPTIMIZER_RPROP, .step_min = NAN}, "step_min: expected 0 or more, got nan"},
        {{.kind = WG_OPTIMIZER_RPROP, .step_min = 60},
         "step_min: expected at most step_max, 50, got 60"},
        {{.rule = &my_lion, .step_max = 1}, "have no effect beside a rule"},
        {{.clip_norm = NAN}, "optimizer: clip_norm: expected 0 or more, got nan"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_trainer_options o = with(&cases[i].o, 0.01, 2);
        refused(&o, WG_EINVAL, cases[i].words);
    }
    /* by the line of the rule */
    wg_trainer_options o = with(&(wg_optimizer){.rule = &wrong}, 0.01, 2);
    refused(&o, WG_ESHAPE, "[77]");
    refused(&o, WG_ESHAPE, "test_trainer_rules.c:");
}

/* ---- squares that are negative --------------------------------------------------------------- */

static bool holds_squares(const char *tensor)
{
    static const char *const of[] = {"optimizer/v/", "optimizer/square/", "optimizer/change/",
                                     "optimizer/max/", "optimizer/size/"};
    for (int i = 0; i < WG_COUNT(of); i++)
        if (strncmp(tensor, of[i], strlen(of[i])) == 0)
            return true;
    return false;
}

/* The roots of such numbers would be NaN in the parameters before anybody looks. */
static void negative_squares_are_refused(void **state)
{
    (void)state;
    int refusals = 0;
    for (int k = 0; k < WG_COUNT(optimizers); k++) {
        const wg_trainer_options o = with(&optimizers[k].o, optimizers[k].rate, 3);
        wg_trainer *t = trainer_of(&o);
        const wg_tensor *x;
        for (size_t i = 0; (x = wg_store_at(wg_trainer_store(t), i)); i++) {
            char words[200];
            float *v = x->data;
            if (!holds_squares(x->name) || wg_shape_count(&x->shape) < 4)
                continue;
            v[2] = -0.25f;
            assert_int_equal(wg_trainer_run(t, NULL), WG_EDATA);
            snprintf(words, sizeof words,
                     "%s: expected no negative numbers, as it holds squares or magnitudes, got "
                     "-0.25 at element 2",
                     x->name);
            assert_string_equal(wg_trainer_message(t), words);
            v[2] = 0;
            refusals++;
        }
        run(t, NULL);
        assert_int_equal(wg_trainer_updates(t), 3);
        wg_trainer_free(t);
    }
    assert_true(refusals >= 20);
}

/* Those that appear in a run are named once they have done harm. */
static void negative_squares_are_blamed(void **state)
{
    (void)state;
    const wg_trainer_options o = with(&(wg_optimizer){.kind = WG_OPTIMIZER_ADAM}, 0.01, 9);
    wg_trainer *t = trainer_of(&o);
    assert_int_equal(wg_trainer_run_for(t, (wg_amount){2, 'u'}, NULL), WG_OK);
    ((float *)wg_store_find(wg_trainer_store(t), "optimizer/v/logits/weight")->data)[1] = -1;
    assert_int_equal(wg_trainer_run(t, NULL), WG_ENONFINITE);
    check_that(strstr(wg_trainer_message(t), "; optimizer/v/logits/weight: expected no negative") &&
                   strstr(wg_trainer_message(t), "at element 1"),
               "%s", wg_trainer_message(t));
    wg_trainer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_optimizer_learns),
        cmocka_unit_test(a_rule_trains_as_the_same_optimizer_does),
        cmocka_unit_test(each_optimizer_goes_on_after_a_stop),
        cmocka_unit_test(another_optimizer_or_rule_is_refused),
        cmocka_unit_test(what_a_rule_cannot_have_is_refused),
        cmocka_unit_test(a_schedule_may_be_a_function),
        cmocka_unit_test(schedules_that_cannot_be_are_refused),
        cmocka_unit_test(a_run_shorter_than_its_warmup_is_told),
        cmocka_unit_test(negative_squares_are_refused),
        cmocka_unit_test(negative_squares_are_blamed),
    };
    return cmocka_run_group_tests(tests, make_data, remove_folder);
}
