/* The handle: memory, the sticky error, scopes, names, outputs and assignments. */
#include "graph/call.h"
#include "graph/error.h"
#include "graph/grow.h"
#include "graph/internal.h"
#include "graph/names.h"
#include "graph/passing.h"

#include <stdlib.h>
#include <string.h>

enum { FULL_NAME = WGI_FULL_NAME_BYTES + 1 };

wg_graph *wg_graph_new(void)
{
    wg_graph *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->origin.scope = wgi_scope_intern(g, "");
    if (!g->origin.scope) {
        wg_graph_free(g);
        return NULL;
    }
    return g;
}

void wg_graph_free(wg_graph *g)
{
    if (!g)
        return;
    free(g->nodes);
    free(g->values);
    free(g->outputs);
    free(g->assigns);
    free(g->scopes.slot);
    free(g->names.slot);
    free(g->lines.slot);
    free(g->output_names.slot);
    free(g->assignment);
    free(g->message);
    wgi_arena_free(&g->arena);
    free(g);
}

/* ---- errors ---------------------------------------------------------------------------------- */

wg_status wg_graph_status(const wg_graph *g)
{
    return g ? g->status : WG_ENOMEM;
}

const char *wg_graph_message(const wg_graph *g)
{
    if (!g)
        return "the graph is NULL: out of memory";
    if (g->status == WG_OK)
        return "";
    return g->message ? g->message : wg_status_text(g->status);
}

void wgi_graph_stick(wg_graph *g, wg_status status, const char *format, ...)
{
    if (g->status != WG_OK)
        return;
    g->status = status;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && (g->message = malloc((size_t)length + 1))) {
        vsnprintf(g->message, (size_t)length + 1, format, again);
        wgi_text_disarm(g->message, false);
    }
    va_end(again);
    va_end(args);
}

void *wgi_graph_no_memory(wg_graph *g)
{
    wgi_graph_stick(g, WG_ENOMEM, "out of memory after %zu nodes", g->n_nodes);
    return NULL;
}

wg_value *wg_graph_fail(wg_graph *g, wg_status status, const char *at, const char *builder,
                        const char *format, ...)
{
    if (!g || g->status != WG_OK)
        return NULL;
    char few[512], *what = few, *more = NULL;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(few, sizeof few, format, args);
    if (length >= (int)sizeof few && (more = malloc((size_t)length + 1))) {
        vsnprintf(more, (size_t)length + 1, format, again);
        what = more;
    }
    va_end(again);
    va_end(args);
    const char *path = g->origin.scope->path;
    bool is_function = strncmp(builder, "wg_", 3) == 0; /* else an op, which stays named */
    at = g->origin.at ? g->origin.at : at;
    wgi_graph_stick(g, status, "%s%s%s: %s%s%s%s", path, *path ? ": " : "",
                    g->caller && is_function ? g->caller : builder, what, at ? " (" : "",
                    at ? wgi_short_at(at) : "", at ? ")" : "");
    free(more);
    return NULL;
}

void wgi_graph_let_pass(wg_graph *g)
{
    if (g && g->status != WG_OK)
        g->passing = true;
}

wg_status wgi_graph_lasting_status(const wg_graph *g)
{
    return g && g->passing ? WG_OK : wg_graph_status(g);
}

void wgi_graph_retry(wg_graph *g)
{
    if (!g || !g->passing)
        return;
    free(g->message);
    g->message = NULL;
    g->status = WG_OK;
    g->passing = false;
}

const char *wgi_graph_enter(wg_graph *g, const char *who)
{
    const char *before = g->caller;
    if (!before)
        g->caller = who;
    return before;
}

void wgi_graph_leave(wg_graph *g, const char *entered)
{
    g->caller = entered;
}

/* ---- memory ---------------------------------------------------------------------------------- */

bool wgi_graph_reserve(wg_graph *g, void *array, size_t *capacity, size_t used, size_t item_size)
{
    return wgi_reserve(array, capacity, used + 1, item_size) || wgi_graph_no_memory(g);
}

