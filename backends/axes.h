/* The axes along which elements are copied between two tensors that are walked by strides. */
#ifndef WG_BACKENDS_AXES_H
#define WG_BACKENDS_AXES_H

#include "wengert/graph/op.h"

/* The axes of a copy, from the last: those of size 1 are left out, and neighbours along which
 * both sides go on as one are merged, so that the innermost loop is as long as it can be.  A step
 * along axis i goes to[i] elements of the one side and from[i] of the other. */
typedef struct wgi_axes {
    int rank; /* at least 1 */
    int64_t size[WG_MAX_RANK + 1], to[WG_MAX_RANK + 1], from[WG_MAX_RANK + 1];
} wgi_axes;

/* Of a copy of all elements of shape s, with the strides of both sides along its axes. */
static inline wgi_axes wgi_axes_merged(const wg_shape *s, const int64_t to[WG_MAX_RANK],
                                       const int64_t from[WG_MAX_RANK])
{
    wgi_axes a = {0};
    for (int i = s->rank - 1; i >= 0; i--) {
        int k = a.rank - 1;
        if (s->dim[i] == 1)
            continue;
        if (k >= 0 && to[i] == a.to[k] * a.size[k] && from[i] == a.from[k] * a.size[k]) {
            a.size[k] *= s->dim[i];
        } else {
            a.size[a.rank] = s->dim[i];
            a.to[a.rank] = to[i];
            a.from[a.rank++] = from[i];
        }
    }
    if (a.rank == 0) { /* one element */
        a.rank = 1;
        a.size[0] = a.to[0] = a.from[0] = 1;
    }
    return a;
}

#endif
