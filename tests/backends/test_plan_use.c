/* What a program meets when it uses a plan: fast backends by default, readers that check, messages
 * that say what to do. */
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/autograd/vmap.h"
#include "wengert/backends/load.h"
#include "wengert/graph/page.h"
#include "wengert/graph/picture.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/parse.h"

#include <limits.h>
#include <math.h>

/* ---- backends -------------------------------------------------------------------------------- */

static wg_value *product_of(wg_graph *g)
{
    wg_value *a = wg_input(g, "a", WG_F32, WG_SHAPE(64, 64)),
             *b = wg_input(g, "b", WG_F32, WG_SHAPE(64, 64));
    return wg_output(wg_matmul(a, b), "y");
}

static void without_options_a_plan_asks_the_fastest_backends(void **state)
{
    (void)state;
    const wg_backend_list built = wg_backend_list_built_in();
    const wg_plan_options listed = {.backends = built.backend, .n_backends = built.count},
                          none = {0}, *const ways[] = {&listed, NULL, &none};
    wg_graph *g = wg_graph_new();
    product_of(g);
    const char *first = NULL;
    for (int i = 0; i < WG_COUNT(ways); i++) {
        wg_plan *p = plan_of(g, ways[i]);
        const char *by = wg_plan_step_at(p, 0).backend;
        first = first ? first : by;
        assert_string_equal(by, first);
        wg_plan_free(p);
    }
    wg_plan *p = plan_of(g, &(wg_plan_options){.reference = true});
    assert_string_equal(wg_plan_step_at(p, 0).backend, "cpu");
    assert_string_equal(wg_plan_step_at(p, 0).refused, "");
    wg_plan_free(p);
    wg_graph_free(g);
}

static void the_reference_excludes_a_list(void **state)
{
    (void)state;
    const wg_backend *cpu = wg_cpu_backend();
    const wg_plan_options o = {.backends = &cpu, .n_backends = 1, .reference = true};
    wg_graph *g = wg_graph_new();
    wg_plan *p;
    product_of(g);
    assert_int_equal(wg_plan_create(&p, g, &o), WG_EINVAL);
    assert_string_equal(wg_graph_message(g),
                        "wg_plan_create: the options ask for the reference and 1 backends");
    wg_graph_free(g);
}

static void lists_of_a_number_are_no_null(void **state)
{
    (void)state;
    static const wg_backend *const none[] = {NULL};
    static const struct {
        wg_plan_options o;
        const char *message;
    } cases[] = {
        {{.n_backends = 1}, "wg_plan_create: n_backends is 1, but backends is NULL"},
        {{.backends = none, .n_backends = 1},
         "wg_plan_create: backend 0 is NULL, as wg_backend_find returns for an unknown name"},
        {{.n_outputs = 5}, "wg_plan_create: n_outputs is 5, but outputs is NULL"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new();
        wg_plan *p;
        product_of(g);
        assert_int_equal(wg_plan_create(&p, g, &cases[i].o), WG_EINVAL);
        assert_null(p);
        assert_string_equal(wg_graph_message(g), cases[i].message);
        wg_graph_free(g);
    }
}

/* An error of what was asked of it leaves the graph as it was; its own stays. */
static void a_plan_that_failed_may_be_asked_for_otherwise(void **state)
{
    (void)state;
    const wg_plan_options wrong[] = {{.threads = -1}, {.memory = 10}};
    wg_graph *g = wg_graph_new();
    wg_value *y = product_of(g);
    wg_plan *p;
    for (size_t i = 0; i < WG_COUNT(wrong); i++) {
        assert_int_not_equal(wg_plan_create(&p, g, &wrong[i]), WG_OK);
        assert_string_not_equal(wg_graph_message(g), "");
        assert_int_equal(wg_graph_status(g), WG_OK);
        wg_plan_free(plan_of(g, NULL));
        assert_string_equal(wg_graph_message(g), "");
    }
    size_t bytes = 0;
    assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.memory = 10}), WG_ENOMEM);
    const char *least = strstr(wg_graph_message(g), "too small: ");
    assert_true(least && sscanf(least, "too small: %zu bytes are enough", &bytes) == 1);
    wg_plan_free(plan_of(g, &(wg_plan_options){.memory = bytes}));
    assert_null(wg_matmul(y, wg_input(g, "narrow", WG_F32, WG_SHAPE(3, 3))));
    for (int i = 0; i < 2; i++)
        assert_int_equal(wg_plan_create(&p, g, NULL), WG_ESHAPE);
    assert_non_null(strstr(wg_graph_message(g), "inner sizes 64 and 3"));
    wg_graph_free(g);
}

