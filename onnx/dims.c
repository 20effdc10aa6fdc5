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

/* ---- what the file declares ------------------------------------------------------------------ */

/* The name of a dimension; "" if it has none, or there is no such dimension (NULL). */
static const char *symbol_of(const ox_dim_proto *d)
{
    return d && d->value_case == WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
               ? ox_text(d->dim_param)
               : "";
}

bool wgi_ox_is_fixed_dim(const ox_dim_proto *d)
{
    return d && d->value_case == WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
           d->dim_value >= 0;
}

const WgiOnnx__TypeProto__Tensor *wgi_ox_tensor_type(const ox_value_proto *v)
{
    bool tensor = v->type && v->type->value_case == WGI_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    return tensor ? v->type->tensor_type : NULL;
}

/* The shape of a tensor; NULL if it has none. */
static const WgiOnnx__TensorShapeProto *declared(const ox_value_proto *v)
{
    const WgiOnnx__TypeProto__Tensor *t = wgi_ox_tensor_type(v);
    return t ? t->shape : NULL;
}

static bool is_shapeless(const ox_value_proto *v)
{
    return wgi_ox_tensor_type(v) && !declared(v);
}

/* Dimension k of a tensor; NULL past its last, and if it has no shape. */
static const ox_dim_proto *dim_at(const ox_value_proto *v, size_t k)
{
    const WgiOnnx__TensorShapeProto *s = declared(v);
    return s && k < s->n_dim ? s->dim[k] : NULL;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool find_dim(const ox_import *m, const char *name, int64_t *size)
{
    for (size_t i = 0; i < m->options.n_dims; i++)
        if (strcmp(m->options.dims[i].name, name) == 0) {
            *size = m->options.dims[i].size;
            return true;
        }
    return false;
}

static const wg_shape *given_shape(const ox_import *m, const char *input)
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
        const wg_shape *given = given_shape(m, ox_text(g->input[i]->name));
        for (int k = 0; given && k < given->rank && (d = dim_at(g->input[i], (size_t)k)); k++)
            if (strcmp(symbol_of(d), symbol) == 0) {
                *size = given->dim[k];
                return true;
            }
    }
    return false;
}

/* The size of an axis: of the file, or what the caller gave; false if there is none.  d is NULL if
 * the file does not say how many axes the input has. */
static bool find_size(const ox_import *m, const char *input, int axis, const ox_dim_proto *d,
                      int64_t *size)
{
    char text[PLACE];
    const char *symbol = symbol_of(d);
    if (wgi_ox_is_fixed_dim(d)) {
        *size = d->dim_value;
        return true;
    }
    if (find_dim(m, place_of(input, (size_t)axis, text), size) ||
        (*symbol && (find_dim(m, symbol, size) || find_in_shapes(m, symbol, size))))
        return true;
    const wg_shape *given = given_shape(m, input);
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
    m->sized = m->sized || !wgi_ox_is_fixed_dim(d);
    if (find_size(m, input, axis, d, size))
        return true;
    *size = m->options.other_dims;
    return *size > 0 ||
           wgi_ox_stop(m, WG_EINVAL,
                       "input '%s': axis %d has no size: give one for the dimension '%s'", input,
                       axis, *symbol ? symbol : place_of(input, (size_t)axis, text));
}

/* The axes that have sizes, of an input of which the file does not say how many it has. */
static wg_shape sized_axes(const ox_import *m, const char *input)
{
    wg_shape s = {0};
    while (s.rank < WG_MAX_RANK && find_size(m, input, s.rank, NULL, &s.dim[s.rank]))
        s.rank++;
    return s;
}

