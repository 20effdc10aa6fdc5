/* Reductions over mixed axes, extremes and pooling by the simd backend against the reference, at
 * sizes that the conformance tests do not reach: rows of many blocks, windows of every kind, ties,
 * NaN; on one thread and on three. */
#include "backends/simd/internal.h"
#include "graph/element.h"
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/ops.h"

#include <math.h>

/* Few different numbers, so that many are equal; a NaN here and there if asked for. */
static void fill(void *x, wg_dtype dtype, int64_t n, bool nan)
{
    uint64_t seed = 7;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double number = ((double)(seed >> 60) - 7.5) / 4;
        wgi_put_element(x, dtype, i, nan && i % 97 == 5 ? (double)NAN : number);
    }
}

/* The function that is compared. */
typedef wg_value *function(wg_value *x, int variant);

static int64_t same(wg_plan *a, wg_plan *b, const wg_value *v, double tolerance)
{
    int64_t n = wg_value_count(v);
    for (int64_t i = 0; i < n; i++) {
        if (v->dtype == WG_I64) {
            assert_int_equal(((const int64_t *)wg_plan_data(a, v))[i],
                             ((const int64_t *)wg_plan_data(b, v))[i]);
            continue;
        }
        double x = wgi_get_element(wg_plan_data(a, v), v->dtype, i),
               y = wgi_get_element(wg_plan_data(b, v), v->dtype, i);
        check_that(x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tolerance,
                   "%s [%lld]: %.9g by the reference, %.9g by simd", v->node->op->name,
                   (long long)i, x, y);
    }
    return n;
}

static int64_t check_in(wg_dtype dtype, function *f, int variant, wg_shape shape,
                        const char *kernel, double tolerance)
{
    const wg_backend *const simd[] = {wg_simd_backend()};
    int64_t compared = 0;
    for (int nan = 0; nan < 2; nan++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", dtype, shape), *y = wg_output(f(x, variant), "y");
        check_that(y, "%s", wg_graph_message(g));
        if (y->node->n_out > 1)
            wg_output(wg_result_of(y, 1), "more");
        wg_plan *p[3] = {
            plan_of(g, &(wg_plan_options){.reference = true}),
            plan_of(g, &(wg_plan_options){.backends = simd, .n_backends = 1, .threads = 1}),
            plan_of(g, &(wg_plan_options){.backends = simd, .n_backends = 1, .threads = 3})};
        assert_string_equal(wg_plan_step_at(p[1], 0).kernel, kernel);
        wg_plan_step last = wg_plan_step_at(p[1], wg_plan_step_count(p[1]) - 1);
        assert_string_equal(last.backend, "simd");
        for (int i = 0; i < 3; i++) {
            fill(wg_plan_data(p[i], x), dtype, wg_value_count(x), nan);
            run(p[i], 0);
        }
        for (int r = 0; r < y->node->n_out; r++) {
            compared += same(p[0], p[1], wg_result_of(y, r), tolerance);
            same(p[1], p[2], wg_result_of(y, r), 0);
        }
        for (int i = 0; i < 3; i++)
            wg_plan_free(p[i]);
        wg_graph_free(g);
    }
    return compared;
}

static int64_t check(function *f, int variant, wg_shape shape, const char *kernel, double tolerance)
{
    return check_in(WG_F32, f, variant, shape, kernel, tolerance);
}

/* Pooling: in f32, and in f64, which has 29 bits more */
static int64_t check_pool(function *f, int variant, wg_shape shape, double tolerance)
{
    return check_in(WG_F32, f, variant, shape, "windows", tolerance) +
           check_in(WG_F64, f, variant, shape, "windows", ldexp(tolerance, -29));
}

/* variant: the op, and 8 times which axes */
enum { REDUCTIONS = 8 };

static wg_value *reduced(wg_value *x, int variant)
{
    const wg_axes sets[] = {WG_AXES(0, 2, 3), WG_AXES(1), WG_AXES(0, 1), WG_AXES(0), WG_AXES(3)};
    wg_axes axes = sets[variant / REDUCTIONS];
    switch (variant % REDUCTIONS) {
    case 0: return wg_sum(x, axes, WG_DROP);
    case 1: return wg_mean(x, axes, WG_KEEP);
    case 2: return wg_max(x, axes, WG_DROP);
    case 3: return wg_min(x, axes, WG_DROP);
    case 4: return wg_prod(x, axes, WG_DROP);
    case 5: return wg_var(x, axes, WG_KEEP, 1);
    case 6: return wg_logsumexp(x, axes, WG_DROP);
    default: return wg_vector_norm(x, axes, WG_DROP, 2);
    }
}