/* Nodes, derivatives, a copy: all that is built after the failure is in the next plan. */
static void a_graph_whose_plan_failed_is_extended(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(64)), *dx = NULL, *moved = NULL;
    wg_value *y = wg_output(wg_sum(wg_square(x), WG_ALL_AXES, WG_DROP), "y");
    wg_plan *p;
    const wg_plan_options small = {.memory = 10};
    assert_int_equal(wg_plan_create(&p, g, &small), WG_ENOMEM);
    assert_int_equal(wg_grad(y, &x, 1, &dx), WG_OK);
    wg_output(dx, "dx");
    assert_string_equal(wg_graph_message(g), ""); /* it was about another graph */
    assert_int_equal(wg_plan_create(&p, g, &small), WG_ENOMEM);
    assert_int_equal(wg_vmap(&y, 1, &x, (wg_value *[]){wg_stack(&x, 1, 0)}, 1, &moved), WG_OK);
    wg_output(moved, "moved");
    assert_int_equal(wg_plan_create(&p, g, &small), WG_ENOMEM);
    wg_graph *copy = wg_graph_clone(g, NULL, NULL);
    assert_int_equal(wg_graph_output_count(copy), 3);
    wg_graph_free(copy);
    assert_null(wg_matmul(y, x)); /* an error of the graph takes the place of the plan's */
    assert_non_null(strstr(wg_graph_message(g), "matmul"));
    assert_int_equal(wg_plan_create(&p, g, &small), wg_graph_status(g));
    wg_graph_free(g);
}

/* To see what a plan lacks memory for: the text of the graph, its picture and its page. */
static void a_graph_whose_plan_failed_is_shown(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new(), *read = NULL;
    product_of(g);
    char *before, *after;
    size_t n, m, k = 0;
    for (int failed = 0; failed < 2; failed++) {
        wg_plan *p;
        wg_picture *picture;
        wg_error error;
        if (failed)
            assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.memory = 10}), WG_ENOMEM);
        FILE *f = open_memstream(failed ? &after : &before, failed ? &m : &n);
        assert_int_equal(wg_graph_print(g, f), WG_OK);
        fclose(f);
        assert_int_equal(wg_picture_create(&picture, g, NULL, &error), WG_OK);
        wg_picture_free(picture);
        char *page;
        f = open_memstream(&page, &k);
        assert_int_equal(wg_graph_write_page(g, "page", f, &error), WG_OK);
        fclose(f);
        assert_true(k > 1000);
        free(page);
    }
    assert_string_equal(before, after);
    wg_error error;
    assert_int_equal(wg_graph_parse(&read, after, m, NULL, &error), WG_OK);
    free(before);
    free(after);
    wg_graph_free(read);
    wg_graph_free(g);
}

