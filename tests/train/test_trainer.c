/* The trainer of any model: its options, data, limits of memory and shapes of batches do what they
 * say. */
#include "tests/train/classifier.h"
#include "wengert/models/accuracy.h"

/* ---- data ------------------------------------------------------------------------------------ */

static wg_status read_example(void *context, int64_t epoch, int64_t i, void *const *to,
                              wg_error *error)
{
    (void)epoch;
    if (context && i == 7) {
        *error = (wg_error){.status = WG_EIO, .text = "the disk is gone"};
        return WG_EIO;
    }
    memcpy(to[0], xs + i * IN, IN * sizeof(float));
    memcpy(to[1], &labels[i], sizeof(int32_t));
    return WG_OK;
}

/* Fails without saying why. */
static wg_status read_seven(void *context, int64_t epoch, int64_t i, void *const *to,
                            wg_error *error)
{
    return i == 7 ? WG_EIO : read_example(context, epoch, i, to, error);
}

static void examples_that_are_read_train_as_those_in_arrays(void **state)
{
    (void)state;
    wg_examples read = examples;
    read.read = read_example;
    wg_trainer_options o = usual(), p = usual();
    p.train = &read;
    wg_trainer *a = trainer_of(&o), *b = trainer_of(&p);
    run(a, NULL);
    run(b, NULL);
    assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 300);
    wg_trainer_free(a);
    wg_trainer_free(b);
    read.context = &read;
    a = trainer_of(&p);
    assert_int_equal(wg_trainer_run(a, NULL), WG_EIO);
    check_that(strstr(wg_trainer_message(a), "of epoch 1: the disk is gone") != NULL, "%s",
               wg_trainer_message(a));
    wg_trainer_free(a);
    read = (wg_examples){examples.fields, examples.n_fields, examples.count, .batch = 4};
    read.read = read_seven;
    read.order = WG_ORDER_GIVEN;
    a = trainer_of(&p);
    assert_int_equal(wg_trainer_run(a, NULL), WG_EIO);
    char expected[160];
    snprintf(expected, sizeof expected,
             "batch 2 of epoch 1: `read` of example 7 returned \"%s\" without a message",
             wg_status_text(WG_EIO));
    assert_string_equal(wg_trainer_message(a), expected);
    wg_trainer_free(a);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Deep enough that its values are most of its memory.  The context counts calls. */
static wg_value *deep(void *context, const wg_model_step *step)
{
    int *calls = context;
    int64_t features = calls ? 4096 : 8;
    if (calls)
        ++*calls;
    wg_value *h = wg_dense("first", wg_step_input(step, "x"), features, WG_ACTIVATION_TANH);
    for (int i = 0; i < 30; i++)
        h = wg_dropout(wg_tanh(wg_scale(h, 1.1)), 0.05);
    return wg_cross_entropy(wg_dense("logits", h, CLASSES, WG_ACTIVATION_NONE),
                            wg_step_input(step, "label"), NULL, NULL);
}

/* Two shapes of batches, and validation between updates. */
static wg_trainer_options of_deep(void)
{
    wg_trainer_options o = usual();
    o.model = deep;
    o.valid = &examples;
    o.validate = (wg_amount){3, 'u'};
    return o;
}

/* What the message says that would do for one of its plans. */
static size_t least_memory(wg_trainer_options o)
{
    wg_trainer *t;
    wg_error error = {.text = ""};
    o.memory = 2000;
    wg_status status = wg_trainer_create(&t, &o, &error);
    const char *message = error.text;
    if (status == WG_OK) {
        status = wg_trainer_run(t, NULL);
        message = wg_trainer_message(t);
    }
    const char *at = strstr(message, "with recomputation ");
    check_that(status == WG_ENOMEM && at, "status %d: %s", status, message);
    size_t least = strtoull(at + strlen("with recomputation "), NULL, 10);
    wg_trainer_free(t);
    return least;
}