bool wgi_ox_take_dims(ox_import *m, const char *input, wg_shape *shape)
{
    m->sized = true;
    *shape = sized_axes(m, input);
    return shape->rank || given_shape(m, input) ||
           wgi_ox_stop(m, WG_EINVAL,
                       "input '%s': the file does not say how many axes it has: give their sizes "
                       "as the dimensions '%s:0', '%s:1' and so on",
                       input, input, input);
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
            if (wgi_ox_is_fixed_dim(d))
                fixed = here ? d : fixed;
            else if (here || strcmp(symbol_of(d), name) == 0)
                return d;
        }
    return fixed;
}

void wgi_ox_print_dims(const ox_graph_proto *g, const char *quote, FILE *f)
{
    char text[PLACE];
    const ox_dim_proto *d;
    const char *comma = "";
    for (size_t i = 0; i < g->n_input; i++) {
        const char *input = ox_text(g->input[i]->name);
        for (size_t k = 0; (d = dim_at(g->input[i], k)); k++) {
            const char *symbol = symbol_of(d);
            if (wgi_ox_is_fixed_dim(d) || (*symbol && called(g, symbol) != d))
                continue;
            fprintf(f, "%s%s%s%s", comma, quote, *symbol ? symbol : place_of(input, k, text),
                    quote);
            comma = ", ";
        }
        if (is_shapeless(g->input[i])) {
            fprintf(f, "%s%s%s:0%s, %s%s:1%s, ...", comma, quote, input, quote, quote, input,
                    quote);
            comma = ", ";
        }
    }
}

/* The names of those that are free; the caller frees it; NULL without memory. */
static char *free_dims(const ox_graph_proto *g)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    if (f)
        wgi_ox_print_dims(g, "'", f);
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

/* Whether that is an axis that has a size, of an input of which the file does not say how many
 * there are. */
static bool is_further_axis(const ox_import *m, const char *name)
{
    const ox_graph_proto *g = m->model->graph;
    char text[PLACE];
    for (size_t i = 0; i < g->n_input; i++) {
        const char *input = ox_text(g->input[i]->name);
        const int rank = is_shapeless(g->input[i]) ? sized_axes(m, input).rank : 0;
        for (int k = 0; k < rank; k++)
            if (strcmp(place_of(input, (size_t)k, text), name) == 0)
                return true;
    }
    return false;
}

static void refuse_input(ox_import *m, const char *name)
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
        wgi_ox_stop(m, WG_ENOMEM, "out of memory");
    else if (nearest)
        wgi_ox_stop(m, WG_EINVAL, "no input '%s'; did you mean '%s'?", name, nearest);
    else
        wgi_ox_stop(m, WG_EINVAL, "no input '%s', only %s", name, *names ? names : "none at all");
    free(names);
}

const ox_value_proto *wgi_ox_find_input(ox_import *m, const char *name)
{
    const ox_graph_proto *g = m->model->graph;
    for (size_t i = 0; i < g->n_input; i++)
        if (strcmp(ox_text(g->input[i]->name), name) == 0)
            return g->input[i];
    refuse_input(m, name);
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool check_axis(ox_import *m, const wg_onnx_shape *s, int axis, const ox_dim_proto *d)
{
    const char *symbol = symbol_of(d);
    int64_t size;
    return !find_size(m, s->input, axis, d, &size) || size == s->shape.dim[axis] ||
           wgi_ox_stop(m, WG_EINVAL, "input '%s', axis %d%s%s%s: expected the size %lld, got %lld",
                       s->input, axis, *symbol ? " ('" : "", symbol, *symbol ? "')" : "",
                       (long long)size, (long long)s->shape.dim[axis]);
}

/* Whether a shape has the axes of the file, and the sizes that the file, `dims` or other shapes
 * give. */
static bool check_shape(ox_import *m, const wg_onnx_shape *s)
{
    const ox_value_proto *v = wgi_ox_find_input(m, s->input);
    char text[200];
    if (!v)
        return false;
    if (!wg_shape_valid(&s->shape, WG_BOOL))
        return wgi_ox_stop(m, WG_EINVAL, "input '%s': its shape is none", s->input);
    const WgiOnnx__TensorShapeProto *file = declared(v);
    const size_t rank = file ? file->n_dim : (size_t)sized_axes(m, s->input).rank;
    if (rank != (size_t)s->shape.rank)
        return wgi_ox_stop(m, WG_EINVAL, "input '%s': expected %zu axes, got the shape %s",
                           s->input, rank, wg_shape_text(&s->shape, text, sizeof text));
    for (int k = 0; k < s->shape.rank; k++)
        if (!check_axis(m, s, k, dim_at(v, (size_t)k)))
            return false;
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
        if (is_further_axis(m, name))
            continue;
        const ox_dim_proto *d = called(m->model->graph, name);
        if (!d || wgi_ox_is_fixed_dim(d))
            return refuse(m, name, d);
    }
    return check_shapes(m);
}

