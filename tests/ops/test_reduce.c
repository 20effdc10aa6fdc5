/* Reductions: against plain loops over every set of axes, exact cases, accuracy over ten million
 * elements, the same bits at any number of threads. */
#include "tests/small.h"

#include <math.h>

static const wg_dtype floats[] = {WG_F32, WG_F64};

/* ---- against plain loops --------------------------------------------------------------------- */

typedef struct case_of {
    const char *name;
    wg_value *(*build)(wg_value *x, wg_axes axes, wg_keep keep);
    double (*plain)(const double *x, int64_t n);
    double tolerance; /* in units of the dtype's epsilon; 0: exact */
    bool empty;       /* defined over no elements */
} case_of;

static wg_value *b_sum(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_sum(x, axes, keep);
}
static double p_sum(const double *x, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += x[i];
    return s;
}
static wg_value *b_mean(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_mean(x, axes, keep);
}
static double p_mean(const double *x, int64_t n)
{
    return n ? p_sum(x, n) / (double)n : NAN;
}
static wg_value *b_max(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_max(x, axes, keep);
}
static double p_max(const double *x, int64_t n)
{
    double m = x[0];
    for (int64_t i = 1; i < n; i++)
        m = x[i] > m ? x[i] : m;
    return m;
}
static wg_value *b_min(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_min(x, axes, keep);
}
static double p_min(const double *x, int64_t n)
{
    double m = x[0];
    for (int64_t i = 1; i < n; i++)
        m = x[i] < m ? x[i] : m;
    return m;
}
static wg_value *b_prod(wg_value *x, wg_axes axes, wg_keep keep)
{
    wg_value *one = wg_scalar_like(x, 1), *tiny = wg_scalar_like(x, 0x1p-20);
    return wg_prod(wg_add(one, wg_mul(x, tiny)), axes, keep);
}
static double p_prod(const double *x, int64_t n)
{
    double p = 1;
    for (int64_t i = 0; i < n; i++)
        p *= 1 + x[i] * 0x1p-20;
    return p;
}
static wg_value *b_var(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_var(x, axes, keep, 0);
}
/* (n sum x^2 - (sum x)^2) / n^2: exact on whole numbers, up to the division */
static double p_var(const double *x, int64_t n)
{
    double squares = 0, sum = p_sum(x, n);
    for (int64_t i = 0; i < n; i++)
        squares += x[i] * x[i];
    return ((double)n * squares - sum * sum) / ((double)n * (double)n);
}
static wg_value *b_logsumexp(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_logsumexp(x, axes, keep);
}
static double p_logsumexp(const double *x, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += exp(x[i]);
    return log(s);
}
static wg_value *b_norm1(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_vector_norm(x, axes, keep, 1);
}
static wg_value *b_norm2(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_vector_norm(x, axes, keep, 2);
}
static wg_value *b_norm3(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_vector_norm(x, axes, keep, 3);
}
static wg_value *b_largest(wg_value *x, wg_axes axes, wg_keep keep)
{
    return wg_vector_norm(x, axes, keep, INFINITY);
}
static double p_norm(const double *x, int64_t n, double p)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += pow(fabs(x[i]), p);
    return pow(s, 1 / p);
}
static double p_norm1(const double *x, int64_t n)
{
    return p_norm(x, n, 1);
}
static double p_norm2(const double *x, int64_t n)
{
    return p_norm(x, n, 2);
}
static double p_norm3(const double *x, int64_t n)
{
    return p_norm(x, n, 3);
}
static double p_largest(const double *x, int64_t n)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++)
        m = fmax(m, fabs(x[i]));
    return m;
}

static const case_of cases[] = {
    {"sum", b_sum, p_sum, 0, true},
    {"mean", b_mean, p_mean, 1, true},
    {"max", b_max, p_max, 0, false},
    {"min", b_min, p_min, 0, false},
    {"prod", b_prod, p_prod, 1, true},
    {"var", b_var, p_var, 1, false},
    {"logsumexp", b_logsumexp, p_logsumexp, 1, true},
    {"norm 1", b_norm1, p_norm1, 0, true},
    {"norm 2", b_norm2, p_norm2, 1, true},
    {"norm 3", b_norm3, p_norm3, 1, true},
    {"norm infinite", b_largest, p_largest, 0, true},
};
enum { CASES = WG_COUNT(cases) };

