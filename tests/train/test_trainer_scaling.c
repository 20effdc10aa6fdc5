/* Dynamic scaling of the loss: what it saves from underflow, what it skips, how the scale falls and
 * grows, and that it changes no bits otherwise, also across stops. */
#include "tests/stopper.h"
#include "tests/train/classifier.h"

static wg_trainer_options narrow(double initial)
{
    wg_trainer_options o = usual();
    o.model = narrow_classifier;
    o.optimizer.eps = 1e-16;
    o.loss_scaling.initial = initial;
    return o;
}

/* ---- underflow ------------------------------------------------------------------------------- */

static double entropy_after(const wg_trainer_options *o)
{
    wg_trainer_options p = *o;
    p.valid = &examples;
    wg_trainer *t = trainer_of(&p);
    run(t, NULL);
    check_that(wg_trainer_validate(t, NULL, NULL) == WG_OK, "%s", wg_trainer_message(t));
    double entropy = wg_trainer_metric(t, "entropy");
    wg_trainer_free(t);
    return entropy;
}

static void gradients_that_are_0_in_f16_are_saved(void **state)
{
    (void)state;
    wg_trainer_options o = narrow(0x1p24), without = narrow(0);
    o.after.n = without.after.n = 1;
    const double before = entropy_after(&without);
    o.after.n = without.after.n = 150;
    const double still = entropy_after(&without), after = entropy_after(&o);
    assert_true(still == before);
    check_that(after < 0.5 * before, "%g, then %g", before, after);
    o.optimizer = (wg_optimizer){.kind = WG_OPTIMIZER_SGD, .momentum = 0.9};
    o.schedule.rate = 0.1 / faint; /* of gradients that are divided by the scale again */
    const double by_sgd = entropy_after(&o);
    check_that(by_sgd < 0.5 * before, "%g, then %g", before, by_sgd);
}

/* ---- what is skipped ------------------------------------------------------------------------- */

/* What the scale must be, from which updates were skipped. */
typedef struct course {
    wg_trainer *t;
    wg_loss_scaling s;
    double scale;
    int64_t in_a_row, skipped, applied;
    float weight; /* of one parameter, after the last update */
    float average;
    bool has_average;
    int64_t grown;
} course;

static int64_t steps_of(const wg_trainer *t)
{
    return *(const int64_t *)wg_store_find(wg_trainer_store(t), "optimizer/step")->data;
}

static void follow(void *context, const wg_event *e)
{
    course *c = context;
    if (e->kind != WG_EVENT_UPDATE)
        return;
    const float weight = tensor(c->t, "hidden/weight")[0];
    const float average = c->has_average ? tensor(c->t, "average/hidden/weight")[0] : 0;
    if (e->skipped_updates > c->skipped) {
        assert_int_equal(e->skipped_updates, ++c->skipped);
        assert_false(isfinite(e->gradient_norm));
        assert_true(weight == c->weight && average == c->average);
        c->scale *= c->s.backoff;
        c->in_a_row = 0;
    } else {
        c->applied++;
        assert_true(isfinite(e->gradient_norm) && weight != c->weight);
        assert_true(!c->has_average || average != c->average);
        if (++c->in_a_row == c->s.interval) {
            c->in_a_row = 0;
            c->scale *= c->s.growth;
            c->grown++;
        }
    }
    assert_true(isfinite(e->loss));
    check_that(e->loss_scale == c->scale, "update %d: %g, expected %g", (int)e->update,
               e->loss_scale, c->scale);
    assert_int_equal(steps_of(c->t), c->applied);
    assert_int_equal(e->update, c->applied + c->skipped);
    c->weight = weight;
    c->average = average;
}

