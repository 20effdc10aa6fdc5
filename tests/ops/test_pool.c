/* Pooling against its definition, ties, NaN, gradients, refusals. */
#include "tests/small.h"
#include "wengert/autograd/grad.h"

#include <math.h>

typedef struct geometry {
    const char *name;
    int batch, channels, height, width, kernel[2], stride[2], padding[2], dilation[2];
} geometry;

/* clang-format off */
static const geometry geometries[] = {
    /* name                N  C  H   W   kernel  stride  padding dilation */
    {"halves",             2, 3, 6,  8,  {2, 2}, {2, 2}, {0, 0}, {1, 1}},
    {"stride is kernel",   1, 2, 7,  9,  {2, 3}, {0, 0}, {0, 0}, {1, 1}},
    {"overlap",            2, 2, 6,  5,  {3, 2}, {1, 1}, {1, 1}, {1, 1}},
    {"stride over kernel", 1, 2, 9,  8,  {2, 1}, {4, 3}, {0, 0}, {1, 1}},
    {"rest",               1, 1, 8,  9,  {3, 4}, {3, 3}, {1, 2}, {1, 1}},
    {"dilated",            2, 1, 9,  8,  {3, 2}, {2, 1}, {1, 1}, {3, 2}},
    {"one window",         2, 2, 4,  5,  {4, 5}, {1, 1}, {0, 0}, {1, 1}},
    {"one element",        3, 2, 1,  1,  {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"kernel over input",  1, 2, 2,  3,  {4, 5}, {2, 1}, {2, 2}, {1, 1}},
    {"empty batch",        0, 2, 4,  4,  {2, 2}, {2, 2}, {0, 0}, {1, 1}},
    {"no channels",        2, 0, 4,  4,  {2, 2}, {2, 2}, {0, 0}, {1, 1}},
};
/* clang-format on */

static double x_numbers[SMALL_MAX], y_numbers[SMALL_MAX], i_numbers[SMALL_MAX];
static double dy_numbers[SMALL_MAX], dx_numbers[SMALL_MAX];

static wg_pool2d_options options_of(const geometry *t, bool dilated)
{
    return (wg_pool2d_options){
        .kernel = {t->kernel[0], t->kernel[1]},
        .stride = {t->stride[0], t->stride[1]},
        .padding = {t->padding[0], t->padding[1]},
        .dilation = {dilated ? t->dilation[0] : 1, dilated ? t->dilation[1] : 1}};
}

/* The places in the plane that window (p, q) covers, in order; returns how many. */
static int covered(const geometry *t, const wg_pool2d_options *o, int64_t p, int64_t q,
                   int64_t *places)
{
    int count = 0;
    int64_t sh = o->stride[0] ? o->stride[0] : o->kernel[0];
    int64_t sw = o->stride[1] ? o->stride[1] : o->kernel[1];
    for (int64_t k = 0; k < o->kernel[0]; k++)
        for (int64_t l = 0; l < o->kernel[1]; l++) {
            int64_t i = p * sh - o->padding[0] + k * o->dilation[0];
            int64_t j = q * sw - o->padding[1] + l * o->dilation[1];
            if (i >= 0 && i < t->height && j >= 0 && j < t->width)
                places[count++] = i * t->width + j;
        }
    return count;
}

/* y, the vector-Jacobian product with small numbers, and (of maxima) the index; whole numbers from
 * -4 to 4 in such windows are full of ties. */
static int64_t pooled_as_defined(const geometry *t, wg_dtype dtype, bool max, bool exclude)
{
    uint64_t seed = 11;
    int64_t places[64], size = t->height * t->width;
    wg_graph *g = wg_graph_new();
    wg_pool2d_options o = options_of(t, max);
    o.exclude_padding = exclude;
    wg_value *x = small_constant(g, dtype, WG_SHAPE(t->batch, t->channels, t->height, t->width),
                                 &seed, x_numbers);
    wg_value *y = max ? wg_max_pool2d(x, &o) : wg_avg_pool2d(x, &o);
    check_that(y, "%s: %s", t->name, wg_graph_message(g));
    wg_value *dy = small_constant(g, dtype, y->shape, &seed, dy_numbers), *dx;
    assert_int_equal(wg_vjp(&y, &dy, 1, &x, 1, NULL, &dx), WG_OK);
    int64_t windows = y->shape.dim[2] * y->shape.dim[3], count = wg_value_count(y);
    memset(dx_numbers, 0, sizeof dx_numbers);
    for (int64_t at = 0; at < count; at++) {
        int64_t plane = at / windows * size, best = -1;
        int n = covered(t, &o, at % windows / y->shape.dim[3], at % y->shape.dim[3], places);
        double sum = 0, divisor = exclude ? n : (double)(o.kernel[0] * o.kernel[1]);
        for (int k = 0; k < n; k++) {
            sum += x_numbers[plane + places[k]];
            if (best < 0 || x_numbers[plane + places[k]] > x_numbers[plane + best])
                best = places[k];
        }
        y_numbers[at] = max ? x_numbers[plane + best] : sum / divisor;
        i_numbers[at] = (double)best;
        for (int k = 0; k < n; k++)
            if (!max || places[k] == best)
                dx_numbers[plane + places[k]] += max ? dy_numbers[at] : dy_numbers[at] / divisor;
    }
    wg_value *wanted[] = {y, dx, wg_result_of(y, max ? 1 : 0)};
    wg_plan *p = small_run(g, wanted, 3, 1);
    if (max)
        small_equal(t->name, p, wanted[2], i_numbers, count);
    double tolerance = max ? 0 : dtype == WG_F32 ? 1e-6 : 1e-15;
    for (int64_t i = 0; i < count; i++)
        check_that(fabs(small_at(p, y, i) - y_numbers[i]) <= tolerance * 8,
                   "%s: y[%lld] is %g, not %g", t->name, (long long)i, small_at(p, y, i),
                   y_numbers[i]);
    assert_int_equal(wg_value_count(dx), wg_value_count(x));
    for (int64_t i = 0; i < wg_value_count(dx); i++)
        check_that(fabs(small_at(p, dx, i) - dx_numbers[i]) <= tolerance * 32,
                   "%s: dx[%lld] is %g, not %g", t->name, (long long)i, small_at(p, dx, i),
                   dx_numbers[i]);
    count += wg_value_count(dx);
    wg_plan_free(p);
    wg_graph_free(g);
    return count;
}

static void pooling_and_its_gradient_are_their_definitions(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int i = 0; i < WG_COUNT(geometries); i++)
        for (wg_dtype dtype = WG_F32; dtype <= WG_F64; dtype++) {
            compared += pooled_as_defined(&geometries[i], dtype, true, false);
            compared += pooled_as_defined(&geometries[i], dtype, false, false);
            compared += pooled_as_defined(&geometries[i], dtype, false, true);
        }
    assert_true(compared > 3000);
}