static void mixed_axes_are_reduced(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int variant = 0; variant < 5 * REDUCTIONS; variant++) {
        bool sum = variant % REDUCTIONS == 0; /* which over leading axes has its own kernel */
        int axes = variant / REDUCTIONS;
        const char *kernel = sum && (axes == 2 || axes == 3) ? "columns" : "axes";
        compared += check(reduced, variant, WG_SHAPE(3, 5, 7, 11), kernel, 1e-5);
        compared += check(reduced, variant, WG_SHAPE(2, 50, 3, 9), kernel, 1e-5);
        for (int64_t inner = 2; axes == 3 && inner < 40; inner += 3) /* few long columns */
            compared += check(reduced, variant, WG_SHAPE(700, 1, 1, inner),
                              sum && inner >= 16 ? "columns" : "axes", 1e-4);
        if (axes == 3) /* few columns that are long */
            for (int k = 0; k < 3; k++) {
                static const int64_t inner[] = {3, 31, 130};
                compared += check(reduced, variant, WG_SHAPE(300000 / inner[k], 1, 1, inner[k]),
                                  sum && k > 0 ? "columns" : "axes", 2e-5);
            }
        if (axes == 0) { /* both ends, few numbers at one of them */
            compared += check(reduced, variant, WG_SHAPE(6, 400, 1, 3), "axes", 1e-5);
            compared += check(reduced, variant, WG_SHAPE(700, 24, 1, 3), "axes", 1e-4);
        }
        compared += check(reduced, variant, WG_SHAPE(4, 9, 33, 20), kernel, 1e-4);
    }
    assert_true(compared > 90000);
}

/* Products of columns alone overflow; that of all numbers in order is 1. */
static void products_over_both_ends_are_made_in_order(void **state)
{
    (void)state;
    enum { OUTER = 64, MIDDLE = 2, INNER = 2 };
    const wg_backend *const simd[] = {wg_simd_backend()};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(OUTER, MIDDLE, INNER));
    wg_value *y = wg_output(wg_prod(x, WG_AXES(0, 2), WG_DROP), "y");
    wg_plan *p = plan_of(g, &(wg_plan_options){.backends = simd, .n_backends = 1});
    for (int i = 0; i < OUTER * MIDDLE * INNER; i++)
        wg_plan_f32(p, x)[i] = i % 2 ? 0x1p-100F : 0x1p100F;
    run(p, 0);
    for (int i = 0; i < MIDDLE; i++)
        assert_true(wg_plan_f32(p, y)[i] == 1);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* A column of -inf alone, one with +inf, one with NaN */
static void columns_without_a_finite_number(void **state)
{
    (void)state;
    enum { ROWS = 20, COLUMNS = 70 };
    const wg_backend *const simd[] = {wg_simd_backend()};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(ROWS, COLUMNS));
    wg_value *y = wg_output(wg_logsumexp(x, WG_AXES(0), WG_DROP), "y");
    wg_plan *p = plan_of(g, &(wg_plan_options){.backends = simd, .n_backends = 1});
    assert_string_equal(wg_plan_step_at(p, 0).kernel, "axes");
    float *data = wg_plan_data(p, x);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        data[i] = i % COLUMNS == 3 ? -INFINITY : 0;
    data[5] = INFINITY;
    data[6 + COLUMNS] = NAN;
    data[7] = -INFINITY;
    run(p, 0);
    const float *result = wg_plan_data(p, y);
    assert_true(result[3] == -INFINITY);
    assert_true(result[5] == INFINITY);
    assert_true(isnan(result[6]));
    assert_float_equal(result[7], logf(ROWS - 1), 1e-6);
    assert_float_equal(result[8], logf(ROWS), 1e-6);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* variant: which extreme, and twice the axis */
static wg_value *extreme(wg_value *x, int variant)
{
    return variant % 2 ? wg_argmin(x, variant / 2, WG_DROP) : wg_argmax(x, variant / 2, WG_KEEP);
}

static void extremes_are_found(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 2, 31, 32, 33, 64, 100, 1000};
    int64_t compared = 0;
    for (int i = 0; i < WG_COUNT(widths); i++)
        for (int variant = 0; variant < 2; variant++) {
            compared += check(extreme, 2 + variant, WG_SHAPE(50, widths[i]), "axis", 0);
            compared += check(extreme, variant, WG_SHAPE(widths[i], 50), "axis", 0);
            compared += check(extreme, 2 + variant, WG_SHAPE(3, widths[i], 129), "axis", 0);
            compared += check(extreme, 2 + variant, WG_SHAPE(200, widths[i], 1), "axis", 0);
        }
    assert_true(compared >= 12000);
}

