/* Functions that a file brings along: calls compute what the body says, with the call's operands
 * and attributes, and with nothing else of the graph around. */
#include "tests/arena_allocations.h"
#include "tests/onnx/equals.h"

#include "onnx/import.h"

enum { FUNCTIONS = 4 };

static const char path[] = "functions.onnx";
static wg_error error;

typedef struct functions {
    const char *name[FUNCTIONS]; /* NULL behind the last */
    const char *body[FUNCTIONS]; /* a graph of which the types do not matter */
    const char *graph;
    uint32_t unknown;       /* the first one has this field, which onnx may not know; 0: none */
    const uint8_t *damaged; /* instead of the second; or NULL */
    size_t n_damaged;
} functions;

/* ---- models with functions ------------------------------------------------------------------- */

static ox_function_proto *function(made *m, const char *name, const char *body)
{
    ox_graph_proto *g = onnx_text(m, body);
    ox_function_proto *f = wgi_ox_room(&m->e, sizeof *f);
    wgi_onnx__function_proto__init(f);
    f->name = (char *)name;
    f->domain = (char *)"own";
    f->node = g->node;
    f->n_node = g->n_node;
    f->n_input = g->n_input;
    f->n_output = g->n_output;
    f->input = wgi_ox_room(&m->e, (g->n_input + 1) * sizeof *f->input);
    f->output = wgi_ox_room(&m->e, (g->n_output + 1) * sizeof *f->output);
    for (size_t i = 0; i < g->n_input; i++)
        f->input[i] = g->input[i]->name;
    for (size_t i = 0; i < g->n_output; i++)
        f->output[i] = g->output[i]->name;
    return f;
}

/* Fields of functions: one that onnx 1.12 does not know, and one that nobody knows. */
enum { DEFAULTS = 11, NEWER = 99 };

/* The message of n bytes as one of those fields. */
static ProtobufCMessageUnknownField field_of(made *m, uint32_t number, const uint8_t *message,
                                             size_t n)
{
    uint8_t *bytes = wgi_ox_room(&m->e, n + 2);
    size_t start = n < 128 ? 1 : 2;
    bytes[0] = (uint8_t)(n < 128 ? n : n % 128 + 128);
    bytes[1] = (uint8_t)(n / 128);
    memcpy(bytes + start, message, n);
    return (ProtobufCMessageUnknownField){number, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, n + start,
                                          bytes};
}

static ProtobufCMessageUnknownField attribute(made *m, uint32_t number, const char *name, float f,
                                              const char *comment)
{
    uint8_t packed[400];
    WgiOnnx__AttributeProto a = WGI_ONNX__ATTRIBUTE_PROTO__INIT;
    a.name = (char *)name;
    a.doc_string = (char *)comment;
    a.has_type = a.has_f = true;
    a.type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
    a.f = f;
    assert_true(wgi_onnx__attribute_proto__get_packed_size(&a) <= sizeof packed);
    return field_of(m, number, packed, wgi_onnx__attribute_proto__pack(&a, packed));
}

/* steepness = 3 with a long comment and slope = 0.5, as defaults or as anything else. */
static void add_unknown(made *m, ox_function_proto *f, const functions *fs)
{
    ProtobufCMessageUnknownField *field = wgi_ox_room(&m->e, 2 * sizeof *field);
    char comment[201] = "";
    memset(comment, 'c', sizeof comment - 1);
    field[0] = attribute(m, fs->unknown, "steepness", 3, comment);
    field[1] = fs->damaged ? field_of(m, fs->unknown, fs->damaged, fs->n_damaged)
                           : attribute(m, fs->unknown, "slope", 0.5f, NULL);
    f->base.unknown_fields = field;
    f->base.n_unknown_fields = 2;
}

/* Nodes that call a function are of its domain. */
static void set_domains(ox_node_proto **node, size_t n, const functions *fs)
{
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < FUNCTIONS && fs->name[k]; k++)
            if (strcmp(node[i]->op_type, fs->name[k]) == 0)
                node[i]->domain = (char *)"own";
        for (size_t k = 0; k < node[i]->n_attribute; k++)
            if (node[i]->attribute[k]->g)
                set_domains(node[i]->attribute[k]->g->node, node[i]->attribute[k]->g->n_node, fs);
    }
}

