/* The gradient walker: what it accumulates, where it goes, what it refuses. */
#include "tests/test.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/evaluate.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

/* ---- a graph of f64 inputs, and the numbers of any value of it ------------------------------- */

typedef struct fill {
    wg_value *leaf;
    const double *data;
} fill;

/* Element 0.. of `wanted`, computed from the given leaves, into out. */
static void values_of(wg_graph *g, wg_value *wanted, const fill *leaf, int n, double *out)
{
    wg_plan *p = NULL;
    wg_plan_options options = {.outputs = &wanted, .n_outputs = 1};
    wg_status status = wg_plan_create(&p, g, &options);
    check_that(status == WG_OK, "%s", wg_graph_message(g));
    for (int i = 0; i < n; i++)
        memcpy(wg_plan_data(p, leaf[i].leaf), leaf[i].data, wg_value_bytes(leaf[i].leaf));
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    memcpy(out, wg_plan_data(p, wanted), wg_value_bytes(wanted));
    wg_plan_free(p);
}

static void check_numbers(wg_graph *g, wg_value *v, const fill *leaf, int n, const double *expected,
                          int count)
{
    double got[64];
    assert_int_equal(wg_value_count(v), count);
    values_of(g, v, leaf, n, got);
    for (int i = 0; i < count; i++)
        check_that(fabs(got[i] - expected[i]) <= 1e-12 * fmax(1, fabs(expected[i])),
                   "element %d is %.17g, not %.17g", i, got[i], expected[i]);
}
#define check_values(v, leaf, ...)                                                                 \
    check_numbers(g, v, leaf, WG_COUNT(leaf), (const double[]){__VA_ARGS__},                       \
                  (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

static wg_value *total(wg_value *x)
{
    return wg_sum(x, WG_ALL_AXES, WG_DROP);
}

/* ---- what the walker adds up ----------------------------------------------------------------- */

static void several_uses_add_up(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)), *dx;
    wg_value *y = total(wg_add(wg_mul(x, wg_mul(x, x)), x)); /* x^3 + x */
    assert_int_equal(wg_grad(y, &x, 1, &dx), WG_OK);
    const fill leaf[] = {{x, (const double[]){2, -3}}};
    check_values(dx, leaf, 13, 28);
    wg_graph_free(g);
}

static void broadcast_operands_are_summed_down(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *a = wg_input(g, "a", WG_F64, WG_SHAPE(2, 1, 2)),
             *b = wg_input(g, "b", WG_F64, WG_SHAPE(3, 1)),
             *c = wg_input(g, "c", WG_F64, WG_SCALAR);
    wg_value *wrt[] = {a, b, c}, *dx[3];
    assert_int_equal(wg_grad(total(wg_mul(wg_mul(a, b), c)), wrt, 3, dx), WG_OK);
    for (int i = 0; i < 3; i++)
        assert_true(wg_shape_equal(&dx[i]->shape, &wrt[i]->shape));
    const fill leaf[] = {{a, (const double[]){1, 2, 3, 4}},
                         {b, (const double[]){5, 6, 7}},
                         {c, (const double[]){2}}};
    check_values(dx[0], leaf, 36, 36, 36, 36);
    check_values(dx[1], leaf, 20, 20, 20);
    check_values(dx[2], leaf, 180);
    wg_graph_free(g);
}

/* op two(x) -> sum and product with 2: two results, whose cotangents may come alone */
static bool infer_two(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape) &&
           wg_set_result(n, 1, n->in[0]->dtype, n->in[0]->shape);
}
static void expand_two(wg_node *n, wg_value **y)
{
    y[0] = wg_shift(n->in[0], 2);
    y[1] = wg_scale(n->in[0], 2);
}
static const wg_op op_two = {.name = "two",
                             .operands = "x",
                             .results = "more twice",
                             .infer = infer_two,
                             .expand = expand_two};

