/* Mistakes of whoever builds a graph: each has a message that says what and where; NULL passes
 * through. */
#include "tests/test.h"
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

/* clang-format off */
static const struct {
    void (*make)(scene *s);
    const char *message; /* how it begins */
} mistakes[] = {
    {result_past_the_end, "exp: result 1 was asked for, it has 1 (test_mistakes.c:"},
    {result_below_zero, "exp: result -1 was asked for, it has 1 (test_mistakes.c:"},
    {assign_nothing, "wg_assign: the value is NULL (test_mistakes.c:"},
    {assign_to_nothing, "wg_assign: the leaf is NULL (test_mistakes.c:"},
    {assign_across, "wg_assign: leaf and value are of two graphs (test_mistakes.c:"},
    {assign_to_result, "wg_assign: %1 is no leaf but a result of exp (test_mistakes.c:"},
    {assign_other_shape, "wg_assign: f32[3] cannot take f32[3,1] (test_mistakes.c:"},
    {assign_other_dtype, "wg_assign: f32[3] cannot take f64[3] (test_mistakes.c:"},
    {leaf_without_name, "input: a name of 1 to 400 bytes is needed (test_mistakes.c:"},
    {leaf_of_empty_name, "input: a name of 1 to 400 bytes is needed (test_mistakes.c:"},
    {leaf_of_long_name, "input: a name of 1 to 400 bytes is needed (test_mistakes.c:"},
    {leaf_of_taken_name, "input: the name 'x' is taken by a value built at test_mistakes.c:"},
    {scope_without_name, "wg_scope_push: a name of 0 bytes, 1 to 511 are needed"},
    {scope_of_long_name, "wg_scope_push: a name of 600 bytes, 1 to 511 are needed"},
    {scope_of_long_path, "0000"},
    {operand_of_another_graph, "add(x, foreign): b belongs to another graph (test_mistakes.c:"},
    {too_few_operands, "exp("},
    {too_many_operands, "exp(x, x): 2 operands, must be at most 1"},
    {no_operand, "exp("},
    {barrier_without_list, "barrier: no list of 3 tokens"},
    {barrier_of_too_many, "barrier: no list of 2147483647 tokens"},
    {builder_with_a_long_text, "mine: 0000000000"},
    {clip_to_less_than_nothing, "clip_by_global_norm: max_norm is -1, must be 0 or more"},
    {update_of_no_leaf, "adam: the parameter's name is missing"},
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
        assert_int_equal(wg_graph_status(s.other), WG_OK);
        assert_null(wg_graph_clone(s.g, NULL, NULL)); /* a graph in error is not copied */
        wg_graph_free(s.g);
        wg_graph_free(s.other);
    }
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
        cmocka_unit_test(null_passes_through),
        cmocka_unit_test(reading_past_the_end_gives_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
