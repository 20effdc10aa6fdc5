/* sort and argsort: order, stability, NaN, orders that quicksort cuts badly, gradients. */
#include "tests/plans.h"
#include "tests/trial.h"
#include "wengert/autograd/grad.h"

#include <math.h>

/* Whether a comes before b where neither follows from the index. */
static bool precedes(double a, double b, bool descending)
{
    double small = descending ? b : a, large = descending ? a : b;
    return small < large || (isnan(large) && !isnan(small));
}

/* A line of the result: in order, equal ones in order of index, and each where its index says. */
static void check_line(trial *t, const wg_value *x, const wg_value *y, int64_t first, int64_t step,
                       int64_t size, bool descending)
{
    const wg_value *index = wg_result_of((wg_value *)(uintptr_t)y, 1);
    bool *met = calloc((size_t)size + 1, sizeof *met);
    assert_non_null(met);
    for (int64_t i = 0; i < size; i++, t->compared++) {
        int64_t at = (int64_t)trial_at(t, index, first + i * step);
        double v = trial_at(t, y, first + i * step);
        check_that(at >= 0 && at < size && !met[at], "index %lld twice or outside", (long long)at);
        met[at] = true;
        double from = trial_data(t, x)[first + at * step];
        check_that(v == from || (isnan(v) && isnan(from)), "element %lld is %g, %lld was %g",
                   (long long)i, v, (long long)at, from);
        if (i == 0)
            continue;
        double before = trial_at(t, y, first + (i - 1) * step);
        bool ordered = precedes(before, v, descending) ||
                       (!precedes(v, before, descending) &&
                        trial_at(t, index, first + (i - 1) * step) < (double)at);
        check_that(ordered, "%g at %lld is followed by %g", before, (long long)i - 1, v);
    }
    free(met);
}

/* Every axis, dtype and direction, with many ties; lines shorter and longer than what insertion
 * sorts. */
static void lines_are_in_order_and_stable(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_BF16, WG_I32, WG_I64};
    for (int d = 0; d < 5; d++)
        for (int axis = 0; axis < 3; axis++)
            for (int down = 0; down < 2; down++) {
                trial t = trial_new();
                wg_shape s = WG_SHAPE(2, 3, 4);
                s.dim[axis] = 5 + 60 * d;
                wg_value *x = trial_input(&t, dtypes[d], s),
                         *y = wg_sort(x, axis - 3, down ? WG_DESCENDING : WG_ASCENDING);
                wg_value *both[] = {y, wg_result_of(y, 1)};
                trial_run(&t, both, 2, 2);
                int64_t inner = 1;
                for (int k = axis + 1; k < 3; k++)
                    inner *= s.dim[k];
                int64_t lines = wg_shape_count(&s) / s.dim[axis];
                for (int64_t k = 0; k < lines; k++)
                    check_line(&t, x, y, k / inner * inner * s.dim[axis] + k % inner, inner,
                               s.dim[axis], down);
                trial_end(&t, wg_shape_count(&s));
            }
}

/* What a median of three cuts badly (Musser 1997): 1, k+1, 3, k+3, ..., 2, 4, 6, ... */
static double musser(int64_t i, int64_t n)
{
    int64_t k = n / 2;
    return (double)(i >= k ? 2 * (i - k + 1) : i % 2 ? k + i : i + 1);
}

static double pattern(int which, int64_t i, int64_t n)
{
    switch (which) {
    case 0: return (double)i;                       /* in order */
    case 1: return (double)(n - i);                 /* the other way round */
    case 2: return 7;                               /* all equal */
    case 3: return (double)(i < n / 2 ? i : n - i); /* up and down */
    case 4: return (double)(i % 17);                /* saw */
    case 5: return musser(i, n);
    default: return (double)((i * 7919 + 13) % n); /* mixed */
    }
}

static void orders_that_are_hard_for_quicksort(void **state)
{
    (void)state;
    enum { N = 6000 };
    for (int which = 0; which < 7; which++)
        for (int down = 0; down < 2; down++) {
            trial t = trial_new();
            wg_value *x = trial_input(&t, WG_F32, WG_SHAPE(N)),
                     *y = wg_sort(x, 0, down ? WG_DESCENDING : WG_ASCENDING);
            for (int64_t i = 0; i < N; i++)
                trial_data(&t, x)[i] = pattern(which, i, N);
            wg_value *both[] = {y, wg_result_of(y, 1)};
            trial_run(&t, both, 2, 1);
            check_line(&t, x, y, 0, 1, N, down);
            trial_end(&t, N);
        }
}

static void nan_is_largest_and_zeros_are_equal(void **state)
{
    (void)state;
    enum { N = 8 };
    static const double x[N] = {NAN, 1, -0.0, INFINITY, 0, NAN, -INFINITY, -1};
    static const int up[N] = {6, 7, 2, 4, 1, 3, 0, 5}, down[N] = {0, 5, 3, 1, 2, 4, 7, 6};
    static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_BF16};
    for (int d = 0; d < 3; d++) {
        trial t = trial_new();
        wg_value *in = trial_input(&t, dtypes[d], WG_SHAPE(N));
        memcpy(trial_data(&t, in), x, sizeof x);
        wg_value *y[] = {wg_argsort(in, 0, WG_ASCENDING), wg_argsort(in, 0, WG_DESCENDING),
                         wg_sort(in, 0, WG_ASCENDING)};
        trial_run(&t, y, 3, 1);
        for (int i = 0; i < N; i++) {
            trial_expect(&t, "ascending", y[0], i, up[i]);
            trial_expect(&t, "descending", y[1], i, down[i]);
        }
        assert_true(isnan(trial_at(&t, y[2], N - 1)) && isnan(trial_at(&t, y[2], N - 2)));
        assert_true(signbit(trial_at(&t, y[2], 2)) && !signbit(trial_at(&t, y[2], 3)));
        trial_end(&t, 2 * N);
    }
}