static void ops_of_several_results(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)), *d[3];
    wg_value *more = wg_apply1(WG_HERE, &op_two, NULL, x), *twice = wg_result_of(more, 1);
    const fill leaf[] = {{x, (const double[]){5, 7}}};
    assert_int_equal(wg_grad(total(wg_mul(more, twice)), &x, 1, &d[0]), WG_OK); /* (x + 2) 2x */
    assert_int_equal(wg_grad(total(more), &x, 1, &d[1]), WG_OK);
    assert_int_equal(wg_grad(total(wg_mul(twice, twice)), &x, 1, &d[2]), WG_OK);
    check_values(d[0], leaf, 4 * 5 + 4, 4 * 7 + 4);
    check_values(d[1], leaf, 1, 1);
    check_values(d[2], leaf, 40, 56);
    wg_graph_free(g);
}

/* ---- wrt ------------------------------------------------------------------------------------- */

static void wrt_may_be_any_float_value(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)),
             *other = wg_input(g, "other", WG_F64, WG_SHAPE(3));
    wg_value *h = wg_mul(x, x), *y = total(wg_mul(h, x)), *later = wg_exp(y);
    wg_value *wrt[] = {h, x, h, y, other, later}, *dx[6];
    assert_int_equal(wg_grad(y, wrt, 6, dx), WG_OK);
    const fill leaf[] = {{x, (const double[]){2, -3}}};
    check_values(dx[0], leaf, 2, -3);   /* inside: with h held apart from x */
    check_values(dx[1], leaf, 12, 27);  /* the whole derivative, through h as well */
    check_values(dx[2], leaf, 2, -3);   /* named twice */
    check_values(dx[3], leaf, 1);       /* y itself */
    check_values(dx[4], leaf, 0, 0, 0); /* y does not depend on it */
    check_values(dx[5], leaf, 0);       /* computed from y */
    wg_graph_free(g);
}

static void cotangents_of_several_outputs(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)), *c = wg_input(g, "c", WG_F64, WG_SHAPE(2)),
             *dx;
    wg_value *y[] = {wg_mul(x, x), x, x}, *dy[] = {c, NULL, c};
    assert_int_equal(wg_vjp(y, dy, 3, &x, 1, NULL, &dx), WG_OK);
    const fill leaf[] = {{x, (const double[]){2, 3}}, {c, (const double[]){10, 100}}};
    check_values(dx, leaf, 40 + 1 + 10, 600 + 1 + 100);
    assert_int_equal(wg_vjp(NULL, NULL, 0, &x, 1, NULL, &dx), WG_OK); /* a sum over nothing */
    check_values(dx, leaf, 0, 0);
    wg_graph_free(g);
}

static void no_derivative_goes_through_integers_and_comparisons(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(3)), *dx;
    wg_value *whole = wg_cast(wg_cast(x, WG_I64), WG_F64); /* rounds */
    wg_value *positive = wg_cast(wg_greater(x, wg_scalar_like(x, 0)), WG_F64);
    wg_value *y = total(wg_mul(wg_add(whole, positive), x));
    assert_int_equal(wg_grad(y, &x, 1, &dx), WG_OK);
    const fill leaf[] = {{x, (const double[]){1.5, -2.5, 3.5}}};
    check_values(dx, leaf, 1 + 1, -2, 3 + 1);
    wg_graph_free(g);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static bool infer_same(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}
static const wg_op op_bare = {.name = "bare", .operands = "x", .infer = infer_same};
static void expand_wrapped(wg_node *n, wg_value **y)
{
    y[0] = wg_apply1(WG_HERE, &op_bare, NULL, n->in[0]);
}
static const wg_op op_wrapped = {
    .name = "wrapped", .operands = "x", .infer = infer_same, .expand = expand_wrapped};

