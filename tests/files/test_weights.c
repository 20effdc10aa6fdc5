/* A model's tensors go to a file and come back; a file of another model is refused with every
 * difference. */
#include "tests/plans.h"
#include "wengert.h"

#include <unistd.h>

static const char path[] = "weights.safetensors";
static wg_error error;

static float *add(wg_store *s, const char *name, int64_t n)
{
    const wg_tensor *t;
    wg_shape shape = WG_SHAPE(n);
    assert_int_equal(wg_store_add(s, name, WG_F32, &shape, &t), WG_OK);
    return t->data;
}

static void a_store_comes_back_from_its_file(void **state)
{
    (void)state;
    wg_store *from = wg_store_new(1), *to = wg_store_new(2);
    memcpy(add(from, "a", 2), (float[]){1, 2}, 8);
    memcpy(add(from, "b", 1), (float[]){3}, 4);
    float *b = add(to, "b", 1), *a = add(to, "a", 2); /* order does not matter */
    assert_int_equal(wg_store_save(from, path, &error), WG_OK);
    assert_int_equal(wg_store_load(to, path, &error), WG_OK);
    assert_true(a[0] == 1 && a[1] == 2 && b[0] == 3);
    wg_store_free(from);
    wg_store_free(to);
}

static void every_difference_is_listed_and_nothing_changed(void **state)
{
    (void)state;
    wg_store *from = wg_store_new(1), *to = wg_store_new(2);
    add(from, "same", 1)[0] = 7;
    add(from, "shape", 2);
    add(from, "old", 1);
    float *same = add(to, "same", 1);
    add(to, "shape", 3);
    add(to, "new", 1);
    same[0] = 5;
    assert_int_equal(wg_store_save(from, path, &error), WG_OK);
    assert_int_equal(wg_store_load(to, path, &error), WG_EDATA);
    assert_string_equal(error.text,
                        "weights.safetensors: tensor shape: expected F32 [3], got F32 [2]\n"
                        "weights.safetensors: tensor new: expected F32 [1], got none\n"
                        "weights.safetensors: tensor old: expected none");
    assert_true(same[0] == 5);
    unlink(path);
    assert_int_equal(wg_store_load(to, path, &error), WG_EIO);
    wg_store_free(from);
    wg_store_free(to);
}

static void what_only_the_file_has_is_refused_with_a_hint(void **state)
{
    (void)state;
    wg_store *from = wg_store_new(1), *to = wg_store_new(2);
    add(from, "a", 1);
    add(from, "b", 1);
    add(to, "a", 1);
    assert_int_equal(wg_store_save(from, path, &error), WG_OK);
    assert_int_equal(wg_store_load(to, path, &error), WG_EDATA);
    assert_string_equal(error.text, "weights.safetensors: tensor b: expected none\n"
                                    "(wg_store_load_weights ignores what a model does not need)");
    wg_store_free(from);
    wg_store_free(to);
}

/* ---- a model that is trained and used -------------------------------------------------------- */

/* y = x w + h, with a state h that carries x w to the next run and has the batch in its shape; for
 * training with Adam's states. */
typedef struct recurrent {
    wg_graph *g;
    wg_plan *p;
    wg_value *w, *h;
} recurrent;

static wg_graph *recurrent_graph(recurrent *m, int64_t batch, const char *scope, bool training)
{
    *m = (recurrent){.g = wg_graph_new()};
    wg_value *x = wg_input(m->g, "x", WG_F32, WG_SHAPE(batch, 3));
    wg_scope_push(m->g, "%s", scope);
    m->w = wg_parameter(m->g, "w", WG_F32, WG_SHAPE(3, 2), wg_xavier(1));
    m->h = wg_state(m->g, "h", WG_F32, WG_SHAPE(batch, 2), wg_ones());
    wg_scope_pop(m->g);
    wg_value *y = wg_output(wg_add(wg_matmul(x, m->w), m->h), "y");
    wg_assign(m->h, wg_matmul(x, m->w));
    if (training) {
        wg_gradients d = wg_grad_all(wg_mean(wg_square(y), WG_ALL_AXES, WG_DROP));
        wg_adam_update(d.params, d.grads, d.n, wg_fill(m->g, WG_F32, WG_SCALAR, 0.1), NULL);
    }
    return m->g;
}