static void write_model(const functions *fs)
{
    made m;
    ox_model_proto model = WGI_ONNX__MODEL_PROTO__INIT;
    WgiOnnx__OperatorSetIdProto main = WGI_ONNX__OPERATOR_SET_ID_PROTO__INIT, own = main,
                                *ids[] = {&main, &own};
    ox_function_proto *all[FUNCTIONS];
    made_begin(&m);
    main.has_version = own.has_version = model.has_ir_version = true;
    main.version = 18;
    own.version = 1;
    own.domain = (char *)"own";
    model.ir_version = 8;
    model.opset_import = ids;
    model.n_opset_import = 2;
    model.graph = onnx_text(&m, fs->graph);
    set_domains(model.graph->node, model.graph->n_node, fs);
    for (; model.n_functions < FUNCTIONS && fs->name[model.n_functions]; model.n_functions++) {
        size_t i = model.n_functions;
        all[i] = function(&m, fs->name[i], fs->body[i]);
        set_domains(all[i]->node, all[i]->n_node, fs);
    }
    if (fs->unknown)
        add_unknown(&m, all[0], fs);
    model.functions = all;
    size_t size = wgi_onnx__model_proto__get_packed_size(&model);
    uint8_t *bytes = malloc(size + 1);
    assert_non_null(bytes);
    wgi_onnx__model_proto__pack(&model, bytes);
    made_free(&m);
    made_file(bytes, size, path);
}

/* The model computes what the graph of that text does. */
static void computes(const char *what, const functions *fs, const char *text)
{
    write_model(fs);
    check_equal(what, read_model(what, path), read_text(what, 18, text));
    unlink(path);
}

static void refused(const functions *fs, wg_status status, const char *first, const char *second)
{
    wg_graph *g;
    write_model(fs);
    wg_status is = wg_onnx_import(&g, path, NULL, &error);
    check_that(is == status && !g, "%d: %s", (int)is, error.text);
    check_that(strncmp(error.text, path, strlen(path)) == 0 && strstr(error.text, first) &&
                   strstr(error.text, second),
               "'%s' and '%s' are not in '%s'", first, second, error.text);
    unlink(path);
}

/* ---- what a call computes -------------------------------------------------------------------- */

static void calls_have_their_own_operands_and_results(void **state)
{
    (void)state;
    static const functions fs = {
        .name = {"Both"},
        .body = {"(float[1] a, float[1] b) => (float[1] s, float[1] d)\n"
                 "{ n = Neg (b) s = Add (a, b) d = Mul (a, n) }"},
        .graph = "(float[2,3] x, float[2,3] w) => (float[2,3] y, float[2,3] n)\n"
                 "{ s, d = Both (x, w) n, e = Both (d, s) y = Mul (e, d) }",
    };
    computes("two calls", &fs,
             "(float[2,3] x, float[2,3] w) => (float[2,3] y, float[2,3] n)\n"
             "{ s = Add (x, w) m = Neg (w) d = Mul (x, m) n = Add (d, s) o = Neg (s)\n"
             "  e = Mul (d, o) y = Mul (e, d) }");
}

static void attributes_are_those_of_the_call(void **state)
{
    (void)state;
    static const functions fs = {
        .name = {"Slope"},
        .body = {"(float[1] a) => (float[1] r)\n"
                 "{ l = LeakyRelu <alpha = @slope> (a) t = Transpose <perm = @order> (l)\n"
                 "  r = Softmax <axis = @along> (t) }"},
        .graph = "(float[2,3,2] x) => (float[3,2,2] y, float[2,2,3] z)\n"
                 "{ y = Slope <slope = 0.5, order = [1, 0, 2], along = 1> (x)\n"
                 "  z = Slope <order = [0, 2, 1]> (x) }",
    };
    computes("attributes", &fs,
             "(float[2,3,2] x) => (float[3,2,2] y, float[2,2,3] z)\n"
             "{ a = LeakyRelu <alpha = 0.5> (x) b = Transpose <perm = [1, 0, 2]> (a)\n"
             "  y = Softmax <axis = 1> (b)\n"
             "  c = LeakyRelu (x) d = Transpose <perm = [0, 2, 1]> (c) z = Softmax (d) }");
}

/* A function hands on what it was given, under another name, also out of a subgraph. */
static void attributes_are_handed_on(void **state)
{
    (void)state;
    static const functions fs = {
        .name = {"Inner", "Outer"},
        .body = {"(float[1] a) => (float[1] r) { r = LeakyRelu <alpha = @slope> (a) }",
                 "(float[1] a) => (float[1] r)\n"
                 "{ so = Constant <value = bool[] {1}> ()\n"
                 "  f = Inner <slope = @steepness> (a)\n"
                 "  r = If <then_branch = () => (float[1] t)\n"
                 "              { u = LeakyRelu <alpha = @steepness> (f)\n"
                 "                t = Inner <slope = @steepness> (u) },\n"
                 "          else_branch = () => (float[1] e) { e = Neg (f) }> (so) }"},
        .graph = "(float[3] x) => (float[3] y, float[3] z)\n"
                 "{ y = Outer <steepness = 0.5> (x) z = Outer (x) }",
    };
    computes("handed on", &fs,
             "(float[3] x) => (float[3] y, float[3] z)\n"
             "{ y = LeakyRelu <alpha = 0.125> (x) z = LeakyRelu <alpha = 0.000001> (x) }");
}

