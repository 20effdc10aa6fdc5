/* What a trainer refuses before anything is trained: options, examples and sources that cannot be,
 * each with a message that says what was expected. */
#include "tests/test.h"
#include "wengert/models/layers.h"
#include "wengert/ops/ops.h"
#include "wengert/train/trainer.h"

#include <math.h>

enum { COUNT = 4, IN = 2 };

static float xs[COUNT * IN];
static const wg_field fields[] = {{"x", WG_F32, {1, {IN}}, xs}};
static const wg_field others[] = {{"x", WG_F32, {1, {IN}}, xs}, {"y", WG_F32, {1, {IN}}, xs}};
static const wg_examples examples = {fields, 1, COUNT, .batch = 2};

static wg_value *model(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *y = wg_dense("y", wg_step_input(step, "x"), 1, WG_ACTIVATION_NONE);
    return wg_mean(wg_mul(y, y), WG_ALL_AXES, WG_DROP);
}

static wg_trainer_options usual(void)
{
    return (wg_trainer_options){.model = model,
                                .train = &examples,
                                .schedule = {WG_SCHEDULE_CONSTANT, .rate = 0.01},
                                .after = {1, 'u'},
                                .threads = 1};
}

static size_t refusals;

static void refused(const wg_trainer_options *o, const char *words)
{
    wg_trainer *t;
    wg_error error = {.text = ""};
    wg_status status = wg_trainer_create(&t, o, &error);
    check_that(status == WG_EINVAL && strstr(error.text, words), "status %d: \"%s\" for \"%s\"",
               status, error.text, words);
    assert_null(t);
    refusals++;
}

static void usual_options_are_taken(void **state)
{
    (void)state;
    wg_trainer *t;
    wg_error error;
    wg_trainer_options o = usual();
    check_that(wg_trainer_create(&t, &o, &error) == WG_OK, "%s", error.text);
    check_that(wg_trainer_run(t, NULL) == WG_OK, "%s", wg_trainer_message(t));
    wg_trainer_free(t);
}

/* ---- options --------------------------------------------------------------------------------- */

/* Refused with each of the numbers in the place of *number, which is a field of o. */
static void refuse_numbers(wg_trainer_options *o, double *number, const double *wrong, int n,
                           const char *words)
{
    const double right = *number;
    for (int i = 0; i < n; i++) {
        *number = wrong[i];
        refused(o, words);
    }
    *number = right;
}

static void numbers_out_of_range(void **state)
{
    (void)state;
    const double no_share[] = {-0.1, 1, (double)NAN}, negative[] = {-1, (double)NAN};
    const double no_rate[] = {-1, (double)INFINITY, (double)NAN};
    wg_trainer_options o = usual();
    refuse_numbers(&o, &o.average, no_share, 3, "average: expected a number in [0, 1)");
    refuse_numbers(&o, &o.optimizer.beta1, no_share, 3,
                   "optimizer: beta1: expected a number in [0, 1), got ");
    refuse_numbers(&o, &o.optimizer.beta2, no_share, 3,
                   "optimizer: beta2: expected a number in [0, 1), got ");
    refuse_numbers(&o, &o.optimizer.momentum, no_share, 3,
                   "optimizer: momentum: expected a number in [0, 1), got ");
    refuse_numbers(&o, &o.optimizer.eps, negative, 2, "optimizer: eps: expected 0 or more, got ");
    refuse_numbers(&o, &o.optimizer.weight_decay, negative, 2,
                   "optimizer: weight_decay: expected 0 or more, got ");
    refuse_numbers(&o, &o.optimizer.clip_norm, negative, 2,
                   "optimizer: clip_norm: expected 0 or more, got ");
    refuse_numbers(&o, &o.schedule.rate, no_rate, 3,
                   "schedule: rate: expected a finite number of 0 or more, got ");
    wg_parameter_group group = {.names = "y*", .rate = 1};
    const char *groups = "group 0: expected names, and a rate and a decay of 0 or more, got ";
    o.groups = &group;
    o.n_groups = 1;
    refuse_numbers(&o, &group.rate, no_rate, 3, groups);
    refuse_numbers(&o, &group.weight_decay, no_rate, 3, groups);
    group.names = NULL;
    refused(&o, groups);
}

