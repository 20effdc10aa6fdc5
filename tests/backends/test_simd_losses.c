/* Cross-entropy of rows by the simd backend against its definition in double: numbers of classes
 * below and above a vector and the length from which rows are turned, whole vectors or not; rows
 * that fill a task or not; smoothing, ignored targets and impossible classes. */
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/ops.h"

#include <math.h>

enum { IGNORED = -7 };

static double logit(int64_t i, int64_t classes)
{
    if (classes > 3 && i % 53 == 5)
        return -INFINITY;
    return (double)(i * 7919 % 1009) / 100 - 5;
}

/* The loss of row r and its gradient in x. */
static double row_loss(int64_t r, int64_t n, int32_t target, double smoothing, double *dx)
{
    double top = -INFINITY, sum = 0, loss = 0;
    for (int64_t k = 0; k < n; k++)
        top = fmax(top, (double)(float)logit(r * n + k, n));
    for (int64_t k = 0; k < n; k++)
        sum += exp((double)(float)logit(r * n + k, n) - top);
    for (int64_t k = 0; k < n; k++) {
        double log_p = (double)(float)logit(r * n + k, n) - top - log(sum);
        double q = smoothing / (double)n + (k == target ? 1 - smoothing : 0);
        loss -= q != 0 ? q * log_p : 0;
        dx[k] = exp(log_p) - q;
    }
    return loss;
}

static int64_t check(int64_t rows, int64_t n, double smoothing, wg_dtype dtype)
{
    const wg_backend *const simd[] = {wg_simd_backend()};
    const double bar = dtype == WG_F64 ? 1e-14 : 1e-6;
    const wg_cross_entropy_attrs a = {
        .smoothing = smoothing, .use_ignore = true, .ignore = IGNORED, .reduction = WG_LOSS_NONE};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", dtype, WG_SHAPE(rows, n)), *dx;
    wg_value *t = wg_input(g, "t", WG_I32, WG_SHAPE(rows));
    wg_value *y = wg_output(wg_cross_entropy(x, t, NULL, &a), "y");
    assert_int_equal(wg_grad(wg_sum(y, WG_ALL_AXES, WG_DROP), &x, 1, &dx), WG_OK);
    wg_output(dx, "dx");
    wg_plan *p = plan_of(g, &(wg_plan_options){.backends = simd, .n_backends = 1, .threads = 1});
    void *logits = wg_plan_data(p, x);
    int32_t *target = wg_plan_data(p, t);
    for (int64_t i = 0; i < rows * n; i++) {
        if (dtype == WG_F64)
            ((double *)logits)[i] = (double)(float)logit(i, n);
        else
            ((float *)logits)[i] = (float)logit(i, n);
    }
    for (int64_t r = 0; r < rows; r++)
        target[r] = r % 7 == 3 ? IGNORED : (int32_t)(r * 31 % n);
    run(p, 0);
    double *expected = malloc((size_t)n * sizeof *expected);
    assert_non_null(expected);
    const void *losses = wg_plan_data(p, y), *slopes = wg_plan_data(p, dx);
    for (int64_t r = 0; r < rows; r++) {
        bool counts = target[r] != IGNORED;
        double loss = counts ? row_loss(r, n, target[r], smoothing, expected) : 0;
        double got = dtype == WG_F64 ? ((const double *)losses)[r] : ((const float *)losses)[r];
        check_that(got == loss || fabs(got - loss) <= bar * (1 + fabs(loss)),
                   "%lld classes, row %lld of %lld, smoothing %g: %.9g, not %.9g", (long long)n,
                   (long long)r, (long long)rows, smoothing, got, loss);
        for (int64_t k = 0; k < n; k++) {
            double d = counts ? expected[k] : 0;
            int64_t i = r * n + k;
            got = dtype == WG_F64 ? ((const double *)slopes)[i] : ((const float *)slopes)[i];
            check_that(fabs(got - d) <= bar, "%lld classes, row %lld, class %lld: %.9g, not %.9g",
                       (long long)n, (long long)r, (long long)k, got, d);
        }
    }
    free(expected);
    wg_plan_free(p);
    wg_graph_free(g);
    return rows * (n + 1);
}

static void rows_are_right(void **state)
{
    (void)state;
    static const int64_t classes[] = {1,  2,  3,  10, 15, 16, 17, 21, 31,  32,
                                      33, 48, 56, 59, 60, 61, 64, 77, 600, 1000};
    static const int64_t rows[] = {1, 63, 64, 65, 130};
    int64_t compared = 0;
    if (!wg_simd_backend())
        skip();
    for (int i = 0; i < WG_COUNT(classes); i++)
        for (int j = 0; j < WG_COUNT(rows); j++)
            for (int way = 0; way < 4; way++)
                compared +=
                    check(rows[j], classes[i], way & 1 ? 0.1 : 0, way & 2 ? WG_F64 : WG_F32);
    assert_true(compared > 2000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