/* Plans of shapes that alternate come to have room beside each other. */
static void a_limit_of_memory_makes_few_plans(void **state)
{
    (void)state;
    int plain = 0, limited = 0;
    wg_trainer_options o = of_deep();
    o.after = (wg_amount){20, 'e'};
    o.context = &plain;
    wg_trainer *a = trainer_of(&o);
    run(a, NULL);
    o.context = &limited;
    o.memory = least_memory(o) + (3 << 20);
    wg_trainer *b = trainer_of(&o);
    run(b, NULL);
    assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 50);
    check_that(limited <= 3 * plain, "the model was built %d times, %d without limit", limited,
               plain);
    wg_trainer_free(a);
    wg_trainer_free(b);
}

static void a_limit_of_memory_changes_no_result(void **state)
{
    (void)state;
    wg_trainer_options o = of_deep(), small = of_deep();
    small.memory = least_memory(small) + 2048;
    wg_trainer *a = trainer_of(&o), *b = trainer_of(&small);
    run(a, NULL);
    run(b, NULL);
    assert_true(same_store(wg_trainer_store(a), wg_trainer_store(b), true) > 50);
    wg_trainer_free(a);
    wg_trainer_free(b);
}

/* ---- updates --------------------------------------------------------------------------------- */

static wg_value *exact_model(void *context, const wg_model_step *step)
{
    wg_value *x = wg_cast(wg_step_input(step, "x"), WG_F64);
    wg_value *logits = wg_dense("logits", x, CLASSES, WG_ACTIVATION_NONE);
    return wg_cross_entropy(logits, wg_step_input(step, "label"), context ? step->total : NULL,
                            NULL);
}

/* Two updates of all 50 examples in order, in batches of that size. */
static wg_trainer *two_updates(int64_t batch, bool of_update)
{
    static wg_examples e;
    e = examples;
    e.order = WG_ORDER_GIVEN;
    e.batch = batch;
    wg_trainer_options o = usual();
    o.model = exact_model;
    o.context = of_update ? &e : NULL;
    o.scale = of_update ? WG_LOSS_OF_UPDATE : WG_LOSS_OF_BATCH;
    o.dtype = WG_F64;
    o.train = &e;
    o.accumulate = (COUNT + batch - 1) / batch;
    o.optimizer = (wg_optimizer){.eps = 1e-3, .clip_norm = 0.2};
    o.after = (wg_amount){2, 'u'};
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    return t;
}

static void batches_of_an_update_add_up_to_one_large_batch(void **state)
{
    (void)state;
    static const int64_t sizes[] = {25, 20, 7}; /* 25+25; 20+20+10; 7 of 7 and one more */
    wg_trainer *whole = two_updates(COUNT, false);
    for (int i = 0; i < WG_COUNT(sizes); i++)
        for (int of_update = 0; of_update < 2; of_update++) {
            wg_trainer *t = two_updates(sizes[i], of_update);
            assert_int_equal(wg_trainer_updates(t), 2);
            assert_true(same_store(wg_trainer_store(whole), wg_trainer_store(t), false) > 60);
            wg_trainer_free(t);
        }
    wg_trainer_free(whole);
}

/* The same accuracy as a mean over the batch, and as a sum divided by the weight of the update;
 * with a context the loss is no such sum. */
static wg_value *measured_model(void *context, const wg_model_step *step)
{
    wg_value *x = wg_step_input(step, "x"), *label = wg_step_input(step, "label");
    wg_value *logits = wg_dense("logits", x, CLASSES, WG_ACTIVATION_NONE);
    wg_value *right = wg_accuracy(logits, label, NULL);
    wg_step_metric(step, "mean", right, WG_MORE_IS_BETTER);
    right = wg_div(wg_scale(right, (double)wg_value_dim(x, 0)), step->total);
    wg_step_metric(step, "sum", right, WG_MORE_IS_BETTER);
    return wg_cross_entropy(logits, label, context ? NULL : step->total, NULL);
}

static void metrics_are_means_whether_losses_are_or_not(void **state)
{
    (void)state;
    wg_examples some = examples; /* the last batch is smaller */
    some.batch = 7;
    wg_trainer_options o = usual();
    o.model = measured_model;
    o.scale = WG_LOSS_OF_UPDATE;
    o.valid = &some;
    o.after = (wg_amount){20, 'u'};
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    assert_int_equal(wg_trainer_validate(t, NULL, NULL), WG_OK);
    const double mean = wg_trainer_metric(t, "mean"), sum = wg_trainer_metric(t, "sum");
    check_that(mean > 0.1 && mean <= 1 && fabs(mean - sum) <= 1e-6, "%g and %g", mean, sum);
    wg_trainer_free(t);
    o.context = &some;
    wg_error error;
    assert_int_equal(wg_trainer_create(&t, &o, &error), WG_EINVAL);
    check_that(strstr(error.text, "expected a loss that is divided by step->total") != NULL, "%s",
               error.text);
}

