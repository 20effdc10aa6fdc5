/* Vectorisation: the nodes between x and y are built once more, for K examples at once.
 *
 * A node of which an operand is batched is built, in this order,
 *
 *   1. as one node, by the rule of its op (vmap_rules.c) or because it is elementwise;
 *   2. from the nodes of its expansion, each of them built in this way;
 *   3. as K copies, whose results are stacked.
 *
 * Every op has a right answer by 3, an op from outside the library too. */
#include "wengert/autograd/vmap.h"
#include "autograd/internal.h"
#include "autograd/vmap.h"
#include "graph/grow.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>
#include <string.h>

typedef struct vmap {
    wg_graph *g;
    int64_t size;  /* K */
    wg_value **of; /* [capacity] by id: the batched value, NULL where a value is shared */
    size_t capacity;
    bool no_memory;
} vmap;

static wg_value *batched(const vmap *m, const wg_value *v)
{
    return v->id < m->capacity ? m->of[v->id] : NULL;
}

static void set_batched(vmap *m, const wg_value *v, wg_value *b)
{
    size_t before = m->capacity;
    wg_value **of = wgi_grow(m->of, &m->capacity, (size_t)v->id + 1, sizeof(wg_value *));
    if (!of) {
        m->no_memory = true;
        return;
    }
    memset(of + before, 0, (m->capacity - before) * sizeof(wg_value *));
    m->of = of;
    of[v->id] = b;
}

/* ---- one node -------------------------------------------------------------------------------- */

/* Example k of operand i. */
static wg_value *example(const wgi_vmap_node *w, int i, int64_t k)
{
    if (!w->batched[i])
        return w->in[i];
    return wg_reshape(wg_slice(w->in[i], 0, k, k + 1, 1), w->node->in[i]->shape);
}

static void by_copies(vmap *m, wgi_vmap_node *w)
{
    const wg_node *n = w->node;
    size_t n_in = (size_t)n->n_in, n_out = (size_t)n->n_out, K = (size_t)m->size;
    wg_value **room = calloc(n_in + n_out * K + 1, sizeof *room);
    if (!room) {
        m->no_memory = true;
        return;
    }
    wg_value **in = room, **out = room + n_in;
    for (size_t k = 0; k < K; k++) {
        for (size_t i = 0; i < n_in; i++)
            in[i] = example(w, (int)i, (int64_t)k);
        wg_node *copy =
            wg_graph_status(m->g) == WG_OK ? wg_node_copy(m->g, n, in, WG_DTYPE_DEFAULT) : NULL;
        for (size_t j = 0; j < n_out && copy; j++)
            out[j * K + k] = copy->out[j];
    }
    for (size_t j = 0; j < n_out; j++)
        w->y[j] = wg_graph_status(m->g) == WG_OK ? wg_stack(out + j * K, K, 0) : NULL;
    free(room);
}

static void build_range(vmap *m, uint32_t first, uint32_t end, const bool *wanted);

/* The expansion is built on the operands as they are, at the end of the graph, and vectorised in
 * turn.  What remains of it is dead code. */
static bool by_expansion(vmap *m, wgi_vmap_node *w)
{
    wg_node *n = wg_graph_node(m->g, w->node->id);
    if (!n->op->expand)
        return false;
    uint32_t first = (uint32_t)wg_graph_node_count(m->g);
    if (!wg_expand_node(n, w->y))
        return true; /* the graph is in error */
    build_range(m, first, (uint32_t)wg_graph_node_count(m->g), NULL);
    for (int j = 0; j < n->n_out && wg_graph_status(m->g) == WG_OK; j++) {
        wg_value *y = batched(m, w->y[j]);
        w->y[j] = y ? y : w->y[j];
    }
    return true;
}

