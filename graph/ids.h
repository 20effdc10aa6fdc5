/* Operands of ids: checked in one sweep before a kernel's own loops, so that these, which run in
 * parallel, need no way to fail. */
#ifndef WG_PRIVATE_GRAPH_IDS_H
#define WG_PRIVATE_GRAPH_IDS_H

#include "graph/element.h"
#include "wengert/graph/op.h"

/* Whether any of them is outside [0, size), but not which: a loop that is vectorised.  Of such an
 * id, it or what it lacks to the last is negative. */
static inline bool wgi_any_outside(const void *ids, wg_dtype dtype, int64_t count, int64_t size)
{
    int64_t signs = 0, last = size - 1;
    if (dtype == WG_I32)
        for (int64_t i = 0; i < count; i++)
            signs |= (int64_t)((const int32_t *)ids)[i] | (last - ((const int32_t *)ids)[i]);
    else
        for (int64_t i = 0; i < count; i++) /* unsigned: the difference may overflow */
            signs |= ((const int64_t *)ids)[i] |
                     (int64_t)((uint64_t)last - (uint64_t)((const int64_t *)ids)[i]);
    return signs < 0;
}

/* Whether all ids of operand k are within [0, size); else the call has failed with the first that
 * is not, and its position in row-major order. */
static inline bool wgi_ids_valid(wg_call *c, int k, int64_t size)
{
    const wg_value *ids = c->node->in[k];
    int64_t count = wg_shape_count(&ids->shape), i = 0, id;
    if (!wgi_any_outside(c->in[k], ids->dtype, count, size))
        return true;
    do
        id = wgi_get_int(c->in[k], ids->dtype, i++);
    while (id >= 0 && id < size);
    wg_call_fail_at(c, k, i - 1, "id %lld at position %lld is outside [0,%lld)", (long long)id,
                    (long long)(i - 1), (long long)size);
    return false;
}

#endif
