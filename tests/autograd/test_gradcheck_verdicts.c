/* What the gradient check says where differences alone cannot tell, and whom it blames. */
#include "tests/test.h"
#include "wengert/autograd/gradcheck.h"
#include "wengert/backends/evaluate.h"
#include "wengert/backends/plan.h"
#include "wengert/models/layers.h"
#include "wengert/models/optimizer.h"
#include "wengert/ops/ops.h"

#include <math.h>

static wg_value *total(wg_value *x)
{
    return wg_sum(x, WG_ALL_AXES, WG_DROP);
}

static wg_status check(wg_graph *g, const wg_gradcheck_leaf *leaf, const wg_grad_hook *hook,
                       wg_gradcheck_report *r)
{
    wg_gradcheck_options o = {
        .evaluator = wg_plan_evaluator(), .leaves = leaf, .n_leaves = leaf ? 1 : 0, .hook = hook};
    wg_status status = wg_gradcheck(g, &o, r);
    print_message("%s\n", r->message);
    return status;
}

/* Multiplies what the rule of an op gives for operand 0. */
typedef struct spoiler {
    const char *op;
    double factor;
} spoiler;

static void spoil(void *context, wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const spoiler *s = context;
    (void)dy;
    if (strcmp(n->op->name, s->op) == 0 && n->phase == WG_FORWARD && dx[0])
        dx[0] = wg_scale(dx[0], s->factor);
}

/* ---- what cannot be decided ------------------------------------------------------------------ */

static void changes_drowned_by_rounding_are_undecided(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(5));
    wg_output(wg_shift(total(wg_tanh(x)), 1e15), "loss");
    wg_gradcheck_report r;
    assert_int_equal(check(g, NULL, NULL, &r), WG_EDATA);
    assert_int_equal(r.verdict, WG_GRADCHECK_UNDECIDED);
    assert_true(r.undecided >= 4 && r.failed == 0);
    assert_non_null(strstr(r.message, "could not be decided for"));
    assert_non_null(strstr(r.message, "rounding makes differences uncertain"));
    assert_string_equal(r.guilty, "");
    /* an error beyond what rounding hides is still found */
    const wg_grad_hook hook = {spoil, &(spoiler){"tanh", 1e6}};
    assert_int_equal(check(g, NULL, &hook, &r), WG_EDATA);
    assert_int_equal(r.verdict, WG_GRADCHECK_WRONG);
    wg_graph_free(g);
}

static void steps_of_a_staircase_are_kinks(void **state)
{
    (void)state;
    static const double edges[] = {0.5, 1.5, -0.5, 0.5, 2.5, 0.3};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(6));
    wg_output(wg_add(wg_round(x), wg_square(x)), "y");
    const wg_gradcheck_leaf leaf = {.leaf = x, .data = edges};
    wg_gradcheck_report r;
    assert_int_equal(check(g, &leaf, NULL, &r), WG_EDATA);
    assert_int_equal(r.verdict, WG_GRADCHECK_UNDECIDED);
    assert_true(r.skipped == 5 && r.failed == 0);
    assert_non_null(strstr(r.message, "kink or a jump"));
    wg_graph_free(g);
}

static void absurd_numbers_are_told(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(5));
    wg_output(total(wg_exp(wg_scale(x, 1))), "loss");
    wg_gradcheck_leaf leaf = {.leaf = x, .lo = 90, .hi = 100};
    wg_gradcheck_report r;
    assert_int_equal(check(g, &leaf, NULL, &r), WG_ENONFINITE);
    assert_int_equal(r.verdict, WG_GRADCHECK_UNDECIDED);
    assert_non_null(strstr(r.message, "numbers of up to"));
    assert_non_null(strstr(r.absurd, "op exp"));
    leaf.lo = -1;
    leaf.hi = 1;
    check_that(check(g, &leaf, NULL, &r) == WG_OK, "%s", r.message);
    wg_graph_free(g);
    g = wg_graph_new();
    x = wg_input(g, "x", WG_F32, WG_SHAPE(5));
    wg_output(total(wg_log(x)), "loss"); /* of negative numbers */
    assert_int_equal(check(g, NULL, NULL, &r), WG_ENONFINITE);
    assert_non_null(strstr(r.absurd, "op log"));
    wg_graph_free(g);
}

