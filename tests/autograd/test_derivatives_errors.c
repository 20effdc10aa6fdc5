/* What the functions of wengert/autograd/derivatives.h say of wrong arguments. */
#include "tests/test.h"
#include "wengert/autograd/derivatives.h"
#include "wengert/ops/ops.h"

static void expect(wg_graph *g, wg_status got, wg_status status, const char *words)
{
    assert_int_equal(got, status);
    check_that(strstr(wg_graph_message(g), words), "\"%s\" does not say \"%s\"",
               wg_graph_message(g), words);
    wg_graph_free(g);
}

static wg_graph *fresh(wg_value **x, wg_value **y)
{
    wg_graph *g = wg_graph_new();
    *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3));
    *y = wg_exp(*x);
    return g;
}

static void bad_arguments(void **state)
{
    (void)state;
    wg_value *x, *y, *d, *six, *ids;
    wg_graph *g = fresh(&x, &y);
    expect(g, wg_jvp(&y, 1, &x, &(wg_value *){wg_sum(x, WG_ALL_AXES, WG_DROP)}, 1, &d), WG_ESHAPE,
           "tangent 0 is f32[], x is f32[2,3]");
    g = fresh(&x, &y);
    ids = wg_input(g, "ids", WG_I32, WG_SHAPE(2));
    expect(g, wg_jvp(&y, 1, &ids, NULL, 1, &d), WG_EDTYPE, "x[0] is i32, not a float");
    g = fresh(&x, &y);
    expect(g, wg_hvp(y, &x, NULL, 1, &d), WG_ESHAPE, "L is [2,3], must be a scalar");
    g = fresh(&x, &y);
    expect(g, wg_hessian(y, &x, 1, NULL, &d), WG_ESHAPE, "L is [2,3], must be a scalar");
    g = fresh(&x, &y);
    six = wg_reshape(x, WG_SHAPE(1, 1, 1, 1, 1, 2, 3));
    expect(g, wg_jacobian(wg_exp(six), &x, 1, NULL, &d), WG_ESHAPE, "more than 8");
    g = fresh(&x, &y);
    assert_null(wg_laplacian(y, x));
    expect(g, wg_graph_status(g), WG_ESHAPE, "must have a row for each element of u [2,3]");
    g = fresh(&x, &y);
    x = NULL;
    expect(g, wg_jacobian(y, &x, 1, NULL, &d), WG_EINVAL, "x[0] is NULL");
    assert_int_equal(wg_jvp(NULL, 0, NULL, NULL, 0, NULL), WG_EINVAL);
    assert_null(wg_laplacian(NULL, NULL));
}

/* A message names the function that was called, not those that it is made of; an op keeps its
 * name. */
static void messages_name_the_function_that_was_called(void **state)
{
    (void)state;
    wg_value *x, *y, *d;
    wg_graph *g = fresh(&x, &y);
    wg_value *v = wg_input(g, "v", WG_F32, WG_SHAPE(5)), *L = wg_sum(y, WG_ALL_AXES, WG_DROP);
    expect(g, wg_hvp(L, &x, &v, 1, &d), WG_ESHAPE, "wg_hvp: v 0 is f32[5], x is f32[2,3]");
    g = fresh(&x, &y);
    v = wg_input(g, "v", WG_F32, WG_SHAPE(4, 5));
    L = wg_sum(y, WG_ALL_AXES, WG_DROP);
    expect(g, wg_per_sample_grad(L, &x, &v, 1, &x, 1, &d), WG_ESHAPE,
           "wg_per_sample_grad: x[0] is [2,3], its batch is [4,5], must be [4,2,3]");
    g = fresh(&x, &y);
    expect(g, wg_per_sample_grad(y, &x, &x, 1, &x, 1, &d), WG_ESHAPE,
           "wg_per_sample_grad: L is [2,3], must be a scalar");
    g = fresh(&x, &y);
    expect(g,
           wg_vjp(&y, NULL, 1, &(wg_value *){wg_input(g, "n", WG_I32, WG_SHAPE(2))}, 1, NULL, &d),
           WG_EDTYPE, "wg_vjp: wrt[0] is i32, not a float");
    g = fresh(&x, &y);
    expect(g,
           wg_grad(wg_sum(y, WG_ALL_AXES, WG_DROP),
                   &(wg_value *){wg_input(g, "n", WG_I32, WG_SHAPE(2))}, 1, &d),
           WG_EDTYPE, "wg_grad: wrt[0] is i32, not a float");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(messages_name_the_function_that_was_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
