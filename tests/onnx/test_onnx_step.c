/* A training step as a pure function: exported, imported again and run ten times, it gives the
 * losses and the parameters of the training itself.
 *
 *     test_onnx_step               compares all built-in models
 *     test_onnx_step write FOLDER  writes for each of them the model, the step, and the numbers of
 *                                  the training, for another engine (scripts/check-onnxruntime) */
#include "tests/test.h"

#include "graph/element.h"
#include "tests/onnx/built_in.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <unistd.h>

enum { STEPS = 10 };
static const double RATE = 1e-3;
static const char path[] = "step.onnx";
static wg_error error;

/* ---- the training itself --------------------------------------------------------------------- */

typedef struct training {
    wg_graph *g; /* loss, gradient, Adam at the input "rate" */
    wg_value *loss;
    wg_store *store;
    wg_plan *plan;
    double losses[STEPS];
} training;

/* Adam, with a rate that is an input.  The gradient of some parameters, such as the bias of keys,
 * is zero but for rounding: a larger eps than usual keeps Adam from making steps of that. */
static void add_update(wg_graph *g, wg_value *loss)
{
    wg_gradients d = wg_grad_all(loss);
    wg_value *rate = wg_input(g, "rate", WG_F32, WG_SCALAR);
    const wg_adam_options o = {.eps = 1e-6};
    check_that(wg_adam_update(d.params, d.grads, d.n, rate, &o) == WG_OK, "%s",
               wg_graph_message(g));
}

static void begin_training(training *t, const wg_model *m)
{
    wg_graph *g = wg_graph_new();
    m->build(g);
    *t = (training){.g = built_in_without_dropout(g), .store = wg_store_new(0)};
    t->loss = wg_graph_output(t->g, 0);
    add_update(t->g, t->loss);
    const wg_plan_options o = {.reference = true, .threads = 1, .store = t->store};
    check_that(wg_plan_create(&t->plan, t->g, &o) == WG_OK, "%s", wg_graph_message(t->g));
    built_in_fill_inputs(m, t->plan, t->g);
    wg_plan_f32(t->plan, wg_graph_find(t->g, "rate"))[0] = (float)RATE;
    wg_graph_free(g);
}

static void run_training(training *t)
{
    for (int i = 0; i < STEPS; i++) {
        check_that(wg_plan_run(t->plan, 0) == WG_OK, "%s", wg_plan_message(t->plan));
        t->losses[i] = wg_plan_scalar(t->plan, t->loss);
    }
}

static void end_training(training *t)
{
    wg_plan_free(t->plan);
    wg_store_free(t->store);
    wg_graph_free(t->g);
}

/* ---- the step that was imported -------------------------------------------------------------- */

static void *input_of(wg_plan *p, const wg_graph *g, const char *name)
{
    const wg_value *v = wg_graph_find(g, name);
    check_that(v && v->node->op->flags & WG_OP_INPUT, "no input '%s'", name);
    return wg_plan_data(p, v);
}

static const wg_value *output_of(const wg_graph *g, const char *name, const char *behind)
{
    char full[1000];
    snprintf(full, sizeof full, "%s%s", name, behind);
    for (size_t i = 0; i < wg_graph_output_count(g); i++)
        if (strcmp(wg_graph_output_name(g, i), full) == 0)
            return wg_graph_output(g, i);
    fail_msg("no output '%s'", full);
    return NULL;
}

/* What each leaf begins with, before the training has run. */
static void give_leaves(const training *t, wg_plan *p, const wg_graph *g)
{
    for (size_t i = 0; i < wg_store_count(t->store); i++) {
        const wg_tensor *leaf = wg_store_at(t->store, i);
        memcpy(input_of(p, g, leaf->name), leaf->data,
               (size_t)wg_shape_count(&leaf->shape) * wg_dtype_size(leaf->dtype));
    }
}

/* The new numbers of one run become inputs of the next. */
static void hand_on(const training *t, wg_plan *p, const wg_graph *g)
{
    for (size_t i = 0; i < wg_store_count(t->store); i++) {
        const char *name = wg_store_at(t->store, i)->name;
        const wg_value *next = output_of(g, name, WG_ONNX_NEXT);
        memcpy(input_of(p, g, name), wg_plan_data(p, next), wg_value_bytes(next));
    }
}

/* The largest difference, relative to 1 or the number. */
static double leaves_differ(const training *t, wg_plan *p, const wg_graph *g, size_t *compared)
{
    double most = 0;
    for (size_t i = 0; i < wg_store_count(t->store); i++) {
        const wg_tensor *leaf = wg_store_at(t->store, i);
        const void *got = input_of(p, g, leaf->name);
        for (int64_t k = 0; k < wg_shape_count(&leaf->shape); k++, ++*compared) {
            double x = wgi_get_element(leaf->data, leaf->dtype, k);
            double d = fabs(wgi_get_element(got, leaf->dtype, k) - x) / fmax(1, fabs(x));
            most = d > most || d != d ? d : most;
        }
    }
    return most;
}