/* The call's own attribute, else the function's default, else that of the op. */
static void attributes_have_defaults(void **state)
{
    (void)state;
    functions fs = {
        .name = {"Slope"},
        .body = {"(float[1] a) => (float[1] r) { r = LeakyRelu <alpha = @slope> (a) }"},
        .graph = "(float[3] x) => (float[3] y) { y = Slope <slope = 0.25> (x) }",
        .unknown = DEFAULTS,
    };
    computes("given", &fs, "(float[3] x) => (float[3] y) { y = LeakyRelu <alpha = 0.25> (x) }");
    fs.graph = "(float[3] x) => (float[3] y, float[3] z) { y = Slope (x) z = Slope (y) }";
    computes("left to the default", &fs,
             "(float[3] x) => (float[3] y, float[3] z)\n"
             "{ y = LeakyRelu <alpha = 0.5> (x) z = LeakyRelu <alpha = 0.5> (y) }");
    fs.body[0] = "(float[1] a) => (float[1] r) { r = LeakyRelu <alpha = @other> (a) }";
    computes("no default", &fs,
             "(float[3] x) => (float[3] y, float[3] z) { y = LeakyRelu (x) z = LeakyRelu (y) }");
    fs.body[0] = "(float[1] a) => (float[1] r) { r = LeakyRelu <alpha = @slope> (a) }";
    fs.unknown = NEWER; /* means nothing to a number: the op's own default counts */
    computes("a field of a newer format", &fs,
             "(float[3] x) => (float[3] y, float[3] z) { y = LeakyRelu (x) z = LeakyRelu (y) }");
}

/* What is no message is found as the file is read, what is no attribute where it is looked for. */
static void a_default_may_be_damaged(void **state)
{
    (void)state;
    static const uint8_t cut[] = {1 << 3 | 2, 100, 's'}, number[] = {1 << 3, 7};
    functions fs = {
        .name = {"Slope"},
        .body = {"(float[1] a) => (float[1] r) { r = LeakyRelu <alpha = @slope> (a) }"},
        .graph = "(float[3] x) => (float[3] y) { y = Slope (x) }",
        .unknown = DEFAULTS,
        .damaged = cut,
        .n_damaged = sizeof cut,
    };
    refused(&fs, WG_EDATA, "AttributeProto", "a length of 100 bytes, where 1 are left");
    fs.damaged = number;
    fs.n_damaged = sizeof number;
    bool known = protobuf_c_message_descriptor_get_field(&wgi_onnx__function_proto__descriptor,
                                                         DEFAULTS) != NULL;
    refused(&fs, WG_EDATA, known ? "no valid ModelProto" : "function 'Slope': ",
            known ? "a field has the wrong type" : "AttributeProto: a field has the wrong type");
}

static wg_status import(void *unused)
{
    wg_graph *g;
    (void)unused;
    wg_status status = wg_onnx_import(&g, path, NULL, &error);
    assert_true((status == WG_OK) == (g != NULL) && (status == WG_OK) == !*error.text);
    wg_graph_free(g);
    return status;
}

static void defaults_without_memory(void **state)
{
    (void)state;
    const functions fs = {
        .name = {"Slope"},
        .body = {"(float[1] a) => (float[1] r) { r = LeakyRelu <alpha = @slope> (a) }"},
        .graph = "(float[3] x) => (float[3] y) { y = Slope (x) }",
        .unknown = DEFAULTS,
    };
    write_model(&fs);
    assert_true(fail_each("a model with defaults", import, NULL, WG_OK) > 50);
    unlink(path);
}

/* Fewer operands than the function has, and an empty name among them. */
static void operands_may_be_absent(void **state)
{
    (void)state;
    static const functions fs = {
        .name = {"Bound"},
        .body = {"(float[1] a, float[1] low, float[1] high) => (float[1] r)\n"
                 "{ r = Clip (a, low, high) }"},
        .graph = "(float[6] x) => (float[6] y, float[6] z) <float[] k = {0.25}>\n"
                 "{ y = Bound (x, , k) z = Bound (x, k) }",
    };
    computes("absent operands", &fs,
             "(float[6] x) => (float[6] y, float[6] z) <float[] k = {0.25}>\n"
             "{ y = Min (x, k) z = Max (x, k) }");
}

