/* Nodes: one application of an op, checked as it is built. */
#include "graph/internal.h"
#include "graph/leaf.h"
#include "graph/refusal.h"

#include <string.h>

/* How many results the op's text names; -1: the shape rule decides. */
static int fixed_result_count(const wg_op *op)
{
    int count = 0;
    for (const char *w = op->results ? op->results : "y";;) {
        w += strspn(w, " ");
        size_t length = strcspn(w, " ");
        if (length == 0)
            return count;
        if (w[length - 1] == '*')
            return -1;
        count++;
        w += length;
    }
}

/* ---- building -------------------------------------------------------------------------------- */

/* Of a text or data, the node gets a copy of its own. */
static bool own_attr(wg_node *n, const wg_attr *f, void *field)
{
    wgi_arena *a = &n->graph->arena;
    if (f->kind == WG_ATTR_TEXT) {
        const char **text = field;
        if (*text && !(*text = wgi_arena_text(a, *text)))
            return wgi_graph_no_memory(n->graph) != NULL;
    } else if (f->kind == WG_ATTR_DATA) {
        wg_data *data = field;
        if (data->size && !data->bytes)
            return wg_fail(n, WG_EINVAL, "its %zu bytes of %s are NULL", data->size, f->name);
        if (data->size && !(data->bytes = wgi_arena_copy(a, data->bytes, data->size)))
            return wgi_graph_no_memory(n->graph) != NULL;
    }
    return true;
}

/* What holds for every attribute of its kind; the rest is the shape rule's. */
static bool check_attr(wg_node *n, const wg_attr *f, const void *field)
{
    int count = 0;
    switch (f->kind) {
    case WG_ATTR_ENUM:
        while (f->names && f->names[count])
            count++;
        if (*(const int *)field < 0 || *(const int *)field >= count)
            return wg_fail(n, WG_EINVAL, "%s is %d, must be 0 to %d", f->name, *(const int *)field,
                           count - 1);
        return true;
    case WG_ATTR_REAL:
        if (*(const double *)field != *(const double *)field)
            return wg_fail(n, WG_EINVAL, "%s is NaN", f->name);
        return true;
    case WG_ATTR_SHAPE:
        count = ((const wg_shape *)field)->rank;
        if (count < 0 || count > WG_MAX_RANK)
            return wg_fail(n, WG_ESHAPE, "%s has rank %d, outside 0..%d", f->name, count,
                           WG_MAX_RANK);
        return true;
    case WG_ATTR_AXES:
        count = ((const wg_axes *)field)->count;
        if (count < 0 || count > WG_MAX_RANK)
            return wg_fail(n, WG_ESHAPE, "%s has %d axes, outside 0..%d", f->name, count,
                           WG_MAX_RANK);
        return true;
    default: return true;
    }
}

/* Every field lies within the op's struct; of an unknown kind, which only its op knows, it begins
 * there. */
static bool check_fields(wg_node *n)
{
    static const size_t sizes[] = {
        [WG_ATTR_INT] = sizeof(int64_t),    [WG_ATTR_REAL] = sizeof(double),
        [WG_ATTR_BOOL] = sizeof(bool),      [WG_ATTR_ENUM] = sizeof(int),
        [WG_ATTR_DTYPE] = sizeof(wg_dtype), [WG_ATTR_AXES] = sizeof(wg_axes),
        [WG_ATTR_SHAPE] = sizeof(wg_shape), [WG_ATTR_TEXT] = sizeof(const char *),
        [WG_ATTR_DATA] = sizeof(wg_data),   [WG_ATTR_KEY] = sizeof(int64_t),
        [WG_ATTR_AXIS] = sizeof(int64_t),
    };
    const wg_op *op = n->op;
    for (int i = 0; i < op->n_attrs; i++) {
        const wg_attr *f = &op->attrs[i];
        const size_t size = (size_t)f->kind < WG_COUNT(sizes) ? sizes[f->kind] : 0;
        if (f->offset > op->attrs_size || size > op->attrs_size - f->offset)
            return wg_fail(n, WG_EINVAL,
                           "its attribute %s is bytes %zu to %zu of a struct of %zu: attrs_size",
                           f->name, f->offset, f->offset + size, op->attrs_size);
    }
    return true;
}