/* Runs both; the numbers compared, and the largest differences of losses and leaves. */
static size_t compare(training *t, const wg_model *m, double most[2])
{
    wg_graph *g;
    wg_plan *p;
    size_t compared = 0;
    check_that(wg_onnx_import(&g, path, NULL, &error) == WG_OK, "%s", error.text);
    assert_int_equal(wg_graph_parameters(g, NULL, 0), 0);
    check_that(wg_plan_create(&p, g, &(wg_plan_options){.reference = true, .threads = 1}) == WG_OK,
               "%s", wg_graph_message(g));
    built_in_fill_inputs(m, p, g);
    give_leaves(t, p, g);
    *(float *)input_of(p, g, "rate") = (float)RATE;
    run_training(t);
    most[0] = 0;
    for (int i = 0; i < STEPS; i++) {
        check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
        double loss = wg_plan_scalar(p, output_of(g, "loss", ""));
        most[0] = fmax(most[0], fabs(loss - t->losses[i]) / fmax(1, fabs(loss)));
        hand_on(t, p, g);
        compared++;
    }
    most[1] = leaves_differ(t, p, g, &compared);
    wg_plan_free(p);
    wg_graph_free(g);
    return compared;
}

/* Sums of a backward pass are taken in another order, so that the last bits of f32 differ. */
static void steps_come_back(void **state)
{
    static const struct {
        const char *name;
        double losses, leaves;
    } tolerance[] = {{"mlp", 1e-6, 1e-6},     {"convnet", 1e-6, 1e-6}, {"attention", 1e-6, 1e-5},
                     {"encoder", 1e-6, 1e-4}, {"lstm", 1e-6, 1e-6},    {"transformer", 1e-6, 1e-4}};
    (void)state;
    for (size_t i = 0; i < WG_COUNT(tolerance); i++) {
        const wg_model *m = wg_model_find(tolerance[i].name);
        training t;
        double most[2];
        assert_non_null(m);
        begin_training(&t, m);
        const wg_onnx_export_options o = {.step = true};
        check_that(wg_onnx_export(t.g, path, &o, &error) == WG_OK, "%s: %s", m->name, error.text);
        size_t compared = compare(&t, m, most);
        print_message("%s: %zu numbers, losses off by %.2g, parameters and moments by %.2g\n",
                      m->name, compared, most[0], most[1]);
        check_that(t.losses[STEPS - 1] < t.losses[0], "%s learns nothing", m->name);
        check_that(most[0] <= tolerance[i].losses && most[1] <= tolerance[i].leaves &&
                       compared > 500,
                   "%s: too far from the training", m->name);
        end_training(&t);
    }
    assert_null(wg_model_at(WG_COUNT(tolerance)));
    unlink(path);
}

/* ---- what is in the file --------------------------------------------------------------------- */

static wg_graph *small(double dropout)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(4, 3), wg_xavier(1)),
             *fixed = wg_parameter(g, "fixed", WG_F32, WG_SHAPE(4), wg_ones());
    wg_value *y = wg_dropout(wg_linear(x, w, fixed, WG_ACTIVATION_NONE), dropout);
    wg_value *loss = wg_output(wg_mean(wg_square(y), WG_ALL_AXES, WG_DROP), "loss"), *dw = NULL;
    assert_int_equal(wg_grad(loss, &w, 1, &dw), WG_OK);
    wg_assign(w, wg_sub(w, wg_scale(dw, 0.5)));
    return g;
}

/* Only what is assigned becomes an input; a frozen parameter stays one of the file. */
static void only_what_changes_is_an_input(void **state)
{
    (void)state;
    wg_graph *g = small(0), *back;
    check_that(wg_onnx_export(g, path, &(wg_onnx_export_options){.step = true}, &error) == WG_OK,
               "%s", error.text);
    check_that(wg_onnx_import(&back, path, NULL, &error) == WG_OK, "%s", error.text);
    const wg_value *w = wg_graph_find(back, "w"), *fixed = wg_graph_find(back, "fixed");
    assert_true(w && w->node->op == &wg_op_input);
    assert_true(fixed && fixed->node->op == &wg_op_parameter);
    assert_int_equal(wg_graph_output_count(back), 2);
    assert_string_equal(wg_graph_output_name(back, 1), "w" WG_ONNX_NEXT);
    wg_graph_free(back);
    check_that(wg_onnx_export(g, path, NULL, &error) == WG_OK, "%s", error.text);
    check_that(wg_onnx_import(&back, path, NULL, &error) == WG_OK, "%s", error.text);
    assert_int_equal(wg_graph_output_count(back), 1);
    assert_int_equal(wg_graph_parameters(back, NULL, 0), 2);
    wg_graph_free(back);
    wg_graph_free(g);
    unlink(path);
}