void *wg_graph_alloc(wg_graph *g, size_t size)
{
    if (!g)
        return NULL;
    void *p = wgi_arena_alloc(&g->arena, size);
    return p ? p : wgi_graph_no_memory(g);
}

const char *wgi_graph_own_line(wg_graph *g, const char *at)
{
    char *own = at ? wgi_names_get(&g->lines, at) : NULL;
    if (!at || own)
        return own;
    own = wgi_arena_text(&g->arena, at);
    return own && wgi_names_put(&g->lines, own, own) ? own : wgi_graph_no_memory(g);
}

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

/* ---- names, outputs, assignments ------------------------------------------------------------- */

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

wg_graph *wg_graph_of(const wg_value *v)
{
    return v ? v->node->graph : NULL;
}

wg_value *wg_result_of(wg_value *v, int i)
{
    if (!v)
        return NULL;
    wg_node *n = v->node;
    if (i < 0 || i >= n->n_out)
        return wg_graph_fail(n->graph, WG_EINVAL, n->at, "wg_result_of",
                             "result %d of %s was asked for, it has %d", i, n->op->name, n->n_out);
    return n->out[i];
}

wg_value *wgi_graph_add_output(wg_value *v, const char *name)
{
    wg_graph *g = v->node->graph;
    if (g->status != WG_OK)
        return NULL;
    if (!wgi_graph_reserve(g, &g->outputs, &g->cap_outputs, g->n_outputs, sizeof *g->outputs))
        return NULL;
    char *own = wgi_arena_text(&g->arena, name ? name : "");
    if (!own)
        return wgi_graph_no_memory(g);
    if (*own && !wgi_names_get(&g->output_names, own) && !wgi_names_put(&g->output_names, own, v))
        return wgi_graph_no_memory(g);
    g->outputs[g->n_outputs++] = (wgi_named_value){own, v};
    return v;
}

wg_value *wg_output(wg_value *v, const char *name)
{
    if (!v)
        return NULL;
    wg_graph *g = v->node->graph;
    const wg_value *other = name && *name ? wgi_names_get(&g->output_names, name) : NULL;
    if (other && other != v)
        return wg_graph_fail(g, WG_EINVAL, NULL, "wg_output",
                             "the name '%s' is taken by the output of %s built at %s: that of %s "
                             "built at %s needs another",
                             name, other->node->op->name, wgi_line_of(other->node->at),
                             v->node->op->name, wgi_line_of(v->node->at));
    return wgi_graph_add_output(v, name);
}

const wgi_assignment *wgi_graph_assignment(const wg_graph *g, const wg_value *leaf)
{
    size_t number = g && leaf && leaf->id < g->cap_assignment ? g->assignment[leaf->id] : 0;
    return number ? &g->assigns[number - 1] : NULL;
}

static void add_assignment(wg_graph *g, const char *at, wg_value *leaf, wg_value *v)
{
    size_t before = g->cap_assignment;
    if (!wgi_graph_reserve(g, &g->assigns, &g->cap_assigns, g->n_assigns, sizeof *g->assigns) ||
        !wgi_graph_reserve(g, &g->assignment, &g->cap_assignment, leaf->id, sizeof *g->assignment))
        return;
    if (g->cap_assignment > before)
        memset(g->assignment + before, 0, (g->cap_assignment - before) * sizeof *g->assignment);
    g->assigns[g->n_assigns++] = (wgi_assignment){leaf, v, at};
    g->assignment[leaf->id] = g->n_assigns;
}