/* NaN goes through every function that has several kernels. */
static void nan_stays_nan_on_every_backend(void **state)
{
    (void)state;
    const wg_backend_list built = wg_backend_list_built_in();
    int compared = 0;
    for (size_t b = 0; b < built.count; b++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 64));
        wg_value *y[] = {wg_exp(x),
                         wg_log(x),
                         wg_tanh(x),
                         wg_sigmoid(x),
                         wg_silu(x),
                         wg_softplus(x),
                         wg_gelu(x, WG_GELU_ERF),
                         wg_gelu(x, WG_GELU_TANH),
                         wg_relu(x),
                         wg_softmax(x, -1),
                         wg_log_softmax(x, -1)};
        wg_plan *p = plan_of(g, &(wg_plan_options){.outputs = y,
                                                   .n_outputs = WG_COUNT(y),
                                                   .backends = &built.backend[b],
                                                   .n_backends = 1});
        for (int i = 0; i < 128; i++)
            wg_plan_f32(p, x)[i] = i == 5 || i == 40 ? NAN : 0.25f;
        run(p, 0);
        for (int i = 0; i < WG_COUNT(y); i++, compared++) {
            const float *out = floats(p, y[i]);
            check_that(isnan(out[5]) && isnan(out[40]) && isfinite(out[64 + 5]),
                       "%s on %s: %g, %g and %g", y[i]->node->op->name, built.backend[b]->name,
                       (double)out[5], (double)out[40], (double)out[64 + 5]);
        }
        wg_plan_free(p);
        wg_graph_free(g);
    }
    assert_int_equal(compared, 11 * (int)built.count);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void expect_message(const wg_plan *p, const char *expected)
{
    assert_string_equal(wg_plan_message(p), expected);
}

static void what_cannot_be_read_has_a_reason(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new(), *other = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3)), *h = wg_name(wg_exp(x), "h"),
             *y = wg_output(wg_sum(h, WG_ALL_AXES, WG_DROP), "y"),
             *w = wg_name(wg_constant(g, WG_F32, WG_SCALAR, (float[]){1}), "w"),
             *foreign = wg_input(other, "foreign", WG_F32, WG_SHAPE(3));
    wg_value *unnamed = wg_scale(h, 2);
    char line[100];
    snprintf(line, sizeof line, "keep_all (test_plan_use.c:%d)", __LINE__ - 2);
    wg_plan *p = plan_of(g, NULL);
    wg_value *late = wg_name(wg_exp(y), "late");
    assert_null(wg_plan_data(p, unnamed));
    assert_non_null(strstr(wg_plan_message(p), "wg_plan_data: mul(h, %"));
    assert_non_null(strstr(wg_plan_message(p), line));
    assert_null(wg_plan_data(p, h));
    expect_message(p, "wg_plan_data: h is not an output of this plan: mark it with wg_output, or "
                      "set keep_all");
    assert_null(wg_plan_data(p, w));
    expect_message(p, "wg_plan_data: w is not needed by what the plan computes");
    assert_null(wg_plan_data(p, late));
    expect_message(p, "wg_plan_data: late is newer than the plan: create the plan after the graph "
                      "is complete");
    assert_null(wg_plan_data(p, foreign));
    expect_message(p, "wg_plan_data: foreign is of another graph than the plan");
    assert_null(wg_plan_data(p, NULL));
    expect_message(p, "wg_plan_data: the value is NULL: wg_graph_find gives NULL for a name that "
                      "the graph lacks, builders for a graph in error (wg_graph_message)");
    assert_null(wg_plan_data(NULL, x));
    wg_plan_free(p);
    wg_graph_free(g);
    wg_graph_free(other);
}

