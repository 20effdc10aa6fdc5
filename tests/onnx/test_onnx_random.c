/* Random tensors of ONNX models: their distributions, and other numbers in each step of a run. */
#include "tests/onnx/text.h"
#include "tests/test.h"
#include "wengert.h"

#include <math.h>
#include <unistd.h>

enum { N = 20000 };

static const char path[] = "random.onnx";

/* Output y of N numbers, or of as many as x has */
static wg_graph *import(const char *text, wg_status expected, const char *message)
{
    made m;
    wg_graph *g;
    wg_error error = {.text = ""};
    made_begin(&m);
    onnx_write(onnx_text(&m, text), 17, path);
    made_free(&m);
    const wg_status status = wg_onnx_import(&g, path, NULL, &error);
    unlink(path);
    check_that(status == expected && strstr(error.text, message), "%d: %s", status, error.text);
    return g;
}

typedef struct moments {
    double mean, deviation, least, most;
} moments;

static moments moments_of(wg_plan *p, const wg_value *y)
{
    moments m = {.least = INFINITY, .most = -INFINITY};
    double squares = 0;
    const int64_t count = wg_value_count(y);
    for (int64_t i = 0; i < count; i++) {
        const double x = y->dtype == WG_F64 ? wg_plan_f64(p, y)[i] : (double)wg_plan_f32(p, y)[i];
        m.mean += x / (double)count;
        squares += x * x / (double)count;
        m.least = fmin(m.least, x);
        m.most = fmax(m.most, x);
    }
    m.deviation = sqrt(squares - m.mean * m.mean);
    return m;
}

static const struct {
    const char *text;
    wg_dtype dtype;
    double mean, deviation, least, most;
} draws[] = {
    {"() => (float[20000] y) { y = RandomNormal <mean = 1.0, scale = 2.0, shape = [20000]> () }",
     WG_F32, 1, 2, -INFINITY, INFINITY},
    {"() => (double[20000] y) { y = RandomUniform <dtype = 11, low = -1.0, high = 3.0, seed = 5.0, "
     "shape = [20000]> () }",
     WG_F64, 1, 4 / 3.4641016, -1, 3},
    {"(float[200,100] x) => (float[200,100] y) { y = RandomNormalLike (x) }", WG_F32, 0, 1,
     -INFINITY, INFINITY},
    {"(int64[200,100] x) => (float[200,100] y) { y = RandomUniformLike <dtype = 1> (x) }", WG_F32,
     0.5, 1 / 3.4641016, 0, 1},
};

static void draws_have_their_distribution_and_differ(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(draws); i++) {
        wg_graph *g = import(draws[i].text, WG_OK, "");
        wg_plan *p;
        check_that(wg_plan_create(&p, g, NULL) == WG_OK, "%s", wg_graph_message(g));
        const wg_value *y = wg_graph_output(g, 0);
        assert_int_equal(y->dtype, draws[i].dtype);
        assert_int_equal(wg_value_count(y), N);
        moments of[2];
        for (int step = 0; step < 2; step++) {
            check_that(wg_plan_run(p, (uint64_t)step) == WG_OK, "%s", wg_plan_message(p));
            of[step] = moments_of(p, y);
            /* 5 standard errors of a mean and, at most, of a deviation */
            const double bound = 5 * draws[i].deviation / sqrt(N);
            check_that(fabs(of[step].mean - draws[i].mean) <= bound, "%s: mean %g", draws[i].text,
                       of[step].mean);
            check_that(fabs(of[step].deviation - draws[i].deviation) <= bound, "%s: deviation %g",
                       draws[i].text, of[step].deviation);
            assert_true(of[step].least >= draws[i].least && of[step].most <= draws[i].most);
        }
        assert_true(of[0].mean != of[1].mean);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* mean + exp(log_std) noise: the derivative by mean is 1, by log_std the noise's share. */
static void a_sample_has_a_gradient(void **state)
{
    (void)state;
    wg_graph *g = import("(float[3] mean, float[3] log_std) => (float[3] y)\n"
                         "{\n"
                         "    noise = RandomNormalLike (mean)\n"
                         "    std = Exp (log_std)\n"
                         "    part = Mul (std, noise)\n"
                         "    y = Add (mean, part)\n"
                         "}",
                         WG_OK, "");
    const wg_gradcheck_options o = {.evaluator = wg_plan_evaluator()};
    wg_gradcheck_report report;
    check_that(wg_gradcheck(g, &o, &report) == WG_OK, "%s", wg_graph_message(g));
    assert_int_equal(report.verdict, WG_GRADCHECK_RIGHT);
    assert_true(report.compared > 0);
    wg_graph_free(g);
}

static void whole_numbers_are_not_drawn(void **state)
{
    (void)state;
    assert_null(import("(int64[3] x) => (int64[3] y) { y = RandomUniformLike (x) }",
                       WG_EUNSUPPORTED, "random elements of type i64"));
    assert_null(import("() => (int64[3] y) { y = RandomNormal <dtype = 7, shape = [3]> () }",
                       WG_EUNSUPPORTED, "random elements of type int64"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_have_their_distribution_and_differ),
        cmocka_unit_test(a_sample_has_a_gradient),
        cmocka_unit_test(whole_numbers_are_not_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