static void plan_recurrent(recurrent *m, wg_store *store)
{
    m->p = plan_of(m->g, &(wg_plan_options){.store = store});
}

static void free_recurrent(recurrent *m)
{
    wg_plan_free(m->p);
    wg_graph_free(m->g);
}

/* Trains, saves, and returns w. */
static void train_and_save(wg_status (*save)(const wg_store *, const char *), float *w)
{
    recurrent m;
    wg_store *store = wg_store_new(7);
    recurrent_graph(&m, 32, "cell", true);
    plan_recurrent(&m, store);
    for (uint64_t step = 0; step < 3; step++)
        run(m.p, step);
    assert_int_equal(wg_store_set_note(store, "epoch", "3"), WG_OK);
    assert_int_equal(save(store, path), WG_OK);
    memcpy(w, wg_plan_data(m.p, m.w), 6 * sizeof(float));
    free_recurrent(&m);
    wg_store_free(store);
}

static wg_status save_all(const wg_store *store, const char *to)
{
    return wg_store_save(store, to, &error);
}

static wg_status save_weights(const wg_store *store, const char *to)
{
    return wg_store_save_weights(store, to, NULL, &error);
}

static wg_status save_parameters(const wg_store *store, const char *to)
{
    return wg_store_save_weights(store, to, &(wg_weights_options){.parameters_only = true}, &error);
}

/* In both orders, from each kind of file, for another batch size: the parameters are those of the
 * training, the state keeps its initial value. */
static void weights_load_before_and_after_the_plan(void **state)
{
    (void)state;
    wg_status (*const saves[])(const wg_store *, const char *) = {save_all, save_weights,
                                                                  save_parameters};
    const size_t ignored[] = {4, 1, 0}; /* step, m, v and h of another shape */
    float w[6];
    for (int i = 0; i < 6; i++) {
        bool plan_first = i % 2;
        recurrent m;
        wg_load_report report;
        wg_store *store = wg_store_new(1);
        train_and_save(saves[i / 2], w);
        recurrent_graph(&m, 1, "cell", false);
        if (plan_first)
            plan_recurrent(&m, store);
        check_that(wg_store_load_weights(store, path, NULL, &report, &error) == WG_OK, "%s",
                   error.text);
        if (!plan_first)
            plan_recurrent(&m, store);
        assert_memory_equal(wg_plan_data(m.p, m.w), w, sizeof w);
        assert_true(floats(m.p, m.h)[0] == 1 && floats(m.p, m.h)[1] == 1);
        assert_string_equal(wg_store_note(store, "epoch"), "3");
        if (plan_first) {
            assert_int_equal(report.loaded, 1);
            check_that(report.ignored == ignored[i / 2], "%s", report.text);
            assert_int_equal(report.missing, i / 2 == 2);
        }
        free_recurrent(&m);
        wg_store_free(store);
    }
}

static void the_report_names_what_was_ignored_and_missing(void **state)
{
    (void)state;
    float w[6];
    recurrent m;
    wg_load_report report;
    wg_store *store = wg_store_new(1);
    train_and_save(save_parameters, w);
    recurrent_graph(&m, 1, "cell", true);
    plan_recurrent(&m, store);
    assert_int_equal(wg_store_load_weights(store, path, NULL, &report, &error), WG_OK);
    assert_string_equal(report.text, "weights.safetensors: 1 tensors loaded; 4 missing: "
                                     "cell/h, adam/step, adam/m/cell/w, adam/v/cell/w");
    free_recurrent(&m);
    wg_store_free(store);
}

