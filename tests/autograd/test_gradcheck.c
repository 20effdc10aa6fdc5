/* The gradient check itself: that it passes what is right, and finds and names what is wrong. */
#include "tests/test.h"
#include "wengert/autograd/gradcheck.h"
#include "wengert/backends/evaluate.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

static wg_gradcheck_options options_of_order(int order)
{
    return (wg_gradcheck_options){.evaluator = wg_plan_evaluator(), .order = order, .seed = 11};
}

static int line_of_tanh;

/* loss = sum((relu(tanh(x w1 + b1)) w2)^2), f32 as a user would write it */
static wg_graph *small_network(void)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(5, 4));
    wg_scope_push(g, "hidden");
    wg_value *w1 = wg_parameter(g, "w", WG_F32, WG_SHAPE(4, 6), wg_xavier(1));
    wg_value *b1 = wg_parameter(g, "b", WG_F32, WG_SHAPE(6), wg_zeros());
    wg_value *h = wg_add(wg_matmul(x, w1), b1);
    line_of_tanh = __LINE__ + 1;
    h = wg_tanh(h);
    h = wg_relu(h);
    wg_scope_pop(g);
    wg_value *w2 = wg_parameter(g, "w2", WG_F32, WG_SHAPE(6, 3), wg_xavier(1));
    wg_value *e = wg_matmul(h, w2);
    wg_output(wg_sum(wg_mul(e, e), WG_ALL_AXES, WG_DROP), "loss");
    return g;
}

static void a_right_graph_passes_at_orders_1_to_3(void **state)
{
    (void)state;
    for (int order = 1; order <= 3; order++) {
        wg_graph *g = small_network();
        size_t nodes = wg_graph_node_count(g);
        wg_gradcheck_options o = options_of_order(order);
        o.max = 20;
        wg_gradcheck_report r;
        wg_status status = wg_gradcheck(g, &o, &r);
        check_that(status == WG_OK, "order %d: %s", order, r.message);
        print_message("order %d: %s\n", order, r.message);
        assert_true(r.compared >= 50 && r.skipped == 0 && r.failed == 0);
        assert_int_equal(wg_graph_node_count(g), nodes); /* the user's graph is as it was */
        wg_graph_free(g);
    }
}

typedef struct told {
    size_t calls, done, all;
    int order;
} told;

static void note_progress(void *context, int order, size_t done, size_t all)
{
    told *t = context;
    assert_true(order == t->order || (order == t->order + 1 && t->done == t->all));
    if (order != t->order)
        t->done = 0;
    assert_int_equal(done, t->done + 1);
    assert_true(done <= all);
    *t = (told){t->calls + 1, done, all, order};
}

/* Each comparison is told, of each order up to the last. */
static void the_progress_of_a_check_is_told(void **state)
{
    (void)state;
    wg_graph *g = small_network();
    told t = {0};
    wg_gradcheck_options o = options_of_order(2);
    wg_gradcheck_report r;
    o.max = 5;
    o.progress = note_progress;
    o.context = &t;
    check_that(wg_gradcheck(g, &o, &r) == WG_OK, "%s", r.message);
    assert_int_equal(t.order, 2);
    assert_true(t.done == t.all && t.calls > t.all && t.calls >= r.compared);
    wg_graph_free(g);
}

/* ---- what is wrong is found and named -------------------------------------------------------- */

static void flip(void *context, wg_node *n, wg_value *const *dy, wg_value **dx)
{
    (void)dy;
    if (strcmp(n->op->name, context) == 0 && dx[0] && n->phase == WG_FORWARD)
        dx[0] = wg_neg(dx[0]);
}

static void the_guilty_node_is_named(void **state)
{
    (void)state;
    wg_graph *g = small_network();
    const wg_grad_hook hook = {flip, "tanh"};
    wg_gradcheck_options o = options_of_order(1);
    o.hook = &hook;
    wg_gradcheck_report r;
    assert_int_equal(wg_gradcheck(g, &o, &r), WG_EDATA);
    char expected[100];
    snprintf(expected, sizeof expected, "op tanh in hidden at test_gradcheck.c:%d (forward)",
             line_of_tanh);
    assert_string_equal(r.guilty, expected);
    assert_non_null(strstr(r.message, expected));
    assert_true(r.failed > 0 && !(r.worst <= r.tolerance) && r.order == 1);
    assert_true(strncmp(r.leaf, "hidden/", 7) == 0 || strcmp(r.leaf, "x") == 0);
    /* a flipped sign: same magnitude */
    check_that(r.analytic * r.numeric < 0, "%g %g", r.analytic, r.numeric);
    wg_graph_free(g);
}

