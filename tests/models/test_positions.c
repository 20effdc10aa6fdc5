/* Positions and biases of attention: sizes at the limits are taken, those beyond them refused by a
 * message with the numbers. */
#include "tests/plans.h"
#include "wengert.h"

#include <math.h>

enum { SINES, LEARNED, ALIBI, RELATIVE };

typedef struct sizes {
    int what;
    wg_dtype dtype;
    int64_t a, b, c, d; /* rows, elements, first; from, rows, first, max; heads, T, S, radius */
} sizes;

static wg_value *make(wg_graph *g, sizes x)
{
    switch (x.what) {
    case SINES: return wg_sinusoids(g, WG_POSITIONS_HALVES, x.dtype, x.a, x.b, x.c);
    case LEARNED: return wg_learned_positions("table", g, x.dtype, x.a, x.b, 4, x.c, x.d);
    case ALIBI: return wg_alibi(g, x.dtype, x.a, x.b, x.c);
    default: return wg_relative_bias("bias", g, x.dtype, x.a, x.b, x.c, x.d);
    }
}

static void sizes_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        sizes x;
        const char *words;
    } cases[] = {
        {{SINES, WG_F16, 3, 4, 0, 0}, "3 rows of 4 numbers of f16"},
        {{SINES, WG_I64, 3, 4, 0, 0}, "numbers of i64"},
        {{SINES, WG_F32, 3, 5, 0, 0}, "3 rows of 5 numbers"},
        {{SINES, WG_F64, -1, 4, 0, 0}, "-1 rows"},
        {{SINES, WG_F32, INT64_MAX / 2, 4, 0, 0}, "rows of 4 numbers"},
        {{LEARNED, WG_F32, -1, 2, 0, 9}, "from token -1 on"},
        {{LEARNED, WG_F32, 0, -2, 0, 9}, "-2 tokens"},
        {{LEARNED, WG_F32, 0, 10, 0, 9}, "there are 9 learned"},
        {{LEARNED, WG_F32, 7, 3, 0, 9}, "3 tokens from token 7 on"},
        {{LEARNED, WG_F32, 0, 2, -1, 9}, "the first of 9 positions is -1"},
        {{LEARNED, WG_F32, 0, 2, INT64_MAX, 9}, "the first of 9 positions is 9223372036854775807"},
        {{ALIBI, WG_I32, 2, 3, 3, 0}, "keys of i32"},
        {{ALIBI, WG_F32, 0, 3, 3, 0}, "0 heads"},
        {{ALIBI, WG_F32, 1 << 17, 3, 3, 0}, "131072 heads"},
        {{ALIBI, WG_F32, 2, -1, 3, 0}, "-1 queries"},
        {{ALIBI, WG_F32, 2, INT64_C(1) << 31, 3, 0}, "2147483648 queries"},
        {{ALIBI, WG_F32, 2, 3, -1, 0}, "-1 keys"},
        {{RELATIVE, WG_F32, 2, 3, INT64_C(1) << 31, 1}, "2147483648 keys"},
        {{RELATIVE, WG_F32, 0, 3, 3, 1}, "0 heads"},
        {{RELATIVE, WG_F32, 2, 3, 3, -1}, "radius is -1"},
        {{RELATIVE, WG_F32, 2, 3, 3, INT64_C(1) << 31}, "radius is 2147483648"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wg_graph *g = wg_graph_new();
        assert_null(make(g, cases[i].x));
        assert_int_equal(wg_graph_status(g), WG_EINVAL);
        const char *text = wg_graph_message(g);
        check_that(strstr(text, cases[i].words), "case %zu: %s", i, text);
        for (int what = SINES; what <= RELATIVE; what++) /* the first error stays */
            assert_null(make(g, (sizes){what, WG_F32, 2, 2, 0, 4}));
        check_that(strstr(wg_graph_message(g), cases[i].words), "case %zu: %s", i, text);
        wg_graph_free(g);
    }
}

static void the_smallest_sizes_are_taken(void **state)
{
    (void)state;
    static const sizes cases[] = {
        {SINES, WG_F64, 0, 2, 0, 0},    {SINES, WG_F32, 1, 2, 7, 0},
        {LEARNED, WG_F32, 9, 0, 0, 9},  {LEARNED, WG_F64, 0, 9, 0, 9},
        {ALIBI, WG_F32, 1, 0, 3, 0},    {ALIBI, WG_BF16, 1, 1, 1, 0},
        {RELATIVE, WG_F32, 1, 1, 1, 0}, {RELATIVE, WG_F64, 3, 2, 0, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wg_graph *g = wg_graph_new();
        wg_value *y = make(g, cases[i]);
        check_that(y != NULL, "case %zu: %s", i, wg_graph_message(g));
        assert_int_equal(y->dtype, cases[i].dtype);
        wg_output(y, "y");
        wg_plan *p = plan_of(g, &(wg_plan_options){.threads = 1});
        run(p, 0);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* Press et al.: of 6 heads the first four have the slopes of 4 heads, the last two every other
 * slope of 8. */
static void slopes_of_heads_that_are_no_power_of_two(void **state)
{
    (void)state;
    enum { HEADS = 6, T = 2, S = 4 };
    static const double slopes[HEADS] = {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};
    wg_graph *g = wg_graph_new();
    wg_value *y = wg_output(wg_alibi(g, WG_F64, HEADS, T, S), "y");
    wg_plan *p = plan_of(g, &(wg_plan_options){.threads = 1});
    run(p, 0);
    const double *x = wg_plan_f64(p, y);
    int compared = 0;
    for (int h = 0; h < HEADS; h++)
        for (int t = 0; t < T; t++)
            for (int s = 0; s < S; s++, compared++) {
                double error = fabs(x[(h * T + t) * S + s] + slopes[h] * abs(s - t));
                check_that(error <= 1e-15, "head %d, %d to %d: off by %g", h, t, s, error);
            }
    assert_int_equal(compared, 48);
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_out_of_range_are_refused),
        cmocka_unit_test(the_smallest_sizes_are_taken),
        cmocka_unit_test(slopes_of_heads_that_are_no_power_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
