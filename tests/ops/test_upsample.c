/* Upsampling: rows and planes worked out by hand, adjoints, refusals. */
#include "tests/small.h"
#include "wengert/autograd/grad.h"

#include <math.h>

static void check_close(const char *what, wg_plan *p, const wg_value *v, const double *expected,
                        int64_t count)
{
    assert_int_equal(wg_value_count(v), count);
    for (int64_t i = 0; i < count; i++)
        check_that(fabs(small_at(p, v, i) - expected[i]) <= 1e-14,
                   "%s[%lld] is %.17g, expected %.17g", what, (long long)i, small_at(p, v, i),
                   expected[i]);
}

/* One row 0, 4, 8 (or as given) to another length. */
static void row_becomes(const char *what, wg_upsample2d_options o, int64_t from, const double *x,
                        int64_t to, const double *expected)
{
    wg_graph *g = wg_graph_new();
    o.size[0] = 1;
    o.size[1] = to;
    wg_value *y = wg_upsample2d(wg_constant(g, WG_F64, WG_SHAPE(1, 1, 1, from), x), &o);
    check_that(y, "%s: %s", what, wg_graph_message(g));
    wg_plan *p = small_run(g, &y, 1, 1);
    check_close(what, p, y, expected, to);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void rows_by_hand(void **state)
{
    (void)state;
    const double x[] = {0, 4, 8};
    wg_upsample2d_options nearest = {.mode = WG_NEAREST}, bilinear = {.mode = WG_BILINEAR},
                          aligned = {.mode = WG_BILINEAR, .align_corners = true};
    row_becomes("nearest 6", nearest, 3, x, 6, (double[]){0, 0, 4, 4, 8, 8});
    row_becomes("nearest 5", nearest, 3, x, 5, (double[]){0, 0, 4, 4, 8});
    row_becomes("nearest 2", nearest, 3, x, 2, (double[]){0, 4});
    row_becomes("nearest 1", nearest, 3, x, 1, (double[]){0});
    row_becomes("bilinear 6", bilinear, 3, x, 6, (double[]){0, 1, 3, 5, 7, 8});
    row_becomes("bilinear 3", bilinear, 3, x, 3, (double[]){0, 4, 8});
    row_becomes("bilinear 1", bilinear, 3, x, 1, (double[]){4});
    row_becomes("bilinear 2", bilinear, 3, x, 2, (double[]){1, 7});
    row_becomes("aligned 5", aligned, 3, x, 5, (double[]){0, 2, 4, 6, 8});
    row_becomes("aligned 4", aligned, 3, x, 4, (double[]){0, 8.0 / 3, 16.0 / 3, 8});
    row_becomes("aligned 2", aligned, 3, x, 2, (double[]){0, 8});
    row_becomes("aligned 1", aligned, 3, x, 1, (double[]){0});
    wg_upsample2d_options cubic = {.mode = WG_BICUBIC},
                          ends = {.mode = WG_BICUBIC, .align_corners = true};
    row_becomes("cubic 3", cubic, 3, x, 3, (double[]){0, 4, 8});
    row_becomes("cubic 1", cubic, 3, x, 1, (double[]){4});
    row_becomes("cubic, aligned 3", ends, 3, x, 3, (double[]){0, 4, 8});
    /* between 0 and 4, all four of 0, 0, 4, 8 count, half way with -3/32, 19/32, 19/32, -3/32 */
    row_becomes("cubic, aligned 5", ends, 3, x, 5, (double[]){0, 1.625, 4, 6.375, 8});
    row_becomes("cubic from one", cubic, 1, x + 1, 3, (double[]){4, 4, 4});
    row_becomes("from one", bilinear, 1, x + 1, 3, (double[]){4, 4, 4});
    row_becomes("from one, aligned", aligned, 1, x + 1, 3, (double[]){4, 4, 4});
}

/* The product of both axes: [[0, 4], [8, 20]] doubled, with centres matched and with corners
 * aligned. */
static void planes_by_hand(void **state)
{
    (void)state;
    const double x[] = {0, 4, 8, 20};
    wg_graph *g = wg_graph_new();
    wg_value *v = wg_constant(g, WG_F64, WG_SHAPE(1, 1, 2, 2), x);
    wg_value *wanted[] = {
        wg_upsample2d(v, &(wg_upsample2d_options){.mode = WG_BILINEAR, .scale = {2, 2}}),
        wg_upsample2d(
            v,
            &(wg_upsample2d_options){.mode = WG_BILINEAR, .align_corners = true, .size = {3, 3}}),
        wg_upsample2d(v, &(wg_upsample2d_options){.scale = {1.5, 2}}),
    };
    wg_plan *p = small_run(g, wanted, 3, 1);
    check_close("bilinear", p, wanted[0],
                (double[]){0, 1, 3, 4, 2, 3.5, 6.5, 8, 6, 8.5, 13.5, 16, 8, 11, 17, 20}, 16);
    check_close("aligned", p, wanted[1], (double[]){0, 2, 4, 4, 8, 12, 8, 14, 20}, 9);
    check_close("nearest", p, wanted[2], (double[]){0, 0, 4, 4, 0, 0, 4, 4, 8, 8, 20, 20}, 12);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* <up(x), dy> = <x, grad(dy)>; the gradient of each is the other; ones stay ones. */
static void both_directions_are_adjoint(void **state)
{
    (void)state;
    static const struct {
        wg_upsample_mode mode;
        bool align;
    } kinds[] = {{WG_NEAREST, false},
                 {WG_BILINEAR, false},
                 {WG_BILINEAR, true},
                 {WG_BICUBIC, false},
                 {WG_BICUBIC, true}};
    static const int64_t sizes[][4] = {{2, 3, 4, 6}, {3, 3, 7, 5}, {5, 4, 2, 9}, {1, 1, 3, 1},
                                       {7, 2, 1, 1}, {4, 4, 4, 4}, {1, 6, 2, 4}};
    for (int k = 0; k < WG_COUNT(kinds); k++)
        for (int i = 0; i < WG_COUNT(sizes); i++) {
            const int64_t *s = sizes[i];
            uint64_t seed = 1 + (uint64_t)i;
            wg_graph *g = wg_graph_new();
            wg_value *x = small_constant(g, WG_F64, WG_SHAPE(2, 3, s[0], s[1]), &seed, NULL);
            wg_value *dy = small_constant(g, WG_F64, WG_SHAPE(2, 3, s[2], s[3]), &seed, NULL);
            wg_upsample2d_options o = {
                .mode = kinds[k].mode, .align_corners = kinds[k].align, .size = {s[2], s[3]}};
            wg_value *y = wg_upsample2d(x, &o), *dx, *ddy;
            check_that(y, "%s", wg_graph_message(g));
            assert_int_equal(wg_vjp(&y, &dy, 1, &x, 1, NULL, &dx), WG_OK);
            assert_int_equal(wg_vjp(&dx, &x, 1, &dy, 1, NULL, &ddy), WG_OK);
            wg_value *ones = wg_upsample2d(wg_fill(g, WG_F64, x->shape, 1), &o);
            wg_value *wanted[] = {wg_sum(wg_mul(y, dy), WG_ALL_AXES, WG_DROP),
                                  wg_sum(wg_mul(dx, x), WG_ALL_AXES, WG_DROP), y, ddy, ones};
            wg_plan *p = small_run(g, wanted, 5, 1);
            double a = small_at(p, wanted[0], 0), b = small_at(p, wanted[1], 0);
            check_that(fabs(a - b) <= 1e-12, "kind %d, sizes %d: %.17g and %.17g", k, i, a, b);
            small_equal("ddy", p, ddy, wg_plan_data(p, y), wg_value_count(y));
            for (int64_t e = 0; e < wg_value_count(ones); e++)
                check_that(fabs(small_at(p, ones, e) - 1) <= 1e-15, "ones became %.17g",
                           small_at(p, ones, e));
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    uint64_t seed = 6;
    wg_graph *g = wg_graph_new();
    wg_value *x = small_constant(g, WG_F32, WG_SHAPE(2, 3, 17, 19), &seed, NULL);
    wg_value *y[2] = {
        wg_upsample2d(wg_exp(x), &(wg_upsample2d_options){.mode = WG_BILINEAR, .size = {40, 47}})};
    wg_value *dy = wg_tanh(y[0]);
    assert_int_equal(wg_vjp(y, &dy, 1, &x, 1, NULL, y + 1), WG_OK);
    wg_plan *one = small_run(g, y, 2, 1);
    for (int threads = 2; threads <= 5; threads++) {
        wg_plan *p = small_run(g, y, 2, threads);
        for (int i = 0; i < 2; i++)
            check_that(
                memcmp(wg_plan_data(one, y[i]), wg_plan_data(p, y[i]), wg_value_bytes(y[i])) == 0,
                "result %d differs at %d threads", i, threads);
        wg_plan_free(p);
    }
    wg_plan_free(one);
    wg_graph_free(g);
}

/* Of signals and volumes: rows by hand, the product of all axes in either order, a NaN that stays
 * where it is along an axis that keeps its size. */
static void signals_and_volumes(void **state)
{
    (void)state;
    const double row[] = {0, 4, 8}, cube[] = {0, 4, 8, 20, 1, 5, 9, NAN};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(1, 1, 3), row);
    wg_value *v = wg_constant(g, WG_F64, WG_SHAPE(1, 1, 2, 2, 2), cube);
    wg_value *far = wg_iota(g, WG_F64, WG_SHAPE(1, 1, 2, 3, 4), 4, 0, 1);
    wg_value *wanted[] = {
        wg_upsample1d(x, &(wg_upsample1d_options){.mode = WG_LINEAR, .scale = 2}),
        wg_upsample1d(x, &(wg_upsample1d_options){.size = 5}),
        wg_upsample3d(v, &(wg_upsample3d_options){.mode = WG_LINEAR, .size = {4, 2, 2}}),
        wg_upsample3d(v, &(wg_upsample3d_options){.size = {1, 2, 3}}),
        wg_upsample3d(far, &(wg_upsample3d_options){WG_LINEAR, true, {3, 5, 7}, {0}}),
        wg_upsample3d(far, &(wg_upsample3d_options){WG_CUBIC, true, {3, 2, 2}, {0}}),
    };
    wg_plan *p = small_run(g, wanted, WG_COUNT(wanted), 1);
    check_close("linear", p, wanted[0], (double[]){0, 1, 3, 5, 7, 8}, 6);
    check_close("nearest", p, wanted[1], (double[]){0, 0, 4, 4, 8}, 5);
    for (int i = 0; i < 16; i++) {
        double t = (double[]){0, 0.25, 0.75, 1}[i / 4], y = small_at(p, wanted[2], i);
        double expected = i % 4 < 3 ? cube[i % 4] + t : NAN;
        check_that(isnan(expected) ? isnan(y) : fabs(y - expected) <= 1e-14, "%d: %g, not %g", i, y,
                   expected);
    }
    check_close("nearest volume", p, wanted[3], (double[]){0, 0, 4, 8, 8, 20}, 6);
    for (int i = 0; i < 3 * 5 * 7; i++) /* numbers that grow evenly along W stay so */
        check_that(fabs(small_at(p, wanted[4], i) - (i % 7) * 0.5) <= 1e-14, "%d: %g", i,
                   small_at(p, wanted[4], i));
    for (int i = 0; i < 3 * 2 * 2; i++)
        check_that(fabs(small_at(p, wanted[5], i) - (i % 2) * 3) <= 1e-14, "%d: %g", i,
                   small_at(p, wanted[5], i));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- refusals -------------------------------------------------------------------------------- */

typedef struct upsampling {
    wg_shape shape;
    wg_upsample2d_options o;
} upsampling;

static wg_value *upsample(wg_graph *g, const void *arguments)
{
    const upsampling *u = arguments;
    return wg_upsample2d(wg_input(g, "x", WG_F32, u->shape), &u->o);
}

static wg_value *upsample_signal(wg_graph *g, const void *options)
{
    return wg_upsample1d(wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 6)), options);
}

static wg_value *upsample_volume(wg_graph *g, const void *options)
{
    return wg_upsample3d(wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 3, 4, 5)), options);
}