static void readers_check_dtype_and_size(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3)),
             *best = wg_output(wg_argmax(x, 0, WG_DROP), "best"),
             *ids = wg_output(wg_cast(best, WG_I32), "ids"),
             *sum = wg_output(wg_sum(x, WG_ALL_AXES, WG_DROP), "sum"),
             *wide = wg_output(wg_cast(sum, WG_F64), "wide"),
             *hidden = wg_name(wg_exp(sum), "hidden");
    wg_plan *p = plan_of(g, NULL);
    memcpy(wg_plan_f32(p, x), (float[]){1, 5, 2}, 3 * sizeof(float));
    run(p, 0);
    assert_true(wg_plan_scalar(p, sum) == 8 && wg_plan_scalar(p, best) == 1 &&
                wg_plan_scalar(p, ids) == 1 && wg_plan_scalar(p, wide) == 8);
    assert_true(wg_plan_i64(p, best)[0] == 1 && wg_plan_i32(p, ids)[0] == 1 &&
                wg_plan_f64(p, wide)[0] == 8);
    assert_null(wg_plan_f32(p, best));
    expect_message(p, "wg_plan_f32: best is i64, read as f32");
    assert_null(wg_plan_f64(p, ids));
    expect_message(p, "wg_plan_f64: ids is i32, read as f64");
    assert_null(wg_plan_i64(p, sum));
    expect_message(p, "wg_plan_i64: sum is f32, read as i64");
    assert_true(isnan(wg_plan_scalar(p, x)));
    expect_message(p, "wg_plan_scalar: x is [3], read as a scalar");
    assert_true(isnan(wg_plan_scalar(p, hidden)));
    expect_message(p, "wg_plan_scalar: hidden is not an output of this plan: mark it with "
                      "wg_output, or set keep_all");
    assert_null(wg_plan_i64(p, hidden));
    expect_message(p, "wg_plan_i64: hidden is f32, read as i64");
    assert_null(wg_plan_f32(p, hidden));
    expect_message(p, "wg_plan_f32: hidden is not an output of this plan: mark it with "
                      "wg_output, or set keep_all");
    assert_true(isnan(wg_plan_scalar(p, NULL)) && isnan(wg_plan_scalar(NULL, x)));
    assert_null(wg_plan_f32(p, NULL));
    check_that(strstr(wg_plan_message(p), "wg_plan_f32: the value is NULL: "), "%s",
               wg_plan_message(p));
    assert_null(wg_plan_i32(NULL, ids));
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_bind_that_succeeds_clears_the_message(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4));
    wg_output(wg_exp(x), "y");
    wg_plan *p = plan_of(g, NULL);
    char *memory = aligned_alloc(64, 128);
    assert_int_equal(wg_plan_bind(p, x, memory + 4), WG_EINVAL);
    expect_message(p, "wg_plan_bind: the memory is not 64-byte aligned");
    assert_int_equal(wg_plan_bind(p, x, memory), WG_OK);
    expect_message(p, "");
    wg_plan_free(p);
    wg_graph_free(g);
    free(memory);
}

static void a_plan_needs_closed_scopes(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_scope_push(g, "encoder");
    wg_output(wg_exp(wg_input(g, "x", WG_F32, WG_SHAPE(4))), "y");
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_EINVAL);
    check_that(strstr(wg_graph_message(g),
                      "encoder: wg_plan_create: the scope is still open: wg_scope_pop is missing; "
                      "it was opened before test_plan_use.c:") == wg_graph_message(g),
               "%s", wg_graph_message(g));
    wg_graph_free(g);
    g = wg_graph_new();
    wg_output(wg_exp(wg_input(g, "x", WG_F32, WG_SHAPE(4))), "y");
    wg_scope_push(g, "encoder");
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_EINVAL);
    assert_string_equal(wg_graph_message(g), "encoder: wg_plan_create: the scope is still open: "
                                             "wg_scope_pop is missing");
    wg_graph_free(g);
}

/* ---- before the first run -------------------------------------------------------------------- */