/* A plan made after the loading is checked as strictly as one made before. */
static void a_parameter_that_the_file_lacks_is_named_in_both_orders(void **state)
{
    (void)state;
    float w[6];
    train_and_save(save_all, w);
    for (int plan_first = 0; plan_first < 2; plan_first++) {
        recurrent m;
        wg_store *store = wg_store_new(1);
        recurrent_graph(&m, 32, "renamed", false);
        if (plan_first) {
            plan_recurrent(&m, store);
            assert_int_equal(wg_store_load_weights(store, path, NULL, NULL, &error), WG_EDATA);
            assert_string_equal(error.text, "weights.safetensors: tensor renamed/w: expected F32 "
                                            "[3,2], got none");
        } else {
            assert_int_equal(wg_store_load_weights(store, path, NULL, NULL, &error), WG_OK);
            const wg_plan_options o = {.store = store};
            assert_int_equal(wg_plan_create(&m.p, m.g, &o), WG_EDATA);
            assert_string_equal(wg_graph_message(m.g),
                                "wg_plan_create: parameter renamed/w is not in "
                                "weights.safetensors, which filled the store");
        }
        free_recurrent(&m);
        wg_store_free(store);
    }
}

static void prefixes_rename_and_missing_parameters_may_be_allowed(void **state)
{
    (void)state;
    float w[6];
    train_and_save(save_all, w);
    for (int plan_first = 0; plan_first < 2; plan_first++) {
        recurrent m;
        wg_store *store = wg_store_new(1);
        const wg_weights_options o = {
            .from_prefix = "cell/", .to_prefix = "encoder/", .allow_missing = true};
        recurrent_graph(&m, 32, "encoder", false);
        wg_value *head = wg_parameter(m.g, "head", WG_F32, WG_SHAPE(2), wg_ones());
        wg_output(wg_neg(head), "head");
        if (plan_first)
            plan_recurrent(&m, store);
        assert_int_equal(wg_store_load_weights(store, path, &o, NULL, &error), WG_OK);
        if (!plan_first)
            plan_recurrent(&m, store);
        assert_memory_equal(wg_plan_data(m.p, m.w), w, sizeof w);
        assert_true(floats(m.p, head)[1] == 1);
        free_recurrent(&m);
        wg_store_free(store);
    }
}

static void a_prefix_that_nothing_has_is_a_slip(void **state)
{
    (void)state;
    float w[6];
    train_and_save(save_all, w);
    for (int allowed = 0; allowed < 2; allowed++) {
        recurrent m;
        wg_load_report report;
        wg_store *store = wg_store_new(1);
        const wg_weights_options o = {
            .from_prefix = "cell/", .to_prefix = "encodre/", .allow_missing = allowed};
        recurrent_graph(&m, 32, "encoder", false);
        plan_recurrent(&m, store);
        wg_status status = wg_store_load_weights(store, path, &o, &report, &error);
        assert_int_equal(status, allowed ? WG_OK : WG_EDATA);
        if (allowed)
            assert_int_equal(report.loaded, 0);
        else
            assert_string_equal(error.text, "weights.safetensors: no name in the store begins "
                                            "with 'encodre/'");
        free_recurrent(&m);
        wg_store_free(store);
    }
}

/* In the file, whose tensors go into an empty store or into one of a plan. */
static void a_prefix_that_the_file_lacks_is_a_slip(void **state)
{
    (void)state;
    float w[6];
    train_and_save(save_all, w);
    for (int allowed = 0; allowed < 2; allowed++) {
        wg_load_report report;
        wg_store *store = wg_store_new(1);
        const wg_weights_options o = {.from_prefix = "cel/", .allow_missing = allowed};
        wg_status status = wg_store_load_weights(store, path, &o, &report, &error);
        assert_int_equal(status, allowed ? WG_OK : WG_EDATA);
        if (!allowed)
            assert_string_equal(error.text,
                                "weights.safetensors: no name in it begins with 'cel/'");
        wg_store_free(store);
        recurrent m;
        store = wg_store_new(1);
        recurrent_graph(&m, 32, "cell", false);
        plan_recurrent(&m, store);
        const wg_weights_options to_cell = {
            .from_prefix = "cel/", .to_prefix = "cell/", .allow_missing = allowed};
        status = wg_store_load_weights(store, path, &to_cell, &report, &error);
        assert_int_equal(status, allowed ? WG_OK : WG_EDATA);
        if (!allowed)
            assert_string_equal(error.text,
                                "weights.safetensors: no name in it begins with 'cel/'");
        free_recurrent(&m);
        wg_store_free(store);
    }
}

/* Everything, in the order that everybody tries first: store, load, plan.  Training goes on as if
 * it had not stopped. */
