/* The graph itself: messages of errors, ops that are wrong, attributes in words, verification,
 * print. */
#include "tests/all_kinds.h"
#include "tests/test.h"
#include "wengert/graph/op.h"
#include "wengert/ops/ops.h"

static void an_error_names_scope_op_operands_numbers_and_line(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_scope_push(g, "encoder");
    wg_scope_push(g, "layer%d", 3);
    wg_value *q = wg_input(g, "q", WG_F32, WG_SHAPE(2, 64)),
             *k = wg_input(g, "k", WG_F32, WG_SHAPE(63, 2));
    assert_null(wg_matmul(q, k));
    char expected[200];
    snprintf(expected, sizeof expected,
             "encoder/layer3: matmul(q, k): [2,64] times [63,2]: inner sizes 64 and 63 differ "
             "(test_graph.c:%d)",
             __LINE__ - 5);
    assert_string_equal(wg_graph_message(g), expected);
    assert_int_equal(wg_graph_status(g), WG_ESHAPE);
    assert_null(wg_add(q, q)); /* the first error sticks */
    assert_string_equal(wg_graph_message(g), expected);
    wg_graph_free(g);
}

/* ---- ops of the user's own that are wrong ---------------------------------------------------- */

static bool refuse_silently(wg_node *n)
{
    (void)n;
    return false;
}
static bool leave_unset(wg_node *n)
{
    (void)n;
    return true;
}
static bool set_third(wg_node *n)
{
    return wg_set_result(n, 2, WG_F32, WG_SCALAR);
}
static bool set_no_dtype(wg_node *n)
{
    return wg_set_result(n, 0, WG_DTYPE_COUNT, WG_SCALAR);
}
static bool set_rank(wg_node *n)
{
    return wg_set_result(n, 0, WG_F32, (wg_shape){.rank = 9});
}
static bool set_negative(wg_node *n)
{
    return wg_set_result(n, 0, WG_F32, WG_SHAPE(2, -3));
}
static bool set_huge(wg_node *n)
{
    return wg_set_result(n, 0, WG_F64, WG_SHAPE(INT64_MAX / 4, 2));
}
static bool count_negative(wg_node *n)
{
    return wg_set_result_count(n, -1);
}
static bool same(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}
static void expand_to_other_shape(wg_node *n, wg_value **y)
{
    y[0] = wg_sum(n->in[0], WG_ALL_AXES, WG_DROP);
}
static void expand_to_nothing(wg_node *n, wg_value **y)
{
    (void)n;
    y[0] = NULL;
}

static void expand_to_itself(wg_node *n, wg_value **y)
{
    y[0] = wg_apply1(NULL, n->op, n->attrs, wg_neg(n->in[0]));
}

static bool ask_for_absent(wg_node *n)
{
    return wg_need_float(n, 1);
}

static const wg_attr a_real[] = {{"factor", WG_ATTR_REAL, 8, NULL}};

typedef struct wrong_op {
    wg_op op;
    const char *message;
} wrong_op;

/* clang-format off */
static const wrong_op wrong_ops[] = {
    {{.operands = "x"}, "the op has no shape rule"},
    {{.operands = "x", .infer = refuse_silently}, "its shape rule refused"},
    {{.operands = "x", .infer = leave_unset}, "its shape rule left result 0 unset"},
    {{.operands = "x", .infer = set_third}, "its shape rule sets result 2 of 1"},
    {{.operands = "x", .infer = set_no_dtype}, "dtype 10 is unknown"},
    {{.operands = "x", .infer = set_rank}, "rank 9 is outside 0..8"},
    {{.operands = "x", .infer = set_negative}, "the shape [2,-3] has a negative size"},
    {{.operands = "x", .infer = set_huge},
     "the bytes of f64[2305843009213693951,2] overflow 64 bits"},
    {{.operands = "x", .results = "y*", .infer = count_negative}, "-1 results"},
    {{.operands = "x z?", .infer = ask_for_absent}, "its shape rule asks for operand 1 of 1"},
    {{.operands = "x", .attrs = a_real, .n_attrs = 1},
     "its attribute factor is bytes 8 to 16 of a struct of 0: attrs_size"},
    {{.operands = "x", .attrs = a_real, .n_attrs = 1, .attrs_size = 12},
     "its attribute factor is bytes 8 to 16 of a struct of 12: attrs_size"},
};
/* clang-format on */

