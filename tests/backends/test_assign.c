/* Assignments: what leaves hold after a run, and when new values are written in place. */
#include "tests/plans.h"
#include "wengert/models/optimizer.h"
#include "wengert/ops/ops.h"

#include <math.h>

static void assignments_exchange_two_states(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *a = wg_state(g, "a", WG_F32, WG_SHAPE(3), wg_ones());
    wg_value *b = wg_state(g, "b", WG_F32, WG_SHAPE(3), wg_zeros());
    wg_assign(a, b);
    wg_assign(b, a);
    wg_plan *p = plan_of(g, NULL);
    float *pa = wg_plan_data(p, a), *pb = wg_plan_data(p, b);
    for (int i = 0; i < 3; i++) {
        assert_true(pa[2] == (i % 2 ? 0 : 1) && pb[0] == (i % 2 ? 1 : 0));
        run(p, (uint64_t)i);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Every reader of a leaf sees its old value: nodes built before and after the new one, views,
 * outputs. */
static void all_readers_see_the_old_value(void **state)
{
    (void)state;
    const wg_plan_options ways[] = {
        {0}, {.no_inplace = true}, {.check_nonfinite = true}, {.poison = true}};
    for (int way = 0; way < WG_COUNT(ways); way++) {
        wg_graph *g = wg_graph_new();
        wg_value *s = wg_state(g, "s", WG_F32, WG_SHAPE(2, 2), wg_ones()),
                 *view = wg_reshape(s, WG_SHAPE(4));
        wg_value *before = wg_scale(s, 10), *next = wg_shift(s, 1), *after = wg_scale(view, 100);
        wg_value *late = wg_sum(wg_mul(wg_reshape(next, WG_SHAPE(4)), view), WG_ALL_AXES,
                                WG_DROP); /* reads both */
        wg_value *t = wg_state(g, "t", WG_F32, WG_SHAPE(2, 2), wg_zeros());
        wg_assign(s, next);
        wg_assign(t, next);
        wg_output(before, "before");
        wg_output(after, "after");
        wg_output(late, "late");
        wg_output(view, "view");
        wg_plan *p = plan_of(g, &ways[way]);
        for (int i = 1; i < 4; i++) {
            run(p, 0);
            const float x = (float)i;
            check_that(floats(p, before)[3] == 10 * x, "way %d", way);
            check_that(floats(p, after)[3] == 100 * x, "way %d", way);
            check_that(floats(p, late)[0] == 4 * x * (x + 1), "way %d", way);
            check_that(floats(p, view)[0] == x, "way %d: the view shows %g", way,
                       (double)floats(p, view)[0]);
            check_that(floats(p, s)[3] == x + 1 && floats(p, t)[0] == x + 1, "way %d", way);
        }
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* Whether the step of that op has its result elsewhere than in the buffer. */
static bool is_outside_buffer(wg_plan *p, const char *op)
{
    for (size_t i = 0; i < wg_plan_step_count(p); i++) {
        wg_plan_step s = wg_plan_step_at(p, i);
        if (strcmp(s.node->op->name, op) == 0)
            return s.offset == SIZE_MAX;
    }
    fail_msg("no step of %s", op);
    return false;
}

/* w := w + 1 is written where w lies, though a reader of w was built later; with checks it is
 * copied at the end. */
static void an_update_is_written_in_place(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(1000), wg_ones());
    wg_value *next = wg_shift(w, 1), *reader = wg_sum(wg_exp(w), WG_ALL_AXES, WG_DROP);
    wg_assign(w, next);
    wg_output(reader, "y");
    for (int checked = 0; checked < 2; checked++) {
        wg_plan *p = plan_of(g, &(wg_plan_options){.check_nonfinite = checked});
        assert_int_equal(is_outside_buffer(p, "add"), !checked);
        run(p, 0);
        assert_true(floats(p, w)[999] == 2);
        check_that(fabsf(floats(p, reader)[0] - 1000 * expf(1)) < 1, "%g",
                   (double)floats(p, reader)[0]);
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

/* A fused optimizer step writes parameter and moments where they lie: its results take no room, and
 * the bits are those of a plan that copies them. */
static void a_fused_update_is_written_in_place(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    float w[2][COUNT];
    for (int way = 0; way < 2; way++) {
        wg_graph *g = wg_graph_new();
        wg_value *p = wg_parameter(g, "w", WG_F32, WG_SHAPE(COUNT), wg_normal_init(1)),
                 *dp = wg_tanh(p);
        wg_value *lr = wg_fill(g, WG_F32, WG_SCALAR, 0.1);
        assert_int_equal(wg_adam_update(&p, &dp, 1, lr, NULL), WG_OK);
        wg_plan *plan = plan_of(g, &(wg_plan_options){.no_inplace = way, .poison = true});
        assert_int_equal(is_outside_buffer(plan, "adam"), !way);
        if (!way) /* the gradient, and what counts steps */
            check_that(wg_plan_statistics(plan).buffer_bytes <= COUNT * sizeof(float) + 256,
                       "%zu bytes", wg_plan_statistics(plan).buffer_bytes);
        for (uint64_t i = 0; i < 4; i++)
            run(plan, i);
        memcpy(w[way], floats(plan, p), sizeof w[way]);
        wg_plan_free(plan);
        wg_graph_free(g);
    }
    assert_memory_equal(w[0], w[1], sizeof w[0]);
}

/* x' = x + y, y' = y + x: each update waits for the other; one of them must be copied. */
static void updates_that_wait_for_each_other_are_both_right(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_state(g, "x", WG_F32, WG_SHAPE(5), wg_ones()),
             *y = wg_state(g, "y", WG_F32, WG_SHAPE(5), wg_zeros());
    wg_assign(x, wg_add(x, y));
    wg_assign(y, wg_sub(y, x));
    wg_plan *p = plan_of(g, NULL);
    float a = 1, b = 0;
    for (int i = 0; i < 4; i++) {
        run(p, 0);
        float next = a + b;
        b = b - a;
        a = next;
        check_that(floats(p, x)[4] == a && floats(p, y)[4] == b, "run %d: %g %g", i,
                   (double)floats(p, x)[4], (double)floats(p, y)[4]);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void an_assignment_of_itself_changes_nothing(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *a = wg_state(g, "a", WG_F32, WG_SHAPE(2, 2), wg_ones());
    wg_assign(a, wg_reshape(wg_reshape(a, WG_SHAPE(4)), WG_SHAPE(2, 2)));
    wg_plan *p = plan_of(g, NULL);
    assert_int_equal(wg_plan_step_count(p), 0);
    run(p, 0);
    assert_true(floats(p, a)[3] == 1);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void refused_assignments_say_why(void **state)
{
    (void)state;
    wg_plan *p;
    wg_graph *g = wg_graph_new();
    wg_value *a = wg_state(g, "a", WG_F32, WG_SHAPE(2), wg_ones());
    wg_assign(a, wg_neg(a));
    wg_assign(a, wg_exp(a));
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_EINVAL);
    assert_null(p);
    assert_non_null(
        strstr(wg_graph_message(g), "wg_assign: a is assigned already at test_assign.c:"));
    assert_non_null(strstr(wg_graph_message(g), " (test_assign.c:"));
    wg_graph_free(g);
    g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
    wg_assign(x, wg_neg(x));
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_EINVAL);
    assert_non_null(strstr(wg_graph_message(g), "wg_assign: x is an input: only a parameter or a "
                                                "state can be assigned (test_assign.c:"));
    wg_graph_free(g);
}

/* Two parameters after a guarded rate: with a loss of NaN neither changes, whatever the order of
 * nodes; and the first node that made it is found. */
static void no_update_comes_past_a_guard(void **state)
{
    (void)state;
    const float x[] = {2, 0, -1}, rates[] = {1, 1, 1}, expected[] = {3, 3, 3};
    const wg_status statuses[] = {WG_OK, WG_ENONFINITE, WG_ENONFINITE};
    wg_graph *g = wg_graph_new();
    wg_value *in = wg_input(g, "x", WG_F32, WG_SCALAR),
             *rate = wg_input(g, "rate", WG_F32, WG_SCALAR);
    wg_value *a = wg_parameter(g, "a", WG_F32, WG_SHAPE(4), wg_ones()),
             *b = wg_parameter(g, "b", WG_F32, WG_SHAPE(4), wg_ones());
    wg_value *loss = wg_name(wg_log(in), "loss"), *norm = wg_reciprocal(in),
             *checks[] = {norm, loss};
    wg_value *guarded = wg_guard(rate, checks, 2), *step = wg_scale(guarded, 2);
    wg_assign(a, wg_add(a, step));
    wg_assign(b, wg_add(b, step));
    wg_plan *p = plan_of(g, NULL);
    for (int i = 0; i < 3; i++) {
        *(float *)wg_plan_data(p, in) = x[i];
        *(float *)wg_plan_data(p, rate) = rates[i];
        assert_int_equal(wg_plan_run(p, 0), statuses[i]);
        check_that(i < 2 || strstr(wg_plan_message(p), "loss is nan") ||
                       strstr(wg_plan_message(p), "loss is -nan"),
                   "%s", wg_plan_message(p));
        assert_true(floats(p, a)[3] == expected[i] && floats(p, b)[0] == expected[i]);
    }
    const wg_node *first = wg_plan_first_nonfinite(p, 0);
    assert_non_null(first);
    assert_string_equal(first->op->name, "log");
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assignments_exchange_two_states),
        cmocka_unit_test(all_readers_see_the_old_value),
        cmocka_unit_test(an_update_is_written_in_place),
        cmocka_unit_test(a_fused_update_is_written_in_place),
        cmocka_unit_test(updates_that_wait_for_each_other_are_both_right),
        cmocka_unit_test(an_assignment_of_itself_changes_nothing),
        cmocka_unit_test(refused_assignments_say_why),
        cmocka_unit_test(no_update_comes_past_a_guard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