static void a_run_goes_on_from_its_file_in_both_orders(void **state)
{
    (void)state;
    float w[6], expected[6];
    for (int way = 0; way < 3; way++) {
        recurrent m;
        wg_store *store = wg_store_new(way ? 1 : 7);
        recurrent_graph(&m, 32, "cell", true);
        if (way)
            train_and_save(save_all, w);
        if (way == 1)
            assert_int_equal(wg_store_load(store, path, &error), WG_OK);
        plan_recurrent(&m, store);
        if (way == 2)
            assert_int_equal(wg_store_load(store, path, &error), WG_OK);
        for (uint64_t step = way ? 3 : 0; step < 6; step++)
            run(m.p, step);
        if (!way)
            memcpy(expected, wg_plan_data(m.p, m.w), sizeof expected);
        assert_memory_equal(wg_plan_data(m.p, m.w), expected, sizeof expected);
        free_recurrent(&m);
        wg_store_free(store);
    }
}

static void a_strict_file_lacks_no_state(void **state)
{
    (void)state;
    float w[6];
    recurrent m;
    wg_store *store = wg_store_new(1);
    train_and_save(save_parameters, w);
    assert_int_equal(wg_store_load(store, path, &error), WG_OK);
    recurrent_graph(&m, 32, "cell", false);
    const wg_plan_options o = {.store = store};
    assert_int_equal(wg_plan_create(&m.p, m.g, &o), WG_EDATA);
    assert_non_null(strstr(wg_graph_message(m.g), "state cell/h is not in weights.safetensors"));
    free_recurrent(&m);
    wg_store_free(store);
}

static void parameters_are_known_from_a_plan_alone(void **state)
{
    (void)state;
    wg_store *store = wg_store_new(1);
    float w[6];
    train_and_save(save_all, w);
    const wg_weights_options o = {.parameters_only = true};
    assert_int_equal(wg_store_load_weights(store, path, &o, NULL, &error), WG_EINVAL);
    assert_non_null(strstr(error.text, "make the plan before loading"));
    add(store, "a", 1);
    assert_int_equal(wg_store_save_weights(store, path, &o, &error), WG_EINVAL);
    assert_int_equal(wg_store_load_weights(NULL, path, &o, NULL, &error), WG_EINVAL);
    assert_int_equal(wg_store_load(NULL, path, &error), WG_EINVAL);
    wg_store_free(store);
}

/* A store filled from a file of everything, without a plan or with one that is not trained, knows
 * from the file what is an optimizer's: it saves the weights alone. */
static void weights_from_a_full_file_are_weights_alone(void **state)
{
    (void)state;
    float w[6];
    for (int way = 0; way < 5; way++) {
        recurrent m;
        wg_safetensors *f;
        const wg_weights_options renamed = {.from_prefix = "", .to_prefix = "old/"};
        bool prefix = way == 4;
        wg_store *store = wg_store_new(1);
        train_and_save(save_all, w);
        assert_int_equal(
            way < 2 ? wg_store_load(store, path, &error)
                    : wg_store_load_weights(store, path, prefix ? &renamed : NULL, NULL, &error),
            WG_OK);
        assert_int_equal(wg_store_count(store), 5);
        assert_int_equal(wg_store_note_count(store), 1); /* the user's */
        recurrent_graph(&m, 32, "cell", false);
        if (way % 2 && !prefix)
            plan_recurrent(&m, store);
        assert_int_equal(save_weights(store, path), WG_OK);
        assert_int_equal(wg_safetensors_open(&f, path, &error), WG_OK);
        assert_int_equal(wg_safetensors_count(f), 2);
        assert_non_null(wg_safetensors_find(f, prefix ? "old/cell/w" : "cell/w"));
        assert_non_null(wg_safetensors_find(f, prefix ? "old/cell/h" : "cell/h"));
        assert_int_equal(wg_safetensors_note_count(f), 1);
        wg_safetensors_close(f);
        free_recurrent(&m);
        wg_store_free(store);
    }
}