static bool copy_attrs(wg_node *n, const void *attrs)
{
    const wg_op *op = n->op;
    if (!check_fields(n))
        return false;
    if (!op->attrs_size)
        return !attrs ||
               wg_fail(n, WG_EINVAL, "attributes were given, but the op has none: WG_ATTRS");
    char *own = wgi_arena_alloc(&n->graph->arena, op->attrs_size);
    if (!own)
        return wgi_graph_no_memory(n->graph) != NULL;
    if (attrs)
        memcpy(own, attrs, op->attrs_size);
    n->attrs = own;
    for (int i = 0; i < op->n_attrs; i++) {
        void *field = own + op->attrs[i].offset;
        if (!own_attr(n, &op->attrs[i], field) || !check_attr(n, &op->attrs[i], field))
            return false;
    }
    return true;
}

/* Operand i is of another graph: an error of both graphs, since a program may check either. */
static bool refuse_foreign(wg_node *n, int i)
{
    char name[64], value[200];
    wg_graph *other = n->in[i]->node->graph;
    wg_op_operand_name(n->op, i, name, sizeof name);
    wg_value_text(n->in[i], value, sizeof value);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a node has an op */
    wg_graph_fail(other, WG_EINVAL, n->at, n->op->name,
                  "%s, %s, belongs to this graph, other operands to another one", name, value);
    return wg_fail(n, WG_EINVAL, "%s belongs to another graph than the other operands", name);
}

static bool check_operands(wg_node *n)
{
    char name[64];
    int min, max;
    wg_op_arity(n->op, &min, &max);
    if (n->n_in < min || n->n_in > max)
        return wg_fail(n, WG_EINVAL, "%d operands, must be %s%d", n->n_in,
                       n->n_in < min ? "at least " : "at most ", n->n_in < min ? min : max);
    for (int i = 0; i < n->n_in; i++) {
        wg_op_operand_name(n->op, i, name, sizeof name);
        if (!n->in[i])
            return wg_fail(n, WG_EINVAL, "%s is NULL", name);
        if (n->in[i]->node->graph != n->graph)
            return refuse_foreign(n, i);
    }
    return true;
}

/* The widest float dtype of the results and operands; WG_DTYPE_DEFAULT if none is a float. */
static wg_dtype float_of(const wg_node *n)
{
    wg_dtype found = WG_DTYPE_DEFAULT;
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        wg_dtype d = i < n->n_in ? n->in[i]->dtype : n->out[i - n->n_in]->dtype;
        if (wg_dtype_is_float(d) && wg_dtype_size(d) > wg_dtype_size(found))
            found = d;
    }
    return found;
}

/* No attribute is too large or too small for the floats that it is combined with: those of 16 bits
 * are computed in f32, but a fill stores the number itself.  (What an integer must hold only the
 * shape rule of the op knows: wg_need_held.) */
static bool check_numbers(wg_node *n)
{
    wg_dtype dtype = float_of(n);
    if (wg_dtype_is_half(dtype) && !(n->op->flags & WG_OP_FILL))
        dtype = WG_F32;
    for (int i = 0; n->attrs && dtype && i < n->op->n_attrs; i++) {
        const wg_attr *f = &n->op->attrs[i];
        if (f->kind == WG_ATTR_REAL &&
            !wg_need_held(n, f->name, *WGI_FIELD(double, n->attrs, f), dtype))
            return false;
    }
    return true;
}

/* wg_graph_new_key gives no key that a node has, wherever that node got it. */
static void note_keys(const wg_node *n)
{
    for (int i = 0; n->attrs && i < n->op->n_attrs; i++) {
        const wg_attr *f = &n->op->attrs[i];
        int64_t key = f->kind == WG_ATTR_KEY ? *WGI_FIELD(int64_t, n->attrs, f) : 0;
        if (key > 0 && (uint64_t)key > n->graph->next_key)
            n->graph->next_key = (uint64_t)key;
    }
}

