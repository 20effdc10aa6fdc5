#include "backends/plan/blame.h"
#include "backends/broadcast.h"
#include "backends/memory.h"
#include "graph/element.h"
#include "wengert/ops/fused.h"
#include "wengert/ops/leaf.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_overwritten(const wgi_work *work, int k)
{
    for (int j = 0; j < work->node->n_out; j++)
        if (work->call.out[j] == work->call.in[k])
            return true;
    return false;
}

void wgi_witness_begin(wgi_witness *w, const wgi_work *work)
{
    const wg_node *n = work->node;
    *w = (wgi_witness){.complete = n->op == &wg_op_fused_elementwise};
    for (int k = 0; w->complete && k < n->n_in; k++) {
        size_t bytes = wg_value_bytes(n->in[k]);
        w->in[k] = work->call.in[k];
        if (!is_overwritten(work, k))
            continue;
        w->in[k] = w->copy[k] = malloc(bytes + 1);
        if (w->copy[k])
            memcpy(w->copy[k], work->call.in[k], bytes);
        w->complete = w->copy[k];
    }
}

void wgi_witness_end(wgi_witness *w)
{
    for (int k = 0; k < WGI_STEP_OPERANDS; k++)
        free(w->copy[k]);
}

/* ---- one element, computed again ------------------------------------------------------------- */

/* The element of operand k that belongs to that of the results. */
static const char *element_of(const wg_node *n, const wgi_witness *w, int k, int64_t at_result)
{
    const wg_shape *y = &n->out[0]->shape;
    int64_t stride[WG_MAX_RANK], at = 0;
    wgi_broadcast_strides(&n->in[k]->shape, y, stride);
    for (int i = y->rank - 1; i >= 0; i--) {
        at += at_result % y->dim[i] * stride[i];
        at_result /= y->dim[i];
    }
    return (const char *)w->in[k] + (size_t)at * wg_dtype_size(n->in[k]->dtype);
}

/* Adds n to g with scalars for its operands, known by their names, and its steps as nodes. */
static bool add_steps(wg_graph *g, const wg_node *n, wg_value **in, wg_value **y)
{
    char name[32], text[200];
    for (int k = 0; k < n->n_in; k++) {
        wg_value shown = {.name = wg_value_text(n->in[k], text, sizeof text)};
        snprintf(name, sizeof name, "x%d", k);
        in[k] = wg_input(g, name, n->in[k]->dtype, (wg_shape){0});
        if (!in[k] || !wg_name_copy(in[k], &shown))
            return false;
    }
    wg_node *copy = wg_node_copy(g, n, in, WG_DTYPE_DEFAULT);
    return copy && wg_expand_node(copy, y) && wg_graph_status(g) == WG_OK;
}

static bool is_worse(double y, const double *x, int n)
{
    bool had = false;
    for (int k = 0; k < n; k++)
        had |= isnan(y) ? isnan(x[k]) : x[k] == y;
    return !isfinite(y) && !had;
}

/* Values of one element, by their ids. */
typedef struct element {
    _Alignas(WGI_ALIGN) unsigned char bytes[WGI_ALIGN];
} element;

static bool compute(const wgi_open_backend *b, const wg_node *n, element *of)
{
    const void *in[3] = {NULL, NULL, NULL};
    void *out = of[n->out[0]->id].bytes;
    if (n->n_in > 3 || n->n_out != 1)
        return false;
    for (int k = 0; k < n->n_in; k++)
        in[k] = of[n->in[k]->id].bytes;
    return wgi_compute_node(b, n, in, &out, 1) == WG_OK;
}

/* Computes the steps in g; the first whose result is not finite, though no operand was so. */
static const wg_node *first_bad(const wgi_open_backend *b, const wg_graph *g, element *of)
{
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        double x[3] = {0, 0, 0};
        if ((n->op->flags & WG_OP_LEAF) || n->op == &wg_op_fused_elementwise)
            continue;
        if (!compute(b, n, of))
            return NULL;
        for (int k = 0; k < n->n_in; k++)
            x[k] = wgi_get_element(of[n->in[k]->id].bytes, n->in[k]->dtype, 0);
        if (is_worse(wgi_get_element(of[n->out[0]->id].bytes, n->out[0]->dtype, 0), x, n->n_in))
            return n;
    }
    return NULL;
}

const wg_node *wgi_blame_step(wg_plan *p, const wgi_work *work, const wgi_witness *w, int64_t at)
{
    const wg_node *n = work->node, *found = NULL;
    wg_value *in[WGI_STEP_OPERANDS], *y[WGI_STEP_RESULTS];
    wg_graph_free(p->blamed);
    wg_graph *g = p->blamed = w->complete ? wg_graph_new() : NULL;
    element *of = NULL;
    if (g && add_steps(g, n, in, y))
        of = aligned_alloc(WGI_ALIGN, wg_graph_value_count(g) * sizeof *of);
    for (int k = 0; of && k < n->n_in; k++)
        memcpy(of[in[k]->id].bytes, element_of(n, w, k, at), wg_dtype_size(n->in[k]->dtype));
    if (of)
        found = first_bad(wgi_reference(&p->backends), g, of);
    free(of);
    return found;
}
