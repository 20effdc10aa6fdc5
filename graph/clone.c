/* Copies of nodes and graphs, with one float dtype turned into another if asked: what plans,
 * recomputation and the gradient check (which needs f64) are made of. */
#include "graph/clone.h"
#include "graph/internal.h"
#include "graph/element.h"

#include <stdlib.h>
#include <string.h>

/* Constant numbers of one float dtype in another; false without memory. */
static bool convert(wg_graph *to, wg_data *data, wg_dtype from, wg_dtype as)
{
    size_t count = data->size / wg_dtype_size(from), size = count * wg_dtype_size(as);
    void *out = wg_graph_alloc(to, size), *aligned = malloc(data->size + 1);
    if (aligned && data->size)
        memcpy(aligned, data->bytes, data->size);
    for (size_t i = 0; out && aligned && i < count; i++)
        wgi_put_element(out, as, (int64_t)i, wgi_get_element(aligned, from, (int64_t)i));
    free(aligned);
    if (!aligned || (!out && size))
        return false;
    *data = (wg_data){out, size};
    return true;
}

/* Attributes with `from` (WG_DTYPE_DEFAULT: every float) replaced; a shallow copy (wg_apply makes
 * the deep one). */
static bool retyped(wg_graph *to, const wg_node *n, wg_dtype from, wg_dtype as, char *attrs)
{
    memcpy(attrs, n->attrs, n->op->attrs_size);
    wg_dtype found = WG_DTYPE_DEFAULT;
    for (int i = 0; i < n->op->n_attrs; i++) {
        const wg_attr *f = &n->op->attrs[i];
        if (f->kind != WG_ATTR_DTYPE)
            continue;
        wg_dtype *d = (wg_dtype *)(void *)(attrs + f->offset);
        if (from ? *d == from : wg_dtype_is_float(*d)) {
            found = *d;
            *d = as;
        }
    }
    bool converts = found && found != as && wg_dtype_is_float(as);
    for (int i = 0; converts && i < n->op->n_attrs; i++) {
        const wg_attr *f = &n->op->attrs[i];
        if (f->kind == WG_ATTR_DATA &&
            !convert(to, (wg_data *)(void *)(attrs + f->offset), found, as))
            return false;
    }
    return true;
}

/* With its marks. */
const wg_scope *wg_scope_intern(wg_graph *to, const wg_scope *from)
{
    const wg_scope *s = wgi_scope_intern(to, from->path);
    const wg_scope *up = s;
    for (; up && from; up = up->parent, from = from->parent) {
        wg_scope *own = (wg_scope *)up;
        own->recompute |= from->recompute;
        own->reuse |= from->reuse;
        own->average |= from->average;
        if (from->parameter_dtype)
            own->parameter_dtype = from->parameter_dtype;
    }
    return s;
}

wg_node *wg_node_copy(wg_graph *to, const wg_node *n, wg_value *const *in, wg_dtype floats_as)
{
    return wg_node_retype(to, n, in, WG_DTYPE_DEFAULT, floats_as);
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
    const wg_scope *scope = to == n->graph ? n->scope : wg_scope_intern(to, n->scope);
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
    const wg_value *other = wgi_names_get(&g->names, from->name);
    return other && other != v ? wgi_graph_set_label(g, v, from->name)
                               : wgi_graph_set_name(g, v, from->name);
}

/* ---- outputs and assignments ----------------------------------------------------------------- */

wgi_marks wgi_graph_marks(const wg_graph *g)
{
    return (wgi_marks){g->outputs, g->assigns, g->n_outputs, g->n_assigns};
}

void wgi_graph_needed(const wg_graph *g, wgi_marks marks, bool *needed)
{
    for (size_t i = 0; i < marks.n_outputs; i++)
        needed[marks.outputs[i].value->node->id] = true;
    for (size_t i = 0; i < marks.n_assigns; i++) {
        needed[marks.assigns[i].leaf->node->id] = true;
        needed[marks.assigns[i].value->node->id] = true;
    }
    for (size_t i = g->n_nodes; i-- > 0;)
        for (int k = 0; needed[i] && k < g->nodes[i]->n_in; k++)
            needed[g->nodes[i]->in[k]->node->id] = true;
}

bool wgi_graph_copy_marks(wg_graph *to, wgi_marks marks, wg_value *const *map)
{
    for (size_t i = 0; i < marks.n_outputs && to->status == WG_OK; i++)
        if (map[marks.outputs[i].value->id])
            wgi_graph_add_output(map[marks.outputs[i].value->id], marks.outputs[i].name);
    for (size_t i = 0; i < marks.n_assigns && to->status == WG_OK; i++)
        (wg_assign)(marks.assigns[i].at, map[marks.assigns[i].leaf->id],
                    map[marks.assigns[i].value->id]);
    return to->status == WG_OK;
}

/* ---- nodes through a map --------------------------------------------------------------------- */

wg_value **wgi_operands_new(wgi_operands *o, int n)
{
    *o = (wgi_operands){.in = NULL};
    o->in = n > WG_COUNT(o->small) ? calloc((size_t)n, sizeof(wg_value *)) : o->small;
    return o->in;
}

void wgi_operands_free(wgi_operands *o)
{
    if (o->in != o->small)
        free(o->in);
}

wg_node *wgi_node_copy_mapped(wg_graph *to, const wg_node *n, wg_value **map, wg_dtype floats_as)
{
    wgi_operands operands;
    wg_value **in = wgi_operands_new(&operands, n->n_in);
    if (!in)
        return wgi_graph_no_memory(to);
    for (int k = 0; k < n->n_in; k++)
        in[k] = map[n->in[k]->id];
    wg_node *copy = wg_node_copy(to, n, in, floats_as);
    wgi_operands_free(&operands);
    for (int k = 0; copy && k < n->n_out; k++) {
        wg_value **y = &map[n->out[k]->id];
        if (*y)
            continue;
        *y = copy->out[k];
        if (to != n->graph && !wg_name_copy(*y, n->out[k]))
            return NULL;
    }
    return copy;
}

/* ---- a whole graph --------------------------------------------------------------------------- */

/* Whether the caller has something of its own for n, which is then in the map. */
static bool replaced(wg_graph *to, const wg_node *n, const wg_clone_options *o, wg_value **map)
{
    wgi_operands operands;
    const wg_origin before = to->origin;
    const wg_scope *scope = wg_scope_intern(to, n->scope);
    wg_value **in = wgi_operands_new(&operands, n->n_in);
    if (!scope || !in) {
        wgi_operands_free(&operands);
        return wgi_graph_no_memory(to);
    }
    for (int k = 0; k < n->n_in; k++)
        in[k] = map[n->in[k]->id];
    to->origin = (wg_origin){scope, n->at, n->phase};
    bool done = o->replace(o->context, to, n, in, map + n->out[0]->id);
    to->origin = before;
    wgi_operands_free(&operands);
    for (int k = 0; done && k < n->n_out; k++)
        if (map[n->out[k]->id])
            wg_name_copy(map[n->out[k]->id], n->out[k]);
    return done;
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
    wgi_graph_needed(g, wgi_graph_marks(g), needed);
    for (size_t i = 0; i < g->n_nodes && to->status == WG_OK; i++)
        if ((needed[i] || o.keep_all) && !(o.replace && replaced(to, g->nodes[i], &o, map)))
            wgi_node_copy_mapped(to, g->nodes[i], map, o.floats_as);
    to->next_key = g->next_key;
    wgi_graph_copy_marks(to, wgi_graph_marks(g), map);
done:
    free(needed);
    free(own);
    return to;
}
