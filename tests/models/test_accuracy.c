/* The accuracy of a classifier: counted by hand, with targets that do not count, and refused where
 * targets and logits do not belong together. */
#include "tests/test.h"
#include "wengert.h"

enum { ROWS = 6, CLASSES = 3 };

/* The largest logits are of the classes 0, 1, 2, 0, 1, 1. */
static const float logits[ROWS * CLASSES] = {3, 1, 2, 0, 5, 4, -3, -2, -1,
                                             7, 7, 0, 0, 1, 0, 1,  2,  1};

static double accuracy_of(wg_dtype dtype, const int64_t *targets,
                          const wg_cross_entropy_attrs *options)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_constant(g, WG_F32, WG_SHAPE(2, 3, CLASSES), logits);
    wg_value *y = wg_cast(wg_constant(g, WG_I64, WG_SHAPE(2, 3), targets), dtype);
    wg_value *accuracy = wg_output(wg_accuracy(x, y, options), "accuracy");
    wg_plan *p;
    check_that(wg_plan_create(&p, g, NULL) == WG_OK, "%s", wg_graph_message(g));
    assert_int_equal(accuracy->dtype, WG_F32);
    assert_int_equal(accuracy->shape.rank, 0);
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    double value = wg_plan_scalar(p, accuracy);
    wg_plan_free(p);
    wg_graph_free(g);
    return value;
}

static bool is_near(double x, double y)
{
    return x - y <= 1e-7 && y - x <= 1e-7;
}

static void numbers_are_no_classes(void **state)
{
    (void)state;
    static const wg_dtype wrong[] = {WG_F32, WG_F64, WG_BOOL, WG_U8};
    const int64_t targets[] = {0, 1, 2, 0, 1, 1};
    for (int i = 0; i < WG_COUNT(wrong); i++) {
        char expected[80];
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_constant(g, WG_F32, WG_SHAPE(ROWS, CLASSES), logits);
        wg_value *y = wg_cast(wg_constant(g, WG_I64, WG_SHAPE(ROWS), targets), wrong[i]);
        assert_null(wg_accuracy(x, y, NULL));
        assert_int_equal(wg_graph_status(g), WG_EDTYPE);
        snprintf(expected, sizeof expected, "targets are %s, must be i32 or i64",
                 wg_dtype_name(wrong[i]));
        check_that(strstr(wg_graph_message(g), expected), "%s", wg_graph_message(g));
        wg_graph_free(g);
    }
}

static void right_answers_are_counted(void **state)
{
    (void)state;
    const int64_t all[] = {0, 1, 2, 0, 1, 1}, some[] = {0, 2, 2, 1, 1, 0},
                  none[] = {1, 2, 0, 2, 0, 2};
    assert_true(is_near(accuracy_of(WG_I64, all, NULL), 1));
    assert_true(is_near(accuracy_of(WG_I32, all, NULL), 1));
    assert_true(is_near(accuracy_of(WG_I64, some, NULL), 3.0 / 6));
    assert_true(is_near(accuracy_of(WG_I64, none, NULL), 0));
}

static void ignored_targets_do_not_count(void **state)
{
    (void)state;
    const int64_t some[] = {0, 2, -1, -1, 1, 1}, zeros[] = {0, 2, 0, 0, 1, 1},
                  none[] = {9, 9, 9, 9, 9, 9};
    const wg_cross_entropy_attrs minus_one = {.use_ignore = true, .ignore = -1},
                                 zero = {.use_ignore = true},
                                 nine = {.use_ignore = true, .ignore = 9}, off = {.ignore = -1};
    assert_true(is_near(accuracy_of(WG_I64, some, &minus_one), 3.0 / 4));
    assert_true(is_near(accuracy_of(WG_I32, some, &minus_one), 3.0 / 4));
    assert_true(is_near(accuracy_of(WG_I64, some, &off), 3.0 / 6));
    assert_true(is_near(accuracy_of(WG_I64, zeros, &zero), 2.0 / 3)); /* a class may be ignored */
    assert_true(accuracy_of(WG_I64, none, &nine) == 0);               /* not NaN */
}

static void refused(wg_shape x, wg_shape y, const char *words)
{
    wg_graph *g = wg_graph_new();
    assert_null(wg_accuracy(wg_input(g, "x", WG_F32, x), wg_input(g, "y", WG_I32, y), NULL));
    assert_int_equal(wg_graph_status(g), WG_ESHAPE);
    check_that(strstr(wg_graph_message(g), words) &&
                   strstr(wg_graph_message(g), "test_accuracy.c:"),
               "\"%s\" for \"%s\"", wg_graph_message(g), words);
    wg_graph_free(g);
}

static void targets_that_would_broadcast_are_refused(void **state)
{
    (void)state;
    refused(WG_SHAPE(4, 3), WG_SHAPE(4, 1), "wg_accuracy: targets are [4,1], logits [4,3]");
    refused(WG_SHAPE(4, 3), WG_SCALAR, "targets are []");
    refused(WG_SHAPE(4, 3), WG_SHAPE(3), "targets are [3]");
    refused(WG_SCALAR, WG_SCALAR, "logits []");
    assert_null(wg_accuracy(NULL, NULL, NULL));
}

static void of_no_rows_it_is_0(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_fill(g, WG_F32, WG_SHAPE(0, 3), 1), *y = wg_fill(g, WG_I64, WG_SHAPE(0), 1);
    wg_value *accuracy = wg_output(wg_accuracy(x, y, NULL), "accuracy");
    wg_plan *p;
    check_that(wg_plan_create(&p, g, NULL) == WG_OK, "%s", wg_graph_message(g));
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    assert_true(wg_plan_scalar(p, accuracy) == 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_no_classes),
        cmocka_unit_test(right_answers_are_counted),
        cmocka_unit_test(ignored_targets_do_not_count),
        cmocka_unit_test(targets_that_would_broadcast_are_refused),
        cmocka_unit_test(of_no_rows_it_is_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
