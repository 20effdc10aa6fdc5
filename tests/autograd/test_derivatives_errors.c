/* What the functions of wengert/autograd/derivatives.h say of wrong arguments. */
#include "tests/test.h"
#include "wengert/autograd/derivatives.h"
#include "wengert/autograd/grad.h"
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

/* What one function is called with; x, v and w are lists of n. */
typedef struct call {
    wg_value *y;
    wg_value **x, **v, **w;
    size_t n;
    wg_value **result;
} call;

static wg_status jvp(const call *c)
{
    return wg_jvp(&c->y, 1, c->x, c->v, c->n, c->result);
}

static wg_status jacobian(const call *c)
{
    return wg_jacobian(c->y, c->x, c->n, NULL, c->result);
}

static wg_status hvp(const call *c)
{
    return wg_hvp(c->y, c->x, c->v, c->n, c->result);
}

static wg_status hessian(const call *c)
{
    return wg_hessian(c->y, c->x, c->n, NULL, c->result);
}

static wg_status laplacian(const call *c)
{
    wg_value *y = wg_laplacian(c->y, c->x ? c->x[0] : NULL);
    wg_graph *g = wg_graph_of(c->y);
    return y ? WG_OK : g && wg_graph_status(g) != WG_OK ? wg_graph_status(g) : WG_EINVAL;
}

static wg_status per_sample_grad(const call *c)
{
    return wg_per_sample_grad(c->y, c->x, c->v, c->n, c->w, c->n, c->result);
}

static const struct {
    const char *name;
    wg_status (*run)(const call *);
    bool lists; /* takes x as a list and has a list of results */
} functions[] = {
    {"wg_jvp", jvp, true},
    {"wg_jacobian", jacobian, true},
    {"wg_hvp", hvp, true},
    {"wg_hessian", hessian, true},
    {"wg_laplacian", laplacian, false},
    {"wg_per_sample_grad", per_sample_grad, true},
};

enum wrong { NO_X, NO_RESULTS, NULL_X, FOREIGN_X, INTEGER_X, NO_Y, FAILED_GRAPH, WRONGS };

/* None is taken, each result is NULL, and what is wrong with a value is said. */
static void each_function_with_each_wrong_argument(void **state)
{
    (void)state;
    wg_value *other = wg_input(wg_graph_new(), "x", WG_F32, WG_SCALAR);
    for (int i = 0; i < WG_COUNT(functions); i++)
        for (int wrong = 0; wrong < WRONGS; wrong++) {
            if (wrong == NO_RESULTS && !functions[i].lists)
                continue;
            wg_graph *g = wg_graph_new();
            wg_value *x = wg_input(g, "x", WG_F32, WG_SCALAR), *result = x, *v = NULL;
            wg_value *batch = wg_input(g, "batch", WG_F32, WG_SHAPE(4)), *w = x;
            bool samples = functions[i].run == per_sample_grad;
            call c = {wg_exp(x), &x, samples ? &batch : &v, &w, 1, &result};
            const char *says = "";
            switch (wrong) {
            case NO_X: c.x = NULL; break;
            case NO_RESULTS: c.result = NULL; break;
            case NULL_X: w = x = NULL, says = "is NULL"; break;
            case FOREIGN_X: w = x = other, says = "of another graph"; break;
            case INTEGER_X:
                w = x = wg_input(g, "n", WG_I32, WG_SCALAR);
                says = "is i32, not a float";
                break;
            case NO_Y: c.y = NULL, says = "is NULL"; break;
            case FAILED_GRAPH: assert_null(wg_add(x, wg_input(g, "odd", WG_F64, WG_SCALAR))); break;
            }
            wg_status status = functions[i].run(&c);
            check_that(status != WG_OK, "%s took %d", functions[i].name, wrong);
            check_that(strstr(wg_graph_message(g), says), "%s, %d: \"%s\" does not say \"%s\"",
                       functions[i].name, wrong, wg_graph_message(g), says);
            check_that(wrong == NO_RESULTS || !functions[i].lists || !result, "%s, %d",
                       functions[i].name, wrong);
            wg_graph_free(g);
        }
    wg_graph_free(wg_graph_of(other));
}

/* Lists of nothing are taken: there is nothing to compute. */
static void no_values(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(functions); i++) {
        wg_value *x, *y;
        wg_graph *g = fresh(&x, &y);
        const call c = {wg_sum(y, WG_ALL_AXES, WG_DROP), NULL, NULL, NULL, 0, NULL};
        wg_status status = functions[i].run(&c);
        bool needs_some =
            !functions[i].lists || functions[i].run == jvp || functions[i].run == per_sample_grad;
        check_that((status != WG_OK) == needs_some, "%s", functions[i].name);
        wg_graph_free(g);
    }
}

static void tangents_and_points_of_wrong_sizes(void **state)
{
    (void)state;
    wg_value *x, *y, *d, *v;
    wg_graph *g = fresh(&x, &y), *another = wg_graph_new();
    v = wg_input(another, "v", WG_F32, WG_SHAPE(2, 3));
    expect(g, wg_jvp(&y, 1, &x, &v, 1, &d), WG_EINVAL, "tangent[0] is of another graph");
    wg_graph_free(another);
    g = fresh(&x, &y);
    v = wg_input(g, "v", WG_F64, WG_SHAPE(2, 3));
    expect(g, wg_jvp(&y, 1, &x, &v, 1, &d), WG_EDTYPE, "tangent 0 is f64[2,3], x is f32[2,3]");
    g = wg_graph_new(); /* no points, and points without coordinates */
    x = wg_input(g, "x", WG_F32, WG_SHAPE(0, 3));
    d = wg_laplacian(wg_sum(x, WG_AXES(1), WG_DROP), x);
    assert_true(d && d->shape.rank == 1 && d->shape.dim[0] == 0);
    x = wg_input(g, "x0", WG_F32, WG_SHAPE(3, 0));
    d = wg_laplacian(wg_sum(x, WG_AXES(1), WG_DROP), x);
    assert_true(d && d->shape.rank == 1 && d->shape.dim[0] == 3);
    wg_graph_free(g);
    g = wg_graph_new();
    x = wg_input(g, "x", WG_F32, WG_SHAPE(1, 1, 1, 1, 1, 1, 1, 2));
    assert_null(wg_laplacian(wg_sum(x, WG_ALL_AXES, WG_DROP), x));
    expect(g, wg_graph_status(g), WG_ESHAPE, "must have a row for each element of u []");
}

