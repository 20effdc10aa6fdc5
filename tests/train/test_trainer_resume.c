/* The trainer of any model: stopped at any update a run goes on as if it had not been, and what
 * would make it another run is refused. */
#include "tests/stopper.h"
#include "tests/train/classifier.h"
#include "wengert/files/weights.h"

static const wg_parameter_group groups[] = {{.names = "*bias", .rate = 2},
                                            {.names = "logits*", .rate = 0.5, .weight_decay = 0.1}};

/* Whatever a run may have: dropout, batches of two sizes, two of them in an update, groups, an
 * average, validation. */
static wg_trainer_options rich(const char *path, int updates)
{
    wg_trainer_options o = usual();
    o.valid = &examples;
    o.accumulate = 2;
    o.optimizer = (wg_optimizer){.kind = WG_OPTIMIZER_ADAMW, .weight_decay = 0.01, .clip_norm = 1};
    o.schedule = (wg_schedule){WG_SCHEDULE_COSINE, .rate = 0.02, .warmup = 3};
    o.groups = groups;
    o.n_groups = 2;
    o.average = 0.1;
    o.after = (wg_amount){updates, 'u'};
    o.validate = (wg_amount){3, 'u'};
    o.save = (wg_amount){5, 'u'};
    o.metrics = "accuracy loss";
    o.folder = path;
    return o;
}

static void a_run_stopped_at_any_update_goes_on_as_if_it_had_not(void **state)
{
    (void)state;
    enum { UPDATES = 50 };
    char whole[400], cut[400];
    snprintf(whole, sizeof whole, "%s", path_of("whole"));
    snprintf(cut, sizeof cut, "%s", path_of("cut"));
    wg_trainer_options o = rich(whole, UPDATES), p = rich(cut, UPDATES);
    wg_trainer *a = trainer_of(&o), *b;
    run(a, NULL);
    for (int64_t k = 1; k < UPDATES; k++) {
        stopper s = {k, 0};
        clear("cut");
        p.listener = (wg_listener){stop_at, &s};
        b = trainer_of(&p);
        run(b, &s.stop);
        assert_int_equal(wg_trainer_updates(b), k);
        wg_trainer_free(b);
        p.listener = (wg_listener){NULL, NULL};
        b = trainer_of(&p);
        assert_int_equal(wg_trainer_updates(b), k);
        run(b, NULL);
        assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 300);
        wg_trainer_free(b);
        static const char *const files[] = {WG_FILE_MODEL, WG_FILE_AVERAGE, WG_FILE_OPTIMIZER,
                                            "best-accuracy.safetensors", "best-loss.safetensors"};
        for (int i = 0; i < WG_COUNT(files); i++)
            same_file("whole", "cut", files[i]);
    }
    wg_trainer_free(a);
    clear("whole");
    clear("cut");
}

/* The classifier with another name for its hidden layer, and without dropout and metric. */
static wg_value *renamed(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *h = wg_dense("concealed", wg_step_input(step, "x"), HIDDEN, WG_ACTIVATION_RELU);
    wg_value *logits = wg_dense("logits", h, CLASSES, WG_ACTIVATION_NONE);
    return wg_cross_entropy(logits, wg_step_input(step, "label"), NULL, NULL);
}

/* One that has a layer more. */
static wg_value *deeper(void *context, const wg_model_step *step)
{
    return wg_add(classifier(context, step),
                  wg_mean(wg_dense("more", wg_step_input(step, "x"), 1, WG_ACTIVATION_NONE),
                          WG_ALL_AXES, WG_DROP));
}

/* What a model has otherwise is named, tensor by tensor. */
static void another_model_is_refused_with_the_names_of_what_differs(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.folder = path_of("model");
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    wg_trainer_free(t);
    wg_trainer_options p = o;
    p.model = renamed;
    refused(&p, WG_EINVAL, "model: expected 4 tensors of 103 numbers (");
    refused(&p, WG_EINVAL, "tensor concealed/weight: expected F32 [10,6], got none");
    refused(&p, WG_EINVAL, "tensor hidden/bias: expected none");
    p.model = deeper;
    refused(&p, WG_EINVAL, "tensor more/bias: expected F32 [1], got none");
    p = o;
    p.after.n++;
    t = trainer_of(&p);
    assert_int_equal(wg_trainer_updates(t), 12);
    wg_trainer_free(t);
    clear("model");
}

