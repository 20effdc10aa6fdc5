/* Programs of a user who reads the public header only: their mistakes, and their unusual wishes. */
#include "tests/plans.h"
#include "wengert.h"

#include <math.h>

static void says(const wg_graph *g, wg_status status, const char *text)
{
    assert_int_equal(wg_graph_status(g), status);
    check_that(strstr(wg_graph_message(g), text), "'%s' is not in '%s'", text, wg_graph_message(g));
}

/* ---- an op of two results: polar coordinates ------------------------------------------------- */

static bool infer_polar(wg_node *n)
{
    wg_value *x = n->in[0];
    return wg_need_float(n, 0) && wg_need_same_dtype(n, 0, 1) && wg_need_same_shape(n, 0, 1) &&
           wg_set_result(n, 0, x->dtype, x->shape) && wg_set_result(n, 1, x->dtype, x->shape);
}

static void polar(wg_call *c)
{
    const double *x = c->in[0], *y = c->in[1];
    double *r = c->out[0], *angle = c->out[1];
    int64_t count = wg_value_count(c->node->in[0]);
    for (int64_t i = 0; i < count; i++) {
        r[i] = hypot(x[i], y[i]);
        angle[i] = atan2(y[i], x[i]);
    }
}

/* dx = dr x / r - da y / r^2,  dy = dr y / r + da x / r^2 */
static void grad_polar(wg_node *n, wg_value *const *d, wg_value **dx)
{
    wg_value *x = n->in[0], *y = n->in[1], *r = n->out[0];
    if (d[0]) {
        dx[0] = wg_div(wg_mul(d[0], x), r);
        dx[1] = wg_div(wg_mul(d[0], y), r);
    }
    if (d[1]) {
        wg_value *s = wg_div(d[1], wg_square(r)), *a = wg_neg(wg_mul(s, y)), *b = wg_mul(s, x);
        dx[0] = dx[0] ? wg_add(dx[0], a) : a;
        dx[1] = dx[1] ? wg_add(dx[1], b) : b;
    }
}

/* The classic slip: the angle turns the wrong way. */
static void grad_polar_wrong(wg_node *n, wg_value *const *d, wg_value **dx)
{
    wg_value *turned[2] = {d[0], d[1] ? wg_neg(d[1]) : NULL};
    grad_polar(n, turned, dx);
}

static const wg_sample polar_samples[] = {
    {NULL, NULL, 2, {WG_FLOATS(0.5, 2, 2, 3, 4), WG_FLOATS(-2, 2, 2, 3, 4)}}};
#define POLAR                                                                                      \
    .formula = "r = sqrt(x^2 + y^2), angle = atan2(y, x)", .operands = "x y",                      \
    .results = "r angle", .infer = infer_polar, .reference = polar,                                \
    .reads = WG_READS_X | WG_READS_Y, .samples = polar_samples, .n_samples = 1
static const wg_op op_polar = {.name = "polar", POLAR, .grad = grad_polar};
static const wg_op op_polar_wrong = {.name = "polar_wrong", POLAR, .grad = grad_polar_wrong};
static const wg_op op_polar_bare = {.name = "polar_bare", POLAR};

static wg_gradcheck_options check_options(int order)
{
    return (wg_gradcheck_options){.evaluator = wg_plan_evaluator(), .order = order};
}

static void users_ops_may_have_two_results(void **state)
{
    (void)state;
    wg_gradcheck_report r;
    wg_gradcheck_options two = check_options(2), one = check_options(1);
    check_that(wg_gradcheck_op(&op_polar, polar_samples, &two, &r) == WG_OK, "%s", r.message);
    assert_true(r.compared > 3 * 24);
    assert_int_equal(wg_gradcheck_op(&op_polar_wrong, polar_samples, &one, &r), WG_EDATA);
    assert_int_equal(wg_gradcheck_op(NULL, polar_samples, &one, &r), WG_EINVAL);
    assert_int_equal(wg_gradcheck_op(&op_polar, NULL, &one, &r), WG_EINVAL);

    /* and in the middle of a graph, where only the angle is used */
    for (int wrong = 0; wrong < 2; wrong++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(4)), *xy[] = {wg_exp(x), wg_tanh(x)};
        wg_scope_push(g, "compass");
        wg_node *n = wg_apply(WG_HERE, g, wrong ? &op_polar_wrong : &op_polar, NULL, xy, 2);
        wg_scope_pop(g);
        wg_output(wg_sin(n->out[1]), "y");
        wg_status status = wg_gradcheck(g, &two, &r);
        check_that(status == (wrong ? WG_EDATA : WG_OK), "%s", r.message);
        if (wrong)
            check_that(strstr(r.guilty, "polar_wrong") && strstr(r.guilty, "compass") &&
                           strstr(r.guilty, "test_user.c:"),
                       "guilty: %s", r.guilty);
        wg_graph_free(g);
    }
}

