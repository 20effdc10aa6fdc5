/* Where nodes are built and what they are called: scopes and names of values. */
#include "graph/error.h"
#include "graph/internal.h"
#include "graph/names.h"

#include <string.h>

enum { FULL_NAME = WGI_FULL_NAME_BYTES + 1 };

/* ---- scopes ---------------------------------------------------------------------------------- */

static const wg_scope *new_scope(wg_graph *g, const wg_scope *parent, const char *path)
{
    wg_scope *s = wgi_arena_alloc(&g->arena, sizeof *s);
    char *own = s ? wgi_arena_text(&g->arena, path) : NULL;
    if (!own || !wgi_names_put(&g->scopes, own, s))
        return wgi_graph_no_memory(g);
    const char *slash = strrchr(own, '/');
    *s = (wg_scope){.parent = parent,
                    .name = slash ? slash + 1 : own,
                    .path = own,
                    .depth = parent ? parent->depth + 1 : 0};
    return s;
}

static const wg_scope *path_too_long(wg_graph *g, size_t max)
{
    wg_graph_fail(g, WG_EINVAL, NULL, "scope", "a path longer than %zu bytes", max);
    return NULL;
}

/* From the top down: a path of many levels needs no more stack than one of two. */
const wg_scope *wgi_scope_intern(wg_graph *g, const char *path)
{
    char up[WGI_PATH_BYTES + 1];
    size_t length = strlen(path);
    const wg_scope *s = wgi_names_get(&g->scopes, path);
    if (s)
        return s;
    if (!*path)
        return new_scope(g, NULL, "");
    if (length >= sizeof up)
        return path_too_long(g, sizeof up - 1);
    s = wgi_names_get(&g->scopes, "");
    for (size_t end = strcspn(path, "/"); s; end += 1 + strcspn(path + end + 1, "/")) {
        const wg_scope *parent = s;
        memcpy(up, path, end);
        up[end] = '\0';
        s = wgi_names_get(&g->scopes, up);
        s = s ? s : new_scope(g, parent, up);
        if (end == length)
            break;
    }
    return s;
}

static const wg_scope *scope_child(wg_graph *g, const wg_scope *parent, const char *name)
{
    char path[WGI_PATH_BYTES + 1];
    int length =
        snprintf(path, sizeof path, "%s%s%s", parent->path, *parent->path ? "/" : "", name);
    if (length < 0 || (size_t)length >= sizeof path)
        return path_too_long(g, sizeof path - 1);
    return wgi_scope_intern(g, path);
}

/* What printf made of a format is no name; names have no line of their own. */
static void *refuse_name(wg_graph *g, const char *at, const char *who, const char *format,
                         int length)
{
    if (length < 0)
        return wg_graph_fail(g, WG_EINVAL, at, who,
                             "'%s' is no format: write %%%% for a percent sign", format);
    return wg_graph_fail(g, WG_EINVAL, at, who, "the name has %d bytes, must have 1 to %d", length,
                         WGI_NAME_BYTES);
}

/* Where the last node was built, near a call that has no line; NULL if it has one. */
static const char *last_line(const wg_graph *g)
{
    return g->n_nodes && !g->origin.at ? g->nodes[g->n_nodes - 1]->at : NULL;
}

void wg_scope_push(wg_graph *g, const char *format, ...)
{
    if (!g)
        return;
    if (!format) {
        wg_graph_fail(g, WG_EINVAL, NULL, "wg_scope_push", "the name is NULL");
        return;
    }
    char name[WGI_NAME_BYTES + 1];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (length <= 0 || (size_t)length >= sizeof name) {
        refuse_name(g, NULL, "wg_scope_push", format, length);
        return;
    }
    if (strchr(name, '/')) {
        wg_graph_fail(g, WG_EINVAL, NULL, "wg_scope_push",
                      "a name with a slash, '%s': open the scopes one after the other, with "
                      "wg_scope_push%s%s",
                      name, last_line(g) ? "; the last node was built at " : "",
                      last_line(g) ? wgi_line_of(last_line(g)) : "");
        return;
    }
    const wg_scope *s = scope_child(g, g->origin.scope, name);
    if (s)
        g->origin.scope = s;
}

/* Popping the top is an error, but not while an earlier error has stopped pushes. */
void wg_scope_pop(wg_graph *g)
{
    if (!g)
        return;
    if (g->origin.scope->parent)
        g->origin.scope = g->origin.scope->parent;
    else if (g->n_nodes == 0)
        wg_graph_fail(g, WG_EINVAL, NULL, "wg_scope_pop", "no scope is open");
    else
        wg_graph_fail(g, WG_EINVAL, NULL, "wg_scope_pop",
                      "no scope is open: one call more than of wg_scope_push, after %s",
                      wgi_line_of(g->nodes[g->n_nodes - 1]->at));
}

/* The current scope, to be marked: the graph owns it; only users see it const. */
static wg_scope *marked(wg_graph *g)
{
    return (wg_scope *)g->origin.scope;
}

