/* The course of a trainer's run: what it tells, when it ends, from which weights it starts; and
 * what it cannot do is refused in words. */
#include "tests/stopper.h"
#include "tests/train/classifier.h"

/* ---- the course of a run --------------------------------------------------------------------- */

typedef struct heard {
    int kinds[5];
    char valid[400], display[400], note[400];
} heard;

static void hear(void *context, const wg_event *e)
{
    heard *h = context;
    h->kinds[e->kind]++;
    if (e->kind == WG_EVENT_VALID)
        snprintf(h->valid, sizeof h->valid, "%s", e->text);
    if (e->kind == WG_EVENT_DISPLAY)
        snprintf(h->display, sizeof h->display, "%s", e->text);
    if (e->kind == WG_EVENT_NOTE)
        snprintf(h->note, sizeof h->note, "%s", e->text);
}

static void events_are_printed_as_lines(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    wg_print_event(file, &(wg_event){.kind = WG_EVENT_NOTE, .text = "50 % of it"});
    wg_print_event(file, &(wg_event){.kind = WG_EVENT_UPDATE, .text = ""});
    wg_print_event(file, &(wg_event){.kind = WG_EVENT_SAVED, .text = "saved"});
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, "50 % of it\nsaved\n");
    free(text);
}

/* A parameter in a scope that is called like the optimizer's, sums of gradients, an average, and a
 * state of the model. */
static wg_value *with_an_optimizer(void *context, const wg_model_step *step)
{
    wg_graph *g = step->graph;
    wg_scope_push(g, "my_optimizer");
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(5), wg_ones());
    wg_scope_pop(g);
    wg_value *n = wg_state(g, "seen", WG_F32, WG_SHAPE(7), wg_zeros());
    if (step->mode == WG_MODE_TRAINING)
        wg_assign(n, wg_shift(n, 1));
    return wg_add(classifier(context, step), wg_sum(wg_square(w), WG_ALL_AXES, WG_DROP));
}

static void parameters_are_counted_and_nothing_else(void **state)
{
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        heard h = {{0}, "", "", ""};
        wg_trainer_options o = usual();
        o.model = with_an_optimizer;
        o.average = 0.1;
        o.accumulate = 3;
        o.memory = limited ? 1 << 30 : 0;
        o.listener = (wg_listener){hear, &h};
        wg_trainer_free(trainer_of(&o));
        check_that(strstr(h.note, "; 108 parameters"), "%s", h.note); /* 10 * 7 + 3 * 11 + 5 */
    }
}

enum { MOST_UPDATES = 20 };

typedef struct course {
    int n;
    double rate[MOST_UPDATES], done[MOST_UPDATES];
} course;

static void follow(void *context, const wg_event *e)
{
    course *c = context;
    if (e->kind != WG_EVENT_UPDATE)
        return;
    assert_true(c->n < MOST_UPDATES);
    c->rate[c->n] = e->rate;
    c->done[c->n++] = e->done;
}

/* Of epochs of 7 batches, two an update; and of examples, of which the last batch has more than
 * are left. */
static void each_update_has_its_rate_and_its_place(void **state)
{
    (void)state;
    const wg_amount ends[] = {{2, 'e'}, {8, 'u'}, {20, 't'}};
    const int updates[] = {8, 8, 3};
    for (int i = 0; i < WG_COUNT(ends); i++) {
        course c = {.n = 0};
        wg_trainer_options o = usual();
        o.schedule = (wg_schedule){WG_SCHEDULE_LINEAR, .rate = 0.01};
        o.accumulate = ends[i].unit == 't' ? 1 : 2;
        o.after = ends[i];
        o.listener = (wg_listener){follow, &c};
        wg_trainer *t = trainer_of(&o);
        run(t, NULL);
        wg_trainer_free(t);
        assert_int_equal(c.n, updates[i]);
        const wg_schedule whole = {WG_SCHEDULE_LINEAR, .rate = 0.01, .updates = c.n};
        for (int k = 0; k < c.n; k++) {
            double done = ends[i].unit == 't' ? fmin(1, 8 * (k + 1) / 20.) : (k + 1.) / c.n;
            check_that(fabs(c.done[k] - done) <= 1e-15, "%c: %g is done after update %d",
                       ends[i].unit, c.done[k], k + 1);
            if (ends[i].unit != 't')
                check_that(c.rate[k] == wg_schedule_rate(&whole, k + 1), "%c: rate %g of update %d",
                           ends[i].unit, c.rate[k], k + 1);
        }
    }
}