static course run_and_follow(wg_trainer_options o)
{
    course c = {.s = o.loss_scaling, .scale = o.loss_scaling.initial};
    o.listener = (wg_listener){follow, &c};
    c.t = trainer_of(&o);
    c.has_average = o.average > 0;
    c.weight = tensor(c.t, "hidden/weight")[0];
    c.average = c.has_average ? tensor(c.t, "average/hidden/weight")[0] : 0;
    run(c.t, NULL);
    assert_int_equal(c.applied + c.skipped, o.after.n);
    wg_trainer_free(c.t);
    return c;
}

static void the_scale_falls_until_nothing_overflows(void **state)
{
    (void)state;
    wg_trainer_options o = narrow(0x1p60);
    o.loss_scaling = (wg_loss_scaling){0x1p60, .growth = 2, .backoff = 0.5, .interval = 2000};
    o.after.n = 60;
    course c = run_and_follow(o);
    assert_true(c.skipped >= 5 && c.skipped <= 20 && c.grown == 0);
    o.average = 0.1;
    o.accumulate = 3; /* an earlier batch of an update overflows, too */
    o.optimizer.clip_norm = 1e-3;
    course d = run_and_follow(o);
    assert_true(d.skipped >= 5 && d.skipped <= 20);
}

static void the_scale_grows_and_falls(void **state)
{
    (void)state;
    wg_trainer_options o = narrow(0);
    o.loss_scaling = (wg_loss_scaling){0x1p40, .growth = 16, .backoff = 0.25, .interval = 3};
    o.after.n = 80;
    course c = run_and_follow(o);
    assert_true(c.skipped >= 10 && c.grown >= 10);
    o.loss_scaling = (wg_loss_scaling){1e12, .growth = 3, .backoff = 0.3, .interval = 1};
    c = run_and_follow(o);
    assert_true(c.skipped >= 10 && c.grown >= 40);
}

typedef struct copy {
    const wg_tensor *of[32];
    char *bytes[32];
    size_t n;
} copy;

static size_t bytes_in(const wg_tensor *x)
{
    return (size_t)wg_shape_count(&x->shape) * wg_dtype_size(x->dtype);
}

static copy copy_store(const wg_store *s)
{
    copy c = {.n = 0};
    const wg_tensor *x;
    for (size_t i = 0; (x = wg_store_at(s, i)); i++) {
        if (wgi_owner_of(x->name) == WGI_OWNER_GRADIENT)
            continue;
        assert_true(c.n < WG_COUNT(c.of));
        c.of[c.n] = x;
        c.bytes[c.n] = malloc(bytes_in(x) + 1);
        assert_non_null(c.bytes[c.n]);
        memcpy(c.bytes[c.n++], x->data, bytes_in(x));
    }
    return c;
}

/* How many tensors have changed; frees the copy. */
static int changes(copy *c)
{
    int n = 0;
    for (size_t i = 0; i < c->n; i++) {
        n += memcmp(c->of[i]->data, c->bytes[i], bytes_in(c->of[i])) != 0;
        free(c->bytes[i]);
    }
    return n;
}

static const wg_parameter_group groups[] = {{.names = "*bias", .rate = 0.5, .every = 2},
                                            {.names = "logits/*", .weight_decay = 0.01}};

/* Of each optimizer, moments, count, averages, and those of parameters that rest: updates that
 * are applied and such that are skipped take turns. */
static void a_skipped_update_changes_nothing(void **state)
{
    (void)state;
    for (int kind = 0; kind <= WG_OPTIMIZER_RPROP; kind++) {
        int skipped = 0, applied = 0;
        wg_trainer_options o = narrow(0x1p30);
        o.optimizer = (wg_optimizer){.kind = kind, .weight_decay = 1e-3, .clip_norm = 0.1};
        o.average = 0.1;
        o.groups = groups;
        o.n_groups = WG_COUNT(groups);
        wg_trainer *t = trainer_of(&o);
        for (int i = 0; i < 12; i++) {
            const int64_t before = t->progress.skipped;
            const bool is_bad = i % 4 == 1 || i % 4 == 2; /* with resting parameters and without */
            t->progress.loss_scale = is_bad ? 0x1p60 : 0x1p30;
            copy c = copy_store(wg_trainer_store(t));
            check_that(wg_trainer_run_for(t, (wg_amount){1, 'u'}, NULL) == WG_OK, "%s",
                       wg_trainer_message(t));
            assert_int_equal(t->progress.skipped - before, is_bad);
            const int changed = changes(&c);
            check_that(is_bad ? changed == 0 : changed >= 4, "optimizer %d, update %d: %d of %d",
                       kind, i + 1, changed, (int)c.n);
            skipped += is_bad;
            applied += !is_bad;
        }
        assert_true(skipped == 6 && applied == 6);
        wg_trainer_free(t);
    }
}

