/* Operands and attributes of a node, and errors that name it. */
#include "graph/error.h"
#include "graph/element.h"
#include "graph/names.h"
#include "onnx/import.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- failing --------------------------------------------------------------------------------- */

bool wgi_ox_failed(const ox_node *n)
{
    return n->import->status != WG_OK || wg_graph_status(n->graph) != WG_OK;
}

enum { PLACE = 400 };

/* "node 3 "name" (Relu, opset 13)" */
static const char *place_of(const ox_node *n, char text[PLACE])
{
    snprintf(text, PLACE, "%snode %zu \"%s\" (%s, opset %lld)", n->import->scope->inside, n->number,
             ox_text(n->proto->name), ox_text(n->proto->op_type), (long long)n->opset);
    return text;
}

/* An error of a builder, such as a lack of memory, came before all that follows from it. */
static wg_value *fail_list(ox_node *n, wg_status status, const char *before, const char *format,
                           va_list list)
{
    char text[WG_ERROR_TEXT], place[PLACE];
    vsnprintf(text, sizeof text, format, list);
    if (wg_graph_status(n->graph) != WG_OK) {
        status = wg_graph_status(n->graph);
        before = "";
        snprintf(text, sizeof text, "%s", wg_graph_message(n->graph));
    }
    wgi_ox_stop(n->import, wgi_ox_status(status), "%s: %s%s", place_of(n, place), before, text);
    return NULL;
}

wg_value *wgi_ox_fail(ox_node *n, wg_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fail_list(n, status, "", format, list);
    va_end(list);
    return NULL;
}

wg_value *wgi_ox_refuse(ox_node *n, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fail_list(n, WG_EUNSUPPORTED, "not supported: ", format, list);
    va_end(list);
    return NULL;
}

const char *wgi_ox_missing(ox_node *n, size_t i, const char *name)
{
    char place[PLACE], text[WG_ERROR_TEXT];
    int size = snprintf(text, sizeof text, "%s: not supported: result %zu, '%s'",
                        place_of(n, place), i, name);
    size = size < WG_ERROR_TEXT ? size : WG_ERROR_TEXT - 1;
    char *message = wgi_ox_alloc(n, (size_t)size + 1);
    return message ? memcpy(message, text, (size_t)size + 1) : NULL;
}

/* A few bytes of a file can ask for any number of numbers. */
void *wgi_ox_alloc(ox_node *n, size_t size)
{
    if (size > WGI_OX_TABLE_BYTES) {
        wgi_ox_refuse(n, "%zu bytes of numbers to build it of, at most %d are", size,
                      WGI_OX_TABLE_BYTES);
        return NULL;
    }
    return wg_graph_alloc(n->graph, size);
}

/* ---- values of items ------------------------------------------------------------------------- */

static bool is_among(const char *const *patterns, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (wgi_ox_is_open(patterns[i]) ? strncmp(patterns[i], name, strlen(patterns[i]) - 1) == 0
                                        : strcmp(patterns[i], name) == 0)
            return true;
    return false;
}

static bool is_trained(const ox_import *m, const ox_item *item)
{
    const wg_onnx_import_options *o = &m->options;
    return item->is_initializer && wg_dtype_is_float(item->tensor->dtype) &&
           (item->tensor->shape.rank > 0 || is_among(o->scalars, o->n_scalars, item->name)) &&
           !is_among(o->frozen, o->n_frozen, item->name);
}

/* Leaves are at the top, so that they have their names in the file. */
static wg_origin to_top(wg_graph *g)
{
    wg_origin before = wg_graph_origin(g), top = before;
    while (top.scope && top.scope->parent)
        top.scope = top.scope->parent;
    wg_graph_set_origin(g, top);
    return before;
}

static wg_value *leaf_of(ox_import *m, ox_item *item, bool is_state)
{
    const wg_onnx_tensor *t = item->tensor;
    wg_origin before = to_top(m->graph);
    wg_value *v = is_state ? wg_state(m->graph, item->name, t->dtype, t->shape, wg_zeros())
                           : wg_parameter(m->graph, item->name, t->dtype, t->shape, wg_zeros());
    wg_graph_set_origin(m->graph, before);
    return v;
}

