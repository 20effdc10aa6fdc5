/* Models as other tools write them, with features that are odd but legal: each is imported, gives
 * numbers that onnxruntime gave, and has a right gradient. */
#include "tests/onnx/strangers.h"
#include "tests/test.h"
#include "wengert.h"

#include <math.h>
#include <unistd.h>

enum { BATCH = 2 };

static const char path[] = "stranger.onnx";

static float number(int64_t i)
{
    return (float)(i + 1) * (i % 2 ? -0.5f : 0.5f);
}

static wg_graph *import(const stranger *s)
{
    wg_graph *g;
    wg_error error;
    write_stranger(s, path);
    const wg_onnx_import_options o = {.other_dims = BATCH};
    check_that(wg_onnx_import(&g, path, &o, &error) == WG_OK, "%s: %s", s->name, error.text);
    unlink(path);
    return g;
}

static void check_numbers(const stranger *s, wg_graph *g, bool reference)
{
    wg_plan *p;
    const wg_plan_options o = {.reference = reference, .fixed_parameters = true};
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s: %s", s->name, wg_graph_message(g));
    const wg_value *x = wg_graph_find(g, "x"), *y = wg_graph_output(g, 0);
    for (int64_t i = 0; x && i < wg_value_count(x); i++)
        wg_plan_f32(p, x)[i] = number(i);
    check_that(wg_plan_run(p, 0) == WG_OK, "%s: %s", s->name, wg_plan_message(p));
    const float *is = wg_plan_f32(p, y);
    check_that(is && wg_value_count(y) > 0 && wg_value_count(y) <= MOST, "%s: %s", s->name,
               wg_plan_message(p));
    for (int64_t i = 0; i < wg_value_count(y); i++) {
        double error = fabs((double)is[i] - s->y[i]);
        check_that(error <= 1e-5 + 1e-5 * fabs(s->y[i]), "%s: y[%lld] is %.7g, not %.7g", s->name,
                   (long long)i, (double)is[i], s->y[i]);
    }
    for (int64_t i = wg_value_count(y); i < MOST; i++)
        check_that(s->y[i] == 0, "%s: y has %lld elements, more are expected", s->name,
                   (long long)wg_value_count(y));
    wg_plan_free(p);
}

static void numbers_are_those_of_another_engine(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(strangers); i++) {
        wg_graph *g = import(&strangers[i]);
        check_numbers(&strangers[i], g, true);
        check_numbers(&strangers[i], g, false);
        wg_graph_free(g);
    }
}

static void gradients_are_right(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(strangers); i++) {
        wg_graph *g = import(&strangers[i]);
        const wg_gradcheck_options o = {.evaluator = wg_plan_evaluator()};
        wg_gradcheck_report report;
        wg_status status = wg_gradcheck(g, &o, &report);
        check_that(status == WG_OK && report.verdict == WG_GRADCHECK_RIGHT && report.compared > 0,
                   "%s: %s", strangers[i].name, report.message);
        wg_graph_free(g);
    }
}

/* `test_onnx_strangers FOLDER` writes the models there, for another engine. */
static int write_all(const char *folder)
{
    char file[4096];
    for (int i = 0; i < WG_COUNT(strangers); i++) {
        made m;
        made_begin(&m);
        snprintf(file, sizeof file, "%s/%02d.onnx", folder, i);
        onnx_write(onnx_text(&m, strangers[i].text), strangers[i].opset, file);
        made_free(&m);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_another_engine),
        cmocka_unit_test(gradients_are_right),
    };
    return argc > 1 ? write_all(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