/* Zeros stand for the numbers that are usual. */
static void the_usual_numbers_are_2_and_a_half(void **state)
{
    (void)state;
    wg_trainer_options o = narrow(0x1p60);
    o.after.n = 15;
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    assert_true(t->progress.loss_scale == ldexp(1, 60 - (int)t->progress.skipped));
    assert_true(t->progress.skipped >= 5);
    t->progress.scale_updates = 1999 - t->progress.scale_updates;
    const double scale = t->progress.loss_scale;
    wg_trainer_free(t);
    o = usual();
    o.loss_scaling.initial = scale;
    t = trainer_of(&o);
    t->progress.scale_updates = 1999;
    assert_int_equal(wg_trainer_run_for(t, (wg_amount){1, 'u'}, NULL), WG_OK);
    assert_true(t->progress.loss_scale == 2 * scale && t->progress.scale_updates == 0);
    wg_trainer_free(t);
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* Powers of two round nothing. */
static void where_nothing_overflows_bits_are_those_without(void **state)
{
    (void)state;
    static const wg_optimizer optimizers[] = {{.kind = WG_OPTIMIZER_ADAM, .clip_norm = 0.01},
                                              {.kind = WG_OPTIMIZER_SGD, .momentum = 0.9},
                                              {.kind = WG_OPTIMIZER_LAMB, .weight_decay = 0.1},
                                              {.kind = WG_OPTIMIZER_NADAM, .clip_norm = 1},
                                              {.kind = WG_OPTIMIZER_RPROP}};
    for (int k = 0; k < WG_COUNT(optimizers); k++)
        for (int way = 0; way < 4; way++) {
            wg_trainer_options o = usual(), p;
            o.optimizer = optimizers[k];
            o.average = way & 1 ? 0.1 : 0;
            o.accumulate = way & 1 ? 3 : 1;
            o.groups = groups;
            o.n_groups = way & 2 ? WG_COUNT(groups) : 0;
            p = o;
            p.loss_scaling = (wg_loss_scaling){0x1p10, .growth = 4, .interval = 2};
            wg_trainer *a = trainer_of(&o), *b = trainer_of(&p);
            run(a, NULL);
            run(b, NULL);
            assert_int_equal(b->progress.skipped, 0);
            assert_true(b->progress.loss_scale == 0x1p22);
            assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 100);
            assert_true(a->span.norm == b->span.norm); /* reported without the scale */
            wg_trainer_free(a);
            wg_trainer_free(b);
        }
}

static wg_value *two_losses(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *x = wg_step_input(step, "x");
    wg_value *h = wg_dense("first", x, HIDDEN, WG_ACTIVATION_TANH);
    wg_value *other =
        wg_mean(wg_square(wg_dense("second", h, 1, WG_ACTIVATION_NONE)), WG_ALL_AXES, WG_DROP);
    wg_step_metric(step, "other", other, WG_LESS_IS_BETTER);
    return wg_mean(wg_square(wg_sub(h, wg_scalar_like(h, 0.3))), WG_ALL_AXES, WG_DROP);
}