wg_value *wgi_ox_cast(wg_value *x, wg_dtype dtype)
{
    return !x || x->dtype == dtype ? x : wg_cast(x, dtype);
}

wg_value *wgi_ox_value(ox_import *m, ox_item *item)
{
    if (item->value || !item->tensor)
        return item->value;
    if (is_trained(m, item))
        return item->value = leaf_of(m, item, false);
    const wg_onnx_tensor *t = wgi_ox_load(m, item);
    if (!t)
        return NULL;
    wg_value *c = wg_constant(m->graph, t->dtype, t->shape, t->data);
    wgi_ox_unload(item);
    return item->value = wgi_ox_cast(c, item->type->computed);
}

/* ---- operands -------------------------------------------------------------------------------- */

bool wgi_ox_has(const ox_node *n, int i)
{
    return (size_t)i < n->n_operands && n->operand[i];
}

wg_value *wgi_ox_in(ox_node *n, int i)
{
    return wgi_ox_has(n, i) ? wgi_ox_value(n->import, n->operand[i]) : NULL;
}

const ox_type *wgi_ox_type_in(const ox_node *n, int i)
{
    return wgi_ox_has(n, i) ? n->operand[i]->type : NULL;
}

wg_value *wgi_ox_state(ox_node *n, int i)
{
    ox_item *item = wgi_ox_has(n, i) ? n->operand[i] : NULL;
    if (item && !item->value && item->tensor && item->is_initializer)
        item->value = leaf_of(n->import, item, true);
    return wgi_ox_in(n, i);
}

bool wgi_ox_known(ox_node *n, int i)
{
    const ox_item *item = wgi_ox_has(n, i) ? n->operand[i] : NULL;
    return item && (item->tensor || wgi_ox_is_fixed(n->import, item->value));
}

/* An import of names that a message can show. */
static const wg_onnx_tensor *numbers_of(ox_node *n, int i)
{
    ox_item *item = wgi_ox_has(n, i) ? n->operand[i] : NULL;
    char name[200];
    if (wgi_ox_failed(n))
        return NULL;
    if (!item) {
        wgi_ox_fail(n, WG_EDATA, "operand %d is missing", i);
        return NULL;
    }
    if (item->tensor)
        return wgi_ox_load(n->import, item);
    if (wgi_ox_is_fixed(n->import, item->value))
        return wgi_ox_compute(n->import, item->value);
    const wg_value *leaf = wgi_ox_blame(n->import, item->value);
    const unsigned flags = leaf ? leaf->node->op->flags : 0;
    if (flags & WG_OP_INPUT)
        snprintf(n->import->needed, sizeof n->import->needed, "%s", leaf->name);
    wgi_ox_refuse(n,
                  "operand %d, '%s', must be known while the file is read, and depends on '%s': %s",
                  i, item->name, leaf ? wg_value_text(leaf, name, sizeof name) : "",
                  flags & WG_OP_PARAMETER ? "a parameter; name it in wg_onnx_import_options.frozen"
                                          : "give its numbers as a known input (--known, or in C "
                                            "wg_onnx_import_options.known)");
    return NULL;
}

bool wgi_ox_ints_in(ox_node *n, int i, ox_ints *out)
{
    const wg_onnx_tensor *t = numbers_of(n, i);
    *out = (ox_ints){0};
    if (!t)
        return false;
    if (wg_dtype_is_float(t->dtype)) {
        wgi_ox_fail(n, WG_EDTYPE, "operand %d: expected integers, got %s", i,
                    wg_dtype_name(t->dtype));
        return false;
    }
    size_t count = (size_t)wg_shape_count(&t->shape);
    int64_t *at = wgi_ox_alloc(n, (count + 1) * sizeof *at);
    for (size_t k = 0; at && k < count; k++)
        at[k] = wg_dtype_is_int(t->dtype) ? wgi_get_int(t->data, t->dtype, (int64_t)k)
                                          : (int64_t)wgi_get_element(t->data, t->dtype, (int64_t)k);
    *out = (ox_ints){at ? count : 0, at};
    return at;
}

