/* What keeps an axis or finds elements along it, in exact cases: cumsum, argmax, argmin, topk. */
#include "tests/small.h"

#include <math.h>

static const wg_dtype floats[] = {WG_F32, WG_F64};

static void cumulative_sums_run_both_ways(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4, 5, 6};
    static const double expected[][6] = {
        {1, 2, 4, 6, 9, 12},  /* axis 0 of [3, 2] */
        {0, 0, 1, 2, 4, 6},   /* exclusive */
        {9, 12, 8, 10, 5, 6}, /* reverse */
        {8, 10, 5, 6, 0, 0},  /* both */
        {1, 3, 3, 7, 5, 11},  /* axis 1 */
    };
    for (size_t d = 0; d < 2; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *v = wg_reshape(small_vector(g, floats[d], x, 6), WG_SHAPE(3, 2));
        wg_value *y[] = {wg_cumsum(v, 0, WG_CUMSUM_FORWARD), wg_cumsum(v, 0, WG_CUMSUM_EXCLUSIVE),
                         wg_cumsum(v, 0, WG_CUMSUM_REVERSE),
                         wg_cumsum(v, 0, WG_CUMSUM_REVERSE | WG_CUMSUM_EXCLUSIVE),
                         wg_cumsum(v, -1, WG_CUMSUM_FORWARD)};
        wg_plan *p = small_run(g, y, 5, 1);
        for (int i = 0; i < 5; i++)
            small_equal("cumsum", p, y[i], expected[i], 6);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void the_first_of_equal_elements_is_found(void **state)
{
    (void)state;
    static const double x[] = {1, 7, 7, 0, 0, 3, NAN, 9, NAN}; /* [3, 3] */
    for (size_t d = 0; d < 2; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *v = wg_reshape(small_vector(g, floats[d], x, 9), WG_SHAPE(3, 3));
        wg_value *y[] = {wg_argmax(v, -1, WG_DROP), wg_argmin(v, -1, WG_KEEP),
                         wg_argmax(v, 0, WG_DROP), wg_argmin(v, 0, WG_DROP)};
        wg_plan *p = small_run(g, y, 4, 1);
        small_equal("argmax", p, y[0], (const double[]){1, 2, 0}, 3);
        small_equal("argmin", p, y[1], (const double[]){0, 0, 0}, 3);
        small_equal("argmax over rows", p, y[2], (const double[]){2, 2, 2}, 3);
        small_equal("argmin over rows", p, y[3], (const double[]){2, 1, 2}, 3);
        assert_int_equal(y[1]->shape.rank, 2);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void topk_sorts_and_its_derivative_goes_back(void **state)
{
    (void)state;
    static const double x[] = {1, 5, 3, 5, 2, 9};
    for (size_t d = 0; d < 2; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *v = small_vector(g, floats[d], x, 6), *top = wg_topk(v, 3, 0),
                 *all = wg_topk(v, 6, 0);
        wg_value *columns = wg_topk(wg_reshape(v, WG_SHAPE(3, 2)), 2, 0);
        wg_value *weight = small_vector(g, floats[d], (const double[]){10, 20, 30}, 3);
        wg_value *odd =
            wg_topk(small_vector(g, floats[d], (const double[]){1, NAN, INFINITY}, 3), 2, 0);
        wg_value *y[] = {top,
                         wg_result_of(top, 1),
                         all,
                         wg_result_of(all, 1),
                         columns,
                         wg_result_of(columns, 1),
                         small_slope(wg_mul(top, weight), v),
                         wg_result_of(odd, 1)};
        wg_plan *p = small_run(g, y, 8, 1);
        small_equal("values", p, y[0], (const double[]){9, 5, 5}, 3);
        small_equal("indices", p, y[1], (const double[]){5, 1, 3}, 3);
        small_equal("sorted", p, y[2], (const double[]){9, 5, 5, 3, 2, 1}, 6);
        small_equal("order", p, y[3], (const double[]){5, 1, 3, 2, 4, 0}, 6);
        small_equal("columns", p, y[4], (const double[]){3, 9, 2, 5}, 4);
        small_equal("rows of columns", p, y[5], (const double[]){1, 2, 2, 0}, 4);
        small_equal("derivative", p, y[6], (const double[]){0, 20, 0, 30, 0, 10}, 6);
        small_equal("NaN first", p, y[7], (const double[]){1, 2}, 2);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cumulative_sums_run_both_ways),
        cmocka_unit_test(the_first_of_equal_elements_is_found),
        cmocka_unit_test(topk_sorts_and_its_derivative_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
