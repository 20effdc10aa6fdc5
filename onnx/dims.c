/* Sizes that the caller gives to dimensions of inputs, which the file leaves free; and those that
 * the file declares of what is computed. */
#include "graph/error.h"
#include "graph/nearest.h"
#include "graph/text_buffer.h"
#include "onnx/import.h"

#include <stdlib.h>
#include <string.h>

enum { PLACE = 300 };

/* "x:0" */
static const char *place_of(const char *input, size_t axis, char text[PLACE])
{
    snprintf(text, PLACE, "%s:%zu", input, axis);
    return text;
}

static const char *symbol_of(const ox_dim_proto *d)
{
    return d->value_case == WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
               ? ox_text(d->dim_param)
               : "";
}

static bool is_fixed(const ox_dim_proto *d)
{
    return d->value_case == WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
           d->dim_value >= 0;
}

/* The shape of an input; NULL if it has none. */
static const WgiOnnx__TensorShapeProto *declared(const ox_value_proto *v)
{
    bool tensor = v->type && v->type->value_case == WGI_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    return tensor ? v->type->tensor_type->shape : NULL;
}

/* Dimension k of an input; NULL past its last. */
static const ox_dim_proto *dim_at(const ox_value_proto *v, size_t k)
{
    const WgiOnnx__TensorShapeProto *s = declared(v);
    return s && k < s->n_dim ? s->dim[k] : NULL;
}

static bool find_dim(const ox_import *m, const char *name, int64_t *size)
{
    for (size_t i = 0; i < m->options.n_dims; i++)
        if (strcmp(m->options.dims[i].name, name) == 0) {
            *size = m->options.dims[i].size;
            return true;
        }
    return false;
}

const wg_shape *wgi_ox_given_shape(const ox_import *m, const char *input)
{
    for (size_t i = 0; i < m->options.n_shapes; i++)
        if (strcmp(m->options.shapes[i].input, input) == 0)
            return &m->options.shapes[i].shape;
    return NULL;
}

/* The size that the first given shape with an axis of that symbol has there. */
static bool find_in_shapes(const ox_import *m, const char *symbol, int64_t *size)
{
    const ox_graph_proto *g = m->model->graph;
    const ox_dim_proto *d;
    for (size_t i = 0; i < g->n_input; i++) {
        const wg_shape *given = wgi_ox_given_shape(m, ox_text(g->input[i]->name));
        for (int k = 0; given && k < given->rank && (d = dim_at(g->input[i], (size_t)k)); k++)
            if (strcmp(symbol_of(d), symbol) == 0) {
                *size = given->dim[k];
                return true;
            }
    }
    return false;
}

/* The size of an axis: of the file, or what the caller gave; false if there is none. */
static bool find_size(const ox_import *m, const char *input, int axis, const ox_dim_proto *d,
                      int64_t *size)
{
    char text[PLACE];
    const char *symbol = symbol_of(d);
    if (is_fixed(d)) {
        *size = d->dim_value;
        return true;
    }
    if (find_dim(m, place_of(input, (size_t)axis, text), size) ||
        (*symbol && (find_dim(m, symbol, size) || find_in_shapes(m, symbol, size))))
        return true;
    const wg_shape *given = wgi_ox_given_shape(m, input);
    if (!given || axis >= given->rank)
        return false;
    *size = given->dim[axis];
    return true;
}

bool wgi_ox_take_dim(ox_import *m, const char *input, int axis, const ox_dim_proto *d,
                     int64_t *size)
{
    char text[PLACE];
    const char *symbol = symbol_of(d);
    if (find_size(m, input, axis, d, size))
        return true;
    *size = m->options.other_dims;
    return *size > 0 ||
           wgi_ox_stop(m, WG_EINVAL,
                       "input '%s': axis %d has no size: give one for the dimension '%s'", input,
                       axis, *symbol ? symbol : place_of(input, (size_t)axis, text));
}

/* ---- names of nothing ------------------------------------------------------------------------ */

/* The first dimension of an input that may be called so, free ones before fixed ones. */
static const ox_dim_proto *called(const ox_graph_proto *g, const char *name)
{
    char text[PLACE];
    const ox_dim_proto *d, *fixed = NULL;
    for (size_t i = 0; i < g->n_input; i++)
        for (size_t k = 0; (d = dim_at(g->input[i], k)); k++) {
            bool here = strcmp(place_of(ox_text(g->input[i]->name), k, text), name) == 0;
            if (is_fixed(d))
                fixed = here ? d : fixed;
            else if (here || strcmp(symbol_of(d), name) == 0)
                return d;
        }
    return fixed;
}

/* The names of those that are free, of all inputs; the caller frees it; NULL without memory. */
static char *free_dims(const ox_graph_proto *g)
{
    char text[PLACE];
    const ox_dim_proto *d;
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    const char *comma = "";
    for (size_t i = 0; f && i < g->n_input; i++)
        for (size_t k = 0; (d = dim_at(g->input[i], k)); k++) {
            const char *symbol = symbol_of(d);
            if (is_fixed(d) || (*symbol && called(g, symbol) != d))
                continue;
            fprintf(f, "%s'%s'", comma,
                    *symbol ? symbol : place_of(ox_text(g->input[i]->name), k, text));
            comma = ", ";
        }
    return wgi_text_close(&b);
}