/* Numbers that were drawn near a kink are drawn again. */
static void an_unlucky_point_is_drawn_again(void **state)
{
    (void)state;
    size_t right = 0;
    for (uint64_t seed = 0; seed < 20; seed++) { /* |x| below 1e-9 has no room for differences */
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(3));
        wg_output(wg_relu(wg_shift(wg_round(wg_scale(x, 2)), 0)), "steps");
        wg_output(wg_abs(x), "y");
        wg_gradcheck_options o = {.evaluator = wg_plan_evaluator(), .seed = seed};
        wg_gradcheck_report r;
        right += wg_gradcheck(g, &o, &r) == WG_OK;
        wg_graph_free(g);
    }
    assert_int_equal(right, 20);
}

/* A shift of all scores leaves a softmax as it is: its gradient is 0 up to rounding, and the
 * results often do not change at all. */
static void a_gradient_of_zero_is_right(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(5)),
                 *w = wg_input(g, "w", WG_F64, x->shape);
        wg_value *shift = wg_parameter(g, "shift", WG_F64, WG_SHAPE(1), wg_zeros());
        wg_output(total(wg_mul(w, wg_softmax(wg_add(x, shift), 0))), "loss");
        wg_gradcheck_options o = {.evaluator = wg_plan_evaluator(), .seed = seed, .order = 2};
        wg_gradcheck_report r;
        check_that(wg_gradcheck(g, &o, &r) == WG_OK, "seed %d: %s", (int)seed, r.message);
        wg_graph_free(g);
    }
}

/* ---- kernels for floats only ----------------------------------------------------------------- */

static bool infer_like(wg_node *n)
{
    return wg_need_float(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}
static void cube_of_floats(wg_call *c) /* takes anything for f32 */
{
    int64_t count = wg_value_count(c->node->out[0]);
    for (int64_t i = 0; i < count; i++) {
        float x = ((const float *)c->in[0])[i];
        ((float *)c->out[0])[i] = x * x * x;
    }
}
static void cube_in_floats(wg_call *c) /* has floats in between */
{
    int64_t count = wg_value_count(c->node->out[0]);
    for (int64_t i = 0; i < count; i++) {
        float x = (float)((const double *)c->in[0])[i];
        ((double *)c->out[0])[i] = (double)(x * x * x);
    }
}
static void cube(wg_call *c)
{
    int64_t count = wg_value_count(c->node->out[0]);
    for (int64_t i = 0; i < count; i++)
        ((double *)c->out[0])[i] = pow(((const double *)c->in[0])[i], 3);
}
static void grad_cube(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_mul(dy[0], wg_scale(wg_square(n->in[0]), 3));
}
static void grad_wrong(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_mul(dy[0], wg_scale(wg_square(n->in[0]), 2));
}

static const wg_sample samples[] = {{"plain", NULL, 1, {WG_FLOATS(-2, 2, 1, 7)}}};
#define CUBE                                                                                       \
    .name = "cube", .formula = "y = x^3", .operands = "base", .infer = infer_like,                 \
    .reads = WG_READS_X, WG_SAMPLES(samples)

static void kernels_that_ignore_f64_are_told(void **state)
{
    (void)state;
    const wg_op ops[] = {{CUBE, .grad = grad_cube, .reference = cube_of_floats},
                         {CUBE, .grad = grad_cube, .reference = cube_in_floats}};
    static const char *const fault[] = {"writes floats where its result is f64",
                                        "the digits of f32 only"};
    for (int i = 0; i < WG_COUNT(ops); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(7));
        wg_output(wg_apply1(WG_HERE, &ops[i], NULL, wg_sin(x)), "y");
        wg_gradcheck_report r;
        wg_status status = check(g, NULL, NULL, &r);
        assert_true(status == WG_EDATA || status == WG_ENONFINITE);
        assert_int_equal(r.verdict, WG_GRADCHECK_UNDECIDED);
        assert_non_null(strstr(r.message, fault[i]));
        assert_non_null(strstr(r.kernel, "op cube"));
        assert_string_equal(r.guilty, "");
        wg_graph_free(g);
        wg_gradcheck_options o = {.evaluator = wg_plan_evaluator()};
        assert_int_not_equal(wg_gradcheck_op(&ops[i], samples, &o, &r), WG_OK);
        assert_non_null(strstr(r.message, fault[i]));
    }
}

static void an_op_is_named_with_operand_and_sample(void **state)
{
    (void)state;
    const wg_op wrong = {CUBE, .grad = grad_wrong, .reference = cube};
    wg_gradcheck_options o = {.evaluator = wg_plan_evaluator()};
    wg_gradcheck_report r;
    assert_int_equal(wg_gradcheck_op(&wrong, samples, &o, &r), WG_EDATA);
    assert_int_equal(r.verdict, WG_GRADCHECK_WRONG);
    assert_string_equal(r.leaf, "base");
    assert_string_equal(r.guilty, "op cube at sample 'plain' (forward)");
}