/* The seconds of a run are those of all processes that took part. */
static void seconds_go_on_where_a_run_was_stopped(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.folder = path_of("timed");
    o.after = (wg_amount){1, 'u'};
    wg_trainer *t = trainer_of(&o);
    t->seconds_until = 1000; /* as if it had taken so long */
    run(t, NULL);
    wg_trainer_free(t);
    o.after = (wg_amount){2, 'u'};
    t = trainer_of(&o);
    run(t, NULL);
    check_that(t->progress.seconds > 1000, "%g s", t->progress.seconds);
    wg_trainer_free(t);
    clear("timed");
}

static void an_end_beyond_all_numbers_is_far_away(void **state)
{
    (void)state;
    static const char units[] = {'e', 'u', 't'};
    for (int i = 0; i < WG_COUNT(units); i++) {
        stopper s = {1, 0};
        wg_trainer_options o = usual();
        o.schedule = (wg_schedule){WG_SCHEDULE_LINEAR, .rate = 0.01};
        o.after = (wg_amount){INT64_MAX / 4, units[i]};
        o.listener = (wg_listener){stop_at, &s};
        wg_trainer *t = trainer_of(&o);
        run(t, &s.stop);
        assert_int_equal(wg_trainer_updates(t), 1);
        check_that(fabs(t->span.rate - 0.01) < 1e-12, "after %lld%c, the rate is %g",
                   (long long)o.after.n, units[i], t->span.rate);
        wg_trainer_free(t);
    }
}

static void a_run_that_does_not_improve_ends(void **state)
{
    (void)state;
    static const wg_parameter_group all = {.names = "hidden*", .rate = 1};
    heard h = {{0}, "", "", ""};
    wg_trainer_options o = usual();
    o.schedule = (wg_schedule){WG_SCHEDULE_CONSTANT, .rate = 1e-30};
    o.groups = &all;
    o.n_groups = 1;
    o.valid = &examples;
    o.validate = (wg_amount){2, 'u'};
    o.report = (wg_amount){1, 'u'};
    o.patience = 3;
    o.after = (wg_amount){5, 'e'};
    o.metrics = "accuracy, loss"; /* the first one decides, and is told alone */
    o.folder = path_of("still");
    o.listener = (wg_listener){hear, &h};
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    assert_int_equal(wg_trainer_updates(t), 8);
    assert_string_equal(h.note, "early stopping: accuracy has stalled as often as patience allows");
    assert_true(h.kinds[WG_EVENT_VALID] == 4 && h.kinds[WG_EVENT_DISPLAY] == 8 &&
                h.kinds[WG_EVENT_UPDATE] == 8 && h.kinds[WG_EVENT_SAVED] == 1);
    check_that(strstr(h.valid, "validation: loss ") && strstr(h.valid, ", accuracy ") &&
                   strstr(h.valid, "; accuracy stalled 3 times (best ") &&
                   strstr(h.valid, " at update 2)") && !strstr(h.valid, "loss stalled"),
               "%s", h.valid);
    check_that(strstr(h.display, "epoch 2 (batch 1 of 7), update 8: loss ") &&
                   strstr(h.display, " examples/s, gradient norm "),
               "%s", h.display);
    wg_trainer_free(t);
    same_file("still", "still", "best-accuracy.safetensors");
    same_file("still", "still", "best-loss.safetensors");
    size_t size, lines = 0;
    char *text = read_bytes(path_of("still/metrics.jsonl"), &size);
    for (char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 8 + 4 + 1);
    check_that(
        strstr(text, "{\"kind\":\"train\",\"update\":1,\"epoch\":0.142857143,\"examples\":8,") &&
            strstr(text, "\"accuracy\":0.") && strstr(text, "\"examples-per-second\":"),
        "%s", text);
    free(text);
    clear("still");
}