/* ---- an op of the user's own ----------------------------------------------------------------- */

static bool infer_cube(wg_node *n)
{
    return wg_need_float(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}
static void cube(wg_call *c)
{
    int64_t count = wg_value_count(c->node->out[0]);
    for (int64_t i = 0; i < count; i++) {
        double x = ((const double *)c->in[0])[i];
        ((double *)c->out[0])[i] = x * x * x;
    }
}
static void grad_cube(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *x = n->in[0];
    dx[0] = wg_mul(dy[0], wg_scale(wg_mul(x, x), 3));
}
/* the rule is right, the derivative of the rule is not: x is read as a constant */
static void grad_cube_once(wg_node *n, wg_value *const *dy, wg_value **dx);
/* the same, said openly */
static void grad_cube_stopped(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *x = n->in[0];
    dx[0] = wg_mul(dy[0], wg_scale(wg_mul(x, wg_stop_gradient(x)), 3));
}
/* right by luck wherever |x| is 1 */
static void grad_nan(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_div(wg_mul(dy[0], wg_scalar_like(n->in[0], 0)), wg_scalar_like(n->in[0], 0));
}

static const wg_sample cube_samples[] = {{NULL, NULL, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}}};
#define CUBE                                                                                       \
    .name = "cube", .formula = "y = x^3", .operands = "x", .infer = infer_cube, .reference = cube, \
    .samples = cube_samples, .n_samples = 1
static const wg_op op_cube = {CUBE, .grad = grad_cube, .reads = WG_READS_X};
static const wg_op op_cube_once = {CUBE, .grad = grad_cube_once, .reads = WG_READS_X};
static const wg_op op_cube_nan = {CUBE, .grad = grad_nan};
static const wg_op op_cube_missing = {CUBE};
static const wg_op op_cube_stopped = {CUBE, .grad = grad_cube_stopped, .reads = WG_READS_X};
static const wg_op op_square_kernel = {.name = "square_of",
                                       .formula = "y = x^2",

                                       .operands = "x",
                                       .infer = infer_cube,
                                       .reference = cube,
                                       .grad = NULL,
                                       .flags = WG_OP_DISCRETE};

static void grad_cube_once(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *stale =
        wg_apply1(WG_HERE, &op_square_kernel, NULL, n->in[0]); /* x^3, with a derivative of zero */
    dx[0] = wg_mul(dy[0], wg_scale(wg_div(stale, n->in[0]), 3));
}

static void ops_of_the_user_are_checked(void **state)
{
    (void)state;
    wg_gradcheck_options one = options_of_order(1), two = options_of_order(2),
                         three = options_of_order(3);
    wg_gradcheck_report r;
    check_that(wg_gradcheck_op(&op_cube, cube_samples, &three, &r) == WG_OK, "%s", r.message);
    assert_true(r.compared > 12 * 3);

    check_that(wg_gradcheck_op(&op_cube_once, cube_samples, &one, &r) == WG_OK, "%s", r.message);
    assert_int_equal(wg_gradcheck_op(&op_cube_once, cube_samples, &two, &r), WG_EDATA);
    assert_true(r.order == 2 && r.failed > 0);
    assert_non_null(strstr(r.message, "order 2"));

    /* what a rule holds constant hides its derivative: said from the order on that would see it */
    check_that(wg_gradcheck_op(&op_cube_stopped, cube_samples, &one, &r) == WG_OK, "%s", r.message);
    assert_int_equal(r.stopped, 0);
    check_that(wg_gradcheck_op(&op_cube_stopped, cube_samples, &two, &r) == WG_OK, "%s", r.message);
    assert_int_equal(r.stopped, 1);
    assert_non_null(strstr(r.message, "stop_gradient"));
    assert_int_equal(wg_gradcheck_op(&op_cube_nan, cube_samples, &one, &r),
                     WG_EDATA); /* NaN is no agreement */
    assert_true(isnan(r.worst) && isnan(r.analytic) && r.failed == 12);

    assert_int_equal(wg_gradcheck_op(&op_cube_missing, cube_samples, &one, &r), WG_EUNSUPPORTED);
    assert_non_null(strstr(r.message, "wg_gradcheck: no gradient rule for 1 op on the path: cube"));
    assert_null(strstr(r.message, "orders.c")); /* lines are those of the caller */
}

