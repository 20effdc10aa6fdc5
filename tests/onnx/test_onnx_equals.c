/* Ops whose numbers few exporters ask for, against the same written in simpler ones. */
#include "tests/onnx/equals.h"
#include "tests/plans.h"

typedef struct pair {
    const char *name;
    int opset;
    const char *text;
    int other_opset;
    const char *other;
} pair;

static const pair pairs[] = {
#include "tests/onnx/equals.def"
};

static void numbers_are_those_of_simpler_ops(void **state)
{
    (void)state;
    size_t compared = 0;
    for (int i = 0; i < WG_COUNT(pairs); i++) {
        const pair *p = &pairs[i];
        compared += check_equal(p->name, read_text(p->name, p->opset, p->text),
                                read_text(p->name, p->other_opset, p->other));
    }
    print_message("%zu numbers of %d models\n", compared, WG_COUNT(pairs));
    assert_true(compared > 1000);
}

/* Where the model has inputs of floats. */
static void gradients_are_right(void **state)
{
    (void)state;
    size_t right = 0;
    for (int i = 0; i < WG_COUNT(pairs); i++) {
        wg_graph *g = read_text(pairs[i].name, pairs[i].opset, pairs[i].text);
        const wg_gradcheck_options o = {.evaluator = wg_plan_evaluator()};
        wg_gradcheck_report report;
        wg_status status = wg_gradcheck(g, &o, &report);
        check_that(report.verdict != WG_GRADCHECK_WRONG, "%s: %s", pairs[i].name, report.message);
        right += status == WG_OK && report.verdict == WG_GRADCHECK_RIGHT && report.compared;
        wg_graph_free(g);
    }
    print_message("%zu of %d gradients\n", right, WG_COUNT(pairs));
    assert_true(right >= 50);
}

/* An index that lies outside its axis though its tuple is the place of an element. */
static void tuples_outside_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "(float[2,3] x) => (float[1] y) <int64[1,2] i = {0, 3}> { y = GatherND (x, i) }",
        "(float[2,3] x) => (float[1] y) <int64[1,2] i = {1, -4}> { y = GatherND (x, i) }",
        "(float[2,3] x) => (float[2] y) <int64[2,1] i = {3, 0}>\n"
        "{ y = GatherND <batch_dims = 1> (x, i) }",
        "(float[2,3] x, float[1] u) => (float[2,3] y) <int64[1,2] i = {0, 3}>\n"
        "{ y = ScatterND (x, i, u) }",
        "(float[2,3] x, float[1] u) => (float[2,3] y) <int64[1,2] i = {0, 3}>\n"
        "{ y = ScatterND <reduction = \"add\"> (x, i, u) }",
    };
    for (int i = 0; i < WG_COUNT(texts); i++) {
        wg_graph *g = read_text("a tuple outside", 16, texts[i]);
        wg_plan *p;
        wg_status status = wg_plan_create(&p, g, NULL);
        if (status == WG_OK)
            status = wg_plan_run(p, 0);
        check_that(status == WG_EDATA || status == WG_EINVAL, "model %d runs: status %d", i,
                   status);
        check_that(strstr(wg_plan_message(p), "outside"), "%s", wg_plan_message(p));
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* x, and x added 10000 times, which is as often as there may be: 1 + 10000 = 10001. */
static void loops_have_the_most_rounds_that_are_documented(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "(float[2] x) => (float[2] y) <int64[] n = {10000}, bool[] on = {1}>\n"
        "{ y = Loop <body = (int64[] i, bool[] c, float[2] s) => (bool[] d, float[2] t)\n"
        "                   { d = Identity (c) t = Add (s, x) }> (n, on, x) }",
        "(float[2] x, float[10000,1] z) => (float[2] y)\n"
        "{ y = Scan <num_scan_inputs = 1, body = (float[2] s, float[1] a) => (float[2] t)\n"
        "                                        { b = Mul (a, x) t = Add (s, b) }> (x, z) }",
    };
    for (int i = 0; i < WG_COUNT(texts); i++) {
        wg_graph *g = read_text("a long loop", 16, texts[i]);
        wg_plan *p = plan_of(g, NULL);
        for (size_t k = 0; k < wg_graph_node_count(g); k++) {
            const wg_value *v = wg_graph_node(g, k)->out[0];
            for (int64_t e = 0; v->node->op->flags & WG_OP_INPUT && e < wg_value_count(v); e++)
                ((float *)wg_plan_data(p, v))[e] = 1;
        }
        assert_int_equal(wg_plan_run(p, 0), WG_OK);
        const float *y = wg_plan_data(p, wg_graph_output(g, 0));
        check_that(y[0] == 10001 && y[1] == 10001, "model %d: %g, %g", i, y[0], y[1]);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tuples_outside_are_refused),
        cmocka_unit_test(loops_have_the_most_rounds_that_are_documented),
        cmocka_unit_test(numbers_are_those_of_simpler_ops),
        cmocka_unit_test(gradients_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
