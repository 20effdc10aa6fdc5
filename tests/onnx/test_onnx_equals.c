/* Ops whose numbers few exporters ask for, against the same written in simpler ones. */
#include "tests/onnx/equals.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_simpler_ops),
        cmocka_unit_test(gradients_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
