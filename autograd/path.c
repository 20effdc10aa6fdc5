/* Which nodes matter for a derivative, and whether all of them have a rule. */
#include "autograd/internal.h"
#include "graph/grow.h"
#include "wengert/ops/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t wgi_path_wrt_place(const wgi_path *p, const wg_value *v)
{
    size_t i = 0;
    while (i < p->n_wrt && p->wrt[i] != v)
        i++;
    return i;
}

bool wgi_path_reaches(const wgi_path *p, const wg_value *v)
{
    if (!wg_dtype_is_float(v->dtype))
        return false;
    return wgi_path_holds(p, v) ? p->reached[v->id - p->first_value]
                                : wgi_path_wrt_place(p, v) < p->n_wrt;
}

/* Forward: from the wanted values through every op that has a derivative. */
static void mark_reached(wgi_path *p)
{
    for (size_t i = 0; i < p->n_wrt; i++)
        if (wgi_path_holds(p, p->wrt[i]))
            p->reached[p->wrt[i]->id - p->first_value] = true;
    for (uint32_t id = p->first; id < p->end; id++) {
        wg_node *n = wg_graph_node(p->g, id);
        bool reached = false;
        for (int i = 0; i < n->n_in && !reached; i++)
            reached = wgi_path_reaches(p, n->in[i]);
        if (!reached || n->op->flags & WG_OP_DISCRETE)
            continue;
        p->matters[id - p->first] = true;
        for (int i = 0; i < n->n_out; i++)
            p->reached[n->out[i]->id - p->first_value] |= wg_dtype_is_float(n->out[i]->dtype);
    }
}

/* Backward: of these, only what leads to y. */
static void keep_leading(wgi_path *p, bool *leads, wg_value *const *y, size_t n_y)
{
    for (size_t i = 0; i < n_y; i++)
        if (wgi_path_holds(p, y[i]))
            leads[y[i]->id - p->first_value] = true;
    for (uint32_t id = p->end; id-- > p->first;) {
        wg_node *n = wg_graph_node(p->g, id);
        bool any = false;
        for (int i = 0; i < n->n_out; i++)
            any |= leads[n->out[i]->id - p->first_value];
        p->matters[id - p->first] &= any;
        for (int i = 0; p->matters[id - p->first] && i < n->n_in; i++)
            if (wgi_path_holds(p, n->in[i]) && wgi_path_reaches(p, n->in[i]))
                leads[n->in[i]->id - p->first_value] = true;
    }
}

bool wgi_path_find(wgi_path *p, wg_graph *g, uint32_t first, wg_value *const *y, size_t n_y,
                   wg_value *const *wrt, size_t n_wrt)
{
    *p = (wgi_path){.g = g,
                    .first = first,
                    .end = (uint32_t)wg_graph_node_count(g),
                    .wrt = wrt,
                    .n_wrt = n_wrt,
                    .end_value = (uint32_t)wg_graph_value_count(g)};
    p->first_value = p->end_value;
    for (uint32_t id = first; id < p->end; id++) { /* the first node with a result */
        wg_node *n = wg_graph_node(g, id);
        if (n->n_out) {
            p->first_value = n->out[0]->id;
            break;
        }
    }
    size_t nodes = p->end - p->first, values = p->end_value - p->first_value;
    p->matters = calloc(nodes + 1, sizeof *p->matters);
    p->reached = calloc(values + 1, sizeof *p->reached);
    bool *leads = calloc(values + 1, sizeof *leads);
    bool ok = p->matters && p->reached && leads;
    if (ok) {
        mark_reached(p);
        keep_leading(p, leads, y, n_y);
    } else {
        wg_graph_fail(g, WG_ENOMEM, NULL, "wg_grad", "out of memory");
    }
    free(leads);
    return ok;
}

void wgi_path_free(wgi_path *p)
{
    free(p->matters);
    free(p->reached);
}

/* ---- coverage -------------------------------------------------------------------------------- */

/* Ops without a rule: each once for each line that uses it. */
typedef struct report {
    char *text;
    size_t used, size, count;
    bool no_memory;
} report;

static void add(report *r, const char *item)
{
    char *there = r->text ? strstr(r->text, item) : NULL;
    if (there || r->no_memory)
        return;
    size_t need = r->used + strlen(item) + 3;
    char *more = wgi_grow(r->text, &r->size, need, 1);
    if (!more) {
        r->no_memory = true;
        return;
    }
    r->text = more;
    r->used +=
        (size_t)snprintf(r->text + r->used, r->size - r->used, "%s%s", r->count ? ", " : "", item);
    r->count++;
}

static void collect(const wgi_path *p, const char *inside, report *r);

/* An op that is differentiated through its expansion is expanded on trial, in a graph of its own.
 */
static void collect_expansion(const wgi_path *p, const wg_node *n, report *r)
{
    wg_graph *trial = wg_graph_new();
    size_t n_in = (size_t)n->n_in, n_out = (size_t)n->n_out, n_x = 0;
    wg_value **in = calloc(2 * n_in + n_out + 1, sizeof *in);
    wgi_path path = {0};
    if (!trial || !in) {
        r->no_memory = true;
        goto done;
    }
    wg_value **x = in + n_in, **y = x + n_in;
    for (size_t i = 0; i < n_in; i++) {
        char name[32];
        snprintf(name, sizeof name, "x%zu", i);
        in[i] = wg_input(trial, name, n->in[i]->dtype, n->in[i]->shape);
        if (wgi_path_reaches(p, n->in[i]))
            x[n_x++] = in[i];
    }
    uint32_t first = (uint32_t)wg_graph_node_count(trial);
    wg_node *copy = wg_node_copy(trial, n, in, WG_DTYPE_DEFAULT);
    if (copy && wg_expand_node(copy, y) && wgi_path_find(&path, trial, first + 1, y, n_out, x, n_x))
        collect(&path, n->op->name, r);
    /* other errors show when it is expanded for good */
    r->no_memory |= wg_graph_status(trial) == WG_ENOMEM;
done:
    wgi_path_free(&path);
    wg_graph_free(trial);
    free(in);
}

static void collect(const wgi_path *p, const char *inside, report *r)
{
    for (uint32_t id = p->first; id < p->end && !r->no_memory; id++) {
        const wg_node *n = wg_graph_node(p->g, id);
        if (!p->matters[id - p->first] || n->op->grad)
            continue;
        if (n->op->expand) {
            collect_expansion(p, n, r);
            continue;
        }
        char item[400];
        const char *slash = n->at ? strrchr(n->at, '/') : NULL, *path = n->scope->path;
        snprintf(item, sizeof item, "%s%s%s (%s%s%s)", n->op->name, inside ? " inside " : "",
                 inside ? inside : "", path, *path ? " " : "",
                 n->at ? (slash ? slash + 1 : n->at) : "no line");
        add(r, item);
    }
}

bool wgi_path_check_rules(const wgi_path *p)
{
    report r = {0};
    collect(p, NULL, &r);
    if (r.no_memory)
        wg_graph_fail(p->g, WG_ENOMEM, NULL, "wg_grad", "out of memory");
    else if (r.count)
        wg_graph_fail(p->g, WG_EUNSUPPORTED, NULL, "wg_grad",
                      "no gradient rule for %zu op%s on the path: %s", r.count,
                      r.count == 1 ? "" : "s", r.text);
    free(r.text);
    return wg_graph_status(p->g) == WG_OK;
}