static void ops_without_a_rule_are_all_listed(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_parameter(g, "x", WG_F64, WG_SHAPE(3), wg_ones()), *dx;
    wg_value *y = wg_apply2(WG_HERE, &op_polar_bare, NULL, x, wg_neg(x));
    wg_scope_push(g, "second");
    y = wg_apply2(WG_HERE, &op_polar_bare, NULL, x, y);
    wg_scope_pop(g);
    wg_value *loss = wg_sum(y, WG_ALL_AXES, WG_DROP);
    size_t before = wg_graph_node_count(g);
    assert_int_equal(wg_grad(loss, &x, 1, &dx), WG_EUNSUPPORTED);
    assert_int_equal(wg_graph_node_count(g), before);
    says(g, WG_EUNSUPPORTED, "no gradient rule for 2 ops on the path: polar_bare (test_user.c:");
    says(g, WG_EUNSUPPORTED, "polar_bare (second test_user.c:");
    wg_graph_free(g);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void mistakes_point_into_the_users_file(void **state)
{
    (void)state;
    char here[128];
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_parameter(g, "x", WG_F32, WG_SHAPE(3), wg_ones()), *dx;
    snprintf(here, sizeof here,
             "wg_grad: y is [3], must be a scalar (wg_vjp takes any shape) "
             "(test_user.c:%d)",
             __LINE__ + 1);
    wg_grad(wg_square(x), &x, 1, &dx);
    says(g, WG_ESHAPE, here);
    wg_graph_free(g);

    g = wg_graph_new();
    x = wg_parameter(g, "x", WG_F32, WG_SHAPE(3), wg_ones());
    snprintf(here, sizeof here,
             "wg_grad_all: the loss is [3], must be a scalar, such as its wg_mean (wg_vjp takes "
             "any shape) (test_user.c:%d)",
             __LINE__ + 1);
    assert_null(wg_grad_all(wg_square(x)).params);
    says(g, WG_ESHAPE, here);
    wg_graph_free(g);

    g = wg_graph_new();
    x = wg_parameter(g, "x", WG_F32, WG_SHAPE(3), wg_ones());
    snprintf(here, sizeof here, "wg_grad: wrt[0] is NULL (test_user.c:%d)", __LINE__ + 1);
    wg_grad(wg_sum(x, WG_ALL_AXES, WG_DROP), &(wg_value *){NULL}, 1, &dx);
    says(g, WG_EINVAL, here);
    wg_graph_free(g);

    g = wg_graph_new();
    x = wg_parameter(g, "x", WG_F32, WG_SHAPE(3), wg_ones());
    snprintf(here, sizeof here, "wg_assign: f32[3] cannot take f32[] (test_user.c:%d)",
             __LINE__ + 1);
    wg_assign(x, wg_sum(x, WG_ALL_AXES, WG_DROP));
    says(g, WG_ESHAPE, here);
    wg_graph_free(g);
}

/* Where there is a graph to say it to, it is said. */
static void null_ops_and_arrays_are_refused(void **state)
{
    (void)state;
    static const wg_op nameless = {.operands = "x"};
    wg_graph *g = wg_graph_new();
    assert_null(wg_apply(WG_HERE, g, NULL, NULL, NULL, 0));
    says(g, WG_EINVAL, "wg_apply: an op without a name (test_user.c:");
    wg_graph_free(g);
    g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));
    assert_null(wg_apply1(WG_HERE, &nameless, NULL, x));
    says(g, WG_EINVAL, "an op without a name");
    wg_graph_free(g);
    g = wg_graph_new();
    wg_value *two[] = {wg_input(g, "a", WG_F32, WG_SHAPE(3)),
                       wg_input(g, "b", WG_F32, WG_SHAPE(3))};
    assert_null(wg_apply(WG_HERE, g, &op_polar, &(int64_t){3}, two, 2));
    says(g, WG_EINVAL, "attributes were given, but the op has none: WG_ATTRS");
    wg_graph_free(g);
    g = wg_graph_new();
    assert_null(wg_apply(WG_HERE, g, &op_polar, NULL, NULL, 2));
    says(g, WG_EINVAL, "polar: 2 operands at NULL (test_user.c:");
    wg_graph_free(g);
    g = wg_graph_new();
    x = wg_parameter(g, "x", WG_F32, WG_SHAPE(3), wg_ones());
    assert_int_equal(wg_adam_update(&x, NULL, 1, x, NULL), WG_EINVAL);
    says(g, WG_EINVAL, "adam: the array of gradients is NULL (test_user.c:");
    wg_graph_free(g);
    g = wg_graph_new();
    x = wg_parameter(g, "x", WG_F32, WG_SHAPE(3), wg_ones());
    assert_null(wg_clip_by_global_norm(&x, 1, 1.0, NULL));
    says(g, WG_EINVAL, "clip_by_global_norm: the array for the results is NULL (test_user.c:");
    wg_graph_free(g);
    assert_null(wg_clip_by_global_norm(NULL, 1, 1.0, NULL));
    assert_null(wg_concat(NULL, 3, 0));
    assert_null(wg_stack(NULL, 3, 0));
    assert_null(wg_einsum("i->i", NULL, 1));
    assert_null(wg_einsum(NULL, NULL, 0));
    assert_int_equal(wg_sgd_update(NULL, NULL, 1, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_adam_update(NULL, NULL, 1, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_grad(NULL, NULL, 1, NULL), WG_EINVAL);
}

static void a_missing_output_is_reported(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_plan *p;
    wg_relu(wg_input(g, "x", WG_F32, WG_SHAPE(3)));
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_EINVAL);
    says(g, WG_OK, "nothing to compute"); /* an error of the plan, not of the graph */
    wg_graph_free(g);
}

