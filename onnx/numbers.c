/* Numbers that are known while a file is read.  They are computed by the graph's own ops: whatever
 * depends on constants alone is copied to a graph of its own and run on the reference backend. */
#include "graph/grow.h"
#include "onnx/import.h"
#include "wengert/backends/evaluate.h"
#include "wengert/ops/table.h"

#include <string.h>

enum { UNKNOWN = 0, FIXED, DEPENDS };

static bool node_is_fixed(const ox_import *m, const wg_node *n)
{
    if (n->op == &wg_op_constant)
        return true;
    if (n->op->flags & (WG_OP_LEAF | WG_OP_RANDOM))
        return false;
    for (int k = 0; k < n->n_in; k++)
        if (m->fixed[n->in[k]->node->id] != FIXED)
            return false;
    return true;
}

/* Nodes are in topological order, so one pass over the new ones is enough. */
static bool update(ox_import *m)
{
    size_t n = wg_graph_node_count(m->graph);
    if (n && !WGI_RESERVE(m->fixed, m->cap_fixed, n))
        return wgi_ox_stop(m, WG_ENOMEM, "out of memory");
    for (; m->n_fixed < n; m->n_fixed++)
        m->fixed[m->n_fixed] =
            node_is_fixed(m, wg_graph_node(m->graph, m->n_fixed)) ? FIXED : DEPENDS;
    return true;
}

bool wgi_ox_is_fixed(ox_import *m, const wg_value *v)
{
    return v && update(m) && m->fixed[v->node->id] == FIXED;
}

const wg_value *wgi_ox_blame(ox_import *m, const wg_value *v)
{
    while (!wgi_ox_is_fixed(m, v) && v->node->n_in) {
        const wg_node *n = v->node;
        int k = 0;
        while (k < n->n_in - 1 && wgi_ox_is_fixed(m, n->in[k]))
            k++;
        v = n->in[k];
    }
    return wgi_ox_is_fixed(m, v) ? NULL : v;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* The numbers of a node's only result, if they have been computed. */
static const wg_onnx_tensor *known(const ox_import *m, const wg_node *n)
{
    return n->n_out == 1 && n->out[0]->id < m->cap_numbers ? m->numbers[n->out[0]->id] : NULL;
}

static void mark(const ox_import *m, const wg_value *v, bool *needed)
{
    needed[v->node->id] = true;
    for (size_t i = v->node->id + 1; i-- > 0;) {
        const wg_node *n = wg_graph_node(m->graph, i);
        for (int k = 0; needed[i] && !known(m, n) && k < n->n_in; k++)
            needed[n->in[k]->node->id] = true;
    }
}

/* The copy of n, whose operands are in the map unless its numbers are known. */
static void copy_node(const ox_import *m, wg_graph *to, const wg_node *n, wg_value **map)
{
    const wg_onnx_tensor *t = known(m, n);
    if (t) {
        map[n->out[0]->id] = wg_constant(to, t->dtype, t->shape, t->data);
        return;
    }
    wg_value *in[OX_MAX_RESULTS];
    if (n->n_in > OX_MAX_RESULTS) {
        wg_graph_fail(to, WG_EUNSUPPORTED, n->at, n->op->name, "%d operands", n->n_in);
        return;
    }
    for (int k = 0; k < n->n_in; k++)
        in[k] = map[n->in[k]->id];
    const wg_node *copy = wg_node_copy(to, n, in, WG_DTYPE_DEFAULT);
    for (int k = 0; copy && k < n->n_out; k++)
        map[n->out[k]->id] = copy->out[k];
}

/* A few bytes of a file can ask for any number of numbers. */
static bool is_small(ox_import *m, const wg_node *n)
{
    for (int k = 0; k < n->n_out; k++)
        if (n->op != &wg_op_constant && wg_value_bytes(n->out[k]) > WGI_OX_COMPUTED_BYTES)
            return wgi_ox_stop(m, WG_EUNSUPPORTED,
                               "%s: a tensor of %zu bytes, to be computed while the file is read; "
                               "at most %d are",
                               n->at ? n->at : n->op->name, wg_value_bytes(n->out[k]),
                               WGI_OX_COMPUTED_BYTES);
    return true;
}

static wg_value *copy_of(ox_import *m, wg_graph *to, const wg_value *v)
{
    wg_value **map = calloc(wg_graph_value_count(m->graph) + 1, sizeof *map), *y = NULL;
    bool *needed = calloc(wg_graph_node_count(m->graph) + 1, sizeof *needed);
    if (map && needed) {
        mark(m, v, needed);
        for (size_t i = 0; i <= v->node->id && m->status == WG_OK; i++)
            if (needed[i] && is_small(m, wg_graph_node(m->graph, i)))
                copy_node(m, to, wg_graph_node(m->graph, i), map);
        y = m->status == WG_OK ? map[v->id] : NULL;
    }
    free(map);
    free(needed);
    return y;
}

/* Notes that v has these numbers; false without memory. */
static bool note(ox_import *m, const wg_value *v, const wg_onnx_tensor *numbers)
{
    size_t before = m->cap_numbers;
    if (!WGI_RESERVE(m->numbers, m->cap_numbers, v->id + 1))
        return wgi_ox_stop(m, WG_ENOMEM, "out of memory");
    for (size_t i = before; i < m->cap_numbers; i++)
        m->numbers[i] = NULL;
    m->numbers[v->id] = numbers;
    return true;
}

static bool keep(ox_import *m, const wg_value *v, const void *data)
{
    wg_onnx_tensor *t = wgi_ox_own(m);
    if (!t || !(t->data = malloc(wg_value_bytes(v) + 1)))
        return wgi_ox_stop(m, WG_ENOMEM, "out of memory");
    t->dtype = v->dtype;
    t->shape = v->shape;
    memcpy(t->data, data, wg_value_bytes(v));
    return note(m, v, t);
}

static bool run(ox_import *m, wg_graph *g, const wg_value *v, wg_value *copy)
{
    const wg_evaluator *e = wg_plan_evaluator();
    void *state = NULL;
    bool done = false;
    wg_status status = copy ? e->create(&state, g, &copy, 1) : wg_graph_status(g);
    if (status != WG_OK || !copy)
        wgi_ox_stop(m, status == WG_OK ? WG_ENOMEM : wgi_ox_status(status), "%s",
                    wg_graph_message(g));
    else if (e->run(state, 0) != WG_OK)
        wgi_ox_stop(m, WG_EDATA, "%s", e->message(state));
    else
        done = keep(m, v, e->data(state, copy));
    e->destroy(state);
    return done;
}

const wg_onnx_tensor *wgi_ox_compute(ox_import *m, const wg_value *v)
{
    if (v->id < m->cap_numbers && m->numbers[v->id])
        return m->numbers[v->id];
    wg_graph *g = wg_graph_new();
    bool done = g && run(m, g, v, copy_of(m, g, v));
    if (!g)
        wgi_ox_stop(m, WG_ENOMEM, "out of memory");
    wg_graph_free(g);
    return done ? m->numbers[v->id] : NULL;
}

const wg_onnx_tensor *wgi_ox_numbers(ox_import *m, const wg_value *v)
{
    const wg_error before = *m->error;
    if (m->status != WG_OK || !wgi_ox_is_fixed(m, v))
        return NULL;
    const wg_onnx_tensor *t = wgi_ox_compute(m, v);
    if (!t && m->status != WG_ENOMEM) {
        m->status = WG_OK;
        *m->error = before;
    }
    return t;
}