/* <gather(x, i), y> = <x, scatter(y, i)>, with repeated indices; and the gradient of one is the
 * other. */
static void gather_and_scatter_are_adjoint(void **state)
{
    (void)state;
    uint64_t seed = 2;
    wg_graph *g = wg_graph_new();
    wg_value *x = small_constant(g, WG_F64, WG_SHAPE(2, 2, 2, 3), &seed, NULL);
    wg_value *y = small_constant(g, WG_F64, WG_SHAPE(2, 2, 2, 2), &seed, NULL);
    static const int64_t places[16] = {0, 5, 5, 1, 2, 2, 2, 2, 4, 3, 0, 0, 5, 4, 3, 2};
    wg_value *index = wg_constant(g, WG_I64, WG_SHAPE(2, 2, 2, 2), places), *dx, *dy;
    wg_value *there = wg_pool_gather(x, index), *back = wg_pool_scatter(y, index, 2, 3);
    assert_int_equal(wg_vjp(&there, &y, 1, &x, 1, NULL, &dx), WG_OK);
    assert_int_equal(wg_vjp(&back, &x, 1, &y, 1, NULL, &dy), WG_OK);
    wg_value *wanted[] = {wg_sum(wg_mul(there, y), WG_ALL_AXES, WG_DROP),
                          wg_sum(wg_mul(back, x), WG_ALL_AXES, WG_DROP),
                          there,
                          back,
                          dx,
                          dy};
    wg_plan *p = small_run(g, wanted, 6, 1);
    small_equal("products", p, wanted[0], wg_plan_data(p, wanted[1]), 1);
    small_equal("dx", p, dx, wg_plan_data(p, back), 24);
    small_equal("dy", p, dy, wg_plan_data(p, there), 16);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void an_index_outside_its_plane_ends_the_run(void **state)
{
    (void)state;
    for (int64_t bad = -1; bad <= 4; bad += 5) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_fill(g, WG_F32, WG_SHAPE(1, 1, 2, 2), 1);
        wg_value *index = wg_input(g, "index", WG_I64, WG_SHAPE(1, 1, 1, 1));
        wg_value *y = wg_pool_gather(x, index);
        wg_plan *p;
        assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.outputs = &y, .n_outputs = 1}),
                         WG_OK);
        memcpy(wg_plan_data(p, index), &bad, sizeof bad);
        assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
        check_that(strstr(wg_plan_message(p), "is outside [0,4)"), "%s", wg_plan_message(p));
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void a_maximum_keeps_nan_and_infinities(void **state)
{
    (void)state;
    const float rows[3][4] = {
        {1, NAN, 7, NAN}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, {3, INFINITY, NAN, 2}};
    const int64_t expected[3] = {1, 0, 2};
    for (int i = 0; i < 3; i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_constant(g, WG_F32, WG_SHAPE(1, 1, 4), rows[i]);
        wg_value *y = wg_max_pool1d(x, &(wg_pool1d_options){.kernel = 4});
        wg_value *wanted[] = {y, wg_result_of(y, 1)};
        wg_plan *p = small_run(g, wanted, 2, 1);
        assert_int_equal(*(int64_t *)wg_plan_data(p, wanted[1]), expected[i]);
        assert_memory_equal(wg_plan_data(p, y), &rows[i][expected[i]], sizeof(float));
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void one_dimension_and_whole_planes(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(1, 2, 4), (double[]){1, 5, 2, 8, 3, -1, 0, 6});
    wg_value *max = wg_max_pool1d(x, &(wg_pool1d_options){.kernel = 2, .stride = 1});
    wg_value *mean =
        wg_avg_pool1d(x, &(wg_pool1d_options){.kernel = 2, .padding = 1, .exclude_padding = true});
    wg_value *plane = wg_reshape(x, WG_SHAPE(1, 2, 2, 2));
    wg_value *wanted[] = {max, wg_result_of(max, 1), mean, wg_global_max_pool2d(plane),
                          wg_global_avg_pool2d(plane)};
    wg_plan *p = small_run(g, wanted, 5, 1);
    small_equal("max", p, wanted[0], (double[]){5, 5, 8, 3, 0, 6}, 6);
    small_equal("index", p, wanted[1], (double[]){1, 1, 3, 0, 2, 3}, 6);
    small_equal("mean", p, wanted[2], (double[]){1, 3.5, 8, 3, -0.5, 6}, 6);
    small_equal("global max", p, wanted[3], (double[]){8, 6}, 2);
    small_equal("global mean", p, wanted[4], (double[]){4, 2}, 2);
    assert_int_equal(wanted[4]->shape.rank, 4);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    uint64_t seed = 4;
    wg_graph *g = wg_graph_new();
    wg_value *x = small_constant(g, WG_F32, WG_SHAPE(3, 5, 41, 43), &seed, NULL);
    x = wg_exp(wg_scale(x, 0.3)); /* sums that round */
    wg_pool2d_options o = {.kernel = {5, 4}, .stride = {1, 2}, .padding = {2, 1}};
    wg_value *y[4] = {wg_max_pool2d(x, &o), wg_avg_pool2d(x, &o)};
    for (int i = 0; i < 2; i++) {
        wg_value *dy = wg_tanh(y[i]);
        assert_int_equal(wg_vjp(&y[i], &dy, 1, &x, 1, NULL, &y[2 + i]), WG_OK);
    }
    small_same_at_any_threads(g, y, 4);
    wg_graph_free(g);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static wg_value *maximum(wg_graph *g, const void *options)
{
    return wg_max_pool2d(wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 5, 6)), options);
}

