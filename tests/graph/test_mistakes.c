/* Mistakes of whoever builds a graph: each has a message that says what and where; NULL passes
 * through. */
#include "tests/test.h"
#include "wengert/autograd/grad.h"
#include "wengert/graph/op.h"
#include "wengert/models/optimizer.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

typedef struct scene {
    wg_graph *g, *other;
    wg_value *x, *y, *foreign; /* a leaf f32[3], exp of it, a leaf of the other graph */
} scene;

static void result_past_the_end(scene *s)
{
    assert_null(wg_result_of(s->y, 1));
}
static void result_below_zero(scene *s)
{
    assert_null(wg_result_of(s->y, -1));
}
static void assign_nothing(scene *s)
{
    wg_assign(s->x, NULL);
}
static void assign_to_nothing(scene *s)
{
    wg_assign(NULL, s->y);
}
static void assign_across(scene *s)
{
    wg_assign(s->x, s->foreign);
}
static void assign_to_result(scene *s)
{
    wg_assign(s->y, s->x);
}
static void assign_other_shape(scene *s)
{
    wg_assign(s->x, wg_reshape(s->y, WG_SHAPE(3, 1)));
}
static void assign_other_dtype(scene *s)
{
    wg_assign(s->x, wg_cast(s->y, WG_F64));
}
static void leaf_without_name(scene *s)
{
    assert_null(wg_input(s->g, NULL, WG_F32, WG_SCALAR));
}
static void leaf_of_empty_name(scene *s)
{
    assert_null(wg_input(s->g, "", WG_F32, WG_SCALAR));
}
static void leaf_of_long_name(scene *s)
{
    char name[402];
    memset(name, 'n', 401);
    name[401] = '\0';
    assert_null(wg_input(s->g, name, WG_F32, WG_SCALAR));
}
static void leaf_of_taken_name(scene *s)
{
    assert_null(wg_input(s->g, "x", WG_F32, WG_SCALAR));
}
static void scope_without_name(scene *s)
{
    wg_scope_push(s->g, "%s", "");
}
static void scope_of_long_name(scene *s)
{
    wg_scope_push(s->g, "%0600d", 0);
}
static void scope_of_no_format(scene *s)
{
    char share[8] = "100_";
    share[3] = '%'; /* a format that the compiler knows, it would refuse */
    wg_scope_push(s->g, share, 0);
}
static void scope_of_long_path(scene *s)
{
    for (int i = 0; i < 3; i++)
        wg_scope_push(s->g, "%0400d", 0);
}
static void operand_of_another_graph(scene *s)
{
    assert_null(wg_add(s->x, s->foreign));
}
static void too_few_operands(scene *s)
{
    assert_null(wg_apply(NULL, s->g, s->y->node->op, NULL, NULL, 0));
}
static void too_many_operands(scene *s)
{
    wg_value *in[] = {s->x, s->x};
    assert_null(wg_apply(NULL, s->g, s->y->node->op, NULL, in, 2));
}
static void no_operand(scene *s)
{
    wg_value *in[] = {NULL};
    assert_null(wg_apply(NULL, s->g, s->y->node->op, NULL, in, 1));
}
static void barrier_without_list(scene *s)
{
    assert_null((wg_barrier)(NULL, s->x, NULL, 3));
}
static void barrier_of_too_many(scene *s)
{
    assert_null((wg_barrier)(NULL, s->x, &s->y, INT32_MAX));
}
static void builder_with_a_long_text(scene *s)
{
    assert_null(wg_graph_fail(s->g, WG_EINVAL, "far/away.c:7", "mine", "%0600d", 1));
}
static void clip_to_less_than_nothing(scene *s)
{
    wg_value *out;
    assert_null((wg_clip_by_global_norm)(NULL, &s->x, 1, -1, &out));
}
static void update_of_no_leaf(scene *s)
{
    wg_value *lr = wg_fill(s->g, WG_F32, WG_SCALAR, 0.1);
    assert_int_equal((wg_adam_update)(NULL, &s->y, &s->x, 1, lr, NULL), WG_EINVAL);
}

