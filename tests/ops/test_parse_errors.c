/* Texts that are no graph: errors name their place, and no text does harm. */
#include "graph/mix.h"
#include "tests/ops/with_all_kinds.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <locale.h>

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
        {"wengert-graph 2", "m:1:15: the version of the format is 2, outside 1 to 1"},
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
         "m:3:17: expected a dtype (f32, f64, bf16, f16, i32, i64, i8, u8, bool), found 'g32'"},
        {HEAD "%y = relu(%x) at none 'n", "m:3:23: this ' is not closed in its line"},
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
        {HEAD "%y = constant {data=99[1]} : f32[1]",
         "m:3:21: expected the dtype of the numbers, or hex"},
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
        {HEAD "%y = relu(%x)\nassign %y := %x",
         "m:4:8: wg_assign: %1 is not a leaf but a result of relu"},
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
    assert_int_equal(wg_graph_parse(&g, "", 0, &(wg_parse_options){.ops = ops}, &error), WG_EINVAL);
    assert_string_equal(error.text, "the options have ops, but n_ops is 0");
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
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(zero_bytes_are_refused),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(a_large_file_is_read_whole),
        cmocka_unit_test(a_graph_in_error_is_not_read_back),
        cmocka_unit_test(a_program_with_another_locale_reads_and_writes_points),
        cmocka_unit_test(every_beginning_is_an_error_or_a_graph),
        cmocka_unit_test(changed_texts_do_no_harm),
        cmocka_unit_test(the_corpus_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
