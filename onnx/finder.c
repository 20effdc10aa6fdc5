/* What the search for composites asks of the graph of work. */
#include "onnx/composites.h"
#include "graph/clone.h"
#include "graph/element.h"
#include "wengert/ops/table.h"

#include <stdlib.h>

bool wgi_ox_finder_make(ox_finder *f, ox_import *m)
{
    const wg_graph *g = m->graph;
    wgi_marks marks = wgi_graph_marks(g);
    size_t values = wg_graph_value_count(g), nodes = wg_graph_node_count(g);
    bool *needed = calloc(nodes + 1, sizeof *needed);
    *f = (ox_finder){m, calloc(values + 1, sizeof *f->readers), calloc(values + 1, sizeof *f->map)};
    bool ok = needed && f->readers && f->map;
    if (ok)
        wgi_graph_needed(g, marks, needed);
    for (size_t i = 0; ok && i < nodes; i++)
        for (int k = 0; needed[i] && k < wg_graph_node(g, i)->n_in; k++)
            f->readers[wg_graph_node(g, i)->in[k]->id]++;
    for (size_t i = 0; ok && i < marks.n_outputs; i++)
        f->readers[marks.outputs[i].value->id]++;
    for (size_t i = 0; ok && i < marks.n_assigns; i++)
        f->readers[marks.assigns[i].value->id]++;
    free(needed);
    return ok;
}

void wgi_ox_finder_free(ox_finder *f)
{
    free(f->readers);
    free(f->map);
}

const wg_node *wgi_ox_made_by(const wg_value *v, const wg_op *op)
{
    return v && v->node->op == op ? v->node : NULL;
}

wg_value *wgi_ox_copy_of(const ox_finder *f, const wg_value *v)
{
    return v ? f->map[v->id] : NULL;
}

bool wgi_ox_number_of(ox_finder *f, const wg_value *v, double *x)
{
    if (wg_value_count(v) != 1 || !wg_dtype_is_float(v->dtype))
        return false;
    if (v->node->op == &wg_op_fill) {
        *x = ((const wg_fill_attrs *)v->node->attrs)->value;
        return true;
    }
    const wg_onnx_tensor *t = wgi_ox_numbers(f->import, v);
    if (t)
        *x = wgi_get_element(t->data, t->dtype, 0);
    return t != NULL;
}

const wg_value *wgi_ox_unscaled(ox_finder *f, const wg_value *v, double *factor)
{
    double x;
    for (int i = 0; i < 4; i++) { /* more factors than any exporter writes */
        const wg_node *n = v->node;
        bool divided = n->op == &wg_op_div;
        if (!divided && n->op != &wg_op_mul)
            break;
        int number = wgi_ox_number_of(f, n->in[1], &x)               ? 1
                     : !divided && wgi_ox_number_of(f, n->in[0], &x) ? 0
                                                                     : -1;
        if (number < 0 || !wg_shape_equal(&n->in[1 - number]->shape, &v->shape))
            break;
        *factor = divided ? *factor / x : *factor * x;
        v = n->in[1 - number];
    }
    return v;
}