bool wgi_ox_reals_in(ox_node *n, int i, ox_reals *out)
{
    const wg_onnx_tensor *t = numbers_of(n, i);
    *out = (ox_reals){0};
    if (!t)
        return false;
    size_t count = (size_t)wg_shape_count(&t->shape);
    double *at = wgi_ox_alloc(n, (count + 1) * sizeof *at);
    for (size_t k = 0; at && k < count; k++)
        at[k] = wgi_get_element(t->data, t->dtype, (int64_t)k);
    *out = (ox_reals){at ? count : 0, at};
    return at;
}

double wgi_ox_real_in(ox_node *n, int i, double otherwise)
{
    ox_reals x;
    if (!wgi_ox_has(n, i) || !wgi_ox_reals_in(n, i, &x))
        return otherwise;
    if (x.n == 1)
        return x.at[0];
    wgi_ox_fail(n, WG_ESHAPE, "operand %d: expected one number, got %zu", i, x.n);
    return otherwise;
}

int64_t wgi_ox_int_in(ox_node *n, int i, int64_t otherwise)
{
    const double most = 0x1p53; /* up to which a double holds each */
    double x = wgi_ox_real_in(n, i, (double)otherwise);
    if (x >= -most && x <= most)
        return (int64_t)x;
    wgi_ox_fail(n, WG_EDATA, "operand %d: expected a smaller number, got %g", i, x);
    return otherwise;
}

/* ---- results --------------------------------------------------------------------------------- */

bool wgi_ox_wants(const ox_node *n, int i)
{
    return (size_t)i < n->proto->n_output && *ox_text(n->proto->output[i]);
}

void wgi_ox_set(ox_node *n, int i, wg_value *v)
{
    if (i < OX_MAX_RESULTS)
        n->result[i] = v;
}

bool wgi_ox_is_leaf_name(const char *name)
{
    return *name && strlen(name) <= WGI_LEAF_NAME_BYTES;
}

void wgi_ox_label(wg_value *v, const char *name)
{
    const char *slash = strrchr(name, '/'), *part = slash ? slash + 1 : name;
    const bool computed = v && !v->name && !(v->node->op->flags & WG_OP_LEAF);
    if (computed && *part && strlen(part) <= WGI_NAME_BYTES)
        wg_name(v, "%s", part);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const ox_attribute_proto *find(ox_attribute_proto *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(ox_text(list[i]->name), name) == 0)
            return list[i];
    return NULL;
}

/* The function's own value of an attribute, NULL if it has none: FunctionProto.attribute_proto, a
 * field that onnx 1.12 does not know yet. */
static const ox_attribute_proto *default_of(ox_import *m, const ox_function_proto *f,
                                            const char *name)
{
    const ProtobufCMessage *base = &f->base;
    const ProtobufCFieldDescriptor *known =
        protobuf_c_message_descriptor_get_field(base->descriptor, OX_DEFAULTS);
    if (known) {
        ox_attribute_proto *const *list;
        size_t n;
        memcpy(&n, (const char *)f + known->quantifier_offset, sizeof n);
        memcpy(&list, (const char *)f + known->offset, sizeof list);
        return find(list, n, name);
    }
    for (unsigned i = 0; i < base->n_unknown_fields; i++) {
        const ProtobufCMessage *inner;
        wg_error error;
        if (base->unknown_fields[i].tag != OX_DEFAULTS)
            continue;
        wg_status status = wgi_ox_file_inner(&inner, &m->file, &base->unknown_fields[i],
                                             &wgi_onnx__attribute_proto__descriptor, &error);
        if (status != WG_OK) {
            wgi_ox_stop(m, status, "function '%s': %s", ox_text(f->name), error.text);
            return NULL;
        }
        const ox_attribute_proto *a = (const ox_attribute_proto *)inner;
        if (strcmp(ox_text(a->name), name) == 0)
            return a;
    }
    return NULL;
}

/* In a function of the file, an attribute may stand for one of the call. */
const ox_attribute_proto *wgi_ox_attribute(ox_node *n, const char *name)
{
    const ox_attribute_proto *a = find(n->proto->attribute, n->proto->n_attribute, name);
    const ox_scope *s = n->import->scope;
    while (a && *ox_text(a->ref_attr_name) && s) {
        const char *outer = a->ref_attr_name;
        while (s && !s->call)
            s = s->parent;
        a = s ? find(s->call->proto->attribute, s->call->proto->n_attribute, outer) : NULL;
        a = s && !a ? default_of(n->import, s->function, outer) : a;
        s = s ? s->caller : NULL;
    }
    return a;
}

