/* The text of a graph: every op and every kind of attribute comes back. */
#include "tests/ops/with_all_kinds.h"
#include "tests/sample.h"

#include <float.h>
#include <math.h>

/* ---- what comes back ------------------------------------------------------------------------- */

static void every_op_comes_back_on_every_sample(void **state)
{
    (void)state;
    size_t count = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        sample_graph b = sample_shapes(op, s, WG_F64, 1);
        check_that(b.node != NULL, "%s: %s", op->name, wg_graph_message(b.g));
        if (b.node->n_out)
            wg_output(b.node->out[0], "y");
        wg_graph_free(there_and_back(b.g, NULL));
        sample_free(&b);
        count++;
    }
    assert_in_range(count, 300, 5000);
}

/* ---- an op of the program, with every kind of attribute -------------------------------------- */

static void attributes_of_every_kind_come_back(void **state)
{
    (void)state;
    static const double reals[] = {0, -0.0, 0.1, 1.0 / 3, 5e-324, DBL_MAX, INFINITY, -INFINITY};
    static const char *const texts[] = {NULL, "", "it's \"quoted\"", "\\ \n\t\x7f", "\xc3\xa9"};
    static const int64_t wholes[] = {0, -1, INT64_MIN, INT64_MAX};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(3)); /* holds all of `reals` */
    for (int i = 0; i < 40; i++) {
        all_kinds a = {.i = wholes[i % 4],
                       .key = i,
                       .r = reals[i % 8],
                       .b = i % 2,
                       .e = i % 4,
                       .dtype = (wg_dtype)(i % 10),
                       .axes = {i % 9, {-1, 2, 3, 0, INT32_MIN, INT32_MAX}},
                       .shape = {i % 9, {INT64_MAX, -1, 0, 7}},
                       .text = texts[i % 5],
                       .data = {"0123456789abcdef01234567", (size_t)(i % 25)}};
        check_that(wg_apply1(WG_HERE, &op_of_all_kinds, &a, x) != NULL, "%s", wg_graph_message(g));
    }
    wg_graph_free(there_and_back(g, &with_own_ops));
    wg_graph *none;
    size_t size;
    char *text = text_of(g, &size);
    wg_error error;
    assert_int_equal(wg_graph_parse(&none, text, size, NULL, &error), WG_EDATA);
    check_that(strstr(error.text, "no op 'all kinds'") != NULL, "%s", error.text);
    free(text);
    wg_graph_free(g);
}

static void an_own_op_hides_a_built_in_one(void **state)
{
    (void)state;
    static const wg_op mine = {.name = "tanh", .operands = "x", .infer = infer_kinds};
    static const wg_op *const ops[] = {&mine};
    const char text[] = "wengert-graph 1\n%x = input : f32[3] 'x'\n%y = tanh(%x)\n";
    wg_graph *g = parsed(text, sizeof text - 1, &(wg_parse_options){.ops = ops, .n_ops = 1});
    assert_ptr_equal(wg_graph_node(g, 1)->op, &mine);
    wg_graph_free(g);
    g = parsed(text, sizeof text - 1, NULL);
    assert_ptr_equal(wg_graph_node(g, 1)->op, &wg_op_tanh);
    wg_graph_free(g);
}

/* ---- odd ops --------------------------------------------------------------------------------- */

/* Attributes that are like those of built-in ops but for their names, an enum of more names than a
 * message has room for, and one of no kind. */
typedef struct odd_attrs {
    wg_dtype to;
    wg_shape size;
    int which;
    int64_t strange;
} odd_attrs;

static const char *const many[] = {
    "a name that is rather long, the first",   "a name that is rather long, the second",
    "a name that is rather long, the third",   "a name that is rather long, the fourth",
    "a name that is rather long, the fifth",   "a name that is rather long, the sixth",
    "a name that is rather long, the seventh", NULL};
