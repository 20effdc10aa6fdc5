/* softmax and log_softmax: exact values, masked rows, extremes, threads. */
#include "tests/numbers.h"

static void known_values(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 0, log(3), 0};
    const double y[] = {
        0.09003057317038046, 0.24472847105479764, 0.6652409557748219, 0.2, 0.6, 0.2};
    wg_graph *g = wg_graph_new();
    wg_value *v = numbers(g, WG_F64, WG_SHAPE(2, 3), x);
    wg_value *out[] = {wg_softmax(v, -1), wg_exp(wg_log_softmax(v, 1)),
                       wg_softmax(wg_transpose(v), 0)};
    wg_plan *p = small_run(g, out, 3, 1);
    numbers_near("softmax", p, out[0], y, 6, 1e-15);
    numbers_near("exp log_softmax", p, out[1], y, 6, 1e-15);
    for (int i = 0; i < 6; i++)
        assert_true(numbers_close(small_at(p, out[2], i), y[i % 2 * 3 + i / 2], 1e-15));
    wg_plan_free(p);
    wg_graph_free(g);
}

static void masked_elements_are_exact_zeros_and_masked_rows_are_defined(void **state)
{
    (void)state;
    const double inf = INFINITY;
    const double x[] = {-inf, 5, -inf, -inf, -inf, -inf, NAN, 1, 2, 1, 1, 1};
    for (wg_dtype d = WG_F32; d <= WG_F64; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *v = numbers(g, d, WG_SHAPE(4, 3), x), *dx[2];
        wg_value *y = wg_softmax(v, -1), *l = wg_log_softmax(v, -1);
        wg_value *weights =
            numbers(g, d, WG_SHAPE(4, 3), (const double[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3});
        assert_int_equal(wg_vjp(&y, &weights, 1, &v, 1, NULL, &dx[0]), WG_OK);
        assert_int_equal(wg_vjp(&l, &weights, 1, &v, 1, NULL, &dx[1]), WG_OK);
        wg_value *out[] = {y, l, dx[0], dx[1]};
        wg_plan *p = small_run(g, out, 4, 1);
        const double first[] = {0, 1, 0, 0, 0, 0}, logs[] = {-inf, 0, -inf, -inf, -inf, -inf};
        const double grads[] = {0, 0, 0, 0, 0, 0}, log_grads[] = {1, 2 - 6, 3, 4, 5, 6};
        for (int i = 0; i < 6; i++) {
            assert_true(small_at(p, y, i) == first[i]);
            assert_true(small_at(p, l, i) == logs[i]);
            assert_true(small_at(p, dx[0], i) == grads[i]);
            assert_true(small_at(p, dx[1], i) == log_grads[i]);
        }
        for (int i = 6; i < 9; i++) /* NaN shows in its row, and only there */
            assert_true(isnan(small_at(p, y, i)) && isnan(small_at(p, l, i)));
        for (int i = 9; i < 12; i++)
            assert_true(numbers_close(small_at(p, y, i), 1.0 / 3, 1e-7));
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void extremes(void **state)
{
    (void)state;
    const double x[] = {1e30, 1e30, -1e30, 1e-40, 0, -1e-40};
    const double y[] = {0.5, 0.5, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3};
    for (wg_dtype d = WG_F32; d <= WG_F64; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *v = numbers(g, d, WG_SHAPE(2, 3), x);
        wg_value *out[] = {wg_softmax(v, -1), wg_log_softmax(v, -1)};
        wg_plan *p = small_run(g, out, 2, 1);
        numbers_near("softmax", p, out[0], y, 6, 1e-7);
        assert_true(numbers_close(small_at(p, out[1], 0), -log(2), 1e-7));
        assert_true(small_at(p, out[1], 2) <= -1.9e30);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void empty_rows_and_no_rows_are_legal(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *out[] = {wg_softmax(wg_fill(g, WG_F32, WG_SHAPE(3, 0), 0), 1),
                       wg_softmax(wg_fill(g, WG_F32, WG_SHAPE(0, 3), 0), 1),
                       wg_log_softmax(wg_fill(g, WG_F32, WG_SHAPE(3, 0), 0), 0)};
    wg_plan *p = small_run(g, out, 3, 2);
    assert_int_equal(wg_value_count(out[0]) + wg_value_count(out[1]) + wg_value_count(out[2]), 0);
    wg_plan_free(p);
    small_refused((wg_softmax(wg_fill(g, WG_F32, WG_SHAPE(3), 0), 1), g),
                  "axis 1 is outside x, which is [3]");
}

static void long_rows_keep_their_accuracy(void **state)
{
    (void)state;
    enum { SIZE = 10000000 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_fill(g, WG_F32, WG_SHAPE(SIZE), 0.1);
    wg_value *out[] = {wg_softmax(x, 0), wg_log_softmax(x, 0)};
    wg_plan *p = small_run(g, out, 2, 2);
    for (int64_t i = 0; i < SIZE; i += 1234567) {
        assert_true(fabs(small_at(p, out[0], i) * SIZE - 1) <= 1e-7);
        assert_true(numbers_close(small_at(p, out[1], i), -log(SIZE), 1e-7));
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void the_same_bits_at_any_number_of_threads(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    uint64_t seed = 3;
    wg_value *x = numbers_drawn(g, WG_F32, WG_SHAPE(61, 37, 29), -9, 9, &seed);
    wg_value *out[] = {wg_softmax(x, 1), wg_log_softmax(x, 2)};
    wg_plan *one = small_run(g, out, 2, 1), *four = small_run(g, out, 2, 4);
    numbers_same_bits("softmax", one, out[0], four, out[0]);
    numbers_same_bits("log_softmax", one, out[1], four, out[1]);
    wg_plan_free(one);
    wg_plan_free(four);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(masked_elements_are_exact_zeros_and_masked_rows_are_defined),
        cmocka_unit_test(extremes),
        cmocka_unit_test(empty_rows_and_no_rows_are_legal),
        cmocka_unit_test(long_rows_keep_their_accuracy),
        cmocka_unit_test(the_same_bits_at_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
