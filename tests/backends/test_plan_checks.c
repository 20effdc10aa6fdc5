/* The checks of a run: inputs that nobody filled, and where NaN and infinity came from. */
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/models/layers.h"
#include "wengert/ops/ops.h"

#include <math.h>

/* ---- inputs that nobody filled --------------------------------------------------------------- */

static void checks_notice_an_input_that_was_never_filled(void **state)
{
    (void)state;
    const wg_plan_options checks[] = {{.check_nonfinite = true}, {.poison = true}};
    for (int i = 0; i < WG_COUNT(checks); i++)
        for (int bound = 0; bound < 2; bound++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4, 4));
            wg_value *y = wg_output(wg_exp(wg_reshape(x, WG_SHAPE(16))), "y");
            wg_input(g, "unread", WG_F32, WG_SHAPE(4));
            wg_plan *p = plan_of(g, &checks[i]);
            float *memory = aligned_alloc(64, 64);
            memset(memory, 0, 64);
            assert_int_equal(wg_plan_run(p, 0), WG_EINVAL);
            check_that(strncmp(wg_plan_message(p),
                               "input(): x was never filled: wg_plan_data gives "
                               "its memory (test_plan_checks.c:",
                               75) == 0,
                       "%s", wg_plan_message(p));
            if (bound)
                assert_int_equal(wg_plan_bind(p, x, memory), WG_OK);
            else
                memset(wg_plan_data(p, x), 0, 64);
            run(p, 0);
            assert_true(floats(p, y)[3] == 1);
            wg_plan_free(p);
            wg_graph_free(g);
            free(memory);
        }
}

/* With poison an input whose memory was asked for but not written shows. */
static void poison_shows_an_input_that_was_not_written(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4)), *y = wg_output(wg_exp(x), "y");
    wg_plan *p = plan_of(g, &(wg_plan_options){.poison = true});
    wg_plan_f32(p, x)[0] = 0;
    run(p, 0);
    assert_true(floats(p, y)[0] == 1 && isnan(floats(p, y)[1]));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- where NaN comes from -------------------------------------------------------------------- */

/* Two steps of w -= log(x) with x = -1: the first makes NaN, the second reads it. */
static void nan_that_came_in_is_told_from_nan_that_is_made(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SCALAR), *z = wg_input(g, "z", WG_F32, WG_SHAPE(2)),
             *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(2), wg_ones()),
             *v = wg_parameter(g, "v", WG_F32, WG_SHAPE(2), wg_ones());
    wg_value *step = wg_log(x);
    int line = __LINE__ + 1;
    wg_output(wg_mul(wg_reshape(w, WG_SHAPE(2, 1)), z), "y");
    wg_assign(w, wg_sub(w, step));
    wg_assign(v, wg_sub(v, step));
    wg_plan *p = plan_of(g, NULL);
    memset(wg_plan_f32(p, z), 0, 2 * sizeof(float));
    *wg_plan_f32(p, x) = 1;
    run(p, 0);
    *wg_plan_f32(p, x) = -1;
    const wg_node *made = wg_plan_first_nonfinite(p, 1);
    assert_string_equal(made->op->name, "log");
    assert_non_null(strstr(wg_plan_message(p), "log(x): result 0 is NaN at element 0"));
    run(p, 1);
    const wg_node *held = wg_plan_first_nonfinite(p, 1); /* too late: w and v hold it */
    assert_string_equal(held->op->name, "log");          /* whose operand is whole */
    *wg_plan_f32(p, x) = 1;
    held = wg_plan_first_nonfinite(p, 2);
    assert_string_equal(held->op->name, "parameter");
    assert_non_null(strstr(wg_plan_message(p), "reads NaN at element 0 of parameter "));
    assert_non_null(strstr(wg_plan_message(p), ", which held it before the run, as did 2 of 2 "
                                               "parameters and states (test_plan_checks.c:"));
    wg_plan_f32(p, w)[0] = wg_plan_f32(p, w)[1] = wg_plan_f32(p, v)[0] = wg_plan_f32(p, v)[1] = 1;
    wg_plan_f32(p, z)[1] = NAN;
    char expected[200];
    snprintf(
        expected, sizeof expected,
        "reads NaN at element 1 of input z, which held it before the run (test_plan_checks.c:%d)",
        line);
    held = wg_plan_first_nonfinite(p, 3);
    assert_string_equal(held->op->name, "input");
    check_that(strstr(wg_plan_message(p), expected), "%s", wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(g);
}

