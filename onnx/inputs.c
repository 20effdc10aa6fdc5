/* Inputs of a graph: their types in the file, and numbers that the caller knows. */
#include "graph/element.h"
#include "onnx/import.h"

#include <string.h>

/* ---- types ----------------------------------------------------------------------------------- */

/* What the file says of an input, with the type of its elements; NULL after an error. */
static const WgiOnnx__TypeProto__Tensor *tensor_of(ox_import *m, const ox_value_proto *v,
                                                   const ox_type **type)
{
    const char *name = ox_text(v->name);
    char text[32];
    const WgiOnnx__TypeProto__Tensor *t = wgi_ox_tensor_type(v);
    if (!t) {
        wgi_ox_stop(m, WG_EUNSUPPORTED,
                    "input '%s' is a sequence, a map, optional or sparse; only tensors are "
                    "supported",
                    name);
        return NULL;
    }
    *type = wgi_ox_type(t->elem_type);
    if (!*type)
        wgi_ox_stop(m, wgi_ox_type_status(t->elem_type),
                    "input '%s': elements of type %s are not supported", name,
                    wgi_ox_type_text(t->elem_type, text));
    return *type ? t : NULL;
}

static bool take_shape(ox_import *m, const char *name, const WgiOnnx__TypeProto__Tensor *t,
                       wg_shape *shape)
{
    if (!t->shape)
        return wgi_ox_take_dims(m, name, shape);
    if (t->shape->n_dim > WG_MAX_RANK)
        return wgi_ox_stop(m, WG_EUNSUPPORTED, "input '%s': %zu axes, at most %d are supported",
                           name, t->shape->n_dim, WG_MAX_RANK);
    shape->rank = (int)t->shape->n_dim;
    for (int k = 0; k < shape->rank; k++)
        if (!wgi_ox_take_dim(m, name, k, t->shape->dim[k], &shape->dim[k]))
            return false;
    return true;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

const wg_onnx_known *wgi_ox_find_known(const ox_import *m, const char *name)
{
    for (size_t i = 0; i < m->options.n_known; i++) {
        const wg_onnx_known *k = &m->options.known[i];
        if ((!k->needed || *k->needed) && strcmp(k->input, name) == 0)
            return k;
    }
    return NULL;
}

/* The shape of an input of that many known numbers: that of the file, as far as it says; of one
 * that was an input at first, the one that it had. */
static bool shape_of_known(ox_import *m, const WgiOnnx__TypeProto__Tensor *t,
                           const wg_onnx_known *known, int64_t count, wg_shape *shape)
{
    char text[200];
    const char *name = known->input;
    *shape = WG_SHAPE(count);
    bool is_list = !t->shape || (t->shape->n_dim == 1 && !wgi_ox_is_fixed_dim(t->shape->dim[0]));
    if ((!is_list || known->needed) && !take_shape(m, name, t, shape))
        return false;
    return wg_shape_count(shape) == count ||
           wgi_ox_stop(m, WG_EINVAL, "known input '%s': expected numbers for %s, got %lld", name,
                       wg_shape_text(shape, text, sizeof text), (long long)count);
}

/* Numbers that the caller has as doubles, in the dtype and the shape of the file. */
static wg_value *known_numbers(ox_import *m, const ox_value_proto *v, const wg_onnx_known *known,
                               const ox_type **type)
{
    const double *numbers = known->data;
    const int64_t count = wg_shape_count(&known->shape);
    const WgiOnnx__TypeProto__Tensor *t = tensor_of(m, v, type);
    wg_shape shape;
    if (!t || !shape_of_known(m, t, known, count, &shape))
        return NULL;
    wg_dtype dtype = (*type)->held;
    for (int64_t i = 0; i < count; i++)
        if (!wgi_can_hold(dtype, numbers[i])) {
            wgi_ox_stop(m, WG_EINVAL, "known input '%s': %s cannot hold %.17g", known->input,
                        (*type)->name, numbers[i]);
            return NULL;
        }
    return wgi_ox_constant(m->graph, dtype, shape, numbers);
}

static wg_value *known_input(ox_import *m, const ox_value_proto *v, const wg_onnx_known *known,
                             const ox_type **type)
{
    m->sized = true;
    if (known->dtype == WG_DTYPE_DEFAULT)
        return known_numbers(m, v, known, type);
    *type = wgi_ox_type_of(known->dtype);
    return wg_constant(m->graph, known->dtype, known->shape, known->data);
}

static wg_value *free_input(ox_import *m, const ox_value_proto *v, const ox_type **type)
{
    const char *name = ox_text(v->name);
    wg_shape shape = {0};
    const WgiOnnx__TypeProto__Tensor *t = tensor_of(m, v, type);
    return t && take_shape(m, name, t, &shape) ? wg_input(m->graph, name, (*type)->held, shape)
                                               : NULL;
}

/* That each known input is one of the file. */
static bool check_known(ox_import *m)
{
    for (size_t i = 0; i < m->options.n_known; i++)
        if (!wgi_ox_find_input(m, m->options.known[i].input))
            return false;
    return true;
}

static bool add_input(ox_import *m, const ox_value_proto *v)
{
    const char *name = ox_text(v->name);
    const wg_onnx_known *known = wgi_ox_find_known(m, name);
    if (!*name)
        return wgi_ox_stop(m, WG_EDATA, "an input has no name");
    ox_item *item = wgi_ox_declare(m, name);
    if (!item)
        return false;
    wg_value *x = known ? known_input(m, v, known, &item->type) : free_input(m, v, &item->type);
    wg_status status = wg_graph_status(m->graph);
    if (status != WG_OK)
        wgi_ox_stop(m, known ? status : wgi_ox_status(status), "input '%s': %s", name,
                    wg_graph_message(m->graph));
    if (m->status == WG_OK)
        item->value = wgi_ox_cast(x, item->type->computed);
    return m->status == WG_OK;
}

static bool has_initializer(const ox_graph_proto *g, const char *name)
{
    for (size_t i = 0; i < g->n_initializer; i++)
        if (strcmp(ox_text(g->initializer[i]->name), name) == 0)
            return true;
    return false;
}

bool wgi_ox_add_inputs(ox_import *m, const ox_graph_proto *g)
{
    if (!check_known(m))
        return false;
    for (size_t i = 0; i < g->n_input; i++) {
        const char *name = ox_text(g->input[i]->name);
        bool given = has_initializer(g, name) && !wgi_ox_find_known(m, name);
        if (!given && !add_input(m, g->input[i]))
            return false;
    }
    return true;
}