static const wg_pool2d_options pools[] = {
    {.kernel = {2, 2}},
    {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
    {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}},
    {.kernel = {2, 5}, .stride = {3, 4}, .padding = {1, 2}},
    {.kernel = {3, 2}, .stride = {1, 1}, .dilation = {2, 3}},
    {.kernel = {4, 4}, .stride = {1, 1}, .padding = {2, 2}, .dilation = {2, 2}},
    {.kernel = {2, 4}, .stride = {4, 3}, .ceil_mode = true},
    {.kernel = {4, 5}, .stride = {3, 4}, .padding = {1, 2}, .ceil_mode = true},
};

/* Few and wide windows of the plane [9,40]: whole planes, whole rows, parts of rows */
static const wg_pool2d_options wide_pools[] = {
    {.kernel = {9, 40}},
    {.kernel = {2, 40}},
    {.kernel = {4, 40}, .stride = {3, 1}, .padding = {2, 0}},
    {.kernel = {1, 40}, .stride = {2, 5}, .dilation = {3, 1}},
    {.kernel = {3, 40}, .stride = {2, 4}, .padding = {1, 20}, .dilation = {2, 1}},
    {.kernel = {4, 32}, .stride = {1, 4}},
    {.kernel = {2, 33}, .stride = {3, 2}, .padding = {0, 3}},
    {.kernel = {2, 21}, .stride = {1, 2}},
    {.kernel = {5, 14}, .stride = {5, 12}, .ceil_mode = true},
};

/* Windows of which a row of the plane [9,13] has less than eight; those with dilation and taps
 * outside of the plane go tap by tap. */