/* The elements of x that result element o reduces, in order; returns how many. */
static int64_t elements_of(const wg_shape *x, const wg_axes *axes, int64_t o, const double *from,
                           double *to)
{
    bool reduced[WG_MAX_RANK] = {false};
    int64_t index[WG_MAX_RANK] = {0}, n = 0;
    for (int i = 0; i < axes->count; i++)
        reduced[axes->axis[i]] = true;
    for (int i = x->rank - 1; i >= 0; i--)
        if (!reduced[i]) {
            index[i] = o % x->dim[i];
            o /= x->dim[i];
        }
    for (int64_t at = 0; at < wg_shape_count(x); at++) {
        bool mine = true;
        int64_t rest = at;
        for (int i = x->rank - 1; i >= 0; i--) {
            mine &= reduced[i] || rest % x->dim[i] == index[i];
            rest /= x->dim[i];
        }
        if (mine)
            to[n++] = from[at];
    }
    return n;
}

/* Every case over those axes; returns how many elements were compared. */
static int64_t check_axes(wg_shape shape, wg_axes axes, wg_dtype dtype, int threads)
{
    static double x[SMALL_MAX], part[SMALL_MAX];
    wg_graph *g = wg_graph_new();
    uint64_t seed = 7;
    wg_value *v = small_constant(g, dtype, shape, &seed, x), *y[CASES];
    const case_of *of[CASES];
    int64_t compared = 0;
    double epsilon = dtype == WG_F32 ? 0x1p-23 : 0x1p-52;
    size_t n = 0;
    axes = wg_normalize_axes(&axes, shape.rank);
    bool empty = false;
    for (int i = 0; i < axes.count; i++)
        empty |= shape.dim[axes.axis[i]] == 0;
    for (size_t i = 0; i < CASES; i++)
        if (!empty || cases[i].empty) {
            of[n] = &cases[i];
            y[n++] = cases[i].build(v, axes, i % 2);
        }
    wg_plan *p = small_run(g, y, n, threads);
    for (int64_t o = 0; o < wg_value_count(y[0]); o++) {
        int64_t terms = elements_of(&shape, &axes, o, x, part);
        for (size_t i = 0; i < n; i++, compared++) {
            double got = small_at(p, y[i], o), want = of[i]->plain(part, terms);
            /* rounding of the result, and of the sum as a random walk, here and in the plain loop
             */
            double rounding = of[i]->tolerance * epsilon + sqrt((double)terms) * 0x1p-52;
            double bound = of[i]->tolerance > 0 ? rounding * fmax(1, fabs(want)) : 0;
            check_that(got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= bound,
                       "%s: element %lld of rank %d over %d axes is %.17g, expected %.17g",
                       of[i]->name, (long long)o, shape.rank, axes.count, got, want);
        }
    }
    wg_plan_free(p);
    wg_graph_free(g);
    return compared;
}

static void every_set_of_axes_is_as_in_plain_loops(void **state)
{
    (void)state;
    const wg_shape shapes[] = {
        WG_SHAPE(3, 4, 5, 2),       WG_SHAPE(4, 1, 3, 1), WG_SHAPE(1, 1),
        WG_SHAPE(2, 70, 3),         WG_SHAPE(2, 0, 3),    WG_SHAPE(33, 65),
        WG_SHAPE(2, 2, 2, 2, 2, 2),
    };
    int64_t compared = 0;
    for (size_t i = 0; i < WG_COUNT(shapes); i++)
        for (int set = 1; set < 1 << shapes[i].rank; set++) {
            wg_axes axes = {0};
            for (int k = 0; k < shapes[i].rank; k++)
                if (set >> k & 1)
                    axes.axis[axes.count++] = k;
            for (size_t d = 0; d < 2; d++)
                compared += check_axes(shapes[i], axes, floats[d], 2);
        }
    compared += check_axes(WG_SCALAR, WG_ALL_AXES, WG_F64, 1);
    print_message("%lld elements\n", (long long)compared);
    assert_true(compared > 10000);
}

