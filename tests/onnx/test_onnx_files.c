/* Files of ONNX as they are and as they should not be: parameters, sizes, known inputs; and files
 * that were made to do harm, each of which is a message with the file, the place and the field. */
#include "tests/onnx/files.h"

#include "graph/names.h"
#include "wengert/ops/table.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what becomes what ----------------------------------------------------------------------- */

static void tied_weights_are_one_parameter(void **state)
{
    (void)state;
    made m;
    wg_graph *g;
    begin(&m);
    made_write(&m, path);
    made_free(&m);
    check_that(import(&g, NULL) == WG_OK, "%s", error.text);
    assert_int_equal(wg_graph_parameters(g, NULL, 0), 1);
    const wg_value *w = wg_graph_find(g, "w");
    assert_true(w && w->node->op == &wg_op_parameter);
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_OK);
    memcpy(wg_plan_f32(p, wg_graph_find(g, "x")), numbers, sizeof numbers);
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    for (int i = 0; i < 6; i++)
        assert_true(wg_plan_f32(p, wg_graph_output(g, 0))[i] ==
                    numbers[i] * numbers[i] + numbers[i]);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void numbers_go_into_a_store(void **state)
{
    (void)state;
    made m;
    wg_graph *g;
    wg_store *store = wg_store_new(1);
    begin(&m);
    made_write(&m, path);
    made_free(&m);
    check_that(import(&g, &(wg_onnx_import_options){.store = store}) == WG_OK, "%s", error.text);
    const wg_tensor *t = wg_store_find(store, "w");
    assert_true(t && memcmp(t->data, numbers, sizeof numbers) == 0);
    wg_graph_free(g);
    wg_store_free(store);
    const char *frozen[] = {"other*", "w*", "misspelt"};
    check_that(import(&g, &(wg_onnx_import_options){.frozen = frozen, .n_frozen = 2}) == WG_OK,
               "%s", error.text);
    assert_int_equal(wg_graph_parameters(g, NULL, 0), 0);
    wg_graph_free(g);
    const wg_onnx_import_options wrong[] = {{.frozen = frozen, .n_frozen = 3},
                                            {.scalars = frozen, .n_scalars = 3}};
    for (size_t i = 0; i < WG_COUNT(wrong); i++) {
        assert_int_equal(import(&g, &wrong[i]), WG_EINVAL);
        check_that(strstr(error.text, "no initializer of floats is called 'misspelt'"), "%s",
                   error.text);
    }
}