static bool refuse(ox_import *m, const char *name, const ox_dim_proto *d)
{
    char got[80] = "a name that none has", *names = free_dims(m->model->graph);
    if (!names)
        return wgi_ox_stop(m, WG_ENOMEM, "out of memory");
    if (d)
        snprintf(got, sizeof got, "an axis whose size is %lld in the file",
                 (long long)d->dim_value);
    wgi_ox_stop(m, WG_EINVAL, "dimension '%s': expected a free one (%s), got %s", name,
                *names ? names : "there is none", got);
    free(names);
    return false;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static const ox_value_proto *find_input(const ox_graph_proto *g, const char *name)
{
    for (size_t i = 0; i < g->n_input; i++)
        if (strcmp(ox_text(g->input[i]->name), name) == 0)
            return g->input[i];
    return NULL;
}

static bool refuse_input(ox_import *m, const char *name)
{
    const ox_graph_proto *g = m->model->graph;
    const char *nearest = NULL;
    size_t min = SIZE_MAX;
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    for (size_t i = 0; f && i < g->n_input; i++) {
        const char *other = ox_text(g->input[i]->name);
        size_t distance = wgi_name_distance(name, other);
        fprintf(f, "%s'%s'", i ? ", " : "", other);
        if (distance < min) {
            min = distance;
            nearest = other;
        }
    }
    char *names = wgi_text_close(&b);
    if (!names)
        return wgi_ox_stop(m, WG_ENOMEM, "out of memory");
    if (nearest)
        wgi_ox_stop(m, WG_EINVAL, "no input '%s'; did you mean '%s'?", name, nearest);
    else
        wgi_ox_stop(m, WG_EINVAL, "no input '%s', only %s", name, *names ? names : "none at all");
    free(names);
    return false;
}

/* Whether a shape has the axes of the file, and the sizes that the file, `dims` or other shapes
 * give. */
static bool check_shape(ox_import *m, const wg_onnx_shape *s)
{
    const ox_value_proto *v = find_input(m->model->graph, s->input);
    const ox_dim_proto *d;
    char text[200];
    if (!v)
        return refuse_input(m, s->input);
    if (!wg_shape_valid(&s->shape, WG_BOOL))
        return wgi_ox_stop(m, WG_EINVAL, "input '%s': its shape is none", s->input);
    if (declared(v) && declared(v)->n_dim != (size_t)s->shape.rank)
        return wgi_ox_stop(m, WG_EINVAL, "input '%s': expected %zu axes, got the shape %s",
                           s->input, declared(v)->n_dim,
                           wg_shape_text(&s->shape, text, sizeof text));
    for (int k = 0; (d = dim_at(v, (size_t)k)); k++) {
        const char *symbol = symbol_of(d);
        int64_t size;
        if (find_size(m, s->input, k, d, &size) && size != s->shape.dim[k])
            return wgi_ox_stop(m, WG_EINVAL,
                               "input '%s', axis %d%s%s%s: expected the size %lld, got %lld",
                               s->input, k, *symbol ? " ('" : "", symbol, *symbol ? "')" : "",
                               (long long)size, (long long)s->shape.dim[k]);
    }
    return true;
}

static bool check_shapes(ox_import *m)
{
    for (size_t i = 0; i < m->options.n_shapes; i++)
        if (!check_shape(m, &m->options.shapes[i]))
            return false;
    return true;
}

bool wgi_ox_check_dims(ox_import *m)
{
    for (size_t i = 0; i < m->options.n_dims; i++) {
        const char *name = m->options.dims[i].name;
        const ox_dim_proto *d = called(m->model->graph, name);
        if (!d || is_fixed(d))
            return refuse(m, name, d);
    }
    return check_shapes(m);
}

/* ---- what is computed ------------------------------------------------------------------------ */

/* Whether the value of that name has the sizes that the file declares, as far as it does; else a
 * warning. */
static bool is_as_declared(ox_import *m, const ox_value_proto *v)
{
    const char *path = m->file.source.path, *name = ox_text(v->name);
    const ox_item *item = wgi_ox_names_get(&m->scope->names, name);
    const ox_dim_proto *d;
    int rank = 0;
    if (!item || !item->value || !dim_at(v, 0))
        return true;
    const wg_shape *is = &item->value->shape;
    for (; (d = dim_at(v, (size_t)rank)); rank++)
        if (rank < is->rank && is_fixed(d) && d->dim_value != is->dim[rank]) {
            wgi_error_warn(m->error,
                           "%s: '%s', axis %d: expected the size %lld that the file declares, got "
                           "%lld",
                           path, name, rank, (long long)d->dim_value, (long long)is->dim[rank]);
            return false;
        }
    if (rank != is->rank)
        wgi_error_warn(m->error, "%s: '%s': expected the %d axes that the file declares, got %d",
                       path, name, rank, is->rank);
    return rank == is->rank;
}

void wgi_ox_check_declared(ox_import *m)
{
    const ox_graph_proto *g = m->model->graph;
    bool right = true;
    for (size_t i = 0; right && i < g->n_value_info; i++)
        right = is_as_declared(m, g->value_info[i]);
    for (size_t i = 0; right && i < g->n_output; i++)
        right = is_as_declared(m, g->output[i]);
}