/* ---- blame ----------------------------------------------------------------------------------- */

static void spoil_both(void *context, wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const double *factor = context;
    spoil(&(spoiler){"sin", factor[0]}, n, dy, dx);
    spoil(&(spoiler){"exp", factor[1]}, n, dy, dx);
}

/* Of two rules that are wrong, the one that makes the error is named: sin, whose derivative counts
 * a thousand times as much, though that of exp is more wrong. */
static void blame_needs_an_explanation(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(4));
    wg_output(wg_add(total(wg_sin(x)), wg_scale(total(wg_exp(x)), 1e-3)), "loss");
    static const struct {
        double factor[2]; /* of the rules of sin and exp */
        const char *guilty;
    } cases[] = {
        {{1.5, 1}, "op sin at test_gradcheck_verdicts.c:"},
        {{1, 3}, "op exp at test_gradcheck_verdicts.c:"},
        {{1.5, 3}, "op sin at test_gradcheck_verdicts.c:"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        double factor[2] = {cases[i].factor[0], cases[i].factor[1]};
        const wg_grad_hook hook = {spoil_both, factor};
        wg_gradcheck_report r;
        assert_int_equal(check(g, NULL, &hook, &r), WG_EDATA);
        check_that(strncmp(r.guilty, cases[i].guilty, strlen(cases[i].guilty)) == 0, "%d: %s", i,
                   r.guilty);
    }
    wg_graph_free(g);
}

/* An element that is wrong but not among those chosen shows in the line through the leaf. */
static void spoil_one(void *context, wg_node *n, wg_value *const *dy, wg_value **dx)
{
    static const double factor[1000] = {[433] = 1};
    (void)context;
    (void)dy;
    if (strcmp(n->op->name, "sin") == 0 && n->phase == WG_FORWARD)
        dx[0] = wg_add(dx[0], wg_constant(n->graph, WG_F64, WG_SHAPE(1000), factor));
}

static void one_wrong_element_of_many_is_seen(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(1000));
    wg_output(total(wg_sin(x)), "loss");
    const wg_grad_hook hook = {spoil_one, NULL};
    wg_gradcheck_options o = {.evaluator = wg_plan_evaluator(), .max = 3, .hook = &hook};
    wg_gradcheck_report r;
    assert_int_equal(wg_gradcheck(g, &o, &r), WG_EDATA);
    print_message("%s\n", r.message);
    assert_int_equal(r.index, -1);
    assert_non_null(strstr(r.message, "x, all elements at once"));
    assert_non_null(strstr(r.guilty, "op sin"));
    wg_graph_free(g);
}

/* ---- the middle of a training ---------------------------------------------------------------- */

static void fill(double *x, int64_t n, double from)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = from + 0.37 * (double)((i * 7) % 11) / 11;
}

/* A model that trains, with the batch and the parameters of a plan. */
typedef struct training {
    wg_graph *g;
    wg_value *x, *labels, *loss;
    wg_plan *plan;
} training;

static training begin_training(void)
{
    training t = {.g = wg_graph_new()};
    t.x = wg_input(t.g, "x", WG_F64, WG_SHAPE(6, 4));
    t.labels = wg_input(t.g, "labels", WG_I64, WG_SHAPE(6));
    wg_value *h = wg_dense("hidden", t.x, 5, WG_ACTIVATION_GELU_TANH);
    t.loss = wg_output(
        wg_cross_entropy(wg_dense("out", h, 3, WG_ACTIVATION_NONE), t.labels, NULL, NULL), "loss");
    wg_value *p[4], *d[4];
    size_t n = wg_graph_parameters(t.g, p, 4);
    assert_int_equal(n, 4);
    wg_grad(t.loss, p, n, d);
    wg_adam_update(p, d, n, wg_fill(t.g, WG_F64, WG_SCALAR, 0.1), NULL);
    check_that(wg_plan_create(&t.plan, t.g, NULL) == WG_OK, "%s", wg_graph_message(t.g));
    fill(wg_plan_data(t.plan, t.x), 24, -0.2);
    for (int64_t i = 0; i < 6; i++)
        ((int64_t *)wg_plan_data(t.plan, t.labels))[i] = i % 3;
    for (uint64_t step = 1; step <= 5; step++)
        assert_int_equal(wg_plan_run(t.plan, step), WG_OK);
    return t;
}