static void assign_to_input(scene *s)
{
    wg_assign(s->x, s->y);
}
static void assign_twice(scene *s)
{
    wg_value *w = wg_parameter(s->g, "w", WG_F32, WG_SHAPE(3), wg_zeros());
    wg_assign(w, s->x);
    wg_assign(w, s->y);
}
static void outputs_of_one_name(scene *s)
{
    assert_ptr_equal(wg_output(s->y, "y"), s->y);
    assert_ptr_equal(wg_output(s->y, "y"), s->y); /* of one value that is no mistake */
    assert_null(wg_output(s->x, "y"));
}
static void verified_in_a_scope(scene *s)
{
    wg_scope_push(s->g, "encoder");
    wg_scope_push(s->g, "layer0");
    wg_neg(s->x);
    wg_scope_pop(s->g);
    wg_exp(s->y);
    assert_int_equal(wg_graph_verify(s->g), WG_EINVAL);
}
static wg_value *integers(scene *s)
{
    return wg_input(s->g, "n", WG_I32, WG_SHAPE(4));
}
static void half_of_integers(scene *s)
{
    assert_null(wg_scale(integers(s), 0.5));
}
static void integers_and_a_fraction(scene *s)
{
    assert_null(wg_shift(integers(s), 0.7));
}
static void integers_padded_with_a_fraction(scene *s)
{
    assert_null(wg_pad(integers(s), WG_SHAPE(0), WG_SHAPE(1), 0.5));
}
static void integers_masked_with_a_fraction(scene *s)
{
    wg_value *n = integers(s);
    assert_null(wg_masked_fill(n, wg_equal(n, n), 1.5));
}
static void integers_filled_with_a_fraction(scene *s)
{
    assert_null(wg_fill(s->g, WG_I32, WG_SCALAR, 2.9));
}
static void integers_filled_with_too_much(scene *s)
{
    assert_null(wg_fill(s->g, WG_I32, WG_SCALAR, 1e12));
}
static void bool_of_two(scene *s)
{
    assert_null(wg_fill(s->g, WG_BOOL, WG_SCALAR, 2));
}
static void long_of_two_to_63(scene *s)
{
    assert_null(wg_fill(s->g, WG_I64, WG_SCALAR, 0x1p63));
}
static void float_of_too_much(scene *s)
{
    assert_null(wg_scale(s->x, 1e300));
}
static void float_of_too_little(scene *s)
{
    assert_null(wg_fill(s->g, WG_F32, WG_SCALAR, 1e-60));
}
static void clamp_at_too_much(scene *s)
{
    assert_null(wg_clamp(s->x, 0, 1e300));
}
static void counting_beyond_the_dtype(scene *s)
{
    assert_null(wg_iota(s->g, WG_I8, WG_SHAPE(200), 0, 0, 1));
}
static void counting_by_halves(scene *s)
{
    assert_null(wg_iota(s->g, WG_I32, WG_SHAPE(3), 0, 0, 0.5));
}
static void state_of_a_fraction(scene *s)
{
    assert_null(wg_state(s->g, "s", WG_I64, WG_SCALAR, (wg_init){.scale = 0.5}));
}
static void random_integers(scene *s)
{
    assert_null(wg_state(s->g, "s", WG_I64, WG_SCALAR, wg_xavier(1)));
}
static void input_of_unknown_size(scene *s)
{
    assert_null(wg_input(s->g, "b", WG_F32, WG_SHAPE(-1, 8)));
}
static void scan_of_other_steps(scene *s)
{
    wg_value *a = wg_input(s->g, "a", WG_F32, WG_SHAPE(2, 2, 4));
    assert_null(wg_linear_scan(a, wg_input(s->g, "b", WG_F32, WG_SHAPE(2, 3, 4)), NULL, NULL));
}
static void scope_closed_twice(scene *s)
{
    wg_scope_push(s->g, "encoder");
    wg_scope_pop(s->g);
    wg_scope_pop(s->g);
}
static void reshape_that_does_not_divide(scene *s)
{
    wg_value *a = wg_input(s->g, "a", WG_F32, WG_SHAPE(3, 4));
    assert_null(wg_reshape(a, WG_SHAPE(5, -1)));
}
static void reshape_of_nothing(scene *s)
{
    wg_value *a = wg_input(s->g, "a", WG_F32, WG_SHAPE(0, 4));
    assert_null(wg_reshape(a, WG_SHAPE(0, -1)));
}
static void reshape_with_two_unknowns(scene *s)
{
    assert_null(wg_reshape(s->x, WG_SHAPE(-1, -1)));
}
static void two_optimizers_of_one_name(scene *s)
{
    wg_value *w[2] = {wg_parameter(s->g, "w", WG_F32, WG_SHAPE(3), wg_zeros()),
                      wg_parameter(s->g, "v", WG_F32, WG_SHAPE(3), wg_zeros())};
    wg_value *lr = wg_fill(s->g, WG_F32, WG_SCALAR, 0.1);
    for (int i = 0; i < 2; i++)
        wg_adam_update(&w[i], &s->x, 1, lr, NULL);
}
static void gradient_without_parameters(scene *s)
{
    assert_int_equal(wg_grad_all(wg_sum(s->y, WG_ALL_AXES, WG_DROP)).n, 0);
}
static void gradient_of_nothing_that_is_trained(scene *s)
{
    wg_parameter(s->g, "w", WG_F32, WG_SHAPE(3), wg_zeros());
    assert_null(wg_grad_all(wg_sum(s->y, WG_ALL_AXES, WG_DROP)).params);
}

