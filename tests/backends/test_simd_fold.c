/* Reductions of integers and bools by the simd backend against the reference, bit for bit: any axes
 * of any shape, axes of size 1 anywhere, sums and products that wrap; on one thread and on three.
 * And those of floats where axes of size 1 stand beside the reduced ones. */
#include "tests/plans.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/ops.h"

#include <math.h>

enum { SUM, PROD, MAX, MIN, MEAN, VAR, LOGSUMEXP, NORM, ANY, ALL };

enum { STEP = SANITIZED ? 3 : 1 }; /* from set to set of axes */

static wg_value *reduced(wg_value *x, int op, wg_axes axes)
{
    switch (op) {
    case SUM: return wg_sum(x, axes, WG_DROP);
    case PROD: return wg_prod(x, axes, WG_KEEP);
    case MAX: return wg_max(x, axes, WG_DROP);
    case MIN: return wg_min(x, axes, WG_DROP);
    case MEAN: return wg_mean(x, axes, WG_DROP);
    case VAR: return wg_var(x, axes, WG_DROP, 0);
    case LOGSUMEXP: return wg_logsumexp(x, axes, WG_KEEP);
    case NORM: return wg_vector_norm(x, axes, WG_DROP, 2);
    case ANY: return wg_any(x, axes, WG_DROP);
    default: return wg_all(x, axes, WG_DROP);
    }
}

/* Integers of all sizes, so that sums and products overflow, none of them even but one in a while;
 * of bools one kind is rare; of floats few different ones, with zeros of both signs. */
static void fill(void *data, wg_dtype dtype, int64_t n, bool rare)
{
    uint64_t seed = 7;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = seed >> 8 >> (seed >> 58) | ((seed >> 16) % 97 > 0);
        double small = (double)(seed >> 61) - 3;
        switch (dtype) {
        case WG_I32: ((int32_t *)data)[i] = (int32_t)(uint32_t)bits; break;
        case WG_I64: ((int64_t *)data)[i] = (int64_t)(bits << 8 | 1) * (seed & 64 ? 1 : -1); break;
        case WG_F32: ((float *)data)[i] = (float)(small == 0 && i % 2 ? -0.0 : small / 4); break;
        case WG_F64: ((double *)data)[i] = small == 0 && i % 2 ? -0.0 : small / 4; break;
        default: ((uint8_t *)data)[i] = rare != ((seed >> 33) % 300 == 0); break;
        }
        if (rare && i % 97 == 5 && dtype == WG_F32)
            ((float *)data)[i] = NAN;
        if (rare && i % 97 == 5 && dtype == WG_F64)
            ((double *)data)[i] = -INFINITY;
    }
}

static void same(wg_plan *a, wg_plan *b, const wg_value *v, double tolerance)
{
    int64_t n = wg_value_count(v);
    const void *x = wg_plan_data(a, v), *y = wg_plan_data(b, v);
    if (tolerance == 0) {
        assert_memory_equal(x, y, (size_t)n * wg_dtype_size(v->dtype));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        bool wide = v->dtype == WG_F64;
        double u = wide ? ((const double *)x)[i] : (double)((const float *)x)[i],
               w = wide ? ((const double *)y)[i] : (double)((const float *)y)[i];
        check_that(u == w || (isnan(u) && isnan(w)) || fabs(u - w) <= tolerance * fmax(1, fabs(u)),
                   "%s [%lld]: %.17g by the reference, %.17g by simd", v->node->op->name,
                   (long long)i, u, w);
    }
}

/* Returns how many results were compared; `kernel` NULL: any of simd. */
static int64_t check(wg_dtype dtype, wg_shape shape, int op, wg_axes axes, const char *kernel,
                     double tolerance)
{
    const wg_backend *const simd[] = {wg_simd_backend()};
    int64_t compared = 0;
    for (int rare = 0; rare < 2; rare++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", dtype, shape), *y = wg_output(reduced(x, op, axes), "y");
        check_that(y, "%s", wg_graph_message(g));
        wg_plan *p[3] = {plan_of(g, &(wg_plan_options){.reference = true})};
        for (int i = 1; i < 3; i++)
            p[i] = plan_of(
                g, &(wg_plan_options){.backends = simd, .n_backends = 1, .threads = 2 * i - 1});
        wg_plan_step step = wg_plan_step_at(p[1], 0);
        assert_string_equal(step.backend, "simd");
        if (kernel)
            assert_string_equal(step.kernel, kernel);
        for (int i = 0; i < 3; i++) {
            fill(wg_plan_data(p[i], x), dtype, wg_value_count(x), rare);
            run(p[i], 0);
        }
        same(p[0], p[1], y, tolerance);
        same(p[1], p[2], y, 0);
        compared += wg_value_count(y);
        for (int i = 0; i < 3; i++)
            wg_plan_free(p[i]);
        wg_graph_free(g);
    }
    return compared;
}

/* Set k of the axes of a tensor of `rank` axes: axis i if bit i of k + 1 is set. */
static wg_axes set_of(int k, int rank)
{
    wg_axes axes = {.count = 0};
    for (int i = 0; i < rank; i++)
        if ((k + 1) >> i & 1)
            axes.axis[axes.count++] = i;
    return axes;
}

