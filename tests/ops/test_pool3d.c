/* Pooling of volumes and to a size, against their definitions; refusals. */
#include "tests/small.h"
#include "wengert/autograd/grad.h"

#include <math.h>

/* Of one axis: places of x, the window's taps and its first place. */
typedef struct window {
    int64_t size, taps, dilation, first;
} window;

typedef struct sums {
    double largest, sum;
    int64_t inside;
} sums;

/* What a window of volume x [D, H, W] holds. */
static sums sums_of(const double *x, const window w[3])
{
    sums s = {-INFINITY, 0, 0};
    for (int64_t t = 0; t < w[0].taps * w[1].taps * w[2].taps; t++) {
        int64_t tap[3] = {t / w[2].taps / w[1].taps, t / w[2].taps % w[1].taps, t % w[2].taps};
        int64_t at = 0;
        bool inside = true;
        for (int k = 0; k < 3; k++) {
            int64_t i = w[k].first + tap[k] * w[k].dilation;
            inside &= i >= 0 && i < w[k].size;
            at = at * w[k].size + i;
        }
        if (!inside)
            continue;
        s.largest = fmax(s.largest, x[at]);
        s.sum += x[at];
        s.inside++;
    }
    return s;
}

typedef struct geometry {
    const char *name;
    int64_t size[3];
    wg_pool3d_options o;
} geometry;

static const geometry geometries[] = {
    {"halves", {4, 6, 2}, {.kernel = {2, 2, 2}}},
    {"overlap", {4, 3, 5}, {.kernel = {3, 2, 3}, .stride = {1, 1, 2}, .padding = {1, 1, 1}}},
    {"rest", {5, 7, 4}, {.kernel = {2, 3, 1}, .stride = {2, 2, 3}}},
    {"one window", {2, 3, 4}, {.kernel = {2, 3, 4}}},
    {"kernel over input", {1, 2, 3}, {.kernel = {2, 4, 5}, .padding = {1, 2, 2}}},
    {"dilated", {7, 4, 5}, {.kernel = {3, 2, 2}, .stride = {1, 1, 1}, .dilation = {3, 1, 2}}},
};

static double numbers[SMALL_MAX];

/* A maximum and both means; returns how many numbers were compared. */
static int64_t pooled_as_defined(const geometry *t)
{
    enum { BATCH = 2, CHANNELS = 2 };
    const int64_t *size = t->size, volume = size[0] * size[1] * size[2];
    bool dilated = t->o.dilation[0] > 1;
    uint64_t seed = 3;
    wg_graph *g = wg_graph_new();
    wg_value *x = small_constant(g, WG_F64, WG_SHAPE(BATCH, CHANNELS, size[0], size[1], size[2]),
                                 &seed, numbers);
    wg_pool3d_options exclude = t->o;
    exclude.exclude_padding = true;
    wg_value *y[3] = {wg_max_pool3d(x, &t->o), NULL, NULL};
    if (!dilated) {
        y[1] = wg_avg_pool3d(x, &t->o);
        y[2] = wg_avg_pool3d(x, &exclude);
    }
    check_that(y[0] && (dilated || y[2]), "%s: %s", t->name, wg_graph_message(g));
    wg_plan *p = small_run(g, y, dilated ? 1 : 3, 1);
    const int64_t *to = y[0]->shape.dim + 2, count = to[0] * to[1] * to[2];
    for (int64_t i = 0; i < BATCH * CHANNELS * count; i++) {
        int64_t at[3] = {i % count / (to[1] * to[2]), i / to[2] % to[1], i % to[2]};
        window w[3];
        for (int k = 0; k < 3; k++) {
            int64_t stride = t->o.stride[k] ? t->o.stride[k] : t->o.kernel[k];
            w[k] = (window){size[k], t->o.kernel[k], t->o.dilation[k] ? t->o.dilation[k] : 1,
                            at[k] * stride - t->o.padding[k]};
        }
        sums s = sums_of(numbers + i / count * volume, w);
        double taps = (double)(w[0].taps * w[1].taps * w[2].taps);
        double expected[3] = {s.largest, s.sum / taps, s.sum / (double)s.inside};
        for (int k = 0; k < (dilated ? 1 : 3); k++)
            check_that(fabs(small_at(p, y[k], i) - expected[k]) <= 1e-14,
                       "%s: result %d is %.17g at %lld, not %.17g", t->name, k,
                       small_at(p, y[k], i), (long long)i, expected[k]);
    }
    wg_plan_free(p);
    wg_graph_free(g);
    return BATCH * CHANNELS * count * (dilated ? 1 : 3);
}

static void volumes_are_pooled_as_defined(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int i = 0; i < WG_COUNT(geometries); i++)
        compared += pooled_as_defined(&geometries[i]);
    assert_true(compared > 500);
}