/* y = exp(temperature) x: d sum y / d temperature = sum y. */
static void scalars_become_parameters_by_name(void **state)
{
    (void)state;
    static const float temperature[] = {0.5f};
    const wg_shape scalar = WG_SCALAR, x = WG_SHAPE(6);
    const char *names[] = {"temperature"};
    const wg_onnx_import_options o = {.scalars = names, .n_scalars = 1};
    made m;
    wg_graph *g;
    wg_plan *p;
    made_begin(&m);
    made_input(&m, "x", x);
    made_output(&m, "y", x);
    wgi_ox_tensor(&m.e, "temperature", WG_F32, &scalar, temperature);
    wgi_ox_node(&m.e, "Exp", names, 1, "scale");
    wgi_ox_node(&m.e, "Mul", (const char *[]){"x", "scale"}, 2, "y");
    made_write(&m, path);
    made_free(&m);
    check_that(import(&g, NULL) == WG_OK, "%s", error.text);
    assert_int_equal(wg_graph_parameters(g, NULL, 0), 0);
    wg_graph_free(g);
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    wg_value *loss = wg_output(wg_sum(wg_graph_output(g, 0), WG_ALL_AXES, WG_DROP), "loss");
    wg_gradients d = wg_grad_all(loss);
    assert_int_equal(d.n, 1);
    wg_output(d.grads[0], "gradient");
    check_that(wg_plan_create(&p, g, NULL) == WG_OK, "%s", wg_graph_message(g));
    memcpy(wg_plan_f32(p, wg_graph_find(g, "x")), numbers, sizeof numbers);
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += exp(0.5) * (double)numbers[i];
    check_that(fabs(wg_plan_scalar(p, loss) - sum) <= 1e-5, "%g, not %g", wg_plan_scalar(p, loss),
               sum);
    check_that(fabs(wg_plan_scalar(p, d.grads[0]) - sum) <= 1e-5, "%g, not %g",
               wg_plan_scalar(p, d.grads[0]), sum);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Momentum 0.9: 0.9 old + 0.1 of the batch, in the states of the plan. */
static void running_statistics_are_states(void **state)
{
    (void)state;
    static const float one[] = {1};
    const wg_shape s = WG_SHAPE(1), x = WG_SHAPE(2, 1, 3);
    static const char *const leaf[] = {"gain", "bias", "mean", "var"};
    made m;
    wg_graph *g;
    made_begin(&m);
    made_input(&m, "x", x);
    made_output(&m, "y", x);
    for (int i = 0; i < 4; i++)
        wgi_ox_tensor(&m.e, leaf[i], WG_F32, &s, one);
    wgi_ox_node(&m.e, "BatchNormalization", (const char *[]){"x", "gain", "bias", "mean", "var"}, 5,
                "y");
    made_write(&m, path);
    made_free(&m);
    check_that(import(&g, &(wg_onnx_import_options){.train = true}) == WG_OK, "%s", error.text);
    assert_int_equal(wg_graph_parameters(g, NULL, 0), 2);
    assert_true(wg_graph_find(g, "mean")->node->op == &wg_op_state);
    assert_int_equal(wg_graph_assign_count(g), 2);
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_OK);
    memcpy(wg_plan_f32(p, wg_graph_find(g, "x")), numbers, sizeof numbers);
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    double mean = (1 - 2 + 3 + 0.5 + 4 - 0.25) / 6;
    double got = (double)wg_plan_f32(p, wg_graph_find(g, "mean"))[0] - (0.9 + 0.1 * mean);
    assert_true(got < 1e-6 && got > -1e-6);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* A result that no op here makes is named, and nobody reads it. */
static void results_that_are_not_read_are_not_made(void **state)
{
    (void)state;
    made m;
    wg_graph *g;
    begin(&m);
    wgi_ox_add_result(&m.e, wgi_ox_node(&m.e, "Neg", (const char *[]){"p"}, 1, "a"), "b");
    made_write(&m, path);
    check_that(import(&g, NULL) == WG_OK, "%s", error.text);
    wg_graph_free(g);
    made_node(&m, "Abs", "b", NULL, "c");
    refused_model(&m, WG_EUNSUPPORTED, "node 2 \"a\" (Neg, opset 17)",
                  "not supported: result 1, 'b'");
}

static void sizes_and_known_inputs_are_asked_for(void **state)
{
    (void)state;
    made m;
    wg_graph *g;
    made_begin(&m);
    made_input(&m, "x", WG_SHAPE(2, 3));
    made_input(&m, "shape", WG_SHAPE(2));
    made_output(&m, "y", WG_SHAPE(3, 2));
    ox_value_proto *x = m.inputs.item[0], *shape = m.inputs.item[1];
    shape->type->tensor_type->elem_type = 7;
    x->type->tensor_type->shape->dim[0]->value_case =
        WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    x->type->tensor_type->shape->dim[0]->dim_param = (char *)"batch";
    made_node(&m, "Reshape", "x", "shape", "y");
    made_write(&m, path);
    made_free(&m);
    refused(NULL, WG_EINVAL, "input 'x'", "dimension 'batch'");
    const wg_onnx_dim batch = {"batch", 2}, axis = {"x:0", 2};
    refused(&(wg_onnx_import_options){.dims = &batch, .n_dims = 1}, WG_EUNSUPPORTED,
            "node 0 \"y\" (Reshape, opset 17)", "depends on 'shape'");
    wg_onnx_dim wrong = {"Batch", 2};
    const wg_onnx_import_options given = {.dims = &wrong, .n_dims = 1};
    refused(&given, WG_EINVAL, "dimension 'Batch': expected a free one ('batch')",
            "got a name that none has");
    wrong.name = "x:1";
    refused(&given, WG_EINVAL, "dimension 'x:1': expected a free one ('batch')",
            "got an axis whose size is 3 in the file");
    wrong.name = "x:2";
    refused(&given, WG_EINVAL, "dimension 'x:2'", "got a name that none has");
    const int64_t sizes[] = {3, 2};
    wg_onnx_known known = {.input = "shape", .dtype = WG_I64, .shape = WG_SHAPE(2), .data = sizes};
    wg_onnx_import_options o = {.dims = &axis, .n_dims = 1, .known = &known, .n_known = 1};
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    assert_int_equal(wg_graph_output(g, 0)->shape.dim[0], 3);
    assert_null(wg_graph_find(g, "shape"));
    wg_graph_free(g);
    bool needed = false;
    known.needed = &needed;
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    assert_true(needed);
    assert_null(wg_graph_find(g, "shape"));
    wg_graph_free(g);
    known.data = NULL;
    refused(&o, WG_EUNSUPPORTED, "node 0 \"y\" (Reshape, opset 17)", "depends on 'shape'");
    assert_true(needed);
}

/* An input whose numbers are at hand stays an input where the file does not need them. */
static void numbers_that_are_not_needed_are_not_taken(void **state)
{
    (void)state;
    made m;
    wg_graph *g;
    bool needed = true;
    const double two[] = {1, 2};
    const wg_onnx_known known = {
        .input = "x", .shape = WG_SHAPE(2), .data = two, .needed = &needed};
    const wg_onnx_import_options o = {.known = &known, .n_known = 1};
    made_begin(&m);
    made_input(&m, "x", WG_SHAPE(2));
    made_output(&m, "y", WG_SHAPE(2));
    made_node(&m, "Exp", "x", NULL, "y");
    made_write(&m, path);
    made_free(&m);
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    assert_false(needed);
    assert_non_null(wg_graph_find(g, "x"));
    wg_graph_free(g);
}

/* Nothing is built, and the message has all that is missing. */
static void all_that_is_missing_is_listed(void **state)
{
    (void)state;
    made m;
    begin(&m);
    made_node(&m, "Sneeze", "y", NULL, "z");
    made_node(&m, "Cough", "z", NULL, "a");
    made_node(&m, "Cough", "a", NULL, "b");
    refused_model(&m, WG_EUNSUPPORTED, "Sneeze (1)", "Cough (2)");
    begin(&m);
    made_write(&m, path);
    FILE *f = tmpfile();
    assert_int_equal(wg_onnx_describe(path, f, &error), WG_OK);
    assert_true(ftell(f) > 100);
    fclose(f);
    made_free(&m);
}

/* ---- hostile files --------------------------------------------------------------------------- */

/* Each is an error or a model, and nothing worse. */
static void files_may_end_anywhere(void **state)
{
    (void)state;
    made m;
    size_t size, failures = 0;
    begin(&m);
    uint8_t *bytes = made_bytes(&m, &size);
    made_free(&m);
    for (size_t n = 0; n < size; n++) {
        wg_graph *g;
        write_bytes(path, bytes, n);
        wg_status status = import(&g, NULL);
        assert_true((status == WG_OK) == (g != NULL));
        check_that(status == WG_OK || strncmp(error.text, path, strlen(path)) == 0, "%s",
                   error.text);
        failures += status != WG_OK;
        wg_graph_free(g);
    }
    assert_true(failures > size / 2);
    free(bytes);
}

/* Fields of a ModelProto as bytes: a tag is the number of a field, shifted by 3, and its kind. */
static void fields_are_as_the_schema_has_them(void **state)
{
    (void)state;
#define BYTES(bytes) bytes, sizeof bytes - 1
#define FF3 "\xff\xff\xff"
    static const struct {
        const char *bytes;
        size_t size;
        const char *first, *second;
    } cases[] = {
        {BYTES(""), "not an ONNX model", "no graph"},
        {BYTES("\x3a" FF3 FF3 "\xff\xff\x7f\0"), "byte 1: ModelProto.graph",
         "9223372036854775807 bytes, where 1 are left"},
        {BYTES("\x3a\xff"), "byte 1: ModelProto.graph", "the length is cut off"},
        {BYTES("\xa2\x06\x05"), "byte 2: ModelProto.unknown field", "5 bytes, where 0 are left"},
        {BYTES("\x08\xff\xff"), "ModelProto.ir_version", "a number is cut off"},
        {BYTES("\x08" FF3 FF3 FF3 "\xff\x01"), "ModelProto.ir_version", "a number is cut off"},
        {BYTES("\xa0\x06\xff"), "byte 0: ModelProto: ", "a number is cut off"},
        {BYTES("\x09" FF3 FF3 "\xff"), "ModelProto.ir_version", "a number is cut off"},
        {BYTES("\x0d" FF3), "ModelProto.ir_version", "a number is cut off"},
        {BYTES("\xa5\x06" FF3), "byte 0: ModelProto: ", "a number is cut off"},
        {BYTES("\x3b"), "ModelProto.graph", "another kind of field"},
        {BYTES("\xa3\x06"), "byte 0: ModelProto: ", "another kind of field"},
        {BYTES("\x80"), "byte 0: ModelProto: ", "the number of a field is malformed"},
        {BYTES("\x00"), "byte 0: ModelProto: ", "the number of a field is malformed"},
        {BYTES(FF3 FF3 "\x07"), "byte 0: ModelProto: ", "the number of a field is malformed"},
        {BYTES("\x0a\x00"), "no valid ModelProto", "a field has the wrong type"},
        {BYTES("\x0d\x01\x02\x03\x04"), "no valid ModelProto", "a field has the wrong type"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        write_bytes(path, cases[i].bytes, cases[i].size);
        refused(NULL, WG_EDATA, cases[i].first, cases[i].second);
    }
    unlink(path);
    refused(NULL, WG_EIO, path, "open: ");
}

/* Fields that no version of the schema has yet are passed over. */
static void unknown_fields_are_passed_over(void **state)
{
    (void)state;
    static const char unknown[] = "\xa0\x06\x01"
                                  "\xa1\x06"
                                  "12345678"
                                  "\xa2\x06\x03"
                                  "123"
                                  "\xa5\x06"
                                  "1234";
    made m;
    wg_graph *g;
    size_t size;
    begin(&m);
    uint8_t *bytes = made_bytes(&m, &size), *longer = realloc(bytes, size + sizeof unknown);
    made_free(&m);
    assert_non_null(longer);
    memcpy(longer + size, unknown, sizeof unknown - 1);
    write_bytes(path, longer, size + sizeof unknown - 1);
    free(longer);
    check_that(import(&g, NULL) == WG_OK, "%s", error.text);
    wg_graph_free(g);
}

/* An empty node is two bytes of the file and hundreds in memory. */
static void unpacking_takes_no_more_than_a_few_times_the_size(void **state)
{
    (void)state;
    enum { NODES = 400000, HEAD = 4 };
    uint8_t *bytes = malloc(HEAD + 2 * NODES);
    assert_non_null(bytes);
    bytes[0] = 0x3a; /* graph: 800,000 bytes */
    bytes[1] = 0x80 | (2 * NODES & 127);
    bytes[2] = 0x80 | (2 * NODES >> 7 & 127);
    bytes[3] = 2 * NODES >> 14;
    for (int i = 0; i < NODES; i++)
        memcpy(bytes + HEAD + 2 * i, "\x0a\x00", 2);
    write_bytes(path, bytes, HEAD + 2 * NODES);
    free(bytes);
    refused(NULL, WG_EDATA, "its fields would take more than 16 times its size", "");
}

static void sizes_agree_with_the_numbers(void **state)
{
    (void)state;
    static const int64_t bad[][3] = {{INT64_MAX, 2, 2}, {-1, 2, 3}, {7, 1, 1}, {0, 5, 1}};
    for (int i = 0; i < WG_COUNT(bad); i++) {
        made m;
        begin(&m);
        ox_tensor_proto *t = m.e.initializers.item[0];
        t->dims = (int64_t *)bad[i];
        t->n_dims = 3;
        refused_model(&m, WG_EDATA, "initializer 'w'", i < 2 ? "dims" : "raw_data");
    }
}

static void nodes_are_in_order_and_names_differ(void **state)
{
    (void)state;
    made m;
    begin(&m);
    made_node(&m, "Add", "later", "x", "sum");
    made_node(&m, "Relu", "sum", NULL, "later");
    refused_model(&m, WG_EDATA, "node 2 \"sum\" (Add, opset 17)", "called 'later'");
    begin(&m);
    made_node(&m, "Relu", "x", NULL, "p");
    refused_model(&m, WG_EDATA, "two values are called 'p'", "");
    begin(&m);
    made_input(&m, "x", WG_SHAPE(2, 3));
    refused_model(&m, WG_EDATA, "two values are called 'x'", "");
    begin(&m);
    made_node(&m, "Add", "x", NULL, "z");
    refused_model(&m, WG_EDATA, "(Add, opset 17)", "operand 1 is missing");
}

/* Names of values are legal that no label can have: nothing behind a slash, or 600 bytes. */
static void values_may_have_any_name(void **state)
{
    (void)state;
    char longest[WGI_NAME_BYTES + 1], longer[601];
    memset(longest, 'v', sizeof longest - 1);
    memset(longer, 'v', sizeof longer - 1);
    longest[sizeof longest - 1] = longer[sizeof longer - 1] = '\0';
    const struct {
        const char *name, *label;
    } cases[] = {{"s/h/", NULL}, {"/", NULL}, {longer, NULL}, {longest, longest}, {"a/b", "a/b"}};
    for (int i = 0; i < WG_COUNT(cases); i++) {
        made m;
        wg_graph *g;
        begin(&m);
        made_node(&m, "Exp", "p", NULL, cases[i].name);
        made_node(&m, "Sin", cases[i].name, NULL, "z");
        made_output(&m, "z", WG_SHAPE(2, 3));
        made_write(&m, path);
        check_that(import(&g, NULL) == WG_OK, "a value called '%s': %s", cases[i].name, error.text);
        const wg_value *v = wg_graph_output(g, 1)->node->in[0];
        check_that(cases[i].label ? v->name && strcmp(v->name, cases[i].label) == 0 : !v->name,
                   "'%s' is labelled '%s'", cases[i].name, v->name ? v->name : "");
        wg_graph_free(g);
        made_free(&m);
    }
}

/* A shape that is made of 2^40 zeros. */
static void little_cannot_ask_for_much(void **state)
{
    (void)state;
    made m;
    const int64_t much = INT64_C(1) << 40, zero = 0;
    begin(&m);
    const char *sizes = wgi_ox_list_of(&m.e, &much, 1), *nil = wgi_ox_number(&m.e, WG_I64, 0);
    made_node(&m, "Expand", nil, sizes, "zeros");
    made_node(&m, "ReduceSum", "zeros", NULL, "sum");
    made_node(&m, "Unsqueeze", "sum", wgi_ox_list_of(&m.e, &zero, 1), "shape");
    made_node(&m, "Reshape", "x", "shape", "z");
    refused_model(&m, WG_EUNSUPPORTED, "8796093022208 bytes", "while the file is read");
}

/* A subgraph in a subgraph, `depth` times. */
static ox_graph_proto *nested(made *m, int depth)
{
    ox_graph_proto *g = wgi_ox_room(&m->e, sizeof *g);
    ox_node_proto *p = wgi_ox_room(&m->e, sizeof *p), **list = wgi_ox_room(&m->e, sizeof *list);
    ox_attribute_proto *a = wgi_ox_room(&m->e, sizeof *a), **as = wgi_ox_room(&m->e, sizeof *as);
    assert_true(g && p && list && a && as);
    wgi_onnx__graph_proto__init(g);
    wgi_onnx__node_proto__init(p);
    wgi_onnx__attribute_proto__init(a);
    if (depth) {
        a->name = (char *)"then_branch";
        a->g = nested(m, depth - 1);
        *as = a;
        p->attribute = as;
        p->n_attribute = 1;
    }
    p->op_type = (char *)"If";
    *list = p;
    g->node = list;
    g->n_node = 1;
    return g;
}

static void subgraphs_are_not_deep(void **state)
{
    (void)state;
    made m;
    begin(&m);
    ox_graph_proto *g = nested(&m, 30);
    wgi_ox_push(&m.e, &m.e.nodes, g->node[0]);
    refused_model(&m, WG_EDATA, "nested more than 64 deep", "byte ");
    made_begin(&m);
    g = nested(&m, 10);
    wgi_ox_push(&m.e, &m.e.nodes, g->node[0]);
    refused_model(&m, WG_EDATA, "(If, opset 17)", "operand 0 is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tied_weights_are_one_parameter),
        cmocka_unit_test(numbers_go_into_a_store),
        cmocka_unit_test(scalars_become_parameters_by_name),
        cmocka_unit_test(running_statistics_are_states),
        cmocka_unit_test(results_that_are_not_read_are_not_made),
        cmocka_unit_test(sizes_and_known_inputs_are_asked_for),
        cmocka_unit_test(numbers_that_are_not_needed_are_not_taken),
        cmocka_unit_test(all_that_is_missing_is_listed),
        cmocka_unit_test(files_may_end_anywhere),
        cmocka_unit_test(fields_are_as_the_schema_has_them),
        cmocka_unit_test(unknown_fields_are_passed_over),
        cmocka_unit_test(unpacking_takes_no_more_than_a_few_times_the_size),
        cmocka_unit_test(sizes_agree_with_the_numbers),
        cmocka_unit_test(nodes_are_in_order_and_names_differ),
        cmocka_unit_test(values_may_have_any_name),
        cmocka_unit_test(little_cannot_ask_for_much),
        cmocka_unit_test(subgraphs_are_not_deep),
    };
    return cmocka_run_group_tests(tests, NULL, leave);
}
