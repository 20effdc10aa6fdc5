/* Plans: what they compute. */
#include "tests/test.h"
#include "autograd/grad.h"
#include "backends/evaluate.h"
#include "backends/plan.h"
#include "ops/ops.h"

/* y = sum((x w - 1)^2): value and gradient by hand. */
static void a_plan_computes_value_and_gradient(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2, 2)),
             *w = wg_parameter(g, "w", WG_F64, WG_SHAPE(2, 1), wg_ones());
    wg_value *e = wg_shift(wg_matmul(x, w), -1);
    wg_value *loss = wg_sum(wg_mul(e, e), WG_ALL_AXES, WG_DROP), *dw;
    assert_int_equal(wg_grad(loss, &w, 1, &dw), WG_OK);
    wg_output(loss, "loss");
    wg_assign(w, wg_sub(w, wg_scale(dw, 0.5)));
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_OK);
    memcpy(wg_plan_data(p, x), (double[]){1, 2, 3, 4}, 4 * sizeof(double));
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    check_that(*(double *)wg_plan_data(p, loss) == 4 + 36, "loss %g",
               *(double *)wg_plan_data(p, loss));
    const double *got = wg_plan_data(p, w); /* dw = 2 x' e = 2 (2 + 18, 4 + 24) */
    check_that(got[0] == 1 - 20 && got[1] == 1 - 28, "w %g %g", got[0], got[1]);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void assignments_exchange_two_states(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *a = wg_state(g, "a", WG_F32, WG_SHAPE(3), wg_ones()),
             *b = wg_state(g, "b", WG_F32, WG_SHAPE(3), wg_zeros());
    wg_assign(a, b);
    wg_assign(b, a);
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_OK);
    float *pa = wg_plan_data(p, a), *pb = wg_plan_data(p, b);
    for (int i = 0; i < 3; i++) {
        assert_true(pa[2] == (i % 2 ? 0 : 1) && pb[0] == (i % 2 ? 1 : 0));
        assert_int_equal(wg_plan_run(p, (uint64_t)i), WG_OK);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void an_evaluator_fills_leaves_and_reads_outputs(void **state)
{
    (void)state;
    const wg_evaluator *e = wg_plan_evaluator();
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)),
             *unused = wg_input(g, "unused", WG_F64, WG_SHAPE(2));
    wg_value *y = wg_exp(wg_reshape(x, WG_SHAPE(2, 1)));
    void *run;
    assert_int_equal(e->create(&run, g, &y, 1), WG_OK);
    assert_non_null(e->data(run, unused));
    memset(e->data(run, x), 0, 2 * sizeof(double));
    assert_int_equal(e->run(run, 0), WG_OK);
    assert_true(((double *)e->data(run, y))[1] == 1);
    assert_string_equal(e->message(run), "");
    e->destroy(run);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_computes_value_and_gradient),
        cmocka_unit_test(assignments_exchange_two_states),
        cmocka_unit_test(an_evaluator_fills_leaves_and_reads_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