static const wg_attr odd_fields[] = {
    WG_ATTR(DTYPE, odd_attrs, to),
    WG_ATTR(SHAPE, odd_attrs, size),
    WG_ATTR_NAMED(odd_attrs, which, many),
    {.name = "strange", .kind = (wg_attr_kind)99, .offset = offsetof(odd_attrs, strange)},
};
static const wg_op odd_op = {
    .name = "odd", .operands = "x", .infer = infer_kinds, WG_ATTRS(odd_attrs, odd_fields)};
static const wg_op *const odd_ops[] = {&odd_op};

#define ODD "wengert-graph 1\n%x = input : f32[3] 'x'\n%y = odd(%x)"

static void odd_attributes_are_not_taken_for_others(void **state)
{
    (void)state;
    const wg_parse_options o = {.name = "m", .ops = odd_ops, .n_ops = 1};
    const char plain[] = ODD " : f32[3]\n", named[] = ODD " {which=\"x\"}\n",
               strange[] = ODD " {strange=1}\n";
    wg_error error;
    wg_graph *g = parsed(plain, sizeof plain - 1, &o);
    const odd_attrs *a = wg_graph_node(g, 1)->attrs;
    assert_true(a->to == WG_DTYPE_DEFAULT && a->size.rank == 0); /* f32[3] is that of the result */
    wg_graph_free(g);
    assert_int_equal(wg_graph_parse(&g, named, sizeof named - 1, &o, &error), WG_EDATA);
    static const char start[] = "m:3:21: expected one of a name that is rather long, the first, a ";
    check_that(strncmp(error.text, start, strlen(start)) == 0 &&
                   strstr(error.text, ", found '\"x\"'"),
               "%s", error.text);
    assert_int_equal(wg_graph_parse(&g, strange, sizeof strange - 1, &o, &error), WG_EDATA);
    assert_string_equal(error.text, "m:3:23: attribute strange is of an unknown kind");
}

/* ---- constants ------------------------------------------------------------------------------- */

static void constants_come_back_bit_for_bit(void **state)
{
    (void)state;
    uint64_t bits = 1;
    size_t compared = 0;
    for (int d = WG_F32; d < WG_DTYPE_COUNT; d++)
        for (int64_t n = 0; n < 40; n++) {
            uint64_t words[40];
            for (int i = 0; i < 40; i++) /* any bits at all: NaNs with payloads, subnormals */
                words[i] = n % 2 ? wgi_splitmix64(&bits) : 0x3ff0000000000000u + (uint64_t)i;
            wg_graph *g = wg_graph_new();
            wg_output((wg_constant)(NULL, g, (wg_dtype)d, WG_SHAPE(n), words), "");
            wg_graph *back = there_and_back(g, NULL);
            const wg_constant_attrs *a = wg_graph_node(back, 0)->attrs;
            assert_int_equal(a->data.size, (size_t)n * wg_dtype_size((wg_dtype)d));
            if (a->data.size)
                assert_memory_equal(a->data.bytes, words, a->data.size);
            compared += a->data.size;
            wg_graph_free(back);
            wg_graph_free(g);
        }
    assert_in_range(compared, 10000, 1000000);
}

static void numbers_are_short_where_they_can_be(void **state)
{
    (void)state;
    const float numbers[] = {1, -2.5f, 0.1f, 3.4028235e38f, -0.0f};
    wg_graph *g = wg_graph_new();
    size_t size;
    wg_constant(g, WG_F32, WG_SHAPE(5), numbers);
    char *text = text_of(g, &size);
    check_that(strstr(text, "data=f32[1, -2.5, 0.1, 3.4028235e+38, -0]}") != NULL, "%s", text);
    free(text);
    wg_graph_free(g);
}

/* ---- names, scopes, lines -------------------------------------------------------------------- */