static void losses_of_groups_are_scaled_alike(void **state)
{
    (void)state;
    static const wg_parameter_group own[] = {{.names = "second/*", .loss = "other"}};
    wg_trainer_options o = usual(), p;
    o.model = two_losses;
    o.groups = own;
    o.n_groups = 1;
    o.optimizer.kind = WG_OPTIMIZER_SGD;
    p = o;
    p.loss_scaling.initial = 1024;
    wg_trainer *a = trainer_of(&o), *b = trainer_of(&p);
    run(a, NULL);
    run(b, NULL);
    assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 80);
    wg_trainer_free(a);
    wg_trainer_free(b);
}

static void a_run_goes_on_with_its_scale(void **state)
{
    (void)state;
    enum { UPDATES = 14 };
    wg_trainer_options o = narrow(0), p;
    o.loss_scaling = (wg_loss_scaling){0x1p60, .growth = 16, .backoff = 0x1p-6, .interval = 2};
    o.after.n = UPDATES;
    o.average = 0.1;
    o.accumulate = 2;
    o.optimizer.clip_norm = 1e-3;
    o.groups = groups;
    o.n_groups = WG_COUNT(groups);
    wg_trainer *whole = trainer_of(&o), *cut;
    run(whole, NULL);
    assert_true(whole->progress.skipped >= 4 && whole->progress.skipped <= 10);
    for (int64_t k = 1; k < UPDATES; k++) {
        stopper s = {k, 0};
        clear("cut");
        p = o;
        p.folder = path_of("cut");
        p.listener = (wg_listener){stop_at, &s};
        cut = trainer_of(&p);
        run(cut, &s.stop);
        const wg_progress before = cut->progress;
        wg_trainer_free(cut);
        p.listener = (wg_listener){NULL, NULL};
        cut = trainer_of(&p);
        assert_int_equal(wg_trainer_updates(cut), k);
        assert_true(cut->progress.loss_scale == before.loss_scale);
        assert_int_equal(cut->progress.scale_updates, before.scale_updates);
        assert_int_equal(cut->progress.skipped, before.skipped);
        run(cut, NULL);
        assert_true(same_store(wg_trainer_store(whole), wg_trainer_store(cut), true) > 300);
        assert_int_equal(steps_of(cut), steps_of(whole));
        assert_true(cut->progress.loss_scale == whole->progress.loss_scale);
        assert_int_equal(cut->progress.skipped, whole->progress.skipped);
        wg_trainer_free(cut);
    }
    p = o;
    p.folder = path_of("cut");
    p.loss_scaling.growth = 2;
    refused(&p, WG_EINVAL, "loss scaling: expected from 1.1529215e+18, growth 16 after 2 updates");
    p.loss_scaling = (wg_loss_scaling){0};
    refused(&p, WG_EINVAL, "got none");
    wg_trainer_free(whole);
    clear("cut");
}

/* ---- what ends a run ------------------------------------------------------------------------- */

/* loss = mean |w x|, whose gradient is NaN, since 0 is divided by 0 on the way. */
static wg_value *without_gradient(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *h = wg_dense("hidden", wg_step_input(step, "x"), 1, WG_ACTIVATION_NONE);
    return wg_mean(wg_sqrt(wg_square(wg_scale(h, 0))), WG_ALL_AXES, WG_DROP);
}

static wg_value *without_loss(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *h = wg_dense("hidden", wg_step_input(step, "x"), 1, WG_ACTIVATION_NONE);
    return wg_mean(wg_log(wg_neg(wg_square(h))), WG_ALL_AXES, WG_DROP);
}

static void what_no_scale_mends_ends_the_run(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.model = without_gradient;
    o.loss_scaling.initial = 0x1p-14;
    wg_trainer *t = trainer_of(&o);
    const float before = tensor(t, "hidden/weight")[0];
    assert_int_equal(wg_trainer_run(t, NULL), WG_ENONFINITE);
    const char *text = wg_trainer_message(t);
    check_that(strstr(text, "update 3: the gradient's norm, at the lowest scale of the loss, "
                            "1.52588e-05, is not finite; training stopped") &&
                   strstr(text, "first in batch 1 of the update") &&
                   strstr(text, "test_trainer_scaling.c"),
               "%s", text);
    assert_int_equal(wg_trainer_updates(t), 2);
    assert_int_equal(t->progress.skipped, 2);
    assert_true(tensor(t, "hidden/weight")[0] == before);
    wg_trainer_free(t);
    o.model = without_loss;
    t = trainer_of(&o);
    assert_int_equal(wg_trainer_run(t, NULL), WG_ENONFINITE);
    check_that(strstr(wg_trainer_message(t), "update 1: the loss is not finite"), "%s",
               wg_trainer_message(t));
    wg_trainer_free(t);
}

