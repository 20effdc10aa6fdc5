/* The gradient walker.
 *
 *   1. A node matters if a wanted value leads to it and it leads to y (through float values).
 *   2. Every op that matters must have a rule, or an expansion to differentiate instead.
 *   3. In reverse order, each rule turns the cotangents of a node's results into those of its
 *      operands; only the walker sums them down where an operand was broadcast, and adds up
 *      several uses.
 *
 * A node without a rule is differentiated through its expansion: the expansion is built at the end
 * of the graph and walked in turn.  (The plan merges it with the forward expansion.)  Both walks
 * are the same function over a range of nodes, so the work stays proportional to what is built. */
#include "wengert/autograd/grad.h"
#include "autograd/internal.h"
#include "graph/call.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>

/* A walk over a range of nodes: cotangents of the values made there, and of the wanted values
 * before them. */
typedef struct walk {
    wgi_path path;
    wgi_recompute recompute;
    wg_value **inside;  /* [end_value - first_value] cotangents of values in the range */
    wg_value **outside; /* [n_wrt] cotangents of wanted values before the range        */
    const wg_grad_hook *hook;
} walk;

/* Where v's cotangent is kept; NULL if nobody wants it. */
static wg_value **cotangent(const walk *w, const wg_value *v)
{
    const wgi_path *p = &w->path;
    if (wgi_path_holds(p, v))
        return &w->inside[v->id - p->first_value];
    size_t i = wgi_path_wrt_place(p, v);
    return i < p->n_wrt ? &w->outside[i] : NULL;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static wg_status walk_range(wg_graph *g, uint32_t first, wg_value *const *y, wg_value *const *dy,
                            size_t n_y, wg_value *const *wrt, size_t n_wrt, wg_value **dx,
                            const wg_grad_hook *hook);

/* d, which a rule made for the operand v, has v's dtype and a shape to which v broadcasts. */
static bool check_cotangent(const wg_node *n, const wg_value *v, const wg_value *d)
{
    char a[160], b[160];
    wg_graph *g = v->node->graph;
    int lead = d->shape.rank - v->shape.rank;
    bool fits = lead >= 0;
    for (int i = 0; fits && i < v->shape.rank; i++)
        fits = v->shape.dim[i] == d->shape.dim[i + lead] || v->shape.dim[i] == 1;
    if (d->node->graph != g)
        wg_graph_fail(g, WG_EINVAL, n->at, n->op->name,
                      "its gradient rule made a cotangent in another graph");
    else if (d->dtype != v->dtype)
        wg_graph_fail(g, WG_EDTYPE, n->at, n->op->name,
                      "its gradient rule made a cotangent of %s for %s", wg_dtype_name(d->dtype),
                      wg_dtype_name(v->dtype));
    else if (!fits)
        wg_graph_fail(g, WG_ESHAPE, n->at, n->op->name,
                      "its gradient rule made a cotangent of %s for %s",
                      wg_shape_text(&d->shape, a, sizeof a), wg_shape_text(&v->shape, b, sizeof b));
    return wg_graph_status(g) == WG_OK;
}

/* Adds d to the cotangent of v, summed down to v's shape. */
static void accumulate(const walk *w, const wg_node *n, wg_value *v, wg_value *d)
{
    if (!d || !wgi_path_reaches(&w->path, v) || !check_cotangent(n, v, d))
        return;
    wg_value **place = cotangent(w, v);
    d = wg_sum_to(d, v->shape);
    *place = *place ? wg_add(*place, d) : d;
}

/* Through the expansion; an operand used twice gets its whole cotangent at its first place.  m is
 * n, or the copy of n that is recomputed. */
static void rule_by_expansion(const walk *w, const wg_node *n, wg_node *m, wg_value *const *dy,
                              wg_value **dx)
{
    wg_graph *g = w->path.g;
    uint32_t first = (uint32_t)wg_graph_node_count(g);
    size_t n_out = (size_t)n->n_out, n_in = (size_t)n->n_in, n_y = 0, n_x = 0;
    wg_value **room = calloc(2 * n_out + 2 * n_in + 1, sizeof *room);
    size_t *place = calloc(n_in + 1, sizeof *place);
    if (!room || !place) {
        wg_graph_fail(g, WG_ENOMEM, n->at, n->op->name, "out of memory");
        goto done;
    }
    wg_value **y = room, **cot = y + n_out, **x = cot + n_out, **d = x + n_in;
    if (!wg_expand_node(m, y))
        goto done;
    for (size_t i = 0; i < n_out; i++)
        if (dy[i]) {
            y[n_y] = y[i];
            cot[n_y++] = dy[i];
        }
    for (size_t i = 0; i < n_in; i++) {
        size_t k = 0;
        while (k < n_x && x[k] != m->in[i])
            k++;
        if (k == n_x && wgi_path_reaches(&w->path, n->in[i])) {
            place[n_x] = i;
            x[n_x++] = m->in[i];
        }
    }
    if (walk_range(g, first, y, cot, n_y, x, n_x, d, NULL) == WG_OK)
        for (size_t k = 0; k < n_x; k++)
            dx[place[k]] = d[k];
done:
    free(room);
    free(place);
}

static void visit(walk *w, wg_node *n)
{
    wg_graph *g = w->path.g;
    wg_value *few[16], **room = few;
    size_t need = (size_t)n->n_out + (size_t)n->n_in;
    if (need > 16 && !(room = malloc(need * sizeof *room))) {
        wg_graph_fail(g, WG_ENOMEM, n->at, n->op->name, "out of memory");
        return;
    }
    wg_value **dy = room, **dx = room + n->n_out;
    bool any = false;
    for (int i = 0; i < n->n_out; i++) {
        dy[i] = w->inside[n->out[i]->id - w->path.first_value];
        any |= dy[i] != NULL;
    }
    for (int i = 0; i < n->n_in; i++)
        dx[i] = NULL;
    wg_node *m = any ? wgi_recompute_node(&w->recompute, n, dy) : NULL;
    if (m) {
        wg_graph_set_origin(g, (wg_origin){n->scope, n->at ? n->at : n->op->name, WG_BACKWARD});
        if (n->op->grad)
            n->op->grad(m, dy, dx);
        else
            rule_by_expansion(w, n, m, dy, dx);
        if (w->hook)
            w->hook->after_rule(w->hook->context, m, dy, dx);
        for (int i = 0; i < n->n_in; i++)
            accumulate(w, n, n->in[i], dx[i]);
    }
    if (room != few)
        free(room);
}

/* The walk over nodes [first, present end).  dx[i] is NULL where y does not depend on wrt[i]; a
 * dy[j] of NULL stands for ones. */
static wg_status walk_range(wg_graph *g, uint32_t first, wg_value *const *y, wg_value *const *dy,
                            size_t n_y, wg_value *const *wrt, size_t n_wrt, wg_value **dx,
                            const wg_grad_hook *hook)
{
    walk w = {.hook = hook};
    if (!wgi_path_find(&w.path, g, first, y, n_y, wrt, n_wrt) || !wgi_path_check_rules(&w.path))
        goto done;
    const wgi_path *p = &w.path;
    w.inside = calloc((size_t)(p->end_value - p->first_value) + 1, sizeof *w.inside);
    w.outside = calloc(n_wrt + 1, sizeof *w.outside);
    if (!w.inside || !w.outside || !wgi_recompute_open(&w.recompute, p)) {
        wg_graph_fail(g, WG_ENOMEM, NULL, "wg_grad", "out of memory");
        goto done;
    }
    for (size_t i = 0; i < n_y && wg_graph_status(g) == WG_OK; i++)
        accumulate(&w, y[i]->node, y[i],
                   dy && dy[i] ? dy[i] : wg_fill(g, y[i]->dtype, y[i]->shape, 1));
    for (uint32_t id = p->end; id-- > p->first && wg_graph_status(g) == WG_OK;)
        if (p->matters[id - p->first])
            visit(&w, wg_graph_node(g, id));
    for (size_t i = 0; i < n_wrt; i++) {
        wg_value **place = cotangent(&w, wrt[i]);
        dx[i] = place ? *place : NULL;
    }
done:
    wgi_path_free(&w.path);
    wgi_recompute_close(&w.recompute);
    free(w.inside);
    free(w.outside);
    return wg_graph_status(g);
}

/* ---- public functions ------------------------------------------------------------------------ */

void wgi_refuse_foreign(wg_graph *g, const char *who, const char *what, size_t i, const wg_value *v)
{
    wg_graph_fail(g, WG_EINVAL, NULL, who, "%s[%zu] is of another graph", what, i);
    wg_graph_fail(v->node->graph, WG_EINVAL, wg_graph_origin(g).at, who,
                  "%s[%zu] belongs to this graph, others to another one", what, i);
}

static void check_value(wg_graph *g, const char *what, size_t i, const wg_value *v)
{
    if (!v)
        wg_graph_fail(g, WG_EINVAL, NULL, "wg_grad", "%s[%zu] is NULL", what, i);
    else if (v->node->graph != g)
        wgi_refuse_foreign(g, "wg_grad", what, i, v);
    else if (!wg_dtype_is_float(v->dtype))
        wg_graph_fail(g, WG_EDTYPE, NULL, "wg_grad", "%s[%zu] is %s, not a float", what, i,
                      wg_dtype_name(v->dtype));
}

static void check_like(wg_graph *g, size_t i, const wg_value *dy, const wg_value *y)
{
    char a[160], b[160];
    if (dy->node->graph != g)
        wgi_refuse_foreign(g, "wg_vjp", "dy", i, dy);
    else if (dy->dtype != y->dtype || !wg_shape_equal(&dy->shape, &y->shape))
        wg_graph_fail(g, dy->dtype != y->dtype ? WG_EDTYPE : WG_ESHAPE, NULL, "wg_vjp",
                      "cotangent %zu is %s%s, y is %s%s", i, wg_dtype_name(dy->dtype),
                      wg_shape_text(&dy->shape, a, sizeof a), wg_dtype_name(y->dtype),
                      wg_shape_text(&y->shape, b, sizeof b));
}

static wg_status check_arguments(wg_graph *g, wg_value *const *y, wg_value *const *dy, size_t n_y,
                                 wg_value *const *wrt, size_t n_wrt)
{
    for (size_t i = 0; i < n_wrt; i++)
        check_value(g, "wrt", i, wrt[i]);
    for (size_t i = 0; i < n_y; i++) {
        check_value(g, "y", i, y[i]);
        if (dy && dy[i] && wg_graph_status(g) == WG_OK)
            check_like(g, i, dy[i], y[i]);
    }
    return wg_graph_status(g);
}

static wg_graph *graph_of_any(wg_value *const *y, size_t n_y, wg_value *const *wrt, size_t n_wrt)
{
    for (size_t i = 0; i < n_y; i++)
        if (y[i])
            return wg_graph_of(y[i]);
    for (size_t i = 0; i < n_wrt; i++)
        if (wrt[i])
            return wg_graph_of(wrt[i]);
    return NULL;
}

/* How many of the wanted values come before the first that is NULL.  In a graph without an error
 * that one may be where the caller's arrays end: nothing is written there. */
static size_t without_null(wg_value *const *wrt, size_t n_wrt)
{
    size_t n = 0;
    while (n < n_wrt && wrt[n])
        n++;
    return n;
}

wg_status(wg_vjp)(const char *at, wg_value *const *y, wg_value *const *dy, size_t n_y,
                  wg_value *const *wrt, size_t n_wrt, const wg_vjp_options *options, wg_value **dx)
{
    const char *missing = n_y && !y ? "y" : n_wrt && !wrt ? "x" : n_wrt && !dx ? "dx" : NULL;
    wg_graph *g = graph_of_any(y, y ? n_y : 0, wrt, wrt ? n_wrt : 0);
    if (missing) {
        for (size_t i = 0; dx && i < n_wrt; i++)
            dx[i] = NULL;
        wg_graph_fail(g, WG_EINVAL, at, "wg_vjp", "the array %s is NULL or empty", missing);
        return WG_EINVAL;
    }
    size_t n_dx = g && wg_graph_status(g) == WG_OK ? without_null(wrt, n_wrt) : n_wrt;
    for (size_t i = 0; i < n_dx; i++)
        dx[i] = NULL;
    if (!g)
        return WG_EINVAL;
    if (wg_graph_status(g) != WG_OK)
        return wg_graph_status(g);
    const wg_origin before = wg_graph_origin(g);
    const wg_origin here = {before.scope, before.at ? before.at : at, WG_BACKWARD};
    wg_graph_set_origin(g, here);
    const char *caller = wgi_graph_enter(g, "wg_vjp");
    wg_status status = check_arguments(g, y, dy, n_y, wrt, n_wrt);
    if (status == WG_OK)
        status = walk_range(g, 0, y, dy, n_y, wrt, n_wrt, dx, options ? options->hook : NULL);
    wg_graph_set_origin(g, here); /* the walk has moved it */
    for (size_t i = 0; i < n_wrt && status == WG_OK; i++) {
        if (!dx[i])
            dx[i] = wg_zeros_like(wrt[i]);
        status = wg_graph_status(g);
    }
    wg_graph_set_origin(g, before);
    wgi_graph_leave(g, caller);
    return status;
}

wg_status(wg_grad)(const char *at, wg_value *y, wg_value *const *wrt, size_t n_wrt, wg_value **dx)
{
    if (y && wg_value_count(y) != 1) {
        char text[160];
        wg_graph_fail(wg_graph_of(y), WG_ESHAPE, at, "wg_grad",
                      "y is %s, must be a scalar (wg_vjp takes any shape)",
                      wg_shape_text(&y->shape, text, sizeof text));
    }
    wg_graph *g = graph_of_any(&y, 1, wrt, wrt ? n_wrt : 0);
    const char *caller = g ? wgi_graph_enter(g, "wg_grad") : NULL;
    wg_status status = (wg_vjp)(at, &y, NULL, 1, wrt, n_wrt, NULL, dx);
    if (g)
        wgi_graph_leave(g, caller);
    return status;
}

static bool depends_on_any(wg_graph *g, wg_value *y, wg_value *const *wrt, size_t n_wrt)
{
    wgi_path path;
    bool depends = wgi_path_find(&path, g, 0, &y, 1, wrt, n_wrt) && wgi_path_reaches(&path, y);
    wgi_path_free(&path);
    return depends;
}

bool wg_depends_on(const wg_value *y, const wg_value *x)
{
    wg_graph *g = wg_graph_of(y);
    if (!g || wg_graph_of(x) != g)
        return false;
    wg_value *const from = wg_graph_value(g, x->id);
    return depends_on_any(g, wg_graph_value(g, y->id), &from, 1);
}

/* ---- all parameters -------------------------------------------------------------------------- */

/* The float parameters of g, in an array of its arena. */
static wg_value **float_parameters(wg_graph *g, size_t *n)
{
    size_t all = wg_graph_parameters(g, NULL, 0);
    wg_value **p = wg_graph_alloc(g, (all + 1) * sizeof(wg_value *));
    *n = 0;
    if (!p)
        return NULL;
    wg_graph_parameters(g, p, all);
    for (size_t i = 0; i < all; i++)
        if (wg_dtype_is_float(p[i]->dtype))
            p[(*n)++] = p[i];
    return p;
}

wg_gradients(wg_grad_all)(const char *at, wg_value *loss)
{
    const wg_gradients none = {NULL, NULL, 0};
    wg_graph *g = wg_graph_of(loss);
    wg_gradients d = none;
    char text[160];
    if (!g || wg_graph_status(g) != WG_OK)
        return none;
    if (wg_value_count(loss) != 1)
        wg_graph_fail(g, WG_ESHAPE, at, "wg_grad_all",
                      "the loss is %s, must be a scalar, such as its wg_mean (wg_vjp takes any "
                      "shape)",
                      wg_shape_text(&loss->shape, text, sizeof text));
    d.params = float_parameters(g, &d.n);
    d.grads = wg_graph_alloc(g, (d.n + 1) * sizeof(wg_value *));
    if (!d.params || !d.grads)
        return none;
    if (!d.n)
        wg_graph_fail(g, WG_EINVAL, at, "wg_grad_all", "the graph has no parameters");
    else if (!depends_on_any(g, loss, d.params, d.n))
        wg_graph_fail(g, WG_EINVAL, at, "wg_grad_all",
                      "the loss depends on none of the %zu parameters", d.n);
    const char *caller = wgi_graph_enter(g, "wg_grad_all");
    wg_status status = (wg_grad)(at, loss, d.params, d.n, d.grads);
    wgi_graph_leave(g, caller);
    return status == WG_OK ? d : none;
}
