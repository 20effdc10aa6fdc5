/* Copies of nodes and graphs, with one float dtype turned into another if asked: what plans,
 * recomputation and the gradient check (which needs f64) are made of. */
#include "wengert/graph/bf16.h"
#include "graph/internal.h"

#include <stdlib.h>
#include <string.h>

static double float_at(const void *data, wg_dtype dtype, size_t i)
{
    const char *at = (const char *)data + i * wg_dtype_size(dtype);
    union { /* data need not be aligned */
        uint16_t bf16;
        float f32;
        double f64;
    } x;
    memcpy(&x, at, wg_dtype_size(dtype));
    return dtype == WG_BF16  ? (double)wg_bf16_to_f32(x.bf16)
           : dtype == WG_F32 ? (double)x.f32
                             : x.f64;
}

/* Constant numbers of one float dtype in another; false without memory. */
static bool convert(wg_graph *to, wg_data *data, wg_dtype from, wg_dtype as)
{
    size_t count = data->size / wg_dtype_size(from), size = count * wg_dtype_size(as);
    void *out = wg_graph_alloc(to, size);
    if (!out && size)
        return false;
    for (size_t i = 0; i < count; i++) {
        double x = float_at(data->bytes, from, i);
        if (as == WG_BF16)
            ((uint16_t *)out)[i] = wg_bf16_from_f64(x);
        else if (as == WG_F32)
            ((float *)out)[i] = (float)x;
        else
            ((double *)out)[i] = x;
    }
    *data = (wg_data){out, size};
    return true;
}

/* Attributes with `from` replaced; a shallow copy (wg_apply makes the deep one). */
static bool retyped(wg_graph *to, const wg_node *n, wg_dtype from, wg_dtype as, char *attrs)
{
    memcpy(attrs, n->attrs, n->op->attrs_size);
    bool found = false;
    for (int i = 0; i < n->op->n_attrs; i++) {
        const wg_attr *f = &n->op->attrs[i];
        if (f->kind != WG_ATTR_DTYPE)
            continue;
        wg_dtype *d = (wg_dtype *)(void *)(attrs + f->offset);
        if (*d == from) {
            *d = as;
            found = true;
        }
    }
    bool converts = found && wg_dtype_is_float(as);
    for (int i = 0; converts && i < n->op->n_attrs; i++) {
        const wg_attr *f = &n->op->attrs[i];
        if (f->kind == WG_ATTR_DATA &&
            !convert(to, (wg_data *)(void *)(attrs + f->offset), from, as))
            return false;
    }
    return true;
}

/* With its marks. */
const wg_scope *wg_scope_of(wg_graph *to, const wg_scope *from)
{
    const wg_scope *s = wgi_scope_intern(to, from->path);
    const wg_scope *up = s;
    for (; up && from; up = up->parent, from = from->parent)
        if (from->recompute)
            ((wg_scope *)up)->recompute = true;
    return s;
}

wg_node *wg_node_copy(wg_graph *to, const wg_node *n, wg_value *const *in, wg_dtype f32_as)
{
    return wg_node_retype(to, n, in, WG_F32, f32_as);
}

wg_node *wg_node_retype(wg_graph *to, const wg_node *n, wg_value *const *in, wg_dtype from,
                        wg_dtype as)
{
    if (!to || to->status != WG_OK)
        return NULL;
    const void *attrs = n->attrs;
    char *changed = NULL;
    if (attrs && as != WG_DTYPE_DEFAULT && as != from) {
        changed = malloc(n->op->attrs_size);
        if (!changed || !retyped(to, n, from, as, changed)) {
            free(changed);
            return wgi_graph_no_memory(to);
        }
        attrs = changed;
    }
    wg_origin before = to->origin;
    const wg_scope *scope = to == n->graph ? n->scope : wg_scope_of(to, n->scope);
    wg_node *copy = NULL;
    if (scope) {
        to->origin = (wg_origin){scope, NULL, n->phase};
        copy = wg_apply(n->at, to, n->op, attrs, in, n->n_in);
        to->origin = before;
    }
    free(changed);
    return copy;
}