static void a_wrong_op_is_told_what_is_wrong(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(wrong_ops); i++) {
        wg_op op = wrong_ops[i].op;
        op.name = "mine";
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));
        char expected[200];
        snprintf(expected, sizeof expected, "mine(x): %s", wrong_ops[i].message);
        assert_null(wg_apply1(NULL, &op, NULL, x));
        assert_string_equal(wg_graph_message(g), expected);
        wg_graph_free(g);
    }
}

static void a_wrong_expansion_is_refused(void **state)
{
    (void)state;
    static const struct {
        void (*expand)(wg_node *n, wg_value **y);
        wg_status status;
        const char *message;
    } cases[] = {{expand_to_other_shape, WG_ESHAPE, "its expansion makes another result"},
                 {expand_to_nothing, WG_ESHAPE, "its expansion makes another result"},
                 {expand_to_itself, WG_EINVAL, "its expansion contains the op itself"}};
    for (int i = 0; i < WG_COUNT(cases); i++) {
        const wg_op op = {
            .name = "mine", .operands = "x", .infer = same, .expand = cases[i].expand};
        wg_graph *g = wg_graph_new();
        wg_value *y = wg_apply1(NULL, &op, NULL, wg_input(g, "x", WG_F32, WG_SHAPE(3))), *out[1];
        assert_non_null(y);
        assert_false(wg_expand_node(y->node, out));
        assert_int_equal(wg_graph_status(g), cases[i].status);
        check_that(strstr(wg_graph_message(g), cases[i].message) != NULL, "%s",
                   wg_graph_message(g));
        assert_false(wg_expand_node(y->node, out)); /* the graph is in error */
        wg_graph_free(g);
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

static all_kinds some_attrs(void)
{
    all_kinds a;
    memset(&a, 0, sizeof a); /* padding too */
    a.i = -4;
    a.r = 0.5;
    a.b = true;
    a.e = 3;
    a.dtype = WG_F64;
    a.axes = WG_AXES(0, 2);
    a.shape = WG_SHAPE(2, 3);
    a.text = "t";
    a.data = (wg_data){"12345678", 8};
    a.axis = -1;
    a.key = 6;
    return a;
}

static void attributes_of_every_kind(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    all_kinds a = some_attrs();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));
    wg_value *y = wg_apply1(NULL, &op_of_all_kinds, &a, x);
    assert_non_null(y);
    char text[300], few[12], none[1] = {'?'};
    const char *expected =
        "i=-4, key=6, r=0.5, b=true, dtype=f64, e=pale blue, axes=(0,2), shape=[2,3], "
        "text=\"t\", data=8 bytes #";
    wg_node_attrs_text(y->node, text, sizeof text);
    check_that(strncmp(text, expected, strlen(expected)) == 0, "%s", text);
    assert_string_equal(wg_node_attrs_text(y->node, few, sizeof few), "i=-4, key=6"); /* is cut */
    wg_node_attrs_text(y->node, none, 0);
    assert_int_equal(none[0], '?');

    all_kinds other[11];
    for (int i = 0; i < WG_COUNT(other); i++)
        other[i] = some_attrs();
    other[0].i = 4;
    other[1].r = -0.5;
    other[2].b = false;
    other[3].e = 0;
    other[4].dtype = WG_F32;
    other[5].axes = WG_AXES(0, 1);
    other[6].shape = WG_SHAPE(2, 4);
    other[7].text = NULL;
    other[8].data = (wg_data){"12345679", 8};
    other[9].axis = 0;
    other[10].key = 7;
    uint64_t hash = wg_node_attrs_hash(&op_of_all_kinds, &a);
    assert_true(hash == wg_node_attrs_hash(&op_of_all_kinds, y->node->attrs));
    assert_true(wg_node_attrs_equal(&op_of_all_kinds, &a, y->node->attrs));
    for (int i = 0; i < WG_COUNT(other); i++) {
        check_that(!wg_node_attrs_equal(&op_of_all_kinds, &a, &other[i]), "field %d", i);
        check_that(!wg_node_attrs_equal(&op_of_all_kinds, &other[i], &a), "field %d", i);
        check_that(wg_node_attrs_hash(&op_of_all_kinds, &other[i]) != hash, "field %d", i);
        check_that(wg_node_attrs_equal(&op_of_all_kinds, &other[i], &other[i]), "field %d", i);
    }
    other[5].axes = WG_AXES(0); /* fewer; shorter; another text */
    other[8].data.size = 7;
    other[7].text = "u";
    other[3].e = 7; /* no such name */
    for (int i = 3; i < 9; i += i == 3 ? 2 : i == 5 ? 2 : 1)
        check_that(!wg_node_attrs_equal(&op_of_all_kinds, &a, &other[i]), "field %d", i);
    assert_null(wg_apply1(NULL, &op_of_all_kinds, &other[3], x));
    assert_string_equal(wg_graph_message(g), "all kinds(x): e is 7, must be 0 to 3");
    wg_graph_free(g);
}

