/* The text of a graph: every op and every kind of attribute comes back, errors name their place,
 * and no text does harm. */
#include "graph/mix.h"
#include "tests/graph_text.h"
#include "tests/sample.h"

#include <float.h>
#include <locale.h>
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

typedef struct all_kinds {
    int64_t i, key;
    double r;
    bool b;
    int e;
    wg_dtype dtype;
    wg_axes axes;
    wg_shape shape;
    const char *text;
    wg_data data;
} all_kinds;

static bool infer_kinds(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static const char *const colours[] = {"red", "-1", "red", "pale blue", NULL};
static const wg_attr kinds[] = {
    WG_ATTR(INT, all_kinds, i),       WG_ATTR(KEY, all_kinds, key),
    WG_ATTR(REAL, all_kinds, r),      WG_ATTR(BOOL, all_kinds, b),
    WG_ATTR(DTYPE, all_kinds, dtype), WG_ATTR_NAMED(all_kinds, e, colours),
    WG_ATTR(AXES, all_kinds, axes),   WG_ATTR(SHAPE, all_kinds, shape),
    WG_ATTR(TEXT, all_kinds, text),   WG_ATTR(DATA, all_kinds, data),
};
static const wg_op op_of_all_kinds = {
    .name = "all kinds", .operands = "x", .infer = infer_kinds, WG_ATTRS(all_kinds, kinds)};
static const wg_op *const own_ops[] = {&op_of_all_kinds};
static const wg_parse_options with_own_ops = {.ops = own_ops, .n_ops = 1};

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
                               "= relu(%y)\n# the end";
    char whole[sizeof text + sizeof rest];
    wg_graph *g;
    wg_error error;
    assert_int_equal(wg_graph_parse(&g, text, sizeof text - 1, NULL, &error), WG_EDATA);
    assert_string_equal(error.text, "graph:8:14: no value %p1 above this line");
    snprintf(whole, sizeof whole, "%.*s%s", (int)(strstr(text, "%y") - text), text, rest);
    g = parsed(whole, strlen(whole), &(wg_parse_options){.name = "dir/line.wg"});
    assert_int_equal(wg_graph_node_count(g), 7);
    assert_null(((const wg_constant_attrs *)wg_graph_node(g, 5)->attrs)->data.bytes);
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

/* ---- errors ---------------------------------------------------------------------------------- */

#define HEAD "wengert-graph 1\n%x = input : f32[3] 'x'\n"

/* More digits than any number has. */
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000000000"

static void errors_say_where_and_what(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "m:1:1: expected 'wengert-graph' at the beginning, found the end of the text"},
        {"\n\nhello", "m:3:1: expected 'wengert-graph' at the beginning, found 'hello'"},
        {"wengert-graph 2", "m:1:15: 2 is outside 1 to 1"},
        {"wengert-graph x", "m:1:15: expected the version of the format, found 'x'"},
        {"wengert-graph 1 {nods=1}",
         "m:1:18: expected nodes, values, outputs, assigns or keys, found 'nods'"},
        {"wengert-graph 1 {nodes=2}\n%x = input : f32[3] 'x'\n",
         "m:3:1: the head says 2 nodes, the text has 1"},
        {HEAD "%y = reluu(%x)", "m:3:6: no op 'reluu'; did you mean 'relu'?"},
        {HEAD "%y = relu(%z)", "m:3:11: no value %z above this line"},
        {HEAD "%y = relu(%x", "m:3:13: expected ',' or ')', found the end of the text"},
        {HEAD "%y = relu(%x %x)", "m:3:14: expected ',' or ')', found '%x'"},
        {HEAD "%y = relu(3)", "m:3:11: expected a value such as %1, found '3'"},
        {HEAD "%y relu(%x)", "m:3:4: expected '=' after the results of a node, found 'relu'"},
        {HEAD "%x = relu(%x)", "m:3:1: %x is defined above"},
        {HEAD "%y, %z = relu(%x)", "m:3:5: relu has 1 results, not 2"},
        {HEAD "%y = relu(%x) : f32[4]", "m:3:17: %y is declared as f32[4], but relu makes it "
                                        "f32[3]"},
        {HEAD "%y = relu(%x) : f32[3], f32[3]", "m:3:25: more types than the 1 results"},
        {HEAD "%y = relu(%x) : g32[3]",
         "m:3:17: expected a dtype (f32, f64, bf16, i32, i64, i8, bool), found 'g32'"},
        {HEAD "%y = relu(%x) 'name'", "m:3:15: expected the end of the line, found ''name''"},
        {HEAD "%y = relu(%x) backwards",
         "m:3:15: expected in, at, backward, update or the end of the line, found 'backwards'"},
        {HEAD "%y = relu(%x, %x)", "m:3:6: relu(x, x): 2 operands, must be at most 1 (m:3)"},
        {HEAD "%y = matmul(%x, %x)", "m:3:6: matmul(x, x): "},
        {HEAD "%y = sum(%x) {keeep=true}", "m:3:15: sum has no attribute 'keeep'; did you mean "
                                           "'keep'?"},
        {HEAD "%y = sum(%x) {keep=1}", "m:3:20: expected true or false, found '1'"},
        {HEAD "%y = sum(%x) {keep=true, keep=true}", "m:3:26: attribute keep is given twice"},
        {HEAD "%y = sum(%x) {axes=(5)}", "m:3:6: sum(x): axis 5 is outside x"},
        {HEAD "%y = sum(%x) {axes=(1,1,1,1,1,1,1,1,1)}", "m:3:37: more than 8 axes"},
        {HEAD "%y = fill {value=1e} : f32[]", "m:3:18: expected a number, found '1e'"},
        {HEAD "%y = fill {value=1e999} : f32[]", "m:3:18: expected a number, found '1e999'"},
        {HEAD "%y = fill {value=nan} : f32[]", "m:3:6: fill(): value is NaN"},
        {HEAD "%y = fill {shape=[1,1,1,1,1,1,1,1,1]}", "m:3:35: a shape of more than 8 axes"},
        {HEAD "%y = fill {shape=[99999999999999999999]}", "m:3:19: expected a size, found "},
        {HEAD "%y = gelu(%x) {kind=soft}", "m:3:21: expected one of "},
        {HEAD "%y = constant {data=f32[1, x]} : f32[2]",
         "m:3:28: expected a number of f32, found 'x'"},
        {HEAD "%y = constant {data=i8[128]} : i8[1]",
         "m:3:24: expected a number of i8, found '128'"},
        {HEAD "%y = constant {data=f32[1]} : f32[2]",
         "m:3:6: constant(): 4 bytes of data, the shape needs 8"},
        {HEAD "%y = constant {data=hex \"00f\"} : i8[2]",
         "m:3:25: 3 hexadecimal digits, bytes have two each"},
        {HEAD "%y = constant {data=hex \"0g\"} : i8[1]",
         "m:3:25: digits 0 and 1 are not hexadecimal"},
        {HEAD "%y = input : f32[3] 'x'",
         "m:3:14: input: the name 'x' is taken by a value built at m:2"},
        {HEAD "%y = input : f32[3] 'y\n", "m:3:21: this ' is not closed in its line"},
        {HEAD "%y = input : f32[3] 'y\\q'", "m:3:21: after a backslash expected"},
        {HEAD "%y = relu(%x) in a//b", "m:3:6: the scope 'a//b' has an empty part"},
        {HEAD "%y = relu(%x) in", "m:3:17: expected a scope, found the end of the text"},
        {HEAD "output 'y' %x", "m:3:12: expected '=' after the name of an output, found '%x'"},
        {HEAD "%y = relu(%x)\nassign %y := %x", "m:4:8: wg_assign: %1 is no leaf but a result of "
                                                "relu"},
        {HEAD "scope '' {recompute=true}", "m:3:7: wg_scope_recompute: no scope is open"},
        {HEAD "scope a {parameter_dtype=i32}",
         "m:3:7: a: wg_scope_parameter_dtype: the dtype of parameters is i32"},
        {HEAD "scope a {recomputed=true}",
         "m:3:10: scope has no attribute 'recomputed'; did you mean 'recompute'?"},
        {HEAD "error 'why'", "m:3:7: the graph was printed with this error: why"},
        {HEAD "import x", "m:3:1: expected %VALUE = OP(...), output, assign or scope, found "
                          "'import'"},
        {HEAD "error =", "m:3:7: expected a message in quotes, found '='"},
        {HEAD "%y = relu(%x) : f32[3] ''", "m:3:17: an empty name"},
        {HEAD "%y = relu(%x) in /a", "m:3:6: the scope '/a' has an empty part"},
        {HEAD "%y = relu(%x) in a/", "m:3:6: the scope 'a/' has an empty part"},
        {HEAD "'y", "m:3:1: this ' is not closed in its line"},
        {HEAD "\n'y", "m:4:1: this ' is not closed in its line"},
        {HEAD "%y = input : f32[3] 'y\\", "m:3:21: this ' is not closed in its line"},
        {HEAD "%y = input : f32[3] 'y\\\n", "m:3:21: this ' is not closed in its line"},
        {HEAD "%y = input : f32[3] 'y\\x00'", "m:3:21: after a backslash expected"},
        {HEAD "%y = input : f32[3] 'y\\xG0'", "m:3:21: after a backslash expected"},
        {HEAD "%y = fill {value=" ZEROS "} : f32[]", "m:3:18: expected a number, found '000"},
        {HEAD "%y = fill {shape=[" ZEROS "]}", "m:3:19: expected a size, found '000"},
        {HEAD "%y = constant {data=f32[" ZEROS "]} : f32[1]",
         "m:3:25: expected a number of f32, found '000"},
        {HEAD "%y = constant {data=i8[-129]} : i8[1]",
         "m:3:24: expected a number of i8, found '-129'"},
        {HEAD "%y = relu(%x)\001", "m:3:14: expected the end of the line, found '?'"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = (wg_graph *)&i;
        wg_error error;
        const wg_parse_options o = {.name = "m"};
        wg_status status = wg_graph_parse(&g, cases[i].text, strlen(cases[i].text), &o, &error);
        check_that(status == WG_EDATA && error.status == status && !g, "%s", cases[i].text);
        check_that(strncmp(error.text, cases[i].message, strlen(cases[i].message)) == 0,
                   "got      '%s'\nexpected '%s'\nof\n%s", error.text, cases[i].message,
                   cases[i].text);
        assert_int_equal(wg_graph_parse(&g, cases[i].text, strlen(cases[i].text), &o, NULL),
                         WG_EDATA);
    }
}