static void the_live_batch_is_checked(void **state)
{
    (void)state;
    training t = begin_training();
    wg_value *w = wg_graph_find(t.g, "hidden/weight");
    double before[20];
    memcpy(before, wg_plan_data(t.plan, w), sizeof before);
    wg_gradcheck_options o = {
        .evaluator = wg_plan_evaluator(), .y = &t.loss, .n_y = 1, .live = t.plan, .order = 2};
    wg_gradcheck_report a, b;
    check_that(wg_gradcheck(t.g, &o, &a) == WG_OK, "%s", a.message);     /* labels need no range */
    assert_memory_equal(before, wg_plan_data(t.plan, w), sizeof before); /* only read */
    /* it is these numbers that are checked */
    fill(wg_plan_data(t.plan, t.x), 24, 0.9);
    o.max = SIZE_MAX / 4;
    o.order = 1;
    o.wrt = &w;
    o.n_wrt = 1;
    check_that(wg_gradcheck(t.g, &o, &b) == WG_OK, "%s", b.message);
    ((double *)wg_plan_data(t.plan, w))[0] = NAN;
    assert_int_equal(wg_gradcheck(t.g, &o, &b), WG_ENONFINITE);
    /* an entry of its own goes before */
    const wg_gradcheck_leaf leaf = {.leaf = w, .data = before};
    o.leaves = &leaf;
    o.n_leaves = 1;
    check_that(wg_gradcheck(t.g, &o, &b) == WG_OK, "%s", b.message);
    assert_int_equal(b.compared, 20);
    wg_plan_free(t.plan);
    wg_graph_free(t.g);
}

/* ---- each result alone ----------------------------------------------------------------------- */

static bool infer_two(wg_node *n)
{
    return wg_need_float(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape) &&
           wg_set_result(n, 1, n->in[0]->dtype, n->in[0]->shape);
}

static void run_two(wg_call *c)
{
    const double *x = c->in[0];
    double *p = c->out[0], *q = c->out[1];
    for (int64_t i = 0; i < wg_value_count(c->node->in[0]); i++) {
        p[i] = x[i] * x[i];
        q[i] = 3 * x[i];
    }
}

/* Wrong, a factor of 2 is missing, where result 1 has no cotangent. */
static void grad_wrong_alone(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *x = n->in[0];
    if (!dy[1])
        dx[0] = wg_mul(dy[0], x);
    else if (!dy[0])
        dx[0] = wg_scale(dy[1], 3);
    else
        dx[0] = wg_add(wg_mul(dy[0], wg_scale(x, 2)), wg_scale(dy[1], 3));
}

/* Forgets that a result may have none. */
static void grad_without_null(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_add(wg_mul(dy[0], wg_scale(n->in[0], 2)), wg_scale(dy[1], 3));
}

static void results_are_checked_alone_at_every_order(void **state)
{
    (void)state;
    static const wg_sample only[] = {{"only", NULL, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}}};
    wg_op op = {.name = "two",
                .formula = "p = x^2, q = 3 x",
                .operands = "x",
                .results = "p q",
                .reads = WG_READS_X,
                .infer = infer_two,
                .reference = run_two,
                WG_SAMPLES(only)};
    for (int order = 1; order <= 3; order++) {
        const wg_gradcheck_options o = {.evaluator = wg_plan_evaluator(), .order = order};
        wg_gradcheck_report r;
        op.grad = grad_wrong_alone;
        assert_int_equal(wg_gradcheck_op(&op, only, &o, &r), WG_EDATA);
        assert_int_equal(r.verdict, WG_GRADCHECK_WRONG);
        check_that(strstr(r.guilty, "op two"), "%s", r.message);
        op.grad = grad_without_null;
        assert_int_equal(wg_gradcheck_op(&op, only, &o, &r), WG_EINVAL);
        assert_int_equal(r.verdict, WG_GRADCHECK_NONE);
        check_that(strstr(r.message, "mul(NULL, ") || strstr(r.message, ", NULL)"), "%s",
                   r.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_drowned_by_rounding_are_undecided),
        cmocka_unit_test(steps_of_a_staircase_are_kinks),
        cmocka_unit_test(absurd_numbers_are_told),
        cmocka_unit_test(an_unlucky_point_is_drawn_again),
        cmocka_unit_test(a_gradient_of_zero_is_right),
        cmocka_unit_test(kernels_that_ignore_f64_are_told),
        cmocka_unit_test(an_op_is_named_with_operand_and_sample),
        cmocka_unit_test(blame_needs_an_explanation),
        cmocka_unit_test(one_wrong_element_of_many_is_seen),
        cmocka_unit_test(the_live_batch_is_checked),
        cmocka_unit_test(results_are_checked_alone_at_every_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
