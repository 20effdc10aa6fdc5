/* Operands of ids: checked in one sweep before a kernel's own loops, so that these, which run in
 * parallel, need no way to fail. */
#ifndef WG_BACKENDS_CPU_IDS_H
#define WG_BACKENDS_CPU_IDS_H

#include "wengert/graph/op.h"

/* Element i of ids of i32 or i64. */
static inline int64_t cpu_id(const void *ids, wg_dtype dtype, int64_t i)
{
    return dtype == WG_I32 ? ((const int32_t *)ids)[i] : ((const int64_t *)ids)[i];
}

/* Whether all ids of operand k are within [0, size); else the call has failed with the first that
 * is not. */
static inline bool cpu_ids_valid(wg_call *c, int k, int64_t size)
{
    const wg_value *ids = c->node->in[k];
    int64_t count = wg_shape_count(&ids->shape);
    for (int64_t i = 0; i < count; i++) {
        int64_t id = cpu_id(c->in[k], ids->dtype, i);
        if (id < 0 || id >= size) {
            wg_call_fail(c, "id %lld is outside [0,%lld)", (long long)id, (long long)size);
            return false;
        }
    }
    return true;
}

/* Where line k along `axis` of shape s begins in a tensor with those strides, at index 0 of the
 * axis. */
static inline int64_t cpu_line_start(const wg_shape *s, int axis, int64_t k,
                                     const int64_t stride[WG_MAX_RANK])
{
    int64_t start = 0;
    for (int i = s->rank - 1; i >= 0; i--) {
        if (i == axis)
            continue;
        start += k % s->dim[i] * stride[i];
        k /= s->dim[i];
    }
    return start;
}

#endif