static void whole_numbers_and_kinds(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.accumulate = -1;
    refused(&o, "accumulate: expected 1 or more, got -1");
    o.accumulate = (1 << 24) + 1;
    refused(&o, "accumulate: expected at most 16777216");
    o = usual();
    o.optimizer.kind = (wg_optimizer_kind)77;
    refused(&o, "optimizer: kind: expected one of wg_optimizer_kind, got 77");
    o = usual();
    o.schedule.kind = (wg_schedule_kind)77;
    refused(&o, "schedule: kind: expected one of wg_schedule_kind, got 77");
    o = usual();
    o.schedule = (wg_schedule){WG_SCHEDULE_LINEAR, .rate = 1};
    o.after.n = 0;
    refused(&o, "schedule: expected its updates, since `after` does not end the run");
    o = usual();
    o.n_groups = 1;
    refused(&o, "groups is NULL");
    o = usual();
    o.threads = -1;
    refused(&o, "threads: expected 0 or more, got -1");
    o = usual();
    o.patience = -1;
    refused(&o, "patience: expected 0 or more");
    o = usual();
    o.keep = -1;
    refused(&o, "keep: expected 0 or more, got -1");
    o = usual();
    o.schedule.warmup = -3;
    refused(&o, "schedule: warmup: expected 0 or more, got -3");
    o = usual();
    o.scale = (wg_loss_scale)9;
    refused(&o, "scale: expected one of wg_loss_scale, got 9");
    o = usual();
    o.dtype = WG_I32;
    refused(&o, "dtype: expected a float");
    o = usual();
    o.model = NULL;
    refused(&o, "expected `model` or `loss`, and not both");
}

static void null_is_refused(void **state)
{
    (void)state;
    wg_error error;
    wg_trainer *t = (wg_trainer *)&error; /* anything */
    const wg_trainer_options o = usual();
    assert_int_equal(wg_trainer_create(NULL, &o, &error), WG_EINVAL);
    assert_non_null(strstr(error.text, "`out` is NULL"));
    assert_int_equal(wg_trainer_create(&t, NULL, &error), WG_EINVAL);
    assert_non_null(strstr(error.text, "`options` is NULL"));
    assert_null(t);
    assert_int_equal(wg_trainer_run(NULL, NULL), WG_EINVAL);
    assert_true(isnan(wg_trainer_metric(NULL, "loss")));
}

/* What would do nothing, or not what it says. */
static void options_without_effect(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.optimizer.momentum = 0.9;
    refused(&o, "optimizer: momentum: Adam does not use it: expected 0, got 0.9");
    o = usual();
    o.optimizer = (wg_optimizer){.kind = WG_OPTIMIZER_SGD, .beta1 = 0.5};
    refused(&o, "optimizer: beta1: SGD does not use it: expected 0, got 0.5");
    o = usual();
    o.validate = (wg_amount){1, 'u'};
    refused(&o, "validate: there is no validation data");
    o = usual();
    o.valid = &examples;
    o.patience = 1;
    refused(&o, "patience: expected an interval of validations");
    o.patience = 0;
    o.metrics = "loss";
    refused(&o, "metrics: expected an interval of validations");
    o.validate = (wg_amount){1, 'u'};
    o.metrics = "accuracy";
    refused(&o, "metrics: the model reports no 'accuracy', but loss");
    o = usual();
    o.schedule = (wg_schedule){WG_SCHEDULE_NOAM, .rate = 1};
    refused(&o, "schedule: expected d_model");
    o.schedule = (wg_schedule){WG_SCHEDULE_NOAM, .d_model = 512};
    refused(&o, "schedule: expected a kind and a rate above 0");
    o.schedule = (wg_schedule){WG_SCHEDULE_CONSTANT, .rate = -1};
    refused(&o, "schedule: rate: expected a finite number of 0 or more, got -1");
    o.schedule = (wg_schedule){WG_SCHEDULE_COSINE, .rate = 0.1, .floor = 1};
    refused(&o, "schedule: expected a floor of at most the rate");
}