/* clang-format off */
static const struct {
    void (*make)(scene *s);
    const char *message; /* how it begins */
} mistakes[] = {
    {result_past_the_end, "wg_result_of: result 1 of exp was asked for, it has 1 (test_m"},
    {result_below_zero, "wg_result_of: result -1 of exp was asked for, it has 1 (test_mis"},
    {assign_nothing, "wg_assign: the value is NULL (test_mistakes.c:"},
    {assign_to_nothing, "wg_assign: the leaf is NULL (test_mistakes.c:"},
    {assign_across, "wg_assign: leaf and value are of two graphs (test_mistakes.c:"},
    {assign_to_result, "wg_assign: %1 is not a leaf but a result of exp (test_mistakes.c:"},
    {assign_other_shape, "wg_assign: f32[3] cannot take f32[3,1] (test_mistakes.c:"},
    {assign_other_dtype, "wg_assign: f32[3] cannot take f64[3] (test_mistakes.c:"},
    {leaf_without_name, "input: the name must have 1 to 400 bytes (test_mistakes.c:"},
    {leaf_of_empty_name, "input: the name must have 1 to 400 bytes (test_mistakes.c:"},
    {leaf_of_long_name, "input: the name must have 1 to 400 bytes (test_mistakes.c:"},
    {leaf_of_taken_name, "input: the name 'x' is taken by a value built at test_mistakes.c:"},
    {scope_without_name, "wg_scope_push: the name has 0 bytes, must have 1 to 511"},
    {scope_of_long_name, "wg_scope_push: the name has 600 bytes, must have 1 to 511"},
    {scope_of_no_format, "wg_scope_push: '100%' is no format: write %% for a percent sign"},
    {scope_of_long_path, "0000"},
    {operand_of_another_graph,
     "add(x, foreign): b belongs to another graph than the other operands (test_mistakes.c:"},
    {too_few_operands, "exp("},
    {too_many_operands, "exp(x, x): 2 operands, must be at most 1"},
    {no_operand, "exp("},
    {barrier_without_list, "barrier: no list of 3 tokens"},
    {barrier_of_too_many, "barrier: no list of 2147483647 tokens"},
    {builder_with_a_long_text, "mine: 0000000000"},
    {clip_to_less_than_nothing, "clip_by_global_norm: max_norm is -1, must be 0 or more"},
    {update_of_no_leaf, "adam: expected parameters, got a value without a name, of exp"},
    {assign_to_input,
     "wg_assign: x is an input: only a parameter or a state can be assigned "
     "(test_mistakes.c:"},
    {assign_twice, "wg_assign: w is assigned already at test_mistakes.c:"},
    {outputs_of_one_name,
     "wg_output: the name 'y' is taken by the output of exp built at test_mistakes.c:"},
    {verified_in_a_scope,
     "encoder: wg_graph_verify: the scope is still open: wg_scope_pop is missing; it was opened "
     "before test_mistakes.c:"},
    {half_of_integers,
     "scale: n is i32, which cannot hold 0.5: wg_cast it to a float dtype "
     "(test_mistakes.c:"},
    {integers_and_a_fraction, "shift: n is i32, which cannot hold 0.7: wg_cast it"},
    {integers_padded_with_a_fraction, "pad(n): value is 0.5, which i32 cannot hold"},
    {integers_masked_with_a_fraction, "masked_fill(n, %"},
    {integers_filled_with_a_fraction,
     "fill(): value is 2.9, which i32 cannot hold (test_mistakes.c:"},
    {integers_filled_with_too_much, "fill(): value is 1e+12, which i32 cannot hold"},
    {bool_of_two, "fill(): value is 2, which bool cannot hold"},
    {long_of_two_to_63, "fill(): value is 9.223372037e+18, which i64 cannot hold"},
    {float_of_too_much, "scale: x is f32, which cannot hold 1e+300 (test_mistakes.c:"},
    {float_of_too_little, "fill(): value is 1e-60, which f32 cannot hold"},
    {clamp_at_too_much, "clamp(x): max is 1e+300, which f32 cannot hold"},
    {counting_beyond_the_dtype, "iota(): the last number is 199, which i8 cannot hold"},
    {counting_by_halves, "iota(): step is 0.5, which i32 cannot hold"},
    {state_of_a_fraction, "state(s): the initial value is 0.5, which i64 cannot hold"},
    {random_integers, "state(s): initial values of i64 cannot be random (xavier)"},
    {input_of_unknown_size,
     "input(b): the shape [-1,8] has a negative size (test_mistakes.c:"},
    {scan_of_other_steps, "linear_scan(a, b): a is [2,2,4] but x is [2,3,4]"},
    {scope_closed_twice,
     "wg_scope_pop: no scope is open: one call more than of wg_scope_push, after "
     "test_mistakes.c:"},
    {reshape_that_does_not_divide,
     "reshape(a): no size for the -1 of [5,-1] gives the 12 elements of [3,4] "
     "(test_mistakes.c:"},
    {reshape_of_nothing,
     "reshape(a): any size for the -1 of [0,-1] gives the 0 elements of [0,4]: write the size"},
    {reshape_with_two_unknowns, "reshape(x): [-1,-1] has more than one size of -1"},
    {two_optimizers_of_one_name, "adam: the name 'adam/step' is taken by a value built at "},
    {gradient_without_parameters, "wg_grad_all: the graph has no parameters (test_mistakes.c:"},
    {gradient_of_nothing_that_is_trained,
     "wg_grad_all: the loss depends on none of the 1 parameters"},
};
/* clang-format on */

