/* Parameters and states, which live in the plan's store: made anew, or in a marked scope found
 * again (wg_scope_reuse) or replaced by moving averages (wg_scope_average). */
#include "graph/leaf.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <string.h>

enum { NAME = 1536 }; /* bytes of a full name */

/* The scope itself or the first around it that has the mark; NULL if none has. */
static const wg_scope *averaging(const wg_scope *s)
{
    while (s && !s->average)
        s = s->parent;
    return s;
}

static bool reusing(const wg_scope *s)
{
    while (s && !s->reuse)
        s = s->parent;
    return s;
}

/* path/name, or name for an empty path */
static const char *joined(char text[NAME], const char *path, const char *name)
{
    snprintf(text, NAME, "%s%s%s", path, *path ? "/" : "", name);
    return text;
}

/* The leaf of that full name, which must be what is asked for; NULL after an error. */
static wg_value *found_again(const char *at, wg_value *leaf, const wg_op *op,
                             const wg_leaf_attrs *a)
{
    const wg_leaf_attrs *has = leaf->node->attrs;
    wg_graph *g = wg_graph_of(leaf);
    char is[160], must[160];
    if (leaf->node->op != op)
        return wg_graph_fail(g, WG_EINVAL, at, op->name,
                             "'%s' is a%s %s, but a %s is asked for under this name", leaf->name,
                             leaf->node->op->flags & WG_OP_LEAF ? "" : " result of",
                             leaf->node->op->name, op->name);
    if (leaf->dtype != a->dtype || !wg_shape_equal(&leaf->shape, &a->shape))
        return wg_graph_fail(g, WG_ESHAPE, at, op->name,
                             "'%s' is %s%s, but %s%s is asked for under this name", leaf->name,
                             wg_dtype_name(leaf->dtype), wg_shape_text(&leaf->shape, is, sizeof is),
                             wg_dtype_name(a->dtype), wg_shape_text(&a->shape, must, sizeof must));
    if (!wg_node_attrs_equal(op, has, a))
        return wg_graph_fail(g, WG_EINVAL, at, op->name,
                             "'%s' has other initial values than are asked for under this name",
                             leaf->name);
    return leaf;
}

/* The leaf `name` of the current scope: a new one, or where `again` the one that has the name. */
static wg_value *leaf_of(const char *at, wg_graph *g, const wg_op *op, const char *name,
                         const wg_leaf_attrs *a, bool again)
{
    char full[NAME];
    wg_value *old = NULL;
    if (again && name && wg_graph_status(g) == WG_OK)
        old = wg_graph_find(g, joined(full, wg_scope_path(g), name));
    return old ? found_again(at, old, op, a) : wgi_graph_leaf(at, g, op, a, name);
}

/* Number of updates of the averages in a scope: the state "updates" of that scope. */
static wg_value *updates_of(const char *at, wg_graph *g, const wg_scope *scope)
{
    const wg_leaf_attrs a = {.dtype = WG_I64, .shape = WG_SCALAR};
    wg_origin here = wg_graph_origin(g), there = here;
    there.scope = scope;
    wg_graph_set_origin(g, there);
    wg_value *updates = leaf_of(at, g, &wg_op_state, "updates", &a, true);
    wg_graph_set_origin(g, here);
    return updates;
}

/* The average of a parameter: a state, or the parameter while no update has been made. */
static wg_value *average_of(const char *at, wg_graph *g, const wg_scope *scope, const char *name,
                            const wg_leaf_attrs *a)
{
    char inside[NAME], outside[NAME];
    joined(inside, wg_scope_path(g), name ? name : "");
    joined(outside, scope->parent->path, inside + strlen(scope->path) + 1);
    wg_value *p = wg_graph_find(g, outside);
    if (!p || !found_again(at, p, &wg_op_parameter, a))
        return wg_graph_fail(g, WG_EINVAL, at, "wg_parameter",
                             "there is no parameter '%s' to average as '%s': build it first",
                             outside, inside);
    const wg_leaf_attrs zeros = {.dtype = a->dtype, .shape = a->shape};
    wg_value *average = leaf_of(at, g, &wg_op_state, name, &zeros, true);
    wg_value *updates = updates_of(at, g, scope);
    wg_value *moved = (wg_greater)(at, updates, (wg_scalar_like)(at, updates, 0));
    return (wg_where)(at, moved, average, (wg_stop_gradient)(at, p));
}

wg_value *(wg_parameter)(const char *at, wg_graph *g, const char *name, wg_dtype dtype,
                         wg_shape shape, wg_init init)
{
    const wg_leaf_attrs a = {dtype, shape, init.kind, init.scale, init.values};
    const wg_scope *scope = wg_graph_origin(g).scope, *averages = averaging(scope);
    if (averages && wg_graph_status(g) == WG_OK)
        return average_of(at, g, averages, name, &a);
    return leaf_of(at, g, &wg_op_parameter, name, &a, reusing(scope));
}

wg_value *(wg_state)(const char *at, wg_graph *g, const char *name, wg_dtype dtype, wg_shape shape,
                     wg_init init)
{
    const wg_leaf_attrs a = {dtype, shape, init.kind, init.scale, init.values};
    return leaf_of(at, g, &wg_op_state, name, &a, reusing(wg_graph_origin(g).scope));
}