/* Batched results have one axis more than those of the node; others are shared. */
static void keep_results(vmap *m, const wgi_vmap_node *w)
{
    const wg_node *n = w->node;
    for (int j = 0; j < n->n_out && wg_graph_status(m->g) == WG_OK; j++) {
        if (batched(m, n->out[j]) || !w->y[j])
            continue;
        bool shared = w->y[j]->shape.rank == n->out[j]->shape.rank;
        set_batched(m, n->out[j], shared ? wgi_vmap_repeat(w->y[j], m->size) : w->y[j]);
    }
}

static void build(vmap *m, wgi_vmap_node *w)
{
    const wg_node *n = w->node;
    for (int j = 0; j < n->n_out; j++)
        if (n->out[j]->shape.rank == WG_MAX_RANK) {
            wg_graph_fail(m->g, WG_ESHAPE, n->at, "wg_vmap", "%s has %d axes, no room for another",
                          n->op->name, WG_MAX_RANK);
            return;
        }
    wg_graph_set_origin(m->g, (wg_origin){n->scope, n->at ? n->at : n->op->name, n->phase});
    if (!wgi_vmap_by_rule(w) && !by_expansion(m, w))
        by_copies(m, w);
    keep_results(m, w);
}

static void visit(vmap *m, const wg_node *n)
{
    size_t n_in = (size_t)n->n_in, count = n_in + (size_t)n->n_out;
    wg_value **in = calloc(count + 1, sizeof *in);
    bool *is = calloc(n_in + 1, sizeof *is), any = false;
    m->no_memory |= !in || !is;
    for (size_t i = 0; i < n_in && !m->no_memory; i++) {
        wg_value *b = batched(m, n->in[i]);
        in[i] = b ? b : n->in[i];
        is[i] = b != NULL;
        any |= is[i];
    }
    if (any && !m->no_memory)
        build(m, &(wgi_vmap_node){n, m->size, in, is, in + n_in});
    free(in);
    free(is);
}