static void every_mistake_has_a_message(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(mistakes); i++) {
        scene s = {.g = wg_graph_new(), .other = wg_graph_new()};
        s.x = wg_input(s.g, "x", WG_F32, WG_SHAPE(3));
        s.y = wg_exp(s.x);
        s.foreign = wg_input(s.other, "foreign", WG_F32, WG_SHAPE(3));
        assert_int_equal(wg_graph_status(s.g), WG_OK);
        mistakes[i].make(&s);
        const char *message = wg_graph_message(s.g);
        assert_int_not_equal(wg_graph_status(s.g), WG_OK);
        check_that(strncmp(message, mistakes[i].message, strlen(mistakes[i].message)) == 0,
                   "expected \"%s...\", got \"%s\"", mistakes[i].message, message);
        bool both = mistakes[i].make == operand_of_another_graph ||
                    mistakes[i].make == assign_across; /* the mistake of either graph */
        assert_int_equal(wg_graph_status(s.other), both ? WG_EINVAL : WG_OK);
        assert_null(wg_graph_clone(s.g, NULL, NULL)); /* a graph in error is not copied */
        wg_graph_free(s.g);
        wg_graph_free(s.other);
    }
}

/* A program may look at either graph, so it is told in both, whichever operand comes first. */
static void a_value_of_another_graph_is_an_error_of_both(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        wg_graph *g = wg_graph_new(), *h = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3)),
                 *q = wg_input(h, "q", WG_F32, WG_SHAPE(3));
        assert_null(first ? wg_add(q, x) : wg_add(x, q));
        const char *of_second = wg_graph_message(first ? g : h),
                   *of_first = wg_graph_message(first ? h : g);
        check_that(strstr(of_first, "b belongs to another graph"), "%s", of_first);
        check_that(strstr(of_second, first ? "add: b, x, belongs to this graph, other operands to "
                                             "another one (test_mistakes.c:"
                                           : "add: b, q, belongs to this graph, other operands to "
                                             "another one (test_mistakes.c:"),
                   "%s", of_second);
        assert_null(wg_exp(x)); /* sticky */
        assert_null(wg_exp(q));
        wg_graph_free(g);
        wg_graph_free(h);
    }
}