static void other_settings_data_or_models_are_refused(void **state)
{
    (void)state;
    static float other_xs[COUNT * IN];
    const wg_field other_fields[] = {{"x", WG_F32, {1, {IN}}, other_xs}, fields[1]};
    wg_examples other = examples;
    other.fields = other_fields;
    wg_trainer_options o = rich(path_of("changed"), 4);
    wg_trainer *t = trainer_of(&o);
    refused(&o, WG_EIO, "changed"); /* one at a time */
    run(t, NULL);
    wg_trainer_free(t);
    wg_trainer_options p = o;
    p.seed = 4;
    refused(&p, WG_EINVAL, "seed: expected 3, as at the start of this run, got 4");
    p = o;
    p.optimizer.clip_norm = 0;
    refused(&p, WG_EINVAL, "optimizer: expected AdamW, beta1 0.9, beta2 0.999, eps 1e-08, ");
    p = o;
    p.train = &other;
    refused(&p, WG_EINVAL, "the training data: expected those that this run started with");
    other = examples;
    other.batch = examples.batch - 1;
    p = o;
    p.train = &other;
    refused(&p, WG_EINVAL, " in a batch, ");
    other = examples;
    other.seed = 77;
    refused(&p, WG_EINVAL, "shuffled by seed 77");
    other.order = WG_ORDER_GIVEN;
    refused(&p, WG_EINVAL, "in the given order");
    p = o;
    p.valid = &other;
    other = *o.valid;
    other.count--;
    refused(&p, WG_EINVAL, "validation data: expected hash ");
    p = o;
    p.groups = &(wg_parameter_group){.names = "*bias", .frozen = true};
    p.n_groups = 1;
    refused(&p, WG_EINVAL, "parameter groups: expected \"*bias\" rate 2 decay 0; ");
    refused(&p, WG_EINVAL, "got \"*bias\" rate 1 decay 0 frozen");
    p = o;
    p.schedule.updates = 99;
    refused(&p, WG_EINVAL, "updates of the schedule: expected those of the run, as at");
    p = o;
    p.after.n = 6;           /* which may change */
    p.optimizer.beta1 = 0.9; /* these are the defaults, written out */
    p.optimizer.beta2 = 0.999;
    p.optimizer.eps = 1e-8;
    t = trainer_of(&p);
    assert_int_equal(wg_trainer_updates(t), 4);
    run(t, NULL);
    assert_int_equal(wg_trainer_updates(t), 6);
    wg_trainer_free(t);
    p.overwrite = true;
    t = trainer_of(&p);
    assert_int_equal(wg_trainer_updates(t), 0);
    wg_trainer_free(t);
    clear("changed");
}

/* Between two updates, so that no call of the system is in progress. */
static void a_folder_that_is_gone_is_not_made_anew(void **state)
{
    (void)state;
    char there[400], elsewhere[400];
    snprintf(there, sizeof there, "%s", path_of("there"));
    snprintf(elsewhere, sizeof elsewhere, "%s", path_of("elsewhere"));
    for (int stays = 0; stays < 2; stays++) {
        stopper s = {3, 0};
        wg_trainer_options o = rich(there, 6);
        o.validate.n = stays ? 0 : 4; /* which would save the best model */
        o.metrics = NULL;
        o.listener = (wg_listener){stop_at, &s};
        wg_trainer *t = trainer_of(&o);
        run(t, &s.stop);
        assert_int_equal(rename(there, elsewhere), 0);
        assert_int_equal(wg_trainer_run(t, NULL), WG_EIO);
        check_that(strstr(wg_trainer_message(t), "it was renamed or removed"), "%s",
                   wg_trainer_message(t));
        wg_trainer_free(t);
        assert_int_not_equal(access(there, F_OK), 0);
        o.folder = elsewhere;
        o.listener = (wg_listener){NULL, NULL};
        t = trainer_of(&o);
        assert_int_equal(wg_trainer_updates(t), 3);
        wg_trainer_free(t);
        clear("elsewhere");
    }
}

/* ---- states beside averages ------------------------------------------------------------------ */

/* A layer that is not trained, one with states. */
static wg_value *normalised(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *h = wg_dense("body", wg_step_input(step, "x"), HIDDEN, WG_ACTIVATION_TANH);
    h = wg_batchnorm_layer("norm", h, step->mode == WG_MODE_TRAINING, NULL);
    wg_value *logits = wg_dense("logits", h, CLASSES, WG_ACTIVATION_NONE);
    return wg_cross_entropy(logits, wg_step_input(step, "label"), NULL, NULL);
}

