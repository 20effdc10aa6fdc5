/* Bits, bounds and powers of integers, on every kernel: values at the limits, what is refused. */
#include "tests/numbers.h"

static const wg_dtype integers[] = {WG_I32, WG_I64};

typedef wg_value *builder(const char *at, wg_value *a, wg_value *b);

/* y of n pairs, and of each a with each b, by broadcasting */
static void run_pairs(wg_dtype dtype, builder *build, const int64_t *a, const int64_t *b, int n,
                      const int64_t *y)
{
    wg_graph *g = wg_graph_new();
    wg_value *p = wg_cast(wg_constant(g, WG_I64, WG_SHAPE(n), a), dtype);
    wg_value *q = wg_cast(wg_constant(g, WG_I64, WG_SHAPE(n), b), dtype);
    wg_value *all = wg_cast(build("here", p, q), WG_I64);
    wg_value *rows = wg_cast(build("here", wg_reshape(p, WG_SHAPE(n, 1)), q), WG_I64);
    wg_value *out[] = {all, rows};
    wg_plan *plan;
    wg_plan_options o = {.outputs = out, .n_outputs = 2, .no_fold = true};
    check_that(wg_plan_create(&plan, g, &o) == WG_OK, "%s", wg_graph_message(g));
    check_that(wg_plan_run(plan, 0) == WG_OK, "%s", wg_plan_message(plan));
    const int64_t *got = wg_plan_data(plan, all), *square = wg_plan_data(plan, rows);
    for (int i = 0; i < n; i++) {
        check_that(got[i] == y[i], "%s, pair %d: %lld, not %lld", wg_dtype_name(dtype), i,
                   (long long)got[i], (long long)y[i]);
        check_that(square[i * n + i] == y[i], "%s, pair %d, broadcast: %lld", wg_dtype_name(dtype),
                   i, (long long)square[i * n + i]);
    }
    wg_plan_free(plan);
    wg_graph_free(g);
}

static void shifts_by_any_count(void **state)
{
    (void)state;
    enum { N = 10 };
    for (int d = 0; d < 2; d++) {
        const int64_t bits = d ? 64 : 32, least = d ? INT64_MIN : INT32_MIN, most = -(least + 1);
        const int64_t a[N] = {5, -5, 1, -1, -1, 7, -7, most, least, least};
        const int64_t b[N] = {1, 1, bits - 1, bits - 1, bits, bits + 70, -1, 1, 1, bits - 1};
        const int64_t left[N] = {10, -10, least, least, 0, 0, 0, -2, 0, 0};
        const int64_t right[N] = {2, -3, 0, -1, -1, 0, -1, most / 2, least / 2, -1};
        run_pairs(integers[d], wg_bitwise_left_shift, a, b, N, left);
        run_pairs(integers[d], wg_bitwise_right_shift, a, b, N, right);
    }
}

static void bits_of_negative_numbers(void **state)
{
    (void)state;
    const int64_t a[] = {12, -12, -1, INT32_MIN}, b[] = {10, 10, 5, -1};
    const int64_t and[] = {8, 0, 5, INT32_MIN}, or [] = {14, -2, -1, -1},
                  xor[] = {
                      6, -2, -6, INT32_MAX};
    for (int d = 0; d < 2; d++) {
        run_pairs(integers[d], wg_bitwise_and, a, b, 4, and);
        run_pairs(integers[d], wg_bitwise_or, a, b, 4, or);
        run_pairs(integers[d], wg_bitwise_xor, a, b, 4, xor);
    }
}

static void powers_are_exact_and_wrap(void **state)
{
    (void)state;
    enum { N = 8 };
    const int64_t a[N] = {0, 0, -3, -1, 2, 2, 3, -2}, b[N] = {0, 5, 3, 1000001, 30, 31, 19, 31};
    for (int d = 0; d < 2; d++) {
        const int64_t y[N] = {
            1,          0,        -27, -1, INT64_C(1) << 30, d ? INT64_C(1) << 31 : INT32_MIN,
            1162261467, INT32_MIN};
        run_pairs(integers[d], wg_pow, a, b, N, y);
    }
}

