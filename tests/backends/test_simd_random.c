/* Uniform and normal numbers of the simd backend against the reference's: the same but for the last
 * bits; on one thread and on three, in pieces that are not full. */
#include "tests/plans.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/ops.h"

#include <math.h>

static double number(wg_plan *p, const wg_value *v, int64_t i)
{
    const void *data = wg_plan_data(p, v);
    return v->dtype == WG_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/* Returns how many numbers were compared. */
static int64_t check(bool normal, wg_dtype dtype, int64_t count)
{
    const wg_backend *const simd[] = {wg_simd_backend()};
    const wg_plan_options options[] = {
        {.reference = true, .seed = 3},
        {.backends = simd, .n_backends = 1, .threads = 1, .seed = 3},
        {.backends = simd, .n_backends = 1, .threads = 3, .seed = 3},
    };
    wg_graph *g = wg_graph_new();
    wg_shape shape = WG_SHAPE(count);
    wg_value *y = normal ? wg_normal(g, dtype, shape, -1, 3) : wg_uniform(g, dtype, shape, -1, 2);
    wg_output(y, "y");
    wg_plan *p[WG_COUNT(options)];
    for (int k = 0; k < WG_COUNT(options); k++) {
        p[k] = plan_of(g, &options[k]);
        run(p[k], 5);
    }
    assert_string_equal(wg_plan_step_at(p[1], 0).backend, "simd");
    /* in f32 one unit in the last place, since both are rounded from double; in f64 as measured */
    double epsilon = dtype == WG_F64 ? 0x1p-52 : 0x1p-23;
    double most = dtype == WG_F64 ? (normal ? 20 : 2) : normal ? 8 : 1;
    for (int64_t i = 0; i < count; i++) {
        double wanted = number(p[0], y, i), got = number(p[1], y, i);
        check_that(fabs(got - wanted) <= most * epsilon, "%s %lld of %lld: %.17g, expected %.17g",
                   normal ? "normal" : "uniform", (long long)i, (long long)count, got, wanted);
        assert_true(number(p[2], y, i) == got);
    }
    for (int k = 0; k < WG_COUNT(options); k++)
        wg_plan_free(p[k]);
    wg_graph_free(g);
    return count;
}

static void numbers_are_the_reference_s(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, 2, 3, 4, 5, 31, 1023, 1024, 1025, 4099, 100003};
    int64_t compared = 0;
    for (int i = 0; i < WG_COUNT(counts); i++)
        for (int d = 0; d < 2; d++)
            for (int normal = 0; normal < 2; normal++)
                compared += check(normal, d ? WG_F64 : WG_F32, counts[i]);
    assert_true(compared > 400000);
}

static void nothing_is_drawn_for_an_empty_tensor(void **state)
{
    (void)state;
    assert_int_equal(check(true, WG_F32, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_the_reference_s),
        cmocka_unit_test(nothing_is_drawn_for_an_empty_tensor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
