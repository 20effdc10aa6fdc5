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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, leave);
}
