/* The gradient walker.
 *
 *   1. A node matters if a wanted value leads to it and it leads to y (through float values).
 *   2. Every op that matters must have a rule, or an expansion to differentiate instead.
 *   3. In reverse order, each rule turns the cotangents of a node's results into those of its operands; only
 *      the walker sums them down where an operand was broadcast, and adds up several uses.
 *
 * A node without a rule is differentiated through its expansion: the expansion is built at the end of the
 * graph and walked in turn.  (The plan merges it with the forward expansion.)  Both walks are the same function
 * over a range of nodes, so the work stays proportional to what is built. */
#include "autograd/grad.h"
#include "ops/ops.h"

#include <stdlib.h>
#include <string.h>

/* A walk over the nodes [first, end): cotangents of the values made there, indexed from first_value, and of the
 * wanted values, which may lie before. */
typedef struct walk {
    wg_graph *g;
    uint32_t first, end;
    uint32_t first_value, end_value;
    wg_value *const *wrt;
    size_t n_wrt;
    wg_value **inside;  /* [end_value - first_value] cotangents of values in the range */
    wg_value **outside; /* [n_wrt] cotangents of wanted values before the range        */
    bool *matters;      /* [end - first]                                               */
    bool *wanted;       /* [end_value - first_value] is among wrt, or leads from one   */
    const wg_grad_hook *hook;
} walk;

static bool in_range(const walk *w, const wg_value *v)
{
    return v->id >= w->first_value && v->id < w->end_value;
}

static size_t wrt_place(const walk *w, const wg_value *v)
{
    size_t i = 0;
    while (i < w->n_wrt && w->wrt[i] != v)
        i++;
    return i;
}

/* Where v's cotangent is kept; NULL if nobody wants it. */
static wg_value **cotangent(const walk *w, const wg_value *v)
{
    if (in_range(w, v))
        return &w->inside[v->id - w->first_value];
    size_t i = wrt_place(w, v);
    return i < w->n_wrt ? &w->outside[i] : NULL;
}

static bool leads_from_wrt(const walk *w, const wg_value *v)
{
    return in_range(w, v) ? w->wanted[v->id - w->first_value] : wrt_place(w, v) < w->n_wrt;
}

static bool carries_derivative(const wg_node *n)
{
    return !(n->op->flags & WG_OP_DISCRETE);
}

/* ---- 1. what matters --------------------------------------------------------------------------- */

static void mark(walk *w, wg_value *const *y, size_t n_y)
{
    for (size_t i = 0; i < w->n_wrt; i++)
        if (in_range(w, w->wrt[i]))
            w->wanted[w->wrt[i]->id - w->first_value] = true;
    for (uint32_t id = w->first; id < w->end; id++) { /* forward: leads from a wanted value */
        wg_node *n = wg_graph_node(w->g, id);
        bool reached = false;
        for (int i = 0; i < n->n_in && !reached; i++)
            reached = wg_dtype_is_float(n->in[i]->dtype) && leads_from_wrt(w, n->in[i]);
        if (!reached || !carries_derivative(n))
            continue;
        w->matters[id - w->first] = true;
        for (int i = 0; i < n->n_out; i++)
            w->wanted[n->out[i]->id - w->first_value] |= wg_dtype_is_float(n->out[i]->dtype);
    }
    bool *leads = calloc((size_t)(w->end - w->first) + 1, sizeof *leads); /* backward: leads to y */
    if (!leads) {
        wg_graph_fail(w->g, WG_ENOMEM, NULL, "wg_grad", "out of memory");
        return;
    }
    for (size_t i = 0; i < n_y; i++)
        if (in_range(w, y[i]))
            leads[y[i]->node->id - w->first] = true;
    for (uint32_t id = w->end; id-- > w->first;) {
        wg_node *n = wg_graph_node(w->g, id);
        w->matters[id - w->first] &= leads[id - w->first];
        for (int i = 0; w->matters[id - w->first] && i < n->n_in; i++)
            if (in_range(w, n->in[i]))
                leads[n->in[i]->node->id - w->first] = true;
    }
    free(leads);
}

