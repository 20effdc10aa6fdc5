#include "wengert/models/quantize.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>

/* A parameter in integers: the leaves that stand for it in the new graph. */
typedef struct integers {
    const wg_value *parameter; /* of g */
    wg_value *q, *scale;
} integers;

typedef struct rewrite {
    size_t
        *other_readers; /* [values of g] operands, outputs and assignments that need its floats */
    integers *list;     /* [n] of room for each node of g                                        */
    size_t n, products;
    wg_graph *weights;
} rewrite;

/* ---- which products -------------------------------------------------------------------------- */

/* x weight' of a parameter: operand 1. */
static bool taken(const wg_node *n)
{
    if (n->op == &wg_op_linear ? ((const wg_linear_attrs *)n->attrs)->in_first
                               : n->op != &wg_op_matmul)
        return false;
    const wg_matmul_attrs *t = n->attrs;
    if (n->op == &wg_op_matmul && (t->transpose_a || !t->transpose_b))
        return false;
    const wg_value *w = n->in[1];
    return w->node->op == &wg_op_parameter && w->shape.rank == 2 &&
           w->shape.dim[1] <= WG_QUANTIZED_INPUTS && (w->dtype == WG_F32 || w->dtype == WG_F64);
}

static void count_readers(const wg_graph *g, size_t *other_readers)
{
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        for (int k = 0; k < n->n_in; k++)
            other_readers[n->in[k]->id] += !(taken(n) && k == 1);
    }
    for (size_t i = 0; i < wg_graph_output_count(g); i++)
        other_readers[wg_graph_output(g, i)->id]++;
    for (size_t i = 0; i < wg_graph_assign_count(g); i++) {
        wg_value *leaf, *v;
        wg_graph_assign_at(g, i, &leaf, &v);
        other_readers[leaf->id]++;
        other_readers[v->id]++;
    }
}

/* ---- the weights ----------------------------------------------------------------------------- */

/* A state "NAME.suffix" for the parameter NAME. */
static wg_value *state_of(wg_graph *g, const wg_value *parameter, const char *suffix,
                          wg_dtype dtype, wg_shape shape)
{
    const char *slash = strrchr(parameter->name, '/'), *last = slash ? slash + 1 : parameter->name;
    size_t size = strlen(last) + strlen(suffix) + 1;
    char *name = wg_graph_alloc(g, size);
    if (!name)
        return NULL;
    snprintf(name, size, "%s%s", last, suffix);
    return wg_state(g, name, dtype, shape, wg_zeros());
}

/* Both states of a parameter in g, in its scope. */
static bool add_states(wg_graph *g, const wg_value *parameter, wg_value **q, wg_value **scale)
{
    const wg_shape *s = &parameter->shape;
    *q = state_of(g, parameter, ".int8", WG_I8, *s);
    *scale = state_of(g, parameter, ".scale", parameter->dtype, WG_SHAPE(s->dim[0]));
    return *q && *scale;
}

/* weights: parameter -> both states */
static bool add_quantizer(rewrite *r, const wg_value *parameter)
{
    wg_node *n = wg_node_copy(r->weights, parameter->node, NULL, WG_DTYPE_DEFAULT);
    wg_value *q, *scale;
    if (!n || !wg_name_copy(n->out[0], parameter))
        return false;
    const wg_origin before = wg_graph_origin(r->weights);
    wg_graph_set_origin(r->weights, (wg_origin){n->scope, n->at, n->phase});
    bool made = add_states(r->weights, parameter, &q, &scale);
    wg_value *rows = wg_quantize(n->out[0]);
    if (made) {
        wg_assign(q, rows);
        wg_assign(scale, wg_result_of(rows, 1));
    }
    wg_graph_set_origin(r->weights, before);
    return wg_graph_status(r->weights) == WG_OK;
}

/* The integers of a parameter, made where it is met first; NULL after an error. */
static const integers *integers_of(rewrite *r, wg_graph *to, const wg_value *parameter)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->list[i].parameter == parameter)
            return &r->list[i];
    integers *x = &r->list[r->n];
    x->parameter = parameter;
    const wg_origin inside = wg_graph_origin(to);
    const wg_origin home = {wg_scope_intern(to, parameter->node->scope), parameter->node->at,
                            inside.phase};
    wg_graph_set_origin(to, home);
    bool made = home.scope && add_states(to, parameter, &x->q, &x->scale);
    wg_graph_set_origin(to, inside);
    if (!made || !add_quantizer(r, parameter))
        return NULL;
    r->n++;
    return x;
}

/* ---- the products ---------------------------------------------------------------------------- */

static wg_value *product(rewrite *r, wg_graph *to, const wg_node *n, wg_value *const *in)
{
    const integers *weight = integers_of(r, to, n->in[1]);
    wg_activation activation = n->op == &wg_op_linear
                                   ? ((const wg_linear_attrs *)n->attrs)->activation
                                   : WG_ACTIVATION_NONE;
    if (!weight)
        return NULL;
    r->products++;
    wg_value *x = wg_quantize(in[0]);
    return wg_quantized_linear(x, wg_result_of(x, 1), weight->q, weight->scale,
                               n->n_in > 2 ? in[2] : NULL, activation);
}

/* Called for each node that is copied. */
static bool replace(void *context, wg_graph *to, const wg_node *n, wg_value *const *in,
                    wg_value **y)
{
    rewrite *r = context;
    if (n->op == &wg_op_parameter)
        return r->other_readers[n->out[0]->id] == 0;
    if (!taken(n))
        return false;
    y[0] = product(r, to, n, in);
    return true;
}

wg_status wg_quantize_products(wg_quantized *out, const wg_graph *g, wg_value **map)
{
    if (!out)
        return WG_EINVAL;
    *out = (wg_quantized){.graph = NULL};
    if (wg_graph_status(g) != WG_OK)
        return wg_graph_status(g);
    rewrite r = {.other_readers = calloc(wg_graph_value_count(g) + 1, sizeof *r.other_readers),
                 .list = calloc(wg_graph_node_count(g) + 1, sizeof *r.list),
                 .weights = wg_graph_new()};
    const wg_clone_options options = {.keep_all = true, .replace = replace, .context = &r};
    wg_graph *made = NULL;
    if (r.other_readers && r.list && r.weights) {
        count_readers(g, r.other_readers);
        made = wg_graph_clone(g, &options, map);
    }
    wg_status status =
        wg_graph_status(r.weights); /* first: what lacks there is missed in the other */
    if (status == WG_OK)
        status = made ? wg_graph_status(made) : WG_ENOMEM;
    *out = (wg_quantized){made, r.weights, r.products};
    if (status != WG_OK)
        wg_quantized_free(out);
    free(r.other_readers);
    free(r.list);
    return status;
}

void wg_quantized_free(wg_quantized *q)
{
    if (!q)
        return;
    wg_graph_free(q->graph);
    wg_graph_free(q->weights);
    *q = (wg_quantized){.graph = NULL};
}
