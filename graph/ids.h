/* Operands of ids: checked in one sweep before a kernel's own loops, so that these, which run in
 * parallel, need no way to fail. */
#ifndef WG_PRIVATE_GRAPH_IDS_H
#define WG_PRIVATE_GRAPH_IDS_H

#include "graph/element.h"
#include "wengert/graph/op.h"

/* Whether all ids of operand k are within [0, size); else the call has failed with the first that
 * is not. */
static inline bool wgi_ids_valid(wg_call *c, int k, int64_t size)
{
    const wg_value *ids = c->node->in[k];
    int64_t count = wg_shape_count(&ids->shape);
    for (int64_t i = 0; i < count; i++) {
        int64_t id = wgi_get_int(c->in[k], ids->dtype, i);
        if (id < 0 || id >= size) {
            wg_call_fail(c, "id %lld is outside [0,%lld)", (long long)id, (long long)size);
            return false;
        }
    }
    return true;
}

#endif