/* ---- verification ---------------------------------------------------------------------------- */

static void exchange_operand(wg_graph *g, wg_graph *other)
{
    wg_graph_node(g, 1)->in[0] = wg_graph_value(other, 0);
}
static void lose_operand(wg_graph *g, wg_graph *other)
{
    (void)other;
    wg_graph_node(g, 1)->in[0] = NULL;
}
static void read_itself(wg_graph *g, wg_graph *other)
{
    (void)other;
    wg_graph_node(g, 1)->in[0] = wg_graph_value(g, 1);
}
static void misplace(wg_graph *g, wg_graph *other)
{
    (void)other;
    wg_graph_node(g, 1)->id = 5;
}
static void misnumber_result(wg_graph *g, wg_graph *other)
{
    (void)other;
    wg_graph_value(g, 0)->index = 3;
}
static void change_shape(wg_graph *g, wg_graph *other)
{
    (void)other;
    wg_graph_value(g, 1)->shape.dim[0] = 4;
}
static void change_dtype(wg_graph *g, wg_graph *other)
{
    (void)other;
    wg_graph_value(g, 1)->dtype = WG_F64;
}

static void verification_finds_what_was_broken(void **state)
{
    (void)state;
    static const struct {
        void (*damage)(wg_graph *g, wg_graph *other);
        const char *message;
    } cases[] = {
        {exchange_operand, "operand 0 is of no or another graph"},
        {lose_operand, "operand 0 is of no or another graph"},
        {read_itself, "operand 0 is computed later, by node 1"},
        {misplace, "its id 5 is not its place 1"},
        {misnumber_result, "operand 0 is not a result of its node"},
        {change_shape, "result 0 is f32[4], its shape rule says f32[3]"},
        {change_dtype, "result 0 is f64[3], its shape rule says f32[3]"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new(), *other = wg_graph_new();
        wg_exp(wg_input(g, "x", WG_F32, WG_SHAPE(3)));
        wg_input(other, "x", WG_F32, WG_SHAPE(3));
        assert_int_equal(wg_graph_verify(g), WG_OK);
        cases[i].damage(g, other);
        assert_int_not_equal(wg_graph_verify(g), WG_OK);
        check_that(strstr(wg_graph_message(g), cases[i].message) != NULL, "%s",
                   wg_graph_message(g));
        wg_graph_free(g);
        wg_graph_free(other);
    }
}

/* ---- print ----------------------------------------------------------------------------------- */

static void a_size_is_asked_for_by_its_axis(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    const wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 5)),
                   *one = wg_input(g, "one", WG_F32, WG_SCALAR);
    static const int axes[] = {0, 2, -1, -3, 3, -4}, sizes[] = {2, 5, 5, 2, 0, 0};
    for (int i = 0; i < WG_COUNT(axes); i++)
        check_that(wg_value_dim(x, axes[i]) == sizes[i], "axis %d: %lld", axes[i],
                   (long long)wg_value_dim(x, axes[i]));
    assert_true(wg_value_dim(one, 0) == 0 && wg_value_dim(one, -1) == 0);
    assert_int_equal(wg_value_dim(NULL, 0), 0);
    wg_graph_free(g);
}

