/* The graph itself: sticky errors, scopes, names, print, hash, clone, verify. */
#include "tests/test.h"
#include "ops/ops.h"

static void an_error_names_scope_op_operands_numbers_and_line(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_scope_push(g, "encoder");
    wg_scope_push(g, "layer%d", 3);
    wg_value *q = wg_input(g, "q", WG_F32, WG_SHAPE(2, 64)), *k = wg_input(g, "k", WG_F32, WG_SHAPE(63, 2));
    assert_null(wg_matmul(q, k));
    char expected[200];
    snprintf(expected, sizeof expected,
             "encoder/layer3: matmul(q, k): inner sizes 64 and 63 differ (test_graph.c:%d)", __LINE__ - 3);
    assert_string_equal(wg_graph_message(g), expected);
    assert_int_equal(wg_graph_status(g), WG_ESHAPE);
    assert_null(wg_add(q, q)); /* the first error sticks */
    assert_string_equal(wg_graph_message(g), expected);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_names_scope_op_operands_numbers_and_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