static void amounts(void **state)
{
    (void)state;
    const wg_amount wrong[] = {{-1, 'u'}, {1, 'x'}};
    for (int i = 0; i < WG_COUNT(wrong); i++)
        for (int k = 0; k < 4; k++) {
            wg_trainer_options o = usual();
            wg_amount *amount[] = {&o.after, &o.report, &o.validate, &o.save};
            *amount[k] = wrong[i];
            refused(&o, ": expected an amount of 0 or more in 'u', 'e' or 't', got ");
        }
}

/* ---- data ------------------------------------------------------------------------------------ */

static void refuse_examples(wg_examples e, const char *words)
{
    wg_trainer_options o = usual();
    o.train = &e;
    refused(&o, words);
}

static void examples_that_cannot_be(void **state)
{
    (void)state;
    wg_examples e = examples;
    e.count = INT64_C(1) << 32;
    refuse_examples(e, "the training data: expected 1 to 4294967295 examples, got 4294967296");
    e = examples;
    e.batch = -1;
    refuse_examples(e, "the training data: expected batch >= 0");
    e = examples;
    e.fields = NULL;
    refuse_examples(e, "the training data: expected fields, got none");
    e = examples;
    e.order = (wg_example_order)7;
    refuse_examples(e, "the training data: expected an order of wg_example_order");
    e = examples;
    e.last = (wg_last_batch)9;
    refuse_examples(e, "got 0 and 9");
    e = examples;
    e.batch = COUNT + 1;
    e.last = WG_LAST_DROPPED;
    refuse_examples(e, "expected at least one whole batch of 5 examples");
    e = examples;
    e.n_fields = 0;
    refuse_examples(e, "the training data: expected fields, got none");
    const struct {
        wg_field field;
        const char *words;
    } wrong[] = {
        {{NULL, WG_F32, {1, {IN}}, xs}, "field 0 (): expected a name, got none"},
        {{"", WG_F32, {1, {IN}}, xs}, "field 0 (): expected a name, got none"},
        {{"x", WG_DTYPE_DEFAULT, {1, {IN}}, xs}, "field 0 (x): expected a dtype, got none"},
        {{"x", WG_F32, {WG_MAX_RANK, {1, 1, 1, 1, 1, 1, 1, 1}}, xs}, "has too many axes"},
        {{"x", WG_F32, {1, {0}}, xs}, "field 0 (x): an example has no elements"},
        {{"x", WG_F32, {1, {IN}}, NULL}, "field 0 (x): expected data, since there is no `read`"},
    };
    for (int i = 0; i < WG_COUNT(wrong); i++) {
        e = examples;
        e.fields = &wrong[i].field;
        refuse_examples(e, wrong[i].words);
    }
}

static wg_status describe(void *context, int64_t epoch, int64_t i, wg_shape *shapes,
                          wg_batch_size *size, wg_error *error)
{
    (void)context, (void)epoch, (void)i, (void)error;
    shapes[0] = WG_SHAPE(1, IN);
    *size = (wg_batch_size){.weight = 1};
    return WG_OK;
}

static wg_status fill(void *context, int64_t epoch, int64_t i, void *const *to, wg_error *error)
{
    (void)context, (void)epoch, (void)i, (void)error;
    memcpy(to[0], xs, IN * sizeof *xs);
    return WG_OK;
}

static void sources_that_cannot_be(void **state)
{
    (void)state;
    const wg_source whole = {
        .fields = fields, .n_fields = 1, .batches = 1, .describe = describe, .fill = fill};
    wg_trainer_options o = usual();
    o.train_source = &whole;
    refused(&o, "the training data: expected examples or a source, got both");
    for (int i = 0; i < 5; i++) {
        wg_source s = whole;
        if (i == 0)
            s.batches = 0;
        else if (i == 1)
            s.fields = NULL;
        else if (i == 2)
            s.n_fields = 0;
        else if (i == 3)
            s.describe = NULL;
        else
            s.fill = NULL;
        o = usual();
        o.train = NULL;
        o.train_source = &s;
        refused(&o, "the training data: expected a source with batches, fields and both functions");
    }
}