static int lines_of_print(const wg_graph *g)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    assert_int_equal(wg_graph_print(g, f), WG_OK);
    fclose(f);
    int lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    free(text);
    return lines;
}

static void unusual_scope_names(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "a/b", "/"};
    static const char *const good[] = {"with space", "\"quoted\" <b> & {x|y} \\n",
                                       "\xc3\xa9t\xc3\xa9", "two\nlines", ".."};
    size_t tried = 0;
    for (size_t i = 0; i < WG_COUNT(bad); i++, tried++) {
        wg_graph *g = wg_graph_new();
        wg_scope_push(g, "%s", bad[i]);
        says(g, WG_EINVAL,
             strchr(bad[i], '/') ? "wg_scope_push: a name with a slash"
                                 : "wg_scope_push: the name has ");
        wg_graph_free(g);
    }
    for (size_t i = 0; i < WG_COUNT(good); i++, tried++) {
        wg_graph *g = wg_graph_new();
        wg_scope_push(g, "%s", good[i]);
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
        assert_string_equal(wg_scope_path(g), good[i]);
        wg_scope_pop(g);
        assert_string_equal(wg_scope_path(g), "");
        wg_output(wg_relu(x), "y");
        assert_int_equal(lines_of_print(g), 4); /* head, two nodes, one output */
        wg_plan *p = plan_of(g, NULL);
        run(p, 0);
        wg_plan_free(p);
        wg_graph_free(g);
    }
    assert_int_equal(tried, 8);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void sizes_beyond_all_memory_are_refused(void **state)
{
    (void)state;
    const int64_t big = INT64_C(1) << 30;
    wg_plan *p;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(big, big));
    wg_output(wg_neg(x), "y");
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_ENOMEM);
    assert_null(p);
    check_that(strstr(wg_graph_message(g), "no memory for inputs of 4611686018427387904 bytes"),
               "%s", wg_graph_message(g));
    wg_graph_free(g);

    g = wg_graph_new(); /* an outer product that does not fit in 64 bits */
    wg_value *a = wg_input(g, "a", WG_F32, WG_SHAPE(big * big, 1));
    wg_value *b = wg_input(g, "b", WG_F32, WG_SHAPE(1, big * big));
    assert_null(wg_add(a, b));
    says(g, WG_ESHAPE, "add(a, b): ");
    wg_graph_free(g);
}