static void names_scopes_and_lines_come_back(void **state)
{
    (void)state;
    static const char *const odd[] = {"it's", "a \\ b", "two\nlines", "none", "%1", "\xc3\xa9",
                                      "a:b",  ":",      "in",         "x y",  "\"", "#"};
    wg_graph *g = wg_graph_new();
    wg_scope_reuse(g); /* the top */
    for (int i = 0; i < WG_COUNT(odd); i++) {
        wg_scope_push(g, "%s", odd[i]);
        if (i % 3 == 0)
            wg_scope_recompute(g);
        if (i % 4 == 0)
            wg_scope_reuse(g);
        if (i % 5 == 1)
            wg_scope_average(g);
        wg_scope_parameter_dtype(g, (wg_dtype)(i % 4));
        wg_value *x = (wg_input)(i % 2 ? odd[i] : NULL, g, odd[i], WG_F32, WG_SCALAR);
        wg_value *y = (wg_neg)("folder/m.c:7", x), *z = (wg_exp)("", y);
        wg_name(y, "%s", "label");
        wg_name(z, "%s", "label"); /* taken: shown, not found */
        wg_output(z, odd[i]);
        wg_output(z, NULL);
    }
    check_that(wg_graph_status(g) == WG_OK, "%s", wg_graph_message(g));
    wg_graph_free(there_and_back(g, NULL));
    wg_graph_free(g);
}

static void a_renamed_value_has_one_name(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SCALAR), *y = wg_neg(x), *z = wg_exp(x);
    wg_name(y, "a");
    wg_name(z, "a"); /* a label */
    wg_name(y, "b");
    assert_null(wg_graph_find(g, "a"));
    assert_ptr_equal(wg_graph_find(g, "b"), y);
    wg_graph_free(there_and_back(g, NULL));
    wg_name(z, "a");
    wg_name(z, "a");
    assert_ptr_equal(wg_graph_find(g, "a"), z);
    wg_graph_free(there_and_back(g, NULL));
    wg_graph_free(g);
}

static void keys_go_on_where_they_were(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));
    wg_dropout(wg_dropout(x, 0.5), 0.5);
    wg_graph_new_key(g);
    wg_graph *back = there_and_back(g, NULL);
    assert_int_equal(wg_graph_new_key(back), wg_graph_new_key(g));
    wg_graph_free(back);
    wg_graph_free(g);
    const char text[] =
        "wengert-graph 1\n%x = input : f32[3] 'x'\n%y = dropout(%x) {p=0.5, key=7}\n";
    g = parsed(text, sizeof text - 1, NULL);
    assert_int_equal(wg_graph_new_key(g), 8); /* no count in the head: past those in use */
    wg_graph_free(g);
    const char falling[] = "wengert-graph 1\n%x = input : f32[3] 'x'\n"
                           "%y = dropout(%x) {p=0.5, key=7}\n%z = dropout(%x) {p=0.5, key=3}\n";
    g = parsed(falling, sizeof falling - 1, NULL);
    assert_int_equal(wg_graph_new_key(g), 8);
    wg_graph_free(g);
    static const struct {
        const char *said;
        uint64_t next;
    } heads[] = {{"0", 8}, {"3", 8}, {"7", 8}, {"12", 13}}; /* the larger one of both counts */
    for (int i = 0; i < WG_COUNT(heads); i++) {
        char head[200];
        int n = snprintf(head, sizeof head,
                         "wengert-graph 1 {keys=%s}\n%%x = input : f32[3] 'x'\n"
                         "%%y = dropout(%%x) {p=0.5, key=7}\n",
                         heads[i].said);
        g = parsed(head, (size_t)n, NULL);
        assert_int_equal(wg_graph_new_key(g), heads[i].next);
        wg_graph_free(g);
    }
}