/* ---- what cannot be checked is no success ---------------------------------------------------- */

static void nothing_to_compare_is_a_failure(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(0, 3));
    wg_output(wg_exp(x), "y");
    wg_gradcheck_options o = options_of_order(1);
    wg_gradcheck_report r;
    assert_int_equal(wg_gradcheck(g, &o, &r), WG_EDATA);
    assert_string_equal(r.message, "nothing was compared");
    wg_graph_free(g);
}

static void too_many_kinks_are_a_failure(void **state)
{
    (void)state;
    static const double at_kinks[] = {0, 1e-9, 0, -1e-9, 0.5, 0.25},
                        few[] = {0.1, -0.2, 0.3, -0.1, 0.7, 2e-6};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(6));
    wg_output(wg_relu(x), "y");
    wg_gradcheck_leaf leaf = {.leaf = x, .data = at_kinks};
    wg_gradcheck_options o = options_of_order(1);
    o.leaves = &leaf;
    o.n_leaves = 1;
    wg_gradcheck_report r;
    assert_int_equal(wg_gradcheck(g, &o, &r), WG_EDATA);
    assert_int_equal(r.skipped, 4);
    assert_int_equal(r.failed, 0);
    assert_non_null(strstr(r.message, "kink"));
    leaf.data = few; /* one is so near that only a step shorter than usual stays on its side */
    check_that(wg_gradcheck(g, &o, &r) == WG_OK, "%s", r.message);
    assert_true(r.compared == 6 && r.skipped == 0);
    wg_graph_free(g);
}

static void integers_need_a_range_or_data(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *ids = wg_input(g, "ids", WG_I64, WG_SHAPE(3)),
             *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(4, 2), wg_ones());
    wg_value *y = wg_matmul(wg_one_hot(ids, 4, WG_F32), w);
    wg_output(wg_mul(y, y), "y");
    wg_gradcheck_options o = options_of_order(2);
    wg_gradcheck_report r;
    assert_int_equal(wg_gradcheck(g, &o, &r), WG_EINVAL);
    assert_string_equal(r.message, "ids holds integers: give its data or a range in .leaves");
    wg_gradcheck_leaf leaf = {.leaf = ids, .lo = 0, .hi = 4};
    o.leaves = &leaf;
    o.n_leaves = 1;
    check_that(wg_gradcheck(g, &o, &r) == WG_OK, "%s", r.message);
    leaf.data = (const int64_t[]){3, 0, 3};
    check_that(wg_gradcheck(g, &o, &r) == WG_OK, "%s", r.message);
    o.wrt = &ids;
    o.n_wrt = 1;
    assert_int_equal(wg_gradcheck(g, &o, &r), WG_EINVAL);
    assert_string_equal(r.message, "wrt[0], ids, is i64, expected an f32 or f64 leaf of the graph");
    o.evaluator = NULL;
    assert_int_equal(wg_gradcheck(g, &o, &r), WG_EINVAL);
    assert_int_equal(wg_gradcheck(g, NULL, NULL), WG_EINVAL);
    wg_graph_free(g);
}

/* ---- options that make no sense, and those that do ------------------------------------------- */

typedef struct scene {
    wg_graph *g, *other;
    wg_value *x, *y, *flag, *foreign; /* leaf f32, exp of it, bool leaf, leaf of the other graph */
    wg_gradcheck_leaf leaf;
    wg_value *one[1];
    wg_gradcheck_options o;
} scene;

