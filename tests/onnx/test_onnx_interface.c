/* What a file says of itself: versions, and the types of its inputs and outputs. */
#include "tests/onnx/files.h"
#include "tests/onnx/text.h"

#include "onnx/model.h"

/* Writes the model of that text; `change` may change it before. */
static void write_model(const char *text, int opset, void (*change)(ox_model_proto *m))
{
    made m;
    size_t size;
    made_begin(&m);
    uint8_t *bytes = made_pack(onnx_text(&m, text), opset, &size);
    made_free(&m);
    ox_model_proto *model = wgi_onnx__model_proto__unpack(NULL, size, bytes);
    assert_non_null(model);
    free(bytes);
    change(model);
    size = wgi_onnx__model_proto__get_packed_size(model);
    assert_non_null(bytes = malloc(size + 1));
    wgi_onnx__model_proto__pack(model, bytes);
    wgi_onnx__model_proto__free_unpacked(model, NULL);
    made_file(bytes, size, path);
}

static void imports(const wg_onnx_import_options *o)
{
    wg_graph *g;
    check_that(import(&g, o) == WG_OK, "%s", error.text);
    wg_graph_free(g);
}

/* ---- versions -------------------------------------------------------------------------------- */

static const char relu[] = "(float[2,3] x) => (float[2,3] y) { y = Relu (x) }";

static void drop_opsets(ox_model_proto *m)
{
    wgi_onnx__operator_set_id_proto__free_unpacked(m->opset_import[0], NULL);
    m->n_opset_import = 0;
}

static void make_old(ox_model_proto *m)
{
    drop_opsets(m);
    m->ir_version = 2;
}

static WgiOnnx__OperatorSetIdProto *new_opset(const char *domain, int64_t version)
{
    WgiOnnx__OperatorSetIdProto *id = malloc(sizeof *id);
    assert_non_null(id);
    wgi_onnx__operator_set_id_proto__init(id);
    id->domain = strdup(domain);
    id->has_version = true;
    id->version = version;
    return id;
}

static void add_opset(ox_model_proto *m, const char *domain, int64_t version)
{
    size_t n = m->n_opset_import++;
    m->opset_import = realloc(m->opset_import, (n + 1) * sizeof *m->opset_import);
    assert_non_null(m->opset_import);
    m->opset_import[n] = new_opset(domain, version);
}

static void add_eleven(ox_model_proto *m)
{
    add_opset(m, "ai.onnx", 11);
}

static void add_the_same(ox_model_proto *m)
{
    add_opset(m, "ai.onnx", 17);
}

static void add_custom(ox_model_proto *m)
{
    add_opset(m, "x.y", 1);
    add_opset(m, "x.y", 2);
}

static void leave_training(ox_model_proto *m)
{
    drop_opsets(m);
    add_opset(m, "ai.onnx.preview.training", 1);
}

static void nothing(ox_model_proto *m)
{
    (void)m;
}

static void versions_are_said_once(void **state)
{
    (void)state;
    write_model(relu, 17, drop_opsets);
    refused(NULL, WG_EDATA, "made.onnx: opset_import: none, where files of IR version 3 and later",
            "this one is of version 8");
    write_model(relu, 17, add_eleven);
    refused(NULL, WG_EDATA, "made.onnx: opset_import: ai.onnx is there twice, with 17 and 11", "");
    write_model(relu, 17, add_custom);
    refused(NULL, WG_EDATA, "made.onnx: opset_import: x.y is there twice, with 1 and 2", "");
    write_model(relu, 17, leave_training);
    refused(NULL, WG_EDATA, "made.onnx: opset_import: no version of ai.onnx, whose op Relu is used",
            "");
    write_model(relu, 0, nothing);
    refused(NULL, WG_EDATA, "made.onnx: opset 0 is not supported, those from 1 to 24 are", "");
    write_model(relu, 99, nothing);
    refused(NULL, WG_EUNSUPPORTED, "made.onnx: opset 99 is not supported", "");
    write_model(relu, 17, add_the_same);
    imports(NULL);
    write_model(relu, 17, make_old);
    imports(NULL);
}

/* ---- inputs whose shape is unknown ----------------------------------------------------------- */

static void forget_shape(ox_model_proto *m)
{
    WgiOnnx__TypeProto__Tensor *t = m->graph->input[0]->type->tensor_type;
    wgi_onnx__tensor_shape_proto__free_unpacked(t->shape, NULL);
    t->shape = NULL;
}

/* An unknown number of axes is not the number 0. */
static void shapes_that_are_unknown_are_asked_for(void **state)
{
    (void)state;
    wg_graph *g;
    const wg_onnx_dim dims[] = {{"x:0", 2}, {"x:1", 3}, {"x:3", 1}, {"N", 4}};
    write_model("(float[2,3] x, float[N] z) => (float[2,3] y) { y = Relu (x) }", 17, forget_shape);
    refused(&(wg_onnx_import_options){.other_dims = 4}, WG_EINVAL,
            "made.onnx: input 'x': the file does not say how many axes it has: give their sizes as "
            "the dimensions 'x:0', 'x:1' and so on",
            "");
    refused(&(wg_onnx_import_options){.dims = dims + 1, .n_dims = 1}, WG_EINVAL,
            "dimension 'x:1': expected a free one ('x:0', 'x:1', ..., 'N'), got a name", "");
    refused(&(wg_onnx_import_options){.dims = dims, .n_dims = 3}, WG_EINVAL,
            "dimension 'x:3': expected a free one", "got a name that none has");
    const wg_onnx_import_options o = {.dims = dims, .n_dims = 2, .other_dims = 4};
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    const wg_shape x = WG_SHAPE(2, 3);
    assert_true(wg_shape_equal(&wg_graph_find(g, "x")->shape, &x));
    assert_string_equal(error.warning, "");
    wg_graph_free(g);
}

