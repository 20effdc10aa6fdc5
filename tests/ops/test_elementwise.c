/* Elementwise ops: exact values, edge cases of floating point, broadcasting against plain loops. */
#include "tests/small.h"
#include "wengert/autograd/grad.h"

#include <math.h>

typedef wg_value *unary_builder(const char *at, wg_value *x);
typedef wg_value *binary_builder(const char *at, wg_value *a, wg_value *b);

static const wg_dtype floats[] = {WG_F32, WG_F64};

static wg_value *vector(wg_graph *g, wg_dtype dtype, const double *x, int64_t n)
{
    return wg_cast(wg_constant(g, WG_F64, WG_SHAPE(n), x), dtype);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void check_row(const char *what, wg_plan *p, const wg_value *y, const double *expected,
                      int n, double tolerance)
{
    for (int i = 0; i < n; i++) {
        double got = small_at(p, y, i), scale = fmax(1, fabs(expected[i]));
        check_that(same(got, expected[i]) || fabs(got - expected[i]) <= tolerance * scale,
                   "%s: element %d is %.17g, expected %.17g", what, i, got, expected[i]);
    }
}

/* dx of sum(y), n elements */
static wg_value *slope(wg_value *y, wg_value *x)
{
    wg_value *dx = NULL;
    wg_grad(wg_sum(y, WG_ALL_AXES, WG_DROP), &x, 1, &dx);
    return dx;
}

/* ---- one operand ----------------------------------------------------------------------------- */

static wg_value *gelu_erf(const char *at, wg_value *x)
{
    return (wg_gelu)(at, x, WG_GELU_ERF);
}
static wg_value *gelu_tanh(const char *at, wg_value *x)
{
    return (wg_gelu)(at, x, WG_GELU_TANH);
}
static wg_value *leaky(const char *at, wg_value *x)
{
    return (wg_leaky_relu)(at, x, 0.25);
}
static wg_value *elu(const char *at, wg_value *x)
{
    return (wg_elu)(at, x, 2);
}
static wg_value *clamp(const char *at, wg_value *x)
{
    return (wg_clamp)(at, x, -1, 2);
}

/* y and dx at x, all exact in f32 */
#define FAR 1e30f
static const struct {
    const char *name;
    unary_builder *build;
    int n;
    double x[8], y[8], dx[8];
} rows[] = {
    {"neg", wg_neg, 3, {1, -0.0, NAN}, {-1, 0, NAN}, {-1, -1, -1}},
    {"abs", wg_abs, 5, {-2, 3, 0, NAN, -INFINITY}, {2, 3, 0, NAN, INFINITY}, {-1, 1, 0, 0, -1}},
    {"sign", wg_sign, 5, {-2, 3, 0, NAN, INFINITY}, {-1, 1, 0, 0, 1}, {0}},
    {"floor", wg_floor, 5, {-1.5, 1.5, 2, NAN, -FAR}, {-2, 1, 2, NAN, -FAR}, {0}},
    {"ceil", wg_ceil, 5, {-1.5, 1.5, 2, NAN, -FAR}, {-1, 2, 2, NAN, -FAR}, {0}},
    {"round", wg_round, 6, {-1.5, 0.5, 1.5, 2.5, 1.25, NAN}, {-2, 0, 2, 2, 1, NAN}, {0}},
    {"square", wg_square, 3, {-3, 0, NAN}, {9, 0, NAN}, {-6, 0, NAN}},
    {"sqrt", wg_sqrt, 4, {4, 0, -1, INFINITY}, {2, 0, NAN, INFINITY}, {0.25, INFINITY, NAN, 0}},
    {"rsqrt", wg_rsqrt, 3, {4, 0, INFINITY}, {0.5, INFINITY, 0}, {-0.0625, -INFINITY, 0}},
    {"reciprocal", wg_reciprocal, 3, {4, -0.5, INFINITY}, {0.25, -2, 0}, {-0.0625, -4, 0}},
    {"sin", wg_sin, 2, {0, NAN}, {0, NAN}, {1, NAN}},
    {"cos", wg_cos, 2, {0, NAN}, {1, NAN}, {0, NAN}},
    {"clamp", clamp, 6, {-2, -1, 0.5, 2, 3, NAN}, {-1, -1, 0.5, 2, 2, NAN}, {0, 1, 1, 1, 0, 0}},
    {"tanh", wg_tanh, 4, {FAR, -FAR, 0, NAN}, {1, -1, 0, NAN}, {0, 0, 1, NAN}},
    {"relu",
     wg_relu,
     5,
     {FAR, -FAR, 0, NAN, INFINITY},
     {FAR, 0, 0, NAN, INFINITY},
     {1, 0, 0, 0, 1}},
    {"leaky_relu", leaky, 4, {8, -8, 0, NAN}, {8, -2, 0, NAN}, {1, 0.25, 0.25, 0.25}},
    {"elu", elu, 4, {FAR, -FAR, 0, NAN}, {FAR, -2, 0, NAN}, {1, 0, 2, NAN}},
    {"sigmoid",
     wg_sigmoid,
     5,
     {FAR, -FAR, 0, NAN, -INFINITY},
     {1, 0, 0.5, NAN, 0},
     {0, 0, 0.25, NAN, 0}},
    {"silu", wg_silu, 4, {FAR, -FAR, 0, NAN}, {FAR, 0, 0, NAN}, {1, 0, 0.5, NAN}},
    {"softplus",
     wg_softplus,
     4,
     {FAR, -FAR, INFINITY, NAN},
     {FAR, 0, INFINITY, NAN},
     {1, 0, 1, NAN}},
    {"hardswish",
     wg_hardswish,
     8,
     {FAR, -FAR, 0, NAN, 3, -3, 4, -4},
     {FAR, 0, 0, NAN, 3, 0, 4, 0},
     {1, 0, 0.5, NAN, 1.5, -0.5, 1, 0}},
    {"gelu", gelu_erf, 4, {FAR, -FAR, 0, NAN}, {FAR, 0, 0, NAN}, {1, 0, 0.5, NAN}},
    {"gelu tanh", gelu_tanh, 4, {FAR, -FAR, 0, NAN}, {FAR, 0, 0, NAN}, {1, 0, 0.5, NAN}},
    {"stop_gradient", wg_stop_gradient, 2, {3, NAN}, {3, NAN}, {0, 0}},
};

static void edge_cases_of_one_operand_and_their_derivatives(void **state)
{
    (void)state;
    for (size_t d = 0; d < 2; d++)
        for (size_t i = 0; i < WG_COUNT(rows); i++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = vector(g, floats[d], rows[i].x, rows[i].n);
            wg_value *y = rows[i].build("here", x), *out[] = {y, slope(y, x)};
            wg_plan *p = small_run(g, out, 2, 1);
            check_row(rows[i].name, p, out[0], rows[i].y, rows[i].n, 0);
            check_row(rows[i].name, p, out[1], rows[i].dx, rows[i].n, 0);
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

static void second_derivatives_are_finite_far_out(void **state)
{
    (void)state;
    static unary_builder *const smooth[] = {wg_tanh,  wg_sigmoid, wg_silu, wg_softplus,
                                            gelu_erf, gelu_tanh,  elu};
    static const double points[] = {FAR, -FAR, 60, -60};
    for (size_t d = 0; d < 2; d++)
        for (size_t i = 0; i < WG_COUNT(smooth); i++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = vector(g, floats[d], points, 4),
                     *y = slope(slope(smooth[i]("here", x), x), x);
            wg_plan *p = small_run(g, &y, 1, 1);
            check_row("second derivative", p, y, (const double[4]){0}, 4, 1e-20);
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

static void zero_of_abs_and_relu_has_no_sign(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = vector(g, WG_F32, (const double[]){-0.0, -5}, 2), *y[] = {wg_abs(x), wg_relu(x)};
    wg_plan *p = small_run(g, y, 2, 1);
    assert_false(signbit(small_at(p, y[0], 0)));
    assert_false(signbit(small_at(p, y[1], 1)));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Values to 20 digits: Abramowitz and Stegun, table 7.1, and the series for small x. */
static void functions_are_accurate(void **state)
{
    (void)state;
    static const struct {
        unary_builder *build;
        double x, y;
    } known[] = {
        {wg_erf, 0.1, 0.11246291601828489220},
        {wg_erf, 0.5, 0.52049987781304653768},
        {wg_erf, -1, -0.84270079294971486934},
        {wg_erf, 2, 0.99532226501895273416},
        {wg_erf, 3, 0.99997790950300141456},
        {wg_erf, 1e-10, 1.1283791670955125739e-10},
        {wg_exp, 1, 2.7182818284590452354},
        {wg_log, 10, 2.3025850929940456840},
        {wg_sin, 1, 0.84147098480789650665},
        {wg_cos, 1, 0.54030230586813971740},
        {wg_tanh, 0.5, 0.46211715726000975850},
        {wg_sigmoid, -1, 0.26894142136999512075},
        {wg_sigmoid, -100, 3.7200759760208359630e-44},
        {wg_softplus, 0, 0.69314718055994530942},
        {wg_softplus, -40, 4.2483542552915889863e-18},
        {wg_rsqrt, 2, 0.70710678118654752440},
        {gelu_erf, 1, 0.84134474606854294859},
        {gelu_tanh, 1, 0.84119199060827678},
        {wg_silu, 1, 0.73105857863000487925},
        {elu, -1, 2 * -0.63212055882855767840},
    };
    for (size_t i = 0; i < WG_COUNT(known); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *y = known[i].build("here", vector(g, WG_F64, &known[i].x, 1));
        wg_plan *p = small_run(g, &y, 1, 1);
        double got = small_at(p, y, 0), error = fabs(got / known[i].y - 1);
        check_that(error <= 4.5e-16, "%s(%g) is %.20g, expected %.20g", y->node->op->name,
                   known[i].x, got, known[i].y);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* ---- two operands ---------------------------------------------------------------------------- */

static void maximum_and_minimum_keep_nan_and_share_ties(void **state)
{
    (void)state;
    enum { N = 5 };
    static const double a[N] = {1, 3, 2, NAN, 1}, b[N] = {2, 3, 1, 1, NAN};
    for (size_t d = 0; d < 2; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = vector(g, floats[d], a, N), *y = vector(g, floats[d], b, N);
        wg_value *hi = wg_maximum(x, y), *lo = wg_minimum(x, y);
        wg_value *out[] = {hi, lo, slope(hi, x), slope(hi, y), slope(lo, x), slope(lo, y)};
        wg_plan *p = small_run(g, out, 6, 1);
        check_row("maximum", p, out[0], (const double[]){2, 3, 2, NAN, NAN}, N, 0);
        check_row("minimum", p, out[1], (const double[]){1, 3, 1, NAN, NAN}, N, 0);
        check_row("d max / da", p, out[2], (const double[]){0, 0.5, 1, 1, 1}, N, 0);
        check_row("d max / db", p, out[3], (const double[]){1, 0.5, 0, 1, 1}, N, 0);
        check_row("d min / da", p, out[4], (const double[]){1, 0.5, 0, 1, 1}, N, 0);
        check_row("d min / db", p, out[5], (const double[]){0, 0.5, 1, 1, 1}, N, 0);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void pow_at_its_edges(void **state)
{
    (void)state;
    enum { N = 7 };
    static const double a[N] = {0, 0, 0, -2, 0, 0, 2}, b[N] = {0, 2, 1, 3, -1, 0.5, 0};
    wg_graph *g = wg_graph_new();
    wg_value *x = vector(g, WG_F64, a, N), *e = vector(g, WG_F64, b, N), *y = wg_pow(x, e);
    wg_value *da = slope(y, x), *out[] = {y, da, slope(y, e), slope(da, x)};
    wg_plan *p = small_run(g, out, 4, 1);
    check_row("pow", p, out[0], (const double[]){1, 0, 0, -8, INFINITY, 0, 1}, N, 0);
    check_row("d/da", p, out[1], (const double[]){0, 0, 1, 12, -INFINITY, INFINITY, 0}, N, 0);
    check_row("d/db", p, out[2], (const double[]){0, 0, 0, NAN, -INFINITY, 0, log(2)}, N, 1e-15);
    check_row("d2/da2", p, out[3], (const double[]){0, 2, 0, -12, INFINITY, -INFINITY, 0}, N, 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void integers_wrap_around(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    static const int32_t i32[] = {INT32_MAX, INT32_MIN};
    static const int64_t i64[] = {INT64_MAX, INT64_MIN};
    wg_value *a = wg_constant(g, WG_I32, WG_SHAPE(2), i32),
             *b = wg_constant(g, WG_I64, WG_SHAPE(2), i64);
    wg_value *y[] = {wg_shift(a, 1), wg_neg(a), wg_square(b), wg_sub(b, wg_abs(b)), wg_mul(a, a)};
    wg_plan *p = small_run(g, y, 5, 1);
    assert_int_equal(((int32_t *)wg_plan_data(p, y[0]))[0], INT32_MIN);
    assert_int_equal(((int32_t *)wg_plan_data(p, y[1]))[1], INT32_MIN);
    assert_int_equal(((int64_t *)wg_plan_data(p, y[2]))[0], 1);
    assert_int_equal(((int64_t *)wg_plan_data(p, y[3]))[1], 0);
    assert_int_equal(((int32_t *)wg_plan_data(p, y[4]))[0], 1);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- comparisons, logic, choice -------------------------------------------------------------- */

static void comparisons_are_those_of_c(void **state)
{
    (void)state;
    enum { N = 6 };
    static const double a[N] = {1, 2, 3, NAN, 1, INFINITY}, b[N] = {2, 2, 2, 1, NAN, INFINITY};
    static binary_builder *const build[] = {wg_equal,      wg_not_equal, wg_less,
                                            wg_less_equal, wg_greater,   wg_greater_equal};
    for (size_t d = 0; d < 2; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = vector(g, floats[d], a, N), *y = vector(g, floats[d], b, N), *out[6];
        for (int i = 0; i < 6; i++)
            out[i] = wg_cast(build[i]("here", x, y), WG_F64);
        wg_plan *p = small_run(g, out, 6, 1);
        for (int j = 0; j < N; j++) {
            const bool expected[] = {a[j] == b[j], a[j] != b[j],
                                     a[j]<b[j], a[j] <= b[j], a[j]> b[j], a[j] >= b[j]};
            for (int i = 0; i < 6; i++)
                check_that((small_at(p, out[i], j) != 0) == expected[i], "%s(%g, %g)",
                           out[i]->node->in[0]->node->op->name, a[j], b[j]);
        }
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void comparisons_of_i64_do_not_go_through_double(void **state)
{
    (void)state;
    static const int64_t a[] = {INT64_C(9007199254740993)}, b[] = {INT64_C(9007199254740992)};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_constant(g, WG_I64, WG_SHAPE(1), a),
             *y = wg_constant(g, WG_I64, WG_SHAPE(1), b);
    wg_value *out[] = {wg_equal(x, y), wg_greater(x, y), wg_maximum(x, y)};
    wg_plan *p = small_run(g, out, 3, 1);
    assert_int_equal(*(uint8_t *)wg_plan_data(p, out[0]), 0);
    assert_int_equal(*(uint8_t *)wg_plan_data(p, out[1]), 1);
    assert_true(*(int64_t *)wg_plan_data(p, out[2]) == a[0]);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void logic_has_its_truth_tables(void **state)
{
    (void)state;
    static const uint8_t a[] = {0, 0, 1, 1}, b[] = {0, 1, 0, 1};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_constant(g, WG_BOOL, WG_SHAPE(4), a),
             *y = wg_constant(g, WG_BOOL, WG_SHAPE(4), b);
    wg_value *out[] = {wg_logical_and(x, y), wg_logical_or(x, y), wg_logical_xor(x, y),
                       wg_logical_not(x)};
    wg_plan *p = small_run(g, out, 4, 1);
    for (int j = 0; j < 4; j++) {
        const int expected[] = {a[j] && b[j], a[j] || b[j], a[j] != b[j], !a[j]};
        for (int i = 0; i < 4; i++)
            assert_int_equal(((uint8_t *)wg_plan_data(p, out[i]))[j], expected[i]);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void where_hides_nan_in_value_and_derivative(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = vector(g, WG_F64, (const double[]){-1, 4}, 2);
    wg_value *y = wg_where(wg_greater(x, wg_scalar_like(x, 0)), wg_sqrt(x), wg_scalar_like(x, 7));
    wg_value *inner = wg_where(wg_greater(x, wg_scalar_like(x, 0)), x, wg_scalar_like(x, 1));
    wg_value *out[] = {y, slope(wg_sqrt(inner), x)};
    wg_plan *p = small_run(g, out, 2, 1);
    check_row("where", p, out[0], (const double[]){7, 2}, 2, 0);
    check_row("derivative", p, out[1], (const double[]){0, 0.25}, 2, 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void where_takes_every_dtype(void **state)
{
    (void)state;
    static const uint8_t coin[] = {1, 0, 1};
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *c = wg_constant(g, WG_BOOL, WG_SHAPE(3), coin);
        wg_value *a = vector(g, d, (const double[]){1, 1, 0}, 3);
        wg_value *b = vector(g, d, (const double[]){0}, 1);
        wg_value *y = wg_cast(wg_where(c, a, b), WG_F64);
        wg_plan *p = small_run(g, &y, 1, 1);
        check_row(wg_dtype_name(d), p, y, (const double[]){1, 0, 0}, 3, 0);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* ---- broadcasting ---------------------------------------------------------------------------- */

/* The element of an operand that result element i reads. */
static int64_t source(const wg_shape *from, const wg_shape *to, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int k = 1; k <= to->rank; k++) {
        int64_t index = i % to->dim[to->rank - k];
        i /= to->dim[to->rank - k];
        if (k <= from->rank) {
            at += from->dim[from->rank - k] == 1 ? 0 : index * stride;
            stride *= from->dim[from->rank - k];
        }
    }
    return at;
}

static void check_broadcast(wg_dtype dtype, wg_shape as, wg_shape bs, wg_shape cs, int threads)
{
    static double a[SMALL_MAX], b[SMALL_MAX];
    static uint8_t c[SMALL_MAX];
    wg_graph *g = wg_graph_new();
    uint64_t seed = (uint64_t)threads;
    wg_value *x = small_constant(g, dtype, as, &seed, a),
             *y = small_constant(g, dtype, bs, &seed, b);
    for (int64_t i = 0; i < wg_shape_count(&cs); i++)
        c[i] = (uint8_t)(i * 7 % 3 == 0);
    wg_value *out[] = {wg_sub(x, y), wg_where(wg_constant(g, WG_BOOL, cs, c), x, y),
                       wg_cast(wg_less(x, y), dtype)};
    wg_plan *p = small_run(g, out, 3, threads);
    int64_t n = wg_value_count(out[0]), m = wg_value_count(out[1]);
    for (int64_t i = 0; i < n; i++) {
        double u = a[source(&as, &out[0]->shape, i)], v = b[source(&bs, &out[0]->shape, i)];
        check_that(small_at(p, out[0], i) == u - v, "sub: element %lld", (long long)i);
        check_that(small_at(p, out[2], i) == (u < v), "less: element %lld", (long long)i);
    }
    for (int64_t i = 0; i < m; i++) {
        double u = a[source(&as, &out[1]->shape, i)], v = b[source(&bs, &out[1]->shape, i)];
        double expected = c[source(&cs, &out[1]->shape, i)] ? u : v;
        check_that(small_at(p, out[1], i) == expected, "where: element %lld", (long long)i);
    }
    assert_true(n > 0 && m > 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void broadcasting_is_that_of_plain_loops(void **state)
{
    (void)state;
    const wg_shape shapes[][3] = {
        {WG_SCALAR, WG_SCALAR, WG_SCALAR},
        {WG_SHAPE(10007), WG_SHAPE(10007), WG_SHAPE(10007)},
        {WG_SHAPE(8192), WG_SCALAR, WG_SHAPE(8192)},
        {WG_SCALAR, WG_SHAPE(4097), WG_SHAPE(1)},
        {WG_SHAPE(3, 5000), WG_SHAPE(5000), WG_SHAPE(3, 1)},
        {WG_SHAPE(5000, 3), WG_SHAPE(3), WG_SHAPE(5000, 1)},
        {WG_SHAPE(3), WG_SHAPE(5000, 3), WG_SCALAR},
        {WG_SHAPE(2, 1, 4097), WG_SHAPE(3, 1), WG_SHAPE(4097)},
        {WG_SHAPE(7, 1, 5, 1), WG_SHAPE(1, 6, 1, 4), WG_SHAPE(5, 4)},
        {WG_SHAPE(2, 1, 3, 1, 2), WG_SHAPE(2, 1, 3, 1, 2), WG_SHAPE(1, 9, 1, 1, 1)},
        {WG_SHAPE(1, 1), WG_SHAPE(1), WG_SHAPE(1, 1, 1)},
        {WG_SHAPE(2, 3, 2, 3, 2, 3, 2, 3), WG_SHAPE(3, 1, 3), WG_SHAPE(2, 1, 2, 1, 2, 1, 2, 1)},
    };
    for (size_t i = 0; i < WG_COUNT(shapes); i++)
        for (int threads = 1; threads <= 3; threads++)
            for (size_t d = 0; d < 2; d++)
                check_broadcast(floats[d], shapes[i][0], shapes[i][1], shapes[i][2], threads);
}

/* ---- gated units, errors --------------------------------------------------------------------- */

static void a_gated_unit_multiplies_its_halves(void **state)
{
    (void)state;
    static unary_builder *const act[] = {
        [WG_GLU] = wg_sigmoid, [WG_REGLU] = wg_relu, [WG_GEGLU] = gelu_erf, [WG_SWIGLU] = wg_silu};
    for (int kind = 0; kind < 4; kind++) {
        wg_graph *g = wg_graph_new();
        wg_value *x =
            wg_constant(g, WG_F64, WG_SHAPE(2, 4), (const double[]){1, 2, 3, 4, 5, 6, -7, 0.5});
        wg_value *b = wg_constant(g, WG_F64, WG_SHAPE(2, 2), (const double[]){3, 4, -7, 0.5});
        wg_value *out[] = {wg_gated(x, (wg_gate)kind), act[kind]("here", b)};
        wg_plan *p = small_run(g, out, 2, 1);
        static const double a[] = {1, 2, 5, 6};
        for (int i = 0; i < 4; i++)
            assert_true(small_at(p, out[0], i) == a[i] * small_at(p, out[1], i));
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

#define check_refused(expected, ...)                                                               \
    do {                                                                                           \
        wg_graph *g = wg_graph_new();                                                              \
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3));                                    \
        wg_value *i = wg_input(g, "i", WG_I64, WG_SHAPE(2, 3));                                    \
        wg_value *b = wg_input(g, "b", WG_BOOL, WG_SHAPE(4));                                      \
        (void)x, (void)i, (void)b;                                                                 \
        assert_null(__VA_ARGS__);                                                                  \
        check_that(strstr(wg_graph_message(g), expected) != NULL, "the message is: %s",            \
                   wg_graph_message(g));                                                           \
        wg_graph_free(g);                                                                          \
    } while (0)

static void bad_operands_are_refused(void **state)
{
    (void)state;
    check_refused("where(x, x, x): condition is f32, must be bool", wg_where(x, x, x));
    check_refused("a is f32 but b is i64", wg_where(b, x, i));
    check_refused("[4] and [2,3] do not broadcast: sizes 4 and 3 at axis -1", wg_where(b, x, x));
    check_refused("atan2(i, i): a is i64, must be f32", wg_atan2(i, i));
    check_refused("a is f32 but b is i64", wg_less(x, i));
    check_refused("a is bool, must be f32, f64, bf16, f16, i32 or i64", wg_equal(b, b));
    check_refused("a is f32, must be bool", wg_logical_and(x, x));
    check_refused("min 2 is above max 1", wg_clamp(x, 2, 1));
    check_refused("min is NaN", wg_clamp(x, NAN, 1));
    check_refused("x is [2,3], its last axis must be even: the halves are value and gate",
                  wg_gated(x, WG_GLU));
    check_refused("kind is 9, must be 0 to 1", wg_gelu(x, (wg_gelu_kind)9));
    check_refused("x is i64, must be f32", wg_sigmoid(i));
}

/* Far below 0, where y + alpha would be a difference of equal numbers */
static void slope_of_elu_does_not_cancel(void **state)
{
    (void)state;
    const wg_backend_list list = wg_backend_list_built_in();
    for (size_t b = 0; b < list.count; b++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3)), *y = wg_elu(x, 2), *dx;
        assert_int_equal(wg_grad(wg_sum(y, WG_ALL_AXES, WG_DROP), &x, 1, &dx), WG_OK);
        wg_output(dx, "dx");
        wg_plan *p;
        assert_int_equal(
            wg_plan_create(
                &p, g,
                &(wg_plan_options){.backends = list.backend + b, .n_backends = 1, .threads = 1}),
            WG_OK);
        memcpy(wg_plan_f32(p, x), (const float[]){-16, -20, 3}, 3 * sizeof(float));
        assert_int_equal(wg_plan_run(p, 0), WG_OK);
        const float *got = wg_plan_f32(p, dx);
        for (int i = 0; i < 3; i++) {
            double slope = i < 2 ? 2 * exp(i ? -20 : -16) : 1;
            check_that(fabs(got[i] - slope) <= 1e-6 * slope, "%s, element %d: %g, not %g",
                       list.backend[b]->name, i, (double)got[i], slope);
        }
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slope_of_elu_does_not_cancel),
        cmocka_unit_test(edge_cases_of_one_operand_and_their_derivatives),
        cmocka_unit_test(second_derivatives_are_finite_far_out),
        cmocka_unit_test(zero_of_abs_and_relu_has_no_sign),
        cmocka_unit_test(functions_are_accurate),
        cmocka_unit_test(maximum_and_minimum_keep_nan_and_share_ties),
        cmocka_unit_test(pow_at_its_edges),
        cmocka_unit_test(integers_wrap_around),
        cmocka_unit_test(comparisons_are_those_of_c),
        cmocka_unit_test(comparisons_of_i64_do_not_go_through_double),
        cmocka_unit_test(logic_has_its_truth_tables),
        cmocka_unit_test(where_hides_nan_in_value_and_derivative),
        cmocka_unit_test(where_takes_every_dtype),
        cmocka_unit_test(broadcasting_is_that_of_plain_loops),
        cmocka_unit_test(a_gated_unit_multiplies_its_halves),
        cmocka_unit_test(bad_operands_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