/* A batch of nothing goes through a layer, its loss and its gradient. */
static void an_empty_batch_trains(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(0, 4)),
             *t = wg_input(g, "t", WG_I64, WG_SHAPE(0));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(3, 4), wg_ones()), *dw;
    wg_value *y =
        wg_layernorm(wg_linear(x, w, NULL, WG_ACTIVATION_GELU), NULL, NULL, WG_LAST_AXIS, 1e-5);
    wg_value *loss = wg_cross_entropy(y, t, NULL, NULL);
    wg_output(loss, "loss");
    wg_grad(loss, &w, 1, &dw);
    wg_output(dw, "dw");
    wg_plan *p = plan_of(g, NULL);
    run(p, 0);
    assert_true(*(float *)wg_plan_data(p, loss) == 0);
    for (int i = 0; i < 12; i++)
        assert_true(((float *)wg_plan_data(p, dw))[i] == 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void eight_axes(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2, 1, 3, 1, 2, 2, 1, 2));
    wg_value *y = wg_permute(x, WG_AXES(7, 6, 5, 4, 3, 2, 1, 0));
    y = wg_softmax(wg_mul(y, wg_sum(x, WG_AXES(0, 2, 5, -1), WG_KEEP)), 5);
    wg_output(wg_max(wg_flip(y, WG_AXES(0, -1)), WG_AXES(0, 3), WG_DROP), "y");
    wg_gradcheck_options two = check_options(2);
    wg_gradcheck_report r;
    check_that(wg_gradcheck(g, &two, &r) == WG_OK, "%s", r.message);
    assert_true(r.compared >= 48);
    wg_graph_free(g);
}

static void a_thousand_operands(void **state)
{
    (void)state;
    enum { N = 1000 };
    static wg_value *part[N], *d[N];
    wg_graph *g = wg_graph_new();
    for (int i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        part[i] = wg_input(g, name, WG_F64, WG_SHAPE(i % 3));
    }
    wg_value *y = wg_concat(part, N, 0);
    wg_value *loss = wg_sum(wg_mul(y, wg_iota(g, WG_F64, y->shape, 0, 0, 1)), WG_ALL_AXES, WG_DROP);
    assert_int_equal(wg_grad(loss, part, N, d), WG_OK);
    wg_plan *p = plan_of(g, &(wg_plan_options){.outputs = d, .n_outputs = N});
    run(p, 0);
    int64_t at = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < i % 3; k++, at++)
            assert_true(((double *)wg_plan_data(p, d[i]))[k] == (double)at);
    assert_int_equal(at, 999);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- training -------------------------------------------------------------------------------- */

/* An embedding that is also the output layer: its gradient is the sum of both. */
static void tied_parameters(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *ids = wg_input(g, "ids", WG_I64, WG_SHAPE(5));
    wg_value *w = wg_parameter(g, "w", WG_F64, WG_SHAPE(7, 3), wg_normal_init(1));
    wg_value *logits = wg_linear(wg_tanh(wg_embedding(w, ids)), w, NULL, WG_ACTIVATION_NONE);
    wg_output(wg_cross_entropy(logits, ids, NULL, NULL), "loss");
    wg_gradcheck_leaf range = {.leaf = ids, .lo = 0, .hi = 7};
    wg_gradcheck_report r;
    wg_gradcheck_options options = check_options(2);
    options.leaves = &range;
    options.n_leaves = 1;
    check_that(wg_gradcheck(g, &options, &r) == WG_OK, "%s", r.message);
    assert_true(r.compared >= 21);
    wg_graph_free(g);
}