static bool append(wg_node *n)
{
    wg_graph *g = n->graph;
    if (!wgi_graph_reserve(g, &g->nodes, &g->cap_nodes, g->n_nodes, sizeof *g->nodes))
        return false;
    for (int i = 0; i < n->n_out; i++) {
        if (!wgi_graph_reserve(g, &g->values, &g->cap_values, g->n_values, sizeof *g->values))
            return false;
        n->out[i]->id = (uint32_t)g->n_values;
        g->values[g->n_values++] = n->out[i];
    }
    n->id = (uint32_t)g->n_nodes;
    g->nodes[g->n_nodes++] = n;
    note_keys(n);
    return true;
}

static bool derive_results(wg_node *n)
{
    int count = fixed_result_count(n->op);
    if (count >= 0 && !wg_set_result_count(n, count))
        return false;
    if (!n->op->infer)
        return wg_fail(n, WG_EINVAL, "the op has no shape rule");
    if (!n->op->infer(n))
        return n->graph->status == WG_OK && wg_fail(n, WG_EINVAL, "its shape rule refused");
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->dtype == WG_DTYPE_DEFAULT)
            return wg_fail(n, WG_EINVAL, "its shape rule left result %d unset", i);
    return true;
}

wg_node *wg_apply(const char *at, wg_graph *g, const wg_op *op, const void *attrs,
                  wg_value *const *in, int n_in)
{
    int min, max;
    for (int i = 0; !g && in && i < n_in; i++)
        g = wg_graph_of(in[i]);
    if (!g || g->status != WG_OK)
        return NULL;
    wgi_graph_forget_refusal(g);
    if (!op || !op->name)
        wg_graph_fail(g, WG_EINVAL, at, "wg_apply", "an op without a name");
    else if (n_in < 0 || (n_in > 0 && !in))
        wg_graph_fail(g, WG_EINVAL, at, op->name, "%d operands at %s", n_in,
                      in ? "their array" : "NULL");
    if (g->status != WG_OK)
        return NULL;
    wg_op_arity(op, &min, &max);
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Branch): the array has n_in operands */
    while (n_in > min && max != INT32_MAX && !in[n_in - 1])
        n_in--;
    wg_node *n = wg_graph_alloc(g, sizeof *n);
    wg_value **operands =
        n ? wg_graph_alloc(g, sizeof *operands * (size_t)(n_in ? n_in : 1)) : NULL;
    if (!operands)
        return NULL;
    for (int i = 0; i < n_in; i++)
        operands[i] = in[i];
    const wg_origin *o = &g->origin;
    const char *line = wgi_graph_own_line(g, o->at ? o->at : at);
    if (g->status != WG_OK)
        return NULL;
    *n = (wg_node){.graph = g,
                   .op = op,
                   .in = operands,
                   .n_in = n_in,
                   .scope = o->scope,
                   .at = line,
                   .phase = o->phase};
    bool ok = check_operands(n) && copy_attrs(n, attrs) && derive_results(n) && check_numbers(n) &&
              append(n);
    return ok ? n : NULL;
}

static wg_value *first(const wg_node *n)
{
    return n && n->n_out > 0 ? n->out[0] : NULL;
}

wg_value *wg_apply0(const char *at, wg_graph *g, const wg_op *op, const void *attrs)
{
    return first(wg_apply(at, g, op, attrs, NULL, 0));
}

wg_value *wg_apply1(const char *at, const wg_op *op, const void *attrs, wg_value *a)
{
    return first(wg_apply(at, NULL, op, attrs, &a, 1));
}

wg_value *wg_apply2(const char *at, const wg_op *op, const void *attrs, wg_value *a, wg_value *b)
{
    return first(wg_apply(at, NULL, op, attrs, (wg_value *[]){a, b}, 2));
}

wg_value *wg_apply3(const char *at, const wg_op *op, const void *attrs, wg_value *a, wg_value *b,
                    wg_value *c)
{
    return first(wg_apply(at, NULL, op, attrs, (wg_value *[]){a, b, c}, 3));
}