/* ---- options and reports --------------------------------------------------------------------- */

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        wg_loss_scaling s;
        const char *words;
    } cases[] = {
        {{.initial = -1}, "loss_scaling: initial: expected 0, or a number from 2^-16 to 2^120"},
        {{.initial = NAN}, "initial: expected 0, or a number from 2^-16 to 2^120, got nan"},
        {{.initial = 1e-9}, "got 1e-09"},
        {{.initial = INFINITY}, "got inf"},
        {{1024, .growth = 1}, "loss_scaling: growth: expected 0 or a number above 1, got 1"},
        {{1024, .growth = NAN}, "growth: expected 0 or a number above 1, got nan"},
        {{1024, .backoff = 1}, "loss_scaling: backoff: expected a number in [0, 1), got 1"},
        {{1024, .backoff = -0.5}, "got -0.5"},
        {{1024, .interval = -1}, "loss_scaling: interval: expected 0 or more, got -1"},
        {{.growth = 2}, "have no effect without an initial scale"},
        {{.interval = 9}, "have no effect without an initial scale"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_trainer_options o = usual();
        o.loss_scaling = cases[i].s;
        refused(&o, WG_EINVAL, cases[i].words);
    }
}

typedef struct lines {
    char text[2][400];
    int n;
} lines;

static void listen_for_lines(void *context, const wg_event *e)
{
    lines *l = context;
    if (e->kind == WG_EVENT_DISPLAY && l->n < 2)
        snprintf(l->text[l->n++], sizeof l->text[0], "%s", e->text);
}

static void reports_have_the_scale(void **state)
{
    (void)state;
    lines l = {.n = 0};
    wg_trainer_options o = narrow(0x1p50);
    o.loss_scaling.backoff = 0x1p-10;
    o.report = (wg_amount){1, 'u'};
    o.after.n = 2;
    o.listener = (wg_listener){listen_for_lines, &l};
    o.folder = path_of("report");
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    wg_trainer_free(t);
    check_that(strstr(l.text[0], ", loss scale 1.09951e+12, 1 update skipped, "), "%s", l.text[0]);
    check_that(strstr(l.text[1], ", loss scale 1.09951e+12, 1 update skipped, "), "%s", l.text[1]);
    check_that(strstr(l.text[0], ", entropy 1."), "%s", l.text[0]); /* counts all the same */
    char path[700];
    size_t size;
    snprintf(path, sizeof path, "%s/metrics.jsonl", o.folder);
    char *text = read_bytes(path, &size);
    check_that(strstr(text, "\"loss-scale\":") && strstr(text, "\"skipped-updates\":"), "%s", text);
    free(text);
    clear("report");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_that_are_0_in_f16_are_saved),
        cmocka_unit_test(the_scale_falls_until_nothing_overflows),
        cmocka_unit_test(the_scale_grows_and_falls),
        cmocka_unit_test(a_skipped_update_changes_nothing),
        cmocka_unit_test(the_usual_numbers_are_2_and_a_half),
        cmocka_unit_test(where_nothing_overflows_bits_are_those_without),
        cmocka_unit_test(losses_of_groups_are_scaled_alike),
        cmocka_unit_test(a_run_goes_on_with_its_scale),
        cmocka_unit_test(what_no_scale_mends_ends_the_run),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(reports_have_the_scale),
    };
    return cmocka_run_group_tests(tests, make_data, remove_folder);
}
