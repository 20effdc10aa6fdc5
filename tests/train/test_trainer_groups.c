/* Groups of parameters with losses of their own, some of which rest: two networks trained against
 * each other have the bits of a loop written by hand, also after a stop at any update. */
#include "tests/distributed/local.h"
#include "tests/stopper.h"
#include "tests/train/classifier.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/plan.h"

enum { EVERY = 3, UPDATES = 14, BATCH = 5 };

static const wg_examples five = {fields, 2, COUNT, .batch = BATCH, .order = WG_ORDER_GIVEN};

typedef struct losses {
    wg_value *generator, *critic;
} losses;

/* A generator of six numbers from six others, and a critic that tells them from examples. */
static losses build(wg_value *x)
{
    losses l;
    wg_value *noise = wg_flip(x, WG_AXES(0));
    wg_value *fake = wg_dense("generator", noise, IN, WG_ACTIVATION_TANH);
    wg_scope_push(wg_graph_of(x), "critic");
    wg_scope_reuse(wg_graph_of(x));
    wg_value *of_fake = wg_dense("d", wg_dense("h", fake, 4, WG_ACTIVATION_TANH), 1, 0);
    wg_value *of_real = wg_dense("d", wg_dense("h", x, 4, WG_ACTIVATION_TANH), 1, 0);
    wg_scope_pop(wg_graph_of(x));
    l.critic =
        wg_mean(wg_add(wg_softplus(of_fake), wg_softplus(wg_neg(of_real))), WG_ALL_AXES, WG_DROP);
    l.generator = wg_mean(wg_softplus(wg_neg(of_fake)), WG_ALL_AXES, WG_DROP);
    return l;
}

static wg_value *adversaries(void *context, const wg_model_step *step)
{
    (void)context;
    losses l = build(wg_step_input(step, "x"));
    wg_step_metric(step, "generator", l.generator, WG_LESS_IS_BETTER);
    return l.critic;
}

static const wg_parameter_group turns[] = {
    {.names = "generator/*", .loss = "generator", .every = EVERY, .rate = 0.5}};

static wg_trainer_options of_adversaries(const char *path)
{
    wg_trainer_options o = usual();
    o.model = adversaries;
    o.train = &five;
    o.groups = turns;
    o.n_groups = 1;
    o.after = (wg_amount){UPDATES, 'u'};
    o.folder = path;
    return o;
}

/* ---- the same by hand ------------------------------------------------------------------------ */

typedef struct turn {
    wg_graph *g;
    wg_plan *p;
    wg_value *x;
} turn;

/* Updates the critic, or both. */
static turn make_turn(wg_store *store, bool both)
{
    turn t = {.g = wg_graph_new()};
    t.x = wg_input(t.g, "x", WG_F32, WG_SHAPE(BATCH, IN));
    losses l = build(t.x);
    wg_value *params[2][4] =
        {{wg_graph_find(t.g, "generator/weight"), wg_graph_find(t.g, "generator/bias")},
         {wg_graph_find(t.g, "critic/h/weight"), wg_graph_find(t.g, "critic/h/bias"),
          wg_graph_find(t.g, "critic/d/weight"), wg_graph_find(t.g, "critic/d/bias")}},
             *grads[4], *rate = wg_fill(t.g, WG_F32, WG_SCALAR, 0.01);
    wg_grad(l.critic, params[1], 4, grads);
    wg_adam_update(params[1], grads, 4, rate, &(wg_adam_options){.name = "optimizer"});
    if (both) {
        static const double half[] = {0.5, 0.5};
        wg_grad(l.generator, params[0], 2, grads);
        wg_adam_update(params[0], grads, 2, rate,
                       &(wg_adam_options){.name = "optimizer/every 3", .rates = half});
    }
    const wg_plan_options o = {.store = store, .seed = 3, .threads = 1};
    check_that(wg_plan_create(&t.p, t.g, &o) == WG_OK, "%s", wg_graph_message(t.g));
    return t;
}

