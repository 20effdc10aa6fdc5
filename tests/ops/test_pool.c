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

/* Volumes of whole numbers against loops: maxima exactly, means closely; a NaN in one of them. */
static void volumes_are_pooled_as_defined(void **state)
{
    (void)state;
    enum { D = 5, H = 4, W = 6, K = 3, STRIDE = 2, PADDING = 1, COUNT = D * H * W };
    uint64_t seed = 7;
    wg_graph *g = wg_graph_new();
    double x_of[2 * COUNT];
    small_constant(g, WG_F64, WG_SHAPE(2, 1, D, H, W), &seed, x_of);
    x_of[COUNT + 40] = NAN;
    wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(2, 1, D, H, W), x_of);
    wg_pool3d_options o = {.kernel = {K, K, K},
                           .stride = {STRIDE, STRIDE, STRIDE},
                           .padding = {PADDING, PADDING, PADDING}};
    wg_value *wanted[] = {wg_max_pool3d(x, &o), wg_avg_pool3d(x, &o), wg_global_max_pool3d(x),
                          wg_global_avg_pool3d(x)};
    wg_plan *p = small_run(g, wanted, 4, 1);
    const int64_t *to = wanted[0]->shape.dim;
    assert_int_equal(wg_value_count(wanted[0]), 2 * 3 * 2 * 3);
    for (int64_t i = 0; i < wg_value_count(wanted[0]); i++) {
        int64_t w = i % to[4], h = i / to[4] % to[3], d = i / to[4] / to[3] % to[2],
                b = i / to[4] / to[3] / to[2];
        double most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < K * K * K; k++) {
            int64_t z = d * STRIDE - PADDING + k / K / K, y = h * STRIDE - PADDING + k / K % K,
                    q = w * STRIDE - PADDING + k % K;
            if (z < 0 || z >= D || y < 0 || y >= H || q < 0 || q >= W)
                continue;
            double v = x_of[((b * D + z) * H + y) * W + q];
            most = v > most || isnan(v) ? v : most;
            sum += v;
        }
        double max = small_at(p, wanted[0], i), mean = small_at(p, wanted[1], i);
        assert_true(isnan(sum) ? isnan(max) : max == most);
        assert_true(isnan(sum) ? isnan(mean) : fabs(mean - sum / (K * K * K)) <= 1e-14);
    }
    double largest = -INFINITY, total = 0;
    for (int k = 0; k < COUNT; k++) {
        largest = fmax(largest, x_of[k]);
        total += x_of[k];
    }
    assert_true(small_at(p, wanted[2], 0) == largest && isnan(small_at(p, wanted[2], 1)));
    assert_true(fabs(small_at(p, wanted[3], 0) - total / COUNT) <= 1e-14);
    assert_true(isnan(small_at(p, wanted[3], 1)) && wanted[3]->shape.rank == 5);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Windows [floor(i n / m), ceil((i + 1) n / m)) of a row, for every m up to twice n; an infinity
 * and a NaN reach their own windows only. */
static void adaptive_windows_are_their_definition(void **state)
{
    (void)state;
    int64_t compared = 0;
    const double row[] = {3, -1, 4, INFINITY, 5, -9, 2, NAN, 6, -5, 3};
    for (int64_t n = 1; n <= WG_COUNT(row); n++)
        for (int64_t m = 1; m <= 2 * n; m++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(1, 1, n), row);
            wg_value *plane = wg_reshape(x, WG_SHAPE(1, 1, n, 1));
            wg_value *wanted[] = {wg_adaptive_max_pool1d(x, m), wg_adaptive_avg_pool1d(x, m),
                                  wg_adaptive_avg_pool2d(plane, m, 1)};
            check_that(wanted[0], "%s", wg_graph_message(g));
            wg_plan *p = small_run(g, wanted, 3, 1);
            for (int64_t i = 0; i < m; i++, compared++) {
                int64_t begin = i * n / m, end = ((i + 1) * n + m - 1) / m;
                double most = row[begin], sum = 0;
                for (int64_t k = begin; k < end; k++) {
                    most = row[k] > most || isnan(row[k]) ? row[k] : most;
                    sum += row[k];
                }
                double mean = sum / (double)(end - begin), is[3];
                for (int k = 0; k < 3; k++)
                    is[k] = small_at(p, wanted[k], i);
                bool right = isnan(most) ? isnan(is[0]) : is[0] == most;
                for (int k = 1; k < 3; k++)
                    right &= isnan(mean)   ? isnan(is[k])
                             : isinf(mean) ? is[k] == mean
                                           : fabs(is[k] - mean) <= 1e-15 * 8;
                check_that(right, "window %d of %d from %d: %g and %g", (int)i, (int)m, (int)n,
                           is[0], is[1]);
            }
            wg_plan_free(p);
            wg_graph_free(g);
        }
    assert_true(compared > 500);
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

static wg_value *volumes(wg_graph *g, const void *options)
{
    return wg_max_pool3d(wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 4, 5, 6)), options);
}

static wg_value *means_of_volumes(wg_graph *g, const void *options)
{
    return wg_avg_pool3d(wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 4, 5, 6)), options);
}

static wg_value *adaptive_plane(wg_graph *g, const void *size)
{
    const int64_t *to = size;
    return wg_adaptive_avg_pool2d(wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 5, 6)), to[0], to[1]);
}

static wg_value *adaptive_of_shape(wg_graph *g, const void *shape)
{
    return wg_adaptive_max_pool2d(wg_input(g, "x", WG_F32, *(const wg_shape *)shape), 2, 3);
}

static wg_value *adaptive_of_integers(wg_graph *g, const void *unused)
{
    (void)unused;
    return wg_adaptive_max_pool1d(wg_input(g, "x", WG_I32, WG_SHAPE(1, 2, 5)), 2);
}

static const small_refusal refusals[] = {
    {volumes, &(const wg_pool3d_options){.kernel = {5, 2, 2}},
     "max_pool3d(x): along D a kernel of 5 with dilation 1 spans 5, more than the 4 of size 4"},
    {volumes, &(const wg_pool3d_options){.kernel = {2, 2, 2}, .padding = {2, 0, 0}},
     "the padding along D is 2, more than half of the kernel of 2"},
    {volumes, &(const wg_pool3d_options){.kernel = {2, 2, 7}}, "along W a kernel of 7"},
    {means_of_volumes, &(const wg_pool3d_options){.kernel = {2, 2, 2}, .dilation = {2, 1, 1}},
     "a mean has no dilation: dilation_d must be 1, not 2"},
    {maximum, &(const wg_pool2d_options){.kernel = {9, 2}, .stride = {4, 2}, .ceil_mode = true},
     "along H a kernel of 9 with dilation 1 spans 9, more than the 5 of size 5"},
    {adaptive_plane, &(const int64_t[]){0, 3},
     "adaptive_avg_pool2d: the size along H is 0, must be 1 to 2147483647"},
    {adaptive_plane, &(const int64_t[]){2, -3}, "the size along W is -3"},
    {adaptive_of_shape, &(const wg_shape){4, {1, 2, 0, 6}}, "the size of x along H is 0"},
    {adaptive_of_shape, &(const wg_shape){3, {1, 2, 6}},
     "x is [1,2,6] of rank 3, must be of rank 4"},
    {adaptive_of_integers, NULL, "must be"},
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
        cmocka_unit_test(volumes_are_pooled_as_defined),
        cmocka_unit_test(adaptive_windows_are_their_definition),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(wrong_geometry_is_refused_with_its_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