static void every_missing_rule_is_listed_before_anything_is_built(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)), *dx;
    wg_apply1(WG_HERE, &op_bare, NULL, x); /* leads nowhere: not listed */
    wg_value *y = x;
    wg_scope_push(g, "encoder");
    int line = __LINE__ + 1;
    y = wg_apply1(WG_HERE, &op_bare, NULL, y);
    for (int i = 0; i < 3; i++)
        y = wg_exp(wg_apply1(WG_HERE, &op_bare, NULL, y)); /* three times, one line: listed once */
    wg_scope_pop(g);
    y = wg_apply1(WG_HERE, &op_wrapped, NULL, y);
    y = total(y);
    size_t nodes = wg_graph_node_count(g), values = wg_graph_value_count(g);
    assert_int_equal(wg_grad(y, &x, 1, &dx), WG_EUNSUPPORTED);
    assert_int_equal(wg_graph_node_count(g), nodes);
    assert_int_equal(wg_graph_value_count(g), values);
    assert_null(dx);
    char expected[400];
    snprintf(expected, sizeof expected,
             "no gradient rule for 3 ops on the path: bare (encoder test_autograd.c:%d), "
             "bare (encoder test_autograd.c:%d), bare inside wrapped (test_autograd.c:%d)",
             line, line + 2, line + 4);
    check_that(strstr(wg_graph_message(g), expected) != NULL, "%s\nnot\n%s", wg_graph_message(g),
               expected);
    wg_graph_free(g);
}

/* however many they are */
static void the_list_of_missing_rules_is_complete(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SCALAR), *y = x, *dx;
    for (int i = 0; i < 100; i++) {
        wg_scope_push(g, "layer%d", i);
        y = wg_apply1(WG_HERE, &op_bare, NULL, y);
        wg_scope_pop(g);
    }
    assert_int_equal(wg_grad(y, &x, 1, &dx), WG_EUNSUPPORTED);
    assert_non_null(strstr(wg_graph_message(g), "100 ops"));
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "(layer%d test", i);
        assert_non_null(strstr(wg_graph_message(g), name));
    }
    wg_graph_free(g);
}

static void grad_of_wrong_shape(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    (void)n;
    dx[0] = total(dy[0]);
}
static void grad_of_wrong_dtype(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    (void)n;
    dx[0] = wg_cast(dy[0], WG_F32);
}
static const wg_op op_wrong_shape = {
    .name = "wrong", .operands = "x", .infer = infer_same, .grad = grad_of_wrong_shape};
static const wg_op op_wrong_dtype = {
    .name = "wrong", .operands = "x", .infer = infer_same, .grad = grad_of_wrong_dtype};

static void rules_that_make_the_wrong_type_are_named(void **state)
{
    (void)state;
    static const struct {
        const wg_op *op;
        const char *message;
    } cases[] = {
        {&op_wrong_shape,
         "wrong: its gradient rule made a cotangent of [] for [2,3] (test_autograd.c:"},
        {&op_wrong_dtype,
         "wrong: its gradient rule made a cotangent of f32 for f64 (test_autograd.c:"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2, 3)), *dx;
        assert_int_not_equal(wg_grad(total(wg_apply1(WG_HERE, cases[i].op, NULL, x)), &x, 1, &dx),
                             WG_OK);
        check_that(strstr(wg_graph_message(g), cases[i].message) != NULL, "%s",
                   wg_graph_message(g));
        wg_graph_free(g);
    }
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    wg_value *dx[2];
    static const char *const messages[] = {
        "y is [2], must be a scalar",       "wrt[0] is NULL",
        "wrt[0] is of another graph",       "wrt[0] is i64, not a float",
        "y[0] is of another graph",         "y[0] is i64, not a float",
        "cotangent 0 is f64[], y is f64[2]"};
    for (int i = 0; i < WG_COUNT(messages); i++) {
        wg_graph *g = wg_graph_new(), *other = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)),
                 *k = wg_input(g, "k", WG_I64, WG_SHAPE(2)), *null = NULL,
                 *alien = wg_input(other, "x", WG_F64, WG_SHAPE(2));
        wg_value *y = total(x), *ky = wg_sum(k, WG_ALL_AXES, WG_DROP), *pair[] = {alien, x};
        switch (i) {
        case 0: wg_grad(x, &x, 1, dx); break;
        case 1: wg_grad(y, &null, 1, dx); break;
        case 2: wg_grad(y, &alien, 1, dx); break;
        case 3: wg_grad(y, &k, 1, dx); break;
        case 4: wg_vjp(pair, NULL, 1, &x, 1, NULL, dx); break;
        case 5: wg_grad(ky, &x, 1, dx); break;
        case 6: wg_vjp(&x, &y, 1, &x, 1, NULL, dx); break;
        }
        bool foreign = strstr(messages[i], "another graph") != NULL;
        if (i != 4) /* whose graph is that of y[0] */
            check_that(strstr(wg_graph_message(g), messages[i]) != NULL, "%s", wg_graph_message(g));
        assert_int_equal(wg_graph_status(other) != WG_OK, foreign);
        assert_int_equal(wg_graph_status(g) != WG_OK, true);
        if (i == 2)
            check_that(strstr(wg_graph_message(other),
                              "wg_grad: wrt[0] belongs to this graph, others to another one "
                              "(test_autograd.c:"),
                       "%s", wg_graph_message(other));
        if (!foreign)
            assert_int_equal(wg_grad(NULL, &alien, 1, dx), WG_EINVAL);
        wg_graph_free(g);
        wg_graph_free(other);
    }
    assert_int_equal(wg_vjp(NULL, NULL, 0, NULL, 0, NULL, NULL), WG_EINVAL);
}