/* ---- inputs that are known ------------------------------------------------------------------- */

static const char reshape[] = "(float[2,3] x, int64[R] s, int32[] k, int64[1,2] l)\n"
                              "=> (float[R0,R1] y)\n"
                              "{ y = Reshape (x, s) a = Concat <axis = 0> (s, s) }";

static void know(const char *input, int64_t n, const double *data, const char *message)
{
    wg_graph *g;
    const wg_onnx_known known = {.input = input, .shape = WG_SHAPE(n), .data = data};
    const wg_onnx_import_options o = {.known = &known, .n_known = 1, .other_dims = 2};
    if (message) {
        refused(&o, WG_EINVAL, message, "");
        return;
    }
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    assert_int_equal(wg_graph_output(g, 0)->shape.dim[0], 3);
    assert_null(wg_graph_find(g, input));
    wg_graph_free(g);
}

/* Doubles get the dtype and the shape that the file has. */
static void known_numbers_are_as_the_file_says(void **state)
{
    (void)state;
    static const double data[] = {3, 2, 0.5};
    write_model(reshape, 17, nothing);
    refused(&(wg_onnx_import_options){.other_dims = 2}, WG_EUNSUPPORTED,
            "depends on 's': give its numbers as a known input (--known, or in C "
            "wg_onnx_import_options.known)",
            "");
    know("s", 2, data, NULL);
    know("s", 3, data, "made.onnx: known input 's': int64 cannot hold 0.5");
    know("k", 2, data, "made.onnx: known input 'k': expected numbers for [], got 2");
    know("l", 3, data, "made.onnx: known input 'l': expected numbers for [1,2], got 3");
    know("q", 1, data, "made.onnx: no input 'q'; did you mean 'x'?");
    static const double large[] = {4e9};
    know("k", 1, large, "made.onnx: known input 'k': int32 cannot hold 4000000000");
    write_model("(int64[2] s, float[2,3] x) => (float[R0,R1] y) { y = Reshape (x, s) }", 17,
                forget_shape);
    know("s", 2, data, NULL);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static int declared; /* what the next model says of y */

static void declare(ox_model_proto *m)
{
    WgiOnnx__TypeProto__Tensor *t = m->graph->output[0]->type->tensor_type;
    if (declared == 0)
        t->elem_type = 7;
    else if (declared == 1)
        t->elem_type = 8;
    else if (declared == 2)
        t->shape->dim[1]->dim_value = 4;
    else if (declared == 3)
        protobuf_c_message_free_unpacked(&t->shape->dim[--t->shape->n_dim]->base, NULL);
}

static void outputs_are_what_the_file_declares(void **state)
{
    (void)state;
    static const char *const messages[] = {
        "made.onnx: output 'y': expected elements of type int64 (7), which the file declares, got "
        "float",
        "made.onnx: output 'y': expected elements of type string (8), which the file declares, got "
        "float",
        "made.onnx: output 'y', axis 1: expected the size 4 that the file declares, got 3",
        "made.onnx: output 'y': expected the 1 axes that the file declares, got 2",
    };
    for (declared = 0; declared < WG_COUNT(messages); declared++) {
        write_model(relu, 17, declare);
        refused(NULL, WG_EDATA, messages[declared], "");
    }
    write_model(relu, 17, declare);
    imports(NULL);
    assert_string_equal(error.warning, "");
}

/* Exporters that leave the batch of an input free may leave the sizes of their example in the
 * outputs; and it may be that the sizes within a graph are right, and the import is not. */
static void other_sizes_than_declared_are_told(void **state)
{
    (void)state;
    const wg_onnx_dim batch = {"N", 8};
    const wg_onnx_import_options o = {.dims = &batch, .n_dims = 1};
    write_model("(float[N,3] x) => (float[2,3] y) { y = Relu (x) }", 17, nothing);
    imports(&o);
    assert_string_equal(
        error.warning, "made.onnx: 'y', axis 0: expected the size 2 that the file declares, got 8");
    declared = 0;
    write_model("(float[N,3] x) => (float[2,3] y) { y = Relu (x) }", 17, declare);
    refused(&o, WG_EDATA, "made.onnx: output 'y': expected elements of type int64", "");
}

static void swap_outputs(ox_model_proto *m)
{
    m->graph->value_info = m->graph->output;
    m->graph->n_value_info = m->graph->n_output;
    m->graph->output = NULL;
    m->graph->n_output = 0;
    ox_value_proto *z = malloc(sizeof *z), **list = malloc(sizeof *list);
    assert_true(z && list);
    wgi_onnx__value_info_proto__init(z);
    z->name = strdup("z");
    *list = z;
    m->graph->output = list;
    m->graph->n_output = 1;
}

static void other_sizes_within_the_graph_are_told(void **state)
{
    (void)state;
    write_model("(float[2,3] x) => (float[2,4] y) { y = Relu (x) z = Abs (y) }", 17, swap_outputs);
    imports(NULL);
    assert_string_equal(
        error.warning, "made.onnx: 'y', axis 1: expected the size 4 that the file declares, got 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_said_once),
        cmocka_unit_test(shapes_that_are_unknown_are_asked_for),
        cmocka_unit_test(known_numbers_are_as_the_file_says),
        cmocka_unit_test(outputs_are_what_the_file_declares),
        cmocka_unit_test(other_sizes_than_declared_are_told),
        cmocka_unit_test(other_sizes_within_the_graph_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, leave);
}