/* The same where the mark must not be the whole graph's; NULL, and an error, at the top. */
static wg_scope *marked_inside(wg_graph *g, const char *who)
{
    if (!g->origin.scope->parent)
        wg_graph_fail(g, WG_EINVAL, NULL, who, "no scope is open");
    return g->origin.scope->parent ? marked(g) : NULL;
}

void wg_scope_recompute(wg_graph *g)
{
    wg_scope *s = g ? marked_inside(g, "wg_scope_recompute") : NULL;
    if (s)
        s->recompute = true;
}

void wg_scope_average(wg_graph *g)
{
    wg_scope *s = g ? marked_inside(g, "wg_scope_average") : NULL;
    if (s)
        s->average = true;
}

void wg_scope_reuse(wg_graph *g)
{
    if (g)
        marked(g)->reuse = true;
}

void wg_scope_parameter_dtype(wg_graph *g, wg_dtype dtype)
{
    if (g && dtype != WG_DTYPE_DEFAULT && !wg_dtype_is_float(dtype))
        wg_graph_fail(g, WG_EDTYPE, NULL, "wg_scope_parameter_dtype",
                      "the dtype of parameters is %s, must be f32, f64, bf16 or f16",
                      wg_dtype_name(dtype));
    else if (g)
        marked(g)->parameter_dtype = dtype;
}

const char *wg_scope_path(const wg_graph *g)
{
    return g ? g->origin.scope->path : "";
}

wg_origin wg_graph_origin(const wg_graph *g)
{
    return g ? g->origin : (wg_origin){0};
}

void wg_graph_set_origin(wg_graph *g, wg_origin origin)
{
    if (g && origin.scope)
        g->origin = origin;
}

uint64_t wg_graph_new_key(wg_graph *g)
{
    return g ? ++g->next_key : 0;
}

/* ---- names of values ------------------------------------------------------------------------- */

/* A value has one name: the one it had is free again. */
static bool drop_name(wg_graph *g, const wg_value *v)
{
    return !v->name || wgi_names_get(&g->names, v->name) != v ||
           wgi_names_put(&g->names, v->name, NULL);
}

bool wgi_graph_set_name(wg_graph *g, wg_value *v, const char *full)
{
    wg_value *other = wgi_names_get(&g->names, full);
    if (other && other != v) {
        wg_graph_fail(g, WG_EINVAL, v->node->at, v->node->op->name,
                      "the name '%s' is taken by a value built at %s", full,
                      wgi_line_of(other->node->at));
        return false;
    }
    char *own = wgi_arena_text(&g->arena, full);
    if (!own || !drop_name(g, v) || !wgi_names_put(&g->names, own, v))
        return wgi_graph_no_memory(g) != NULL;
    v->name = own;
    return true;
}

bool wgi_graph_set_label(wg_graph *g, wg_value *v, const char *full)
{
    char *own = wgi_arena_text(&g->arena, full);
    if (!own || !drop_name(g, v))
        return wgi_graph_no_memory(g) != NULL;
    v->name = own;
    return true;
}

/* The name of a parameter, state or input is its identity and stays: a cast or reshape that changes
 * nothing returns its operand, which may then be named as if it were computed.  A name given to
 * another value is a label: where it is taken, the value stays unnamed in the table but carries the
 * label. */
wg_value *wg_name(wg_value *v, const char *format, ...)
{
    if (!v)
        return NULL;
    wg_graph *g = v->node->graph;
    char name[WGI_NAME_BYTES + 1], full[FULL_NAME];
    if (!format)
        return wg_graph_fail(g, WG_EINVAL, v->node->at, "wg_name", "the name is NULL");
    va_list args;
    va_start(args, format);
    int length = vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (length <= 0 || (size_t)length >= sizeof name)
        return refuse_name(g, v->node->at, "wg_name", format, length);
    if (v->name && v->node->op->flags & (WG_OP_PARAMETER | WG_OP_STATE | WG_OP_INPUT))
        return v;
    const char *path = v->node->scope->path;
    snprintf(full, sizeof full, "%s%s%s", path, *path ? "/" : "", name);
    const wg_value *other = wgi_names_get(&g->names, full);
    if (other && other != v)
        wgi_graph_set_label(g, v, full);
    else
        wgi_graph_set_name(g, v, full);
    return v;
}

wg_value *wg_name_leaf(wg_value *v, const char *name)
{
    if (!v)
        return NULL;
    wg_graph *g = v->node->graph;
    const char *path = v->node->scope->path;
    char full[FULL_NAME];
    if (!name || !*name || strlen(name) > WGI_LEAF_NAME_BYTES)
        return wg_graph_fail(g, WG_EINVAL, v->node->at, v->node->op->name,
                             "the name must have 1 to %d bytes", WGI_LEAF_NAME_BYTES);
    snprintf(full, sizeof full, "%s%s%s", path, *path ? "/" : "", name);
    return wgi_graph_set_name(g, v, full) ? v : NULL;
}

wg_value *wg_graph_find(const wg_graph *g, const char *name)
{
    return g && name ? wgi_names_get(&g->names, name) : NULL;
}