#define X                                                                                          \
    {                                                                                              \
        4,                                                                                         \
        {                                                                                          \
            1, 2, 3, 4                                                                             \
        }                                                                                          \
    }
static const small_refusal refusals[] = {
    {upsample, &(const upsampling){X, {.mode = WG_NEAREST}},
     "upsample2d: neither a size nor a scale is given for H"},
    {upsample, &(const upsampling){X, {.size = {3, -4}}}, "width is -4"},
    {upsample, &(const upsampling){X, {.scale = {2, NAN}}},
     "a scale of nan makes nan of 4 along W, must be 1 to 2147483647"},
    {upsample, &(const upsampling){X, {.scale = {1e300, 2}}},
     "a scale of 1e+300 makes 3e+300 of 3"},
    {upsample, &(const upsampling){X, {.size = {INT64_MAX, 2}}}, "height is 9223372036854775807"},
    {upsample, &(const upsampling){X, {.size = {2, 2}, .align_corners = true}},
     "corners cannot be aligned in mode nearest"},
    {upsample_signal, &(const wg_upsample1d_options){.mode = WG_LINEAR},
     "upsample1d: neither a size nor a scale is given for L"},
    {upsample_signal, &(const wg_upsample1d_options){.size = -1}, "size is -1, must be 1 to"},
    {upsample_volume, &(const wg_upsample3d_options){.size = {2, 2, 0}, .scale = {0, 0, 0.1}},
     "upsample3d: a scale of 0.1 makes 0.5 of 5 along W, must be 1 to 2147483647"},
    {upsample_volume, &(const wg_upsample3d_options){.size = {-2, 2, 2}}, "depth is -2"},
    {upsample_volume, &(const wg_upsample3d_options){.size = {2, 2, 2}, .align_corners = true},
     "corners cannot be aligned in mode nearest"},
    {upsample, &(const upsampling){{4, {1, 2, 0, 4}}, {.size = {2, 2}}},
     "the operand's height is 0"},
    {upsample, &(const upsampling){{3, {2, 3, 4}}, {.size = {2, 2}}},
     "x is [2,3,4] of rank 3, must be of rank 4"},
};

static void wrong_sizes_are_refused(void **state)
{
    (void)state;
    small_refuse_all(refusals, WG_COUNT(refusals));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_by_hand),
        cmocka_unit_test(planes_by_hand),
        cmocka_unit_test(signals_and_volumes),
        cmocka_unit_test(both_directions_are_adjoint),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(wrong_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