/* Nodes [first, end) in their order; `wanted` by id, NULL: all. */
static void build_range(vmap *m, uint32_t first, uint32_t end, const bool *wanted)
{
    for (uint32_t id = first; id < end; id++)
        if (wg_graph_status(m->g) == WG_OK && !m->no_memory && (!wanted || wanted[id]))
            visit(m, wg_graph_node(m->g, id));
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* By id: the nodes that lead to y. */
static bool *leading(wg_graph *g, wg_value *const *y, size_t n_y)
{
    size_t count = wg_graph_node_count(g);
    bool *leads = calloc(count + 1, sizeof *leads);
    for (size_t j = 0; j < n_y && leads; j++)
        leads[y[j]->node->id] = true;
    for (size_t id = count; id-- > 0 && leads;) {
        const wg_node *n = wg_graph_node(g, id);
        for (int i = 0; i < n->n_in && leads[id]; i++)
            leads[n->in[i]->node->id] = true;
    }
    return leads;
}

static void run(vmap *m, wg_value *const *y, size_t n_y, wg_value *const *x, wg_value *const *xb,
                size_t n_x, wg_value **yb)
{
    uint32_t end = (uint32_t)wg_graph_node_count(m->g);
    bool *leads = leading(m->g, y, n_y);
    m->no_memory = !leads;
    for (size_t i = 0; i < n_x && !m->no_memory; i++)
        set_batched(m, x[i], xb[i]);
    build_range(m, 0, leads ? end : 0, leads);
    if (m->no_memory)
        wg_graph_fail(m->g, WG_ENOMEM, NULL, "wg_vmap", "out of memory");
    for (size_t j = 0; j < n_y && wg_graph_status(m->g) == WG_OK; j++) {
        wg_value *b = batched(m, y[j]);
        yb[j] = b ? b : wgi_vmap_repeat(y[j], m->size);
    }
    free(leads);
}

/* "[8,2,3]" for x [2,3]; "[K,2,3] with K > 0" where no batch has said yet how large K is. */
static const char *batch_text(int64_t K, const wg_shape *x, char *text, size_t size)
{
    char one[160], batches[32] = "K";
    wg_shape_text(x, one, sizeof one);
    if (K > 0)
        snprintf(batches, sizeof batches, "%lld", (long long)K);
    snprintf(text, size, "[%s%s%s%s", batches, x->rank ? "," : "", one + 1,
             K > 0 ? "" : " with K > 0");
    return text;
}

/* xb is a batch of x; *K is its size, or must be. */
static void check_pair(wg_graph *g, size_t i, const wg_value *x, const wg_value *xb, int64_t *K)
{
    char a[160], b[160], c[240];
    if (!x || !xb)
        wg_graph_fail(g, WG_EINVAL, NULL, "wg_vmap", "x[%zu] or its batch is NULL", i);
    else if (x->node->graph != g || xb->node->graph != g)
        wgi_refuse_foreign(g, "wg_vmap", x->node->graph != g ? "x" : "xb", i,
                           x->node->graph != g ? x : xb);
    else if (x->dtype != xb->dtype)
        wg_graph_fail(g, WG_EDTYPE, NULL, "wg_vmap", "x[%zu] is %s, its batch %s", i,
                      wg_dtype_name(x->dtype), wg_dtype_name(xb->dtype));
    else {
        *K = *K > 0 ? *K : xb->shape.rank > 0 ? xb->shape.dim[0] : 0;
        wg_shape wanted = wgi_vmap_shape(*K, &x->shape);
        if (*K < 1 || !wg_shape_equal(&wanted, &xb->shape))
            wg_graph_fail(
                g, WG_ESHAPE, NULL, "wg_vmap", "x[%zu] is %s, its batch is %s, must be %s", i,
                wg_shape_text(&x->shape, a, sizeof a), wg_shape_text(&xb->shape, b, sizeof b),
                batch_text(*K, &x->shape, c, sizeof c));
    }
}

static int64_t check_arguments(wg_graph *g, wg_value *const *y, size_t n_y, wg_value *const *x,
                               wg_value *const *xb, size_t n_x)
{
    int64_t K = 0;
    for (size_t j = 0; j < n_y; j++)
        if (!y[j])
            wg_graph_fail(g, WG_EINVAL, NULL, "wg_vmap", "y[%zu] is NULL", j);
        else if (y[j]->node->graph != g)
            wgi_refuse_foreign(g, "wg_vmap", "y", j, y[j]);
    for (size_t i = 0; i < n_x; i++) {
        check_pair(g, i, x[i], xb[i], &K);
        for (size_t k = 0; k < i; k++)
            if (x[i] && x[k] == x[i] && xb[k] != xb[i])
                wg_graph_fail(g, WG_EINVAL, NULL, "wg_vmap",
                              "x[%zu] and x[%zu] are one value, but have two batches", k, i);
    }
    return K;
}

wg_status(wg_vmap)(const char *at, wg_value *const *y, size_t n_y, wg_value *const *x,
                   wg_value *const *xb, size_t n_x, wg_value **yb)
{
    for (size_t j = 0; j < n_y && yb; j++)
        yb[j] = NULL;
    wg_graph *g = n_x && x && x[0] ? wg_graph_of(x[0]) : n_y && y ? wg_graph_of(y[0]) : NULL;
    if (!n_x || !x || !x[0] || !xb || (n_y && (!y || !yb))) {
        wg_graph_fail(g, WG_EINVAL, at, "wg_vmap", "the array %s is NULL or empty",
                      !n_x || !x || !x[0] ? "x"
                      : !xb               ? "xb"
                      : !y                ? "y"
                                          : "yb");
        return WG_EINVAL;
    }
    if (!g)
        return WG_EINVAL;
    if (wg_graph_status(g) != WG_OK)
        return wg_graph_status(g);
    const wg_origin before = wg_graph_origin(g);
    wg_graph_set_origin(g, (wg_origin){before.scope, before.at ? before.at : at, before.phase});
    vmap m = {.g = g, .size = check_arguments(g, y, n_y, x, xb, n_x)};
    if (wg_graph_status(g) == WG_OK)
        run(&m, y, n_y, x, xb, n_x, yb);
    free(m.of);
    wg_graph_set_origin(g, before);
    return wg_graph_status(g);
}