static void zero_bytes_are_refused(void **state)
{
    (void)state;
#define BYTES(bytes)                                                                               \
    {                                                                                              \
        bytes, sizeof bytes - 1                                                                    \
    }
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        BYTES(HEAD "%y = input : f32[3] 'y\0'"),
        BYTES(HEAD "%y = input : f32[3] 'y\\\0'"),
        BYTES(HEAD "%y = input : f32[3] 'y\\x\0'"),
        BYTES(HEAD "%y = input : f32[3] 'y\\x1\0'"),
        BYTES(HEAD "%y = relu(%x)\0"),
        BYTES(HEAD "\0"),
        BYTES("\0"),
    };
    wg_graph *g;
    wg_error error;
    for (int i = 0; i < WG_COUNT(cases); i++) {
        assert_int_equal(wg_graph_parse(&g, cases[i].bytes, cases[i].size, NULL, &error), WG_EDATA);
        check_that(strncmp(error.text, "graph:", 6) == 0, "%s", error.text);
    }
    static const char upper[] = "wengert-graph 1\n%x = input : f32[3] 'x\\x4A'\n";
    g = parsed(upper, sizeof upper - 1, NULL);
    assert_non_null(wg_graph_find(g, "xJ"));
    wg_graph_free(g);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    wg_graph *g;
    wg_error error;
    static const wg_op nameless = {.operands = ""};
    static const wg_op *const ops[] = {&nameless}, *const no_ops[] = {NULL};
    const wg_parse_options named = {.name = "mine"};
    assert_int_equal(wg_graph_parse(&g, NULL, 1, &named, &error), WG_EINVAL);
    assert_string_equal(error.text, "mine: the text is NULL");
    assert_int_equal(
        wg_graph_parse(&g, "", 0, &(wg_parse_options){.ops = no_ops, .n_ops = 1}, &error),
        WG_EINVAL);
    assert_string_equal(error.text, "op 0 of the options has no name");
    assert_int_equal(wg_graph_read(NULL, "model.wg", NULL, &error), WG_EINVAL);
    assert_int_equal(wg_graph_parse(NULL, "", 0, NULL, &error), WG_EINVAL);
    assert_int_equal(wg_graph_parse(&g, NULL, 1, NULL, &error), WG_EINVAL);
    assert_int_equal(wg_graph_parse(&g, "", 0, &(wg_parse_options){.ops = ops, .n_ops = 1}, &error),
                     WG_EINVAL);
    assert_int_equal(wg_graph_parse(&g, NULL, 0, NULL, &error), WG_EDATA);
    assert_int_equal(wg_graph_read(&g, NULL, NULL, &error), WG_EINVAL);
    assert_int_equal(wg_graph_read(&g, "nowhere/model.wg", NULL, &error), WG_EIO);
    check_that(strstr(error.text, "nowhere/model.wg: cannot be opened") != NULL, "%s", error.text);
    assert_int_equal(wg_graph_read(&g, "/", NULL, &error), WG_EIO);
    assert_null(g);
}