static const wg_pool2d_options few_pools[] = {
    {.kernel = {2, 2}},
    {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
    {.kernel = {5, 3}, .stride = {1, 3}, .padding = {2, 1}},
    {.kernel = {2, 2}, .stride = {2, 3}, .dilation = {3, 2}},
    {.kernel = {3, 3}, .stride = {3, 2}, .padding = {1, 1}, .dilation = {2, 2}},
    {.kernel = {3, 2}, .stride = {3, 4}, .ceil_mode = true},
    {.kernel = {3, 1}, .stride = {4, 2}, .dilation = {3, 1}, .ceil_mode = true},
    {.kernel = {1, 3}, .stride = {1, 3}, .dilation = {1, 2}, .ceil_mode = true},
};

static wg_value *pooled_few(wg_value *x, int variant)
{
    return wg_max_pool2d(x, &few_pools[variant]);
}

static wg_value *pooled(wg_value *x, int variant)
{
    return wg_max_pool2d(x, &pools[variant]);
}

static wg_value *pooled_widely(wg_value *x, int variant)
{
    return wg_max_pool2d(x, &wide_pools[variant]);
}

static wg_value *pooled_whole(wg_value *x, int variant)
{
    (void)variant;
    return wg_max_pool2d(x, &(wg_pool2d_options){.kernel = {x->shape.dim[2], x->shape.dim[3]}});
}

/* The gradient, through pool_scatter. */
static wg_value *scattered(wg_value *x, int variant)
{
    wg_value *y = wg_max_pool2d(x, &pools[variant]);
    return wg_pool_scatter(y, wg_result_of(y, 1), x->shape.dim[2], x->shape.dim[3]);
}

static const wg_pool2d_options mean_pools[] = {
    {.kernel = {2, 2}},
    {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
    {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .exclude_padding = true},
    {.kernel = {2, 5}, .stride = {3, 4}, .padding = {1, 2}, .exclude_padding = true},
    {.kernel = {3, 2}, .stride = {1, 1}},
    {.kernel = {4, 4}, .stride = {1, 3}, .padding = {2, 2}},
    {.kernel = {1, 3}, .stride = {2, 2}, .padding = {0, 1}, .exclude_padding = true},
    {.kernel = {9, 12}, .stride = {5, 7}},
    {.kernel = {5, 25}, .stride = {1, 3}, .padding = {2, 12}, .exclude_padding = true},
    {.kernel = {7, 21}, .padding = {3, 10}},
    {.kernel = {2, 4}, .stride = {4, 3}, .ceil_mode = true},
    {.kernel = {4, 5}, .stride = {3, 4}, .padding = {1, 2}, .ceil_mode = true},
    {.kernel = {4, 5}, .stride = {3, 4}, .exclude_padding = true, .ceil_mode = true},
};

static wg_value *averaged(wg_value *x, int variant)
{
    return wg_avg_pool2d(x, &mean_pools[variant]);
}

static wg_value *global(wg_value *x, int variant)
{
    (void)variant;
    return wg_global_avg_pool2d(x);
}

/* The gradient: the means themselves, spread over x. */
static wg_value *spread(wg_value *x, int variant)
{
    wg_value *y = wg_avg_pool2d(x, &mean_pools[variant]), *dx;
    wg_vjp(&y, &y, 1, &x, 1, NULL, &dx);
    return dx;
}

static void means_are_pooled(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int variant = 0; variant < WG_COUNT(mean_pools); variant++) {
        compared += check_pool(averaged, variant, WG_SHAPE(2, 3, 12, 27), 1e-5);
        compared += check_pool(averaged, variant, WG_SHAPE(1, 2, 9, 700), 1e-5);
        compared += check_pool(averaged, variant, WG_SHAPE(7, 9, 40, 31), 1e-5);
        compared += check_pool(spread, variant, WG_SHAPE(2, 3, 12, 27), 1e-5);
        compared += check_pool(spread, variant, WG_SHAPE(7, 9, 40, 31), 1e-5);
    }
    compared += check_pool(averaged, 6, WG_SHAPE(2, 1, 3, 5000), 1e-5);
    compared += check_pool(spread, 6, WG_SHAPE(2, 1, 3, 5000), 1e-5);
    compared += check_pool(global, 0, WG_SHAPE(30, 20, 7, 7), 1e-5);
    compared += check_pool(global, 0, WG_SHAPE(3, 20, 56, 57), 1e-5);
    assert_true(compared > 2000000);
}

static void windows_are_pooled(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int variant = 0; variant < WG_COUNT(pools); variant++) {
        compared += check_pool(pooled, variant, WG_SHAPE(2, 3, 12, 13), 0);
        compared += check_pool(pooled, variant, WG_SHAPE(1, 2, 9, 700), 0);
        compared += check_pool(scattered, variant, WG_SHAPE(2, 3, 40, 31), 1e-5);
    }
    for (int variant = 0; variant < WG_COUNT(wide_pools); variant++)
        compared += check_pool(pooled_widely, variant, WG_SHAPE(5, 7, 9, 40), 0);
    for (int variant = 0; variant < WG_COUNT(few_pools); variant++)
        compared += check_pool(pooled_few, variant, WG_SHAPE(20, 7, 9, 13), 0);
    for (int64_t h = 1; h < 9; h++)
        for (int64_t w = 1; w < 9; w++)
            compared += check_pool(pooled_whole, 0, WG_SHAPE(4, 9, h, w), 0);
    assert_true(compared > 100000);
}

static const char *why_not(wg_value *y)
{
    for (const simd_kernel *k = wgi_simd_reduce; k->op; k++)
        if (k->op == y->node->op && strcmp(k->name, "axes") == 0)
            return k->refuses(y->node);
    return "no such kernel";
}

static void refusals_say_why(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *ones = wg_input(g, "ones", WG_F32, WG_SHAPE(1, 1)),
             *plane = wg_input(g, "plane", WG_F32, WG_SHAPE(4, 5)),
             *many = wg_input(g, "many", WG_F32, WG_SHAPE(2, 3, 4, 5)),
             *column = wg_input(g, "column", WG_F32, WG_SHAPE(1, 5));
    assert_string_equal(why_not(wg_sum(plane, WG_ALL_AXES, WG_DROP)), "all axes");
    assert_null(why_not(wg_sum(ones, WG_ALL_AXES, WG_DROP)));
    assert_null(why_not(wg_sum(column, WG_AXES(0), WG_DROP)));
    assert_string_equal(why_not(wg_sum(many, WG_AXES(0, 2), WG_DROP)),
                        "axes in more than three parts");
    assert_null(why_not(wg_sum(plane, WG_AXES(0), WG_DROP)));
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_over_both_ends_are_made_in_order),
        cmocka_unit_test(mixed_axes_are_reduced),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(columns_without_a_finite_number),
        cmocka_unit_test(extremes_are_found),
        cmocka_unit_test(windows_are_pooled),
        cmocka_unit_test(means_are_pooled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