/* Element i of n, of random bits or among few values, with zeros and NaN of either sign and
 * infinities. */
static void put_any(void *data, wg_dtype dtype, int64_t i, uint64_t random)
{
    static const double odd[] = {
        0.0, -0.0, (double)NAN, -(double)NAN, (double)INFINITY, -(double)INFINITY, 1, -1};
    bool is_odd = random >> 60 == 0;
    double x = is_odd ? odd[random % 8] : (double)(int64_t)(random << 20) / 1e15;
    if (dtype == WG_F32)
        ((float *)data)[i] = (float)x;
    else if (dtype == WG_F64)
        ((double *)data)[i] = x;
    else if (dtype == WG_I32)
        ((int32_t *)data)[i] =
            random & 1 << 8 ? (int32_t)(random >> 32) : (int32_t)(random % 7) - 3;
    else
        ((int64_t *)data)[i] = random & 1 << 8 ? (int64_t)random : (int64_t)(random % 7) - 3;
}

/* Lines as long as those that are sorted by their digits have the bits of those that are compared,
 * along each axis, also in place. */
static void long_lines_have_the_bits_of_the_reference(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_I32, WG_I64};
    static const int64_t sizes[] = {64, 65, 300, 4097};
    uint64_t random = 1;
    int64_t compared = 0;
    for (int k = 0; k < 4 * 4 * 3 * 2; k++) {
        const wg_dtype dtype = dtypes[k % 4];
        const int axis = k / 16 % 3;
        wg_graph *g = wg_graph_new();
        wg_shape shape = WG_SHAPE(2, 3, 5);
        shape.dim[axis] = sizes[k / 4 % 4];
        wg_value *x = wg_input(g, "x", dtype, shape), *in = k % 3 ? x : wg_neg(x);
        wg_value *y = wg_sort(in, axis, k / 48 ? WG_DESCENDING : WG_ASCENDING);
        wg_output(y, "y");
        wg_output(wg_result_of(y, 1), "index");
        wg_plan *plan[] = {plan_of(g, &(wg_plan_options){.reference = true}),
                           plan_of(g, &(wg_plan_options){.threads = 1 + k % 3})};
        for (int64_t i = 0; i < wg_value_count(x); i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            for (int p = 0; p < 2; p++)
                put_any(wg_plan_data(plan[p], x), dtype, i, random ^ random >> 29);
        }
        run(plan[0], 0);
        run(plan[1], 0);
        assert_string_equal(wg_plan_step_at(plan[1], wg_plan_step_count(plan[1]) - 1).backend,
                            "simd");
        for (int r = 0; r < 2; r++) {
            const wg_value *v = wg_result_of(y, r);
            assert_memory_equal(wg_plan_data(plan[0], v), wg_plan_data(plan[1], v),
                                wg_value_bytes(v));
            compared += wg_value_count(v);
        }
        wg_plan_free(plan[0]);
        wg_plan_free(plan[1]);
        wg_graph_free(g);
    }
    assert_true(compared > 1000000);
}

/* The cotangent goes where the element came from; gathering by argsort is the same function. */
static void gradients_are_permuted_back(void **state)
{
    (void)state;
    trial t = trial_new();
    wg_value *x = trial_input(&t, WG_F64, WG_SHAPE(3, 40)), *c = trial_input(&t, WG_F64, x->shape);
    for (int i = 0; i < 120; i++)
        trial_data(&t, x)[i] = i * 53 % 120;
    wg_value *y = wg_sort(x, 1, WG_DESCENDING), *index = wg_argsort(x, 1, WG_DESCENDING), *dx,
             *other;
    wg_value *gathered = wg_gather(x, index, 1);
    assert_int_equal(wg_vjp(&y, &c, 1, &x, 1, NULL, &dx), WG_OK);
    assert_int_equal(wg_vjp(&gathered, &c, 1, &x, 1, NULL, &other), WG_OK);
    wg_value *all[] = {index, dx, other, y, gathered};
    trial_run(&t, all, 5, 2);
    for (int i = 0; i < 120; i++) {
        int64_t from = i / 40 * 40 + (int64_t)trial_at(&t, index, i);
        trial_expect(&t, "dx", dx, from, trial_data(&t, c)[i]);
        trial_expect(&t, "dx by gather", other, from, trial_data(&t, c)[i]);
        trial_expect(&t, "gather", gathered, i, trial_at(&t, y, i));
    }
    trial_end(&t, 360);
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 4));
    trial_expect_message("sort(x): axis 2 is outside x", wg_sort(x, 2, WG_ASCENDING), g);
    g = wg_graph_new();
    wg_value *b = wg_input(g, "b", WG_BOOL, WG_SHAPE(3));
    trial_expect_message("sort(b): x is bool", wg_argsort(b, 0, WG_ASCENDING), g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_in_order_and_stable),
        cmocka_unit_test(orders_that_are_hard_for_quicksort),
        cmocka_unit_test(nan_is_largest_and_zeros_are_equal),
        cmocka_unit_test(long_lines_have_the_bits_of_the_reference),
        cmocka_unit_test(gradients_are_permuted_back),
        cmocka_unit_test(wrong_arguments_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