/* The end that the options tell beforehand is no early stopping, though both come at once. */
static void an_end_by_length_is_not_told_as_early_stopping(void **state)
{
    (void)state;
    heard h = {{0}, "", "", ""};
    wg_trainer_options o = usual();
    o.after = (wg_amount){2, 'u'};
    o.listener = (wg_listener){hear, &h};
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    assert_int_equal(wg_trainer_updates(t), 2);
    check_that(!strstr(h.note, "early stopping"), "%s", h.note);
    wg_trainer_free(t);
}

/* From the weights of another run; its optimizer begins anew, and its averages begin there. */
static void a_run_starts_from_the_weights_of_another(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.folder = path_of("first");
    wg_trainer *a = trainer_of(&o);
    run(a, NULL);
    char weights[500];
    snprintf(weights, sizeof weights, "%s/" WG_FILE_MODEL, path_of("first"));
    o.folder = NULL;
    o.pretrained = weights;
    o.average = 0.1;
    wg_trainer *b = trainer_of(&o);
    assert_int_equal(wg_trainer_updates(b), 0);
    assert_memory_equal(tensor(a, "logits/weight"), tensor(b, "average/logits/weight"),
                        CLASSES * HIDDEN * sizeof(float));
    assert_memory_equal(tensor(a, "logits/weight"), tensor(b, "logits/weight"),
                        CLASSES * HIDDEN * sizeof(float));
    assert_true(tensor(b, "optimizer/m/logits/weight")[0] == 0);
    run(b, NULL);
    wg_trainer_free(a);
    wg_trainer_free(b);
    clear("first");
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static wg_value *misspelt(void *context, const wg_model_step *step)
{
    (void)context;
    return wg_mean(wg_step_input(step, "y"), WG_ALL_AXES, WG_DROP);
}

static wg_value *logarithm(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *w = wg_parameter(step->graph, "w", WG_F32, WG_SHAPE(IN), wg_zeros());
    wg_value *x = wg_log(wg_sub(wg_step_input(step, "x"), wg_shift(w, 2)));
    return wg_mean(x, WG_ALL_AXES, WG_DROP);
}

static wg_value *vector(void *context, const wg_model_step *step)
{
    (void)context;
    return wg_step_input(step, "x");
}

static wg_value *untrained(void *context, const wg_model_step *step)
{
    (void)context;
    return wg_mean(wg_step_input(step, "x"), WG_ALL_AXES, WG_DROP);
}

static wg_value *nothing(void *context, const wg_model_step *step)
{
    (void)context;
    (void)step;
    return NULL;
}

static wg_value *stray(void *context, const wg_model_step *step)
{
    (void)wg_input(step->graph, "unread", WG_F32, WG_SHAPE(3)); /* which does no harm */
    wg_value *mask = wg_input(step->graph, "mask", WG_F32, WG_SCALAR);
    return wg_mul(classifier(context, step), mask);
}

static void what_cannot_be_is_refused_in_words(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.schedule = (wg_schedule){0};
    refused(&o, WG_EINVAL, "schedule: expected a kind and a rate");
    o = usual();
    o.schedule = (wg_schedule){WG_SCHEDULE_COSINE, .rate = 1};
    o.after.n = 0;
    refused(&o, WG_EINVAL, "schedule: expected its updates");
    o = usual();
    o.train = NULL;
    refused(&o, WG_EINVAL, "there is no training data");
    o = usual();
    o.after.unit = 'x';
    refused(&o, WG_EINVAL,
            "after: expected an amount of 0 or more in 'u', 'e' or 't', got 12 in 'x'");
    o = usual();
    o.loss = (wg_value *)xs;
    refused(&o, WG_EINVAL, "`model` or `loss`, and not both");
    static const struct {
        wg_value *(*model)(void *context, const wg_model_step *step);
        const char *words;
    } models[] = {
        {misspelt, "plan for a batch of x [8,6], label [8]: wg_step_input: the batches have no "
                   "input 'y', but x, label (test_trainer_course.c:"},
        {vector, "the loss is [8,6], must be a scalar: take its mean"},
        {stray, "reads an input of its own, 'mask', which no batch fills: they have x, label "},
        {untrained, "the model has no parameters to train"},
        {nothing, "the model returned NULL as its loss"},
    };
    for (int i = 0; i < WG_COUNT(models); i++) {
        o = usual();
        o.model = models[i].model;
        refused(&o, i == 1 ? WG_ESHAPE : WG_EINVAL, models[i].words);
    }
    wg_examples few = examples;
    few.count = 0;
    o = usual();
    o.train = &few;
    refused(&o, WG_EINVAL, "the training data: expected 1 to 4294967295 examples, got 0");
}

/* A head with another name in validation is another head, which nobody trains. */
static wg_value *two_heads(void *context, const wg_model_step *step)
{
    (void)context;
    const char *head = step->mode == WG_MODE_TRAINING ? "head" : "other";
    wg_value *logits = wg_dense(head, wg_step_input(step, "x"), CLASSES, WG_ACTIVATION_NONE);
    return wg_cross_entropy(logits, wg_step_input(step, "label"), NULL, NULL);
}

/* In parts, of epochs or updates, a run is what it is in one. */
static void a_run_in_parts_is_the_run(void **state)
{
    (void)state;
    heard h = {{0}, "", "", ""};
    wg_trainer_options o = usual();
    o.after = (wg_amount){3, 'e'};
    wg_trainer *whole = trainer_of(&o);
    run(whole, NULL);
    o.listener = (wg_listener){hear, &h};
    wg_trainer *t = trainer_of(&o);
    int64_t of_epoch = wg_trainer_updates(whole) / 3;
    const struct {
        wg_amount more;
        int64_t updates;
    } parts[] = {{{2, 'u'}, 2},
                 {{1, 'e'}, of_epoch},
                 {{1, 0}, of_epoch + 1},
                 {{COUNT, 't'}, 2 * of_epoch + 1}, /* examples */
                 {{9, 'e'}, 3 * of_epoch},
                 {{9, 'e'}, 3 * of_epoch}};
    for (int i = 0; i < WG_COUNT(parts); i++) {
        check_that(wg_trainer_run_for(t, parts[i].more, NULL) == WG_OK, "%s",
                   wg_trainer_message(t));
        assert_int_equal(wg_trainer_updates(t), parts[i].updates);
    }
    assert_string_equal(h.note, "nothing is left to train: 'after' ended the run, at update 21");
    assert_true(same_store(wg_trainer_store(whole), wg_trainer_store(t), true) > 100);
    static const wg_amount wrong[] = {{0, 'u'}, {-1, 'e'}, {1, 'x'}};
    for (int i = 0; i < WG_COUNT(wrong); i++) {
        assert_int_equal(wg_trainer_run_for(t, wrong[i], NULL), WG_EINVAL);
        assert_non_null(strstr(wg_trainer_message(t), "expected an amount of 1 or more in 'u', "));
    }
    assert_int_equal(wg_trainer_run_for(NULL, wrong[0], NULL), WG_EINVAL);
    wg_trainer_free(whole);
    wg_trainer_free(t);
}

/* As where a model collects its own: each part with examples that it has not seen before. */
static void examples_may_change_between_parts(void **state)
{
    (void)state;
    float before[COUNT * IN];
    wg_trainer_options o = usual();
    o.after.n = 100;
    wg_trainer *same = trainer_of(&o), *t = trainer_of(&o);
    for (int part = 0; part < 2; part++) {
        memcpy(before, xs, sizeof xs);
        assert_int_equal(wg_trainer_run_for(same, (wg_amount){1, 'e'}, NULL), WG_OK);
        for (int i = 0; i < COUNT * IN && part == 1; i++)
            xs[i] = -xs[i];
        assert_int_equal(wg_trainer_run_for(t, (wg_amount){1, 'e'}, NULL), WG_OK);
        memcpy(xs, before, sizeof xs);
        bool equal = memcmp(tensor(same, "logits/weight"), tensor(t, "logits/weight"),
                            sizeof(float) * CLASSES * HIDDEN) == 0;
        assert_int_equal(equal, part == 0);
    }
    wg_trainer_free(same);
    wg_trainer_free(t);
}

/* A layer, a shape and a state of validation that those of training are not: by the context. */
static wg_value *other_leaves(void *context, const wg_model_step *step)
{
    const char *which = context;
    bool same = step->mode == WG_MODE_TRAINING;
    wg_value *x = wg_step_input(step, "x");
    wg_shape shape = WG_SHAPE(same || strcmp(which, "shape") != 0 ? IN : 1);
    wg_dtype dtype = same || strcmp(which, "dtype") != 0 ? WG_F32 : WG_F64;
    wg_value *gain = wg_parameter(step->graph, "gain", dtype, shape, wg_ones());
    wg_shape sizes = WG_SHAPE(same || strcmp(which, "state") != 0 ? 3 : 2);
    wg_value *moments = wg_state(step->graph, "moments", WG_F32, sizes, wg_zeros());
    x = wg_mul(x, dtype == WG_F32 ? gain : wg_cast(gain, WG_F32));
    x = wg_add(x, wg_sum(moments, WG_ALL_AXES, WG_DROP));
    wg_value *logits = wg_dense("logits", x, CLASSES, WG_ACTIVATION_NONE);
    return wg_cross_entropy(logits, wg_step_input(step, "label"), NULL, NULL);
}

static void validation_has_the_parameters_that_are_trained(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.model = two_heads;
    o.valid = &examples;
    o.validate = (wg_amount){1, 'u'};
    refused(&o, WG_EINVAL,
            "validation: batch 1: wg_trainer: expected the parameters that the model has for the "
            "first batch, got another one, other/weight, which would not be trained "
            "(test_trainer_course.c:");
    o.model = other_leaves;
    o.context = (void *)"shape";
    refused(&o, WG_ESHAPE,
            "validation: batch 1: wg_trainer: expected gain to be f32[6], as for the first batch, "
            "got f32[1] (test_trainer_course.c:");
    o.context = (void *)"dtype";
    refused(&o, WG_EDTYPE, "expected gain to be f32[6], as for the first batch, got f64[6]");
    o.context = (void *)"state";
    refused(&o, WG_ESHAPE, "expected moments to be f32[3], as for the first batch, got f32[2]");
    o.context = (void *)"";
    wg_trainer *t = trainer_of(&o);
    run(t, NULL);
    wg_trainer_free(t);
}

/* A layer takes the dtype of its operand, unless it is told otherwise. */
static wg_value *half_of_it(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *h = wg_dense("hidden", wg_step_input(step, "x"), HIDDEN, WG_ACTIVATION_RELU);
    wg_value *logits = wg_dense("logits", wg_cast(h, WG_BF16), CLASSES, WG_ACTIVATION_NONE);
    return wg_cross_entropy(wg_cast(logits, WG_F32), wg_step_input(step, "label"), NULL, NULL);
}

static void parameters_have_one_dtype(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.model = half_of_it;
    refused(&o, WG_EDTYPE,
            "wg_trainer: expected parameters of one dtype, got hidden/weight, which is f32, and "
            "logits/weight, which is bf16 (wg_scope_parameter_dtype sets that of layers) "
            "(test_trainer_course.c:");
}

static void numbers_that_are_none_are_traced_to_their_node(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.model = logarithm;
    wg_trainer *t = trainer_of(&o);
    assert_int_equal(wg_trainer_run(t, NULL), WG_ENONFINITE);
    const char *text = wg_trainer_message(t);
    check_that(strncmp(text, "update 1: the loss is not finite", 32) == 0 &&
                   strstr(text, "first in batch 1 of the update: ") && strstr(text, "log(") &&
                   strstr(text, "test_trainer_course.c:"),
               "%s", text);
    for (int i = 0; i < IN; i++)
        assert_true(tensor(t, "w")[i] == 0); /* as before the update */
    wg_trainer_free(t);
    o = usual();
    o.valid = &examples;
    o.validate = (wg_amount){1, 'u'};
    o.metrics = "acuracy";
    wg_error error;
    assert_int_equal(wg_trainer_create(&t, &o, &error), WG_EINVAL);
    check_that(strstr(error.text, "no 'acuracy', but loss, accuracy") != NULL, "%s", error.text);
}

/* Those of the validation data end no training; the line says which they were. */
static void a_validation_that_is_not_finite_is_told_with_its_batch(void **state)
{
    (void)state;
    static float bad_xs[COUNT * IN];
    const wg_field bad_fields[] = {{"x", WG_F32, {1, {IN}}, bad_xs}, fields[1]};
    wg_examples bad = examples;
    bad.fields = bad_fields;
    memcpy(bad_xs, xs, sizeof xs);
    bad_xs[20 * IN + 2] = bad_xs[45 * IN] = NAN; /* in batches 3 and 6 of 8 */
    heard h = {{0}, "", "", ""};
    wg_trainer_options o = usual();
    o.valid = &bad;
    o.listener = (wg_listener){hear, &h};
    wg_trainer *t = trainer_of(&o);
    const wg_metric *metrics;
    size_t n;
    assert_int_equal(wg_trainer_validate(t, &metrics, &n), WG_OK);
    assert_true(n == 2 && isnan(metrics[0].value));
    check_that(strstr(h.note, "validation: the loss of batch 3 is not finite; ") == h.note &&
                   strstr(h.note, "reads NaN at element [4,2] of input x"),
               "%s", h.note);
    bad.fields = fields;
    memset(&h, 0, sizeof h);
    wg_trainer_free(t);
    t = trainer_of(&o);
    assert_int_equal(wg_trainer_validate(t, &metrics, &n), WG_OK);
    check_that(!strstr(h.note, "finite") && isfinite(metrics[0].value), "%s", h.note);
    wg_trainer_free(t);
}

/* A mistake in the validation data does not cost the training before it, which goes on once it is
 * mended. */
static void a_validation_that_fails_leaves_a_checkpoint(void **state)
{
    (void)state;
    int32_t bad_labels[COUNT];
    memcpy(bad_labels, labels, sizeof labels);
    bad_labels[COUNT / 2] = CLASSES;
    const wg_field bad_fields[] = {fields[0], {"label", WG_I32, {0}, bad_labels}};
    wg_examples bad = examples;
    bad.fields = bad_fields;
    wg_trainer_options o = usual();
    o.valid = &bad;
    o.validate = (wg_amount){5, 'u'};
    o.folder = path_of("failing");
    wg_trainer *t = trainer_of(&o);
    assert_int_equal(wg_trainer_run(t, NULL), WG_EDATA);
    const char *text = wg_trainer_message(t);
    check_that(strstr(text, "validation: ") == text &&
                   strstr(text, "update 5 is saved; the run resumes from it"),
               "%s", text);
    wg_trainer_free(t);
    o.valid = &examples;
    refused(&o, WG_EINVAL, "validation data: expected hash ");
    bad_labels[COUNT / 2] = labels[COUNT / 2];
    o.valid = NULL; /* or without it */
    o.validate.n = 0;
    t = trainer_of(&o);
    assert_int_equal(wg_trainer_updates(t), 5);
    run(t, NULL);
    assert_int_equal(wg_trainer_updates(t), 12);
    wg_trainer_free(t);
    clear("failing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_printed_as_lines),
        cmocka_unit_test(parameters_are_counted_and_nothing_else),
        cmocka_unit_test(each_update_has_its_rate_and_its_place),
        cmocka_unit_test(seconds_go_on_where_a_run_was_stopped),
        cmocka_unit_test(an_end_beyond_all_numbers_is_far_away),
        cmocka_unit_test(a_run_that_does_not_improve_ends),
        cmocka_unit_test(an_end_by_length_is_not_told_as_early_stopping),
        cmocka_unit_test(a_run_starts_from_the_weights_of_another),
        cmocka_unit_test(what_cannot_be_is_refused_in_words),
        cmocka_unit_test(a_run_in_parts_is_the_run),
        cmocka_unit_test(examples_may_change_between_parts),
        cmocka_unit_test(validation_has_the_parameters_that_are_trained),
        cmocka_unit_test(parameters_have_one_dtype),
        cmocka_unit_test(numbers_that_are_none_are_traced_to_their_node),
        cmocka_unit_test(a_validation_that_fails_leaves_a_checkpoint),
        cmocka_unit_test(a_validation_that_is_not_finite_is_told_with_its_batch),
    };
    return cmocka_run_group_tests(tests, make_data, remove_folder);
}
