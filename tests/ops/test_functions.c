/* Trigonometric and hyperbolic functions, the gamma family, remainder: values and derivatives to 20
 * digits, and special values, on every backend. */
#include "tests/test.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/load.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

#include <math.h>

static const wg_dtype floats[] = {WG_F32, WG_F64};

typedef wg_value *builder(const char *at, wg_value *x);

#define POLYGAMMA(order)                                                                           \
    static wg_value *polygamma_##order(const char *at, wg_value *x)                                \
    {                                                                                              \
        return (wg_polygamma)(at, x, order);                                                       \
    }
POLYGAMMA(1)
POLYGAMMA(2)
POLYGAMMA(5)
POLYGAMMA(29)

/* ---- running --------------------------------------------------------------------------------- */

/* y and dx of sum(y) for n numbers, on that backend and, for what it refuses, cpu. */
static void run(const wg_backend *backend, wg_dtype dtype, builder *build, const double *x, int n,
                double *y, double *dx)
{
    wg_graph *g = wg_graph_new();
    wg_value *in = wg_cast(wg_constant(g, WG_F64, WG_SHAPE(n), x), dtype), *slope = NULL;
    wg_value *out = build("here", in);
    wg_grad(wg_sum(out, WG_ALL_AXES, WG_DROP), &in, 1, &slope);
    wg_value *both[] = {wg_cast(out, WG_F64), wg_cast(slope, WG_F64)};
    wg_plan *p;
    wg_plan_options options = {
        .outputs = both, .n_outputs = 2, .no_fold = true, .backends = &backend, .n_backends = 1};
    check_that(wg_plan_create(&p, g, &options) == WG_OK, "%s", wg_graph_message(g));
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    memcpy(y, wg_plan_data(p, both[0]), (size_t)n * sizeof *y);
    memcpy(dx, wg_plan_data(p, both[1]), (size_t)n * sizeof *dx);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* As the dtype can hold it. */
static double held(wg_dtype dtype, double x)
{
    return dtype == WG_F32 ? (double)(float)x : x;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* clang-format off */
static const struct {
    builder *f;
    double x, y, dx;
} values[] = {
#include "tests/ops/function_values.def"
};
/* clang-format on */

/* Where the function crosses 0 at a point that no float holds, digits are lost next to it. */
static double scale_of(builder *f, double truth)
{
    bool crosses = f == wg_lgamma || f == wg_digamma || f == polygamma_2;
    return crosses ? fmax(1, fabs(truth)) : fabs(truth);
}

static void check(const wg_backend *backend, wg_dtype dtype, const char *what, builder *f, double x,
                  double got, double truth, double units)
{
    double unit = dtype == WG_F32 ? 0x1p-23 : 0x1p-52, expected = held(dtype, truth);
    double bound = units * unit * scale_of(f, truth) + (dtype == WG_F32 ? 0x1p-126 : 0);
    check_that(got == expected || fabs(got - truth) <= bound,
               "%s in %s on %s at %.9g: %.17g, expected %.17g", what, wg_dtype_name(dtype),
               backend->name, x, got, truth);
}

/* The 30 factors of x^-30 are rounded one by one.  The derivative is a graph of several functions;
 * that of acosh is 1 / sinh(y), and an error of y counts y times. */
static void values_and_derivatives_are_accurate(void **state)
{
    (void)state;
    const wg_backend_list list = wg_backend_list_built_in();
    int compared = 0;
    for (size_t b = 0; b < list.count; b++)
        for (size_t d = 0; d < 2; d++)
            for (size_t first = 0, end; first < WG_COUNT(values); first = end) {
                enum { MAX = 64 };
                double x[MAX], y[MAX], dx[MAX];
                for (end = first; end < WG_COUNT(values) && values[end].f == values[first].f;
                     end++) {
                    assert_true(end - first < MAX);
                    x[end - first] = values[end].x;
                }
                run(list.backend[b], floats[d], values[first].f, x, (int)(end - first), y, dx);
                for (size_t i = first; i < end; i++, compared++) {
                    check(list.backend[b], floats[d], "y", values[i].f, values[i].x, y[i - first],
                          values[i].y, values[i].f == polygamma_29 ? 30 : 5);
                    check(list.backend[b], floats[d], "dy/dx", values[i].f, values[i].x,
                          dx[i - first], values[i].dx, 100);
                }
            }
    print_message("%d values and derivatives\n", compared);
    assert_true(compared > 1000);
}

/* ---- special values -------------------------------------------------------------------------- */

#define INF INFINITY
#define PI 3.14159265358979323846

static const struct {
    const char *name;
    builder *f;
    int n;
    double x[6], y[6], dx[6];
} specials[] = {
    {"log1p",
     wg_log1p,
     6,
     {0, -0.0, -1, -2, INF, -INF},
     {0, -0.0, -INF, NAN, INF, NAN},
     {1, 1, INF, -1, 0, -0.0}},
    {"expm1",
     wg_expm1,
     5,
     {0, -0.0, 1e30f, INF, -INF},
     {0, -0.0, INF, INF, -1},
     {1, 1, INF, INF, 0}},
    {"tan", wg_tan, 4, {0, -0.0, INF, -INF}, {0, -0.0, NAN, NAN}, {1, 1, NAN, NAN}},
    {"asin",
     wg_asin,
     6,
     {0, -0.0, 1, -1, 1.5, -INF},
     {0, -0.0, PI / 2, -PI / 2, NAN, NAN},
     {1, 1, INF, INF, NAN, NAN}},
    {"acos",
     wg_acos,
     5,
     {0, 1, -1, 1.5, INF},
     {PI / 2, 0, PI, NAN, NAN},
     {-1, -INF, -INF, NAN, NAN}},
    {"atan", wg_atan, 4, {0, -0.0, INF, -INF}, {0, -0.0, PI / 2, -PI / 2}, {1, 1, 0, 0}},
    {"sinh",
     wg_sinh,
     5,
     {0, -0.0, 1e30f, INF, -INF},
     {0, -0.0, INF, INF, -INF},
     {1, 1, INF, INF, INF}},
    {"cosh",
     wg_cosh,
     5,
     {0, -0.0, -1e30f, INF, -INF},
     {1, 1, INF, INF, INF},
     {0, -0.0, -INF, INF, -INF}},
    {"asinh", wg_asinh, 4, {0, -0.0, INF, -INF}, {0, -0.0, INF, -INF}, {1, 1, 0, 0}},
    {"acosh", wg_acosh, 4, {1, 0.5, INF, -INF}, {0, NAN, INF, NAN}, {INF, NAN, 0, NAN}},
    {"atanh",
     wg_atanh,
     6,
     {0, -0.0, 1, -1, 1.5, INF},
     {0, -0.0, INF, -INF, NAN, NAN},
     {1, 1, INF, INF, -0.8, -0.0}},
    {"lgamma",
     wg_lgamma,
     6,
     {1, 2, -0.0, -3, INF, -INF},
     {0, 0, INF, INF, INF, INF},
     {-0.57721566490153286061, 0.42278433509846713939, INF, NAN, INF, NAN}},
    {"digamma",
     wg_digamma,
     5,
     {0, -0.0, -3, INF, -INF},
     {-INF, INF, NAN, INF, NAN},
     {INF, INF, INF, 0, NAN}},
    {"trigamma",
     polygamma_1,
     5,
     {0, -0.0, -3, INF, -INF},
     {INF, INF, INF, 0, NAN},
     {-INF, INF, NAN, -0.0, NAN}},
    {"order 2",
     polygamma_2,
     5,
     {0, -0.0, -3, INF, -INF},
     {-INF, INF, NAN, -0.0, NAN},
     {INF, INF, INF, 0, NAN}},
};

/* NaN for NaN, infinity and 0 with their signs, and everything else to eight units: digamma is a
 * difference of two numbers of that size. */
static bool same(wg_dtype dtype, double a, double b)
{
    double expected = held(dtype, b), unit = dtype == WG_F32 ? 0x1p-23 : 0x1p-52;
    if (isnan(b))
        return isnan(a);
    if (b == 0 || isinf(expected))
        return a == expected && signbit(a) == signbit(expected);
    return fabs(a - expected) <= 8 * unit * fabs(expected);
}

static void special_values_are_those_of_c(void **state)
{
    (void)state;
    const wg_backend_list list = wg_backend_list_built_in();
    int compared = 0;
    for (size_t b = 0; b < list.count; b++)
        for (size_t d = 0; d < 2; d++)
            for (size_t k = 0; k < WG_COUNT(specials); k++) {
                double x[7], y[7], dx[7];
                int n = specials[k].n;
                memcpy(x, specials[k].x, sizeof specials[k].x);
                x[n] = NAN;
                run(list.backend[b], floats[d], specials[k].f, x, n + 1, y, dx);
                check_that(isnan(y[n]) && isnan(dx[n]), "%s of NaN in %s on %s", specials[k].name,
                           wg_dtype_name(floats[d]), list.backend[b]->name);
                for (int i = 0; i < n; i++, compared++) {
                    check_that(same(floats[d], y[i], specials[k].y[i]),
                               "%s in %s on %s of %g: %.17g, expected %.17g", specials[k].name,
                               wg_dtype_name(floats[d]), list.backend[b]->name, x[i], y[i],
                               specials[k].y[i]);
                    check_that(same(floats[d], dx[i], specials[k].dx[i]),
                               "derivative of %s in %s on %s at %g: %.17g, expected %.17g",
                               specials[k].name, wg_dtype_name(floats[d]), list.backend[b]->name,
                               x[i], dx[i], specials[k].dx[i]);
                }
            }
    assert_true(compared > 100);
}

static void kinds_of_numbers(void **state)
{
    (void)state;
    enum { N = 6 };
    static const double x[N] = {0, -1.5, NAN, INF, -INF, 1e30f};
    static const bool nan[N] = {0, 0, 1, 0, 0, 0}, inf[N] = {0, 0, 0, 1, 1, 0},
                      finite[N] = {1, 1, 0, 0, 0, 1};
    for (size_t d = 0; d < 2; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *v = wg_cast(wg_constant(g, WG_F64, WG_SHAPE(N), x), floats[d]);
        wg_value *y[] = {wg_isnan(v), wg_isinf(v), wg_isfinite(v)};
        wg_plan *p;
        wg_plan_options options = {.outputs = y, .n_outputs = 3, .no_fold = true};
        assert_int_equal(wg_plan_create(&p, g, &options), WG_OK);
        assert_int_equal(wg_plan_run(p, 0), WG_OK);
        assert_memory_equal(wg_plan_data(p, y[0]), nan, sizeof nan);
        assert_memory_equal(wg_plan_data(p, y[1]), inf, sizeof inf);
        assert_memory_equal(wg_plan_data(p, y[2]), finite, sizeof finite);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* ---- two operands ---------------------------------------------------------------------------- */

/* y, da and db, in f64. */
static void run_two(wg_value *(*build)(const char *, wg_value *, wg_value *), const double *a,
                    const double *b, int n, double *out)
{
    wg_graph *g = wg_graph_new();
    wg_value *in[] = {wg_constant(g, WG_F64, WG_SHAPE(n), a),
                      wg_constant(g, WG_F64, WG_SHAPE(n), b)};
    wg_value *y = build("here", in[0], in[1]), *dx[2];
    wg_grad(wg_sum(y, WG_ALL_AXES, WG_DROP), in, 2, dx);
    wg_value *all = wg_concat((wg_value *[]){y, dx[0], dx[1]}, 3, 0);
    wg_plan *p;
    check_that(wg_plan_create(&p, g, &(wg_plan_options){.outputs = &all, .n_outputs = 1}) == WG_OK,
               "%s", wg_graph_message(g));
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    memcpy(out, wg_plan_data(p, all), 3 * (size_t)n * sizeof *out);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void angles_of_points(void **state)
{
    (void)state;
    enum { N = 12 };
    static const double a[N] = {0, -0.0, 0, -0.0, 1, -1, INF, INF, 1, NAN, 3e200, 3e-200};
    static const double b[N] = {1, 1, -1, -1, 0, -0.0, INF, -INF, INF, 1, 4e200, -4e-200};
    static const double angle = 0.64350110879328438680; /* arctan(3 / 4) */
    static const double y[N] = {0,      -0.0,       PI, -PI, PI / 2, -PI / 2,
                                PI / 4, 3 * PI / 4, 0,  NAN, angle,  PI - angle};
    static const double da[N] = {1, 1, -1, -1, 0, -0.0, NAN, NAN, NAN, NAN, 1.6e-201, -1.6e199};
    static const double db[N] = {-0.0, 0, -0.0, 0, -1, 1, NAN, NAN, NAN, NAN, -1.2e-201, -1.2e199};
    double got[3 * N], origin[3], zero = 0;
    run_two(wg_atan2, a, b, N, got);
    for (int i = 0; i < N; i++) {
        check_that(same(WG_F64, got[i], y[i]), "atan2(%g, %g) is %.17g", a[i], b[i], got[i]);
        check_that(same(WG_F64, got[N + i], da[i]), "da(%g, %g) is %.17g", a[i], b[i], got[N + i]);
        check_that(same(WG_F64, got[2 * N + i], db[i]), "db(%g, %g) is %.17g", a[i], b[i],
                   got[2 * N + i]);
    }
    run_two(wg_atan2, &zero, &zero, 1, origin);
    assert_true(origin[0] == 0 && origin[1] == 0 && origin[2] == 0);
}

/* Python's %: 5 % 3, -5 % 3, 5 % -3, -5 % -3, ... */
static void remainders_have_the_sign_of_the_divisor(void **state)
{
    (void)state;
    enum { N = 13 };
    static const double a[N] = {5, -5, 5, -5, 6, -6, 1, -1, INF, 2, 5.5, NAN, -0.75};
    static const double b[N] = {3, 3, -3, -3, 3, -3, INF, INF, 3, 0, 2, 1, 0.5};
    static const double y[N] = {2, 1, -1, -2, 0, -0.0, 1, INF, NAN, NAN, 1.5, NAN, 0.25};
    static const double db[N] = {-1, 2, 2, -1, -2, -2, 0, NAN, NAN, NAN, -2, NAN, 2};
    double got[3 * N];
    run_two(wg_remainder, a, b, N, got);
    for (int i = 0; i < N; i++) {
        check_that(same(WG_F64, got[i], y[i]), "%g %% %g is %.17g", a[i], b[i], got[i]);
        check_that(got[N + i] == 1, "da(%g, %g) is %.17g", a[i], b[i], got[N + i]);
        check_that(got[2 * N + i] == db[i] || (isnan(db[i]) && isnan(got[2 * N + i])),
                   "db(%g, %g) is %.17g", a[i], b[i], got[2 * N + i]);
    }
}

/* Python's //: what remains is the remainder. */
static void quotients_are_rounded_down(void **state)
{
    (void)state;
    enum { N = 14 };
    static const double a[N] = {5, -5, 5, -5, 6, -6, 1, -1, INF, 2, 5.5, NAN, -0.75, 0.3};
    static const double b[N] = {3, 3, -3, -3, 3, -3, INF, INF, 3, 0, 2, 1, 0.5, 0.1};
    static const double y[N] = {1, -2, -2, 1, 2, 2, 0, -1, NAN, INF, 2, NAN, -2, 2};
    double got[3 * N];
    run_two(wg_floor_divide, a, b, N, got);
    for (int i = 0; i < N; i++) {
        check_that(same(WG_F64, got[i], y[i]), "%g // %g is %.17g", a[i], b[i], got[i]);
        check_that(got[N + i] == 0 && got[2 * N + i] == 0, "a gradient of %g // %g", a[i], b[i]);
    }
}

static void integers_divide_but_not_by_0(void **state)
{
    (void)state;
    static const int32_t a[] = {5, -5, 5, -5, INT32_MIN, INT32_MIN}, b[] = {3, 3, -3, -3, -1, 7},
                         rest[] = {2, 1, -1, -2, 0, 5},
                         quotient[] = {1, -2, -2, 1, INT32_MIN, -306783379};
    for (int k = 0; k < 4; k++) {
        const bool zero = k & 1;
        const int32_t *y = k & 2 ? quotient : rest;
        wg_graph *g = wg_graph_new();
        wg_value *in = wg_input(g, "b", WG_I32, WG_SHAPE(6));
        wg_value *all = wg_constant(g, WG_I32, WG_SHAPE(6), a);
        wg_value *r = k & 2 ? wg_floor_divide(all, in) : wg_remainder(all, in);
        wg_plan *p;
        assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.outputs = &r, .n_outputs = 1}),
                         WG_OK);
        memcpy(wg_plan_data(p, in), b, sizeof b);
        if (zero) {
            ((int32_t *)wg_plan_data(p, in))[4] = 0;
            assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
            assert_non_null(strstr(wg_plan_message(p), "element 4 of b is 0"));
        } else {
            assert_int_equal(wg_plan_run(p, 0), WG_OK);
            assert_memory_equal(wg_plan_data(p, r), y, sizeof a);
        }
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* The derivative of a function, so that its own is the second one. */
#define DERIVATIVE_OF(f)                                                                           \
    static wg_value *derivative_of_##f(const char *at, wg_value *x)                                \
    {                                                                                              \
        wg_value *dx = NULL;                                                                       \
        wg_grad(wg_sum((wg_##f)(at, x), WG_ALL_AXES, WG_DROP), &x, 1, &dx);                        \
        return dx;                                                                                 \
    }
DERIVATIVE_OF(asin)
DERIVATIVE_OF(acos)
DERIVATIVE_OF(atanh)

/* asin''(x) = x + 3 x^3 / 2 + ..., acos'' = -asin'', atanh''(x) = 2 x + 4 x^3 + ... */
static void second_derivatives_keep_the_digits_of_small_numbers(void **state)
{
    (void)state;
    static const struct {
        builder *derivative;
        double slope;
    } functions[] = {{derivative_of_asin, 1}, {derivative_of_acos, -1}, {derivative_of_atanh, 2}};
    static const double x[] = {1e-5, -1e-6, 1e-8, 1e-20};
    const wg_backend_list list = wg_backend_list_built_in();
    size_t compared = 0;
    for (size_t b = 0; b < list.count; b++)
        for (size_t k = 0; k < 2 * WG_COUNT(functions); k++) {
            size_t f = k / 2, d = k % 2;
            double y[WG_COUNT(x)], dx[WG_COUNT(x)], eps = floats[d] == WG_F32 ? 1e-6 : 1e-9;
            run(list.backend[b], floats[d], functions[f].derivative, x, WG_COUNT(x), y, dx);
            for (size_t i = 0; i < WG_COUNT(x); i++, compared++) {
                double truth = functions[f].slope * x[i];
                check_that(fabs(dx[i] - truth) <= eps * fabs(truth), "function %zu at %g: %.9g", f,
                           x[i], dx[i]);
            }
        }
    assert_int_equal(compared, list.count * 24);
}

static void orders_of_polygamma_have_bounds(void **state)
{
    (void)state;
    static const int64_t wrong[] = {-1, 0, WG_MAX_POLYGAMMA + 1};
    for (size_t i = 0; i < WG_COUNT(wrong); i++) {
        wg_graph *g = wg_graph_new();
        assert_null(wg_polygamma(wg_input(g, "x", WG_F32, WG_SHAPE(2)), wrong[i]));
        assert_non_null(strstr(wg_graph_message(g), "must be 1 to 30 (order 0 is digamma)"));
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_derivatives_are_accurate),
        cmocka_unit_test(special_values_are_those_of_c),
        cmocka_unit_test(kinds_of_numbers),
        cmocka_unit_test(angles_of_points),
        cmocka_unit_test(remainders_have_the_sign_of_the_divisor),
        cmocka_unit_test(quotients_are_rounded_down),
        cmocka_unit_test(integers_divide_but_not_by_0),
        cmocka_unit_test(second_derivatives_keep_the_digits_of_small_numbers),
        cmocka_unit_test(orders_of_polygamma_have_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