typedef WgiOnnx__AttributeProto__AttributeType ox_attribute_type;
#define OX_TYPE(name) WGI_ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

/* Files of the first version of the format name no types: there what is given decides. */
static bool is_of_type(const ox_attribute_proto *a, ox_attribute_type wanted)
{
    if (a->has_type && a->type != OX_TYPE(UNDEFINED))
        return a->type == wanted;
    switch (wanted) {
    case OX_TYPE(FLOAT): return a->has_f;
    case OX_TYPE(INT): return a->has_i;
    case OX_TYPE(STRING): return a->has_s;
    default: return !a->has_f && !a->has_i && !a->has_s; /* a list may be empty */
    }
}

/* The attribute, which must be of that type; a number that a file leaves out is 0. */
static const ox_attribute_proto *typed(ox_node *n, const char *name, ox_attribute_type wanted)
{
    static const char *const names[] = {
        [OX_TYPE(FLOAT)] = "FLOAT",   [OX_TYPE(INT)] = "INT",   [OX_TYPE(STRING)] = "STRING",
        [OX_TYPE(FLOATS)] = "FLOATS", [OX_TYPE(INTS)] = "INTS", [OX_TYPE(STRINGS)] = "STRINGS",
    };
    const ox_attribute_proto *a = wgi_ox_attribute(n, name);
    if (a && !is_of_type(a, wanted)) {
        wgi_ox_fail(n, WG_EDATA, "attribute '%s' must be of type %s, and is not", name,
                    names[wanted]);
        return NULL;
    }
    return a;
}

int64_t wgi_ox_int(ox_node *n, const char *name, int64_t otherwise)
{
    const ox_attribute_proto *a = typed(n, name, OX_TYPE(INT));
    return a ? a->i : otherwise;
}

/* Attributes are f32.  0.1f was written for 0.1: the number of fewest digits that rounds to it. */
static double as_written(float x)
{
    char text[40];
    for (int digits = 1; digits < 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
        if (strtof(text, NULL) == x)
            return strtod(text, NULL);
    }
    return (double)x;
}

double wgi_ox_real(ox_node *n, const char *name, double otherwise)
{
    const ox_attribute_proto *a = typed(n, name, OX_TYPE(FLOAT));
    return a ? as_written(a->f) : otherwise;
}

/* Bytes of the file as a text of the import. */
static const char *word(ox_node *n, const ProtobufCBinaryData *s)
{
    char *text = wgi_ox_alloc(n, s->len + 1);
    if (text && s->len)
        memcpy(text, s->data, s->len);
    return text ? text : "";
}

const char *wgi_ox_word(ox_node *n, const char *name, const char *otherwise)
{
    const ox_attribute_proto *a = typed(n, name, OX_TYPE(STRING));
    return a ? word(n, &a->s) : otherwise;
}

const char *wgi_ox_word_at(ox_node *n, const char *name, size_t i)
{
    const ox_attribute_proto *a = typed(n, name, OX_TYPE(STRINGS));
    return a && i < a->n_strings ? word(n, &a->strings[i]) : NULL;
}

bool wgi_ox_ints(ox_node *n, const char *name, ox_ints *out)
{
    const ox_attribute_proto *a = typed(n, name, OX_TYPE(INTS));
    *out = a ? (ox_ints){a->n_ints, a->ints} : (ox_ints){0};
    return a;
}

bool wgi_ox_reals(ox_node *n, const char *name, ox_reals *out)
{
    const ox_attribute_proto *a = typed(n, name, OX_TYPE(FLOATS));
    *out = (ox_reals){0};
    double *at = a ? wgi_ox_alloc(n, (a->n_floats + 1) * sizeof *at) : NULL;
    for (size_t i = 0; at && i < a->n_floats; i++)
        at[i] = (double)a->floats[i];
    *out = (ox_reals){at ? a->n_floats : 0, at};
    return at;
}

bool wgi_ox_ints_of(ox_node *n, int i, const char *name, ox_ints *out)
{
    return wgi_ox_has(n, i) ? wgi_ox_ints_in(n, i, out) : wgi_ox_ints(n, name, out);
}
