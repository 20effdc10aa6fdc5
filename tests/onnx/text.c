#include "tests/onnx/text.h"
#include "graph/element.h"
#include "tests/test.h"
#include "wengert/onnx/onnx.h"

#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORD = 64, LIST = 32 };

typedef struct reader {
    ox_export *e;
    const char *at; /* what is still to be read */
} reader;

/* ---- words ----------------------------------------------------------------------------------- */

static void skip_space(reader *r)
{
    r->at += strspn(r->at, " \n");
}

static bool accept(reader *r, const char *token)
{
    skip_space(r);
    bool is = strncmp(r->at, token, strlen(token)) == 0;
    r->at += is ? strlen(token) : 0;
    return is;
}

static void need(reader *r, const char *token)
{
    check_that(accept(r, token), "'%s' expected before '%.40s'", token, r->at);
}

/* A name or number, "" if there is none. */
static char *word(reader *r)
{
    skip_space(r);
    char *text = wgi_ox_room(r->e, WORD);
    size_t n = strspn(r->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/:");
    check_that(text && n < WORD, "a long word: '%.40s'", r->at);
    memcpy(text, r->at, n);
    r->at += n;
    return text;
}

/* Words between commas, up to `end`. */
static size_t words(reader *r, const char **list, const char *end)
{
    size_t n = 0;
    if (accept(r, end))
        return 0;
    do
        list[n++] = word(r);
    while (n < LIST && accept(r, ","));
    need(r, end);
    return n;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static bool dtype_of(const char *name, wg_dtype *dtype)
{
    static const struct {
        const char *name;
        wg_dtype dtype;
    } types[] = {{"float", WG_F32},
                 {"double", WG_F64},
                 {"int64", WG_I64},
                 {"int32", WG_I32},
                 {"bool", WG_BOOL}};
    for (int i = 0; i < WG_COUNT(types); i++)
        if (strcmp(types[i].name, name) == 0)
            return *dtype = types[i].dtype, true;
    return false;
}

/* A dtype and, in brackets, sizes; the names of those that are symbolic, NULL for the others. */
static wg_dtype type(reader *r, wg_shape *shape, const char **symbol)
{
    wg_dtype dtype = WG_F32;
    const char *name = word(r), *size[LIST];
    check_that(dtype_of(name, &dtype), "no dtype: '%s'", name);
    need(r, "[");
    *shape = WG_SCALAR;
    shape->rank = (int)words(r, size, "]");
    for (int k = 0; k < shape->rank; k++) {
        symbol[k] = isdigit((unsigned char)*size[k]) ? NULL : size[k];
        shape->dim[k] = strtoll(size[k], NULL, 10);
    }
    return dtype;
}

/* An input or output. */
static ox_value_proto *port(reader *r)
{
    wg_shape shape;
    const char *symbol[WG_MAX_RANK];
    wg_dtype dtype = type(r, &shape, symbol);
    ox_value_proto *v = wgi_ox_port(r->e, word(r), dtype, &shape);
    for (int k = 0; k < shape.rank; k++) {
        if (!symbol[k])
            continue;
        ox_dim_proto *dim = v->type->tensor_type->shape->dim[k];
        dim->value_case = WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        dim->dim_param = (char *)symbol[k];
    }
    return v;
}

/* The last initializer, which was not meant to be one. */
static ox_tensor_proto *take_tensor(ox_export *e)
{
    return e->initializers.item[--e->initializers.n];
}

/* {1, 2, 3} of that type, as an initializer. */
static void numbers(reader *r, const char *name, wg_dtype dtype, const wg_shape *shape)
{
    int64_t count = wg_shape_count(shape);
    void *data = wgi_ox_room(r->e, (size_t)count * wg_dtype_size(dtype) + 1);
    need(r, "{");
    for (int64_t i = 0; i < count; i++) {
        wgi_put_element(data, dtype, i, strtod(word(r), NULL));
        check_that(accept(r, ",") || i == count - 1, "numbers of %s before '%.40s'", name, r->at);
    }
    need(r, "}");
    wgi_ox_tensor(r->e, name, dtype, shape, data);
}

static void initializer(reader *r)
{
    wg_shape shape;
    const char *symbol[WG_MAX_RANK], *name;
    wg_dtype dtype = type(r, &shape, symbol);
    name = word(r);
    need(r, "=");
    numbers(r, name, dtype, &shape);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static ox_graph_proto *graph(reader *r);

/* The attribute that was added last. */
static ox_attribute_proto *last_attribute(ox_node_proto *p)
{
    return p->attribute[p->n_attribute - 1];
}

static char *quoted(reader *r)
{
    size_t n = strcspn(r->at, "\"");
    char *text = wgi_ox_room(r->e, n + 1);
    memcpy(text, r->at, n);
    r->at += n + 1;
    return text;
}

/* ["a", "b"] */
static void text_list_attribute(reader *r, ox_node_proto *p, const char *name)
{
    ProtobufCBinaryData *list = wgi_ox_room(r->e, LIST * sizeof *list);
    size_t n = 0;
    do {
        need(r, "\"");
        char *text = quoted(r);
        list[n++] = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
    } while (n < LIST && accept(r, ","));
    need(r, "]");
    wgi_ox_set_int(r->e, p, name, 0);
    ox_attribute_proto *a = last_attribute(p);
    a->type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS;
    a->has_i = false;
    a->strings = list;
    a->n_strings = n;
}

static void list_attribute(reader *r, ox_node_proto *p, const char *name)
{
    skip_space(r);
    if (*r->at == '"') {
        text_list_attribute(r, p, name);
        return;
    }
    const char *item[LIST];
    int64_t whole[LIST];
    float *real = wgi_ox_room(r->e, LIST * sizeof *real);
    size_t n = words(r, item, "]");
    for (size_t i = 0; i < n; i++) {
        whole[i] = strtoll(item[i], NULL, 10);
        real[i] = strtof(item[i], NULL);
    }
    wgi_ox_set_ints(r->e, p, name, whole, n);
    if (n && strchr(item[0], '.')) {
        ox_attribute_proto *a = last_attribute(p);
        a->type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
        a->n_ints = 0;
        a->floats = real;
        a->n_floats = n;
    }
}

static void tensor_attribute(reader *r, ox_node_proto *p, const char *name)
{
    wg_shape shape;
    const char *symbol[WG_MAX_RANK];
    wg_dtype dtype = type(r, &shape, symbol);
    numbers(r, "", dtype, &shape);
    wgi_ox_set_int(r->e, p, name, 0);
    ox_attribute_proto *a = last_attribute(p);
    a->type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
    a->has_i = false;
    a->t = take_tensor(r->e);
}

static void graph_attribute(reader *r, ox_node_proto *p, const char *name)
{
    wgi_ox_set_int(r->e, p, name, 0);
    ox_attribute_proto *a = last_attribute(p);
    a->type = WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
    a->has_i = false;
    a->g = graph(r);
}

static void text_attribute(reader *r, ox_node_proto *p, const char *name)
{
    wgi_ox_set_word(r->e, p, name, quoted(r));
}

/* alpha = @slope: in a function, what the call gives as slope. */
static void reference_attribute(reader *r, ox_node_proto *p, const char *name)
{
    wgi_ox_set_int(r->e, p, name, 0);
    last_attribute(p)->has_i = false;
    last_attribute(p)->ref_attr_name = word(r);
}

static void attribute(reader *r, ox_node_proto *p)
{
    const char *name = word(r);
    need(r, "=");
    skip_space(r);
    if (accept(r, "@"))
        reference_attribute(r, p, name);
    else if (accept(r, "["))
        list_attribute(r, p, name);
    else if (accept(r, "\""))
        text_attribute(r, p, name);
    else if (*r->at == '(')
        graph_attribute(r, p, name);
    else if (isalpha((unsigned char)*r->at))
        tensor_attribute(r, p, name);
    else {
        const char *number = word(r);
        if (strchr(number, '.'))
            wgi_ox_set_real(r->e, p, name, strtod(number, NULL));
        else
            wgi_ox_set_int(r->e, p, name, strtoll(number, NULL, 10));
    }
}

/* a, b = Op <attributes> (operands): attributes come before the operands in the text. */
static void node(reader *r)
{
    const char *out[LIST], *in[LIST];
    size_t n_out = words(r, out, "=");
    ox_node_proto with = WGI_ONNX__NODE_PROTO__INIT;
    const char *op = word(r);
    if (accept(r, "<")) {
        do
            attribute(r, &with);
        while (accept(r, ","));
        need(r, ">");
    }
    need(r, "(");
    size_t n_in = words(r, in, ")");
    ox_node_proto *p = wgi_ox_node(r->e, op, in, n_in, out[0]);
    for (size_t i = 1; i < n_out; i++)
        wgi_ox_add_result(r->e, p, out[i]);
    p->attribute = with.attribute;
    p->n_attribute = with.n_attribute;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* What was appended to the list since it had n items. */
static void *take_items(ox_export *e, ox_list *list, size_t n, size_t *count)
{
    *count = list->n - n;
    void **items = wgi_ox_room(e, (*count + 1) * sizeof *items);
    if (*count)
        memcpy(items, list->item + n, *count * sizeof *items);
    list->n = n;
    return items;
}

static ox_value_proto **ports(reader *r, size_t *n)
{
    ox_list list = {NULL, 0, 0};
    need(r, "(");
    while (!accept(r, ")")) {
        wgi_ox_push(r->e, &list, port(r));
        accept(r, ",");
    }
    ox_value_proto **all = take_items(r->e, &list, 0, n);
    free(list.item);
    return all;
}

static ox_graph_proto *graph(reader *r)
{
    ox_graph_proto *g = wgi_ox_room(r->e, sizeof *g);
    size_t nodes = r->e->nodes.n, initializers = r->e->initializers.n;
    wgi_onnx__graph_proto__init(g);
    g->name = (char *)"graph"; /* onnxruntime wants one */
    g->input = ports(r, &g->n_input);
    need(r, "=>");
    g->output = ports(r, &g->n_output);
    if (accept(r, "<")) {
        do
            initializer(r);
        while (accept(r, ","));
        need(r, ">");
    }
    g->initializer = take_items(r->e, &r->e->initializers, initializers, &g->n_initializer);
    need(r, "{");
    while (!accept(r, "}"))
        node(r);
    g->node = take_items(r->e, &r->e->nodes, nodes, &g->n_node);
    return g;
}

ox_graph_proto *onnx_text(made *m, const char *text)
{
    reader r = {&m->e, text};
    ox_graph_proto *g = graph(&r);
    skip_space(&r);
    check_that(!*r.at, "behind the graph: '%.40s'", r.at);
    return g;
}

void onnx_write(const ox_graph_proto *g, int opset, const char *path)
{
    size_t size;
    uint8_t *bytes = made_pack(g, opset, &size);
    made_file(bytes, size, path);
}

const char *onnx_described(const char *path)
{
    static char text[4000];
    wg_error error;
    FILE *f = tmpfile();
    assert_non_null(f);
    check_that(wg_onnx_describe(path, f, &error) == WG_OK, "%s", error.text);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    unlink(path);
    return text;
}
