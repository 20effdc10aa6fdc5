/* Planes in other sizes by the simd backend against the reference: every mode, up and down, an
 * infinity here and there, which must not reach others; on one thread and on three. */
#include "tests/plans.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/ops.h"

#include <math.h>

typedef struct way {
    const char *name;
    wg_upsample_mode mode;
    bool align_corners;
} way;

static const way ways[] = {
    {"nearest", WG_NEAREST, false},
    {"bilinear", WG_BILINEAR, false},
    {"bilinear with aligned corners", WG_BILINEAR, true},
    {"bicubic", WG_BICUBIC, false},
    {"bicubic with aligned corners", WG_BICUBIC, true},
};

static uint64_t seed = 5;
static int by_simd; /* graphs that it has taken */

static int64_t draw(int64_t count)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)count);
}

static double at(wg_plan *p, const wg_value *v, int64_t i)
{
    return (double)((const float *)wg_plan_data(p, v))[i];
}

static void fill(wg_plan *p, const wg_value *v, bool infinite)
{
    for (int64_t i = 0; i < wg_value_count(v); i++) {
        float number = infinite && i % 89 == 7 ? INFINITY : (float)(i * 37 % 101) / 25 - 2;
        wg_plan_f32(p, v)[i] = number;
    }
}

/* A sum of n numbers of about 2 in any order. */
static double tolerance_of(double n)
{
    return 1e-6 * (4 + n);
}

static int64_t compare(const way *w, wg_graph *g, wg_value *x, wg_value *y, double terms)
{
    const wg_backend *const simd[] = {wg_simd_backend()};
    int64_t compared = 0;
    wg_plan *p[3] = {
        plan_of(g, &(wg_plan_options){.reference = true}),
        plan_of(g, &(wg_plan_options){.backends = simd, .n_backends = 1, .threads = 1}),
        plan_of(g, &(wg_plan_options){.backends = simd, .n_backends = 1, .threads = 3})};
    wg_plan_step step = wg_plan_step_at(p[1], 0);
    if (strcmp(step.backend, "simd") != 0)
        assert_non_null(strstr(step.refused, "simd: many taps"));
    else
        by_simd++;
    for (int infinite = 0; infinite < 2; infinite++) {
        for (int i = 0; i < 3; i++) {
            fill(p[i], x, infinite);
            run(p[i], 0);
        }
        for (int64_t i = 0; i < wg_value_count(y); i++, compared++) {
            double a = at(p[0], y, i), b = at(p[1], y, i), c = at(p[2], y, i);
            bool equal = a == b || (isnan(a) && isnan(b));
            check_that(equal || fabs(a - b) <= tolerance_of(terms),
                       "%s %s [%lld,%lld] to [%lld,%lld], number %lld: %.17g by the reference, "
                       "%.17g by simd",
                       y->node->op->name, w->name, (long long)x->shape.dim[2],
                       (long long)x->shape.dim[3], (long long)y->shape.dim[2],
                       (long long)y->shape.dim[3], (long long)i, a, b);
            assert_true(b == c || (isnan(b) && isnan(c)));
        }
    }
    for (int i = 0; i < 3; i++)
        wg_plan_free(p[i]);
    return compared;
}

/* Both ops from x [planes, 1, h, w] to height and width */
static int64_t check(const way *w, wg_shape x_shape, int64_t height, int64_t width)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, x_shape);
    const wg_upsample2d_options o = {
        .mode = w->mode, .align_corners = w->align_corners, .size = {height, width}};
    int64_t compared = compare(w, g, x, wg_output(wg_upsample2d(x, &o), "y"), 4);
    wg_graph_free(g);
    g = wg_graph_new();
    x = wg_input(g, "dy", WG_F32, x_shape);
    const wg_upsample_attrs back = {
        .mode = w->mode, .align_corners = w->align_corners, .height = height, .width = width};
    double each = (double)(x_shape.dim[2] * x_shape.dim[3]) / (double)(height * width);
    compared += compare(w, g, x, wg_output(wg_upsample2d_grad(x, &back), "dx"), 4 * each);
    wg_graph_free(g);
    return compared;
}

static void sizes_are_drawn(void **state)
{
    (void)state;
    enum { CASES = 60 };
    int64_t compared = 0;
    for (int i = 0; i < CASES; i++)
        for (int k = 0; k < WG_COUNT(ways); k++) {
            wg_shape x = WG_SHAPE(1 + draw(3), 1 + draw(2), 1 + draw(40), 1 + draw(70));
            compared += check(&ways[k], x, 1 + draw(90), 1 + draw(70));
        }
    assert_true(compared > 1000000 && by_simd > 200);
}

/* One axis keeps its size: as of signals, and of volumes along their depth */
static void an_axis_stays(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int k = 0; k < WG_COUNT(ways); k++)
        for (int64_t to = 1; to <= 90; to += 1 + to / 3) {
            compared += check(&ways[k], WG_SHAPE(2, 3, 17, 29), to, 29);
            compared += check(&ways[k], WG_SHAPE(2, 3, 17, 29), 17, to);
            compared += check(&ways[k], WG_SHAPE(2, 3, 1, 29), 1, to);
        }
    assert_true(compared > 500000);
}

/* Planes that are divided among threads, and the sizes of networks */
static void whole_factors(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int k = 0; k < WG_COUNT(ways); k++)
        for (int64_t factor = 2; factor <= 8; factor *= 2) {
            compared += check(&ways[k], WG_SHAPE(1, 3, 40, 33), factor * 40, factor * 33);
            compared += check(&ways[k], WG_SHAPE(1, 2, 96, 64), 96 / factor, 64 / factor);
        }
    assert_true(compared > 500000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_drawn),
        cmocka_unit_test(an_axis_stays),
        cmocka_unit_test(whole_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