/* Planes of H x W by P x Q windows: fewer than elements, as many, more, dividing or not. */
static int64_t adapted_as_defined(int64_t H, int64_t W, int64_t P, int64_t Q)
{
    enum { PLANES = 3 };
    uint64_t seed = 4;
    wg_graph *g = wg_graph_new();
    wg_value *x = small_constant(g, WG_F64, WG_SHAPE(1, PLANES, H, W), &seed, numbers);
    wg_value *y[2] = {wg_adaptive_max_pool2d(x, P, Q), wg_adaptive_avg_pool2d(x, P, Q)};
    check_that(y[0] && y[1], "%s", wg_graph_message(g));
    assert_int_equal(wg_value_count(y[0]), PLANES * P * Q);
    wg_plan *p = small_run(g, y, 2, 1);
    for (int64_t i = 0; i < PLANES * P * Q; i++) {
        int64_t r = i / Q % P, c = i % Q, top = r * H / P, left = c * W / Q;
        const window w[3] = {{1, 1, 1, 0},
                             {H, ((r + 1) * H + P - 1) / P - top, 1, top},
                             {W, ((c + 1) * W + Q - 1) / Q - left, 1, left}};
        sums s = sums_of(numbers + i / (P * Q) * H * W, w);
        double expected[2] = {s.largest, s.sum / (double)s.inside};
        for (int k = 0; k < 2; k++)
            check_that(fabs(small_at(p, y[k], i) - expected[k]) <= 1e-14,
                       "%lldx%lld to %lldx%lld: result %d is %.17g at %lld, not %.17g",
                       (long long)H, (long long)W, (long long)P, (long long)Q, k,
                       small_at(p, y[k], i), (long long)i, expected[k]);
    }
    wg_plan_free(p);
    wg_graph_free(g);
    return 2 * PLANES * P * Q;
}

static void windows_of_a_given_number_cover_the_plane(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int64_t P = 1; P <= 7; P++)
        compared += adapted_as_defined(5, 7, P, 8 - P) + adapted_as_defined(4, 6, P, P);
    assert_true(compared > 700);
}

/* Two windows of three elements share the one in the middle. */
static void overlapping_windows_add_up_in_the_gradient(void **state)
{
    (void)state;
    static const double ones[2] = {1, 1}, expected[3] = {0.5, 1, 0.5};
    uint64_t seed = 5;
    wg_graph *g = wg_graph_new();
    wg_value *x = small_constant(g, WG_F64, WG_SHAPE(1, 1, 1, 3), &seed, NULL), *dx;
    wg_value *y = wg_adaptive_avg_pool2d(x, 1, 2);
    wg_value *dy = wg_constant(g, WG_F64, WG_SHAPE(1, 1, 1, 2), ones);
    assert_int_equal(wg_vjp(&y, &dy, 1, &x, 1, NULL, &dx), WG_OK);
    wg_plan *p = small_run(g, &dx, 1, 1);
    for (int i = 0; i < 3; i++)
        check_that(fabs(small_at(p, dx, i) - expected[i]) <= 1e-15, "dx[%d] is %g", i,
                   small_at(p, dx, i));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static wg_value *maximum(wg_graph *g, const void *options)
{
    return wg_max_pool3d(wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 4, 5, 6)), options);
}

static wg_value *average(wg_graph *g, const void *options)
{
    return wg_avg_pool3d(wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 4, 5, 6)), options);
}

static wg_value *of_a_plane(wg_graph *g, const void *options)
{
    return wg_avg_pool3d(wg_input(g, "x", WG_F32, WG_SHAPE(2, 4, 5, 6)), options);
}

static wg_value *to_size(wg_graph *g, const void *size)
{
    const int64_t *to = size;
    return wg_adaptive_max_pool2d(wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 5, 6)), to[0], to[1]);
}

static wg_value *nothing_to_size(wg_graph *g, const void *shape)
{
    return wg_adaptive_avg_pool2d(wg_input(g, "x", WG_F32, *(const wg_shape *)shape), 2, 2);
}

static const small_refusal refusals[] = {
    {maximum, &(const wg_pool3d_options){.kernel = {5, 1, 1}},
     "max_pool3d(x): along D a kernel of 5 with dilation 1 spans 5, more than the 4 of size 4"},
    {maximum, &(const wg_pool3d_options){.kernel = {2, 2}},
     "the kernel along W is 0, must be 1 to 2147483647"},
    {average, &(const wg_pool3d_options){.kernel = {2, 2, 2}, .padding = {0, 2, 0}},
     "the padding along H is 2, more than half of the kernel of 2"},
    {average, &(const wg_pool3d_options){.kernel = {2, 2, 2}, .dilation = {1, 2, 1}},
     "avg_pool3d(x): a mean has no dilation: it must be 1, not 1, 2 and 1"},
    {of_a_plane, &(const wg_pool3d_options){.kernel = {2, 2, 2}},
     "x is [2,4,5,6] of rank 4, must be of rank 5"},
    {to_size, (const int64_t[]){3, 0},
     "adaptive_max_pool2d: 3 x 0 windows, must be 1 to 65536 each"},
    {nothing_to_size, &(const wg_shape){4, {1, 2, 0, 6}},
     "adaptive_avg_pool2d: x has shape [1,2,0,6], must be [N, C, H, W] with H and W at least 1"},
    {nothing_to_size, &(const wg_shape){3, {2, 5, 6}}, "x has shape [2,5,6]"},
};

static void wrong_windows_are_refused_with_their_numbers(void **state)
{
    (void)state;
    small_refuse_all(refusals, WG_COUNT(refusals));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_are_pooled_as_defined),
        cmocka_unit_test(windows_of_a_given_number_cover_the_plane),
        cmocka_unit_test(overlapping_windows_add_up_in_the_gradient),
        cmocka_unit_test(wrong_windows_are_refused_with_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