/* What a plan knows goes before what a file said: a parameter of that name is a weight. */
static void a_plan_knows_better_than_the_file(void **state)
{
    (void)state;
    float w[6];
    wg_safetensors *f;
    wg_store *store = wg_store_new(1);
    train_and_save(save_all, w);
    assert_int_equal(wg_store_load(store, path, &error), WG_OK);
    wg_graph *g = wg_graph_new();
    wg_output(wg_parameter(g, "adam/m/cell/w", WG_F32, WG_SHAPE(3, 2), wg_zeros()), "y");
    wg_plan *p = plan_of(g, &(wg_plan_options){.store = store});
    assert_int_equal(save_weights(store, path), WG_OK);
    assert_int_equal(wg_safetensors_open(&f, path, &error), WG_OK);
    assert_int_equal(wg_safetensors_count(f), 3);
    assert_non_null(wg_safetensors_find(f, "adam/m/cell/w"));
    wg_safetensors_close(f);
    wg_plan_free(p);
    wg_graph_free(g);
    wg_store_free(store);
}

static void notes_are_set_replaced_and_removed(void **state)
{
    (void)state;
    wg_store *store = wg_store_new(1), *other = wg_store_new(1);
    assert_int_equal(wg_store_set_note(store, "a", "1"), WG_OK);
    assert_int_equal(wg_store_set_note(store, "b", "2"), WG_OK);
    assert_int_equal(wg_store_set_note(store, "a", "3"), WG_OK);
    assert_int_equal(wg_store_set_note(store, "", "3"), WG_EINVAL);
    assert_int_equal(wg_store_note_count(store), 2);
    assert_string_equal(wg_store_note(store, "a"), "3");
    assert_int_equal(wg_store_set_note(store, "a", NULL), WG_OK);
    assert_null(wg_store_note(store, "a"));
    assert_string_equal(wg_store_note_key(store, 0), "b");
    assert_null(wg_store_note_key(store, 1));
    assert_int_equal(wg_store_save(store, path, &error), WG_OK);
    assert_int_equal(wg_store_load(other, path, &error), WG_OK);
    assert_int_equal(wg_store_note_count(other), 1);
    assert_string_equal(wg_store_note(other, "b"), "2");
    wg_store_free(store);
    wg_store_free(other);
}

/* Who made a file says nothing of what is made of it. */
static void who_made_a_file_is_no_note_of_the_store(void **state)
{
    (void)state;
    float x = 1;
    const wg_file_note notes[] = {{WG_NOTE_MADE_BY, "average"}, {"b", "2"}};
    const wg_tensor tensor = {"x", WG_F32, WG_SCALAR, &x};
    assert_int_equal(wg_safetensors_write(path, &tensor, 1, notes, 2, &error), WG_OK);
    for (int weights = 0; weights < 2; weights++) {
        wg_store *store = wg_store_new(1);
        assert_int_equal(weights ? wg_store_load_weights(store, path, NULL, NULL, &error)
                                 : wg_store_load(store, path, &error),
                         WG_OK);
        assert_int_equal(wg_store_note_count(store), 1);
        assert_string_equal(wg_store_note(store, "b"), "2");
        assert_null(wg_store_note(store, WG_NOTE_MADE_BY));
        wg_store_free(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_comes_back_from_its_file),
        cmocka_unit_test(every_difference_is_listed_and_nothing_changed),
        cmocka_unit_test(what_only_the_file_has_is_refused_with_a_hint),
        cmocka_unit_test(weights_load_before_and_after_the_plan),
        cmocka_unit_test(the_report_names_what_was_ignored_and_missing),
        cmocka_unit_test(a_parameter_that_the_file_lacks_is_named_in_both_orders),
        cmocka_unit_test(prefixes_rename_and_missing_parameters_may_be_allowed),
        cmocka_unit_test(a_prefix_that_nothing_has_is_a_slip),
        cmocka_unit_test(a_prefix_that_the_file_lacks_is_a_slip),
        cmocka_unit_test(a_run_goes_on_from_its_file_in_both_orders),
        cmocka_unit_test(a_strict_file_lacks_no_state),
        cmocka_unit_test(parameters_are_known_from_a_plan_alone),
        cmocka_unit_test(weights_from_a_full_file_are_weights_alone),
        cmocka_unit_test(a_plan_knows_better_than_the_file),
        cmocka_unit_test(notes_are_set_replaced_and_removed),
        cmocka_unit_test(who_made_a_file_is_no_note_of_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
