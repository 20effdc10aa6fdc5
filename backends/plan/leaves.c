/* Storages of parameters, states and inputs: what they are and how large, without memory yet. */
#include "backends/memory.h"
#include "backends/plan/planner.h"

bool wgi_pass_leaves(wgi_planner *p)
{
    wgi_layout *l = &p->layout;
    for (size_t i = 0; i < wg_graph_value_count(p->g); i++) {
        const wg_value *v = wg_graph_value(p->g, i);
        if (!wgi_is_outer(v->node))
            continue;
        if (!wgi_add_bytes(&l->leaf_bytes, wg_value_bytes(v)))
            return wgi_planner_fail(
                p, WG_ENOMEM,
                "memory of parameters, states and inputs: expected at most %zu bytes, got more",
                WGI_MOST_BYTES);
        wgi_storage s = {.kind = WGI_STORAGE_TENSOR, .bytes = wgi_round_up(wg_value_bytes(v))};
        if (!wgi_is_stored(v->node)) {
            s.kind = WGI_STORAGE_INPUT;
            s.offset = l->input_bytes;
            l->input_bytes += s.bytes;
        }
        l->storage_of[i] = (int64_t)l->n_storages;
        l->storage[l->n_storages++] = s;
    }
    return true;
}