static wg_value *average(wg_graph *g, const void *options)
{
    return wg_avg_pool2d(wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 5, 6)), options);
}

static wg_value *average_of_all(wg_graph *g, const void *shape)
{
    return wg_global_avg_pool2d(wg_input(g, "x", WG_F32, *(const wg_shape *)shape));
}

static wg_value *maximum_along_one(wg_graph *g, const void *options)
{
    return wg_max_pool1d(wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 6)), options);
}

static const small_refusal refusals[] = {
    {maximum_along_one, &(const wg_pool1d_options){.kernel = 7},
     "max_pool1d(x): along L a kernel of 7 with dilation 1 spans 7, more than the 6 of size 6"},
    {maximum_along_one, &(const wg_pool1d_options){.kernel = 3, .padding = 2},
     "the padding along L is 2, more than half of the kernel of 3"},
    {maximum, &(const wg_pool2d_options){.stride = {1, 1}},
     "the kernel along H is 0, must be 1 to 2147483647"},
    {maximum, &(const wg_pool2d_options){.kernel = {2, 7}},
     "max_pool2d(x): along W a kernel of 7 with dilation 1 spans 7, more than the 6 of size 6 and "
     "padding 0"},
    {average, &(const wg_pool2d_options){.kernel = {3, 3}, .padding = {2, 0}},
     "the padding along H is 2, more than half of the kernel of 3"},
    {average, &(const wg_pool2d_options){.kernel = {2, 2}, .stride = {1, -1}},
     "the stride along W is -1"},
    {average, &(const wg_pool2d_options){.kernel = {2, 2}, .dilation = {2, 3}},
     "a mean has no dilation: dilation_h and dilation_w must be 1, not 2 and 3"},
    {maximum, &(const wg_pool2d_options){.kernel = {2, 2}, .padding = {1, 0}, .dilation = {6, 1}},
     "along H a dilation of 6 steps over the size 5"},
    {maximum, &(const wg_pool2d_options){.kernel = {INT64_MAX, 1}},
     "the kernel along H is 9223372036854775807"},
    {average_of_all, &(const wg_shape){4, {1, 2, 0, 6}}, "the kernel along H is 0"},
    {average_of_all, &(const wg_shape){3, {1, 2, 6}}, "x is [1,2,6] of rank 3, must be of rank 4"},
};

static void wrong_geometry_is_refused_with_its_numbers(void **state)
{
    (void)state;
    small_refuse_all(refusals, WG_COUNT(refusals));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pooling_and_its_gradient_are_their_definitions),
        cmocka_unit_test(gather_and_scatter_are_adjoint),
        cmocka_unit_test(an_index_outside_its_plane_ends_the_run),
        cmocka_unit_test(a_maximum_keeps_nan_and_infinities),
        cmocka_unit_test(one_dimension_and_whole_planes),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(wrong_geometry_is_refused_with_its_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