static int64_t check_integers(wg_shape shape, wg_axes axes)
{
    int64_t compared = 0;
    for (int op = SUM; op <= MIN; op++) {
        compared += check(WG_I32, shape, op, axes, "integers", 0);
        compared += check(WG_I64, shape, op, axes, "integers", 0);
    }
    compared += check(WG_BOOL, shape, ANY, axes, "bools", 0);
    return compared + check(WG_BOOL, shape, ALL, axes, "bools", 0);
}

static void integers_are_reduced_over_any_axes(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int k = 0; k < 31; k += STEP)
        compared += check_integers(WG_SHAPE(3, 5, 4, 7, 6), set_of(k, 5));
    for (int k = 0; k < 15; k += STEP) {
        compared += check_integers(WG_SHAPE(9, 5, 33, 70), set_of(k, 4));
        compared += check_integers(WG_SHAPE(1, 40, 1, 1000), set_of(k, 4));
        compared += check_integers(WG_SHAPE(4500, 3, 1, 4), set_of(k, 4));
    }
    for (int k = 0; k < 3; k++) {
        static const int64_t few[] = {1, 3, 15, 16, 31, 33, 100};
        for (int i = 0; i < WG_COUNT(few); i++) {
            compared += check_integers(WG_SHAPE(1300, few[i]), set_of(k, 2));
            compared += check_integers(WG_SHAPE(few[i], 1300), set_of(k, 2));
        }
    }
    assert_true(compared > 600000 / STEP);
}

/* Runs of several pieces, blocks of columns, many results and few */
static void large_integers_are_reduced(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int k = 0; k < 7; k++)
        compared += check_integers(WG_SHAPE(3, 2, 50001), set_of(k, 3));
    for (int k = 0; k < 3; k++)
        compared += check_integers(WG_SHAPE(40, 9001), set_of(k, 2));
    assert_true(compared > 100000);
}

/* ---- floats ---------------------------------------------------------------------------------- */

static int64_t check_floats(wg_shape shape, wg_axes axes, const char *kernel)
{
    int64_t compared = 0;
    for (int op = SUM; op <= NORM; op++) {
        bool exact = op == MAX || op == MIN;
        if (op == VAR && kernel && strcmp(kernel, "rows") == 0 && wg_shape_count(&shape) > 1 << 14)
            continue; /* of few long rows: the reference's */
        compared += check(WG_F32, shape, op, axes, kernel, exact ? 1e-30 : 1e-5);
        compared += check(WG_F64, shape, op, axes, kernel, exact ? 1e-300 : 1e-12);
    }
    return compared;
}

static void axes_of_size_1_do_not_matter(void **state)
{
    (void)state;
    int64_t compared = 0;
    compared += check_floats(WG_SHAPE(70, 1), WG_AXES(1), "axes");
    compared += check_floats(WG_SHAPE(700, 1), WG_AXES(0), "rows");
    compared += check_floats(WG_SHAPE(60000, 1, 1), WG_AXES(0), "rows");
    compared += check_floats(WG_SHAPE(1, 500, 1), WG_AXES(1), "rows");
    compared += check_floats(WG_SHAPE(90, 60, 1, 1), WG_AXES(1), "rows");
    compared += check_floats(WG_SHAPE(90, 20, 1, 1), WG_AXES(1), "axes");
    compared += check_floats(WG_SHAPE(1, 90, 1, 40, 1), WG_AXES(0, 3), "rows");
    compared += check_floats(WG_SHAPE(30, 1, 7, 1), WG_AXES(1, 3), "axes");
    compared += check_floats(WG_SHAPE(1, 1), WG_ALL_AXES, "axes");
    assert_true(compared > 5000);
}

static void extremes_over_axes_in_many_parts(void **state)
{
    (void)state;
    const wg_shape shapes[] = {WG_SHAPE(4, 5, 6, 33), WG_SHAPE(2, 70, 3, 2),
                               WG_SHAPE(3, 4, 5, 6, 7, 2), WG_SHAPE(2, 3, 2, 30000)};
    int64_t compared = 0;
    for (int i = 0; i < WG_COUNT(shapes); i++)
        for (int op = MAX; op <= MIN; op++)
            for (int first = 0; first < 2; first++) {
                wg_axes axes = shapes[i].rank == 6 ? (first ? WG_AXES(1, 3, 5) : WG_AXES(0, 2, 4))
                               : first             ? WG_AXES(1, 3)
                                                   : WG_AXES(0, 2);
                compared += check(WG_F32, shapes[i], op, axes, "parts", 1e-30);
                compared += check(WG_F64, shapes[i], op, axes, "parts", 1e-300);
            }
    assert_true(compared > 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_reduced_over_any_axes),
        cmocka_unit_test(large_integers_are_reduced),
        cmocka_unit_test(axes_of_size_1_do_not_matter),
        cmocka_unit_test(extremes_over_axes_in_many_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
