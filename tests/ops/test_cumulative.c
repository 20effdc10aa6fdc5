/* Cumulative products and extremes. */
#include "tests/trial.h"
#include "wengert/autograd/grad.h"

#include <math.h>

static const int flags[] = {WG_CUMSUM_FORWARD, WG_CUMSUM_REVERSE, WG_CUMSUM_EXCLUSIVE,
                            WG_CUMSUM_REVERSE | WG_CUMSUM_EXCLUSIVE};

/* Whether x[j] is a factor of y[i]. */
static bool is_factor(int64_t j, int64_t i, int flag)
{
    if (j == i)
        return !(flag & WG_CUMSUM_EXCLUSIVE);
    return flag & WG_CUMSUM_REVERSE ? j > i : j < i;
}

/* Product of the factors of y[i] but for x[without] and x[nor]. */
static double product(const double *x, int64_t size, int64_t step, int64_t i, int flag,
                      int64_t without, int64_t nor)
{
    double p = 1;
    for (int64_t j = 0; j < size; j++)
        if (is_factor(j, i, flag) && j != without && j != nor)
            p *= x[j * step];
    return p;
}

/* y, dx and the derivative of sum(dx * u) by x for cotangents c, as plain sums over all factors; of
 * the numbers from -4 to 4 every ninth is 0, and some lines have several zeros. */
static void cumprod_is_right_to_second_order_with_zeros(void **state)
{
    (void)state;
    enum { N = 7, OUTER = 2, INNER = 3, COUNT = N * OUTER * INNER };
    for (int f = 0; f < 4; f++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, WG_F64, WG_SHAPE(OUTER, N, INNER)),
                 *c = trial_input(&t, WG_F64, x->shape), *u = trial_input(&t, WG_F64, x->shape);
        trial_data(&t, x)[4] = trial_data(&t, x)[10] = trial_data(&t, x)[13] = 0;
        trial_data(&t, x)[23] = 0;
        wg_value *y = wg_cumprod(x, 1, flags[f]), *dx, *ddx;
        assert_int_equal(wg_vjp(&y, &c, 1, &x, 1, NULL, &dx), WG_OK);
        assert_int_equal(wg_vjp(&dx, &u, 1, &x, 1, NULL, &ddx), WG_OK);
        wg_value *all[] = {y, dx, ddx};
        trial_run(&t, all, 3, 2);
        for (int64_t k = 0; k < COUNT; k++) {
            int64_t first = k / (N * INNER) * N * INNER + k % INNER, j = (k - first) / INNER;
            const double *line = trial_data(&t, x) + first, *cot = trial_data(&t, c) + first,
                         *v = trial_data(&t, u) + first;
            double d = 0, dd = 0;
            for (int64_t i = 0; i < N; i++) {
                if (!is_factor(j, i, flags[f]))
                    continue;
                d += cot[i * INNER] * product(line, N, INNER, i, flags[f], j, -1);
                for (int64_t l = 0; l < N; l++)
                    if (l != j && is_factor(l, i, flags[f]))
                        dd += v[l * INNER] * cot[i * INNER] *
                              product(line, N, INNER, i, flags[f], j, l);
            }
            trial_expect(&t, "cumprod", y, k, product(line, N, INNER, j, flags[f], -1, -1));
            trial_expect(&t, "dx", dx, k, d);
            trial_expect(&t, "second derivative", ddx, k, dd);
        }
        trial_end(&t, 3 * COUNT);
    }
}

static void cumulative_extremes(void **state)
{
    (void)state;
    enum { N = 9 };
    static const double x[N] = {2, 1, 3, 3, -1, 4, 0, 4, 5}, top[N] = {2, 2, 3, 3, 3, 4, 4, 4, 5},
                        at[N] = {0, 0, 2, 2, 2, 5, 5, 5, 8},
                        low[N] = {2, 1, 1, 1, -1, -1, -1, -1, -1},
                        there[N] = {0, 1, 1, 1, 4, 4, 4, 4, 4};
    static const double dtop[N] = {3, 0, 12, 0, 0, 21, 0, 0, 9};
    static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_I32, WG_I64};
    for (int d = 0; d < 4; d++) {
        trial t = trial_new();
        wg_value *in = trial_input(&t, dtypes[d], WG_SHAPE(N)), *dx = in;
        memcpy(trial_data(&t, in), x, sizeof x);
        wg_value *hi = wg_cummax(in, 0), *lo = wg_cummin(in, 0);
        if (d < 2) {
            wg_value *c = wg_iota(t.g, dtypes[d], WG_SHAPE(N), 0, 1, 1);
            assert_int_equal(wg_vjp(&hi, &c, 1, &in, 1, NULL, &dx), WG_OK);
        }
        wg_value *all[] = {hi, wg_result_of(hi, 1), lo, wg_result_of(lo, 1), dx};
        trial_run(&t, all, d < 2 ? 5 : 4, 1);
        for (int i = 0; i < N; i++) {
            trial_expect(&t, "cummax", all[0], i, top[i]);
            trial_expect(&t, "where", all[1], i, at[i]);
            trial_expect(&t, "cummin", all[2], i, low[i]);
            trial_expect(&t, "where", all[3], i, there[i]);
            if (d < 2)
                trial_expect(&t, "dx", dx, i, dtop[i]);
        }
        trial_end(&t, 4 * N);
    }
}

static void nan_stays_from_where_it_is(void **state)
{
    (void)state;
    trial t = trial_new();
    wg_value *x = trial_input(&t, WG_F32, WG_SHAPE(4));
    memcpy(trial_data(&t, x), (double[]){1, NAN, INFINITY, -INFINITY}, 4 * sizeof(double));
    wg_value *all[] = {wg_cummax(x, 0), wg_cummin(x, 0), wg_cumprod(x, 0, WG_CUMSUM_FORWARD)};
    trial_run(&t, all, 3, 1);
    for (int k = 0; k < 3; k++) {
        trial_expect(&t, "before", all[k], 0, 1);
        for (int i = 1; i < 4; i++)
            assert_true(isnan(trial_at(&t, all[k], i)));
    }
    trial_end(&t, 3);
}

static void no_elements_and_wrong_arguments(void **state)
{
    (void)state;
    trial t = trial_new();
    wg_value *none = trial_input(&t, WG_F64, WG_SHAPE(2, 0)), *dx;
    wg_value *y = wg_add(wg_cumprod(none, 1, WG_CUMSUM_FORWARD), wg_cummax(none, 1));
    assert_int_equal(wg_vjp(&y, &none, 1, &none, 1, NULL, &dx), WG_OK);
    wg_value *all[] = {y, dx};
    trial_run(&t, all, 2, 2);
    trial_end(&t, 0);
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 4));
    trial_expect_message("cummax(x): axis 2 is outside x", wg_cummax(x, 2), g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cumprod_is_right_to_second_order_with_zeros),
        cmocka_unit_test(cumulative_extremes),
        cmocka_unit_test(nan_stays_from_where_it_is),
        cmocka_unit_test(no_elements_and_wrong_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
