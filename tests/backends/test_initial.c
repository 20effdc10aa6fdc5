/* Initial values of parameters. */
#include "tests/layers.h"

/* Mean, variance and extremes of 40,000 numbers; the standard error of a mean is 0.005 std. */
static void initial_values_have_their_distributions(void **state)
{
    (void)state;
    enum { FEATURES = 400, IN = 100, N = FEATURES * IN };
    const double cut = 0.7737413035; /* the variance of N(0, 1) within (-2, 2) */
    const struct {
        const char *name;
        wg_init init;
        double variance, max, most; /* max: at least, most: at most */
    } wanted[] = {
        {"he", wg_he(1.5), 1.5 * 1.5 * 2 / IN, 0.6, 2},
        {"he_uniform", wg_he_uniform(2), 4 * 2.0 / IN, 0.489, 2 * sqrt(6.0 / IN)},
        {"truncated", wg_truncated_normal_init(0.3), 0.09 * cut, 0.59, 0.6},
        {"orthogonal", wg_orthogonal(1), 1.0 / FEATURES, 0.15, 1},
    };
    wg_graph *g = wg_graph_new();
    for (int i = 0; i < WG_COUNT(wanted); i++)
        wg_output(wg_parameter(g, wanted[i].name, WG_F64, WG_SHAPE(FEATURES, IN / 4, 2, 2),
                               wanted[i].init),
                  NULL);
    wg_plan *p = layers_plan(g, NULL);
    for (int i = 0; i < WG_COUNT(wanted); i++) {
        const double *x = wg_plan_data(p, wg_graph_find(g, wanted[i].name));
        double sum = 0, squares = 0, max = 0;
        for (int k = 0; k < N; k++) {
            sum += x[k];
            squares += x[k] * x[k];
            max = fabs(x[k]) > max ? fabs(x[k]) : max;
        }
        double std = sqrt(wanted[i].variance);
        check_that(fabs(sum / N) <= 0.025 * std, "%s: mean %g", wanted[i].name, sum / N);
        check_that(fabs(squares / N - std * std) <= 0.04 * std * std, "%s: variance %g, not %g",
                   wanted[i].name, squares / N, std * std);
        check_that(max >= wanted[i].max && max <= wanted[i].most, "%s: up to %g", wanted[i].name,
                   max);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Rows, or columns where there are fewer, have products 0 and lengths `gain`. */
static void orthogonal_matrices_are_orthogonal(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{5, 5}, {3, 40}, {40, 3}, {1, 7}, {64, 63}};
    for (int i = 0; i < WG_COUNT(sizes); i++) {
        int64_t rows = sizes[i][0], columns = sizes[i][1], few = rows < columns ? rows : columns;
        wg_graph *g = wg_graph_new();
        wg_value *w = wg_parameter(g, "w", WG_F64, WG_SHAPE(rows, columns), wg_orthogonal(1.5));
        wg_output(w, NULL);
        wg_plan *p = layers_plan(g, NULL);
        const double *x = wg_plan_data(p, w);
        for (int64_t a = 0; a < few; a++)
            for (int64_t b = 0; b < few; b++) {
                double sum = 0;
                for (int64_t k = 0; k < rows * columns / few; k++)
                    sum += few == rows ? x[a * columns + k] * x[b * columns + k]
                                       : x[k * columns + a] * x[k * columns + b];
                assert_true(fabs(sum - (a == b ? 2.25 : 0)) <= 1e-14);
            }
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* Numbers of the program's own, of any dtype, for parameters and states. */
static void initial_values_may_be_given(void **state)
{
    (void)state;
    const float table[] = {1.5f, -2, 1e-20f, 0, 7, 8};
    const int64_t counts[] = {-3, INT64_MAX};
    const double wide[] = {0.1};
    wg_graph *g = wg_graph_new();
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(2, 3), wg_values_init(table, sizeof table));
    wg_value *n = wg_state(g, "n", WG_I64, WG_SHAPE(2), wg_values_init(counts, sizeof counts));
    wg_value *s = wg_parameter(g, "s", WG_F64, WG_SCALAR, wg_values_init(wide, sizeof wide));
    wg_value *none = wg_parameter(g, "none", WG_F32, WG_SHAPE(0), wg_values_init(NULL, 0));
    wg_value *layer = wg_dense_with(
        "d", w, 1, &(wg_dense_options){.no_bias = true, .init = wg_values_init(table, 12)});
    wg_output(layer, NULL);
    wg_output(none, NULL);
    wg_output(n, NULL);
    wg_output(s, NULL);
    wg_plan *p = layers_plan(g, NULL);
    assert_memory_equal(wg_plan_data(p, w), table, sizeof table);
    assert_memory_equal(wg_plan_data(p, wg_graph_find(g, "d/weight")), table, 12);
    assert_memory_equal(wg_plan_data(p, n), counts, sizeof counts);
    assert_memory_equal(wg_plan_data(p, s), wide, sizeof wide);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void given_values_must_fit(void **state)
{
    (void)state;
    const float table[] = {1, 2};
    wg_graph *g = wg_graph_new();
    assert_null(wg_parameter(g, "w", WG_F32, WG_SHAPE(3), wg_values_init(table, sizeof table)));
    check_that(
        strstr(wg_graph_message(g),
               "parameter(w): 8 bytes of initial values, the shape needs 12 (test_initial.c:"),
        "%s", wg_graph_message(g));
    wg_graph_free(g);
    g = wg_graph_new();
    assert_null(wg_parameter(g, "w", WG_F32, WG_SHAPE(2), wg_values_init(NULL, sizeof table)));
    check_that(strstr(wg_graph_message(g), "its 8 bytes of values are NULL"), "%s",
               wg_graph_message(g));
    wg_graph_free(g);
    g = wg_graph_new();
    wg_init both = wg_values_init(table, sizeof table);
    both.kind = WG_INIT_NORMAL;
    assert_null(wg_parameter(g, "w", WG_F32, WG_SHAPE(2), both));
    check_that(strstr(wg_graph_message(g), "init is not WG_INIT_VALUES"), "%s",
               wg_graph_message(g));
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initial_values_have_their_distributions),
        cmocka_unit_test(orthogonal_matrices_are_orthogonal),
        cmocka_unit_test(initial_values_may_be_given),
        cmocka_unit_test(given_values_must_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