/* Large enough to be cut into parts, with ends that fill no run, tile or block. */
static void long_reductions_are_as_in_plain_loops(void **state)
{
    (void)state;
    const struct {
        wg_shape shape;
        wg_axes axes;
    } large[] = {
        {WG_SHAPE(65533), WG_AXES(0)},         {WG_SHAPE(21001, 3), WG_AXES(0)},
        {WG_SHAPE(3, 21001), WG_AXES(1)},      {WG_SHAPE(2, 16001, 2), WG_AXES(1)},
        {WG_SHAPE(40, 8, 101), WG_AXES(0, 2)}, {WG_SHAPE(333, 2, 67), WG_AXES(0)},
        {WG_SHAPE(501, 129), WG_AXES(0)},
    };
    for (size_t i = 0; i < WG_COUNT(large); i++)
        for (size_t d = 0; d < 2; d++)
            assert_true(check_axes(large[i].shape, large[i].axes, floats[d], 2) > 0);
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    const struct {
        wg_shape shape;
        wg_axes axes;
    } large[] = {{WG_SHAPE(300007), WG_AXES(0)},
                 {WG_SHAPE(60001, 5), WG_AXES(0)},
                 {WG_SHAPE(5, 60001), WG_AXES(1)},
                 {WG_SHAPE(70, 40, 107), WG_AXES(0, 2)}};
    for (size_t d = 0; d < 2; d++)
        for (size_t i = 0; i < WG_COUNT(large); i++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = wg_normal(g, floats[d], large[i].shape, 0.1, 3), *y[CASES];
            for (size_t k = 0; k < CASES; k++)
                y[k] = cases[k].build(x, large[i].axes, false);
            small_same_at_any_threads(g, y, CASES);
            wg_graph_free(g);
        }
}