static wg_store *train_by_hand(void)
{
    wg_store *store = wg_store_new(3);
    turn both = make_turn(store, true), alone = make_turn(store, false);
    for (int u = 1; u <= UPDATES; u++) {
        const turn *t = u % EVERY ? &alone : &both;
        const int first = (u - 1) * BATCH % COUNT;
        memcpy(wg_plan_data(t->p, t->x), xs + (ptrdiff_t)first * IN, BATCH * IN * sizeof(float));
        check_that(wg_plan_run(t->p, (uint64_t)u) == WG_OK, "%s", wg_plan_message(t->p));
    }
    wg_plan_free(both.p);
    wg_plan_free(alone.p);
    wg_graph_free(both.g);
    wg_graph_free(alone.g);
    return store;
}

static void two_networks_train_as_by_hand(void **state)
{
    (void)state;
    wg_trainer_options o = of_adversaries(NULL);
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    wg_store *store = train_by_hand();
    assert_true(same_store(store, wg_trainer_store(t), true) > 100);
    int64_t steps = *(const int64_t *)wg_store_find(store, "optimizer/every 3/step")->data;
    assert_int_equal(steps, UPDATES / EVERY);
    assert_int_equal(*(const int64_t *)(const void *)tensor(t, "optimizer/every 3/step"), steps);
    assert_int_equal(*(const int64_t *)(const void *)tensor(t, "optimizer/step"), UPDATES);
    wg_store_free(store);
    wg_trainer_free(t);
}

/* Each interval has an optimizer of its own, which counts its own updates. */
static void groups_of_several_intervals_take_their_turns(void **state)
{
    (void)state;
    static const wg_parameter_group two_and_three[] = {{.names = "critic/h/*", .every = 3},
                                                       {.names = "generator/*", .every = 2}};
    wg_trainer_options o = of_adversaries(NULL);
    o.groups = two_and_three;
    o.n_groups = 2;
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    static const char *const steps[] = {"optimizer/step", "optimizer/every 2/step",
                                        "optimizer/every 3/step"};
    for (int i = 0; i < 3; i++)
        assert_int_equal(*(const int64_t *)(const void *)tensor(t, steps[i]), UPDATES / (i + 1));
    assert_true(tensor(t, "optimizer/every 2/v/generator/weight")[0] > 0);
    assert_true(tensor(t, "optimizer/every 3/v/critic/h/weight")[0] > 0);
    wg_trainer_free(t);
}

/* An average follows its parameters in every update, also where they rest. */
static void averages_of_resting_parameters_go_on(void **state)
{
    (void)state;
    enum { LAST = 2 * EVERY - 1 };
    wg_trainer_options o = of_adversaries(NULL);
    float before[2][IN], expected[IN];
    o.average = 0.1;
    for (int k = 0; k < 2; k++) {
        o.after.n = k ? LAST : EVERY;
        wg_trainer *t = trainer_of(&o);
        run(t, NULL);
        memcpy(before[k], tensor(t, k ? "average/generator/bias" : "generator/bias"),
               sizeof before[k]);
        if (k == 0)
            memcpy(expected, tensor(t, "average/generator/bias"), sizeof expected);
        wg_trainer_free(t);
    }
    for (int i = 0; i < IN; i++) {
        for (int u = EVERY; u < LAST; u++)
            expected[i] += 0.1F * (before[0][i] - expected[i]);
        check_that(fabsf(expected[i] - before[1][i]) <= 1e-7F && before[0][i] != 0,
                   "bias %d: %g, not %g", i, (double)before[1][i], (double)expected[i]);
    }
}

static wg_value *spoilt(void *context, const wg_model_step *step)
{
    losses l = build(wg_step_input(step, "x"));
    wg_step_metric(step, "generator", wg_log(wg_neg(l.generator)), WG_LESS_IS_BETTER);
    (void)context;
    return l.critic;
}