static void no_evaluator(scene *s)
{
    s->o.evaluator = NULL;
}
static void negative_order(scene *s)
{
    s->o.order = -1;
}
static void leaves_without_array(scene *s)
{
    s->o.n_leaves = 1;
}
static void y_without_array(scene *s)
{
    s->o.n_y = 1;
}
static void wrt_without_array(scene *s)
{
    s->o.n_wrt = 1;
}
static void set_y(scene *s, wg_value *v)
{
    s->one[0] = v;
    s->o.y = s->one;
    s->o.n_y = 1;
}
static void set_wrt(scene *s, wg_value *v)
{
    s->one[0] = v;
    s->o.wrt = s->one;
    s->o.n_wrt = 1;
}
static void null_y(scene *s)
{
    set_y(s, NULL);
}
static void foreign_y(scene *s)
{
    set_y(s, s->foreign);
}
static void bool_y(scene *s)
{
    set_y(s, s->flag);
}
static void null_wrt(scene *s)
{
    set_wrt(s, NULL);
}
static void foreign_wrt(scene *s)
{
    set_wrt(s, s->foreign);
}
static void computed_wrt(scene *s)
{
    set_wrt(s, s->y);
}
static void graph_in_error(scene *s)
{
    wg_reshape(s->x, WG_SHAPE(7));
}
static void id_outside(scene *s)
{
    static const int32_t nine[] = {9};
    wg_value *id = wg_input(s->g, "id", WG_I32, WG_SHAPE(1));
    set_y(s, wg_take(s->y, id, 0));
    s->leaf = (wg_gradcheck_leaf){.leaf = id, .data = nine};
    s->o.leaves = &s->leaf;
    s->o.n_leaves = 1;
}

static void set_leaf(scene *s, const wg_value *v, double lo, double hi)
{
    s->leaf = (wg_gradcheck_leaf){.leaf = v, .lo = lo, .hi = hi};
    s->o.leaves = &s->leaf;
    s->o.n_leaves = 1;
}
static void null_leaf(scene *s)
{
    set_leaf(s, NULL, 1, 2);
}
static void foreign_leaf(scene *s)
{
    set_leaf(s, s->foreign, 1, 2);
}
static void computed_leaf(scene *s)
{
    set_leaf(s, s->y, 1, 2);
}
static void range_upside_down(scene *s)
{
    set_leaf(s, s->x, 2, 1);
}
static void empty_range(scene *s)
{
    set_leaf(s, s->x, 2, 2);
}

static void options_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(scene *s);
        wg_status status;
        const char *message; /* a part of it */
    } cases[] = {
        {no_evaluator, WG_EINVAL, "the options lack an evaluator, such as wg_plan_evaluator()"},
        {negative_order, WG_EINVAL, "order: expected 0 or more"},
        {leaves_without_array, WG_EINVAL, "the array leaves is NULL"},
        {y_without_array, WG_EINVAL, "the array y is NULL"},
        {wrt_without_array, WG_EINVAL, "the array wrt is NULL"},
        {null_leaf, WG_EINVAL, "leaves[0] is NULL, expected a leaf of the graph"},
        {foreign_leaf, WG_EINVAL, "leaves[0], x, is of another graph, f32, expected a leaf"},
        {computed_leaf, WG_EINVAL, "is f32 and computed, expected a leaf of the graph"},
        {range_upside_down, WG_EINVAL, "leaves[0], x: expected lo below hi, got 2, 1"},
        {empty_range, WG_EINVAL, "leaves[0], x: expected lo below hi, got 2, 2"},
        {null_y, WG_EINVAL, "y[0] is NULL, expected an f32 or f64 value of the graph"},
        {foreign_y, WG_EINVAL, "y[0], x, is of another graph, f32, expected"},
        {bool_y, WG_EINVAL, "y[0], flag, is bool, expected an f32 or f64 value"},
        {null_wrt, WG_EINVAL, "wrt[0] is NULL, expected an f32 or f64 leaf of the graph"},
        {foreign_wrt, WG_EINVAL, "wrt[0], x, is of another graph, f32, expected"},
        {computed_wrt, WG_EINVAL, " is f32 and computed, expected an f32 or f64 leaf"},
        {graph_in_error, WG_ESHAPE, "reshape(x)"},
        {id_outside, WG_EDATA, "cannot be computed: "},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        scene s = {.g = wg_graph_new(), .other = wg_graph_new(), .o = options_of_order(1)};
        s.x = wg_input(s.g, "x", WG_F32, WG_SHAPE(3));
        s.flag = wg_input(s.g, "flag", WG_BOOL, WG_SHAPE(3));
        s.y = wg_output(wg_exp(s.x), "y");
        s.foreign = wg_input(s.other, "x", WG_F32, WG_SHAPE(3));
        cases[i].spoil(&s);
        wg_gradcheck_report r;
        assert_int_equal(wg_gradcheck(s.g, &s.o, &r), cases[i].status);
        check_that(strstr(r.message, cases[i].message) != NULL, "case %d: %s", i, r.message);
        assert_int_equal(wg_gradcheck(s.g, &s.o, NULL), cases[i].status); /* no report wanted */
        wg_graph_free(s.g);
        wg_graph_free(s.other);
    }
    wg_gradcheck_report r;
    assert_int_equal(
        wg_gradcheck(NULL, &(wg_gradcheck_options){.evaluator = wg_plan_evaluator()}, &r),
        WG_ENOMEM);
    assert_int_equal(wg_gradcheck_op(&op_cube, cube_samples, NULL, &r), WG_EINVAL);
}