/* An array of `wrt` that ends early is noticed before anything is written to that of the
 * results. */
static void nothing_is_written_before_wrt_is_looked_at(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)), *wrt[4] = {x, x, NULL, x};
    wg_value *dx[4] = {x, x, x, x};
    assert_int_equal(wg_grad(total(x), wrt, 4, dx), WG_EINVAL);
    assert_true(!dx[0] && !dx[1] && dx[2] == x && dx[3] == x);
    check_that(strstr(wg_graph_message(g), "wrt[2] is NULL"), "%s", wg_graph_message(g));
    assert_int_equal(wg_grad(NULL, wrt, 4, dx), WG_EINVAL); /* an error is there: all are NULL */
    assert_true(!dx[2] && !dx[3]);
    wg_graph_free(g);
}

/* As many as there are, in the order of creation; integers are not trained. */
static void the_gradients_of_all_parameters_need_no_arrays(void **state)
{
    (void)state;
    enum { N = 20 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)), *y = x, *w[N];
    for (int i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", i);
        w[i] = wg_parameter(g, name, WG_F64, WG_SHAPE(2), wg_ones());
        y = i == 3 ? y : wg_add(y, wg_scale(wg_mul(w[i], x), i));
    }
    wg_parameter(g, "table", WG_I32, WG_SHAPE(2), wg_zeros());
    wg_gradients d = wg_grad_all(total(y));
    assert_int_equal(d.n, N);
    const fill leaf[] = {{x, (const double[]){2, -3}}};
    for (int i = 0; i < N; i++) {
        assert_ptr_equal(d.params[i], w[i]);
        const double factor = i == 3 ? 0 : i;
        check_values(d.grads[i], leaf, 2 * factor, -3 * factor);
        assert_true(wg_depends_on(y, w[i]) == (i != 3));
    }
    assert_int_equal(wg_grad_all(NULL).n, 0);
    assert_true(!wg_depends_on(NULL, x) && !wg_depends_on(y, NULL) && wg_depends_on(x, x));
    assert_false(wg_depends_on(wg_stop_gradient(y), x) || wg_depends_on(wg_round(y), x));
    wg_graph_free(g);
}

/* ---- derivatives of derivatives -------------------------------------------------------------- */

/* f(x) = sum(x^3) + (sum x)^2:  H = 6 diag(x) + 2 */
static wg_value *test_function(wg_value *x)
{
    wg_value *s = total(x);
    return wg_add(total(wg_mul(x, wg_mul(x, x))), wg_mul(s, s));
}

