/* The memory of a plan whose layout is final: tensors of the store, inputs, and the buffer. */
#include "backends/memory.h"
#include "backends/plan/planner.h"
#include "backends/plan/workspace.h"
#include "backends/store.h"

#include <string.h>

/* A parameter or state lies in the store, where it is created if it is new. */
static bool find_tensor(wgi_planner *p, const wg_value *v, wgi_storage *s)
{
    const wg_tensor *t;
    char name[40];
    if (!v->name) /* a file may leave it out */
        return wgi_planner_fail(p, WG_EINVAL, "%s %s has no name, by which the store would know it",
                                v->node->op->name, wg_value_text(v, name, sizeof name));
    wg_status status = wgi_store_leaf(p->store, v, p->options.threads, &t);
    const wg_tensor *old = t ? t : wg_store_find(p->store, v->name);
    char have[160], want[160];
    if (!t && status != WG_ENOMEM && old)
        return wgi_planner_fail(
            p, status, "%s is %s%s in the graph, %s%s in the store%s", v->name,
            wg_dtype_name(v->dtype), wg_shape_text(&v->shape, want, sizeof want),
            wg_dtype_name(old->dtype), wg_shape_text(&old->shape, have, sizeof have),
            v->node->op == &wg_op_state ? " (a store made by wg_store_new_over can have its own)"
                                        : "");
    if (status == WG_EDATA)
        return wgi_planner_fail(p, status, "%s %s is not in %s, which filled the store",
                                v->node->op->name, v->name, wgi_store_source(p->store));
    if (!t)
        return wgi_planner_fail(p, status, "%s: %s", v->name, wg_status_text(status));
    s->memory = t->data;
    return true;
}

/* Takes memory for all tensors that the plan will add to the store. */
static bool reserve_tensors(wgi_planner *p)
{
    size_t room = 0, most = 0;
    const char *largest = "";
    for (size_t i = 0; i < wg_graph_value_count(p->g); i++) {
        const wg_value *v = wg_graph_value(p->g, i);
        if (!wgi_is_stored(v->node) || !v->name || wg_store_find(p->store, v->name))
            continue;
        size_t bytes = wgi_store_room(v->dtype, &v->shape);
        largest = bytes > most ? v->name : largest;
        most = bytes > most ? bytes : most;
        room = bytes < SIZE_MAX - room ? room + bytes : SIZE_MAX;
    }
    return wgi_store_reserve(p->store, room) ||
           wgi_planner_fail(p, WG_ENOMEM,
                            "%s: out of memory: parameters and states need %zu bytes, and this one "
                            "of them %zu",
                            largest, room, most);
}

static bool find_tensors(wgi_planner *p)
{
    bool ok = reserve_tensors(p);
    for (size_t i = 0; ok && i < wg_graph_value_count(p->g); i++) {
        const wg_value *v = wg_graph_value(p->g, i);
        if (wgi_is_stored(v->node))
            ok = find_tensor(p, v, &p->layout.storage[p->layout.storage_of[i]]);
    }
    return ok;
}

static bool allocate_inputs(wgi_planner *p)
{
    wgi_layout *l = &p->layout;
    size_t bytes = l->input_bytes;
    p->memory.inputs = wgi_aligned_alloc(bytes);
    if (!p->memory.inputs)
        return wgi_planner_fail(p, WG_ENOMEM, "no memory for inputs of %zu bytes", bytes);
    memset(p->memory.inputs, p->options.poison ? 0xff : 0, bytes);
    for (size_t i = 0; i < l->n_storages; i++)
        if (l->storage[i].kind == WGI_STORAGE_INPUT)
            l->storage[i].memory = p->memory.inputs + l->storage[i].offset;
    return true;
}

static bool allocate_buffer(wgi_planner *p)
{
    const wgi_layout *l = &p->layout;
    p->memory.outputs = wgi_aligned_alloc(l->buffer_bytes - l->shared_bytes);
    return (p->memory.outputs && wgi_workspace_reserve(p->workspace, l->shared_bytes)) ||
           wgi_planner_fail(p, WG_ENOMEM, "no memory for a buffer of %zu bytes", l->buffer_bytes);
}

bool wgi_pass_allocate(wgi_planner *p)
{
    return find_tensors(p) && allocate_inputs(p) && allocate_buffer(p);
}