static void ten_million_elements_of_f32_are_summed_accurately(void **state)
{
    (void)state;
    const int64_t n = 10000000;
    const double each = (double)0.1f;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_fill(g, WG_F32, WG_SHAPE(n), 0.1);
    wg_value *ramp = wg_iota(g, WG_F32, WG_SHAPE(n), 0, 0, 1); /* whole numbers below 2^24: exact */
    wg_value *y[] = {
        wg_sum(x, WG_ALL_AXES, WG_DROP),
        wg_mean(x, WG_ALL_AXES, WG_DROP),
        wg_vector_norm(x, WG_ALL_AXES, WG_DROP, 2),
        wg_logsumexp(x, WG_ALL_AXES, WG_DROP),
        wg_var(ramp, WG_ALL_AXES, WG_DROP, 0),
        wg_sum(wg_reshape(x, WG_SHAPE(n / 10, 10)), WG_AXES(0), WG_DROP),
    };
    const double expected[] = {(double)n * each,
                               each,
                               sqrt((double)n) * each,
                               log((double)n) + each,
                               ((double)n * (double)n - 1) / 12,
                               (double)n / 10 * each};
    wg_plan *p = small_run(g, y, 6, 2);
    for (int i = 0; i < 6; i++) {
        double got = small_at(p, y[i], 0), error = fabs(got / expected[i] - 1);
        check_that(error <= 0x1p-23, "%s: %.9g, expected %.9g", y[i]->node->op->name, got,
                   expected[i]);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- exact cases ----------------------------------------------------------------------------- */

/* y[i] and the derivative of its sum, of n elements, exactly */
static void check_exact(const char *what, wg_graph *g, wg_value *y, wg_value *x, double expected,
                        const double *dx)
{
    wg_value *out[] = {y, small_slope(y, x)};
    wg_plan *p = small_run(g, out, 2, 1);
    double got = small_at(p, y, 0);
    check_that(got == expected || (isnan(got) && isnan(expected)), "%s is %g, expected %g", what,
               got, expected);
    for (int64_t i = 0; i < wg_value_count(x); i++) {
        got = small_at(p, out[1], i);
        check_that(got == dx[i] || (isnan(got) && isnan(dx[i])),
                   "%s: derivative %lld is %g, expected %g", what, (long long)i, got, dx[i]);
    }
    wg_plan_free(p);
}

#define EXACT(what, n, numbers, y, value, ...)                                                     \
    for (size_t d = 0; d < 2; d++) {                                                               \
        wg_graph *g = wg_graph_new();                                                              \
        wg_value *x = small_vector(g, floats[d], (const double[])numbers, n);                      \
        check_exact(what, g, y, x, value, (const double[n])__VA_ARGS__);                           \
        wg_graph_free(g);                                                                          \
    }
#define LIST(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define ALL WG_ALL_AXES, WG_DROP

static void ties_share_the_derivative(void **state)
{
    (void)state;
    EXACT("max", 5, LIST(1, 4, 4, 0, 4), wg_scale(wg_max(x, ALL), 3), 12, {0, 1, 1, 0, 1})
    EXACT("min", 4, LIST(2, -1, -1, 0), wg_min(x, ALL), -1, {0, 0.5, 0.5, 0})
    EXACT("largest", 4, LIST(2, -2, 1, 0), wg_vector_norm(x, ALL, INFINITY), 2, {0.5, -0.5, 0, 0})
}

static void products_with_zeros_have_their_derivatives(void **state)
{
    (void)state;
    EXACT("no zero", 3, LIST(2, -1, 3), wg_prod(x, ALL), -6, {-3, 6, -2})
    EXACT("one zero", 3, LIST(2, 0, 3), wg_prod(x, ALL), 0, {0, 6, 0})
    EXACT("two zeros", 3, LIST(0, 0, 3), wg_prod(x, ALL), 0, {0, 0, 0})
    EXACT("one element", 1, LIST(5), wg_prod(x, ALL), 5, {1})
    /* The derivative of x1 x2 + x0 x2 + x0 x1, the sum of the first derivatives of x0 x1 x2. */
    EXACT("second order", 3, LIST(0, 0, 3), small_slope(wg_prod(x, ALL), x), 0, {3, 3, 0})
}

static void log_sums_of_extremes(void **state)
{
    (void)state;
    EXACT("huge", 2, LIST((double)1e30f, -(double)1e30f), wg_logsumexp(x, ALL), (double)1e30f,
          {1, 0})
    EXACT("very negative", 1, LIST(-(double)1e30f), wg_logsumexp(x, ALL), -(double)1e30f, {1})
    EXACT("nothing", 2, LIST(-INFINITY, -INFINITY), wg_logsumexp(x, ALL), -INFINITY, {0, 0})
    EXACT("one of two", 2, LIST(-INFINITY, 5), wg_logsumexp(x, ALL), 5, {0, 1})
    EXACT("NaN", 2, LIST(NAN, 5), wg_logsumexp(x, ALL), NAN, {NAN, NAN})
    wg_graph *g = wg_graph_new();
    wg_value *x = small_vector(g, WG_F32, (const double[]){INFINITY, 1, -INFINITY}, 3);
    wg_value *y = wg_logsumexp(x, WG_ALL_AXES, WG_DROP);
    wg_plan *p = small_run(g, &y, 1, 1);
    assert_true(small_at(p, y, 0) == INFINITY);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void norms_at_zero_have_the_derivative_zero(void **state)
{
    (void)state;
    EXACT("norm 1", 2, LIST(0, 0), wg_vector_norm(x, ALL, 1), 0, {0, 0})
    EXACT("norm 2", 2, LIST(0, 0), wg_vector_norm(x, ALL, 2), 0, {0, 0})
    EXACT("norm 3", 2, LIST(0, 0), wg_vector_norm(x, ALL, 3), 0, {0, 0})
    EXACT("norm 1/2", 2, LIST(0, 4), wg_vector_norm(x, ALL, 0.5), 4, {0, 1})
    EXACT("norm infinite", 2, LIST(0, 0), wg_vector_norm(x, ALL, INFINITY), 0, {0, 0})
    EXACT("3, 4, 5", 2, LIST(3, -4), wg_scale(wg_vector_norm(x, ALL, 2), 5), 25, {3, -4})
}

/* Whole powers are products, others libm's. */
static void norms_of_any_p_are_their_sums(void **state)
{
    (void)state;
    static const double powers[] = {0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7, 8, 8.5, 9, 12};
    static const double numbers[] = {1.5, -0.25, 3, 0, -2.125, 0.5, 1, -1};
    for (int k = 0; k < WG_COUNT(powers); k++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = small_vector(g, WG_F64, numbers, WG_COUNT(numbers));
        wg_value *y = wg_output(wg_vector_norm(x, ALL, powers[k]), "y");
        wg_plan *p;
        assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.reference = true}), WG_OK);
        assert_int_equal(wg_plan_run(p, 0), WG_OK);
        double got = *wg_plan_f64(p, y), expected = p_norm(numbers, WG_COUNT(numbers), powers[k]);
        check_that(fabs(got - expected) <= 1e-14 * expected, "p %g: %.17g, expected %.17g",
                   powers[k], got, expected);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void nan_shows_in_every_reduction(void **state)
{
    (void)state;
    for (size_t d = 0; d < 2; d++)
        for (int64_t where = 0; where < 3000; where += 1499) {
            static double x[3000];
            memset(x, 0, sizeof x);
            x[where] = NAN;
            wg_graph *g = wg_graph_new();
            wg_value *v = small_vector(g, floats[d], x, 3000), *y[CASES];
            for (size_t k = 0; k < CASES; k++)
                y[k] = cases[k].build(v, WG_ALL_AXES, false);
            wg_plan *p = small_run(g, y, CASES, 1);
            for (size_t k = 0; k < CASES; k++)
                check_that(isnan(small_at(p, y[k], 0)), "%s loses a NaN", cases[k].name);
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

static void a_variance_survives_a_large_mean(void **state)
{
    (void)state;
    EXACT("far from zero", 3, LIST(1e6, 1e6 + 1, 1e6 + 2), wg_scale(wg_var(x, ALL, 1), 2), 2,
          {-2, 0, 2})
    wg_graph *g = wg_graph_new(); /* 0.1 + 0.1 + 0.1 is not 3 times 0.1 */
    wg_value *x = small_vector(g, WG_F64, (const double[]){0.1, 0.1, 0.1}, 3),
             *y = wg_var(x, ALL, 0);
    wg_plan *p = small_run(g, &y, 1, 1);
    assert_true(small_at(p, y, 0) == 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void integers_are_reduced_exactly(void **state)
{
    (void)state;
    static const int64_t numbers[] = {INT64_C(9007199254740993), 5, -7};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_constant(g, WG_I64, WG_SHAPE(3), numbers);
    wg_value *y[] = {wg_sum(x, ALL), wg_max(x, ALL), wg_min(x, ALL),
                     wg_prod(wg_slice(x, 0, 1, 3, 1), ALL)};
    const int64_t expected[] = {INT64_C(9007199254740991), INT64_C(9007199254740993), -7, -35};
    wg_plan *p = small_run(g, y, 4, 1);
    for (int i = 0; i < 4; i++)
        assert_true(*(int64_t *)wg_plan_data(p, y[i]) == expected[i]);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- errors ---------------------------------------------------------------------------------- */

#define check_refused(expected, ...)                                                               \
    do {                                                                                           \
        wg_graph *g = wg_graph_new();                                                              \
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 0, 3));                                 \
        wg_value *i = wg_input(g, "i", WG_I64, WG_SHAPE(2, 3));                                    \
        (void)x, (void)i;                                                                          \
        assert_null(__VA_ARGS__);                                                                  \
        check_that(strstr(wg_graph_message(g), expected) != NULL, "the message is: %s",            \
                   wg_graph_message(g));                                                           \
        wg_graph_free(g);                                                                          \
    } while (0)

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    check_refused("max(x): x is [2,0,3]: an empty axis has no extreme element", wg_max(x, ALL));
    check_refused("an empty axis has no extreme element", wg_min(x, WG_AXES(1), WG_KEEP));
    check_refused("an empty axis has no extreme element", wg_argmax(x, 1, WG_DROP));
    check_refused("axis 2 is outside x, which is [2,3]", wg_sum(i, WG_AXES(2), WG_DROP));
    check_refused("axis -1 is given twice", wg_sum(i, WG_AXES(1, -1), WG_DROP));
    check_refused("x is i64, must be f32", wg_mean(i, ALL));
    check_refused("p is 0, must be positive", wg_vector_norm(x, ALL, 0));
    check_refused("p is NaN", wg_vector_norm(x, ALL, NAN));
    check_refused("correction is -1, must be 0 or more", wg_var(x, ALL, -1));
    check_refused("3 elements with a correction of 3 leave nothing to divide by",
                  wg_var(wg_cast(i, WG_F32), WG_AXES(1), WG_DROP, 3));
    check_refused("k is 4, must be 0 to the 3 of axis 1 of [2,3]", wg_topk(i, 4, -1));
    check_refused("k is -1", wg_topk(i, -1, -1));
    check_refused("sum_to: [3,2] does not broadcast to [2,3]", wg_sum_to(i, WG_SHAPE(3, 2)));
    check_refused("[1,2,3] does not broadcast to [2,3]", wg_sum_to(i, WG_SHAPE(1, 2, 3)));
    check_refused("does not broadcast to [2,3]", wg_sum_to(i, (wg_shape){.rank = 40}));
    check_refused("does not broadcast to [2,3]", wg_sum_to(i, (wg_shape){.rank = -1}));
    check_refused("[-1,3] does not broadcast to [2,3]", wg_sum_to(i, WG_SHAPE(-1, 3)));
    check_refused("axis -3 is outside x", wg_cumsum(i, -3, WG_CUMSUM_FORWARD));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_axes_is_as_in_plain_loops),
        cmocka_unit_test(long_reductions_are_as_in_plain_loops),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(ten_million_elements_of_f32_are_summed_accurately),
        cmocka_unit_test(ties_share_the_derivative),
        cmocka_unit_test(products_with_zeros_have_their_derivatives),
        cmocka_unit_test(log_sums_of_extremes),
        cmocka_unit_test(norms_at_zero_have_the_derivative_zero),
        cmocka_unit_test(norms_of_any_p_are_their_sums),
        cmocka_unit_test(nan_shows_in_every_reduction),
        cmocka_unit_test(a_variance_survives_a_large_mean),
        cmocka_unit_test(integers_are_reduced_exactly),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