/* loss = |f|^2 + (|df/dx| - 1)^2, whose gradient for the weights is of second order. */
static void training_with_a_gradient_penalty(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(8, 3)), *dx, *p[4], *dp[4];
    wg_value *w1 = wg_parameter(g, "w1", WG_F64, WG_SHAPE(6, 3), wg_xavier(1));
    wg_value *w2 = wg_parameter(g, "w2", WG_F64, WG_SHAPE(1, 6), wg_xavier(1));
    wg_value *f = wg_linear(wg_tanh(wg_linear(x, w1, NULL, WG_ACTIVATION_NONE)), w2, NULL,
                            WG_ACTIVATION_NONE);
    wg_grad(wg_sum(f, WG_ALL_AXES, WG_DROP), &x, 1, &dx);
    wg_value *slope = wg_vector_norm(dx, WG_AXES(1), WG_DROP, 2);
    wg_value *loss = wg_add(wg_mean(wg_square(f), WG_ALL_AXES, WG_DROP),
                            wg_mean(wg_square(wg_shift(slope, -1)), WG_ALL_AXES, WG_DROP));
    wg_output(loss, "loss");
    size_t n = wg_graph_parameters(g, p, 4);
    assert_int_equal(n, 2);
    assert_int_equal(wg_grad(loss, p, n, dp), WG_OK);
    wg_sgd_update(p, dp, n, wg_fill(g, WG_F64, WG_SCALAR, 0.2), NULL);
    wg_plan *plan = plan_of(g, NULL);
    double *xs = wg_plan_data(plan, x), first = 0, last = 0;
    for (int i = 0; i < 24; i++)
        xs[i] = sin(i * i + 1.0);
    for (uint64_t step = 0; step < 200; step++) {
        run(plan, step);
        last = *(double *)wg_plan_data(plan, loss);
        first = step ? first : last;
    }
    check_that(last < first / 4, "the loss went from %g to %g", first, last);
    wg_plan_free(plan);
    wg_graph_free(g);
}

/* A model as a function of the graph, built once for training and once to be used. */
static wg_value *classify(wg_graph *g, int64_t rows, bool train)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(rows, 2));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(2, 2), wg_xavier(1));
    return wg_linear(train ? wg_dropout(x, 0.1) : x, w, NULL, WG_ACTIVATION_NONE);
}

static void training_and_evaluation_share_a_store(void **state)
{
    (void)state;
    wg_store *store = wg_store_new(7);
    wg_graph *g = wg_graph_new(), *e = wg_graph_new();
    wg_value *y = classify(g, 4, true), *t = wg_input(g, "t", WG_I64, WG_SHAPE(4)), *p[1], *dp[1];
    wg_value *loss = wg_output(wg_cross_entropy(y, t, NULL, NULL), "loss");
    wg_graph_parameters(g, p, 1);
    wg_grad(loss, p, 1, dp);
    wg_adam_update(p, dp, 1, wg_fill(g, WG_F32, WG_SCALAR, 0.1), NULL);
    wg_value *z = wg_output(wg_argmax(classify(e, 1, false), 1, WG_DROP), "class");
    wg_plan *train = plan_of(g, &(wg_plan_options){.store = store});
    wg_plan *use = plan_of(e, &(wg_plan_options){.store = store});
    memcpy(wg_plan_data(train, wg_graph_find(g, "x")), (float[]){1, 0, 2, 1, 0, 1, 1, 2}, 32);
    memcpy(wg_plan_data(train, t), (int64_t[]){1, 1, 0, 0}, 32);
    for (uint64_t step = 0; step < 100; step++)
        run(train, step);
    float *x = wg_plan_data(use, wg_graph_find(e, "x"));
    for (int class = 0; class < 2; class ++) {
        x[0] = class ? 3.0f : 0.5f;
        x[1] = class ? 0.5f : 3.0f;
        run(use, 0);
        assert_int_equal(*(int64_t *)wg_plan_data(use, z), class);
    }
    /* the same names with another shape do not share */
    wg_graph *other = wg_graph_new();
    wg_output(wg_parameter(other, "w", WG_F32, WG_SHAPE(2, 3), wg_ones()), "w");
    wg_plan *none;
    assert_int_not_equal(wg_plan_create(&none, other, &(wg_plan_options){.store = store}), WG_OK);
    assert_non_null(strstr(wg_graph_message(other), "w"));
    wg_plan_free(train);
    wg_plan_free(use);
    wg_store_free(store);
    wg_graph_free(g);
    wg_graph_free(e);
    wg_graph_free(other);
}