/* Larger than what is read at a time. */
static void a_large_file_is_read_whole(void **state)
{
    (void)state;
    static const char path[] = "parse_large.wg";
    enum { NODES = 10000 };
    wg_graph *g;
    wg_error error;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(HEAD, f);
    for (int i = 0; i < NODES; i++)
        fprintf(f, "%%y%d = relu(%%x)\n", i);
    fputs("%z = reluu(%x)\n", f);
    assert_true(ftell(f) > 1 << 17);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(wg_graph_read(&g, path, &(wg_parse_options){.name = "mine"}, &error),
                     WG_EDATA);
    assert_string_equal(error.text, "mine:10003:6: no op 'reluu'; did you mean 'relu'?");
    remove(path);
}

static void a_graph_in_error_is_not_read_back(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new(), *back;
    wg_error error;
    size_t size;
    wg_matmul(wg_input(g, "x", WG_F32, WG_SHAPE(2)), NULL);
    char *text = text_of(g, &size);
    assert_int_equal(wg_graph_parse(&back, text, size, NULL, &error), WG_EDATA);
    check_that(strstr(error.text, "printed with this error: matmul(x, NULL): b is NULL") != NULL,
               "%s", error.text);
    free(text);
    wg_graph_free(g);
}

static void a_program_with_another_locale_reads_and_writes_points(void **state)
{
    (void)state;
    const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"};
    const char text[] = "wengert-graph 1\n%y = fill {value=0.5} : f32[]\n";
    for (int i = 0; i < WG_COUNT(names); i++)
        if (setlocale(LC_NUMERIC, names[i]))
            break;
    wg_graph *g = parsed(text, sizeof text - 1, NULL);
    assert_true(((const wg_fill_attrs *)wg_graph_node(g, 0)->attrs)->value == 0.5);
    wg_graph_free(there_and_back(g, NULL));
    wg_graph_free(g);
    setlocale(LC_NUMERIC, "C");
}

