/* Memory that cannot be had: each allocation of building, differentiating and planning a graph
 * fails, once and from then on; each time there is a status, and nothing leaks (the sanitizers'
 * build sees to that).  And a run allocates nothing. */
#include "tests/test.h"
#include "tests/allocations.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

/* A training step with a composite, constants, a random op, a view, two states that change
 * places. */
static wg_graph *build(void)
{
    wg_graph *g = wg_graph_new();
    if (!g)
        return NULL;
    wg_scope_push(g, "model");
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4, 6));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(5, 6), wg_xavier(1)), *dw = NULL;
    wg_value *b = wg_parameter(g, "b", WG_F32, WG_SHAPE(5), wg_zeros());
    wg_value *y = wg_dropout(wg_linear(x, w, b, WG_ACTIVATION_RELU), 0.25);
    wg_value *c = wg_exp(
        wg_mul(wg_iota(g, WG_F32, WG_SHAPE(20), 0, 0, 1), wg_fill(g, WG_F32, WG_SCALAR, 0.1)));
    wg_value *loss = wg_sum(wg_mul(wg_reshape(y, WG_SHAPE(20)), c), WG_ALL_AXES, WG_DROP);
    wg_scope_pop(g);
    wg_grad(loss, &w, 1, &dw);
    wg_value *s = wg_state(g, "s", WG_F32, WG_SHAPE(3), wg_ones()),
             *t = wg_state(g, "t", WG_F32, WG_SHAPE(3), wg_zeros());
    wg_assign(s, t);
    wg_assign(t, s);
    if (dw)
        wg_assign(w, wg_sub(w, wg_scale(dw, 0.5)));
    wg_output(loss, "loss");
    wg_output(wg_reshape(s, WG_SHAPE(3, 1)), "view of an assigned leaf");
    return g;
}

static void fill(wg_plan *p, const wg_graph *g)
{
    const wg_value *x = wg_graph_find(g, "model/x");
    memset(wg_plan_data(p, x), 0, wg_value_bytes(x));
}

static wg_status build_plan_and_run(void)
{
    wg_plan *p = NULL;
    wg_graph *g = build();
    wg_status status =
        wg_plan_create(&p, g, &(wg_plan_options){.reference = true, .poison = true, .threads = 1});
    if (status != WG_OK)
        assert_true(!p && *wg_graph_message(g));
    if (status == WG_OK)
        fill(p, g);
    if (status == WG_OK && (wg_plan_check(p) == WG_ENOMEM || wg_plan_run(p, 0) != WG_OK))
        status = WG_ENOMEM;
    allocations.counting = false;
    wg_plan_free(p);
    wg_graph_free(g);
    return status;
}

/* On the reference; tests/failing has the default backends. */
static void every_failing_allocation_gives_a_status(void **state)
{
    (void)state;
    count_allocations(0, false);
    assert_int_equal(build_plan_and_run(), WG_OK);
    size_t total = allocations.calls;
    check_that(total > 60, "only %zu allocations", total);
    for (int for_good = 0; for_good < 2; for_good++)
        for (size_t i = 1; i <= total; i++) {
            count_allocations(i, for_good);
            wg_status status = build_plan_and_run();
            check_that(status == WG_ENOMEM, "allocation %zu of %zu fails%s: %s", i, total,
                       for_good ? " and all after" : "", wg_status_text(status));
        }
    count_allocations(0, false);
    assert_int_equal(build_plan_and_run(), WG_OK);
}

static void a_run_allocates_nothing(void **state)
{
    (void)state;
    wg_graph *g = build();
    const wg_plan_options ways[] = {{.threads = 1},
                                    {.threads = 2, .poison = true, .profile = true},
                                    {.threads = 1, .check_nonfinite = true}};
    for (int way = 0; way < WG_COUNT(ways); way++) {
        wg_plan *p;
        check_that(wg_plan_create(&p, g, &ways[way]) == WG_OK, "%s", wg_graph_message(g));
        fill(p, g);
        count_allocations(0, false);
        for (uint64_t step = 0; step < 3; step++)
            assert_int_equal(wg_plan_run(p, step), WG_OK);
        allocations.counting = false;
        check_that(allocations.calls == 0, "way %d: %zu allocations", way, allocations.calls);
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_allocation_gives_a_status),
        cmocka_unit_test(a_run_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