static void options_of_jacobians_and_hessians_have_bounds(void **state)
{
    (void)state;
    static const struct {
        wg_jacobian_options o;
        const char *words;
    } wrong[] = {{{.chunk = -1}, "chunk is -1, must be 0 or more"},
                 {{.mode = (wg_jacobian_mode)9}, "mode is 9, must be 0 to 2"}};
    for (size_t i = 0; i < WG_COUNT(wrong); i++) {
        wg_value *x, *y, *J = NULL;
        wg_graph *g = fresh(&x, &y);
        wg_status status = wg_jacobian(y, &x, 1, &wrong[i].o, &J);
        expect(g, status, WG_EINVAL, wrong[i].words);
        g = fresh(&x, &y);
        status = wg_hessian(wg_sum(y, WG_ALL_AXES, WG_DROP), &x, 1, &wrong[i].o, &J);
        expect(g, status, WG_EINVAL, wrong[i].words);
    }
}

/* Lists that are missing though their length says otherwise. */
static void missing_lists_are_refused(void **state)
{
    (void)state;
    enum { CASES = 16 };
    static const char *const says[CASES] = {
        "wg_jvp: the array y",
        "wg_jvp: the array x",
        "wg_jvp: the array dy",
        "wg_per_sample_grad: the array x ",
        "wg_per_sample_grad: the array xb",
        "wg_per_sample_grad: the array x ",
        "wg_per_sample_grad: the array w",
        "wg_per_sample_grad: the array dw",
        "wg_vjp: the array y",
        "wg_vjp: the array x",
        "wg_vjp: the array dx",
        "wg_grad: the array x",
        "wg_grad: the array dx",
        "wg_jacobian: the array J",
        "wg_hvp: the array x",
        "wg_hessian: the array H",
    };
    for (int i = 0; i < CASES; i++) {
        wg_value *x, *y, *d;
        wg_graph *g = fresh(&x, &y);
        wg_value *L = wg_sum(y, WG_ALL_AXES, WG_DROP), *xb = wg_stack((wg_value *[]){x, x}, 2, 0);
        wg_status status = WG_OK;
        d = x;
        switch (i) {
        case 0: status = wg_jvp(NULL, 1, &x, NULL, 1, &d); break;
        case 1: status = wg_jvp(&y, 1, NULL, NULL, 1, &d); break;
        case 2: status = wg_jvp(&y, 1, &x, NULL, 1, NULL); break;
        case 3: status = wg_per_sample_grad(L, NULL, &xb, 1, &x, 1, &d); break;
        case 4: status = wg_per_sample_grad(L, &x, NULL, 1, &x, 1, &d); break;
        case 5: status = wg_per_sample_grad(L, &x, &xb, 0, &x, 1, &d); break;
        case 6: status = wg_per_sample_grad(L, &x, &xb, 1, NULL, 1, &d); break;
        case 7: status = wg_per_sample_grad(L, &x, &xb, 1, &x, 1, NULL); break;
        case 8: status = wg_vjp(NULL, NULL, 1, &x, 1, NULL, &d); break;
        case 9: status = wg_vjp(&y, NULL, 1, NULL, 1, NULL, &d); break;
        case 10: status = wg_vjp(&y, NULL, 1, &x, 1, NULL, NULL); break;
        case 11: status = wg_grad(L, NULL, 1, &d); break;
        case 12: status = wg_grad(L, &x, 1, NULL); break;
        case 13: status = wg_jacobian(y, &x, 1, NULL, NULL); break;
        case 14: status = wg_hvp(L, NULL, NULL, 1, &d); break;
        case 15: status = wg_hessian(L, &x, 1, NULL, NULL); break;
        }
        assert_int_equal(status, WG_EINVAL);
        assert_int_equal(wg_graph_status(g), WG_EINVAL);
        check_that(strncmp(wg_graph_message(g), says[i], strlen(says[i])) == 0 &&
                       strstr(wg_graph_message(g), "is NULL or empty"),
                   "%s, not %s", wg_graph_message(g), says[i]);
        bool has_results = strstr(says[i], "array d") == NULL && i < 13;
        assert_true(has_results || i == 14 ? d == NULL : d == x);
        wg_graph_free(g);
    }
    wg_value *x, *y;
    wg_graph *g = fresh(&x, &y);
    wg_value *L = wg_sum(y, WG_ALL_AXES, WG_DROP), *xb = wg_stack((wg_value *[]){x, x}, 2, 0);
    assert_int_equal(wg_per_sample_grad(L, &x, &xb, 1, NULL, 0, NULL), WG_OK);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(messages_name_the_function_that_was_called),
        cmocka_unit_test(each_function_with_each_wrong_argument),
        cmocka_unit_test(no_values),
        cmocka_unit_test(tangents_and_points_of_wrong_sizes),
        cmocka_unit_test(options_of_jacobians_and_hessians_have_bounds),
        cmocka_unit_test(missing_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