static void graphs_without_float_ends_are_refused(void **state)
{
    (void)state;
    wg_gradcheck_options o = options_of_order(1);
    wg_gradcheck_report r;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));
    wg_output(wg_argmax(x, 0, WG_DROP), "place");
    assert_int_equal(wg_gradcheck(g, &o, &r), WG_EINVAL);
    assert_string_equal(r.message, "no float output");
    wg_graph_free(g);

    g = wg_graph_new();
    x = wg_input(g, "x", WG_BOOL, WG_SHAPE(3));
    wg_output(wg_cast(x, WG_F32), "y");
    assert_int_equal(wg_gradcheck(g, &o, &r), WG_EINVAL);
    assert_string_equal(r.message, "no float leaf to differentiate in");
    wg_graph_free(g);
}

/* A graph that stores in 16 bits is checked in f64, with the numbers that the leaves have. */
static void narrow_floats_are_checked_in_f64(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_BF16, WG_F16};
    static const uint16_t numbers[] = {0x3e80, 0xbf00, 0x3f40};
    for (int i = 0; i < 2; i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", dtypes[i], WG_SHAPE(3));
        wg_value *w = wg_input(g, "w", WG_F32, WG_SHAPE(3));
        wg_value *c = wg_constant(g, dtypes[i], WG_SHAPE(3), numbers);
        wg_value *h = wg_mul(wg_exp(wg_mul(x, wg_cast(w, dtypes[i]))), c);
        wg_output(wg_sin(wg_cast(h, WG_F32)), "y");
        const wg_gradcheck_leaf leaf = {.leaf = x, .data = numbers};
        wg_gradcheck_options o = options_of_order(2);
        o.leaves = &leaf;
        o.n_leaves = 1;
        wg_gradcheck_report r;
        check_that(wg_gradcheck(g, &o, &r) == WG_OK, "%s", r.message);
        check_that(r.compared >= 6 && r.worst <= r.tolerance, "%zu compared, error %g", r.compared,
                   r.worst);
        wg_graph_free(g);
    }
}