/* ---- what is computed ------------------------------------------------------------------------ */

/* Says that v is not what the file declares: an error if it is strict, else a warning. */
static bool contradict(ox_import *m, const ox_value_proto *v, bool strict, const char *text)
{
    const char *name = ox_text(v->name);
    if (strict)
        return wgi_ox_stop(m, WG_EDATA, "output '%s'%s", name, text);
    wgi_error_warn(m->error, "%s: '%s'%s", m->file.source.path, name, text);
    return false;
}

/* Whether the value of that name has the sizes that the file declares, as far as it does. */
static bool is_as_declared(ox_import *m, const ox_value_proto *v, bool strict)
{
    const ox_item *item = wgi_ox_names_get(&m->scope->names, ox_text(v->name));
    const ox_dim_proto *d;
    char text[200];
    int rank = 0;
    if (!item || !item->value || !declared(v))
        return true;
    const wg_shape *is = &item->value->shape;
    for (; (d = dim_at(v, (size_t)rank)); rank++)
        if (rank < is->rank && wgi_ox_is_fixed_dim(d) && d->dim_value != is->dim[rank]) {
            snprintf(text, sizeof text,
                     ", axis %d: expected the size %lld that the file declares, got %lld", rank,
                     (long long)d->dim_value, (long long)is->dim[rank]);
            return contradict(m, v, strict, text);
        }
    if (rank == is->rank)
        return true;
    snprintf(text, sizeof text, ": expected the %d axes that the file declares, got %d", rank,
             is->rank);
    return contradict(m, v, strict, text);
}

/* Whether an output has the dtype that the file declares, if it does. */
static bool is_of_declared_type(ox_import *m, const ox_value_proto *v)
{
    const ox_item *item = wgi_ox_names_get(&m->scope->names, ox_text(v->name));
    const WgiOnnx__TypeProto__Tensor *t = wgi_ox_tensor_type(v);
    char text[32];
    if (!item || !item->value || !t || !t->elem_type)
        return true;
    wg_dtype is = item->type ? item->type->held : item->value->dtype;
    const ox_type *expected = wgi_ox_type(t->elem_type);
    return (expected && expected->held == is) ||
           wgi_ox_stop(m, WG_EDATA,
                       "output '%s': expected elements of type %s, which the file declares, got %s",
                       ox_text(v->name), wgi_ox_type_text(t->elem_type, text),
                       wgi_ox_type_of(is)->name);
}

/* With a size that the caller has given, sizes that an exporter took from its example may differ;
 * and it may be that those within the graph are right, and the import is not. */
bool wgi_ox_check_declared(ox_import *m)
{
    const ox_graph_proto *g = m->model->graph;
    bool right = true;
    for (size_t i = 0; i < g->n_output; i++)
        if (!is_of_declared_type(m, g->output[i]))
            return false;
    for (size_t i = 0; right && i < g->n_output; i++)
        right = is_as_declared(m, g->output[i], !m->sized);
    for (size_t i = 0; right && i < g->n_value_info; i++)
        right = is_as_declared(m, g->value_info[i], false);
    return m->status == WG_OK;
}