bool wg_name_copy(wg_value *v, const wg_value *from)
{
    wg_graph *g = v->node->graph;
    if (!from->name)
        return true;
    if (!wgi_names_get(&g->names, from->name))
        return wgi_graph_set_name(g, v, from->name);
    v->name = wgi_arena_text(&g->arena, from->name);
    return v->name || wgi_graph_no_memory(g);
}

/* needed[i]: node i is an ancestor of an output or an assignment. */
static void mark_needed(const wg_graph *g, bool *needed)
{
    for (size_t i = 0; i < g->n_outputs; i++)
        needed[g->outputs[i].value->node->id] = true;
    for (size_t i = 0; i < g->n_assigns; i++) {
        needed[g->assigns[i].leaf->node->id] = true;
        needed[g->assigns[i].value->node->id] = true;
    }
    for (size_t i = g->n_nodes; i-- > 0;)
        for (int k = 0; needed[i] && k < g->nodes[i]->n_in; k++)
            needed[g->nodes[i]->in[k]->node->id] = true;
}

/* What the caller has instead of n, at its results' places in the map; false: nothing. */
static bool replaced(wg_graph *to, const wg_node *n, wg_value *const *in, const wg_clone_options *o,
                     wg_value **map)
{
    const wg_origin before = to->origin;
    const wg_scope *scope = o->replace ? wg_scope_of(to, n->scope) : NULL;
    if (!scope)
        return false;
    to->origin = (wg_origin){scope, n->at, n->phase};
    bool done = o->replace(o->context, to, n, in, map + n->out[0]->id);
    to->origin = before;
    return done;
}

static void clone_node(wg_graph *to, const wg_node *n, const wg_clone_options *o, wg_value **map)
{
    wg_value *few[16], **in = few;
    if (n->n_in > 16 && !(in = malloc(sizeof *in * (size_t)n->n_in))) {
        wgi_graph_no_memory(to);
        return;
    }
    for (int k = 0; k < n->n_in; k++)
        in[k] = map[n->in[k]->id];
    wg_node *copy = replaced(to, n, in, o, map) ? NULL : wg_node_copy(to, n, in, o->f32_as);
    if (in != few)
        free(in);
    for (int k = 0; k < n->n_out; k++) {
        if (copy)
            map[n->out[k]->id] = copy->out[k];
        if (map[n->out[k]->id])
            wg_name_copy(map[n->out[k]->id], n->out[k]);
    }
}

wg_graph *wg_graph_clone(const wg_graph *g, const wg_clone_options *options, wg_value **map)
{
    wg_clone_options o = options ? *options : (wg_clone_options){0};
    if (wg_graph_status(g) != WG_OK)
        return NULL;
    bool *needed = calloc(g->n_nodes + 1, sizeof *needed);
    wg_value **own = map ? NULL : calloc(g->n_values + 1, sizeof *own);
    wg_graph *to = wg_graph_new();
    if (!needed || !to || (!map && !own)) {
        wg_graph_free(to);
        to = NULL;
        goto done;
    }
    if (!map)
        map = own;
    for (size_t i = 0; i < g->n_values; i++)
        map[i] = NULL;
    mark_needed(g, needed);
    for (size_t i = 0; i < g->n_nodes && to->status == WG_OK; i++)
        if (needed[i] || o.keep_all)
            clone_node(to, g->nodes[i], &o, map);
    to->next_key = g->next_key;
    for (size_t i = 0; i < g->n_outputs && to->status == WG_OK; i++)
        wg_output(map[g->outputs[i].value->id], g->outputs[i].name);
    for (size_t i = 0; i < g->n_assigns && to->status == WG_OK; i++)
        wg_assign(map[g->assigns[i].leaf->id], map[g->assigns[i].value->id]);
done:
    free(needed);
    free(own);
    return to;
}