/* Two operands whose names end alike are told apart. */
static void operands_of_like_names_are_shown_in_full(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_scope_push(g, "a");
    wg_value *x = wg_input(g, "w", WG_F32, WG_SHAPE(3));
    wg_scope_pop(g);
    wg_scope_push(g, "b");
    wg_value *y = wg_input(g, "w", WG_F32, WG_SHAPE(4)), *z = wg_input(g, "z", WG_F32, WG_SHAPE(4));
    wg_scope_pop(g);
    char text[200];
    wg_node_message(wg_mul(y, z)->node, "fine", text, sizeof text);
    assert_non_null(strstr(text, "mul(w, z): fine"));
    assert_null(wg_add(x, y));
    check_that(strstr(wg_graph_message(g), "add(a/w, b/w): "), "%s", wg_graph_message(g));
    wg_graph_free(g);
}

/* Builders and readers let NULL through. */
static void null_passes_through(void **state)
{
    (void)state;
    wg_value *leaf, *v, *none[2] = {NULL, NULL};
    wg_scope_push(NULL, "s");
    wg_scope_pop(NULL);
    wg_scope_recompute(NULL);
    wg_graph_set_origin(NULL, (wg_origin){0});
    wg_assign(NULL, NULL);
    assert_string_equal(wg_scope_path(NULL), "");
    assert_null(wg_graph_origin(NULL).scope);
    assert_int_equal(wg_graph_new_key(NULL), 0);
    assert_null(wg_graph_alloc(NULL, 8));
    assert_null(wg_graph_of(NULL));
    assert_null(wg_result_of(NULL, 0));
    assert_null(wg_name(NULL, "n"));
    assert_null(wg_name_leaf(NULL, "n"));
    assert_null(wg_output(NULL, "y"));
    assert_null(wg_graph_find(NULL, "x"));
    assert_int_equal(wg_graph_node_count(NULL) + wg_graph_value_count(NULL) +
                         wg_graph_output_count(NULL) + wg_graph_assign_count(NULL),
                     0);
    assert_null(wg_graph_node(NULL, 0));
    assert_null(wg_graph_value(NULL, 0));
    assert_null(wg_graph_output(NULL, 0));
    assert_null(wg_graph_output_name(NULL, 0));
    wg_graph_assign_at(NULL, 0, &leaf, &v);
    assert_true(!leaf && !v);
    assert_int_equal(wg_graph_parameters(NULL, NULL, 0), 0);
    assert_int_equal(wg_graph_status(NULL), WG_ENOMEM);
    assert_string_equal(wg_graph_message(NULL), "the graph is NULL: out of memory");
    assert_int_equal(wg_graph_verify(NULL), WG_ENOMEM);
    assert_int_equal(wg_graph_print(NULL, stdout), WG_EINVAL);
    assert_null(wg_graph_clone(NULL, NULL, NULL));
    assert_int_equal(wg_graph_hash(NULL), wg_graph_hash(NULL));
    assert_int_equal(wg_value_count(NULL), 0);
    assert_int_equal(wg_value_dim(NULL, 0), 0);
    assert_int_equal(wg_value_bytes(NULL), 0);
    assert_null(wg_apply(NULL, NULL, wg_op_find("exp"), NULL, NULL, 1));
    assert_null(wg_concat(NULL, 2, 0));
    assert_null(wg_concat(none, 2, 0));
    assert_null(wg_squeeze(NULL, 0));
    assert_null(wg_unsqueeze(NULL, 0));
    assert_null(wg_transpose(NULL));
    assert_null(wg_permute(NULL, WG_ALL_AXES));
    assert_null(wg_zeros_like(NULL));
    assert_null(wg_scalar_like(NULL, 1));
    assert_null((wg_barrier)(NULL, NULL, NULL, 0));
    assert_null((wg_clip_by_global_norm)(NULL, none, 2, 1, none));
    assert_null((wg_clip_by_global_norm)(NULL, NULL, 0, 1, NULL));
    assert_int_not_equal((wg_sgd_update)(NULL, none, none, 2, NULL, NULL), WG_OK);
    assert_int_not_equal((wg_adam_update)(NULL, none, none, 2, NULL, NULL), WG_OK);
    assert_string_equal(wg_status_text((wg_status)99), "unknown status");
    assert_string_equal(wg_status_text((wg_status)-1), "unknown status");
    assert_string_equal(wg_dtype_name((wg_dtype)99), "no dtype");
}