static void fields_of_one_name(void **state)
{
    (void)state;
    const wg_field twice[] = {fields[0], fields[0]};
    const wg_examples same = {twice, 2, COUNT, .batch = 2};
    wg_trainer_options o = usual();
    o.train = &same;
    refused(&o, "expected fields of different names, got two called x, fields 0 and 1");
}

static wg_status describe_nothing(void *context, int64_t epoch, int64_t i, wg_shape *shapes,
                                  wg_batch_size *size, wg_error *error)
{
    (void)context, (void)epoch, (void)i, (void)error;
    shapes[0] = WG_SHAPE(-4, IN);
    *size = (wg_batch_size){.weight = 1};
    return WG_OK;
}

static void shapes_that_cannot_be(void **state)
{
    (void)state;
    const wg_source source = {
        .fields = fields, .n_fields = 1, .batches = 1, .describe = describe_nothing, .fill = fill};
    wg_trainer_options o = usual();
    o.train = NULL;
    o.train_source = &source;
    wg_trainer *t;
    wg_error error;
    assert_int_equal(wg_trainer_create(&t, &o, &error), WG_ESHAPE);
    check_that(strstr(error.text, "batch 1 of epoch 1: `describe`: expected a shape") &&
                   strstr(error.text, "for x, got [-4,2]"),
               "%s", error.text);
}

/* With a context, the statistics of batches are recorded in validation, too. */
static wg_value *normalised_model(void *context, const wg_model_step *step)
{
    bool records = context || step->mode == WG_MODE_TRAINING;
    wg_value *h = wg_batchnorm_layer("norm", wg_step_input(step, "x"), records, NULL);
    return wg_mean(wg_square(h), WG_ALL_AXES, WG_DROP);
}

static void validation_that_changes_training(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.model = normalised_model;
    o.validate.n = 1;
    o.valid = &examples;
    o.context = &o;
    refused(&o, "the model assigns to norm/running_mean in validation too");
    o.valid = NULL;
    o.validate.n = 0;
    wg_trainer *t;
    wg_error error;
    check_that(wg_trainer_create(&t, &o, &error) == WG_OK, "%s", error.text);
    wg_trainer_free(t);
    o.valid = &examples;
    o.validate.n = 1;
    o.context = NULL;
    check_that(wg_trainer_create(&t, &o, &error) == WG_OK, "%s", error.text);
    wg_trainer_free(t);
}

static void validation_on_other_fields(void **state)
{
    (void)state;
    const wg_field renamed[] = {{"z", WG_F32, {1, {IN}}, xs}};
    const wg_field whole[] = {{"x", WG_I32, {1, {IN}}, xs}};
    const wg_examples sets[] = {{others, 2, COUNT, .batch = 2},
                                {renamed, 1, COUNT, .batch = 2},
                                {whole, 1, COUNT, .batch = 2}};
    static const char *const messages[] = {
        "the validation data: expected as many fields as the training data have, 1, got 2",
        "the validation data: field 0: expected x of f32, as in the training data, got z of f32",
        "the validation data: field 0: expected x of f32, as in the training data, got x of i32"};
    for (int i = 0; i < WG_COUNT(sets); i++) {
        wg_trainer_options o = usual();
        o.valid = &sets[i];
        refused(&o, messages[i]);
    }
    assert_true(refusals > 40); /* this test is the last one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_options_are_taken),
        cmocka_unit_test(numbers_out_of_range),
        cmocka_unit_test(whole_numbers_and_kinds),
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(amounts),
        cmocka_unit_test(options_without_effect),
        cmocka_unit_test(examples_that_cannot_be),
        cmocka_unit_test(sources_that_cannot_be),
        cmocka_unit_test(validation_on_other_fields),
        cmocka_unit_test(fields_of_one_name),
        cmocka_unit_test(shapes_that_cannot_be),
        cmocka_unit_test(validation_that_changes_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
