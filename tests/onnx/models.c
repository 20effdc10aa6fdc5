#include "tests/onnx/models.h"
#include "tests/test.h"

void made_begin(made *m)
{
    *m = (made){.opset = 17};
    m->e.graph = wg_graph_new();
    assert_non_null(m->e.graph);
}

void made_free(made *m)
{
    wg_graph_free(m->e.graph);
    free(m->e.names.slot);
    free(m->e.nodes.item);
    free(m->e.initializers.item);
    free(m->inputs.item);
    free(m->outputs.item);
}

void made_input(made *m, const char *name, wg_shape shape)
{
    wgi_ox_push(&m->e, &m->inputs, wgi_ox_port(&m->e, name, WG_F32, &shape));
}

void made_output(made *m, const char *name, wg_shape shape)
{
    wgi_ox_push(&m->e, &m->outputs, wgi_ox_port(&m->e, name, WG_F32, &shape));
}

ox_node_proto *made_node(made *m, const char *op, const char *a, const char *b, const char *y)
{
    const char *const operands[] = {a, b};
    return wgi_ox_node(&m->e, op, operands, 2, y);
}

uint8_t *made_pack(const ox_graph_proto *g, int opset, size_t *size)
{
    ox_model_proto model = WGI_ONNX__MODEL_PROTO__INIT;
    WgiOnnx__OperatorSetIdProto id = WGI_ONNX__OPERATOR_SET_ID_PROTO__INIT, other = id,
                                *ids[] = {&id, &other};
    id.has_version = other.has_version = model.has_ir_version = true;
    id.version = opset;
    other.version = 1;
    model.ir_version = 8;
    model.opset_import = ids;
    model.n_opset_import = 1;
    for (size_t i = 0; i < g->n_node; i++)
        if (*ox_text(g->node[i]->domain)) {
            other.domain = g->node[i]->domain;
            model.n_opset_import = 2;
        }
    model.graph = (ox_graph_proto *)(uintptr_t)g; /* the messages know no const */
    *size = wgi_onnx__model_proto__get_packed_size(&model);
    uint8_t *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    wgi_onnx__model_proto__pack(&model, bytes);
    return bytes;
}

uint8_t *made_bytes(made *m, size_t *size)
{
    ox_graph_proto g = WGI_ONNX__GRAPH_PROTO__INIT;
    g.node = (ox_node_proto **)(void *)m->e.nodes.item;
    g.n_node = m->e.nodes.n;
    g.initializer = (ox_tensor_proto **)(void *)m->e.initializers.item;
    g.n_initializer = m->e.initializers.n;
    g.input = (ox_value_proto **)(void *)m->inputs.item;
    g.n_input = m->inputs.n;
    g.output = (ox_value_proto **)(void *)m->outputs.item;
    g.n_output = m->outputs.n;
    assert_false(m->e.failed);
    return made_pack(&g, m->opset, size);
}

void made_file(uint8_t *bytes, size_t size, const char *path)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
    free(bytes);
}

void made_write(made *m, const char *path)
{
    size_t size;
    uint8_t *bytes = made_bytes(m, &size);
    made_file(bytes, size, path);
}