/* ---- any bytes ------------------------------------------------------------------------------- */

/* An error with a text, or a graph that is right and comes back. */
static bool is_graph_or_error(const char *text, size_t size)
{
    wg_graph *g;
    static wg_error error;
    wg_status status = wg_graph_parse(&g, text, size, &with_own_ops, &error);
    if (status != WG_OK) {
        check_that(!g && error.status == status && strncmp(error.text, "graph:", 6) == 0, "'%s'",
                   error.text);
        return false;
    }
    wg_graph_free(there_and_back(g, &with_own_ops));
    wg_graph_free(g);
    return true;
}

/* A text with most of what there is. */
static char *seed_text(size_t *size)
{
    const float numbers[] = {1, 2, 3};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4, 6)), *s, *y;
    s = wg_state(g, "s", WG_F32, WG_SHAPE(4, 6), wg_normal_init(0.1));
    wg_scope_push(g, "odd scope");
    wg_scope_recompute(g);
    y = wg_sum(wg_matmul_t(x, s, WG_NT), WG_AXES(0, -1), WG_KEEP);
    wg_constant(g, WG_F32, WG_SHAPE(3), numbers);
    wg_einsum("ij,kj->ik", (wg_value *[]){x, s}, 2);
    wg_dropout(wg_name(wg_topk(x, 2, 1), "top"), 0.25);
    all_kinds a = {.text = "t", .data = {"123", 3}};
    wg_apply1(NULL, &op_of_all_kinds, &a, x);
    wg_split(x, 1, (const int64_t[]){1, 5}, 2);
    wg_output(y, "y");
    wg_assign(s, wg_gelu(x, WG_GELU_TANH));
    check_that(wg_graph_status(g) == WG_OK, "%s", wg_graph_message(g));
    char *text = text_of(g, size);
    wg_graph_free(g);
    return text;
}