/* ---- wrong numbers --------------------------------------------------------------------------- */

static void an_input_never_filled_is_zeros(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *y = wg_output(wg_cos(wg_input(g, "x", WG_F64, WG_SHAPE(100))), "y");
    wg_plan *p = plan_of(g, NULL);
    run(p, 0);
    for (int i = 0; i < 100; i++)
        assert_true(((double *)wg_plan_data(p, y))[i] == 1);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void wrong_numbers_name_node_and_line(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *ids = wg_input(g, "ids", WG_I64, WG_SHAPE(3)),
             *x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
    wg_scope_push(g, "words");
    wg_value *table = wg_parameter(g, "table", WG_F32, WG_SHAPE(9, 2), wg_ones());
    wg_value *y = wg_embedding(table, ids);
    wg_scope_pop(g);
    wg_scope_push(g, "head");
    wg_output(wg_exp(wg_add(wg_sqrt(x), y)), "y");
    wg_scope_pop(g);
    wg_assign(table, wg_scale(table, 2));
    wg_plan *p = plan_of(g, &(wg_plan_options){.check_nonfinite = true});
    int64_t *id = wg_plan_data(p, ids);
    memset(wg_plan_data(p, x), 0, wg_value_bytes(x));
    id[1] = 12;
    assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
    check_that(strstr(wg_plan_message(p), "words: embedding(") &&
                   strstr(wg_plan_message(p), "12") && strstr(wg_plan_message(p), "test_user.c:"),
               "%s", wg_plan_message(p));
    assert_true(*(float *)wg_plan_data(p, table) == 1); /* as before the run */
    id[1] = 8;
    ((float *)wg_plan_data(p, x))[1] = -1;
    assert_int_equal(wg_plan_run(p, 0), WG_ENONFINITE);
    check_that(strstr(wg_plan_message(p), "head: sqrt(") &&
                   strstr(wg_plan_message(p), "test_user.c:"),
               "%s", wg_plan_message(p));
    ((float *)wg_plan_data(p, x))[1] = 1;
    run(p, 0);
    assert_true(*(float *)wg_plan_data(p, table) == 2);
    wg_plan_free(p);
    wg_graph_free(g);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* as ISO C has it, only the shape itself is static */
static const struct {
    wg_shape shape;
    wg_axes axes;
} constants[] = {{WG_SHAPE(2, 3), WG_AXES(0, -1)}, {WG_SCALAR, WG_ALL_AXES}};
#pragma GCC diagnostic pop

static void shapes_may_be_constants(void **state)
{
    (void)state;
    const wg_shape shape = WG_SHAPE(2, 3);
    assert_true(wg_shape_equal(&constants[0].shape, &shape));
    assert_true(constants[0].axes.count == 2 && constants[0].axes.axis[1] == -1);
    assert_true(constants[1].shape.rank == 0 && constants[1].axes.count == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_may_be_constants),
        cmocka_unit_test(users_ops_may_have_two_results),
        cmocka_unit_test(ops_without_a_rule_are_all_listed),
        cmocka_unit_test(mistakes_point_into_the_users_file),
        cmocka_unit_test(null_ops_and_arrays_are_refused),
        cmocka_unit_test(a_missing_output_is_reported),
        cmocka_unit_test(unusual_scope_names),
        cmocka_unit_test(sizes_beyond_all_memory_are_refused),
        cmocka_unit_test(an_empty_batch_trains),
        cmocka_unit_test(eight_axes),
        cmocka_unit_test(a_thousand_operands),
        cmocka_unit_test(tied_parameters),
        cmocka_unit_test(training_with_a_gradient_penalty),
        cmocka_unit_test(training_and_evaluation_share_a_store),
        cmocka_unit_test(an_input_never_filled_is_zeros),
        cmocka_unit_test(wrong_numbers_name_node_and_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