/* f32 data are widened, i32 and bool leaves drawn, y and wrt chosen, four points taken. */
static void options_choose_what_is_compared(void **state)
{
    (void)state;
    static const float numbers[] = {0.25f, -0.5f, 0.75f};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3)), *w = wg_input(g, "w", WG_F32, WG_SHAPE(3)),
             *id = wg_input(g, "id", WG_I32, WG_SHAPE(2)),
             *flag = wg_input(g, "flag", WG_BOOL, WG_SHAPE(3));
    wg_value *y = wg_where(flag, wg_exp(wg_mul(x, w)), x), *z = wg_take(wg_sin(x), id, 0);
    wg_output(y, "y");
    wg_output(wg_argmax(x, 0, WG_DROP), "place"); /* no float: left out */
    const wg_gradcheck_leaf leaf[] = {{.leaf = x, .data = numbers}, {.leaf = id, .lo = 0, .hi = 3}};
    wg_gradcheck_options o = options_of_order(1);
    o.leaves = leaf;
    o.n_leaves = 2;
    o.differences = WG_DIFFERENCES_FOUR_POINT;
    wg_gradcheck_report r;
    check_that(wg_gradcheck(g, &o, &r) == WG_OK, "%s", r.message);
    assert_true(r.compared == 6 && r.tolerance == 1e-9);
    o.differences = WG_DIFFERENCES_TWO_POINT;
    o.y = &z;
    o.n_y = 1;
    o.wrt = &x;
    o.n_wrt = 1;
    check_that(wg_gradcheck(g, &o, &r) == WG_OK, "%s", r.message);
    assert_true(r.compared == 3 && r.tolerance == 1e-8);
    o.max = 2;
    check_that(wg_gradcheck(g, &o, &r) == WG_OK, "%s", r.message);
    assert_int_equal(r.compared, 3); /* and a line through all three */
    wg_graph_free(g);
}

/* ---- single ops that cannot be right --------------------------------------------------------- */

static void grad_of_a_discrete(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    (void)n;
    dx[0] = dy[0];
}

static void samples_must_have_room(void **state)
{
    (void)state;
    static const wg_sample narrow[] = {
        {NULL, NULL, 1, {WG_FLOATS(1, 1, 1, 3)}},
        {NULL, NULL, 1, {WG_FLOATS(2, 1, 1, 3)}},
    };
    wg_gradcheck_options o = options_of_order(1);
    wg_gradcheck_report r;
    for (int i = 0; i < WG_COUNT(narrow); i++) {
        assert_int_equal(wg_gradcheck_op(&op_cube, &narrow[i], &o, &r), WG_EINVAL);
        assert_string_equal(
            r.message, "the ranges of the sample are too narrow for that many distinct numbers");
    }
    static const double everywhere[] = {-1.75, -1.5, -1.25, -1, -0.75, -0.5, -0.25, 0,
                                        0.25,  0.5,  0.75,  1,  1.25,  1.5,  1.75};
    wg_op crowded = op_cube;
    crowded.kinks = everywhere;
    crowded.n_kinks = WG_COUNT(everywhere);
    check_that(wg_gradcheck_op(&crowded, cube_samples, &o, &r) == WG_OK, "%s", r.message);
    assert_int_equal(r.compared, 12);
}

static void a_discrete_op_has_no_gradient(void **state)
{
    (void)state;
    wg_op steps = op_cube;
    steps.flags = WG_OP_DISCRETE;
    wg_gradcheck_options o = options_of_order(1);
    wg_gradcheck_report r;
    check_that(wg_gradcheck_op(&steps, cube_samples, &o, &r) == WG_OK, "%s", r.message);
    assert_true(r.no_derivative && r.compared == 12);
    steps.grad = grad_of_a_discrete;
    steps.flags = 0;
    steps.smoothness = WG_KINKED;
    assert_int_equal(wg_gradcheck_op(&steps, cube_samples, &o, &r), WG_EDATA);
    assert_true(!r.no_derivative && r.failed == 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_graph_passes_at_orders_1_to_3),
        cmocka_unit_test(the_progress_of_a_check_is_told),
        cmocka_unit_test(the_guilty_node_is_named),
        cmocka_unit_test(ops_of_the_user_are_checked),
        cmocka_unit_test(nothing_to_compare_is_a_failure),
        cmocka_unit_test(too_many_kinks_are_a_failure),
        cmocka_unit_test(integers_need_a_range_or_data),
        cmocka_unit_test(options_that_make_no_sense_are_refused),
        cmocka_unit_test(graphs_without_float_ends_are_refused),
        cmocka_unit_test(narrow_floats_are_checked_in_f64),
        cmocka_unit_test(options_choose_what_is_compared),
        cmocka_unit_test(samples_must_have_room),
        cmocka_unit_test(a_discrete_op_has_no_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