/* NaN in the loss of a group is told with its name. */
static void a_loss_that_is_not_finite_is_named(void **state)
{
    (void)state;
    wg_trainer_options o = of_adversaries(NULL);
    o.model = spoilt;
    wg_trainer *t = trainer_of(&o);
    assert_int_equal(wg_trainer_run(t, NULL), WG_ENONFINITE);
    const char *message = wg_trainer_message(t);
    check_that(strstr(message, "update 3: the loss of group 0, generator, is not finite") &&
                   strstr(message, "log(%2): result 0 is NaN"),
               "%s", message);
    wg_trainer_free(t);
}

/* Infinite, with a finite gradient. */
static wg_value *infinite(void *context, const wg_model_step *step)
{
    (void)context;
    losses l = build(wg_step_input(step, "x"));
    wg_value *loss = wg_add(l.generator, wg_scalar_like(l.generator, INFINITY));
    wg_step_metric(step, "generator", loss, WG_LESS_IS_BETTER);
    return l.critic;
}

/* The norm of the gradients is finite, so the losses alone tell that the update must not be made:
 * everything is as after the update before, which left the group alone. */
static void an_infinite_loss_of_a_group_changes_nothing(void **state)
{
    (void)state;
    wg_trainer_options o = of_adversaries(NULL);
    o.after = (wg_amount){EVERY - 1, 'u'};
    wg_trainer *before = trainer_of(&o);
    run(before, NULL);
    o = of_adversaries(NULL);
    o.model = infinite;
    wg_trainer *t = trainer_of(&o);
    assert_int_equal(wg_trainer_run(t, NULL), WG_ENONFINITE);
    check_that(strstr(wg_trainer_message(t), "the loss of group 0, generator, is not finite"), "%s",
               wg_trainer_message(t));
    const wg_tensor *x;
    int64_t compared = 0;
    for (size_t i = 0; (x = wg_store_at(wg_trainer_store(before), i)); i++) {
        const wg_tensor *y = wg_store_find(wg_trainer_store(t), x->name);
        const size_t bytes = (size_t)wg_shape_count(&x->shape) * wg_dtype_size(x->dtype);
        check_that(y && memcmp(x->data, y->data, bytes) == 0, "%s differs", x->name);
        compared += wg_shape_count(&x->shape);
    }
    assert_true(compared > 100);
    wg_trainer_free(before);
    wg_trainer_free(t);
}

/* A limit that is too small for any kind of update shows before the training. */
static void memory_is_tried_for_every_turn(void **state)
{
    (void)state;
    wg_trainer_options o = of_adversaries(NULL);
    o.accumulate = 3;
    wg_trainer *t;
    wg_error error;
    int refusals = 0;
    wg_status status;
    o.memory = 1000;
    while ((status = wg_trainer_create(&t, &o, &error)) == WG_ENOMEM && refusals++ < 20) {
        const char *at = strstr(error.text, "too small: ");
        check_that(at != NULL, "%s", error.text);
        o.memory = strtoull(strpbrk(at, "0123456789"), NULL, 10);
    }
    check_that(status == WG_OK && refusals > 0, "%s after %d", wg_status_text(status), refusals);
    run(t, NULL);
    wg_trainer_free(t);
}

/* ---- stops ----------------------------------------------------------------------------------- */

static void stopped_at_any_update_they_go_on(void **state)
{
    (void)state;
    char path[400];
    snprintf(path, sizeof path, "%s", path_of("cut"));
    for (int accumulate = 1; accumulate <= 3; accumulate += 2) {
        wg_trainer_options o = of_adversaries(NULL), p = of_adversaries(path);
        o.average = p.average = 0.1;
        o.optimizer.clip_norm = p.optimizer.clip_norm = 0.5;
        o.accumulate = p.accumulate = accumulate;
        wg_trainer *whole = trainer_of(&o);
        run(whole, NULL);
        for (int64_t k = 1; k < UPDATES; k++) {
            stopper s = {k, 0};
            clear("cut");
            p.listener = (wg_listener){stop_at, &s};
            wg_trainer *b = trainer_of(&p);
            run(b, &s.stop);
            assert_int_equal(wg_trainer_updates(b), k);
            wg_trainer_free(b);
            p.listener = (wg_listener){NULL, NULL};
            b = trainer_of(&p);
            run(b, NULL);
            assert_true(same_store(wg_trainer_store(whole), wg_trainer_store(b), true) > 100);
            wg_trainer_free(b);
        }
        wg_trainer_free(whole);
    }
    clear("cut");
}