static wg_trainer_options averaged(const char *path, int64_t updates)
{
    static const wg_parameter_group body = {.names = "body*", .frozen = true};
    wg_trainer_options o = usual();
    o.model = normalised;
    o.groups = &body;
    o.n_groups = 1;
    o.average = 0.3;
    o.after = (wg_amount){updates, 'u'};
    o.folder = path;
    return o;
}

/* Averages of what is trained; states, and what is not, as they are. */
static void the_file_of_averages_is_a_model(void **state)
{
    (void)state;
    char path[500];
    snprintf(path, sizeof path, "%s", path_of("averaged"));
    wg_trainer_options o = averaged(path, 9);
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    snprintf(path, sizeof path, "%s/" WG_FILE_AVERAGE, path_of("averaged"));
    wg_store *store = wg_store_new(1);
    wg_error error;
    check_that(wg_store_load(store, path, &error) == WG_OK, "%s", error.text);
    static const struct {
        const char *name, *in_run;
    } tensors[] = {{"body/weight", "body/weight"},
                   {"body/bias", "body/bias"},
                   {"norm/gain", "average/norm/gain"},
                   {"norm/bias", "average/norm/bias"},
                   {"norm/running_mean", "norm/running_mean"},
                   {"norm/running_var", "norm/running_var"},
                   {"logits/weight", "average/logits/weight"},
                   {"logits/bias", "average/logits/bias"}};
    assert_int_equal(wg_store_count(store), WG_COUNT(tensors));
    for (int i = 0; i < WG_COUNT(tensors); i++) {
        const wg_tensor *x = wg_store_find(store, tensors[i].name);
        check_that(x != NULL, "no tensor %s", tensors[i].name);
        assert_memory_equal(x->data, tensor(t, tensors[i].in_run),
                            (size_t)wg_shape_count(&x->shape) * sizeof(float));
    }
    wg_store_free(store);
    wg_trainer_free(t);
    clear("averaged");
}

static void a_run_with_states_goes_on_as_if_it_had_not_stopped(void **state)
{
    (void)state;
    enum { UPDATES = 9 };
    wg_trainer_options o = averaged(NULL, UPDATES), p;
    wg_trainer *a = trainer_of(&o), *b;
    run(a, NULL);
    for (int64_t k = 1; k < UPDATES; k++) {
        p = averaged(path_of("cut"), k);
        b = trainer_of(&p);
        run(b, NULL);
        wg_trainer_free(b);
        p.after.n = UPDATES;
        b = trainer_of(&p);
        assert_int_equal(wg_trainer_updates(b), k);
        run(b, NULL);
        assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 200);
        wg_trainer_free(b);
        clear("cut");
    }
    wg_trainer_free(a);
}

enum { SCALARS = 32768 }; /* with two moments of each, and the number of updates */

static wg_value *many_scalars(void *context, const wg_model_step *step)
{
    static wg_value *list[SCALARS];
    char name[20];
    for (int i = 0; i < SCALARS; i++) {
        snprintf(name, sizeof name, "scalar%d", i);
        list[i] = wg_parameter(step->graph, name, WG_F32, WG_SCALAR, wg_zeros());
    }
    wg_value *squares = wg_square(wg_stack(list, SCALARS, 0));
    return wg_add(classifier(context, step), wg_sum(squares, WG_ALL_AXES, WG_DROP));
}

/* A file holds 65536 tensors: found out before a first update, not when the run is resumed. */
static void a_model_of_too_many_tensors_to_save_is_refused_at_once(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.model = many_scalars;
    o.folder = path_of("many");
    refused(&o, WG_EUNSUPPORTED,
            "many/optimizer.safetensors: expected at most 65536 tensors and as many notes, got ");
    clear("many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_stopped_at_any_update_goes_on_as_if_it_had_not),
        cmocka_unit_test(another_model_is_refused_with_the_names_of_what_differs),
        cmocka_unit_test(other_settings_data_or_models_are_refused),
        cmocka_unit_test(a_folder_that_is_gone_is_not_made_anew),
        cmocka_unit_test(the_file_of_averages_is_a_model),
        cmocka_unit_test(a_run_with_states_goes_on_as_if_it_had_not_stopped),
        cmocka_unit_test(a_model_of_too_many_tensors_to_save_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, make_data, remove_folder);
}