/* ---- 2. coverage ------------------------------------------------------------------------------- */

/* The message lists each op once for each line that uses it. */
static void check_coverage(const walk *w)
{
    char list[900] = "";
    size_t used = 0, missing = 0;
    for (uint32_t id = w->first; id < w->end; id++) {
        const wg_node *n = wg_graph_node(w->g, id);
        if (!w->matters[id - w->first] || n->op->grad || n->op->expand)
            continue;
        char item[300];
        const char *slash = n->at ? strrchr(n->at, '/') : NULL;
        snprintf(item, sizeof item, "%s (%s%s%s)", n->op->name, n->scope->path, *n->scope->path ? " " : "",
                 n->at ? (slash ? slash + 1 : n->at) : "no line");
        if (strstr(list, item))
            continue;
        missing++;
        if (used + strlen(item) + 3 < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", item);
    }
    if (missing)
        wg_graph_fail(w->g, WG_EUNSUPPORTED, NULL, "wg_grad", "no gradient rule for %zu op%s on the path: %s",
                      missing, missing == 1 ? "" : "s", list);
}

/* ---- 3. the walk ------------------------------------------------------------------------------- */

static wg_status walk_range(wg_graph *g, uint32_t first, wg_value *const *y, wg_value *const *dy, size_t n_y,
                            wg_value *const *wrt, size_t n_wrt, wg_value **dx, const wg_grad_hook *hook);

/* Adds d to the cotangent of v, summed down to v's shape. */
static void accumulate(const walk *w, const wg_node *n, wg_value *v, wg_value *d)
{
    wg_value **place = cotangent(w, v);
    if (!d || !place || !leads_from_wrt(w, v))
        return;
    if (d->dtype != v->dtype) {
        wg_graph_fail(w->g, WG_EDTYPE, n->at, n->op->name, "its gradient rule made a cotangent of %s for %s",
                      wg_dtype_name(d->dtype), wg_dtype_name(v->dtype));
        return;
    }
    d = wg_sum_to(d, v->shape);
    *place = *place ? wg_add(*place, d) : d;
}

/* Through the expansion; an operand used twice gets its whole cotangent at its first place. */
static void rule_by_expansion(const walk *w, wg_node *n, wg_value *const *dy, wg_value **dx)
{
    uint32_t first = (uint32_t)wg_graph_node_count(w->g);
    size_t n_out = (size_t)n->n_out, n_in = (size_t)n->n_in, n_y = 0, n_x = 0;
    wg_value **room = calloc(2 * n_out + 2 * n_in + 1, sizeof *room);
    size_t *place = calloc(n_in + 1, sizeof *place);
    if (!room || !place) {
        wg_graph_fail(w->g, WG_ENOMEM, n->at, n->op->name, "out of memory");
        goto done;
    }
    wg_value **y = room, **cot = y + n_out, **x = cot + n_out, **d = x + n_in;
    if (!wg_expand_node(n, y))
        goto done;
    for (size_t i = 0; i < n_out; i++)
        if (dy[i]) {
            y[n_y] = y[i];
            cot[n_y++] = dy[i];
        }
    for (size_t i = 0; i < n_in; i++) {
        size_t k = 0;
        while (k < n_x && x[k] != n->in[i])
            k++;
        if (k == n_x && wg_dtype_is_float(n->in[i]->dtype) && leads_from_wrt(w, n->in[i])) {
            place[n_x] = i;
            x[n_x++] = n->in[i];
        }
    }
    if (walk_range(w->g, first, y, cot, n_y, x, n_x, d, NULL) == WG_OK)
        for (size_t k = 0; k < n_x; k++)
            dx[place[k]] = d[k];
done:
    free(room);
    free(place);
}

static void visit(const walk *w, wg_node *n)
{
    wg_value *few[16], **room = few;
    size_t need = (size_t)n->n_out + (size_t)n->n_in;
    if (need > 16 && !(room = malloc(need * sizeof *room))) {
        wg_graph_fail(w->g, WG_ENOMEM, n->at, n->op->name, "out of memory");
        return;
    }
    wg_value **dy = room, **dx = room + n->n_out;
    bool any = false;
    for (int i = 0; i < n->n_out; i++) {
        dy[i] = w->inside[n->out[i]->id - w->first_value];
        any |= dy[i] != NULL;
    }
    for (int i = 0; i < n->n_in; i++)
        dx[i] = NULL;
    if (any) {
        wg_graph_set_origin(w->g, (wg_origin){n->scope, n->at ? n->at : n->op->name, WG_BACKWARD});
        if (n->op->grad)
            n->op->grad(n, dy, dx);
        else
            rule_by_expansion(w, n, dy, dx);
        if (w->hook)
            w->hook->after_rule(w->hook->context, n, dy, dx);
        for (int i = 0; i < n->n_in; i++)
            accumulate(w, n, n->in[i], dx[i]);
    }
    if (room != few)
        free(room);
}

/* The walk over nodes [first, present end).  dx[i] is NULL where y does not depend on wrt[i]. */
static wg_status walk_range(wg_graph *g, uint32_t first, wg_value *const *y, wg_value *const *dy, size_t n_y,
                            wg_value *const *wrt, size_t n_wrt, wg_value **dx, const wg_grad_hook *hook)
{
    walk w = {.g = g, .first = first, .end = (uint32_t)wg_graph_node_count(g), .wrt = wrt, .n_wrt = n_wrt,
              .end_value = (uint32_t)wg_graph_value_count(g), .hook = hook};
    w.first_value = w.end_value;
    for (uint32_t id = first; id < w.end; id++) { /* the first node with a result */
        wg_node *n = wg_graph_node(g, id);
        if (n->n_out) {
            w.first_value = n->out[0]->id;
            break;
        }
    }
    size_t nodes = w.end - w.first, values = w.end_value - w.first_value;
    w.inside = calloc(values + 1, sizeof *w.inside);
    w.outside = calloc(n_wrt + 1, sizeof *w.outside);
    w.matters = calloc(nodes + 1, sizeof *w.matters);
    w.wanted = calloc(values + 1, sizeof *w.wanted);
    if (!w.inside || !w.outside || !w.matters || !w.wanted) {
        wg_graph_fail(g, WG_ENOMEM, NULL, "wg_grad", "out of memory");
        goto done;
    }
    mark(&w, y, n_y);
    check_coverage(&w);
    for (size_t i = 0; i < n_y && wg_graph_status(g) == WG_OK; i++)
        accumulate(&w, y[i]->node, y[i], dy[i]);
    for (uint32_t id = w.end; id-- > w.first && wg_graph_status(g) == WG_OK;)
        if (w.matters[id - w.first])
            visit(&w, wg_graph_node(g, id));
    for (size_t i = 0; i < n_wrt; i++) {
        wg_value **place = cotangent(&w, wrt[i]);
        dx[i] = place ? *place : NULL;
    }
done:
    free(w.inside);
    free(w.outside);
    free(w.matters);
    free(w.wanted);
    return wg_graph_status(g);
}

/* ---- the public face --------------------------------------------------------------------------- */

static bool check_arguments(wg_graph *g, wg_value *const *y, wg_value *const *dy, size_t n_y,
                            wg_value *const *wrt, size_t n_wrt)
{
    char a[160], b[160];
    for (size_t i = 0; i < n_wrt; i++) {
        if (!wrt[i])
            return wg_graph_fail(g, WG_EINVAL, NULL, "wg_grad", "wrt[%zu] is NULL", i) != NULL;
        if (wrt[i]->node->graph != g)
            return wg_graph_fail(g, WG_EINVAL, NULL, "wg_grad", "wrt[%zu] is of another graph", i) != NULL;
        if (!wg_dtype_is_float(wrt[i]->dtype))
            return wg_graph_fail(g, WG_EDTYPE, NULL, "wg_grad", "wrt[%zu] is %s, not a float", i,
                                 wg_dtype_name(wrt[i]->dtype)) != NULL;
    }
    for (size_t i = 0; i < n_y; i++) {
        if (!y[i] || y[i]->node->graph != g)
            return wg_graph_fail(g, WG_EINVAL, NULL, "wg_grad", "y[%zu] is %s", i,
                                 y[i] ? "of another graph" : "NULL") != NULL;
        if (!wg_dtype_is_float(y[i]->dtype))
            return wg_graph_fail(g, WG_EDTYPE, NULL, "wg_grad", "y[%zu] is %s, not a float", i,
                                 wg_dtype_name(y[i]->dtype)) != NULL;
        if (dy && dy[i] &&
            (dy[i]->node->graph != g || dy[i]->dtype != y[i]->dtype || !wg_shape_equal(&dy[i]->shape, &y[i]->shape)))
            return wg_graph_fail(g, WG_ESHAPE, NULL, "wg_vjp", "cotangent %zu is %s%s, y is %s%s", i,
                                 wg_dtype_name(dy[i]->dtype), wg_shape_text(&dy[i]->shape, a, sizeof a),
                                 wg_dtype_name(y[i]->dtype), wg_shape_text(&y[i]->shape, b, sizeof b)) != NULL;
    }
    return true;
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

wg_status wg_vjp(wg_value *const *y, wg_value *const *dy, size_t n_y, wg_value *const *wrt, size_t n_wrt,
                 wg_value **dx, const wg_vjp_options *options)
{
    for (size_t i = 0; i < n_wrt && dx; i++)
        dx[i] = NULL;
    if ((n_y && !y) || (n_wrt && (!wrt || !dx)))
        return WG_EINVAL;
    wg_graph *g = graph_of_any(y, n_y, wrt, n_wrt);
    if (!g)
        return WG_EINVAL;
    if (wg_graph_status(g) != WG_OK || !check_arguments(g, y, dy, n_y, wrt, n_wrt))
        return wg_graph_status(g);
    wg_value **seeds = calloc(n_y + 1, sizeof *seeds);
    if (!seeds) {
        wg_graph_fail(g, WG_ENOMEM, NULL, "wg_vjp", "out of memory");
        return WG_ENOMEM;
    }
    wg_origin before = wg_graph_origin(g);
    wg_graph_set_origin(g, (wg_origin){before.scope, before.at ? before.at : "wg_vjp", WG_BACKWARD});
    for (size_t i = 0; i < n_y; i++)
        seeds[i] = dy && dy[i] ? dy[i] : wg_fill(g, y[i]->dtype, y[i]->shape, 1);
    wg_status status = walk_range(g, 0, y, seeds, n_y, wrt, n_wrt, dx, options ? options->hook : NULL);
    wg_graph_set_origin(g, (wg_origin){before.scope, "wg_vjp", WG_BACKWARD});
    for (size_t i = 0; i < n_wrt && status == WG_OK; i++) {
        if (!dx[i])
            dx[i] = wg_zeros_like(wrt[i]);
        status = wg_graph_status(g);
    }
    wg_graph_set_origin(g, before);
    free(seeds);
    return status;
}

wg_status wg_grad(wg_value *y, wg_value *const *wrt, size_t n_wrt, wg_value **dx)
{
    if (y && wg_value_count(y) != 1) {
        char text[160];
        wg_graph_fail(wg_graph_of(y), WG_ESHAPE, y->node->at, "wg_grad",
                      "y is %s, must be a scalar (wg_vjp takes any shape)",
                      wg_shape_text(&y->shape, text, sizeof text));
    }
    return wg_vjp(&y, NULL, 1, wrt, n_wrt, dx, NULL);
}