/* Zeros, or with poison what is NaN; a scalar is not there to be read. */
static void results_are_defined_before_the_first_run(void **state)
{
    (void)state;
    for (int poison = 0; poison < 2; poison++)
        for (int all = 0; all < 2; all++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(1000)), *y = wg_exp(x);
            wg_value *sum = wg_output(wg_sum(y, WG_ALL_AXES, WG_DROP), "sum"),
                     *two = wg_output(wg_fill(g, WG_F32, WG_SCALAR, 2), "two");
            wg_output(wg_exp(y), "z");
            wg_plan *p = plan_of(g, &(wg_plan_options){.poison = poison, .keep_all = all});
            const float *z = floats(p, wg_graph_output(g, 2));
            for (int i = 0; i < 1000; i++)
                assert_true(poison ? isnan(z[i]) : z[i] == 0);
            assert_true(wg_plan_scalar(p, two) == 2); /* needs no run */
            assert_true(isnan(wg_plan_scalar(p, sum)));
            assert_string_equal(wg_plan_message(p),
                                "wg_plan_scalar: sum was not computed yet: no run has finished");
            memset(wg_plan_f32(p, x), 0, 4000);
            assert_string_equal(wg_plan_message(p), ""); /* it succeeded */
            run(p, 0);
            assert_true(wg_plan_scalar(p, sum) == 1000);
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

static void a_read_that_succeeds_clears_the_message(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(1)), *n = wg_input(g, "n", WG_I64, WG_SHAPE(1)),
             *y = wg_output(wg_exp(x), "y");
    wg_output(n, "m");
    wg_plan *p = plan_of(g, NULL);
    for (int way = 0; way < 3; way++) {
        assert_null(wg_plan_f32(p, n));
        assert_string_not_equal(wg_plan_message(p), "");
        if (way == 0)
            assert_non_null(wg_plan_data(p, y));
        else if (way == 1)
            assert_non_null(wg_plan_f32(p, y));
        else
            assert_true(wg_plan_scalar(p, x) == 0);
        assert_string_equal(wg_plan_message(p), "");
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void no_run_has_as_many_threads(void **state)
{
    (void)state;
    const int wrong[] = {-1, WG_MAX_THREADS + 1, INT_MAX};
    for (size_t i = 0; i < WG_COUNT(wrong); i++) {
        char expected[128];
        wg_graph *g = wg_graph_new();
        wg_plan *p;
        wg_output(wg_exp(wg_input(g, "x", WG_F32, WG_SHAPE(1))), "y");
        assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.threads = wrong[i]}), WG_EINVAL);
        assert_null(p);
        snprintf(expected, sizeof expected,
                 "wg_plan_create: threads is %d, must be 1 to 1024, or 0 for what the process may "
                 "use",
                 wrong[i]);
        assert_string_equal(wg_graph_message(g), expected);
        wg_graph_free(g);
    }
}

/* Of a plan that is profiled, the times of the first run can be forgotten. */
static void a_profile_starts_again(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_output(wg_exp(wg_input(g, "x", WG_F32, WG_SHAPE(1000))), "y");
    wg_plan *p = plan_of(g, &(wg_plan_options){.profile = true});
    for (uint64_t step = 0; step < 3; step++) {
        run(p, step);
        if (step == 0) {
            assert_true(wg_plan_step_at(p, 0).seconds > 0);
            wg_plan_reset_profile(p);
            assert_true(wg_plan_step_at(p, 0).seconds == 0);
        }
    }
    assert_int_equal(wg_plan_step_at(p, 0).runs, 2);
    wg_plan_reset_profile(NULL);
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_a_plan_asks_the_fastest_backends),
        cmocka_unit_test(the_reference_excludes_a_list),
        cmocka_unit_test(lists_of_a_number_are_no_null),
        cmocka_unit_test(a_plan_that_failed_may_be_asked_for_otherwise),
        cmocka_unit_test(a_graph_whose_plan_failed_is_extended),
        cmocka_unit_test(a_graph_whose_plan_failed_is_shown),
        cmocka_unit_test(nan_stays_nan_on_every_backend),
        cmocka_unit_test(what_cannot_be_read_has_a_reason),
        cmocka_unit_test(readers_check_dtype_and_size),
        cmocka_unit_test(a_bind_that_succeeds_clears_the_message),
        cmocka_unit_test(a_plan_needs_closed_scopes),
        cmocka_unit_test(results_are_defined_before_the_first_run),
        cmocka_unit_test(a_read_that_succeeds_clears_the_message),
        cmocka_unit_test(no_run_has_as_many_threads),
        cmocka_unit_test(a_profile_starts_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