static void hessian_vector_product(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(3)), *v = wg_input(g, "v", WG_F64, WG_SHAPE(3)),
             *dx, *hv;
    assert_int_equal(wg_grad(test_function(x), &x, 1, &dx), WG_OK);
    assert_int_equal(wg_vjp(&dx, &v, 1, &x, 1, NULL, &hv), WG_OK);
    const fill leaf[] = {{x, (const double[]){1, 2, -1}}, {v, (const double[]){1, 10, 100}}};
    check_values(hv, leaf, 6 * 1 * 1 + 222, 6 * 2 * 10 + 222, 6 * -1 * 100 + 222);
    wg_graph_free(g);
}

/* loss = f + |df/dx|^2 / 2;  d loss = df + H df */
static void gradient_penalty(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)), *dx, *d;
    wg_value *f = test_function(x);
    assert_int_equal(wg_grad(f, &x, 1, &dx), WG_OK);
    wg_value *loss = wg_add(f, wg_scale(total(wg_mul(dx, dx)), 0.5));
    assert_int_equal(wg_grad(loss, &x, 1, &d), WG_OK);
    const fill leaf[] = {{x, (const double[]){1, 2}}};
    const double d1 = 3 * 1 + 2 * 3, d2 = 3 * 4 + 2 * 3; /* df = 3 x^2 + 2 sum x */
    check_values(d, leaf, d1 + (6 * 1 + 2) * d1 + 2 * d2, d2 + 2 * d1 + (6 * 2 + 2) * d2);
    wg_graph_free(g);
}

/* y = x^5, y''' = 60 x^2; tanh''' = (1 - t^2)(6 t^2 - 2) */
static void third_order(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SCALAR), *x2 = wg_mul(x, x);
    wg_value *y = wg_mul(wg_mul(x2, x2), x), *z = wg_tanh(x);
    for (int order = 0; order < 3; order++) {
        assert_int_equal(wg_grad(y, &x, 1, &y), WG_OK);
        assert_int_equal(wg_grad(z, &x, 1, &z), WG_OK);
    }
    const fill leaf[] = {{x, (const double[]){0.7}}};
    double t = tanh(0.7);
    check_values(y, leaf, 60 * 0.49);
    check_values(z, leaf, (1 - t * t) * (6 * t * t - 2));
    assert_int_equal(wg_graph_verify(g), WG_OK);
    wg_graph_free(g);
}

/* ---- where gradient nodes belong ------------------------------------------------------------- */

static void gradient_nodes_carry_scope_line_and_phase(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)), *dx;
    wg_scope_push(g, "head");
    wg_value *h = wg_tanh(x);
    const char *at = h->node->at;
    wg_scope_pop(g);
    wg_value *y = total(h);
    size_t forward = wg_graph_node_count(g), of_tanh = 0;
    assert_int_equal(wg_grad(y, &x, 1, &dx), WG_OK);
    for (size_t i = forward; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        assert_int_equal(n->phase, WG_BACKWARD);
        of_tanh += strcmp(n->scope->path, "head") == 0 && strcmp(n->at, at) == 0;
    }
    assert_true(of_tanh >= 3);
    assert_int_equal(wg_add(x, x)->node->phase, WG_FORWARD); /* and afterwards all is as before */
    assert_string_equal(wg_scope_path(g), "");
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_written_before_wrt_is_looked_at),
        cmocka_unit_test(the_gradients_of_all_parameters_need_no_arrays),
        cmocka_unit_test(several_uses_add_up),
        cmocka_unit_test(broadcast_operands_are_summed_down),
        cmocka_unit_test(ops_of_several_results),
        cmocka_unit_test(wrt_may_be_any_float_value),
        cmocka_unit_test(cotangents_of_several_outputs),
        cmocka_unit_test(no_derivative_goes_through_integers_and_comparisons),
        cmocka_unit_test(every_missing_rule_is_listed_before_anything_is_built),
        cmocka_unit_test(the_list_of_missing_rules_is_complete),
        cmocka_unit_test(rules_that_make_the_wrong_type_are_named),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(hessian_vector_product),
        cmocka_unit_test(gradient_penalty),
        cmocka_unit_test(third_order),
        cmocka_unit_test(gradient_nodes_carry_scope_line_and_phase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