static void refused(const wg_graph *g, const wg_onnx_export_options *o, wg_status status,
                    const char *text)
{
    assert_int_equal(wg_onnx_export(g, path, o, &error), status);
    check_that(strstr(error.text, text), "%s", error.text);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* Coins are no function of the operands: the message says what to do, and without_dropout does
 * it. */
static void dropout_is_left_out_on_request(void **state)
{
    (void)state;
    wg_graph *g = small(0.5), *back;
    wg_onnx_export_options o = {.step = true};
    refused(g, &o, WG_EUNSUPPORTED, "dropout (2); a pure function draws no random numbers");
    o.without_dropout = true;
    check_that(wg_onnx_export(g, path, &o, &error) == WG_OK, "%s", error.text);
    check_that(wg_onnx_import(&back, path, NULL, &error) == WG_OK, "%s", error.text);
    wg_graph_free(back);
    wg_graph_free(g);
    unlink(path);
}

static void names_must_not_clash(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
    wg_value *y = wg_output(wg_relu(x), "y");
    refused(g, &(wg_onnx_export_options){.step = true}, WG_EINVAL, "assigns nothing");
    wg_output(wg_neg(y), "x");
    refused(g, NULL, WG_EINVAL, "the output 'x' has the name of an input");
    wg_graph_free(g);
}

/* ---- files for another engine ---------------------------------------------------------------- */

static void keep(wg_store *s, const char *what, const char *name, wg_dtype dtype,
                 const wg_shape *shape, const void *data)
{
    char full[1000];
    const wg_tensor *t;
    snprintf(full, sizeof full, "%s/%s", what, name);
    check_that(wg_store_add(s, full, dtype, shape, &t) == WG_OK, "%s", full);
    memcpy(t->data, data, (size_t)wg_shape_count(shape) * wg_dtype_size(dtype));
}

static void keep_leaves(wg_store *s, const char *what, const wg_store *from)
{
    for (size_t i = 0; i < wg_store_count(from); i++) {
        const wg_tensor *t = wg_store_at(from, i);
        keep(s, what, t->name, t->dtype, &t->shape, t->data);
    }
}

static void keep_inputs(wg_store *s, wg_plan *p, const wg_graph *g)
{
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        const wg_value *v = wg_graph_value(g, i);
        if (v->node->op->flags & WG_OP_INPUT)
            keep(s, "input", v->name, v->dtype, &v->shape, wg_plan_data(p, v));
    }
}

/* FOLDER/NAME.onnx, with all values of floats as outputs, and their numbers. */
static void write_forward(wg_store *s, const wg_model *m, const char *file)
{
    wg_graph *g = wg_graph_new();
    m->build(g);
    wg_graph *plain = built_in_without_dropout(g);
    wg_store *store = wg_store_new(0);
    wg_plan *p;
    built_in_show_all(plain);
    const wg_plan_options o = {.reference = true, .store = store, .threads = 1};
    check_that(wg_plan_create(&p, plain, &o) == WG_OK, "%s", wg_graph_message(plain));
    built_in_fill_inputs(m, p, plain);
    built_in_vary(store, 0.25);
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    check_that(wg_onnx_export(plain, file, &(wg_onnx_export_options){.store = store}, &error) ==
                   WG_OK,
               "%s", error.text);
    for (size_t i = 0; i < wg_graph_output_count(plain); i++) {
        const wg_value *v = wg_graph_output(plain, i);
        keep(s, "output", wg_graph_output_name(plain, i), v->dtype, &v->shape, wg_plan_data(p, v));
    }
    wg_plan_free(p);
    wg_store_free(store);
    wg_graph_free(plain);
    wg_graph_free(g);
}

static void write_model(const wg_model *m, const char *folder)
{
    char file[1000];
    training t;
    wg_store *s = wg_store_new(0);
    const wg_shape steps = WG_SHAPE(STEPS);
    snprintf(file, sizeof file, "%s/%s.onnx", folder, m->name);
    write_forward(s, m, file);
    begin_training(&t, m);
    snprintf(file, sizeof file, "%s/%s.step.onnx", folder, m->name);
    check_that(wg_onnx_export(t.g, file, &(wg_onnx_export_options){.step = true}, &error) == WG_OK,
               "%s", error.text);
    keep_inputs(s, t.plan, t.g);
    keep_leaves(s, "first", t.store);
    run_training(&t);
    keep_leaves(s, "last", t.store);
    keep(s, "training", "losses", WG_F64, &steps, t.losses);
    snprintf(file, sizeof file, "%s/%s.safetensors", folder, m->name);
    check_that(wg_store_save(s, file, &error) == WG_OK, "%s", error.text);
    end_training(&t);
    wg_store_free(s);
}

static const char *to_folder;

static void write_models(void **state)
{
    (void)state;
    for (size_t i = 0; wg_model_at(i); i++)
        write_model(wg_model_at(i), to_folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_come_back),
        cmocka_unit_test(only_what_changes_is_an_input),
        cmocka_unit_test(dropout_is_left_out_on_request),
        cmocka_unit_test(names_must_not_clash),
    };
    const struct CMUnitTest writes[] = {cmocka_unit_test(write_models)};
    if (argc == 3 && strcmp(argv[1], "write") == 0) {
        to_folder = argv[2];
        return cmocka_run_group_tests(writes, NULL, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