static void nan_of_a_constant_is_said_to_be_one(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *c = wg_name(wg_constant(g, WG_F32, WG_SHAPE(2), ((float[]){1, NAN})), "c"),
             *x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
    wg_output(wg_mul(x, c), "y");
    wg_plan *p = plan_of(g, &(wg_plan_options){.check_nonfinite = true});
    memset(wg_plan_f32(p, x), 0, 8);
    assert_int_equal(wg_plan_run(p, 0), WG_ENONFINITE);
    assert_non_null(strstr(wg_plan_message(p),
                           "reads NaN at element 1 of constant c, which depends "
                           "on constants alone"));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* The check looks at what the same kernels make: a layer with its relu, its gradient, a loss. */
static void the_check_changes_no_bits(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(64, 96)),
             *t = wg_input(g, "t", WG_I32, WG_SHAPE(64)),
             *h = wg_dense("hidden", x, 128, WG_ACTIVATION_RELU);
    h = wg_layernorm_layer("norm", wg_dense("more", h, 80, WG_ACTIVATION_GELU));
    wg_value *logits = wg_dense("out", h, 10, WG_ACTIVATION_NONE);
    wg_output(wg_cross_entropy(logits, t, NULL, NULL), "loss");
    wg_gradients d = wg_grad_all(wg_graph_output(g, 0));
    for (size_t i = 0; i < d.n; i++)
        wg_output(d.grads[i], d.params[i]->name);
    wg_plan *plain = plan_of(g, NULL),
            *checked = plan_of(g, &(wg_plan_options){.check_nonfinite = true});
    wg_plan *const plans[] = {plain, checked};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 64 * 96; i++)
            wg_plan_f32(plans[k], x)[i] = sinf((float)i);
        for (int i = 0; i < 64; i++)
            wg_plan_i32(plans[k], t)[i] = i % 10;
        run(plans[k], 0);
    }
    assert_int_equal(wg_graph_output_count(g), 9);
    for (size_t i = 0; i < 9; i++) {
        const wg_value *y = wg_graph_output(g, i);
        assert_memory_equal(wg_plan_data(plain, y), wg_plan_data(checked, y), wg_value_bytes(y));
    }
    wg_plan_free(plain);
    wg_plan_free(checked);
    wg_graph_free(g);
}

/* The -inf of an empty segment and a sign that turns are none; what exp makes beside a mask is. */
static void infinities_of_infinities_are_none_that_were_made(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4)),
             *ids = wg_input(g, "ids", WG_I64, WG_SHAPE(4)),
             *mask = wg_input(g, "mask", WG_F32, WG_SHAPE(4));
    wg_value *shares = wg_output(wg_segment_softmax(x, ids, 0, 3), "shares");
    wg_output(wg_segment_min(x, ids, 0, 3), "least");
    wg_output(wg_neg(mask), "turned");
    wg_output(wg_exp(wg_add(x, mask)), "e");
    wg_plan *p = plan_of(g, &(wg_plan_options){.check_nonfinite = true});
    memcpy(wg_plan_f32(p, x), ((float[]){1, 1, 2, 2}), 16);
    memcpy(wg_plan_i64(p, ids), ((int64_t[]){0, 0, 2, 2}), 32);
    memcpy(wg_plan_f32(p, mask), ((float[]){0, -INFINITY, 0, 0}), 16);
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    for (int i = 0; i < 4; i++)
        assert_true(wg_plan_f32(p, shares)[i] == 0.5f);
    wg_plan_f32(p, x)[3] = 100;
    assert_int_equal(wg_plan_run(p, 1), WG_ENONFINITE);
    check_that(strstr(wg_plan_message(p), "infinite at element 3"), "%s", wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_notice_an_input_that_was_never_filled),
        cmocka_unit_test(poison_shows_an_input_that_was_not_written),
        cmocka_unit_test(nan_that_came_in_is_told_from_nan_that_is_made),
        cmocka_unit_test(nan_of_a_constant_is_said_to_be_one),
        cmocka_unit_test(the_check_changes_no_bits),
        cmocka_unit_test(infinities_of_infinities_are_none_that_were_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