/* What is asked of no trainer is answered all the same. */
static void no_trainer_is_no_crash(void **state)
{
    (void)state;
    assert_string_equal(wg_trainer_message(NULL), "the trainer is NULL");
    assert_null(wg_trainer_store(NULL));
    assert_null(wg_trainer_graph(NULL, WG_MODE_TRAINING));
    assert_int_equal(wg_trainer_updates(NULL), 0);
    assert_int_equal(wg_trainer_run(NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_trainer_validate(NULL, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_trainer_draw(NULL, "model.svg", NULL), WG_EINVAL);
    assert_null(wg_step_input(NULL, "x"));
    wg_print_event(NULL, &(wg_event){.text = "a line"});
}

/* A value is of one graph, and the model is called for several. */
static wg_value *keeping(void *context, const wg_model_step *step)
{
    wg_value **kept = context, *x = wg_step_input(step, "x");
    if (!*kept)
        *kept = wg_fill(step->graph, WG_F32, WG_SHAPE(IN), 2);
    wg_value *logits = wg_dense("logits", wg_mul(x, *kept), CLASSES, WG_ACTIVATION_NONE);
    return wg_cross_entropy(logits, wg_step_input(step, "label"), NULL, NULL);
}

static wg_value *updating(void *context, const wg_model_step *step)
{
    wg_value *loss = classifier(context, step), *rate = wg_fill(step->graph, WG_F32, WG_SCALAR, 1);
    wg_gradients d = wg_grad_all(loss);
    wg_sgd_update(d.params, d.grads, d.n, rate, NULL);
    return loss;
}

static void an_optimizer_in_the_model_is_an_error(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.model = updating;
    refused(&o, WG_EINVAL, "the model assigns to hidden/weight, which the trainer updates");
    refused(&o, WG_EINVAL, "(test_trainer.c:");
}

static void a_value_kept_from_call_to_call_is_an_error(void **state)
{
    (void)state;
    wg_value *kept = NULL;
    wg_trainer_options o = usual();
    o.model = keeping;
    o.context = &kept;
    refused(&o, WG_EINVAL, "another graph");
}

/* One step of SGD: the gradient times the rate of each group. */
static void groups_have_rates_and_decays_of_their_own(void **state)
{
    (void)state;
    static const wg_parameter_group some[] = {{.names = "hidden/weight", .frozen = true},
                                              {.names = "*bias", .rate = 3},
                                              {.names = "log*", .rate = 1, .weight_decay = 0.5}};
    float start[HIDDEN * IN], w[CLASSES * HIDDEN], b[CLASSES], moved[2];
    wg_trainer_options o = usual();
    o.optimizer.kind = WG_OPTIMIZER_SGD;
    o.after.n = 1;
    for (int i = 0; i < 2; i++) {
        o.groups = some;
        o.n_groups = i ? 3 : 0;
        wg_trainer *t = trainer_of(&o);
        memcpy(start, tensor(t, "hidden/weight"), sizeof start);
        memcpy(w, tensor(t, "logits/weight"), sizeof w);
        memcpy(b, tensor(t, "logits/bias"), sizeof b);
        run(t, NULL);
        bool same = memcmp(start, tensor(t, "hidden/weight"), sizeof start) == 0;
        assert_int_equal(same, i);
        float db = tensor(t, "logits/bias")[0] - b[0], dw = tensor(t, "logits/weight")[0] - w[0];
        if (i) {
            check_that(fabsf(db - 3 * moved[0]) <= 1e-6f, "bias %g, not 3 times %g", (double)db,
                       (double)moved[0]);
            check_that(fabsf(dw - moved[1] + 0.01f * 0.5f * w[0]) <= 1e-6f, "weight %g, %g, %g",
                       (double)dw, (double)moved[1], (double)w[0]);
        }
        assert_true(fabsf(db) > 1e-5f && fabsf(dw) > 1e-6f);
        moved[0] = db;
        moved[1] = dw;
        wg_trainer_free(t);
    }
    static const wg_parameter_group none[] = {{.names = "encoder*", .rate = 1}};
    o.groups = none;
    o.n_groups = 1;
    refused(&o, WG_EINVAL, "group 0: no parameter is called 'encoder*'");
}

static void a_graph_with_a_loss_is_trained_as_its_function(void **state)
{
    (void)state;
    wg_examples whole = examples;
    whole.last = WG_LAST_DROPPED;
    wg_graph *g = wg_graph_new();
    wg_value *inputs[] = {wg_input(g, "x", WG_F32, WG_SHAPE(8, IN)),
                          wg_input(g, "label", WG_I32, WG_SHAPE(8))};
    wg_value *logits = wg_dense("logits", inputs[0], CLASSES, WG_ACTIVATION_NONE);
    wg_value *loss = wg_cross_entropy(logits, inputs[1], NULL, NULL);
    wg_output(wg_exp(loss), "perplexity");
    wg_trainer_options o = usual();
    o.model = NULL;
    o.loss = loss;
    o.train = &whole;
    o.valid = &whole;
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    const wg_metric *m;
    size_t n;
    check_that(wg_trainer_validate(t, &m, &n) == WG_OK, "%s", wg_trainer_message(t));
    assert_true(n == 2 && strcmp(m[0].name, "loss") == 0 && strcmp(m[1].name, "perplexity") == 0);
    assert_true(m[0].value > 0.3 && m[0].value < 1.2 && m[1].value >= exp(m[0].value) - 1e-4);
    assert_true(wg_trainer_metric(t, "loss") == m[0].value);
    assert_true(wg_trainer_metric(t, "perplexity") == m[1].value);
    assert_true(isnan(wg_trainer_metric(t, "accuracy")));
    assert_int_equal(wg_trainer_validate(t, NULL, NULL), WG_OK);
    assert_true(wg_trainer_metric(t, "loss") == m[0].value); /* the same once more */
    wg_trainer_free(t);
    o.train = &examples; /* its last batch is smaller */
    refused(&o, WG_ESHAPE, "batch 7: wg_trainer: the batches have x as f32[2,6], the graph as ");
    o.after.n = 6; /* which does not come to it */
    t = trainer_of(&o);
    run(t, NULL);
    wg_trainer_free(t);
    wg_graph_free(g);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Sequences of numbers: batch i of the epoch has rows of length 2 + (epoch + i) % 3. */
static wg_status describe_rows(void *context, int64_t epoch, int64_t i, wg_shape *shapes,
                               wg_batch_size *size, wg_error *error)
{
    (void)context;
    (void)error;
    shapes[0] = WG_SHAPE(4, 2 + (epoch + i) % 3);
    *size = (wg_batch_size){.weight = wg_shape_count(&shapes[0]), .examples = 4};
    return WG_OK;
}

static wg_status fill_rows(void *context, int64_t epoch, int64_t i, void *const *to,
                           wg_error *error)
{
    (void)context;
    (void)error;
    float *x = to[0];
    for (int64_t k = 0; k < 4 * (2 + (epoch + i) % 3); k++)
        x[k] = 3;
    return WG_OK;
}

static int built;

/* The mean of (x - w)^2: w becomes 3. */
static wg_value *constant(void *context, const wg_model_step *step)
{
    (void)context;
    built++;
    wg_value *w = wg_parameter(step->graph, "w", WG_F32, WG_SCALAR, wg_zeros());
    return wg_mean(wg_square(wg_sub(step->inputs[0], w)), WG_ALL_AXES, WG_DROP);
}

/* Of validation the model alone, without dropout; of training the whole update. */
static void the_graph_of_a_trainer_is_the_one_it_runs(void **state)
{
    (void)state;
    wg_examples other = examples;
    other.batch = 5;
    wg_trainer_options o = usual();
    o.valid = &other;
    wg_trainer *t = trainer_of(&o);
    for (int mode = WG_MODE_INFERENCE; mode <= WG_MODE_TRAINING; mode++) {
        bool training = mode == WG_MODE_TRAINING;
        wg_graph *g = wg_trainer_graph(t, (wg_mode)mode);
        check_that(g != NULL, "%s", wg_trainer_message(t));
        assert_int_equal(wg_graph_find(g, "x")->shape.dim[0], training ? 8 : 5);
        assert_int_equal(wg_graph_parameters(g, NULL, 0), 4);
        assert_int_equal(wg_graph_assign_count(g) > 0, training);
        bool drops = false;
        for (size_t i = 0; i < wg_graph_node_count(g); i++)
            drops |= strcmp(wg_graph_node(g, i)->op->name, "dropout") == 0;
        assert_int_equal(drops, training);
        static const char *const outputs[] = {"accuracy", "loss", "gradient norm"};
        assert_int_equal(wg_graph_output_count(g), training ? 3 : 2);
        for (size_t i = 0; i < wg_graph_output_count(g); i++)
            assert_string_equal(wg_graph_output_name(g, i), outputs[i]);
        wg_graph_free(g);
    }
    wg_trainer_free(t);
    o.valid = NULL;
    t = trainer_of(&o);
    wg_graph *g = wg_trainer_graph(t, WG_MODE_INFERENCE);
    assert_int_equal(wg_graph_find(g, "x")->shape.dim[0], 8);
    wg_graph_free(g);
    wg_trainer_free(t);
}

/* As the text of the graph, which needs no Graphviz; and what goes wrong is said. */
static void a_trainer_draws_its_model(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    wg_trainer *t = trainer_of(&o);
    check_that(wg_trainer_draw(t, path_of("model.wg"), NULL) == WG_OK, "%s", wg_trainer_message(t));
    size_t size;
    char *text = read_bytes(path_of("model.wg"), &size);
    assert_non_null(strstr(text, "'logits/weight'"));
    assert_null(strstr(text, "dropout")); /* the model alone */
    assert_null(strstr(text, "adam"));
    free(text);
    assert_int_equal(wg_trainer_draw(t, path_of("model.gif"), NULL), WG_EINVAL);
    assert_non_null(strstr(wg_trainer_message(t), "model.gif: expected a file name that ends in"));
    assert_int_equal(wg_trainer_draw(t, path_of("none/model.wg"), NULL), WG_EIO);
    assert_non_null(strstr(wg_trainer_message(t), "none/model.wg"));
    wg_trainer_free(t);
}

static void each_shape_has_one_plan(void **state)
{
    (void)state;
    static const wg_field field = {.name = "x", .dtype = WG_F32};
    const wg_source source = {&field, 1, 5, describe_rows, fill_rows, NULL, 0, NULL};
    wg_trainer_options o = {.model = constant,
                            .train_source = &source,
                            .valid_source = &source,
                            .schedule = {WG_SCHEDULE_LINEAR, .rate = 0.2},
                            .after = {3000, 't'}};
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    assert_int_equal(built, 3);
    assert_true(fabsf(tensor(t, "w")[0] - 3) <= 1e-3f);
    assert_true(t->progress.weight >= 3000 && t->progress.weight < 3016);
    assert_int_equal(t->progress.examples, 4 * wg_trainer_updates(t));
    const wg_metric *m;
    size_t n;
    assert_int_equal(wg_trainer_validate(t, &m, &n), WG_OK);
    assert_int_equal(built, 6);
    wg_trainer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_that_are_read_train_as_those_in_arrays),
        cmocka_unit_test(a_limit_of_memory_changes_no_result),
        cmocka_unit_test(a_limit_of_memory_makes_few_plans),
        cmocka_unit_test(batches_of_an_update_add_up_to_one_large_batch),
        cmocka_unit_test(metrics_are_means_whether_losses_are_or_not),
        cmocka_unit_test(no_trainer_is_no_crash),
        cmocka_unit_test(a_value_kept_from_call_to_call_is_an_error),
        cmocka_unit_test(an_optimizer_in_the_model_is_an_error),
        cmocka_unit_test(groups_have_rates_and_decays_of_their_own),
        cmocka_unit_test(a_graph_with_a_loss_is_trained_as_its_function),
        cmocka_unit_test(the_graph_of_a_trainer_is_the_one_it_runs),
        cmocka_unit_test(a_trainer_draws_its_model),
        cmocka_unit_test(each_shape_has_one_plan),
    };
    return cmocka_run_group_tests(tests, make_data, remove_folder);
}