/* A shape that a function computes is known while the file is read. */
static void shapes_are_known_through_calls(void **state)
{
    (void)state;
    static const functions fs = {
        .name = {"Halves"},
        .body = {"(float[1] a, int64[1] two) => (int64[1] s)\n"
                 "{ all = Size (a) one = Constant <value = int64[1] {-1}> ()\n"
                 "  s = Concat <axis = 0> (two, one) }"},
        .graph = "(float[3,4] x) => (float[2,6] y) <int64[1] two = {2}>\n"
                 "{ s = Halves (x, two) y = Reshape (x, s) }",
    };
    computes("shapes", &fs,
             "(float[3,4] x) => (float[2,6] y) <int64[2] s = {2, 6}> { y = Reshape (x, s) }");
}

/* The file's own function is meant where the standard has an op of that name in another domain. */
static void functions_may_have_names_of_ops(void **state)
{
    (void)state;
    static const functions fs = {
        .name = {"Relu"},
        .body = {"(float[1] a) => (float[1] r) { r = Neg (a) }"},
        .graph = "(float[3] x) => (float[3] y) { y = Relu (x) }",
    };
    computes("Relu of its own", &fs, "(float[3] x) => (float[3] y) { y = Neg (x) }");
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void a_function_that_calls_itself_is_refused(void **state)
{
    (void)state;
    static const functions fs = {
        .name = {"Again"},
        .body = {"(float[1] a) => (float[1] r) { r = Again (a) }"},
        .graph = "(float[3] x) => (float[3] y) { y = Again (x) }",
    };
    refused(&fs, WG_EUNSUPPORTED, "function of node 0: ", "within each other");
}

static void bodies_see_nothing_else_of_the_graph(void **state)
{
    (void)state;
    static const functions outer = {
        .name = {"Reads"},
        .body = {"(float[1] a) => (float[1] r) { r = Add (a, w) }"},
        .graph = "(float[3] x, float[3] w) => (float[3] y) { y = Reads (x) }",
    };
    refused(&outer, WG_EDATA, "function of node 0: ", "'w'");
    static const functions unmade = {
        .name = {"Forgets"},
        .body = {"(float[1] a) => (float[1] r) { s = Neg (a) }"},
        .graph = "(float[3] x) => (float[3] y) { z = Neg (x) y = Forgets (z) }",
    };
    refused(&unmade, WG_EUNSUPPORTED, "node 1", "result 0, 'y'");
    static const functions absent = {
        .name = {"Needs"},
        .body = {"(float[1] a, float[1] b) => (float[1] r) { r = Add (a, b) }"},
        .graph = "(float[3] x) => (float[3] y) { y = Needs (x) }",
    };
    refused(&absent, WG_EDATA, "function of node 0: ", "operand 1");
    static const functions twice = {
        .name = {"Twice"},
        .body = {"(float[1] a, float[1] a) => (float[1] r) { r = Neg (a) }"},
        .graph = "(float[3] x) => (float[3] y) { y = Twice (x, x) }",
    };
    refused(&twice, WG_EDATA, "function of node 0: ", "two values are called 'a'");
}

/* Those of the bodies are counted too. */
static void ops_that_bodies_need_are_listed(void **state)
{
    (void)state;
    static const functions fs = {
        .name = {"Sneezes"},
        .body = {"(float[1] a) => (float[1] r) { s = Sneeze (a) r = Sneeze (s) }"},
        .graph = "(float[3] x) => (float[3] y) { y = Sneezes (x) }",
    };
    refused(&fs, WG_EUNSUPPORTED, "not supported", "Sneeze (2)");
    write_model(&fs);
    const char *text = onnx_described(path);
    check_that(strstr(text, "functions       1\n") && strstr(text, "own.Sneezes") &&
                   strstr(text, "opset           own 1\n"),
               "%s", text);
    check_that(strstr(text, "1 of 2 kinds of ops is not supported"), "%s", text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_their_own_operands_and_results),
        cmocka_unit_test(attributes_are_those_of_the_call),
        cmocka_unit_test(attributes_are_handed_on),
        cmocka_unit_test(attributes_have_defaults),
        cmocka_unit_test(a_default_may_be_damaged),
        cmocka_unit_test(defaults_without_memory),
        cmocka_unit_test(operands_may_be_absent),
        cmocka_unit_test(shapes_are_known_through_calls),
        cmocka_unit_test(functions_may_have_names_of_ops),
        cmocka_unit_test(a_function_that_calls_itself_is_refused),
        cmocka_unit_test(bodies_see_nothing_else_of_the_graph),
        cmocka_unit_test(ops_that_bodies_need_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
