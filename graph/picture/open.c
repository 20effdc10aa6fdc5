/* Composite ops opened: each node of one becomes its expansion, in a scope of the op's name. */
#include "graph/error.h"
#include "wengert/graph/picture.h"
#include "wengert/graph/op.h"

#include <stdlib.h>
#include <string.h>

typedef struct opening {
    const char *const *ops; /* [n] names; n = 0: all */
    bool *found;            /* [n] */
    size_t n;
    bool more; /* something was opened, whose expansion may have composites too */
} opening;

static bool is_wanted(opening *o, const wg_op *op)
{
    bool wanted = o->n == 0;
    for (size_t i = 0; op->expand && i < o->n; i++)
        if (strcmp(o->ops[i], op->name) == 0)
            wanted = o->found[i] = true;
    return wanted && op->expand;
}

/* How many nodes of n's op its scope has up to n. */
static int number_in_scope(const wg_node *n)
{
    int number = 1;
    for (size_t i = 0; i < n->id; i++) {
        const wg_node *other = wg_graph_node(n->graph, i);
        number += other->op == n->op && other->scope == n->scope;
    }
    return number;
}

/* wg_clone_options.replace.  The node that is expanded stays behind in `to`, and nothing reads
 * it. */
static bool open_node(void *context, wg_graph *to, const wg_node *n, wg_value *const *in,
                      wg_value **y)
{
    opening *o = context;
    if (!is_wanted(o, n->op))
        return false;
    const int number = number_in_scope(n);
    if (number == 1)
        wg_scope_push(to, "%s", n->op->name);
    else
        wg_scope_push(to, "%s_%d", n->op->name, number);
    wg_node *copy = wg_apply(n->at, to, n->op, n->attrs, in, n->n_in);
    o->more = true;
    return copy && wg_expand_node(copy, y);
}

/* *g becomes a copy with the nodes opened that it has; composites of their expansions are left for
 * the next call.  `g` NULL after a failure. */
static wg_status open_once(const wg_graph *from, wg_graph **g, opening *o, wg_error *error)
{
    o->more = false;
    *g = wg_graph_clone(from, &(wg_clone_options){.replace = open_node, .context = o}, NULL);
    const wg_status status = wg_graph_status(*g);
    if (status == WG_OK)
        return WG_OK;
    wgi_error_set(error, status, "%s", wg_graph_message(*g));
    wg_graph_free(*g);
    *g = NULL;
    return status;
}

static wg_status check_found(const opening *o, wg_error *error)
{
    for (size_t i = 0; i < o->n; i++)
        if (!o->found[i])
            return wgi_error_set(error, WG_EINVAL,
                                 "no composite op '%s' in this graph: nothing to open", o->ops[i]);
    return WG_OK;
}

wg_status wg_graph_open(wg_graph **out, const wg_graph *g, const char *const *ops, size_t n,
                        wg_error *error)
{
    wgi_error_clear(error);
    *out = NULL;
    if (wg_graph_status(g) != WG_OK)
        return wgi_error_set(error, wg_graph_status(g), "%s", wg_graph_message(g));
    opening o = {.ops = ops, .found = calloc(n + 1, sizeof *o.found), .n = n};
    if (!o.found)
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    wg_graph *opened = NULL;
    wg_status status = open_once(g, &opened, &o, error);
    while (status == WG_OK && o.more) { /* the last round also drops what is not read */
        wg_graph *before = opened;
        status = open_once(before, &opened, &o, error);
        wg_graph_free(before);
    }
    if (status == WG_OK)
        status = check_found(&o, error);
    free(o.found);
    if (status != WG_OK) {
        wg_graph_free(opened);
        return status;
    }
    *out = opened;
    return WG_OK;
}
