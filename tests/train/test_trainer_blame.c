/* Bad numbers in the data are told with the example that has them. */
#include "tests/train/classifier.h"
#include "wengert/ops/ops.h"

static float bad_xs[COUNT * IN];
static int32_t bad_labels[COUNT];
static const wg_field bad_fields[] = {{"x", WG_F32, {1, {IN}}, bad_xs},
                                      {"label", WG_I32, {0}, bad_labels}};
static const wg_examples bad_examples = {bad_fields, 2, COUNT, .batch = 8};

static void mend(void)
{
    memcpy(bad_xs, xs, sizeof xs);
    memcpy(bad_labels, labels, sizeof labels);
}

/* A run of these options fails so, with these words in its message. */
static void fails(const wg_trainer_options *o, wg_status expected, const char *words)
{
    wg_trainer *t = trainer_of(o);
    assert_int_equal(wg_trainer_run(t, NULL), expected);
    const char *text = wg_trainer_message(t);
    check_that(strstr(text, words) != NULL, "no \"%s\" in \"%s\"", words, text);
    wg_trainer_free(t);
}

static void numbers_are_told_with_their_example(void **state)
{
    (void)state;
    static const int of[] = {0, 17, 48};
    for (size_t i = 0; i < WG_COUNT(of); i++) {
        wg_trainer_options o = usual();
        char words[80];
        o.train = &bad_examples;
        snprintf(words, sizeof words, " of the batch, example %d of the data", of[i]);
        mend();
        bad_xs[of[i] * IN + 2] = NAN;
        fails(&o, WG_ENONFINITE, words);
        o.accumulate = 3;
        fails(&o, WG_ENONFINITE, words);
        mend();
        bad_labels[of[i]] = CLASSES;
        fails(&o, WG_EDATA, words);
        mend();
        bad_labels[of[i]] = -1;
        fails(&o, WG_EDATA, words);
    }
}

static void keep_note(void *note, const wg_event *e)
{
    if (e->kind == WG_EVENT_NOTE)
        snprintf(note, 600, "%s", e->text);
}

/* In the given order row r of batch i is example 8 i + r. */
static void validation_tells_them_too(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.valid = &bad_examples;
    o.validate = (wg_amount){1, 'u'};
    mend();
    bad_labels[20] = CLASSES + 5;
    fails(&o, WG_EDATA, "; that is row 4 of the batch, example 20 of the data");
    mend();
    bad_xs[45 * IN + 1] = NAN;
    char note[600] = "";
    o.listener = (wg_listener){keep_note, note};
    wg_trainer *t = trainer_of(&o);
    assert_int_equal(wg_trainer_validate(t, NULL, NULL), WG_OK);
    check_that(strstr(note, "of input x") &&
                   strstr(note, "; that is row 5 of the batch, example 45 of the data"),
               "%s", note);
    wg_trainer_free(t);
}

static void numbers_that_are_computed_have_no_example(void **state)
{
    (void)state;
    wg_trainer_options o = usual();
    o.schedule.rate = 1e30; /* its second update has products beyond all numbers */
    o.optimizer.kind = WG_OPTIMIZER_SGD;
    wg_trainer *t = trainer_of(&o);
    assert_int_equal(wg_trainer_run(t, NULL), WG_ENONFINITE);
    check_that(!strstr(wg_trainer_message(t), "of the batch"), "%s", wg_trainer_message(t));
    wg_trainer_free(t);
}

/* ---- a source of one's own ------------------------------------------------------------------- */

enum { PAIRS = 4, WORDS = 10 };

static wg_status describe_pairs(void *context, int64_t epoch, int64_t i, wg_shape *shapes,
                                wg_batch_size *size, wg_error *error)
{
    (void)context, (void)epoch, (void)i, (void)error;
    shapes[0] = WG_SHAPE(PAIRS, 2);
    *size = (wg_batch_size){.weight = PAIRS};
    return WG_OK;
}

/* The second id of the third pair of batch 1 is none. */
static wg_status fill_pairs(void *context, int64_t epoch, int64_t i, void *const *to,
                            wg_error *error)
{
    (void)context, (void)epoch, (void)error;
    for (int64_t k = 0; k < 2L * PAIRS; k++)
        ((int32_t *)to[0])[k] = i == 1 && k == 5 ? WORDS : (int32_t)k;
    return WG_OK;
}

static int64_t line_of(void *context, int64_t epoch, int64_t i, size_t k, int64_t row)
{
    (void)context;
    return k == 0 ? 1000 * (epoch + 1) + 100 * i + row : -1;
}

static int64_t unknown(void *context, int64_t epoch, int64_t i, size_t k, int64_t row)
{
    (void)context, (void)epoch, (void)i, (void)k, (void)row;
    return -1;
}

/* Rows of a table by the ids, which reach it through a cast and another shape. */
static wg_value *lookup(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *table = wg_parameter(step->graph, "table", WG_F32, WG_SHAPE(WORDS, 3), wg_zeros());
    wg_value *ids = wg_reshape(wg_cast(wg_step_input(step, "pair"), WG_I64), WG_SHAPE(2 * PAIRS));
    return wg_mean(wg_embedding(table, ids), WG_ALL_AXES, WG_DROP);
}

static void a_source_may_name_its_examples(void **state)
{
    (void)state;
    static const wg_field field = {.name = "pair", .dtype = WG_I32};
    wg_source source = {.fields = &field,
                        .n_fields = 1,
                        .batches = 3,
                        .describe = describe_pairs,
                        .fill = fill_pairs,
                        .example = line_of};
    wg_trainer_options o = usual();
    o.model = lookup;
    o.train = NULL;
    o.train_source = &source;
    fails(&o, WG_EDATA, "id 10 at position 5 is outside [0,10)");
    fails(&o, WG_EDATA, "; that is row 2 of the batch, example 1102 of the data");
    int64_t (*const none[])(void *, int64_t, int64_t, size_t, int64_t) = {NULL, unknown};
    for (int i = 0; i < 2; i++) {
        source.example = none[i];
        wg_trainer *t = trainer_of(&o);
        assert_int_equal(wg_trainer_run(t, NULL), WG_EDATA);
        const char *text = wg_trainer_message(t), *end = "; that is row 2 of the batch";
        check_that(strlen(text) > strlen(end) &&
                       strcmp(text + strlen(text) - strlen(end), end) == 0,
                   "%s", text);
        wg_trainer_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_told_with_their_example),
        cmocka_unit_test(validation_tells_them_too),
        cmocka_unit_test(numbers_that_are_computed_have_no_example),
        cmocka_unit_test(a_source_may_name_its_examples),
    };
    return cmocka_run_group_tests(tests, make_data, remove_folder);
}