static void every_beginning_is_an_error_or_a_graph(void **state)
{
    (void)state;
    size_t size;
    char *text = seed_text(&size);
    for (size_t n = 0; n < (size_t)(strchr(text, '}') - text); n++)
        is_graph_or_error(text, n);
    for (size_t n = (size_t)(strchr(text, '}') - text) + 1; n < size; n++)
        check_that(!is_graph_or_error(text, n), "%zu of %zu bytes passed the counts", n, size);
    assert_true(is_graph_or_error(text, size));
    free(text);
}

/* One change: a byte, a stretch that is lost or repeated, a word of the format, a number. */
static size_t mutate(char *to, const char *from, size_t size, uint64_t *bits)
{
    static const char *const words[] = {"%0",     "%1",
                                        "(",      ")",
                                        "{",      "}",
                                        "[",      "]",
                                        ",",      "=",
                                        "\n",     "'",
                                        "\"",     "\\",
                                        "none",   "in ",
                                        "at ",    "f64",
                                        "i64",    "-1",
                                        "0",      "9223372036854775807",
                                        "1e308",  "nan",
                                        "label ", ":",
                                        "#"};
    size_t at = wgi_splitmix64(bits) % (size + 1), length = wgi_splitmix64(bits) % 24;
    size_t end = at + length < size ? at + length : size;
    const char *word = words[wgi_splitmix64(bits) % WG_COUNT(words)];
    char byte[2] = {(char)(wgi_splitmix64(bits) & 0xff), 0};
    switch (wgi_splitmix64(bits) % 5) {
    case 0: end = at, word = byte; break;                      /* put in */
    case 1: end = at < size ? at + 1 : at, word = byte; break; /* changed */
    case 2: word = ""; break;                                  /* lost */
    case 3: end = at; break;                                   /* a word put in */
    default: end = at < size ? at + 1 : at; break;             /* a word for a byte */
    }
    size_t n = strlen(word);
    memcpy(to, from, at);
    memcpy(to + at, word, n);
    memcpy(to + at + n, from + end, size - end);
    return size - (end - at) + n;
}

static void changed_texts_do_no_harm(void **state)
{
    (void)state;
    enum { TEXTS = 20000, MAX_CHANGES = 4 };
    size_t size, graphs = 0;
    uint64_t bits = 7;
    char *seed = seed_text(&size), *text[2];
    char *head = strstr(seed, " {nodes="); /* without counts more texts are graphs */
    size_t shift = (size_t)(strchr(head, '\n') - head);
    memmove(head, head + shift, size - (size_t)(head - seed) - shift);
    size -= shift;
    text[0] = malloc(size + 200);
    text[1] = malloc(size + 200);
    for (int i = 0; i < TEXTS; i++) {
        memcpy(text[0], seed, size);
        size_t n = size, changes = 1 + wgi_splitmix64(&bits) % MAX_CHANGES, k = 0;
        for (; k < changes; k++)
            n = mutate(text[(k + 1) % 2], text[k % 2], n, &bits);
        graphs += is_graph_or_error(text[k % 2], n);
    }
    printf("%d changed texts: %zu are graphs\n", TEXTS, graphs);
    assert_in_range(graphs, TEXTS / 50, TEXTS * 9 / 10);
    free(text[0]);
    free(text[1]);
    free(seed);
}

/* The seeds of the fuzzer: all are graphs. */
static void the_corpus_comes_back(void **state)
{
    (void)state;
    static const char *const files[] = {"attention.wg", "by_hand.wg", "lstm.wg", "mlp_gradient.wg",
                                        "odd.wg"};
    for (int i = 0; i < WG_COUNT(files); i++) {
        char path[1200];
        wg_graph *g;
        wg_error error;
        snprintf(path, sizeof path, "%s/%s", CORPUS, files[i]);
        check_that(wg_graph_read(&g, path, NULL, &error) == WG_OK, "%s", error.text);
        wg_graph_free(there_and_back(g, NULL));
        wg_graph_free(g);
    }
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
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(zero_bytes_are_refused),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(a_large_file_is_read_whole),
        cmocka_unit_test(a_graph_in_error_is_not_read_back),
        cmocka_unit_test(a_program_with_another_locale_reads_and_writes_points),
        cmocka_unit_test(the_corpus_comes_back),
        cmocka_unit_test(every_beginning_is_an_error_or_a_graph),
        cmocka_unit_test(changed_texts_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
