#include "onnx/emit.h"
#include "graph/element.h"
#include "graph/grow.h"

#include <stdio.h>

void *wgi_ox_room(ox_export *e, size_t size)
{
    void *room = wg_graph_alloc(e->graph, size);
    e->failed |= !room;
    return room;
}

bool wgi_ox_push(ox_export *e, ox_list *list, void *item)
{
    if (!item || !WGI_RESERVE(list->item, list->capacity, list->n + 1)) {
        e->failed = true;
        return false;
    }
    list->item[list->n++] = item;
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

static char *text_of(ox_export *e, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = wgi_ox_room(e, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

const char *wgi_ox_new_name(ox_export *e, const char *wanted)
{
    char text[1600];
    snprintf(text, sizeof text, "%s", wanted);
    while (wgi_ox_names_get(&e->names, text))
        snprintf(text, sizeof text, "%.1500s_%zu", wanted, ++e->next);
    char *name = text_of(e, text);
    if (name && !wgi_ox_names_put(&e->names, name, name))
        e->failed = true;
    return name ? name : "";
}

const char *wgi_ox_name(ox_export *e, const wg_value *v)
{
    char text[32];
    if (e->name[v->id])
        return e->name[v->id];
    snprintf(text, sizeof text, "v%u", v->id);
    return e->name[v->id] = wgi_ox_new_name(e, v->name ? v->name : text);
}

bool wgi_ox_is_read(const wg_value *v)
{
    const wg_graph *g = v->node->graph;
    for (size_t k = v->node->id + 1; k < wg_graph_node_count(g); k++) {
        const wg_node *reader = wg_graph_node(g, k);
        for (int j = 0; j < reader->n_in; j++)
            if (reader->in[j] == v)
                return true;
    }
    for (size_t k = 0; k < wg_graph_output_count(g); k++)
        if (wg_graph_output(g, k) == v)
            return true;
    return false;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static char **texts(ox_export *e, const char *const *in, size_t n)
{
    char **copy = wgi_ox_room(e, (n + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = (char *)(in[i] ? in[i] : "");
    return copy;
}

ox_node_proto *wgi_ox_node(ox_export *e, const char *op, const char *const *in, size_t n_in,
                           const char *out)
{
    ox_node_proto *p = wgi_ox_room(e, sizeof *p);
    if (!p)
        return NULL;
    wgi_onnx__node_proto__init(p);
    p->op_type = (char *)op;
    while (n_in && !(in[n_in - 1] && *in[n_in - 1]))
        n_in--; /* absent operands at the end are left out */
    p->input = texts(e, in, n_in);
    p->n_input = p->input ? n_in : 0;
    const char *name = out ? out : wgi_ox_new_name(e, op);
    p->output = texts(e, &name, 1);
    p->n_output = p->output ? 1 : 0;
    p->name = text_of(e, name);
    return wgi_ox_push(e, &e->nodes, p) ? p : NULL;
}

const char *wgi_ox_result(const ox_node_proto *p)
{
    return p && p->n_output ? p->output[0] : "";
}

void wgi_ox_add_result(ox_export *e, ox_node_proto *p, const char *name)
{
    const char *all[8] = {NULL};
    if (!p || p->n_output >= (size_t)WG_COUNT(all))
        return;
    memcpy(all, p->output, p->n_output * sizeof *all);
    all[p->n_output] = name;
    char **longer = texts(e, all, p->n_output + 1);
    if (longer) {
        p->output = longer;
        p->n_output++;
    }
}

static ox_attribute_proto *attribute(ox_export *e, ox_node_proto *p, const char *name)
{
    ox_attribute_proto *a = p ? wgi_ox_room(e, sizeof *a) : NULL;
    ox_attribute_proto **list = a ? wgi_ox_room(e, (p->n_attribute + 1) * sizeof *list) : NULL;
    if (!list)
        return NULL;
    wgi_onnx__attribute_proto__init(a);
    a->name = (char *)name;
    a->has_type = true;
    if (p->n_attribute)
        memcpy(list, p->attribute, p->n_attribute * sizeof *list);
    list[p->n_attribute++] = a;
    p->attribute = list;
    return a;
}

void wgi_ox_set_int(ox_export *e, ox_node_proto *p, const char *name, int64_t value)
{
    ox_attribute_proto *a = attribute(e, p, name);
    if (a) {
        a->type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        a->has_i = true;
        a->i = value;
    }
}

void wgi_ox_set_ints(ox_export *e, ox_node_proto *p, const char *name, const int64_t *at, size_t n)
{
    ox_attribute_proto *a = attribute(e, p, name);
    int64_t *copy = a ? wgi_ox_room(e, (n + 1) * sizeof *copy) : NULL;
    if (copy) {
        a->type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        memcpy(copy, at, n * sizeof *copy);
        a->ints = copy;
        a->n_ints = n;
    }
}

void wgi_ox_set_real(ox_export *e, ox_node_proto *p, const char *name, double value)
{
    ox_attribute_proto *a = attribute(e, p, name);
    if (a) {
        a->type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        a->has_f = true;
        a->f = (float)value;
    }
}

void wgi_ox_set_word(ox_export *e, ox_node_proto *p, const char *name, const char *value)
{
    ox_attribute_proto *a = attribute(e, p, name);
    if (a) {
        a->type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
        a->has_s = true;
        a->s = (ProtobufCBinaryData){strlen(value), (uint8_t *)text_of(e, value)};
    }
}

/* ---- tensors --------------------------------------------------------------------------------- */

static ox_tensor_proto *tensor(ox_export *e, wg_dtype dtype, const wg_shape *shape,
                               const void *data)
{
    ox_tensor_proto *t = wgi_ox_room(e, sizeof *t);
    int64_t *dims = wgi_ox_room(e, WG_MAX_RANK * sizeof *dims);
    if (!t || !dims)
        return NULL;
    wgi_onnx__tensor_proto__init(t);
    memcpy(dims, shape->dim, (size_t)shape->rank * sizeof *dims);
    t->dims = dims;
    t->n_dims = (size_t)shape->rank;
    t->has_data_type = true;
    t->data_type = wgi_ox_type_of(dtype)->number;
    t->has_raw_data = true;
    t->raw_data.len = wg_shape_bytes(shape, dtype);
    t->raw_data.data = (uint8_t *)data;
    return t;
}

const char *wgi_ox_tensor(ox_export *e, const char *name, wg_dtype dtype, const wg_shape *shape,
                          const void *data)
{
    ox_tensor_proto *t = tensor(e, dtype, shape, data);
    if (!t)
        return "";
    t->name = (char *)name;
    wgi_ox_push(e, &e->initializers, t);
    return name;
}

const char *wgi_ox_fixed(ox_export *e, const char *name, wg_dtype dtype, const wg_shape *shape,
                         const void *data)
{
    if (!wg_dtype_is_float(dtype) || shape->rank == 0)
        return wgi_ox_tensor(e, name, dtype, shape, data);
    ox_node_proto *p = wgi_ox_node(e, "Constant", NULL, 0, name);
    ox_attribute_proto *a = attribute(e, p, "value");
    if (a) {
        a->type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
        a->t = tensor(e, dtype, shape, data);
    }
    return name;
}

const char *wgi_ox_list_of(ox_export *e, const int64_t *at, size_t n)
{
    int64_t *copy = wgi_ox_room(e, (n + 1) * sizeof *copy);
    if (!copy)
        return "";
    if (n)
        memcpy(copy, at, n * sizeof *copy);
    wg_shape s = WG_SHAPE((int64_t)n);
    return wgi_ox_tensor(e, wgi_ox_new_name(e, "list"), WG_I64, &s, copy);
}

const char *wgi_ox_number(ox_export *e, wg_dtype dtype, double x)
{
    int64_t *room = wgi_ox_room(e, sizeof *room);
    wg_shape s = WG_SCALAR;
    if (!room)
        return "";
    wgi_put_element(room, dtype, 0, x);
    return wgi_ox_tensor(e, wgi_ox_new_name(e, "number"), dtype, &s, room);
}

/* ---- inputs and outputs ---------------------------------------------------------------------- */

ox_value_proto *wgi_ox_port(ox_export *e, const char *name, wg_dtype dtype, const wg_shape *shape)
{
    struct port {
        ox_value_proto value;
        WgiOnnx__TypeProto type;
        WgiOnnx__TypeProto__Tensor tensor;
        WgiOnnx__TensorShapeProto shape;
        ox_dim_proto dim[WG_MAX_RANK], *dims[WG_MAX_RANK];
    } *p = wgi_ox_room(e, sizeof *p);
    if (!p)
        return NULL;
    wgi_onnx__value_info_proto__init(&p->value);
    wgi_onnx__type_proto__init(&p->type);
    wgi_onnx__type_proto__tensor__init(&p->tensor);
    wgi_onnx__tensor_shape_proto__init(&p->shape);
    p->value.name = (char *)name;
    p->value.type = &p->type;
    p->type.value_case = WGI_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    p->type.tensor_type = &p->tensor;
    p->tensor.has_elem_type = true;
    p->tensor.elem_type = wgi_ox_type_of(dtype)->number;
    p->tensor.shape = &p->shape;
    p->shape.n_dim = (size_t)shape->rank;
    p->shape.dim = p->dims;
    for (int k = 0; k < shape->rank; k++) {
        wgi_onnx__tensor_shape_proto__dimension__init(&p->dim[k]);
        p->dim[k].value_case = WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        p->dim[k].dim_value = shape->dim[k];
        p->dims[k] = &p->dim[k];
    }
    return &p->value;
}
