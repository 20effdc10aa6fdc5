/* Sums with a product: they are one op where they can be, in place, and change no result beyond
 * rounding. */
#include "tests/fusions.h"

enum { ACROSS = 24 }; /* columns of a product */

/* x w in several ways; *c is a value of its shape that is computed, so that it could be
 * overwritten. */
static wg_value *some_product(model *m, int how, wg_value **c)
{
    wg_value *x = leaf(m, WG_SHAPE(B, T, D)), *y = NULL;
    switch (how) {
    case 0: y = wg_matmul(x, leaf(m, WG_SHAPE(D, ACROSS))); break;
    case 1: y = wg_matmul_t(x, leaf(m, WG_SHAPE(B, T, ACROSS)), WG_TN); break;
    case 2: y = wg_matmul_t(x, leaf(m, WG_SHAPE(B, ACROSS, D)), WG_NT); break;
    case 3: y = wg_linear(x, leaf(m, WG_SHAPE(ACROSS, D)), NULL, WG_ACTIVATION_NONE); break;
    case 4:
        y = wg_linear(x, leaf(m, WG_SHAPE(ACROSS, D)), leaf(m, WG_SHAPE(ACROSS)),
                      WG_ACTIVATION_NONE);
        break;
    default: y = wg_add(wg_matmul(x, leaf(m, WG_SHAPE(D, ACROSS))), leaf(m, WG_SHAPE(ACROSS)));
    }
    *c = wg_scale(leaf(m, y->shape), 0.5);
    return y;
}

static void a_sum_with_a_product_is_fused(void **state)
{
    (void)state;
    for (int variant = 0; variant < 24; variant++) {
        model m = new_model();
        wg_value *c, *y = some_product(&m, variant / 4, &c);
        output(&m, variant & 1 ? wg_add(c, y) : wg_add(y, c));
        if (variant & 2) /* c keeps its value if others read it */
            output(&m, c);
        check_fusion(&m, &wg_op_matmul_add, 1);
    }
}

static void of_three_products_two_are_fused_with_sums(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *sum = NULL;
    for (int i = 0; i < 3; i++) {
        wg_value *x = leaf(&m, WG_SHAPE(T, D)), *y = wg_matmul(x, leaf(&m, WG_SHAPE(D, ACROSS)));
        sum = sum ? wg_add(sum, y) : y;
    }
    output(&m, sum);
    wg_plan *p = plan_of(&m, true);
    assert_int_equal(wg_plan_step_count(p), 3);
    assert_int_equal(steps_with(p, &wg_op_matmul), 1);
    wg_plan_free(p);
    check_fusion(&m, &wg_op_matmul_add, 2);
}

/* The projections of attention: their cotangents meet in that of x, and the residual's. */
static void cotangents_are_accumulated_by_products(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *x = wg_scale(leaf(&m, WG_SHAPE(B, T, D)), 0.1), *y[3];
    for (int i = 0; i < 3; i++)
        y[i] = wg_linear(x, leaf(&m, WG_SHAPE(D, D)), NULL, WG_ACTIVATION_NONE);
    wg_value *sum = wg_add(wg_mul(wg_tanh(y[0]), wg_mul(wg_tanh(y[1]), wg_tanh(y[2]))), wg_tanh(x));
    add_gradients(&m, output(&m, sum));
    check_fusion(&m, &wg_op_matmul_add, 3);
}

static void so_is_one_in_f64(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *c, *y = some_product(&m, 0, &c);
    y = wg_matmul(wg_cast(m.leaf[0], WG_F64), wg_cast(m.leaf[1], WG_F64));
    output(&m, wg_cast(wg_add(y, wg_cast(c, WG_F64)), WG_F32));
    check_fusion(&m, &wg_op_matmul_add, 1);
}

static void sums_of_other_values_stay(void **state)
{
    (void)state;
    for (int variant = 0; variant < 5; variant++) {
        model m = new_model();
        wg_value *c, *y = some_product(&m, 0, &c);
        switch (variant) {
        case 0: output(&m, y); break;                /* the product is an output, */
        case 1: output(&m, wg_neg(y)); break;        /* has another reader, */
        case 2: c = leaf(&m, WG_SHAPE(T, 1)); break; /* or another shape    */
        case 3: y = wg_matmul(wg_cast(m.leaf[0], WG_BF16), wg_cast(m.leaf[1], WG_BF16)); break;
        default: y = wg_cast(wg_cast(y, WG_BF16), WG_F32); /* rounded in between */
        }
        output(&m, wg_cast(wg_add(y, wg_cast(c, y->dtype)), WG_F32));
        check_fusion(&m, &wg_op_matmul_add, 0);
    }
}

static void check_saved(const wg_plan *fused, const wg_plan *plain, size_t bytes)
{
    size_t with = wg_plan_statistics(fused).buffer_bytes,
           without = wg_plan_statistics(plain).buffer_bytes;
    const size_t cache_line = 64; /* places are rounded up to it */
    check_that(with + bytes <= without + cache_line,
               "%zu bytes fused, %zu plain: fewer than %zu saved", with, without, bytes);
}

/* Fused, a plan saves the product's place: the sum takes that of c, and a state that of itself.
 * (Scratch of kernels is part of both buffers.) */
static void a_product_is_added_in_place(void **state)
{
    (void)state;
    enum { N = 300 };
    model m = new_model();
    wg_value *x = leaf(&m, WG_SHAPE(N, N)), *kept = wg_scale(leaf(&m, WG_SHAPE(N, N)), 2);
    output(&m, wg_add(kept, wg_matmul(x, x)));
    wg_plan *fused = plan_of(&m, true), *plain = plan_of(&m, false);
    check_saved(fused, plain, wg_value_bytes(kept));
    wg_plan_free(fused);
    wg_plan_free(plain);
    check_fusion(&m, &wg_op_matmul_add, 1);

    m = new_model();
    x = leaf(&m, WG_SHAPE(N, N));
    wg_value *total = wg_state(m.g, "total", WG_F32, WG_SHAPE(N, N), wg_ones());
    wg_assign(total, wg_add(total, wg_matmul_t(x, x, WG_TN)));
    output(&m, wg_neg(leaf(&m, WG_SHAPE(2)))); /* which needs no scratch */
    fused = plan_of(&m, true), plain = plan_of(&m, false);
    assert_int_equal(steps_with(fused, &wg_op_matmul_add), 1);
    check_saved(fused, plain, wg_value_bytes(total));
    assert_true(wg_plan_run(fused, 4) == WG_OK && wg_plan_run(plain, 4) == WG_OK);
    const float *a = wg_plan_data(fused, total), *b = wg_plan_data(plain, total);
    for (int i = 0; i < N * N; i++)
        check_that(fabs((double)a[i] - (double)b[i]) <= 2e-5 * fmax(1, fabs((double)b[i])),
                   "element %d: %g, %g", i, (double)a[i], (double)b[i]);
    wg_plan_free(fused);
    wg_plan_free(plain);
    wg_graph_free(m.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_with_a_product_is_fused),
        cmocka_unit_test(so_is_one_in_f64),
        cmocka_unit_test(of_three_products_two_are_fused_with_sums),
        cmocka_unit_test(cotangents_are_accumulated_by_products),
        cmocka_unit_test(sums_of_other_values_stay),
        cmocka_unit_test(a_product_is_added_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