static void a_graph_owns_its_lines(void **state)
{
    (void)state;
    char line[16] = "mine.c:1";
    wg_graph *g = wg_graph_new();
    wg_value *x = (wg_input)(line, g, "x", WG_F32, WG_SHAPE(3));
    memset(line, '?', sizeof line);
    assert_string_equal(x->node->at, "mine.c:1");
    wg_graph_free(g);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void a_text_by_hand_may_be_short(void **state)
{
    (void)state;
    static const char text[] = "# a line\n\n"
                               "wengert-graph 1\n"
                               "%x = input : f32[4] 'x'   # dtype and shape from the type\n"
                               "%w = parameter {init=normal, scale=0.5} : f32[] 'w'\r\n"
                               "%c = constant {data=f32[1,\n    2, 3, 4]} : f32[4]\n"
                               "%y = add(%c, %p1)\n";
    static const char rest[] = "%p1 = mul(%x, %w)\n%y = add(%c, %p1) in block backward\n"
                               "output %y\noutput \"named\" = %y\n"
                               "%none = constant {data=hex \"\"} : f32[0]\n"
                               "%nothing = constant {data=f32[]} : f32[0]\n"
                               "= relu(%y)\n# the end";
    char whole[sizeof text + sizeof rest];
    wg_graph *g;
    wg_error error;
    assert_int_equal(wg_graph_parse(&g, text, sizeof text - 1, NULL, &error), WG_EDATA);
    assert_string_equal(error.text, "graph:8:14: no value %p1 above this line");
    snprintf(whole, sizeof whole, "%.*s%s", (int)(strstr(text, "%y") - text), text, rest);
    g = parsed(whole, strlen(whole), &(wg_parse_options){.name = "dir/line.wg"});
    assert_int_equal(wg_graph_node_count(g), 8);
    for (int i = 5; i < 7; i++)
        assert_null(((const wg_constant_attrs *)wg_graph_node(g, i)->attrs)->data.bytes);
    const wg_node *n = wg_graph_node(g, 4);
    assert_string_equal(n->scope->path, "block");
    assert_int_equal(n->phase, WG_BACKWARD);
    assert_string_equal(n->at, "dir/line.wg:9");
    const wg_leaf_attrs *w = wg_graph_node(g, 1)->attrs;
    assert_true(w->init == WG_INIT_NORMAL && w->scale == 0.5 && w->dtype == WG_F32);
    assert_string_equal(wg_graph_output_name(g, 0), "");
    assert_string_equal(wg_graph_output_name(g, 1), "named");
    wg_graph_free(there_and_back(g, NULL));
    wg_graph_free(g);
}

/* Initial values that the program gives are in the text, bit for bit. */
static void given_initial_values_come_back(void **state)
{
    (void)state;
    const float table[] = {0.1f, -0.0f, 3e38f, 1e-45f};
    wg_graph *g = wg_graph_new();
    wg_output(wg_parameter(g, "w", WG_F32, WG_SHAPE(2, 2), wg_values_init(table, sizeof table)),
              "y");
    wg_graph *again = there_and_back(g, NULL);
    const wg_leaf_attrs *a = wg_graph_find(again, "w")->node->attrs;
    assert_int_equal(a->init, WG_INIT_VALUES);
    assert_int_equal(a->values.size, sizeof table);
    assert_memory_equal(a->values.bytes, table, sizeof table);
    assert_int_equal(wg_graph_hash(g), wg_graph_hash(again));
    wg_graph_free(again);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_comes_back_on_every_sample),
        cmocka_unit_test(attributes_of_every_kind_come_back),
        cmocka_unit_test(an_own_op_hides_a_built_in_one),
        cmocka_unit_test(odd_attributes_are_not_taken_for_others),
        cmocka_unit_test(constants_come_back_bit_for_bit),
        cmocka_unit_test(numbers_are_short_where_they_can_be),
        cmocka_unit_test(names_scopes_and_lines_come_back),
        cmocka_unit_test(a_renamed_value_has_one_name),
        cmocka_unit_test(keys_go_on_where_they_were),
        cmocka_unit_test(a_graph_owns_its_lines),
        cmocka_unit_test(a_text_by_hand_may_be_short),
        cmocka_unit_test(given_initial_values_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