static void negative_exponents_end_the_run(void **state)
{
    (void)state;
    for (int d = 0; d < 2; d++) {
        wg_graph *g = wg_graph_new();
        const double x[] = {1, 2, -3};
        wg_value *b = numbers(g, integers[d], WG_SHAPE(3), x), *y = wg_pow(b, b);
        wg_plan *p;
        wg_plan_options o = {.outputs = &y, .n_outputs = 1, .no_fold = true};
        assert_int_equal(wg_plan_create(&p, g, &o), WG_OK);
        assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
        check_that(strstr(wg_plan_message(p), "element 2 of b is -3, must be at least 0") != NULL,
                   "%s", wg_plan_message(p));
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void integers_are_clamped(void **state)
{
    (void)state;
    const double x[] = {-9, -2, 0, 5, 9}, both[] = {-2, -2, 0, 4, 4}, below[] = {-2, -2, 0, 5, 9};
    for (int d = 0; d < 2; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *in = numbers(g, integers[d], WG_SHAPE(5), x);
        wg_value *y[] = {wg_cast(wg_clamp(in, -2, 4), WG_F64),
                         wg_cast(wg_clamp(in, -2, INFINITY), WG_F64)};
        assert_ptr_equal(wg_clamp(in, -INFINITY, INFINITY), in);
        wg_plan *p = small_run(g, y, 2, 1);
        small_equal("both", p, y[0], both, 5);
        small_equal("from below", p, y[1], below, 5);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void bits_of_bools_are_logic(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *b = wg_fill(g, WG_BOOL, WG_SHAPE(2), 1);
    assert_ptr_equal(wg_bitwise_and(b, b)->node->op, &wg_op_logical_and);
    assert_ptr_equal(wg_bitwise_or(b, b)->node->op, &wg_op_logical_or);
    assert_ptr_equal(wg_bitwise_xor(b, b)->node->op, &wg_op_logical_xor);
    assert_ptr_equal(wg_bitwise_not(b)->node->op, &wg_op_logical_not);
    wg_graph_free(g);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const char *const words[] = {
        "bitwise_and(x, x): a is f32, must be i32 or i64",
        "bitwise_or(i, j): a is i32 but b is i64",
        "bitwise_not(x): x is f32, must be i32 or i64",
        "bitwise_left_shift(b, b): a is bool, must be i32 or i64",
        "min 3 is above max 2",
        "i is i32, which cannot hold 0.5",
        "i is i32, which cannot hold 1e+12",
        "min nan is above max 2",
        "pow(b, b): a is bool",
    };
    for (int k = 0; k < WG_COUNT(words); k++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3)),
                 *i = wg_input(g, "i", WG_I32, WG_SHAPE(3)),
                 *j = wg_input(g, "j", WG_I64, WG_SHAPE(3)),
                 *b = wg_input(g, "b", WG_BOOL, WG_SHAPE(3)), *y = NULL;
        switch (k) {
        case 0: y = wg_bitwise_and(x, x); break;
        case 1: y = wg_bitwise_or(i, j); break;
        case 2: y = wg_bitwise_not(x); break;
        case 3: y = wg_bitwise_left_shift(b, b); break;
        case 4: y = wg_clamp(i, 3, 2); break;
        case 5: y = wg_clamp(i, 0.5, 2); break;
        case 6: y = wg_clamp(i, 0, 1e12); break;
        case 7: y = wg_clamp(i, NAN, 2); break;
        default: y = wg_pow(b, b); break;
        }
        assert_null(y);
        small_refused(g, words[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifts_by_any_count),
        cmocka_unit_test(bits_of_negative_numbers),
        cmocka_unit_test(powers_are_exact_and_wrap),
        cmocka_unit_test(negative_exponents_end_the_run),
        cmocka_unit_test(integers_are_clamped),
        cmocka_unit_test(bits_of_bools_are_logic),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