/* What is assigned must be a parameter or a state, and each once. */
static bool check_assigned(wg_graph *g, const char *at, const wg_value *leaf)
{
    char name[200];
    const wgi_assignment *before = wgi_graph_assignment(g, leaf);
    wg_value_text(leaf, name, sizeof name);
    if (!(leaf->node->op->flags & (WG_OP_PARAMETER | WG_OP_STATE)))
        wg_graph_fail(g, WG_EINVAL, at, "wg_assign",
                      "%s is an %s: only a parameter or a state can be assigned", name,
                      leaf->node->op->name);
    else if (before)
        wg_graph_fail(g, WG_EINVAL, at, "wg_assign", "%s is assigned already at %s", name,
                      wgi_line_of(before->at));
    return g->status == WG_OK;
}

void(wg_assign)(const char *at, wg_value *leaf, wg_value *v)
{
    wg_graph *g = wg_graph_of(leaf ? leaf : v);
    if (!g || g->status != WG_OK)
        return;
    char a[96], b[96];
    if (!leaf || !v)
        wg_graph_fail(g, WG_EINVAL, at, "wg_assign", "the %s is NULL", leaf ? "value" : "leaf");
    else if (v->node->graph != g)
        for (int i = 0; i < 2; i++) /* the error of both */
            wg_graph_fail(wg_graph_of(i ? v : leaf), WG_EINVAL, at, "wg_assign",
                          "leaf and value are of two graphs");
    else if (!(leaf->node->op->flags & WG_OP_LEAF))
        wg_graph_fail(g, WG_EINVAL, at, "wg_assign", "%s is not a leaf but a result of %s",
                      wg_value_text(leaf, a, sizeof a), leaf->node->op->name);
    else if (leaf->dtype != v->dtype || !wg_shape_equal(&leaf->shape, &v->shape))
        wg_graph_fail(g, WG_ESHAPE, at, "wg_assign", "%s%s cannot take %s%s",
                      wg_dtype_name(leaf->dtype), wg_shape_text(&leaf->shape, a, sizeof a),
                      wg_dtype_name(v->dtype), wg_shape_text(&v->shape, b, sizeof b));
    else if (check_assigned(g, at, leaf))
        add_assignment(g, at, leaf, v);
}

/* ---- reading --------------------------------------------------------------------------------- */

size_t wg_graph_node_count(const wg_graph *g)
{
    return g ? g->n_nodes : 0;
}

wg_node *wg_graph_node(const wg_graph *g, size_t i)
{
    return g && i < g->n_nodes ? g->nodes[i] : NULL;
}

size_t wg_graph_value_count(const wg_graph *g)
{
    return g ? g->n_values : 0;
}

wg_value *wg_graph_value(const wg_graph *g, size_t i)
{
    return g && i < g->n_values ? g->values[i] : NULL;
}

size_t wg_graph_output_count(const wg_graph *g)
{
    return g ? g->n_outputs : 0;
}

wg_value *wg_graph_output(const wg_graph *g, size_t i)
{
    return g && i < g->n_outputs ? g->outputs[i].value : NULL;
}

const char *wg_graph_output_name(const wg_graph *g, size_t i)
{
    return g && i < g->n_outputs ? g->outputs[i].name : NULL;
}

wg_value *wg_graph_find_output(const wg_graph *g, const char *name)
{
    return g && name && *name ? wgi_names_get(&g->output_names, name) : NULL;
}

size_t wg_graph_assign_count(const wg_graph *g)
{
    return g ? g->n_assigns : 0;
}

void wg_graph_assign_at(const wg_graph *g, size_t i, wg_value **leaf, wg_value **v)
{
    bool there = g && i < g->n_assigns;
    *leaf = there ? g->assigns[i].leaf : NULL;
    *v = there ? g->assigns[i].value : NULL;
}

size_t wg_graph_parameters(const wg_graph *g, wg_value **out, size_t max)
{
    size_t found = 0;
    for (size_t i = 0; g && i < g->n_nodes; i++) {
        wg_node *n = g->nodes[i];
        if (!(n->op->flags & WG_OP_PARAMETER))
            continue;
        if (found < max && out)
            out[found] = n->out[0];
        found++;
    }
    return found;
}