static void the_print_says_everything(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *s = (wg_state)("m.c:1", g, "s", WG_F32, WG_SHAPE(2, 3), wg_zeros());
    wg_scope_push(g, "block");
    wg_value *top = (wg_topk)("here/m.c:2", s, 2, 1);
    wg_scope_pop(g);
    wg_value *y = (wg_exp)(NULL, s);
    wg_name(y, "label");
    wg_assign(s, y);
    wg_output(top, "top");
    wg_fail(y->node, WG_EDATA, "%s", "spoilt");
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_int_equal(wg_graph_print(g, f), WG_OK);
    assert_int_equal(wg_graph_print(g, NULL), WG_EINVAL);
    fclose(f);
    static const char *const lines[] = {
        "wengert-graph 1 {nodes=3, values=4, outputs=1, assigns=1, keys=0}\n",
        "%1, %2 = topk(%0) {",
        "} : f32[2,2], i64[2,2] in block at m.c:2\n",
        "%3 = exp(%0) : f32[2,3] 'label' at none\n",
        "output 'top' = %1\n",
        "assign %0 := %3\n",
        "error 'exp(s): spoilt'\n",
    };
    for (int i = 0; i < WG_COUNT(lines); i++)
        check_that(strstr(text, lines[i]) != NULL, "no line \"%s\" in:\n%s", lines[i], text);
    free(text);
    f = fopen("/dev/full", "w");
    if (f) {
        setvbuf(f, NULL, _IONBF, 0);
        assert_int_equal(wg_graph_print(g, f), WG_EIO);
        fclose(f);
    }
    wg_graph_free(g);
}

/* The store has the tensor of a parameter under its name.  A cast that changes nothing returns its
 * operand, so what names the cast may name a parameter. */
static void parameters_states_and_inputs_keep_their_names(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *p = wg_parameter(g, "p", WG_F32, WG_SHAPE(2), wg_ones());
    wg_value *q = wg_parameter(g, "q", WG_F32, WG_SHAPE(2), wg_ones());
    wg_value *s = wg_state(g, "s", WG_F32, WG_SHAPE(2), wg_zeros());
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
    assert_ptr_equal(wg_name(q, "p"), q);
    assert_ptr_equal(wg_name(wg_cast(p, WG_F32), "wide"), p);
    assert_ptr_equal(wg_name(s, "t"), s);
    assert_ptr_equal(wg_name(x, "y"), x);
    const char *const names[] = {"p", "q", "s", "x"};
    wg_value *const leaves[] = {p, q, s, x};
    for (int i = 0; i < WG_COUNT(names); i++) {
        assert_string_equal(leaves[i]->name, names[i]);
        assert_ptr_equal(wg_graph_find(g, names[i]), leaves[i]);
    }
    wg_value *y = wg_name(wg_cast(p, WG_F64), "wide");
    assert_ptr_equal(wg_graph_find(g, "wide"), y);
    assert_int_equal(wg_graph_status(g), WG_OK);
    wg_graph_free(g);
}

static void names_have_bounds(void **state)
{
    (void)state;
    static const int lengths[] = {0, 512, 5000};
    char text[5000];
    memset(text, 'n', sizeof text);
    for (size_t i = 0; i < WG_COUNT(lengths); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
        assert_non_null(wg_name(wg_exp(x), "%*d", 511, 1));
        assert_null(wg_name(wg_neg(x), "%.*s", lengths[i], text));
        assert_int_equal(wg_graph_status(g), WG_EINVAL);
        check_that(strstr(wg_graph_message(g), "must have 1 to 511"), "%s", wg_graph_message(g));
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_names_scope_op_operands_numbers_and_line),
        cmocka_unit_test(a_wrong_op_is_told_what_is_wrong),
        cmocka_unit_test(a_wrong_expansion_is_refused),
        cmocka_unit_test(attributes_of_every_kind),
        cmocka_unit_test(verification_finds_what_was_broken),
        cmocka_unit_test(a_size_is_asked_for_by_its_axis),
        cmocka_unit_test(the_print_says_everything),
        cmocka_unit_test(parameters_states_and_inputs_keep_their_names),
        cmocka_unit_test(names_have_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