static void reading_past_the_end_gives_null(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *s = wg_state(g, "s", WG_F32, WG_SHAPE(2), wg_zeros()), *leaf, *v, *one[1];
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(2), wg_zeros());
    wg_parameter(g, "w2", WG_F32, WG_SHAPE(2), wg_zeros());
    wg_assign(s, wg_output(wg_exp(s), NULL));
    assert_null(wg_graph_node(g, wg_graph_node_count(g)));
    assert_null(wg_graph_value(g, wg_graph_value_count(g)));
    assert_string_equal(wg_graph_output_name(g, 0), "");
    assert_null(wg_graph_output(g, 1));
    assert_null(wg_graph_output_name(g, 1));
    wg_graph_assign_at(g, 0, &leaf, &v);
    assert_true(leaf == s && v == wg_graph_output(g, 0));
    wg_graph_assign_at(g, 1, &leaf, &v);
    assert_true(!leaf && !v);
    assert_int_equal(wg_graph_parameters(g, NULL, 0), 2);
    assert_int_equal(wg_graph_parameters(g, one, 1), 2);
    assert_ptr_equal(one[0], w);
    assert_null(wg_graph_find(g, NULL));
    assert_null(wg_graph_find(g, "nobody"));
    assert_ptr_equal(wg_graph_find(g, "w"), w);
    wg_scope_pop(g); /* of the top: nothing happens */
    assert_string_equal(wg_scope_path(g), "");
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_has_a_message),
        cmocka_unit_test(a_value_of_another_graph_is_an_error_of_both),
        cmocka_unit_test(operands_of_like_names_are_shown_in_full),
        cmocka_unit_test(null_passes_through),
        cmocka_unit_test(reading_past_the_end_gives_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