/* Three batches of an update are one of three times the examples. */
static void batches_add_up(void **state)
{
    (void)state;
    const wg_examples large = {fields, 2, 45, .batch = 15, .order = WG_ORDER_GIVEN};
    const wg_examples small = {fields, 2, 45, .batch = BATCH, .order = WG_ORDER_GIVEN};
    wg_trainer_options o = of_adversaries(NULL);
    const wg_parameter_group both[] = {{.names = "generator/*", .loss = "generator"},
                                       {.names = "critic/*"}};
    o.groups = both;
    o.n_groups = 2;
    o.optimizer.kind = WG_OPTIMIZER_SGD;
    o.after = (wg_amount){9, 'u'};
    o.train = &large;
    wg_trainer *a = trainer_of(&o);
    o.train = &small;
    o.accumulate = 3;
    wg_trainer *b = trainer_of(&o);
    run(a, NULL);
    run(b, NULL);
    int64_t compared = 0;
    const wg_tensor *x;
    for (size_t i = 0; (x = wg_store_at(wg_trainer_store(a), i)); i++)
        for (int64_t k = 0; x->dtype == WG_F32 && k < wg_shape_count(&x->shape); k++, compared++) {
            double u = ((const float *)x->data)[k], v = tensor(b, x->name)[k];
            check_that(fabs(u - v) <= 1e-6, "%s[%d]: %g and %g", x->name, (int)k, u, v);
        }
    assert_true(compared > 60);
    wg_trainer_free(a);
    wg_trainer_free(b);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

typedef struct job {
    wg_store *store[2];
    bool spoils;
} job;

static void train_on(wg_ranks *r, void *context)
{
    job *j = context;
    wg_trainer_options o = of_adversaries(NULL);
    wg_trainer *t;
    wg_error error;
    o.accumulate = 2;
    o.average = 0.1;
    o.ranks = r;
    o.model = j->spoils ? spoilt : adversaries;
    insist(wg_trainer_create(&t, &o, &error) == WG_OK, "%s", error.text);
    wg_status status = wg_trainer_run(t, NULL);
    insist(status == (j->spoils ? WG_ENONFINITE : WG_OK), "%d: %s", status, wg_trainer_message(t));
    insist(!j->spoils || strstr(wg_trainer_message(t), "is not finite"), "%s",
           wg_trainer_message(t));
    wg_store *copy = j->store[wg_ranks_rank(r)] = wg_store_new(0);
    const wg_tensor *x;
    for (size_t i = 0; !j->spoils && (x = wg_store_at(wg_trainer_store(t), i)); i++) {
        const wg_tensor *to;
        insist(wg_store_add(copy, x->name, x->dtype, &x->shape, &to) == WG_OK, "no memory");
        memcpy(to->data, x->data, (size_t)wg_shape_count(&x->shape) * wg_dtype_size(x->dtype));
    }
    wg_trainer_free(t);
}

/* Two ranks with a batch each have the bits of one with both, and all hear of a loss that is not
 * finite. */
static void ranks_train_as_one(void **state)
{
    (void)state;
    wg_trainer_options o = of_adversaries(NULL);
    o.accumulate = 2;
    o.average = 0.1;
    wg_trainer *alone = trainer_of(&o);
    run(alone, NULL);
    for (int spoils = 0; spoils < 2; spoils++) {
        job j = {.spoils = spoils};
        local_world *w = local_world_new(2);
        local_run(w, 0, train_on, &j);
        local_world_free(w);
        for (int r = 0; r < 2; r++) {
            if (!spoils)
                assert_true(same_store(wg_trainer_store(alone), j.store[r], true) > 100);
            wg_store_free(j.store[r]);
        }
    }
    wg_trainer_free(alone);
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static void refused_with(wg_parameter_group group, wg_status status, const char *words)
{
    wg_trainer_options o = of_adversaries(NULL);
    o.groups = &group;
    o.n_groups = 1;
    refused(&o, status, words);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    refused_with((wg_parameter_group){.names = "generator/*", .loss = "gen"}, WG_EINVAL,
                 "group 0: expected a metric of the model as its loss, got 'gen', of: generator");
    refused_with((wg_parameter_group){.names = "generator/*", .every = -1}, WG_EINVAL,
                 "group 0: every: expected 0 or more, got -1");
    refused_with((wg_parameter_group){.names = "critic/*", .frozen = true, .rate = 2}, WG_EINVAL,
                 "group 0: frozen parameters have no loss, rate, decay or turn of their own");
    refused_with((wg_parameter_group){.names = "critic/*", .frozen = true, .loss = "generator"},
                 WG_EINVAL,
                 "group 0: frozen parameters have no loss, rate, decay or turn of their own");
    refused_with((wg_parameter_group){.names = "*", .every = 2}, WG_EINVAL,
                 "all parameters rest in some updates");
    wg_parameter_group all[70] = {[66].every = 2};
    for (int i = 0; i < 70; i++)
        all[i].names = "*";
    wg_trainer_options o = of_adversaries(NULL);
    o.groups = all;
    o.n_groups = 70;
    refused(&o, WG_EINVAL, "group 66: expected groups that rest among the first 63");
    all[66].every = 0;
    all[63].every = 2; /* the first that is too far behind */
    refused(&o, WG_EINVAL, "group 63: expected groups that rest among the first 63");
    o.n_groups = 2;
    refused(&o, WG_EINVAL, "group 1: all parameters called '*' are in earlier groups");
}

static wg_value *independent(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *x = wg_step_input(step, "x");
    wg_value *a = wg_dense("a", x, 2, 0), *b = wg_dense("b", x, 2, 0);
    wg_step_metric(step, "of_b", wg_mean(b, WG_ALL_AXES, WG_DROP), WG_LESS_IS_BETTER);
    return wg_mean(wg_square(a), WG_ALL_AXES, WG_DROP);
}

static void a_loss_must_depend_on_its_parameters(void **state)
{
    (void)state;
    const wg_parameter_group wrong = {.names = "a/*", .loss = "of_b"};
    wg_trainer_options o = of_adversaries(NULL);
    o.model = independent;
    o.groups = &wrong;
    refused(&o, WG_EINVAL, "group 0: its loss, 'of_b', depends on none of its parameters, 'a/*'");
}

static void another_interval_is_another_run(void **state)
{
    (void)state;
    char path[400];
    snprintf(path, sizeof path, "%s", path_of("run"));
    wg_trainer_options o = of_adversaries(path);
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    wg_trainer_free(t);
    wg_parameter_group other = turns[0];
    o.groups = &other;
    other.every = 2;
    refused(&o, WG_EINVAL,
            "parameter groups: expected \"generator/*\" rate 0.5 decay 0 loss "
            "generator every 3");
    other = turns[0];
    other.loss = NULL;
    refused(&o, WG_EINVAL, "parameter groups");
    clear("run");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_networks_train_as_by_hand),
        cmocka_unit_test(groups_of_several_intervals_take_their_turns),
        cmocka_unit_test(averages_of_resting_parameters_go_on),
        cmocka_unit_test(a_loss_that_is_not_finite_is_named),
        cmocka_unit_test(an_infinite_loss_of_a_group_changes_nothing),
        cmocka_unit_test(memory_is_tried_for_every_turn),
        cmocka_unit_test(stopped_at_any_update_they_go_on),
        cmocka_unit_test(batches_add_up),
        cmocka_unit_test(ranks_train_as_one),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_loss_must_depend_on_its_parameters),
        cmocka_unit_test(another_interval_is_another_run),
    };
    return cmocka_run_group_tests(tests, make_data, remove_folder);
}
