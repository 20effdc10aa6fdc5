/* Fills that elementwise nodes read: numbers of a step, as long as results keep their shapes. */
#include "tests/plans.h"
#include "tests/test.h"
#include "wengert/autograd/grad.h"
#include "wengert/ops/ops.h"

#include <string.h>

static int count(const wg_plan *p, const char *op)
{
    int n = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++)
        n += strcmp(wg_plan_step_at(p, i).node->op->name, op) == 0;
    return n;
}

/* The plan as it is, and op by op: outputs have the same bits. */
static void check_bits(wg_graph *g, wg_plan *p)
{
    wg_plan *plain = plan_of(g, &(wg_plan_options){.no_fuse = true});
    wg_value *x = wg_graph_find(g, "x");
    for (int64_t i = 0; i < wg_value_count(x); i++)
        wg_plan_f32(p, x)[i] = wg_plan_f32(plain, x)[i] = (float)(i * 37 % 19) / 4 - 2;
    run(p, 0);
    run(plain, 0);
    for (size_t i = 0; i < wg_graph_output_count(g); i++) {
        const wg_value *y = wg_graph_output(g, i);
        assert_memory_equal(wg_plan_data(p, y), wg_plan_data(plain, y), wg_value_bytes(y));
    }
    wg_plan_free(plain);
}

/* y = x where x > 0, else a x, with its gradient: nothing is filled. */
static void a_fill_is_a_number_of_a_step(void **state)
{
    (void)state;
    const wg_dtype dtype = WG_F32;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", dtype, WG_SHAPE(5, 70, 300)), *dx;
    wg_value *positive = wg_greater(x, wg_zeros_like(x));
    wg_value *y = wg_where(positive, x, wg_mul(x, wg_fill(g, dtype, x->shape, 0.25)));
    check_that(wg_vjp(&y, &x, 1, &x, 1, NULL, &dx) == WG_OK, "%s", wg_graph_message(g));
    wg_output(y, "y");
    wg_output(dx, "dx");
    wg_plan *p = plan_of(g, NULL);
    assert_int_equal(count(p, "fill"), 0);
    assert_int_equal(count(p, "fused_elementwise"), (int)wg_plan_step_count(p));
    check_bits(g, p);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* An op alone reads a number, too. */
static void a_fill_is_the_number_of_an_op_alone(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(70, 300));
    wg_output(wg_maximum(wg_zeros_like(x), x), "y");
    wg_plan *p = plan_of(g, NULL);
    assert_int_equal(count(p, "fill"), 0);
    assert_int_equal(wg_plan_step_count(p), 1);
    check_bits(g, p);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Fills that give a result its shape, that are results, or that others read */
static void other_fills_are_made(void **state)
{
    (void)state;
    const wg_shape wide = WG_SHAPE(70, 300);
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(300));
    wg_value *a = wg_fill(g, WG_F32, wide, 0.5), *b = wg_fill(g, WG_F32, wide, 0.25),
             *c = wg_fill(g, WG_F32, x->shape, 3);
    wg_output(wg_tanh(wg_mul(x, a)), "its shape");
    wg_output(wg_mul(wg_neg(x), c), "a number here");
    wg_output(wg_cumsum(c, 0, 0), "read by another");
    wg_output(wg_sub(wg_tanh(wg_mul(x, b)), b), "both");
    wg_output(wg_shift(wg_add(wg_fill(g, WG_F32, wide, 2), wg_fill(g, WG_F32, wide, 1)), 1),
              "fills alone");
    wg_output(wg_fill(g, WG_F32, wide, 7), "itself");
    wg_plan *p = plan_of(g, NULL);
    check_bits(g, p);
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fill_is_a_number_of_a_step),
        cmocka_unit_test(a_fill_is_the_number_of_an_op_alone),
        cmocka_unit_test(other_fills_are_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