wg_value *wgi_graph_leaf(const char *at, wg_graph *g, const wg_op *op, const void *attrs,
                         const char *name)
{
    if (!g)
        return NULL;
    g->leaf = name;
    wg_value *v = wg_apply0(at, g, op, attrs);
    g->leaf = NULL;
    return wg_name_leaf(v, name);
}

/* Whether a and b would be expanded alike. */
static bool is_same_call(const wg_node *a, const wg_node *b)
{
    bool same =
        a->op == b->op && a->n_in == b->n_in && wg_node_attrs_equal(a->op, a->attrs, b->attrs);
    for (int i = 0; same && i < a->n_in; i++)
        same = a->in[i]->dtype == b->in[i]->dtype &&
               wg_shape_equal(&a->in[i]->shape, &b->in[i]->shape);
    return same;
}

/* An expansion that contains what it expands would never end. */
static void refuse_itself(wg_node *n, size_t first)
{
    const wg_graph *g = n->graph;
    for (size_t i = first; i < g->n_nodes && g->status == WG_OK; i++)
        if (is_same_call(g->nodes[i], n))
            wg_fail(n, WG_EINVAL, "its expansion contains the op itself");
}

bool wg_expand_node(wg_node *n, wg_value **y)
{
    wg_graph *g = n->graph;
    const size_t first = g->n_nodes;
    if (g->status != WG_OK || !n->op->expand)
        return false;
    for (int i = 0; i < n->n_out; i++)
        y[i] = NULL;
    wg_origin before = g->origin;
    g->origin = (wg_origin){n->scope, n->at ? n->at : n->op->name, n->phase};
    n->op->expand(n, y);
    g->origin = before;
    refuse_itself(n, first);
    for (int i = 0; i < n->n_out && g->status == WG_OK; i++)
        if (!y[i] || y[i]->dtype != n->out[i]->dtype ||
            !wg_shape_equal(&y[i]->shape, &n->out[i]->shape))
            wg_fail(n, WG_ESHAPE, "its expansion makes another result %d than its shape rule", i);
    return g->status == WG_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

int64_t wg_value_count(const wg_value *v)
{
    return v ? wg_shape_count(&v->shape) : 0;
}

int64_t wg_value_dim(const wg_value *v, int axis)
{
    if (!v)
        return 0;
    axis = axis < 0 ? axis + v->shape.rank : axis;
    return axis >= 0 && axis < v->shape.rank ? v->shape.dim[axis] : 0;
}

size_t wg_value_bytes(const wg_value *v)
{
    return v ? wg_shape_bytes(&v->shape, v->dtype) : 0;
}

double wg_node_flops(const wg_node *n)
{
    if (n->op->flops)
        return n->op->flops(n);
    if (n->op->flags & (WG_OP_LEAF | WG_OP_VIEW))
        return 0;
    double flops = 0;
    for (int i = 0; i < n->n_out; i++)
        flops += (double)wg_value_count(n->out[i]);
    return flops;
}

double wg_node_bytes(const wg_node *n)
{
    double bytes = 0;
    if (n->op->flags & (WG_OP_LEAF | WG_OP_VIEW))
        return 0;
    for (int i = 0; i < n->n_in; i++)
        bytes += (double)wg_value_bytes(n->in[i]);
    for (int i = 0; i < n->n_out; i++)
        bytes += (double)wg_value_bytes(n->out[i]);
    bool leaves_some =
        n->op->flags & WG_OP_SELECTS && wg_value_bytes(n->in[0]) > wg_value_bytes(n->out[0]);
    if (leaves_some)
        bytes -= (double)(wg_value_bytes(n->in[0]) - wg_value_bytes(n->out[0]));
    return bytes;
}

static void fail_call(wg_call *call, const wg_value *bad, int64_t at, const char *format,
                      va_list args)
{
    if (call->status != WG_OK)
        return;
    call->status = WG_EDATA;
    call->bad = bad;
    call->bad_at = at;
    if (call->message)
        vsnprintf(call->message, WG_CALL_MESSAGE, format, args);
}

void wg_call_fail(wg_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_call(call, NULL, 0, format, args);
    va_end(args);
}

void wg_call_fail_at(wg_call *call, int k, int64_t element, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_call(call, call->node->in[k], element, format, args);
    va_end(args);
}
