/* layernorm, rmsnorm, batchnorm, groupnorm: exact values, kernels against expansions, properties.
 * / */
#include "tests/numbers.h"

static void layernorm_of_a_unit_vector(void **state)
{
    (void)state;
    const double x[] = {1, 0, 0, 0}, s = 1 / sqrt(0.1875 + 1e-6);
    const double y[] = {0.75 * s, -0.25 * s, -0.25 * s, -0.25 * s};
    assert_true(fabs(y[0] - 1.732046) < 1e-6 && fabs(y[1] + 0.577349) < 1e-6);
    for (wg_dtype d = WG_F32; d <= WG_F64; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *v = wg_layernorm(numbers(g, d, WG_SHAPE(4), x), NULL, NULL, WG_LAST_AXIS, 1e-6);
        wg_value *out[] = {v, wg_result_of(v, 1), wg_result_of(v, 2)};
        wg_plan *p = small_run(g, out, 3, 1);
        double tolerance = d == WG_F32 ? 2e-7 : 1e-15;
        numbers_near("y", p, out[0], y, 4, tolerance);
        numbers_near("mean", p, out[1], (const double[]){0.25}, 1, tolerance);
        numbers_near("rstd", p, out[2], &s, 1, tolerance);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void gain_and_bias_over_two_axes(void **state)
{
    (void)state;
    const double x[] = {1, 3, 1, 3, 0, 0, 0, 8}, gain[] = {2, 2, 1, 1}, bias[] = {0, 10, 0, 10};
    const double r = 1 / sqrt(12.0), y[] = {-2, 12, -1, 11, -4 * r, 10 - 4 * r, -2 * r, 10 + 6 * r};
    wg_graph *g = wg_graph_new();
    wg_value *v = wg_layernorm(numbers(g, WG_F64, WG_SHAPE(2, 2, 2), x),
                               numbers(g, WG_F64, WG_SHAPE(2, 2), gain),
                               numbers(g, WG_F64, WG_SHAPE(2, 2), bias), 2, 0);
    wg_plan *p = small_run(g, &v, 1, 1);
    numbers_near("y", p, v, y, 8, 1e-15);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void rmsnorm_of_three_and_four(void **state)
{
    (void)state;
    const double x[] = {3, 4}, gain[] = {1, 10}, s = 1 / sqrt(12.5);
    wg_graph *g = wg_graph_new();
    wg_value *v = wg_rmsnorm(numbers(g, WG_F64, WG_SHAPE(2), x),
                             numbers(g, WG_F64, WG_SHAPE(2), gain), WG_LAST_AXIS, 0);
    wg_plan *p = small_run(g, &v, 1, 1);
    numbers_near("y", p, v, (const double[]){3 * s, 40 * s}, 2, 1e-15);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void kernels_agree_with_expansions(void **state)
{
    (void)state;
    numbers_expansion(&wg_op_layernorm);
    numbers_expansion(&wg_op_layernorm_grad);
    numbers_expansion(&wg_op_rmsnorm);
    numbers_expansion(&wg_op_rmsnorm_grad);
}

/* A mean far from 0 and a small variance: the two-pass variance keeps what E x^2 - (E x)^2 would
 * lose. */
static void far_from_zero(void **state)
{
    (void)state;
    enum { SIZE = 1000 };
    static double x[SIZE];
    for (int i = 0; i < SIZE; i++)
        x[i] = 4096 + (i % 2 ? 0.5 : -0.5);
    wg_graph *g = wg_graph_new();
    wg_value *v = wg_layernorm(numbers(g, WG_F32, WG_SHAPE(SIZE), x), NULL, NULL, WG_LAST_AXIS, 0);
    wg_plan *p = small_run(g, &v, 1, 1);
    for (int i = 0; i < SIZE; i++)
        assert_true(fabs(small_at(p, v, i) - (i % 2 ? 1 : -1)) <= 1e-6);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_constant_row_gives_the_bias(void **state)
{
    (void)state;
    const double x[] = {7, 7, 7}, bias[] = {1, 2, 3}, gain[] = {5, 5, 5};
    wg_graph *g = wg_graph_new();
    wg_value *in = numbers(g, WG_F32, WG_SHAPE(3), x), *dx;
    wg_value *v = wg_layernorm(in, numbers(g, WG_F32, WG_SHAPE(3), gain),
                               numbers(g, WG_F32, WG_SHAPE(3), bias), WG_LAST_AXIS, 1e-5);
    assert_int_equal(wg_vjp(&v, NULL, 1, &in, 1, NULL, &dx), WG_OK);
    wg_value *out[] = {v, dx};
    wg_plan *p = small_run(g, out, 2, 1);
    numbers_near("y", p, v, bias, 3, 0);
    numbers_finite("dx", p, dx);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void gradients_have_the_same_bits_at_any_number_of_threads(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    uint64_t seed = 5;
    wg_value *x = numbers_drawn(g, WG_F32, WG_SHAPE(113, 301), -3, 3, &seed);
    wg_value *in[] = {x, numbers_drawn(g, WG_F32, WG_SHAPE(301), -1, 1, &seed),
                      numbers_drawn(g, WG_F32, WG_SHAPE(301), -1, 1, &seed)};
    wg_value *dy = numbers_drawn(g, WG_F32, WG_SHAPE(113, 301), -1, 1, &seed), *out[4];
    out[3] = wg_layernorm(in[0], in[1], in[2], WG_LAST_AXIS, 1e-5);
    assert_int_equal(wg_vjp(&out[3], &dy, 1, in, 3, NULL, out), WG_OK);
    wg_plan *one = small_run(g, out, 4, 1), *four = small_run(g, out, 4, 4);
    for (int i = 0; i < 4; i++)
        numbers_same_bits("layernorm", one, out[i], four, out[i]);
    wg_plan_free(one);
    wg_plan_free(four);
    wg_graph_free(g);
}

static void batchnorm_moves_its_running_statistics(void **state)
{
    (void)state;
    const double x[] = {1,  10, 3,
                        30, 5,  50}; /* [3, 2]: means 3 and 30, unbiased variances 4 and 400 */
    wg_graph *g = wg_graph_new();
    wg_value *mean = wg_state(g, "mean", WG_F64, WG_SHAPE(2), wg_zeros());
    wg_value *var = wg_state(g, "var", WG_F64, WG_SHAPE(2), wg_ones());
    wg_value *in = wg_input(g, "x", WG_F64, WG_SHAPE(3, 2));
    wg_value *y = wg_batchnorm_train(in, NULL, NULL, mean, var, 0.1, 0);
    wg_output(y, "y");
    wg_plan *p;
    check_that(wg_plan_create(&p, g, NULL) == WG_OK, "%s", wg_graph_message(g));
    memcpy(wg_plan_data(p, in), x, sizeof x);
    for (int run = 0; run < 2; run++)
        check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    const double r = sqrt(1.5);
    numbers_near("y", p, y, (const double[]){-r, -r, 0, 0, r, r}, 6, 1e-15);
    numbers_near("mean", p, mean, (const double[]){0.57, 5.7}, 2, 1e-15); /* 0.1 m, then 0.19 m */
    numbers_near("var", p, var, (const double[]){0.81 + 0.19 * 4, 0.81 + 0.19 * 400}, 2, 1e-15);
    assert_int_equal(y->node->phase, WG_FORWARD);
    wg_value *leaf, *update;
    wg_graph_assign_at(g, 0, &leaf, &update);
    assert_int_equal(update->node->phase, WG_UPDATE);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* The last batch of an epoch may be empty. */
static void an_empty_batch_moves_no_statistics(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *mean = wg_state(g, "mean", WG_F32, WG_SHAPE(2), wg_constant_init(3));
    wg_value *var = wg_state(g, "var", WG_F32, WG_SHAPE(2), wg_constant_init(4));
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(0, 2));
    wg_output(wg_batchnorm_train(x, NULL, NULL, mean, var, 0.1, 1e-5), "y");
    wg_output(mean, "mean");
    wg_output(var, "var");
    wg_plan *p;
    check_that(wg_plan_create(&p, g, NULL) == WG_OK, "%s", wg_graph_message(g));
    for (int run = 0; run < 3; run++)
        check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    numbers_near("mean", p, mean, (const double[]){3, 3}, 2, 0);
    numbers_near("var", p, var, (const double[]){4, 4}, 2, 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void batchnorm_eval_undoes_what_it_is_given(void **state)
{
    (void)state;
    const double x[] = {1, 10, 3, 30}, mean[] = {1, 20}, var[] = {4, 25}, gain[] = {2, 1},
                 bias[] = {0, 100};
    wg_graph *g = wg_graph_new();
    wg_value *c[4];
    const double *numbers_of[] = {mean, var, gain, bias};
    for (int i = 0; i < 4; i++)
        c[i] = numbers(g, WG_F64, WG_SHAPE(2), numbers_of[i]);
    wg_value *y =
        wg_batchnorm_eval(numbers(g, WG_F64, WG_SHAPE(2, 2), x), c[0], c[1], c[2], c[3], 0);
    wg_plan *p = small_run(g, &y, 1, 1);
    numbers_near("y", p, y, (const double[]){0, 98, 2, 102}, 4, 1e-15);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* One group for each channel, and one for all, are layernorm of other shapes. */
static void groupnorm_is_layernorm_of_groups(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    uint64_t seed = 9;
    wg_value *x = numbers_drawn(g, WG_F64, WG_SHAPE(2, 6, 5), -3, 3, &seed);
    wg_value *out[] = {wg_groupnorm(x, NULL, NULL, 6, 1e-5),
                       wg_layernorm(x, NULL, NULL, WG_LAST_AXIS, 1e-5),
                       wg_groupnorm(x, NULL, NULL, 1, 1e-5), wg_layernorm(x, NULL, NULL, 2, 1e-5)};
    wg_plan *p = small_run(g, out, 4, 1);
    for (int i = 0; i < 60; i++) {
        assert_true(numbers_close(small_at(p, out[0], i), small_at(p, out[1], i), 1e-15));
        assert_true(numbers_close(small_at(p, out[2], i), small_at(p, out[3], i), 1e-15));
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void bad_shapes_are_refused(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_fill(g, WG_F32, WG_SHAPE(2, 6), 0);
    wg_layernorm(x, wg_fill(g, WG_F32, WG_SHAPE(5), 1), NULL, WG_LAST_AXIS, 1e-5);
    small_refused(g, "gain is [5], must be [6]");
    g = wg_graph_new();
    wg_layernorm(wg_fill(g, WG_F32, WG_SHAPE(2, 6), 0), NULL, NULL, 3, 1e-5);
    small_refused(g, "axes is 3, must be 1 to 2");
    g = wg_graph_new();
    wg_rmsnorm(wg_fill(g, WG_F32, WG_SHAPE(2, 6), 0), NULL, WG_LAST_AXIS, -1);
    small_refused(g, "eps is -1, must be 0 or more");
    g = wg_graph_new();
    wg_groupnorm(wg_fill(g, WG_F32, WG_SHAPE(2, 6), 0), NULL, NULL, 4, 1e-5);
    small_refused(g, "6 channels do not fall in 4 groups");
    g = wg_graph_new();
    wg_batchnorm(wg_fill(g, WG_F32, WG_SHAPE(6), 0), NULL, NULL, 1e-5);
    small_refused(g, "must be of rank 2 or more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layernorm_of_a_unit_vector),
        cmocka_unit_test(gain_and_bias_over_two_axes),
        cmocka_unit_test(rmsnorm_of_three_and_four),
        cmocka_unit_test(kernels_agree_with_expansions),
        cmocka_unit_test(far_from_zero),
        cmocka_unit_test(a_constant_row_gives_the_bias),
        cmocka_unit_test(gradients_have_the_same_bits_at_any_number_of_threads),
        cmocka_unit_test(batchnorm_moves_its_running_statistics),
        cmocka_unit_test(an_empty_batch_moves_no_statistics),
        cmocka_unit_test(batchnorm_eval_undoes_what_it_is_given),
        cmocka_unit_test(groupnorm_is_layernorm_of_groups),
        cmocka_unit_test(bad_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
